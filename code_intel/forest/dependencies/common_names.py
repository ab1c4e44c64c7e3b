"""Decide in which files a common or ambiguous name means the symbol of a change."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from code_intel.chunking.languages import row_of
from code_intel.chunking.words import words
from code_intel.forest.dependencies.resolvers import follows
from code_intel.index.store import Store

_INDIRECT = frozenset({"c", "cpp", "html", "css"})
"""Languages whose files do not import the file that defines a symbol, but headers or pages."""
_NO_WORD = re.compile(r"[\W_]+")


class NameMeaning(NamedTuple):
    """The files in which a name means a symbol.

    Attributes:
        name: The name by which other files use the symbol.
        near: The files that define it or import its file, and those beside it; None if the name
            means the symbol in every file.
        owners: What may stand before the name: the class that contains it, and its module.
    """

    name: str
    near: frozenset[str] | None = None
    owners: tuple[str, ...] = ()

    def in_file(self, path: str, text: Sequence[str]) -> bool:
        """Return whether the name means the symbol in a whole file."""
        if self.near is None or path in self.near:
            return True
        language = row_of(path).name
        if follows(language) and language not in _INDIRECT:
            return False
        return any(self._refers(line) for line in text)

    def in_line(self, line: str) -> bool:
        """Return whether a line qualifies the name: `AuthService.login`, `auth_service->login`.

        >>> meant = NameMeaning("login", frozenset(), ("AuthService", "service"))
        >>> meant.in_line("auth_service.login(form)"), meant.in_line("AuthService::login")
        (True, True)
        >>> meant.in_line("page.login(form)"), meant.in_line("my_service.login()")
        (False, False)
        """
        before = re.findall(
            rf"(\w+)\s*(?:\(\))?\s*(?:\.|::|->|#|/)\s*{re.escape(self.name)}\b", line
        )
        return any(_fold(owner) == _fold(found) for found in before for owner in self.owners)

    def _refers(self, line: str) -> bool:
        """Return whether a line names the class or the module, or includes a file of its name."""
        return any(
            re.search(rf"\b{re.escape(owner)}\b", line)
            if owner != self.name
            else re.search(rf"[\"</]{re.escape(owner)}\.\w+[\">]", line)
            for owner in self.owners
        )


def is_common(store: Store, name: str, most: int) -> bool:
    """Return whether more than `most` source files contain a name."""
    tokens = words(name)
    return bool(tokens) and min(map(store.files_with, tokens)) > most


def _fold(name: str) -> str:
    return _NO_WORD.sub("", name).casefold()
