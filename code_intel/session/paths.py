"""Normalize file paths as agents and users write them."""

import os
import re

from code_intel.foundation.text import hidden_character

_LINE_NUMBER = r"(?::\d+(?:[-:]\d+)*|#L\d+(?:-L?\d+)?)$"


def plain_path(path: str) -> str:
    """Return `path` normalized and without a line number.

    >>> plain_path("./src/a.py:34-40")
    'src/a.py'
    >>> plain_path("src//x/../a.py#L3")
    'src/a.py'
    """
    without_line = re.sub(_LINE_NUMBER, "", path.strip())
    return os.path.normpath(without_line).replace(os.sep, "/") if without_line else ""


def may_be_planned(path: str) -> bool:
    """Return whether a new file may be announced: in the project, relative and not hidden."""
    parts = path.split("/")
    return not hidden_character(path) and all(part and not part.startswith(".") for part in parts)
