"""List who uses a symbol, what it calls, and which tests touch it."""

import re
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from code_intel.chunking.languages import row_of
from code_intel.errors import UsageError
from code_intel.forest.dependencies.build import graph_of
from code_intel.forest.dependencies.closure import closure
from code_intel.forest.dependencies.common_names import is_common
from code_intel.forest.references.callees import Call, calls_in
from code_intel.forest.references.judgement import Certainty
from code_intel.forest.references.project import ProjectNames
from code_intel.forest.references.table import is_resolved
from code_intel.forest.text.grep import TextMatch, TextQuery, grep
from code_intel.forest.text.registered_names import registered_names
from code_intel.index.corpus import priority
from code_intel.index.walk import bases
from code_intel.records import Definition
from code_intel.session.risk import MANY_FILES
from code_intel.tools.context.freshness import refresh_changed
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.prints import Passage, current_text
from code_intel.tools.context.source_file import index_path_of, project_path_of, read_source
from code_intel.tools.context.uses.references import judged, names_of_project

MAX_RELATED = 3
"""Maximum callers, callees and tests of a symbol to list."""
MAX_JUDGED_FILES = 12
"""Maximum files with the name to parse."""
MAX_USES = 500
"""Maximum lines with the symbol's name to read."""
MAX_TEXT_CHARS = 120
"""Longer lines are cut; a cut line does not count as printed."""
IMPORT_STEPS = 2
"""Maximum imports between a definition and its use, if several files define the name."""
MAX_REFRESHED_FILES = 20
"""Maximum files with uses to index again if they have changed."""
MAX_CALLED_NAMES = 60
MAX_OTHER_NAMES = 2
MAX_DEFINITIONS_PER_CALL = 10
MIN_NAME_CHARS = 2
TESTS, PROSE = 2, 1
"""Values of `index.corpus.priority`."""
CONSTRUCTORS = frozenset({"__init__", "__new__", "constructor", "initialize", "__construct"})
"""Methods that callers reach by the name of the class."""
_CALLED = re.compile(r"([^\W\d]\w*)[!?]?\s*\(")
_MENTION = re.compile(
    r"\s*(?:#|//|/\*|\*|--|;|<!--|:\w|``|(?:import|from|use|using|require|package|export\s*[{*])\b).*"
)
_PLAIN_TEXT = re.compile(r"""(?<![\w&<])(?:"(?:\\.|[^"\\{$])*"|'(?:\\.|[^'\\{$])*')(?!\w)""")
"""A text in quotes without code in braces; lifetimes as in `&'a` do not count."""
_TEST_AFFIX = re.compile(r"(?i)^tests?[_-]|[_-]?(?:tests?|spec)$")
_IMPORT = re.compile(r"\s*(?:from\s+\S+\s+import|import|use|using|require|export\s*[{*])\b")
_SINGLE_NAME = re.compile(r"[^\w(]*\w+[^\w(]*")

_KEYWORDS = frozenset(
    """and as assert async await case const defer def else elif fn for from fun func function go if
    import in is lambda let new not of or raise return then throw type typeof unless until use val
    var when where while with yield""".split()  # noqa: SIM905 - a text is easier to read and edit
)
"""Words that stand before a name in code; other words stand before it in prose."""


class Relation(NamedTuple):
    """A line that uses a symbol, or defines one that it uses.

    Attributes:
        file: Path relative to the project.
        line: The line, counted from 1.
        symbol: The symbol around the line, or the one that it defines; empty at the top level.
        text: The line without indentation, or the signature; cut if it is long.
    """

    file: str
    line: int
    symbol: str
    text: str


class Relations(NamedTuple):
    """Who uses a symbol, what it uses, and which tests touch it.

    Attributes:
        callers: The first line in each symbol or file that uses it: same file first, then same
            folder, then by path.
        callees: The definitions of what it calls, in the order of its text.
        tests: The first line in each test that uses it.
        caller_count: How many symbols and files use it, those in `callers` included.
        test_count: How many tests use it.
    """

    callers: tuple[Relation, ...] = ()
    callees: tuple[Relation, ...] = ()
    tests: tuple[Relation, ...] = ()
    caller_count: int = 0
    test_count: int = 0

    @property
    def passages(self) -> tuple[Passage, ...]:
        """The lines that an answer with all of this contains; see `prints.prints_in`."""
        rows = (*self.callers, *self.callees, *self.tests)
        return tuple(Passage(row.file, row.line, row.text) for row in rows)


