"""Parse the files of a project on demand, and resolve their imports."""

from collections.abc import Callable, Sequence
from functools import cache
from posixpath import dirname

from code_intel.chunking.languages import row_of
from code_intel.forest.dependencies.build import graph_of, project_of
from code_intel.forest.dependencies.closure import closure
from code_intel.forest.dependencies.resolvers import RESOLVERS
from code_intel.forest.references.meaning import MeaningFinder
from code_intel.forest.references.names import FileNames, names_of
from code_intel.forest.references.scip import ScipIndex
from code_intel.forest.references.table import RULES
from code_intel.forest.references.values import Entity
from code_intel.index.store import Store
from code_intel.records import Definition

MAX_VISIBLE = 50
"""Maximum definitions of a name to consider."""
MAX_INCLUDES = 8
"""Maximum files between a file and one that it includes indirectly."""
Read = Callable[[str], str | None]
"""Returns the current text of a document, or None if it has none."""


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
        finder: Follows names to definitions.
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
        self.finder = MeaningFinder(self.load, self._resolve, self._visible)

    def load(self, file: str) -> FileNames | None:
        """Return the names of a file, or None if it has no rules or cannot be parsed."""
        if file not in self._files:
            language = row_of(file)
            rules = RULES.get(language.name)
            text = self.read(file) if rules else None
            self._files[file] = (
                None if rules is None or text is None else names_of(file, text, language, rules)
            )
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
        owners = self.entities(definition)
        return [member for owner in owners for member in self.finder.members_of(owner, name)]

    def _resolve(self, file: str, target: str) -> Sequence[str]:
        return RESOLVERS[row_of(file).name].resolve(self._project, file, target)

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
