"""Parse the files of a project on demand, and resolve their imports."""

from collections.abc import Callable, Sequence

from code_intel.chunking.languages import row_of
from code_intel.forest.dependencies.build import project_of
from code_intel.forest.dependencies.resolvers import RESOLVERS
from code_intel.forest.references.meaning import MeaningFinder
from code_intel.forest.references.names import FileNames, names_of
from code_intel.forest.references.table import RULES
from code_intel.forest.references.values import Entity
from code_intel.index.store import Store
from code_intel.records import Definition

Read = Callable[[str], str | None]
"""Returns the current text of a document, or None if it has none."""


class ProjectNames:
    """The names of a project's files, for one question: each file is read and parsed once.

    Args:
        store: The index.
        bases: Indexed folders; see `index.walk.bases`.
        read: Reads a document.
    """

    def __init__(self, store: Store, bases: Sequence[str], read: Read) -> None:
        self._project = project_of(store, bases)
        self._read = read
        self._files: dict[str, FileNames | None] = {}
        self.finder = MeaningFinder(self.load, self._resolve)

    def load(self, file: str) -> FileNames | None:
        """Return the names of a file, or None if it has no rules or cannot be parsed."""
        if file not in self._files:
            language = row_of(file)
            rules = RULES.get(language.name)
            text = self._read(file) if rules else None
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

    def _resolve(self, file: str, target: str) -> Sequence[str]:
        return RESOLVERS[row_of(file).name].resolve(self._project, file, target)