class _KnownUses(NamedTuple):
    """What the index knows about the uses of a name.

    Attributes:
        name: The name.
        defining: The file and line of each definition.
        near: The files in which it means the definition; None for all.
    """

    name: str
    defining: frozenset[tuple[str, int]]
    near: frozenset[str] | None


async def relations(
    context: GatewayContext, definition: Definition, limit: int = MAX_RELATED
) -> Relations:
    """Return who uses a symbol, what it calls, and which tests touch it, at most `limit` of each.

    Uses are lines that certainly or likely refer to it; see `forest.references`. In languages whose
    names are not resolved, they are whole-word matches of the name. If other files define the name,
    too, these count only near the definition: in the same file or folder, and files that import it.
    """
    name = name_in_uses(definition)
    if len(name) < MIN_NAME_CHARS:
        return Relations()
    known = await run_in_thread(_known_uses, context, definition, name)
    query = TextQuery(name, literal=True, max_results=MAX_USES)
    matches = (await grep(context.root, query, wanted=partial(_may_use, known))).matches
    project = await run_in_thread(names_of_project, context)
    uses = await run_in_thread(_references, context, definition, known, matches, project)
    lines = [use.content for use in uses]
    for other in await run_in_thread(other_names, context, definition, lines):
        query = TextQuery(other, literal=True, max_results=MAX_USES)
        uses += (await grep(context.root, query, wanted=partial(_may_test, other))).matches
    return await run_in_thread(_relations, context, definition, uses, project, limit)


def _references(
    context: GatewayContext,
    definition: Definition,
    known: _KnownUses,
    lines: Sequence[TextMatch],
    project: ProjectNames,
) -> list[TextMatch]:
    """Return the lines that refer to a symbol.

    Those of the nearest files are judged. Those of other languages, and of further files, are known
    only by the name and by what the index knows of it.
    """
    own = project_path_of(context, definition.file)
    importing = {project_path_of(context, f) for f in project.graph.inbound(definition.file)}
    folder = own.rpartition("/")[0]

    def distance(file: str) -> tuple[bool, bool, bool, str]:
        return file != own, file not in importing, file.rpartition("/")[0] != folder, file

    files = sorted({line.file for line in lines if is_resolved(line.file)}, key=distance)
    nearest = set(files[:MAX_JUDGED_FILES])
    near = [line for line in lines if line.file in nearest]
    judgements = dict(judged(context, _reached(context, definition), near, project))
    return [
        line
        for line in lines
        if (
            judgements[line].certainty != Certainty.TEXT
            if line in judgements
            else known.near is None or line.file in known.near
        )
    ]


def _reached(context: GatewayContext, definition: Definition) -> list[Definition]:
    """Return what callers of a symbol name: for a constructor, its class."""
    if name_in_uses(definition) == definition.name:
        return [definition]
    owner = definition.qualified.rpartition(".")[0]
    found = context.forest.store.defined_in([definition.file])
    return [d for d in found if d.qualified == owner]


def other_names(
    context: GatewayContext, definition: Definition, lines: Iterable[str]
) -> tuple[str, ...]:
    """Return the names under which lines of code register a symbol; tests and documents use them.

    A name that is common, or that another symbol has, may mean something else.
    """
    above = current_text(context, project_path_of(context, definition.file))[: definition.line - 1]
    found = registered_names(definition.name, lines, above)
    return tuple(
        name
        for name in found[:MAX_OTHER_NAMES]
        if not is_common(context.forest.store, name, MANY_FILES)
        and not context.forest.store.definitions(name, exact=True, limit=1)
    )


def _known_uses(context: GatewayContext, definition: Definition, name: str) -> _KnownUses:
    named = context.forest.store.definitions(name, exact=True, limit=MAX_USES)
    defining = frozenset((project_path_of(context, d.file), d.line) for d in named)
    near = near_files(context, definition.file) if len({d.file for d in named}) > 1 else None
    return _KnownUses(name, defining, near)


def _may_use(known: _KnownUses, line: TextMatch) -> bool:
    """Return whether a line with a name may be code that uses it."""
    return (
        (known.near is None or line.file in known.near or is_resolved(line.file))
        and (line.file, line.line) not in known.defining
        and row_of(line.file).complete
        and priority(line.file) != PROSE
        and not is_mention(line.content, known.name)
        and (priority(line.file) == TESTS or not is_in_text(line.content, known.name))
    )


def _may_test(name: str, line: TextMatch) -> bool:
    """Return whether a line may be of a test that calls a symbol by another name."""
    return (
        priority(line.file) == TESTS
        and has_word(line.content, name)
        and not is_mention(line.content, name)
    )


