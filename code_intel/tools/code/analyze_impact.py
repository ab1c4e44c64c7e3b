"""Tool `analyze_impact`."""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from code_intel.errors import NotFoundError, UsageError
from code_intel.forest.dependencies import Node, follows, graph_of
from code_intel.forest.impact import (
    MOST_NAMES,
    Affected,
    affected,
    importers,
    names_of,
    pattern_of,
    said_in,
)
from code_intel.forest.text.grep import Matches, Question, grep
from code_intel.foundation.text import visible
from code_intel.index.walk import bases
from code_intel.records import Definition
from code_intel.session import steps
from code_intel.tools.code.deps_closure import UNFOLLOWED, UNREAD, document_of
from code_intel.tools.context.freshness import freshen, up_to_date
from code_intel.tools.context.gateway import GatewayContext, thread
from code_intel.tools.context.source_file import called_by_project
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.wire.answers import BUDGET, index_data, index_text
from code_intel.tools.wire.paging import Cursor, Page, by_section, page, start_of
from code_intel.tools.wire.suspicion import flags_of, note_of

SECTIONS = ("must_verify", "should_verify")
MENTIONS = 3000
"""Lines that say a name, over all files."""
DEFINED = 50
"""Definitions of one name that are looked at."""
SYMBOLS = 30
TESTS = 40
LINES = 30
TOO_MANY = (
    "There are more importers than are followed, or more lines with these names than are read."
)
NOTHING = "Nothing imports these files or mentions their names, as far as imports and words tell."
LEFT_OUT = (
    "Only {} of {} names were looked for; name the symbols that change in change_description."
)


