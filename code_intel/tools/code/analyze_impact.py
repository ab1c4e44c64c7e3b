"""Implement the tool `analyze_impact`."""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from code_intel.errors import NotFoundError, UsageError
from code_intel.forest.dependencies.build import graph_of
from code_intel.forest.dependencies.closure import Node
from code_intel.forest.dependencies.resolvers import follows
from code_intel.forest.impact import (
    MAX_IMPACT_NAMES,
    AffectedFile,
    affected_files,
    importers,
    names_in,
    names_of,
    pattern_of,
)
from code_intel.forest.text.grep import TextMatches, TextQuery, grep
from code_intel.foundation.text import visible
from code_intel.index.walk import bases
from code_intel.records import Definition
from code_intel.session import steps
from code_intel.tools.code.deps_closure import (
    INDEX_INCOMPLETE,
    MAX_REFRESHED_IMPORTS,
    NO_IMPORTS,
    document_of,
)
from code_intel.tools.context.freshness import ask_fresh_index, refresh_changed
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.source_file import project_path_of
from code_intel.tools.context.symbol_facts import MAX_DEFINITIONS_PER_NAME
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.wire.answers import MAX_SEARCH_TOKENS, index_data, index_text
from code_intel.tools.wire.paging import (
    MAX_TEXT_ROWS,
    AnswerPage,
    Cursor,
    by_section,
    page,
    start_of,
)
from code_intel.tools.wire.suspicion import flags_of, note_of

SECTIONS = ("must_verify", "should_verify")
MAX_MENTIONS = 3000
"""Maximum lines that mention one of the names, in all files."""
MAX_IMPACT_SYMBOLS = 30
MAX_TESTS = 40
TOO_MANY = "There are more importers or more lines with these names than this tool reads."
NOTHING_AFFECTED = "No file imports these files or mentions their names."
SOME_NAMES = (
    "Only {} of {} names were searched for. Mention the symbols that change in change_description."
)


async def analyze_impact(
    context: GatewayContext,
    target_files: Annotated[
        list[Annotated[str, Field(max_length=1000)]],
        Field(min_length=1, max_length=50, description="Files that will change."),
    ],
    change_description: Annotated[
        str, Field(max_length=2000, description="What changes; symbols mentioned here come first.")
    ] = "",
    cursor: Cursor = "",
    session_id: SessionId = None,
) -> Answer:
    """Find what a change may break before you make it: importers, users of its symbols, tests.

    `must_verify`: files that import a target directly or mention a name that only the targets
    define. `should_verify`: indirect importers, files that mention names which other files define
    too, and documents. The answer says where to look, not what breaks; uses without an import or a
    name are not found.
    """
    start = start_of(cursor, tuple(target_files), change_description)
    async with context.optional_session(session_id, "analyze_impact") as locked:
        targets = await run_in_thread(_targets, context, target_files)
        named = names_in(change_description, targets.symbols)
        all_names = names_of(targets.symbols, named)
        names = all_names[:MAX_IMPACT_NAMES]
        mentions = await _mentions(context, names)
        shared = await run_in_thread(_shared, context, names, targets.documents)
        found = affected_files(
            targets.importers, mentions.matches, targets=targets.files, shared=shared, named=named
        )
        rows = [(SECTIONS[not row.must], row) for row in found]
        part = page(
            rows,
            start,
            _row_data,
            tuple(target_files),
            change_description,
            budget=MAX_SEARCH_TOKENS,
        )
        index = await run_in_thread(context.forest.freshness)
        if locked is not None:
            target = ", ".join(target_files)
            await locked.append(steps.called("analyze_impact", target, found=len(found)))
    has_more = mentions.truncated or targets.truncated
    warnings = [*targets.warnings]
    warnings += [TOO_MANY] if has_more else []
    warnings += (
        [SOME_NAMES.format(len(names), len(all_names))] if len(names) < len(all_names) else []
    )
    warnings += [INDEX_INCOMPLETE] if index.state == "building" else []
    sections = by_section(part, SECTIONS)
    data: dict[str, Any] = {
        "target_files": targets.files,
        "change_description": change_description,
        "symbols": _symbols(targets.symbols, named, mentions),
        **sections,
        "tests": [row.file for row in found if row.test][:MAX_TESTS],
        "summary": _summary(found),
        **part.data(has_more=has_more),
        "index": index_data(index),
    }
    if targets.unknown:
        data["not_indexed"] = targets.unknown
    if warnings:
        data["warnings"] = warnings
    note = "" if index.state == "fresh" else index_text(index)
    return Answer(data, "\n".join([*_lines(sections, part, len(found)), *warnings]) + note)


class Targets(NamedTuple):
    """The files that change.

    Attributes:
        files: Paths relative to the project, each once.
        documents: Names of these files in the index.
        symbols: The symbols that these files define.
        importers: The files that import these files.
        truncated: Whether there are more importers.
        unknown: Files that are not in the index.
        warnings: What the answer cannot cover.
    """

    files: list[str]
    documents: list[str]
    symbols: list[Definition]
    importers: dict[str, Node]
    truncated: bool
    unknown: list[str]
    warnings: list[str]


