"""Compare the code with the state in which a session found it, as git knows it."""

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from code_intel.chunking import decode, parse_file
from code_intel.chunking.code_text import code_of
from code_intel.foundation.git import changed_from, changed_names
from code_intel.index.safe_files import read_inside
from code_intel.records import Definition, Symbol
from code_intel.session.journal import MAX_BASELINE_FILES
from code_intel.session.state import Session
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.context.project_files import is_unchanged
from code_intel.tools.context.source_file import project_path_of

MAX_CHANGED_FILES = 500
"""Maximum number of changed files that are listed."""
_STATE = ".code-intel/"


class Edits(NamedTuple):
    """What changed in the project since a session began.

    Attributes:
        root: The project.
        commit: The commit at which the session began.
        files: The changed files, relative to the root, without those of code-intel; None if git
            cannot tell.
    """

    root: Path
    commit: str
    files: tuple[str, ...] | None

    def before(self, file: str) -> bytes | None:
        """Return the content of a changed file at the commit; None if git cannot tell."""
        found = changed_from(self.root, self.commit, [file])
        return None if found is None else found.get(file)

    def changed_in(self, file: str, definitions: Iterable[Definition]) -> set[Definition]:
        """Return the definitions of one file whose code differs from that at the commit.

        Comments, documentation, blank lines, layout and the mode of the file do not count.
        """
        both = self._texts(file)
        if both is None:
            return set()
        old, new = both
        earlier: dict[str, list[Symbol]] = {}
        for symbol in _symbols(file, old):
            earlier.setdefault(symbol.qualified, []).append(symbol)

        def has_changed(it: Definition) -> bool:
            known = earlier.get(it.qualified, ())
            text = _cut(new, it.line, it.end_line)
            if any(_cut(old, s.start_line, s.end_line) == text for s in known):
                return False  # `code_of` parses the whole file
            code = code_of(file, new, it.line, it.end_line)
            return code not in {code_of(file, old, s.start_line, s.end_line) for s in known}

        return set(filter(has_changed, definitions))

    def lines_of(self, file: str, definition: Definition) -> tuple[str, str]:
        """Return the text of a definition at the commit and now; equal if the file is unchanged."""
        both = self._texts(file)
        if both is None:
            return "", ""
        old, new = both
        before = next((s for s in _symbols(file, old) if s.qualified == definition.qualified), None)
        return (
            _cut(old, before.start_line, before.end_line) if before else "",
            _cut(new, definition.line, definition.end_line),
        )

    def _texts(self, file: str) -> tuple[str, str] | None:
        """Return the text of a changed file at the commit and now; None if it is not known."""
        if file not in (self.files or ()):
            return None
        old, new = self.before(file), _read(self.root, file)
        return None if old is None or new is None else (decode(old) or "", new)

    def renamed(self, name: str) -> str:
        """Return the current name of a symbol that a changed file no longer defines, or "".

        Its code is unchanged except for the name, and it is the only such definition.
        """
        for file in self.files or ():
            old = decode(self.before(file) or b"") or ""
            bodies = {s.body for s in _symbols(file, old) if s.qualified == name and s.body}
            heirs = {
                symbol.qualified
                for other in self.files or ()
                for symbol in _symbols(other, _read(self.root, other) or "")
                if symbol.body in bodies
            }
            if len(heirs) == 1:
                return heirs.pop()
        return ""


def edits_since(context: GatewayContext, session: Session) -> Edits:
    """Return what changed in the project since the session began; this blocks.

    A file that was changed before the session counts only if the session changed it again.
    """
    commit, before = session.commit, session.baseline
    if commit is None or len(before) >= MAX_BASELINE_FILES:
        return Edits(context.root, commit or "", None)
    names = changed_names(context.root, commit)
    if names is None:
        return Edits(context.root, commit, None)
    changed = (
        file
        for file in names
        if not file.startswith(_STATE) and not is_unchanged(context.root, file, before)
    )
    return Edits(context.root, commit, tuple(islice(changed, MAX_CHANGED_FILES)))


def changed_definitions(
    context: GatewayContext, edits: Edits, definitions: Iterable[Definition]
) -> list[Definition]:
    """Return the definitions whose code changed; this blocks."""
    found = list(definitions)
    by_file: dict[str, list[Definition]] = {}
    for each in found:
        by_file.setdefault(project_path_of(context, each.file), []).append(each)
    changed: set[Definition] = set()
    for file, group in by_file.items():
        changed |= edits.changed_in(file, group)
    return [each for each in found if each in changed]


def _cut(text: str, first: int, last: int) -> str:
    return "\n".join(text.splitlines()[first - 1 : last])


def _symbols(file: str, text: str) -> Sequence[Symbol]:
    return parse_file(file, text).symbols if text else ()


def _read(root: Path, file: str) -> str | None:
    try:
        return decode(read_inside(root, file))
    except (OSError, ValueError):
        return None
