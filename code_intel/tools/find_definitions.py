"""Tool `find_definitions`."""

from typing import Annotated

from pydantic import Field

from code_intel.forest.grep import Question, confined, grep
from code_intel.learned.validity import lookup_name
from code_intel.records import Definition
from code_intel.session import steps
from code_intel.text import visible
from code_intel.tools.answers import definition_data, index_data, index_text
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.desk import Desk, thread
from code_intel.tools.freshen import freshen

LIMIT = 50
MOST = 10_000
"""Definitions that are looked at when only those of a folder or language are wanted."""
FRAGMENT = 3
"""Characters below which a name that is merely contained in others counts as nothing found."""

Symbol = Annotated[
    str,
    Field(
        min_length=1, max_length=300, description="`login`, `AuthService.login` or `Auth::login()`."
    ),
]


async def find_definitions(
    desk: Desk,
    symbol: Symbol,
    path: Annotated[str, Field(description="Only below this folder or file.")] = ".",
    language: Annotated[str, Field(description="Only in this language, such as python.")] = "",
    exact_match: Annotated[
        bool, Field(description="Leave out names that merely contain it.")
    ] = False,
    session_id: SessionId = None,
) -> Answer:
    """Find where a symbol is defined, from the index of this project's own source.

    What it finds counts as a fact, and corroborates what a search merely suggested. Use it with
    find_references before submit_understanding. Returns name, file, line, kind, scope and signature.
    """
    async with desk.perhaps(session_id, "find_definitions") as held:
        every = await thread(_definitions, desk, symbol, path, language, exact=exact_match)
        if await thread(freshen, desk, await _suspects(desk, symbol, every[:LIMIT])):
            every = await thread(_definitions, desk, symbol, path, language, exact=exact_match)
        index = await thread(desk.forest.freshness)
        found = every[:LIMIT]
        if held is not None:
            await held.append(
                steps.called(
                    "find_definitions",
                    symbol,
                    found=len(found) if len(symbol.strip()) >= FRAGMENT else _exact(symbol, found),
                    files=dict.fromkeys(d.file for d in found),
                    symbols=dict.fromkeys(d.qualified for d in found),
                )
            )
    lines = [f"{visible(d.file)}:{d.line}  {d.kind} {d.qualified}" for d in found[:20]]
    if len(every) > len(lines):
        lines.append(
            f"… {len(every) - len(lines)} more; narrow with path, language or exact_match."
        )
    text = "\n".join(lines) or f"No definition of {symbol} in the index; try another spelling."
    data = {
        "symbol": symbol,
        "path": path,
        "definitions": [definition_data(d) for d in found],
        "total": len(every),
        "truncated": len(every) > len(found),
        "index": index_data(index),
    }
    return Answer(data, text + ("" if index.state == "fresh" else index_text(index)))


async def _suspects(desk: Desk, symbol: str, found: list[Definition]) -> list[str]:
    """Return the files that may have changed since they were indexed: those found, or those that say the word."""
    if found:
        return list(dict.fromkeys(d.file for d in found))
    name = lookup_name(symbol).rpartition(".")[2]
    if not name:
        return []
    matches = await grep(desk.root, Question(name, literal=True, max_results=LIMIT))
    return list(dict.fromkeys(match.file for match in matches.matches))


def _definitions(
    desk: Desk, symbol: str, path: str, language: str, *, exact: bool
) -> list[Definition]:
    """Return the definitions below `path`, which must exist in the project."""
    below = desk.root / confined(desk.root, path)
    everywhere = below == desk.root and not language
    found = desk.forest.store.definitions(
        symbol, exact=exact, limit=LIMIT + 1 if everywhere else MOST
    )
    folder = desk.forest.config.folder
    return [
        d
        for d in found
        if (folder / d.file).is_relative_to(below) and language.lower() in {"", d.language}
    ]


def _exact(symbol: str, found: list[Definition]) -> int:
    return sum(d.name == symbol.strip() for d in found)