def name_in_uses(definition: Definition) -> str:
    """Return the name by which callers reach a symbol."""
    scope = definition.qualified.rpartition(".")[0].rpartition(".")[2]
    return scope if scope and definition.name in CONSTRUCTORS else definition.name


def _relations(
    context: GatewayContext,
    definition: Definition,
    uses: Sequence[TextMatch],
    project: ProjectNames,
    limit: int,
) -> Relations:
    callers: list[Relation] = []
    tests: list[Relation] = []
    for use in _uses(context, definition, uses):
        (tests if _is_test(use) else callers).append(use)
    tests += _tests_of_module(context, definition, {test.file for test in tests})
    stem = _stem(definition.file)
    # Tests of the module first, data of tests last.
    tests.sort(
        key=lambda test: (
            not _is_in_test_symbol(test) and "test" not in _stem(test.file),
            stem not in _stem(test.file),
        )
    )
    return Relations(
        tuple(callers[:limit]),
        _callees(context, definition, project, limit),
        tuple(tests[:limit]),
        len(callers),
        len(tests),
    )


def _tests_of_module(
    context: GatewayContext, definition: Definition, known: Collection[str]
) -> list[Relation]:
    """Return the first symbol in each test file that is named after the module of a symbol."""
    own = project_path_of(context, definition.file)
    documents = [path for path, _, _ in context.forest.store.digests() if tests_module(path, [own])]
    first: dict[str, Relation] = {}
    for test in sorted(context.forest.store.defined_in(documents), key=lambda test: test.line):
        file = project_path_of(context, test.file)
        row = Relation(file, test.line, test.qualified, _shown(test.signature))
        first.setdefault(file, row)
    return [row for file, row in first.items() if file not in known and file != own]


def tests_module(path: str, modules: Iterable[str]) -> bool:
    """Return whether a file is named as the test of a module.

    >>> tests_module("tests/test_shop.py", ["ext/_shop.py"]), tests_module("shop.py", ["shop.py"])
    (True, False)
    """
    if priority(path) != TESTS or not row_of(path).complete:
        return False
    stems = {_module(module) for module in modules}
    return _TEST_AFFIX.sub("", _module(path)) in stems


def _module(path: str) -> str:
    name = path.rpartition("/")[2].rpartition(".")[0].casefold()
    return re.sub(r"\.(?:test|spec)$", "", name).strip("_")


def _is_test(use: Relation) -> bool:
    """Return whether a line is in a test: by its file or, as in Rust, by the symbol around it."""
    return priority(use.file) == TESTS or _is_in_test_symbol(use)


def _is_in_test_symbol(use: Relation) -> bool:
    return any(scope.startswith("test") for scope in use.symbol.casefold().split("."))


def _stem(file: str) -> str:
    return file.rpartition("/")[2].partition(".")[0].casefold()


def _uses(
    context: GatewayContext, definition: Definition, uses: Sequence[TextMatch]
) -> list[Relation]:
    """Return the first use in each symbol, or in each file outside symbols, nearest file first."""
    own_file, name = project_path_of(context, definition.file), name_in_uses(definition)
    code = [
        use
        for use in uses
        if not (use.file == own_file and definition.line <= use.line <= definition.end_line)
    ]
    called = re.compile(rf"\b{re.escape(name)}\s*[!?]?[(<]")
    code.sort(key=lambda use: called.search(use.content) is None)  # a call says more
    scopes = _scopes(context, {use.file for use in code})
    found: dict[tuple[str, str], Relation] = {}
    for use in code:
        around = _scope_at(scopes.get(use.file, ()), use.line)
        found.setdefault(
            (use.file, around), Relation(use.file, use.line, around, _shown(use.content))
        )
    folder = own_file.rpartition("/")[0]

    def distance(use: Relation) -> tuple[bool, bool, bool, bool, str, int]:
        elsewhere = use.file.rpartition("/")[0] != folder
        is_call = called.search(use.text) is not None
        return use.file != own_file, elsewhere, not is_call, not use.symbol, use.file, use.line

    return sorted(found.values(), key=distance)


def near_files(context: GatewayContext, document: str) -> frozenset[str]:
    """Return the files in the folder of an indexed document, and those that import it."""
    store = context.forest.store
    graph = graph_of(store, bases(context.forest.config))
    folder = document.rpartition("/")[0]
    importing = closure(graph, document, "inbound", IMPORT_STEPS).nodes
    beside = (path for path, _, _ in store.digests() if path.rpartition("/")[0] == folder)
    documents = (document, *beside, *(node.path for node in importing))
    return frozenset(project_path_of(context, document) for document in documents)


