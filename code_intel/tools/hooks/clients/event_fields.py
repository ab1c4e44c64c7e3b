"""Read the fields of an event, which a client may leave out or fill with other types."""

import os
from collections.abc import Mapping
from typing import Any


def object_of(value: Any) -> Mapping[str, Any]:
    """Return a value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def folder_of(data: Mapping[str, Any]) -> str:
    """Return the folder in which the client works."""
    return str(data.get("cwd") or "/")


def absolute(folder: str, path: Any) -> str:
    """Return the path of a file that an event names, as the kernel reads it."""
    # Path would normalize the text.
    return os.path.join(folder, str(path or ""))  # noqa: PTH118
