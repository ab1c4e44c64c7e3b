"""Tool `find_references`."""

from typing import Annotated, Any

from pydantic import Field

from code_intel.forest.grep import Match, Question, grep
from code_intel.session import steps
from code_intel.text import visible
from code_intel.tools.answers import BUDGET, within
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.desk import Desk, thread
from code_intel.tools.find_definitions import LIMIT, Symbol
from code_intel.tools.suspicion import flags_of, note_of

MAX_REFERENCES = 100


async def find_references(
    desk: Desk,
    symbol: Symbol,
    path: Annotated[str, Field(description="Only below this folder or file.")] = ".",
    language: Annotated[str, Field(description="A ripgrep type such as py, ts or go.")] = "",
    session_id: SessionId = None,
) -> Answer:
    """Find where a symbol is used: whole-word matches in the files, its definitions left out.

    Use it after find_definitions to see who depends on the code that is about to change. Returns
    file, line and the line's content.
    """
    name = symbol.strip().rstrip("()").replace("::", ".").rpartition(".")[2] or symbol
    question = Question(
        name, literal=True, path=path, file_type=language, max_results=MAX_REFERENCES + LIMIT
    )
    async with desk.perhaps(session_id, "find_references") as held:
        matches = await grep(desk.root, question)
        defined = await thread(desk.forest.store.definitions, name, exact=True, limit=LIMIT)
        known = await thread(desk.forest.store.definitions, symbol, exact=True, limit=1)
        places = {(d.file, d.line) for d in defined}
        found = [m for m in matches.matches if (m.file, m.line) not in places][:MAX_REFERENCES]
        if held is not None:
            step = steps.called(
                "find_references",
                symbol,
                found=len(found),
                files=dict.fromkeys(m.file for m in found),
                symbols=(symbol,) if found and known else (),
            )
            await held.append(step)
    lines = [f"{visible(m.file)}:{m.line}  {m.content.strip()[:200]}" for m in found[:20]]
    rows = within(map(_reference_data, found), BUDGET)
    if note := note_of(rows):
        lines.insert(0, note)
    if len(found) > len(lines):
        lines.append(f"… {len(found) - len(lines)} more in `references`; narrow with path.")
    data = {
        "symbol": symbol,
        "path": path,
        "references": rows,
        "total": len(found),
        "truncated": matches.truncated or len(rows) < len(found),
    }
    if matches.note:
        data["warnings"] = [matches.note]
        lines.append(matches.note)
    where = "" if path == "." else f" below {path}"
    if not found:
        lines.insert(0, f"{name} is used nowhere{where}.")
    return Answer(data, "\n".join(lines))


def _reference_data(match: Match) -> dict[str, Any]:
    data = {"file": match.file, "line": match.line, "content": match.content}
    return data | flags_of(match.file, match.content)
