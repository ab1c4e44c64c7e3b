"""Judge found lines: which of them refer to a symbol, and which only contain its name."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from code_intel.errors import UsageError
from code_intel.forest.references.certainty import judge
from code_intel.forest.references.judgement import Judgement
from code_intel.forest.references.project import ProjectNames
from code_intel.forest.references.scip import FILE_NAME, ScipIndex
from code_intel.forest.text.matches import TextMatch
from code_intel.index.rows import normalize_symbol
from code_intel.index.safe_files import read_inside
from code_intel.index.walk import bases
from code_intel.records import Definition
from code_intel.tools.context.freshness import refresh_changed
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.context.source_file import index_path_of, project_path_of, read_below

MAX_SCIP_BYTES = 1 << 27
"""A larger index of a compiler is not read."""
MAX_NAMESAKES = 1_000
"""Maximum definitions of one name to compare."""
MAX_REFRESHED_FILES = 20
"""Maximum files to index again if they have changed."""


def names_of_project(context: GatewayContext) -> ProjectNames:
    """Return the names of the project's files as they are on disk during this call."""
    if context.names:
        return context.names[0]

    def read(document: str) -> str | None:
        try:
            return read_below(context.root, project_path_of(context, document), "path")[2]
        except UsageError:
            return None

    config = context.forest.config
    names = ProjectNames(context.forest.store, bases(config), read, _scip(context))
    if context.names is not None:
        context.names.append(names)
    return names


def _scip(context: GatewayContext) -> ScipIndex | None:
    """Return the index that a compiler has written into the project, if there is one."""
    is_same_folder = context.root.samefile(context.forest.config.folder)
    if not is_same_folder or not (context.root / FILE_NAME).is_file():
        return None
    try:
        return ScipIndex(read_inside(context.root, FILE_NAME, MAX_SCIP_BYTES))
    except (OSError, ValueError):
        return None


class Meant(NamedTuple):
    """The definitions that a symbol means.

    Attributes:
        definitions: The definitions; those of its name if it has none itself.
        is_defined: Whether the symbol is defined, possibly in a class above its own.
    """

    definitions: list[Definition]
    is_defined: bool


def definitions_meant(
    context: GatewayContext, symbol: str, lines: Iterable[TextMatch], project: ProjectNames
) -> Meant:
    """Return the definitions of a symbol in the current files.

    First index the defining files again if they have changed or, if none is known, the files of
    `lines`, which contain the name. `Derived.run` may mean `Base.run`.
    """
    store = context.forest.store

    def defined(name: str) -> list[Definition]:
        return store.definitions(name, exact=True, limit=MAX_NAMESAKES)

    found = defined(symbol)
    files = [d.file for d in found] or [index_path_of(context, line.file) for line in lines]
    refresh_changed(context, list(dict.fromkeys(files))[:MAX_REFRESHED_FILES])
    owner, _, name = normalize_symbol(symbol).rpartition(".")
    if found := defined(symbol):
        return Meant(found, is_defined=True)
    if not owner:
        return Meant([], is_defined=False)
    inherited = {
        (entity.file, entity.binding.qualified)
        for of in defined(owner)
        for entity in project.members(of, name)
    }
    namesakes = defined(name)
    above = [d for d in namesakes if (d.file, d.qualified) in inherited]
    return Meant(above or namesakes, is_defined=bool(above))


def judged(
    context: GatewayContext,
    asked: Sequence[Definition],
    lines: Iterable[TextMatch],
    project: ProjectNames | None = None,
) -> list[tuple[TextMatch, Judgement]]:
    """Return lines with the name of a symbol and what is known of each; this blocks.

    Args:
        context: The project's context.
        asked: The definitions that are meant; without any, all lines are `text`.
        lines: The lines.
        project: The names of the files, if something else is asked about them as well.
    """
    found = list(lines)
    names = project or names_of_project(context)
    own = {d.file for d in asked}
    importers = {path for file in own for path in names.graph.inbound(file)}
    places = [(index_path_of(context, line.file), line.line) for line in found]
    near = sorted(
        dict.fromkeys(places),
        key=lambda place: (place[0] not in own, place[0] not in importers, place),
    )
    store = context.forest.store
    namesakes = store.definitions(asked[0].name, exact=True, limit=MAX_NAMESAKES) if asked else []
    known = judge(names, asked, namesakes, near)
    return [(line, known[place]) for line, place in zip(found, places, strict=True)]
