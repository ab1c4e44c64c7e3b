"""Replay a journal: apply each event to the session (docs/decisions/0008).

A session is the replay of its journal; nothing else is stored.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, TypeVar

from code_intel.errors import SessionError
from code_intel.session.frame import Frame, Slot, SlotSource
from code_intel.session.phases import START, Event, Intent, Phase, advance
from code_intel.session.risk import UNFRAMED_RISK, Risk, provisional_risk
from code_intel.session.state import (
    CORROBORATION_TOOLS,
    CodePlace,
    FileQuote,
    Hypothesis,
    JournalRecord,
    MapCandidate,
    MappedSymbol,
    Outcome,
    PhaseChange,
    Print,
    ReadyBy,
    Session,
    SessionCall,
)
from code_intel.session.wording import fold

JOURNAL_VERSION = 3
"""The journal's format."""
SUBMITTED_CONFIDENCE = 0.5
"""Confidence of a symbol that was only named in a submission (seed 004 §4.5)."""
_MAX_EVIDENCE_CHARS = 2000
Item = TypeVar("Item")


def apply(session: Session | None, record: JournalRecord) -> Session:
    """Return the session after one event.

    Raises:
        PhaseError: The phase does not accept the event.
        SessionError: The event's data does not have the shape that this version writes.
    """
    try:
        _require_time(record.at)
        if session is None:
            return _start(record)
        phase = advance(session.phase, record.event)
        session = _enter_phase(session, record, phase)
        reducer = REDUCERS.get(record.event)
        return reducer(session, record) if reducer else session
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SessionError(
            f"Event {record.seq} ({record.event}) of the session cannot be read: {error!r}.",
            code="session_broken",
        ) from error


def replay(records: Iterable[JournalRecord]) -> Session:
    """Return the session of a journal; same errors as `apply`."""
    session: Session | None = None
    for record in records:
        session = apply(session, record)
    if session is None:
        raise SessionError("The session's journal is empty.", code="session_broken")
    return session


def _require_time(text: str) -> None:
    if datetime.fromisoformat(text).utcoffset() is None:
        raise ValueError(f"the time {text} has no offset")


def _start(record: JournalRecord) -> Session:
    if record.event is not Event.STARTED:
        raise ValueError("the first event must be `started`")
    data = record.data
    if data["version"] != JOURNAL_VERSION:
        raise ValueError(
            f"journal format version {data['version']}; this program reads {JOURNAL_VERSION}"
        )
    if not (isinstance(data["seal"], str) and data["seal"].isascii()):
        raise ValueError("the seal is not a text in ASCII")
    intent = Intent(data["intent"])
    phase = START[intent]
    demands = data.get("demands", "counts")
    risk, reason = UNFRAMED_RISK[intent.writes], ""
    if demands == "evidence":
        risk, reason = provisional_risk(intent)
    return Session(
        name=data["name"],
        seal=data["seal"],
        root=data["root"],
        intent=intent,
        query=data["query"],
        phase=phase,
        started_at=record.at,
        updated_at=record.at,
        seq=record.seq,
        phase_seq=record.seq,
        demands=demands,
        risk=risk,
        risk_reason=reason,
        baseline=data.get("baseline", {}),
        commit=data.get("commit"),
        phase_history=(PhaseChange(record.seq, record.at, "", phase, record.event),),
        ready_by="question" if phase is Phase.READY else "",
    )


def _enter_phase(session: Session, record: JournalRecord, phase: Phase) -> Session:
    """Record the event's number and time, and the change of phase, if any."""
    session = session._replace(seq=record.seq, updated_at=record.at)
    if phase is session.phase:
        return session
    change = PhaseChange(record.seq, record.at, session.phase, phase, record.event)
    return session._replace(
        phase=phase,
        phase_seq=record.seq,
        phase_history=(*session.phase_history, change),
        ready_by=READY_BY.get(record.event, ""),
        hypotheses=session.hypotheses if phase is Phase.READY else (),
        explored_files=_remaining_files(session, phase),
        # Once the session is back in EXPLORATION, the map's answer no longer counts.
        short_circuit={} if phase is Phase.EXPLORATION else session.short_circuit,
        accepted=() if phase is Phase.EXPLORATION else session.accepted,
        greenfield=session.greenfield and phase is not Phase.EXPLORATION,
        permitted_files=(),
    )


def _remaining_files(session: Session, phase: Phase) -> tuple[str, ...]:
    """Return the explored files, without those of a map hit that verification did not confirm."""
    is_rejected = session.phase is Phase.VERIFICATION and phase is Phase.EXPLORATION
    if not is_rejected or not any(item.symbol for item in session.hypotheses):
        return session.explored_files
    map_files = session.short_circuit.get("files", [])
    return tuple(file for file in session.explored_files if file not in map_files)