def _targets(context: GatewayContext, paths: Sequence[str]) -> Targets:
    """Return the target files and their importers, as they are now.

    Raises:
        UsageError: A file is missing or outside the project.
        NotFoundError: None of the files is in the index.
    """
    context.forest.request_scan()
    store = context.forest.store
    names = dict.fromkeys(_document(context, path) for path in paths)
    refresh_changed(context, names)
    indexed = {name: row for name in names if (row := store.document(name)) is not None}
    unknown = [project_path_of(context, name) for name in names if name not in indexed]
    if not indexed:
        raise NotFoundError(
            f"None of these files is in the index: {', '.join(unknown)[:300]}.",
            hint="Name source files of the project. `code-intel status` shows the index's state.",
            details={"field": "target_files", "not_indexed": unknown},
        )
    found, truncated = ask_fresh_index(
        context,
        lambda: importers(graph_of(store, bases(context.forest.config)), indexed),
        lambda answer: list(answer[0])[:MAX_REFRESHED_IMPORTS],
    )
    languages = dict.fromkeys(row.language for row in indexed.values() if not follows(row.language))
    importing = {
        project_path_of(context, path): node._replace(via=project_path_of(context, node.via))
        for path, node in found.items()
    }
    return Targets(
        [project_path_of(context, name) for name in indexed],
        list(indexed),
        store.defined_in(indexed),
        importing,
        truncated,
        unknown,
        [NO_IMPORTS.format(language=language) for language in languages],
    )


def _document(context: GatewayContext, path: str) -> str:
    try:
        return document_of(context, path)
    except UsageError as error:
        raise UsageError(
            error.message, code=error.error, hint=error.hint, details={"field": "target_files"}
        ) from None


async def _mentions(context: GatewayContext, names: Sequence[str]) -> TextMatches:
    if not names:
        return TextMatches(())
    return await grep(context.root, TextQuery(pattern_of(names), max_results=MAX_MENTIONS))


def _shared(context: GatewayContext, names: Sequence[str], documents: Sequence[str]) -> set[str]:
    """Return the names that other files define as well."""
    store, targets = context.forest.store, frozenset(documents)
    return {
        name
        for name in names
        if any(
            d.file not in targets
            for d in store.definitions(name, exact=True, limit=MAX_DEFINITIONS_PER_NAME)
        )
    }


def _symbols(
    symbols: Sequence[Definition], named: set[str], mentions: TextMatches
) -> list[dict[str, Any]]:
    counts: dict[str, int] = {}
    for match in mentions.matches:
        for name in {text for text, _, _ in match.spans}:
            counts[name] = counts.get(name, 0) + 1
    ordered = sorted(symbols, key=lambda s: (s.name not in named, -counts.get(s.name, 0)))
    return [
        {
            "name": symbol.qualified,
            "file": symbol.file,
            "line": symbol.line,
            "kind": symbol.kind,
            "named": symbol.name in named,
            "mentions": counts.get(symbol.name, 0),
        }
        for symbol in ordered[:MAX_IMPACT_SYMBOLS]
    ]


def _summary(found: Sequence[AffectedFile]) -> dict[str, int]:
    return {
        "must_verify": sum(row.must for row in found),
        "should_verify": sum(not row.must for row in found),
        "direct_importers": sum(row.depth == 1 for row in found),
        "indirect_importers": sum(row.depth > 1 for row in found),
        "users_of_symbols": sum(bool(row.names) for row in found),
        "tests": sum(row.test for row in found),
    }


def _row_data(item: tuple[str, AffectedFile]) -> tuple[str, dict[str, Any]]:
    section, row = item
    data: dict[str, Any] = {"file": row.file, "test": row.test, "why": _why(row)}
    if row.lines:
        data |= {"symbols": list(row.names[:10]), "lines": list(row.lines)}
    return section, data | flags_of(row.file, *row.names)


def _why(row: AffectedFile) -> list[str]:
    reasons = [f"imports {row.via}"] if row.depth == 1 else []
    if row.depth > 1:
        reasons.append(f"imports it indirectly ({row.depth} steps), via {row.via}")
    if row.names:
        reasons.append(f"mentions {', '.join(row.names[:3])}")
    return reasons


def _lines(sections: dict[str, list[Any]], part: AnswerPage, total: int) -> list[str]:
    rows = [(section, row) for section, rows in sections.items() for row in rows]
    lines = [note] if (note := note_of([row for _, row in rows])) else []
    for section, row in rows[:MAX_TEXT_ROWS]:
        name = visible(row["file"]) + (" (test)" if row["test"] else "")
        lines.append(f"{section.partition('_')[0]}  {name}  {visible('; '.join(row['why']))}")
    if len(rows) > MAX_TEXT_ROWS:
        lines.append(f"… {len(rows) - MAX_TEXT_ROWS} more in `must_verify` and `should_verify`.")
    lines += part.rest(total)
    return lines or [NOTHING_AFFECTED]
