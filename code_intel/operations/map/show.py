"""Show an agreement or a note in full: its content, its status with the reasons, and its use."""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from code_intel.chunking.agreement_body import encodable
from code_intel.errors import UsageError
from code_intel.foundation.text import counted, visible
from code_intel.learned.files.agreements import AgreementEntry, missing
from code_intel.learned.files.frames import frames_of
from code_intel.learned.history.state import open_state
from code_intel.learned.notes.entries import NoteEntry
from code_intel.learned.recall.recall import fold
from code_intel.learned.status.agreement_status import AgreementStatus
from code_intel.operations.map.current import standings_where
from code_intel.operations.map.notes import full_note, note_lines, note_named, notes_of
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.declaration import Answer
from code_intel.tools.search.list_agreements import standing_data
from code_intel.tools.wire import reader


def show(context: GatewayContext, term: str, symbol: str = "") -> Answer:
    """Show the agreement or note with a term, an alias, a title or a file name; this blocks.

    Raises:
        NotFoundError: It does not exist.
        UsageError: There are several.
    """
    folded = fold(term)
    named = standings_where(context, lambda entry: _is_named(entry, term, folded))
    if not symbol and not named:
        with suppress(UsageError):
            return _note(context, note_named(context, term))
    found = _found(context, named, term, symbol)
    data = standing_data(found) | {"path": encodable(str(found.entry.path))}
    agreement = found.entry.agreement
    if agreement is not None:
        data |= {
            "digest": agreement.digest,
            "similarity": agreement.similarity,
            "intent": agreement.intent,
            "session_id": agreement.session_id,
            "frames": [dict(frame) for frame in frames_of(agreement.frame)],
            **_history(context, found),
        }
    return Answer(data, "\n".join(_lines(data)))


def _note(context: GatewayContext, entry: NoteEntry) -> Answer:
    status = next(each for each in notes_of(context) if each.entry.path == entry.path)
    row = full_note(status, context)
    return Answer(row, "\n".join(note_lines(row)))


def _found(
    context: GatewayContext, named: list[AgreementStatus], term: str, symbol: str
) -> AgreementStatus:
    """Return the one agreement with this term, alias or file name.

    Raises:
        NotFoundError: No agreement matches.
        UsageError: There are several; the error names their symbols.
    """
    matches = [s for s in named if _has_symbol(s, term, symbol)]
    exact = [
        s for s in matches if s.entry.agreement and fold(s.entry.agreement.nl_term) == fold(term)
    ]
    matches = exact or matches
    if not matches:
        raise missing(term, symbol, context.map_cache.known(context.settings).entries)
    if len(matches) > 1:
        symbols = ", ".join(s.entry.agreement.symbol for s in matches if s.entry.agreement)
        raise UsageError(
            f"{counted(len(matches), 'agreement')} are called {term}: {symbols}.",
            hint="Give the symbol as well.",
            details={"field": "symbol"},
        )
    return matches[0]


def _is_named(entry: AgreementEntry, term: str, folded: str) -> bool:
    """Return whether an entry has a term or an alias, or its file this name."""
    agreement = entry.agreement
    if entry.path.name == term:
        return True
    names = (agreement.nl_term, *agreement.aliases) if agreement else ()
    return folded in map(fold, names)


def _has_symbol(found: AgreementStatus, term: str, symbol: str) -> bool:
    """Return whether a named agreement has the symbol, by its old or its current name."""
    agreement = found.entry.agreement
    if found.entry.path.name == term or not symbol:
        return True
    return agreement is not None and symbol in {agreement.symbol, found.symbol}


def _history(context: GatewayContext, found: AgreementStatus) -> dict[str, Any]:
    """Return what the state store of this machine records about an agreement."""
    with open_state(context.settings.state, create=False) as state:
        used = state.last_uses().get(found.entry.key) if found.entry.key else None
        seen = state.alias_sessions().get(found.entry.key, {}) if found.entry.key else {}
        events = state.experiences_of(found.entry.key) if found.entry.key else []
    return {
        "last_use": used.isoformat() if used else None,
        "alias_sessions": dict(seen),
        "history": dict(Counter(each.kind for each in events)),
    }


def _lines(data: dict[str, Any]) -> Iterator[str]:
    if "nl_term" in data:
        now = f" (now {data['renamed_to']})" if "renamed_to" in data else ""
        yield f"{data['nl_term']} → {data['symbol']}{now}"
    state = ", not confirmed" if not data["confirmed"] and data["status"] != "unconfirmed" else ""
    yield f"  status     {data['status']}{state}"
    yield from (f"             {_indented(reason)}" for reason in data["reasons"])
    yield from (f"  evidence   {_indented(item)}" for item in data.get("evidence", ()))
    yield from (f"  file       {reader.file_name(file)}" for file in data.get("files", ()))
    for alias in data.get("aliases", ()):
        sessions = data["alias_sessions"].get(fold(alias), 0)
        yield f"  alias      {alias}" + (f"  (sessions: {sessions})" if sessions else "")
    if data.get("learned_at"):
        yield f"  learned    {data['learned_at']} {visible(data['session_id'])}".rstrip()
    if data.get("last_use"):
        yield f"  last use   {data['last_use']}"
    if data.get("history"):
        yield "  history    " + ", ".join(f"{kind}: {n}" for kind, n in data["history"].items())
    yield f"  written in {visible(data['path'])}"


def _indented(text: str) -> str:
    """Indent all lines of a text but the first, so that they cannot be taken for fields."""
    return text.replace("\n", f"\n{' ' * 13}")