def _apply_frame(session: Session, record: JournalRecord) -> Session:
    slots = tuple(
        Slot(slot["name"], slot["value"], slot["quote"], SlotSource(slot["source"]))
        for slot in record.data["slots"]
    )
    return session._replace(frame=Frame(session.query, slots), risk=Risk(record.data["risk"]))


def _apply_call(session: Session, record: JournalRecord) -> Session:
    data = record.data
    call = SessionCall(
        record.seq,
        session.phase,
        data["tool"],
        data["target"],
        data["ok"],
        data["found"],
        tuple(data["files"]),
        tuple(data["symbols"]),
        data["slot"],
        tuple(
            Print(file, first, last, digest)
            for file, rows in data.get("printed", {}).items()
            for first, last, digest in rows
        ),
    )
    session = session._replace(
        calls=(*session.calls, call),
        map_results=tuple(data.get("map_results", session.map_results)),
        forest_results=tuple(data.get("forest_results", session.forest_results)),
        candidates=_joined(
            session.candidates, (MapCandidate(*item) for item in data.get("candidates", ()))
        ),
    )
    if call.tool != "find_definitions" or not call.is_evidence:
        return session
    found = (symbol for symbol in session.symbols if symbol.name in call.symbols)
    return _with_symbols(session, [symbol._replace(source=SlotSource.FACT) for symbol in found])


def _apply_confirmation(session: Session, record: JournalRecord) -> Session:
    evidence = record.data["evidence"]
    return _with_symbols(
        session._replace(risk=Risk(record.data.get("risk", session.risk))),
        [
            MappedSymbol(
                item["name"],
                SlotSource.FACT,
                item["confidence"],
                evidence,
                confirmed=True,
                unsure=item.get("unsure", False),
            )
            for item in record.data["symbols"]
        ],
    )


def _apply_map_answer(session: Session, record: JournalRecord) -> Session:
    data = record.data
    session = session._replace(short_circuit=data)
    if record.event is Event.MAP_MISSED:
        return session._replace(map_missed=True)
    source = SlotSource.FACT if data["symbol_defined"] else SlotSource.HYPOTHESIS
    session = _with_symbols(session, [MappedSymbol(data["symbol"], source, data["score"])])
    session = _with_files(session, data["files"])
    if record.event is Event.MAP_CONFIDENT:
        return session
    text = f"{data['nl_term']} → {data['symbol']}"
    agreed = data.get("confirmed", False)
    return session._replace(hypotheses=(Hypothesis(text, "high", data["symbol"], agreed),))


def _apply_understanding(session: Session, record: JournalRecord) -> Session:
    data = record.data
    symbols = [
        MappedSymbol(
            item["name"],
            SlotSource(item["source"]),
            item.get("confidence", SUBMITTED_CONFIDENCE),
            item.get("evidence", ""),
            confirmed=item.get("confirmed", False),
            file=item.get("file", ""),
            quote=item.get("quote", ""),
        )
        for item in data["symbols"]
    ]
    session = _with_files(_with_symbols(session, symbols), data["files"])
    return session._replace(
        missing=tuple(data["missing"]),
        greenfield=data.get("greenfield", False),
        planned_files=_joined(session.planned_files, data.get("planned", ())),
        neighbours=_joined(
            session.neighbours, (CodePlace(*item) for item in data.get("beside", ()))
        ),
        risk=Risk(data.get("risk", session.risk)),
        risk_reason=data.get("risk_reason", session.risk_reason),
        accepted=_joined(
            session.accepted, (MapCandidate(*item) for item in data.get("accepted", ()))
        ),
    )


def _apply_hypotheses(session: Session, record: JournalRecord) -> Session:
    return session._replace(
        hypotheses=tuple(
            Hypothesis(item["text"], item["confidence"]) for item in record.data["hypotheses"]
        )
    )


def _apply_verification(session: Session, record: JournalRecord) -> Session:
    data = record.data
    session = _with_files(session, data["files"])
    looked_up = (
        CodePlace(item["evidence"]["target"], file)
        for item in data["answers"]
        if item["status"] == "confirmed" and item["corroborated"] and not _has_quote(item)
        for file in ([""] if item["evidence"]["tool"] in CORROBORATION_TOOLS else data["files"])
    )
    session = session._replace(
        planned_files=_joined(session.planned_files, data.get("planned", ())),
        verified=_joined(session.verified, (*map(CodePlace, data["symbols"]), *looked_up)),
    )
    results = {
        fold(item["hypothesis"]): str(item["evidence"]["result"]).strip()[:_MAX_EVIDENCE_CHARS]
        for item in data["answers"]
    }
    evidence = {item.symbol: results.get(fold(item.text), "") for item in session.hypotheses}
    symbols = (session.symbol(name) for name in data["symbols"])
    session = _with_symbols(
        session,
        [
            symbol._replace(confirmed=True, evidence=evidence.get(symbol.name, ""))
            for symbol in symbols
            if symbol
        ],
    )
    quoted = [
        MappedSymbol(
            item["name"],
            SlotSource.FACT,
            SUBMITTED_CONFIDENCE,
            item["evidence"][:_MAX_EVIDENCE_CHARS],
            confirmed=True,
            file=item["file"],
            quote=item["quote"],
        )
        for item in data.get("quoted", ())
    ]
    return _with_symbols(session, quoted)


