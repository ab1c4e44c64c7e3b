"""Find the files that a patch writes: one of `apply_patch`, or a diff."""

import re

_HEADER = re.compile(
    r"^[^\S\n]*\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.*\S)", re.MULTILINE
)
"""A header. Codex allows spaces before most of them, so a line of context may look like one."""
_BEGIN = "*** Begin Patch"
_DIFFED = re.compile(
    r"^--- (?:a/)?([^\t\n]+).*\n\+\+\+ (?:b/)?([^\t\n]+)"
    r"|^rename from (.+)\nrename to (.+)$",
    re.MULTILINE,
)
"""The files in the head of a diff; those of git begin with `a/` and `b/`."""
_NO_FILE = "/dev/null"


def patched_files(patch: str) -> list[str]:
    r"""Return the files that a patch adds, changes, deletes or moves; [] if it is no patch.

    >>> patched_files("*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n*** End Patch")
    ['a.py', 'b.py']
    """
    return _HEADER.findall(patch) if _BEGIN in patch else []


def diffed_files(diff: str) -> list[str]:
    r"""Return the files that a diff adds, changes, deletes or renames.

    >>> diffed_files("--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n--- a comment\n+b")
    ['x.py']
    """
    found = dict.fromkeys(name for names in _DIFFED.findall(diff) for name in names)
    return [name for name in found if name not in {"", _NO_FILE}]
