"""Match the files and symbols that a note concerns.

Globs have the meaning that they have in .gitignore: `src/auth` covers everything below that folder,
and `*.sql` covers such files in all folders.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from code_intel.learned.status.validity import lookup_name
from code_intel.records import Note

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


def concerns(note: Note, files: Iterable[str], symbols: Iterable[str]) -> bool:
    """Return whether a note names any of these files or symbols.

    A note on a class concerns its methods, too. One without files and symbols concerns none.

    Args:
        note: The note.
        files: Paths relative to the project.
        symbols: Qualified names.
    """
    if note.files and any(map(globs(note.files).match_file, files)):
        return True
    own = tuple(map(lookup_name, note.symbols))
    return any(_is_within(lookup_name(symbol), name) for symbol in symbols for name in own)


def _is_within(symbol: str, name: str) -> bool:
    """Return whether a symbol is `name`, is inside it, or has it as its last part."""
    return symbol == name or symbol.startswith(f"{name}.") or symbol.endswith(f".{name}")


@lru_cache(maxsize=1024)
def globs(patterns: Sequence[str]) -> "GitIgnoreSpec":
    """Return the files that patterns cover; a pattern that cannot be read covers none."""
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore import GitIgnorePatternError

    good = []
    for pattern in patterns:
        try:
            GitIgnoreSpec.from_lines([pattern])
        except GitIgnorePatternError:
            continue
        good.append(pattern.removeprefix("./"))
    return GitIgnoreSpec.from_lines(good)
