"""Normalize the paths of files as agents and users write them."""

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
    bare = re.sub(_LINE_NUMBER, "", path.strip())
    return os.path.normpath(bare).replace(os.sep, "/") if bare else ""


def may_be_planned(path: str) -> bool:
    """Return whether a new file may be announced: its path is relative, inside, not hidden."""
    parts = path.split("/")
    return not hidden_character(path) and all(part and not part.startswith(".") for part in parts)
