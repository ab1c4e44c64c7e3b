"""Look up symbols in the index, the map and git, and score them with the embedding model."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from code_intel.chunking import decode, parse_file
from code_intel.chunking.languages import LANGUAGES, row_of
from code_intel.errors import EmbeddingError, UsageError
from code_intel.forest.text.grep import list_files
from code_intel.learned.recall.calibration import of_project
from code_intel.learned.recall.recall import fold, symbol_similarity
from code_intel.learned.status.agreement_status import standings
from code_intel.learned.status.validity import places_of
from code_intel.records import Definition
from code_intel.session.paths import plain_path
from code_intel.session.relevance import SymbolLocation
from code_intel.session.state import Session
from code_intel.session.wording import fold_symbol
from code_intel.tools.context.freshness import refresh_source
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.project_files import written_since
from code_intel.tools.context.source_file import index_path_of, project_path_of

MAX_DEFINITIONS_PER_NAME = 50
MAX_INDEXED_FIRST = 20
"""Maximum files to index immediately if the index contains no symbol yet."""


async def definitions_of(
    context: GatewayContext, symbols: Sequence[str]
) -> dict[str, list[Definition]]:
    """Return the exact definitions in the local index of each symbol that has any."""

    def look_up() -> dict[str, list[Definition]]:
        store = context.forest.store
        found = {
            symbol: store.definitions(symbol, exact=True, limit=MAX_DEFINITIONS_PER_NAME)
            for symbol in symbols
        }
        return {symbol: definitions for symbol, definitions in found.items() if definitions}

    return await run_in_thread(look_up)


def nearest(definitions: Sequence[Definition], files: Iterable[str]) -> list[Definition]:
    """Return the definitions in `files`, in the order of these, or all if none is in them.

    If several files define a name, the caller means the definition in the files of its work.
    """
    return [d for file in dict.fromkeys(files) for d in definitions if d.file == file] or list(
        definitions
    )


def require_one_file(
    symbol: str, definitions: Sequence[Definition], files: Iterable[str], field: str
) -> None:
    """Require that one file defines a symbol, or that one of `files` does.

    Raises:
        UsageError: Several files define it; the error lists them.
    """
    defining = {definition.file for definition in definitions}
    if len(defining) < 2 or not defining.isdisjoint(files):  # noqa: PLR2004 - "several"
        return
    raise UsageError(
        f"Several files define {symbol}: {places_of(definitions)}.",
        code="ambiguous_symbol",
        hint="Name the file that is meant.",
        details={
            "field": field,
            "definitions": [
                {"symbol": d.qualified, "file": d.file, "line": d.line} for d in definitions
            ],
        },
    )


async def sole_body(context: GatewayContext, definitions: Sequence[Definition]) -> str:
    """Return the body (see `Symbol.body`) of the first definition, or "" if it is not unique.

    The body is used later to prove a rename, so no other symbol may share it.
    """
    body = definitions[0].body if definitions else ""
    if not body:
        return ""
    return body if len(await run_in_thread(context.forest.store.of_body, body, 2)) == 1 else ""


async def canonical_names(context: GatewayContext, symbols: Sequence[str]) -> list[str]:
    """Return the symbols' qualified names without duplicates; unknown symbols stay unchanged.

    `login`, `AuthService.login` and `AuthService::login()` are the same symbol.
    """
    found = await definitions_of(context, symbols)

    def name(symbol: str) -> str:
        names = {definition.qualified for definition in found.get(symbol, ())}
        return names.pop() if len(names) == 1 else symbol

    return list(dict.fromkeys(name(symbol) for symbol in symbols))


async def defined_symbols(context: GatewayContext, symbols: Sequence[str]) -> list[str]:
    """Return the symbols that the local index defines, spelled as given."""
    return list(await definitions_of(context, symbols))


async def seen_symbols(
    context: GatewayContext, session: Session, symbols: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return the defined symbols that the session has seen, and those in files it has opened.

    A symbol counts as seen if a call has found it or has shown a file that defines it.
    """
    found = await definitions_of(context, symbols)
    files = {
        symbol: {project_path_of(context, d.file) for d in definitions}
        for symbol, definitions in found.items()
    }
    seen, opened, known = session.seen_files, session.opened_files, session.corroborated_symbols
    seen_names = [s for s in files if fold_symbol(s) in known or files[s] & seen]
    return seen_names, [s for s in files if files[s] & opened]