def _has_quote(answer: Mapping[str, Any]) -> bool:
    return bool(answer["evidence"].get("quote", "").strip())


def _apply_rejection(session: Session, record: JournalRecord) -> Session:
    symbols = tuple(record.data["symbols"])
    if not symbols:
        return session
    return session._replace(
        refuted=(*session.refuted, *symbols),
        map_missed=True,
        symbols=tuple(symbol for symbol in session.symbols if symbol.name not in symbols),
    )


def _apply_explored_files(session: Session, record: JournalRecord) -> Session:
    quotes = (FileQuote(*item) for item in record.data.get("quotes", ()))
    session = session._replace(quoted_files=_joined(session.quoted_files, quotes))
    return _with_files(session, record.data["files"])


def _apply_permission(session: Session, record: JournalRecord) -> Session:
    return session._replace(permitted_files=_joined(session.permitted_files, record.data["files"]))


def _apply_learning(session: Session, record: JournalRecord) -> Session:
    data = record.data
    pair = (data["nl_term"], data["symbol"])
    learned = (*session.learned, pair) if data.get("confirmed", True) else session.learned
    created = (*session.created, pair) if data.get("created") else session.created
    return session._replace(
        learned=tuple(dict.fromkeys(learned)), created=tuple(dict.fromkeys(created))
    )


def _apply_outcome(session: Session, record: JournalRecord) -> Session:
    data = record.data
    outcome = Outcome(record.at, data["outcome"], session.phase, data["analysis"])
    session = session._replace(outcomes=(*session.outcomes, outcome))
    # What an earlier success has taught was undone before this outcome was recorded.
    return session if outcome.outcome == "success" else session._replace(learned=(), created=())


def _with_symbols(session: Session, added: Iterable[MappedSymbol]) -> Session:
    """Add or update symbols; their source and confidence are never lowered (seed 004 §4.5)."""
    known = {symbol.name: symbol for symbol in session.symbols}
    for new in added:
        old = known.get(new.name, new)
        known[new.name] = MappedSymbol(
            new.name,
            SlotSource.FACT if SlotSource.FACT in {old.source, new.source} else new.source,
            max(old.confidence, new.confidence),
            new.evidence or old.evidence,
            old.confirmed or new.confirmed,
            old.unsure or new.unsure,
            new.file or old.file,
            new.quote or old.quote,
        )
    return session._replace(symbols=tuple(known.values()))


def _joined(known: tuple[Item, ...], added: Iterable[Item]) -> tuple[Item, ...]:
    return tuple(dict.fromkeys((*known, *added)))


def _with_files(session: Session, files: Iterable[str]) -> Session:
    return session._replace(explored_files=_joined(session.explored_files, files))


REDUCERS: Mapping[Event, Callable[[Session, JournalRecord], Session]] = MappingProxyType(
    {
        Event.FRAMED: _apply_frame,
        Event.CALLED: _apply_call,
        Event.CONFIRMED: _apply_confirmation,
        Event.MAP_MISSED: _apply_map_answer,
        Event.MAP_LIKELY: _apply_map_answer,
        Event.MAP_CONFIDENT: _apply_map_answer,
        Event.UNDERSTOOD: _apply_understanding,
        Event.DOUBTED: _apply_understanding,
        Event.SUPPOSED: _apply_hypotheses,
        Event.VERIFIED: _apply_verification,
        Event.REFUTED: _apply_rejection,
        Event.EXPLORED: _apply_explored_files,
        Event.PERMITTED: _apply_permission,
        Event.LEARNED: _apply_learning,
        Event.OUTCOME: _apply_outcome,
    }
)
"""How each event changes the session. RISK_RAISED and REVERTED change only the phase."""

READY_BY: Mapping[Event, ReadyBy] = MappingProxyType(
    {
        Event.MAP_CONFIDENT: "map",
        Event.UNDERSTOOD: "understanding",
        Event.VERIFIED: "verification",
    }
)
