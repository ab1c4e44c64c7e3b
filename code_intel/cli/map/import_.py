"""Import what `code-intel map export` wrote: agreements and notes. All of them are unconfirmed.

Existing agreements stay as they are: a line with the same term and symbol, or the same kind and
title, is skipped. The result of
each line is reported, with the field and the reason if the line is malformed. Exits with 1 if a
line is malformed, or if an unreadable file has the name that its agreement would get.

--json: `lines` {line, fate, and nl_term, symbol, symbol_defined or kind, title or field, reason},
`counts` by fate, `dry_run`, `map_sync`.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Awaitable
from functools import partial
from pathlib import Path
from typing import Any

from code_intel.cli.map.context import add_dry_run, run_on_current_source
from code_intel.cli.output import emit
from code_intel.cli.project import project_of
from code_intel.errors import UsageError
from code_intel.learned.files.exchange import FATE_TEXTS, MAX_EXPORT_BYTES, Arrival, Fate, arrive
from code_intel.learned.status.validity import lookup_name
from code_intel.operations.map.current import refresh_whole_map
from code_intel.tools.context.freshness import DRY_RUN, NOTHING_WRITTEN
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.declaration import Answer

FATE_COUNTS: dict[Fate, str] = {
    "import": "imported",
    "known": "already here",
    "repeated": "repeated",
    "blocked": "blocked by a file",
    "malformed": "malformed",
}
NEXT_STEP = (
    "Review them, then confirm the correct ones with `code-intel map confirm TERM SYMBOL`, or all"
    " whose symbol is defined here with `code-intel map confirm --all`."
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("file", help="a file that `map export` wrote; - is standard input")
    add_dry_run(parser)


def run(args: argparse.Namespace) -> int:
    """Import the file; return 1 if a line could not be imported."""
    settings, data = project_of(args), _read(args.file)

    def work(context: GatewayContext) -> Awaitable[Answer]:
        return _import(context, data, dry=args.dry_run)

    answer = run_on_current_source(settings, work, dry=args.dry_run)
    emit(args, answer.data, answer.text)
    return 1 if {"malformed", "blocked"} & answer.data["counts"].keys() else 0


async def _import(context: GatewayContext, data: bytes, *, dry: bool) -> Answer:
    found: list[Arrival] = await run_in_thread(partial(arrive, context.settings, data, dry=dry))
    rows = await run_in_thread(_rows, context, found)
    counts = dict(Counter(item.fate for item in found))
    map_sync = DRY_RUN if dry else NOTHING_WRITTEN
    if not dry and "import" in counts:
        map_sync = await refresh_whole_map(context)
    answer = {"lines": rows, "counts": counts, "dry_run": dry, **map_sync.data}
    summary = ", ".join(f"{number} {FATE_COUNTS[fate]}" for fate, number in sorted(counts.items()))
    lines = [*map(_line, rows), f"{'Would be' if dry else 'Result'}: {summary or 'nothing'}."]
    if "import" in counts and not dry:
        lines.append(NEXT_STEP)
    return Answer(answer, "\n".join(lines))


def _rows(context: GatewayContext, found: list[Arrival]) -> list[dict[str, Any]]:
    rows = []
    for item in found:
        row: dict[str, Any] = {"line": item.line, "fate": item.fate}
        if item.note is not None:
            row |= {"kind": item.note.kind, "title": item.note.title}
        elif item.agreement is None:
            row |= {"field": item.field, "reason": item.reason}
        else:
            name = lookup_name(item.agreement.symbol)
            defined = bool(context.forest.store.definitions(name, exact=True, limit=1))
            row |= {
                "nl_term": item.agreement.nl_term,
                "symbol": item.agreement.symbol,
                "symbol_defined": defined,
            }
        rows.append(row)
    return rows


def _line(row: dict[str, Any]) -> str:
    if row["fate"] == "malformed":
        field = f", {row['field']}" if row["field"] else ""
        return f"{row['line']}{field}: {FATE_TEXTS['malformed']}. {row['reason']}"
    if "title" in row:
        return f"{row['line']}: {row['kind']} “{row['title']}”: {FATE_TEXTS[row['fate']]}."
    undefined = "" if row["symbol_defined"] else "; the symbol is not defined here"
    return (
        f"{row['line']}: {row['nl_term']} → {row['symbol']}: {FATE_TEXTS[row['fate']]}{undefined}."
    )


def _read(name: str) -> bytes:
    """Return a file's bytes, at most one more than the size limit of an import.

    Raises:
        UsageError: The file cannot be read.
    """
    if name == "-":
        return sys.stdin.buffer.read(MAX_EXPORT_BYTES + 1)
    try:
        with Path(name).expanduser().open("rb") as file:
            return file.read(MAX_EXPORT_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a file name"
        raise UsageError(
            f"{name[:200]} cannot be read: {reason}.",
            hint="Name a file that `code-intel map export` wrote, or - for standard input.",
            details={"field": "file"},
        ) from None
