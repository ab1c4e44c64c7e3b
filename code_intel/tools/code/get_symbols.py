"""Implement the tool `get_symbols`."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from code_intel.chunking import language_of
from code_intel.chunking.languages import CAPTURE_KINDS
from code_intel.errors import NotFoundError, UsageError
from code_intel.forest.text.grep import confined, list_files
from code_intel.foundation.text import counted
from code_intel.records import Definition
from code_intel.session import steps
from code_intel.session.paths import plain_path
from code_intel.tools.context.freshness import ask_fresh_index, refresh_changed
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.source_file import index_path_of
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.wire.answers import MAX_SEARCH_TOKENS, definition_line, index_data, index_text
from code_intel.tools.wire.languages import PARSED_LANGUAGES, language_named
from code_intel.tools.wire.paging import Cursor, page, start_of
from code_intel.tools.wire.suspicion import flags_of

MAX_REFRESHED_SYMBOL_FILES = 200
"""Maximum files of a folder to index again first; the indexer updates the others later."""
MAX_SYMBOLS_READ = 50_000
"""Maximum symbols to read; in a larger folder, those of the first files."""
FILES_PER_QUERY = 500
TOO_MANY = "There are more symbols than this tool reads. Narrow with path or language."


async def get_symbols(
    context: GatewayContext,
    path: Annotated[str, Field(min_length=1, max_length=1000, description="A file or a folder.")],
    kind: Annotated[
        str, Field(max_length=40, description="Only this kind: function, method, class, …")
    ] = "",
    language: Annotated[
        str, Field(max_length=40, description="Only in this language, such as python.")
    ] = "",
    cursor: Cursor = "",
    session_id: SessionId = None,
) -> Answer:
    """List the symbols that a file, or every file below a folder, defines.

    Use it for an overview; find_definitions finds one name, analyze_structure outlines one file.
    Returns name, file, line, kind, scope and language, ordered by file and line. Listing a folder
    does not count as looking at its files.
    """
    kind, wanted = _kind(kind), language_named(language)
    start = start_of(cursor, path, kind, wanted)
    async with context.optional_session(session_id, "get_symbols") as locked:
        relative = _relative_path(context, path)
        listed = await list_files(context.root, relative)
        defined, has_more = await run_in_thread(_defined, context, path, relative, listed.names)
        found = [d for d in defined if kind in {"", d.kind} and wanted in {"", d.language}]
        part = page(found, start, _row, path, kind, wanted, budget=MAX_SEARCH_TOKENS)
        index = await run_in_thread(context.forest.freshness)
        if locked is not None:
            names = dict.fromkeys(d.qualified for d in found[part.start : part.end])
            files = [relative] if found and (context.root / relative).is_file() else []
            step = steps.called("get_symbols", path, found=len(found), files=files, symbols=names)
            await locked.append(step)
    data: dict[str, Any] = {
        "path": path,
        "symbols": part.rows,
        "total": len(found),
        **part.data(has_more=has_more),
        "index": index_data(index),
    }
    lines = part.lines(definition_line, "symbols", len(found)) + ([TOO_MANY] if has_more else [])
    if not found:
        data["message"] = _no_match_message(path, defined)
        lines.append(data["message"])
    return Answer(data, "\n".join(lines) + ("" if index.state == "fresh" else index_text(index)))


def _kind(kind: str) -> str:
    wanted = kind.strip().lower()
    if wanted and wanted not in CAPTURE_KINDS:
        raise UsageError(
            f"get_symbols: {kind!r} is not a kind of symbol.",
            hint=f"Use one of {', '.join(CAPTURE_KINDS)}.",
            details={"field": "kind", "kinds": list(CAPTURE_KINDS)},
        )
    return wanted


def _relative_path(context: GatewayContext, path: str) -> str:
    try:
        return confined(context.root, path)
    except UsageError:
        return confined(context.root, plain_path(path))


def _defined(
    context: GatewayContext, path: str, relative: str, listed: Sequence[str]
) -> tuple[list[Definition], bool]:
    """Return the definitions in the current files, and whether there are more.

    Raises:
        NotFoundError: The path is a file that is not in the index.
    """
    store, real = context.forest.store, context.root / relative
    if real.is_file():
        name = index_path_of(context, relative)
        refresh_changed(context, [name])
        if store.document(name) is None:
            raise NotFoundError(
                f"{path[:200]} is not indexed: it is ignored, too large, binary or not source.",
                hint="Name a source file of the project, or read this one with snippets_get.",
                details={"field": "path"},
            )
        return store.defined_in([name]), False
    context.forest.request_scan()
    read = [
        index_path_of(context, name) for name in listed if language_of(name) in PARSED_LANGUAGES
    ]

    def suspects(names: list[str]) -> list[str]:
        indexed = frozenset(names)
        new = [name for name in read if name not in indexed]
        return [*new[:MAX_REFRESHED_SYMBOL_FILES], *names[:MAX_REFRESHED_SYMBOL_FILES]]

    names = ask_fresh_index(context, lambda: _documents(context, relative), suspects)
    found: list[Definition] = []
    for first in range(0, len(names), FILES_PER_QUERY):
        found += store.defined_in(names[first : first + FILES_PER_QUERY])
        if len(found) > MAX_SYMBOLS_READ:
            return found[:MAX_SYMBOLS_READ], True
    return found, False


def _documents(context: GatewayContext, relative: str) -> list[str]:
    """Return the documents of the index below a folder of the project."""
    folder, real = context.forest.config.folder, context.root / relative
    names = [path for path, _, _ in context.forest.store.digests()]
    if folder.is_relative_to(real):
        return sorted(names)
    if real.is_relative_to(folder):
        prefix = f"{real.relative_to(folder).as_posix()}/"
    else:
        prefix = f"{real.as_posix()}/"
    return sorted(name for name in names if name.startswith(prefix))


def _row(definition: Definition) -> dict[str, Any]:
    return {
        "name": definition.qualified,
        "file": definition.file,
        "line": definition.line,
        "kind": definition.kind,
        "scope": definition.qualified.rpartition(".")[0],
        "language": definition.language,
        **flags_of(definition.qualified, definition.file),
    }


def _no_match_message(path: str, defined: list[Definition]) -> str:
    if not defined:
        return f"The index contains no symbol in {path}."
    kinds = ", ".join(sorted({d.kind for d in defined}))
    languages = ", ".join(sorted({d.language for d in defined}))
    count = counted(len(defined), "symbol")
    return f"None of {count} matches. Kinds found: {kinds}; languages: {languages}."