async def created_since(
    context: GatewayContext, session: Session, symbols: Sequence[str], files: Iterable[str] = ()
) -> frozenset[str]:
    """Return the symbols and files that were created since the session began, if git can tell.

    They are no evidence of understanding, because the agent may have written them itself.
    """
    found = await definitions_of(context, symbols)
    places = {s: {project_path_of(context, d.file) for d in rows} for s, rows in found.items()}
    relative = {file: session.relative(file) for file in files}

    def look() -> frozenset[str]:
        wanted = {*relative.values(), *(file for group in places.values() for file in group)}
        before = written_since(context.root, session, wanted)
        defined = {file: _defined_in(file, content) for file, content in before.items()}
        known = frozenset[str]().union(*defined.values())
        new = {
            symbol
            for symbol, rows in found.items()
            if places[symbol] <= defined.keys()
            and known.isdisjoint(part for d in rows for part in (d.qualified, d.body))
        }
        return frozenset(new | {file for file, name in relative.items() if before.get(name) == b""})

    return await run_in_thread(look)


def _defined_in(file: str, content: bytes) -> set[str]:
    """Return the names and bodies of a file's symbols; the body identifies a renamed symbol."""
    symbols = parse_file(file, decode(content) or "").symbols
    return {part for symbol in symbols for part in (symbol.qualified, symbol.body) if part}


def locations_of(
    definitions: Mapping[str, Sequence[Definition]],
) -> dict[str, list[SymbolLocation]]:
    """Return the locations that define each symbol, by the symbol's name in the session."""
    return {
        fold_symbol(symbol): [SymbolLocation(d.file, d.line, d.end_line) for d in rows]
        for symbol, rows in definitions.items()
    }


async def defines_code(context: GatewayContext, files: Iterable[str] = ()) -> bool:
    """Return whether the index contains a symbol in a programming language, not a data format.

    If none exists, index some of `files` and look again, because the index may be incomplete.
    """
    code = [language.name for language in LANGUAGES if language.complete]
    if await run_in_thread(context.forest.store.has_symbols, code):
        return True
    known = [index_path_of(context, file) for file in files if row_of(plain_path(file)).complete]
    await refresh_source(context, known[:MAX_INDEXED_FIRST])
    return await run_in_thread(context.forest.store.has_symbols, code)


async def is_all_code_indexed(context: GatewayContext) -> bool:
    """Return whether the index contains every source file of the project.

    An index that is being built or covers other folders cannot prove that there is no code.
    """
    listing = await list_files(context.root, ".", "")
    code = [name for name in listing.names if row_of(name).complete]
    return not listing.truncated and await run_in_thread(_are_all_indexed, context, code)


def _are_all_indexed(context: GatewayContext, names: Iterable[str]) -> bool:
    try:
        return all(context.forest.store.document(name) is not None for name in names)
    except UnicodeEncodeError:  # names that are not UTF-8 are never indexed
        return False


def can_read_symbols(files: Iterable[str]) -> bool:
    """Return whether symbols of any of these files can be read; True if there are no files."""
    rows = [row_of(plain_path(file)) for file in files]
    return not rows or any(row.complete for row in rows)


async def likeness(
    context: GatewayContext, feature: str, symbols: Sequence[str]
) -> dict[str, float]:
    """Return the score of `symbol_scores` for each symbol, but 1 if an agreement names it."""
    agreed = await agreed_symbols(context, feature, symbols)
    return await symbol_scores(context, feature, symbols) | dict.fromkeys(agreed, 1.0)


async def symbol_scores(
    context: GatewayContext, feature: str, symbols: Sequence[str]
) -> dict[str, float]:
    """Return the calibrated similarity of each defined symbol to a feature; {} without a model."""
    found = await definitions_of(context, symbols)
    constants = of_project(context.settings, context.embedder.identity)
    if not found or constants is None or not context.embedder.available()[0]:
        return {}

    def compare() -> dict[str, float]:
        try:
            return symbol_similarity(context.embedder, feature, found, constants)
        except EmbeddingError:
            return {}

    return await run_in_thread(compare)


async def agreed_symbols(context: GatewayContext, feature: str, symbols: Iterable[str]) -> set[str]:
    """Return the symbols that a valid agreement pairs with this feature (compared by `fold`)."""
    wanted = fold(feature)
    agreed = {
        standing.entry.agreement.symbol
        for standing in await run_in_thread(
            partial(standings, context.settings, context.forest, cache=context.map_cache)
        )
        if standing.entry.agreement is not None
        and standing.validity == "valid"
        and wanted
        in map(fold, (standing.entry.agreement.nl_term, *standing.entry.agreement.aliases))
    }
    return {symbol for symbol in symbols if symbol in agreed}
