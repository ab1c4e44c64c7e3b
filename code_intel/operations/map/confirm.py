"""Confirm one agreement or note, or all agreements, for the current code."""

import shlex
from functools import partial
from typing import Any

from code_intel.chunking.agreement_body import encodable
from code_intel.errors import NotFoundError
from code_intel.foundation.text import visible
from code_intel.learned.files.agreements import Key, existing, make_key
from code_intel.learned.files.changes import current_agreements
from code_intel.learned.files.confirm import ConfirmCandidate, candidates, confirm_all
from code_intel.learned.files.trunk import is_carried
from code_intel.learned.learn import confirm
from code_intel.learned.notes.change_notes import confirm_note
from code_intel.learned.recording import recorded
from code_intel.learned.status.validity import places_of
from code_intel.operations.map.current import all_standings, find_standing, refresh_whole_map
from code_intel.operations.map.drafts import (
    DraftedAgreement,
    drafted_agreements,
    end_drafted,
    write_drafted,
)
from code_intel.operations.map.notes import note_named
from code_intel.records import FileReference
from code_intel.tools.context.freshness import DRY_RUN, NOTHING_WRITTEN, refresh_map
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.symbol_facts import (
    definitions_of,
    nearest,
    require_one_file,
    sole_body,
)
from code_intel.tools.declaration import Answer
from code_intel.tools.wire import reader

STATE_IN_GIT_NOTE = (
    "The confirmation does not count here, because .code-intel/state.db is committed to git and may"
    " come from another machine. Run `git rm -f --cached .code-intel/state.db`, then"
    " `code-intel init` to keep it out of git."
)


async def confirm_agreement(
    context: GatewayContext, term: str, symbol: str, *, file: str = "", dry: bool = False
) -> Answer:
    """Confirm one agreement, or one of a draft, if the index defines its symbol.

    Args:
        context: The project.
        term: The agreement's term.
        symbol: Its symbol.
        file: The file that is meant, if several define the symbol.
        dry: Whether to write nothing.

    Raises:
        NotFoundError: There is no such agreement, or its symbol is not defined.
        UsageError: Several files define the symbol.
    """
    with recorded():  # the steps of a dry run build on each other
        return await _confirmed(context, term, symbol, file=file, dry=dry)


async def _confirmed(
    context: GatewayContext, term: str, symbol: str, *, file: str, dry: bool
) -> Answer:
    drafted = await run_in_thread(_drafted, context, make_key(term, symbol))
    if drafted:
        agreement = drafted.agreement
    else:
        known = await run_in_thread(current_agreements, context.settings, context.map_cache)
        _, agreement = existing(known, (term, symbol))
    standing = await find_standing(context, term, symbol)
    if standing and standing.heir:
        raise NotFoundError(
            f"{symbol} was renamed to {standing.heir.qualified}.",
            hint=f"Run `code-intel map rename {shlex.join([term, symbol])}`.",
        )
    definitions = (await definitions_of(context, [symbol])).get(symbol)
    if not definitions:
        raise NotFoundError(
            f"{symbol} is not defined in the index.",
            hint="Name its new symbol: "
            f"`code-intel map rename {shlex.join([term, symbol])} --to SYMBOL`.",
        )
    if file and file not in {definition.file for definition in definitions}:
        raise NotFoundError(
            f"{file} does not define {symbol}.",
            hint=f"These do: {places_of(definitions)}.",
            details={"field": "file"},
        )
    files = [file] if file else [reference.path for reference in agreement.files]
    require_one_file(symbol, definitions, files, "file")
    meant = nearest(definitions, files)
    if drafted:
        await run_in_thread(partial(write_drafted, context.settings, drafted, dry=dry))
    work = partial(
        confirm,
        context.settings,
        (term, symbol),
        symbol_digest=meant[0].digest,
        symbol_body=await sole_body(context, meant),
        place=FileReference(meant[0].file, meant[0].line) if file or not files else None,
        cache=context.map_cache,
        dry=dry,
    )
    path = (await run_in_thread(work)).agreement_file
    map_sync = DRY_RUN if dry else await refresh_map(context, path)
    if drafted and not dry:
        await run_in_thread(end_drafted, context.settings, drafted)
    location = f"{meant[0].file}:{meant[0].line}"
    problem = STATE_IN_GIT_NOTE if await run_in_thread(is_carried, context.settings) else ""
    data = {
        "agreement_file": path.name,
        "pair": {"nl_term": term, "symbol": symbol},
        "definition": location,
        "dry_run": dry,
        "problem": problem,
        **map_sync.data,
    }
    head = "Would be confirmed" if dry else "Confirmed"
    place = reader.file_name(location)
    text = f"{head}: {term} → {symbol} ({place}). Commit {path.name} to share it."
    return Answer(data, f"{text}\n{problem}" if problem else text)