async def analyze_impact(
    context: GatewayContext,
    target_files: Annotated[
        list[Annotated[str, Field(max_length=1000)]],
        Field(min_length=1, max_length=50, description="Files that are to change."),
    ],
    change_description: Annotated[
        str, Field(max_length=2000, description="What changes; the symbols it names come first.")
    ] = "",
    cursor: Cursor = "",
    session_id: SessionId = None,
) -> Answer:
    """Find what a change of files may break, before it is made: importers, users of their symbols, tests.

    must_verify has the files that import the target directly or mention a name that only the target defines;
    should_verify those further away, with names that others define too, and documents. It lists where to
    look and does not say what breaks: calls without an import or a name are not seen.
    """
    start = start_of(cursor, tuple(target_files), change_description)
    async with context.perhaps(session_id, "analyze_impact") as held:
        targets = await thread(_targets, context, target_files)
        named = said_in(change_description, targets.symbols)
        every = names_of(targets.symbols, named)
        names = every[:MOST_NAMES]
        said = await _mentions(context, names)
        shared = await thread(_shared, context, names, targets.documents)
        found = affected(
            targets.importers, said.matches, targets=targets.files, shared=shared, named=named
        )
        rows = [(SECTIONS[not row.must], row) for row in found]
        part = page(rows, start, _told, tuple(target_files), change_description, budget=BUDGET)
        index = await thread(context.forest.freshness)
        if held is not None:
            target = ", ".join(target_files)
            await held.append(steps.called("analyze_impact", target, found=len(found)))
    more = said.truncated or targets.truncated
    warnings = [*targets.warnings]
    warnings += [TOO_MANY] if more else []
    warnings += [LEFT_OUT.format(len(names), len(every))] if len(names) < len(every) else []
    warnings += [UNREAD] if index.state == "building" else []
    sections = by_section(part, SECTIONS)
    data: dict[str, Any] = {
        "target_files": targets.files,
        "change_description": change_description,
        "symbols": _symbols(targets.symbols, named, said),
        **sections,
        "tests": [row.file for row in found if row.test][:TESTS],
        "summary": _summary(found),
        **part.data(more=more),
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
        files: Relative to the project, each once.
        documents: As the index calls them.
        symbols: What they define.
        importers: Who imports them, by file.
        truncated: Whether there are more importers.
        unknown: Files that the index does not have.
        warnings: What limits the answer.
    """

    files: list[str]
    documents: list[str]
    symbols: list[Definition]
    importers: dict[str, Node]
    truncated: bool
    unknown: list[str]
    warnings: list[str]


def _targets(context: GatewayContext, asked: Sequence[str]) -> Targets:
    """Find the files, and who imports them, as they are now.

    Raises:
        UsageError: One is outside the project, or missing; names `target_files`.
        NotFoundError: The index has none of them.
    """
    context.forest.request_scan()
    store = context.forest.store
    named = dict.fromkeys(_document(context, path) for path in asked)
    freshen(context, named)
    known = {name: row for name in named if (row := store.document(name)) is not None}
    unknown = [called_by_project(context, name) for name in named if name not in known]
    if not known:
        raise NotFoundError(
            f"The index has none of these files: {', '.join(unknown)[:300]}.",
            hint="Name source files of the project; get_session_status says whether it is indexed.",
            details={"field": "target_files", "not_indexed": unknown},
        )
    found, truncated = up_to_date(
        context,
        lambda: importers(graph_of(store, bases(context.forest.config)), known),
        lambda importing: list(importing[0])[:DEFINED],
    )
    languages = dict.fromkeys(row.language for row in known.values() if not follows(row.language))
    inside = {
        called_by_project(context, path): node._replace(via=called_by_project(context, node.via))
        for path, node in found.items()
    }
    return Targets(
        [called_by_project(context, name) for name in known],
        list(known),
        store.defined_in(known),
        inside,
        truncated,
        unknown,
        [UNFOLLOWED.format(language=language) for language in languages],
    )


def _document(context: GatewayContext, path: str) -> str:
    try:
        return document_of(context, path)
    except UsageError as error:
        raise UsageError(
            error.message, code=error.error, hint=error.hint, details={"field": "target_files"}
        ) from None


async def _mentions(context: GatewayContext, names: Sequence[str]) -> Matches:
    if not names:
        return Matches(())
    return await grep(context.root, Question(pattern_of(names), max_results=MENTIONS))


def _shared(context: GatewayContext, names: Sequence[str], documents: Sequence[str]) -> set[str]:
    """Return the names that other files define as well."""
    store, own = context.forest.store, frozenset(documents)
    return {
        name
        for name in names
        if any(d.file not in own for d in store.definitions(name, exact=True, limit=DEFINED))
    }


def _symbols(symbols: Sequence[Definition], named: set[str], said: Matches) -> list[dict[str, Any]]:
    counts: dict[str, int] = {}
    for match in said.matches:
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
        for symbol in ordered[:SYMBOLS]
    ]


def _summary(found: Sequence[Affected]) -> dict[str, int]:
    return {
        "must_verify": sum(row.must for row in found),
        "should_verify": sum(not row.must for row in found),
        "direct_importers": sum(row.depth == 1 for row in found),
        "indirect_importers": sum(row.depth > 1 for row in found),
        "users_of_symbols": sum(bool(row.names) for row in found),
        "tests": sum(row.test for row in found),
    }


def _told(item: tuple[str, Affected]) -> tuple[str, dict[str, Any]]:
    section, row = item
    data: dict[str, Any] = {"file": row.file, "test": row.test, "why": _why(row)}
    if row.lines:
        data |= {"symbols": list(row.names[:10]), "lines": list(row.lines)}
    return section, data | flags_of(row.file, *row.names)


def _why(row: Affected) -> list[str]:
    why = [f"imports {row.via}"] if row.depth == 1 else []
    why += [f"imports it over {row.depth} files, through {row.via}"] if row.depth > 1 else []
    why += [f"mentions {', '.join(row.names[:3])}"] if row.names else []
    return why


def _lines(sections: dict[str, list[Any]], part: Page, total: int) -> list[str]:
    rows = [(section, row) for section, rows in sections.items() for row in rows]
    lines = [note] if (note := note_of([row for _, row in rows])) else []
    for section, row in rows[:LINES]:
        name = visible(row["file"]) + (" (test)" if row["test"] else "")
        lines.append(f"{section.partition('_')[0]}  {name}  {visible('; '.join(row['why']))}")
    if len(rows) > LINES:
        lines.append(f"… {len(rows) - LINES} more in the fields.")
    lines += part.rest(total)
    return lines or [NOTHING]
