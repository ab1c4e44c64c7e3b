"""Find the files that a patch in the format of `apply_patch` writes."""

import re

_HEADER = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)\s*$", re.MULTILINE)
_BEGIN = "*** Begin Patch"


def patched_files(patch: str) -> list[str]:
    r"""Return the files that a patch adds, changes, deletes or moves; [] if it is no patch.

    >>> patched_files("*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n*** End Patch")
    ['a.py', 'b.py']
    """
    return _HEADER.findall(patch) if _BEGIN in patch else []