async def confirm_note_named(context: GatewayContext, title: str, *, dry: bool = False) -> Answer:
    """Confirm the note with a title or file name.

    Raises:
        UsageError: No note has it, so the symbol of an agreement is missing; or several have it.
    """
    entry = await run_in_thread(note_named, context, title)
    await run_in_thread(partial(confirm_note, context.settings, entry, dry=dry))
    map_sync = DRY_RUN if dry else await refresh_map(context, entry.path)
    problem = STATE_IN_GIT_NOTE if await run_in_thread(is_carried, context.settings) else ""
    note = entry.note
    data = {
        "kind": note.kind,
        "title": note.title,
        "file": entry.path.name,
        "dry_run": dry,
        "problem": problem,
        **map_sync.data,
    }
    head = "Would be confirmed" if dry else "Confirmed"
    text = visible(f"{head}: {note.kind} “{note.title}”. Commit {entry.path.name} to share it.")
    return Answer(data, f"{text}\n{problem}" if problem else text)


def _drafted(context: GatewayContext, key: Key) -> DraftedAgreement | None:
    """Return the agreement if only a draft holds it."""
    return next((each for each in drafted_agreements(context.settings) if each.key == key), None)


async def confirm_every_agreement(context: GatewayContext, *, dry: bool = False) -> Answer:
    """Confirm agreements whose symbol the index defines; report why others were left out."""
    problem = STATE_IN_GIT_NOTE if await run_in_thread(is_carried, context.settings) else ""
    found = await run_in_thread(_candidates, context)
    rows = [_row(item) for item in found]
    count = sum(row["confirmed"] for row in rows)
    map_sync = DRY_RUN if dry else NOTHING_WRITTEN
    if not dry and count:
        done = await run_in_thread(partial(confirm_all, context.settings, found))
        keys = {item.entry.path: item.entry.key for item in found}
        for row, item in zip(rows, found, strict=True):
            row["confirmed"] = keys[item.entry.path] in done
        count = len(done)
        map_sync = await refresh_whole_map(context)
    data = {
        "agreements": rows,
        "confirmed": count,
        "left_out": len(rows) - count,
        "dry_run": dry,
        "problem": problem,
        **map_sync.data,
    }
    head = "Would be confirmed" if dry else "Confirmed"
    last = f"{head}: {count}. Left out: {len(rows) - count}."
    if count and not dry:
        last += " Commit their files to share them."
    return Answer(data, "\n".join([*map(_line, rows), last, *([problem] if problem else [])]))


def _candidates(context: GatewayContext) -> list[ConfirmCandidate]:
    return candidates(all_standings(context), context.forest)


def _row(item: ConfirmCandidate) -> dict[str, Any]:
    agreement, definition = item.entry.agreement, item.definition
    return {
        "file": encodable(item.entry.path.name),
        "nl_term": agreement.nl_term if agreement else "",
        "symbol": agreement.symbol if agreement else "",
        "confirmed": definition is not None,
        "definition": f"{definition.file}:{definition.line}" if definition else "",
        "reason": item.obstacle,
    }


def _line(row: dict[str, Any]) -> str:
    name = f"{row['nl_term']} → {row['symbol']}" if row["nl_term"] else row["file"]
    place = reader.file_name(row["definition"]) if row["definition"] else ""
    return f"{name}: {place or 'left out: ' + row['reason']}"
