"""Parse the files of a project on demand, and resolve their imports."""

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from posixpath import dirname

from code_intel.chunking.languages import row_of
from code_intel.forest.dependencies.build import graph_of, project_of
from code_intel.forest.dependencies.closure import closure
from code_intel.forest.dependencies.project import Lookups
from code_intel.forest.dependencies.resolvers import RESOLVERS
from code_intel.forest.references.meaning import MeaningFinder
from code_intel.forest.references.names import FileNames, names_of
from code_intel.forest.references.scip import ScipIndex
from code_intel.forest.references.table import RULES, is_resolved
from code_intel.forest.references.values import Entity
from code_intel.index.store import Store
from code_intel.records import Definition

MAX_KEPT_FILES = 48
"""Number of parsed files to keep between questions: a session asks about the same files again."""
MAX_KEPT_CHARS = 1 << 16
"""Larger files are not kept."""
MAX_VISIBLE = 50
"""Maximum definitions of a name to consider."""
MAX_INCLUDES = 8
"""Maximum files between a file and one that it includes indirectly."""
Read = Callable[[str], str | None]
"""Returns the current text of a document, or None if it has none."""


def _names_now(file: str, text: str) -> FileNames | None:
    language = row_of(file)
    return names_of(file, text, language, RULES[language.name])


_names_kept = lru_cache(maxsize=MAX_KEPT_FILES)(_names_now)


class ProjectNames:
    """The names of a project's files, for one question: each file is read and parsed once.

    Args:
        store: The index.
        bases: Indexed folders; see `index.walk.bases`.
        read: Reads a document.
        scip: What a compiler has written about the project.

    Attributes:
        scip: As given.
        graph: The imports of the index.
        read: Reads a document once.
    """

    def __init__(
        self, store: Store, bases: Sequence[str], read: Read, scip: ScipIndex | None = None
    ) -> None:
        self.scip = scip
        self.graph = graph_of(store, bases)
        self.read = cache(read)
        self._project = project_of(store, bases)
        self._files: dict[str, FileNames | None] = {}
        self._store = store
        self._included = cache(self._included_now)

    @property
    def finder(self) -> MeaningFinder:
        """A new finder, which follows names to definitions; each is for one thread."""
        return MeaningFinder(self.load, self._resolve, self._visible)

    def load(self, file: str) -> FileNames | None:
        """Return the names of a file, or None if it has no rules or cannot be parsed."""
        if file not in self._files:
            text = self.read(file) if is_resolved(file) else None
            names = _names_now if text and len(text) > MAX_KEPT_CHARS else _names_kept
            self._files[file] = None if text is None else names(file, text)
        return self._files[file]

    def entities(self, definition: Definition) -> list[Entity]:
        """Return the bindings of a definition of the index."""
        names = self.load(definition.file)
        if names is None:
            return []
        found = names.bound_in(definition.qualified, definition.line, definition.end_line)
        return [Entity(definition.file, binding) for binding in found]

    def members(self, definition: Definition, name: str) -> list[Entity]:
        """Return the members of a class with a name, its own or of a class above it."""
        finder, owners = self.finder, self.entities(definition)
        return [member for owner in owners for member in finder.members_of(owner, name)]

    def _resolve(self, file: str, target: str) -> Sequence[str]:
        return RESOLVERS[row_of(file).name].resolve(Lookups(self._project), file, target)

    def _visible(self, file: str, name: str) -> Sequence[str]:
        """Return the files that define a name, or a member of a class, that a file sees.

        That is what files of its folder define, or files that it includes; see `NameRules.shares`.
        """
        names = self.load(file)
        shares = names.rules.shares if names else ""
        if not shares:
            return ()
        found = self._store.definitions(name, exact=True, limit=MAX_VISIBLE)
        files = dict.fromkeys(d.file for d in found if d.file != file)
        if shares == "folder":
            return [one for one in files if dirname(one) == dirname(file)]
        included = self._included(file)
        return [one for one in files if one in included]

    def _included_now(self, file: str) -> frozenset[str]:
        around = closure(self.graph, file, "outbound", MAX_INCLUDES)
        return frozenset(node.path for node in around.nodes)
