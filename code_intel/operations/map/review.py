"""List what waits for a person, oldest first, with the code."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from code_intel.chunking.agreement_body import encodable
from code_intel.errors import UsageError
from code_intel.foundation.text import counted, visible
from code_intel.learned.status.review import WaitingEntry, waiting
from code_intel.learned.status.validity import lookup_name
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.context.source_file import project_path_of, read_source
from code_intel.tools.context.symbol_facts import nearest
from code_intel.tools.declaration import Answer
from code_intel.tools.wire import reader

DEFAULT_LIMIT = 20
MAX_CODE_LINES = 6
"""Limit of the lines of a symbol that are shown."""
NOTHING = "Nothing waits."
NEXT_STEPS = (
    "`code-intel map confirm TERM SYMBOL` accepts an agreement, and `map confirm TITLE` a note. "
    "`map reject` marks an agreement as wrong, and `map delete` moves either to the trash. Resolve "
    "a merge conflict in its file."
)


def review(context: GatewayContext, limit: int = DEFAULT_LIMIT) -> Answer:
    """List the entries that wait, oldest first; this blocks."""
    found = waiting(context.settings, context.forest, context.map_cache)
    rows = [_row(context, item) for item in found[:limit]]
    counts = dict(sorted(Counter(reason for item in found for reason in item.reasons).items()))
    data = {"waiting": rows, "total": len(found), "counts": counts}
    lines = [line for row in rows for line in _lines(row)]
    if more := len(found) - len(rows):
        lines.append(f"… {more} more; --limit shows them.")
    summary = ", ".join(f"{number} {reason}" for reason, number in counts.items())
    waits = "waits" if len(found) == 1 else "wait"
    last = [f"{counted(len(found), 'entry', 'entries')} {waits}: {summary}.", NEXT_STEPS]
    return Answer(data, "\n".join([*lines, *last]) if found else NOTHING)


def _row(context: GatewayContext, item: WaitingEntry) -> dict[str, Any]:
    """Return an entry with its code, without empty fields."""
    entry = item.entry
    row = {
        "kind": entry.kind,
        "file": encodable(entry.path.name),
        "name": encodable(entry.name),
        "status": entry.status,
        "waits_for": list(item.reasons),
        "reasons": list(entry.why),
        "since": entry.since.isoformat(timespec="seconds") if entry.since.year > 1 else "",
        "symbol": entry.symbol,
        "says": list(entry.says) if "changed" in item.reasons else [],
        "code": _code(context, item),
    }
    return {name: value for name, value in row.items() if value}


def _code(context: GatewayContext, item: WaitingEntry) -> dict[str, Any]:
    """Return the first lines of the symbol as they are on disk; {} if it is not defined."""
    name = lookup_name(item.entry.symbol)
    found = context.forest.store.definitions(name, exact=True, limit=50) if name else []
    for definition in nearest(found, item.entry.files)[:1]:
        file = project_path_of(context, definition.file)
        try:
            lines = read_source(context, file).lines
        except UsageError:  # outside the project, or deleted meanwhile
            break
        end = min(definition.end_line, definition.line + MAX_CODE_LINES - 1)
        return {
            "file": file,
            "start_line": definition.line,
            "end_line": definition.end_line,
            "lines": list(lines[definition.line - 1 : end]),
        }
    return {}


def _lines(row: Mapping[str, Any]) -> Iterator[str]:
    reasons = " ".join(f"{reason.rstrip('.')}." for reason in row.get("reasons", ()))
    yield visible(f"[{row['status']}] {row['name']}" + (f"  ({reasons})" if reasons else ""))
    date = f", since {row['since'][:10]}" if "since" in row else ""
    yield visible(f"   {', '.join(row['waits_for'])}{date}, in {row['file']}")
    said = (" ".join(item.split()) for item in row.get("says", ()))
    yield from (visible(f"   says: {item}") for item in said)
    if code := row.get("code"):
        yield f"   {reader.file_name(code['file'])}:{code['start_line']}"
        for number, line in enumerate(code["lines"], code["start_line"]):
            yield f"   {number:>5}  {visible(line, keep=chr(9))}"
        hidden = code["end_line"] - code["start_line"] + 1 - len(code["lines"])
        if hidden > 0:
            yield f"          … {counted(hidden, 'more line')}"