def is_import(line: str) -> bool:
    """Return whether a line imports names.

    >>> is_import("from auth import login"), is_import("login(form)")
    (True, False)
    """
    return _IMPORT.match(line) is not None


def is_mention(line: str, name: str) -> bool:
    """Return whether a line only names the symbol: an import, an item of a list, or prose."""
    if any(pattern.fullmatch(line) for pattern in (_MENTION, _SINGLE_NAME)):
        return True
    around = re.search(rf"(\w+) {re.escape(name)} [a-z]\w*", line)  # `the login form`
    return around is not None and around[1] not in _KEYWORDS


def has_word(line: str, name: str) -> bool:
    """Return whether a name stands in a line as a whole word."""
    return re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", line) is not None


def is_in_text(line: str, name: str) -> bool:
    """Return whether a name stands only in texts of a line, not in its code.

    >>> is_in_text('print("call pp.run(x)")', "run"), is_in_text('run("run")', "run")
    (True, False)
    """
    return has_word(line, name) and not has_word(_PLAIN_TEXT.sub('""', line), name)


def _shown(line: str) -> str:
    line = line.strip()
    return line if len(line) <= MAX_TEXT_CHARS else f"{line[:MAX_TEXT_CHARS]}…"


def _scopes(context: GatewayContext, files: Collection[str]) -> dict[str, list[Definition]]:
    """Return the symbols of files, by file."""
    documents = {index_path_of(context, file): file for file in sorted(files)}
    refresh_changed(context, list(documents)[:MAX_REFRESHED_FILES])
    found: dict[str, list[Definition]] = {}
    for definition in context.forest.store.defined_in(documents):
        found.setdefault(documents[definition.file], []).append(definition)
    return found


def _scope_at(scopes: Iterable[Definition], line: int) -> str:
    around = [d for d in scopes if d.line <= line <= d.end_line]
    inner = min(around, key=lambda d: (d.end_line - d.line, -d.line), default=None)
    return inner.qualified if inner else ""


def _callees(
    context: GatewayContext, definition: Definition, project: ProjectNames, limit: int
) -> tuple[Relation, ...]:
    """Return the definitions that a symbol calls, in the order of its text, each once."""
    calls = calls_in(project, definition)
    if calls is None:
        calls = _called_names(context, definition)
    imported = graph_of(context.forest.store, bases(context.forest.config)).outbound(
        definition.file
    )
    found: dict[tuple[str, int], Relation] = {}
    for call in list(dict.fromkeys(calls))[:MAX_CALLED_NAMES]:
        callee = _callee(context, definition, call, imported)
        if callee is not None:
            file, text = project_path_of(context, callee.file), _shown(callee.signature)
            place = file, callee.line
            found.setdefault(place, Relation(*place, callee.qualified, text))
    return tuple(found.values())[:limit]


def _called_names(context: GatewayContext, definition: Definition) -> list[Call]:
    """Return the names before a parenthesis in a symbol's text."""
    try:
        source = read_source(context, project_path_of(context, definition.file))
    except UsageError:
        return []
    lines = source.lines[definition.line - 1 : definition.end_line]
    names = dict.fromkeys(name for line in lines for name in _CALLED.findall(line))
    return [Call(name) for name in names]


def _callee(
    context: GatewayContext, caller: Definition, call: Call, imported: Collection[str]
) -> Definition | None:
    """Return the definition that a call means, or None if that is not certain."""
    store = context.forest.store
    defined = store.definitions(call.name, exact=True, limit=MAX_DEFINITIONS_PER_CALL)
    if not call.is_known:
        return _resolved(defined, caller, imported)
    own = caller.file, caller.qualified
    meant = (d for d in defined if (d.file, d.qualified) in call.targets)
    return next((d for d in meant if (d.file, d.qualified) != own), None)


def _resolved(
    found: Sequence[Definition], caller: Definition, imported: Collection[str]
) -> Definition | None:
    """Return the definition that a call means, or None if that is not certain.

    It is in the same scope, the same file or an imported file, or the only one of its name.
    """
    others = [
        d
        for d in found
        if not (d.file == caller.file and caller.line <= d.line <= caller.end_line)
        and d.qualified != caller.qualified
    ]
    scope = caller.qualified.rpartition(".")[0]
    same_scope = [d for d in others if d.file == caller.file and d.qualified == f"{scope}.{d.name}"]
    same_file = [d for d in others if d.file == caller.file]
    near = [d for d in others if d.file in imported]
    for group in (same_scope, same_file, near, others if len(found) == 1 else []):
        if group:
            return group[0]
    return None
