"""Read the owners of files from CODEOWNERS.

As on GitHub, the last pattern that matches a file decides, and patterns follow the rules of
`.gitignore`.
"""

from collections.abc import Callable

from pathspec import GitIgnoreSpec

from code_intel.learned.proposals.current import CurrentCode

PLACES = ("CODEOWNERS", ".github/CODEOWNERS", ".gitlab/CODEOWNERS", "docs/CODEOWNERS")


def owner_of(current: CurrentCode) -> Callable[[str], str]:
    """Return a function that returns the owners of a file, separated by spaces; empty if none."""
    text = next(filter(None, map(current.text, PLACES)), "")
    rules = []
    for line in text.splitlines():
        pattern, *owners = line.partition("#")[0].split()[:] or [""]
        if pattern and not pattern.startswith(("[", "^[")):
            rules.append((GitIgnoreSpec.from_lines([pattern]), " ".join(owners)))
    rules.reverse()

    def owner(path: str) -> str:
        return next((owners for spec, owners in rules if spec.match_file(path)), "")

    return owner
