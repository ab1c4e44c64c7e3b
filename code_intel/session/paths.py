"""How people write the path of a file, and how a session keeps it."""

import os
import re

from code_intel.text import hidden_character

_PLACE = r"(?::\d+(?:[-:]\d+)*|#L\d+(?:-L?\d+)?)$"


def plain_path(path: str) -> str:
    """Return `path` without `./` and without a place in the file: `./a.py:34` is `a.py`.

    Places are `:34`, `:34:5`, `:34-40`, `#L34` and `#L34-L40`. The empty string stays empty.
    """
    bare = re.sub(_PLACE, "", path.strip())
    return os.path.normpath(bare).replace(os.sep, "/") if bare else ""


def may_be_planned(path: str) -> bool:
    """Whether a file that does not exist yet may be announced: relative, inside, nothing hidden."""
    parts = path.split("/")
    return not hidden_character(path) and all(part and not part.startswith(".") for part in parts)
