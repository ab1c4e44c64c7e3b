"""Tool `find_definitions`."""

from typing import Annotated

from pydantic import Field

from code_intel.session import steps
from code_intel.tools.answers import definition_data
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.desk import Desk, thread

LIMIT = 50

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
        found = await thread(desk.forest.store.definitions, symbol, exact=exact_match, limit=LIMIT)
        below = path.strip("/").removeprefix("./")
        found = [
            d
            for d in found
            if (below in {"", "."} or d.file == below or d.file.startswith(f"{below}/"))
            and language.lower() in {"", d.language}
        ]
        if held is not None:
            await held.append(
                steps.called(
                    "find_definitions",
                    symbol,
                    found=len(found),
                    files=dict.fromkeys(d.file for d in found),
                    symbols=dict.fromkeys(d.qualified for d in found),
                )
            )
    lines = [f"{d.file}:{d.line}  {d.kind} {d.qualified}" for d in found[:20]]
    text = "\n".join(lines) or f"No definition of {symbol} in the index; try another spelling."
    data = {
        "symbol": symbol,
        "path": path,
        "definitions": [definition_data(d) for d in found],
        "total": len(found),
    }
    return Answer(data, text)
