"""Build the steps of simple events; each function returns the `Step` to append.

The steps of other events come from requirements, evidence, relevance and short_circuit.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from code_intel.errors import RequirementError, SessionError, UsageError
from code_intel.session.frame import Frame, SlotSource, merge, validate_frame
from code_intel.session.phases import LOOKUP_TOOLS, Event, Phase, check_allowed
from code_intel.session.risk import assess_risk, higher
from code_intel.session.state import MapCandidate, Print, Session, Step
from code_intel.session.wording import fold

MAX_LISTED = 100
"""Maximum number of files, and of symbols, that the journal keeps for one call."""
MAX_PRINTS = 200
"""Maximum number of printed blocks of lines that the journal keeps for one call."""
MAX_RESULTS = 5
"""Maximum number of hits that the journal keeps for a search in the map or the forest."""
_MAX_TARGET_CHARS = 500
_MAP_HITS = frozenset({Event.MAP_LIKELY, Event.MAP_CONFIDENT})
OUTCOMES = ("success", "failure", "partial")


def set_frame(session: Session, slots: Mapping[str, Mapping[str, Any] | None]) -> tuple[Step, ...]:
    """Validate and record a query frame.

    Under the demands of counts, it determines the risk; setting it again can raise the risk but not
    lower it. Under those of evidence, the submitted symbols do.

    The target feature is final once the session has made progress with it (`_reason_final`). Other
    slots can still be added or replaced.

    Returns:
        One step, or two if the session leaves READY because the risk has become higher.

    Raises:
        SessionError: `validation_failed`, see `frame.validate_frame`; or the target feature is
            final and would change.
    """
    frame = merge(session.frame, validate_frame(session.query, slots, session.frame))
    _check_feature(session, frame)
    risk = session.risk
    if session.demands == "counts":
        risk = assess_risk(session.intent, frame, unsure=session.unsure)
        risk = risk if session.frame is None else higher(risk, session.risk)
    data = {
        "slots": [{**slot._asdict(), "source": slot.source.value} for slot in frame.slots],
        "risk": risk.value,
    }
    framed = Step(Event.FRAMED, data)
    is_raised = risk is not session.risk and higher(risk, session.risk) is risk
    if is_raised and session.intent.writes and session.ready_by in {"map", "understanding"}:
        return framed, Step(Event.RISK_RAISED, {})
    return (framed,)


def _check_feature(session: Session, frame: Frame) -> None:
    """Refuse another target feature once the current one is final."""
    old = session.frame.value("target_feature") if session.frame else ""
    why = _reason_final(session, old)
    if not why or fold(frame.value("target_feature")) == fold(old):
        return
    raise SessionError(
        f"target_feature can no longer change: {why}.",
        code="validation_failed",
        hint="For another feature, call start_session with its slots. Other slots can still be set "
        "in this session.",
        details={"validation_errors": [{"slot": "target_feature", "error": why}]},
    )


def _reason_final(session: Session, feature: str) -> str:
    """Return why the target feature is final, or the empty string.

    The first feature may be named late, unless the map has answered the raw query: that query would
    become an alias of an unrelated feature.
    """
    if any(change.event in _MAP_HITS for change in session.phase_history):
        return "the map has already answered this session's query"
    if any(symbol.confirmed for symbol in session.symbols):
        return "a symbol has been confirmed for it"
    if feature and session.phase is not Phase.EXPLORATION:
        return f"the session is in {session.phase}"
    return ""


def called(
    tool: str,
    target: str,
    *,
    ok: bool = True,
    found: int = 0,
    files: Iterable[str] = (),
    symbols: Iterable[str] = (),
    slot: str = "",
    map_results: Sequence[Mapping[str, Any]] | None = None,
    forest_results: Sequence[Mapping[str, Any]] | None = None,
    printed: Iterable[Print] = (),
    candidates: Iterable[MapCandidate] = (),
    elsewhere: Sequence[Mapping[str, Any]] = (),
) -> Step:
    """Record a tool call.

    Args:
        tool: Its name.
        target: Its argument: the symbol, pattern, query or path.
        ok: Whether it ended without an error.
        found: How many results it had.
        files: The files it found, relative to the root.
        symbols: The symbols it found; for a search, only those of forest hits.
        slot: The frame slot for which `query` made it.
        map_results: Hits of the map, if it was searched; the first `MAX_RESULTS` are kept.
        forest_results: Hits of the forest, likewise.
        printed: The lines of files that its answer contains; the first `MAX_PRINTS` are kept.
        candidates: The agreements that it has shown for the session's own words.
        elsewhere: The agreements of other repositories that it has shown, likewise.
    """
    results = {"map_results": map_results, "forest_results": forest_results}
    kept = {key: list(hits)[:MAX_RESULTS] for key, hits in results.items() if hits is not None}
    shown = [list(each) for each in candidates]
    return Step(
        Event.CALLED,
        {
            "tool": tool,
            "target": target[:_MAX_TARGET_CHARS],
            "ok": ok,
            "found": found,
            "files": list(dict.fromkeys(files))[:MAX_LISTED],
            "symbols": list(dict.fromkeys(symbols))[:MAX_LISTED],
            "slot": slot,
            **kept,
            **({"candidates": shown} if shown else {}),
            **({"elsewhere": list(elsewhere)[:MAX_RESULTS]} if elsewhere else {}),
            **_printed_data(printed),
        },
    )


def _printed_data(printed: Iterable[Print]) -> dict[str, Any]:
    """Return the journal's form of printed lines, by file; {} if nothing was printed."""
    rows: dict[str, list[list[Any]]] = {}
    for item in list(dict.fromkeys(printed))[:MAX_PRINTS]:
        rows.setdefault(item.file, []).append([item.first, item.last, item.digest])
    return {"printed": rows} if rows else {}


def add_explored(
    session: Session, files: Iterable[str], existing: Iterable[str], code: Iterable[str] = ()
) -> Step:
    """Allow writes to more files in READY: existing ones that this session has looked at.

    Args:
        session: The session.
        files: The files to add.
        existing: The files among them that exist.
        code: The files among them whose symbols the index can read. A session that reached READY
            without a symbol must confirm one before adding these.

    Raises:
        PhaseError: The session is not in READY.
        UsageError: No file is given, or one does not exist or is not in `Session.seen_files`.
        RequirementError: A file has code, and the session knows no symbol.
    """
    check_allowed(session, "add_explored_files")
    allowed = session.seen_files & {session.relative(file) for file in existing}
    files = list(dict.fromkeys(map(session.relative, files)))
    refused = [file for file in files if file not in allowed]
    if refused or not files:
        raise UsageError(
            f"{refused[0]} does not exist, or no call of this session has returned it."
            if refused
            else "files is empty.",
            hint=f"Look at the file with {LOOKUP_TOOLS} first.",
            details={"field": "files", "refused": refused},
        )
    has_symbol = any(symbol.source is SlotSource.FACT for symbol in session.symbols)
    if any(code) and session.intent.writes and not (has_symbol or session.planned_files):
        raise RequirementError(
            "This session knows no symbol of the code yet.",
            hint="Call confirm_symbol_relevance with the symbol that implements the target "
            "feature, then add_explored_files again.",
            details={
                "missing_requirements": ["nl_symbol_mapping: no symbol is known"],
                "current_phase": session.phase.value,
            },
        )
    return Step(Event.EXPLORED, {"files": files})


def open_by_quote(files: Iterable[str], quotes: Iterable[tuple[str, str]]) -> Step:
    """Allow writes to files in READY that were judged by a quote of them."""
    return Step(Event.EXPLORED, {"files": list(files), "quotes": [list(each) for each in quotes]})


def permitted(files: Iterable[str]) -> Step:
    """Record that the write gate has allowed files; they stay open until EXPLORATION."""
    return Step(Event.PERMITTED, {"files": list(files)})


def revert(reason: str = "") -> Step:
    """Move back to EXPLORATION; calls, symbols and explored files are kept."""
    return Step(Event.REVERTED, {"reason": reason[:_MAX_TARGET_CHARS]})


def learned(nl_term: str, symbol: str, *, confirmed: bool = True, created: bool = False) -> Step:
    """Record that a pair was learned.

    Args:
        nl_term: The term.
        symbol: The symbol.
        confirmed: Whether the agreement is confirmed; then the pair is not learned again.
        created: Whether the agreement is new; then a corrected outcome removes it.
    """
    pair = {"nl_term": nl_term, "symbol": symbol}
    return Step(Event.LEARNED, {**pair, "confirmed": confirmed, "created": created})


def outcome(result: str, analysis: Mapping[str, Any], unpermitted: Iterable[str] = ()) -> Step:
    """Record an outcome.

    Args:
        result: One of `OUTCOMES`.
        analysis: The result and its cause.
        unpermitted: Files that were written without permission; the first `MAX_LISTED` are kept.

    Raises:
        UsageError: `result` is not one of `OUTCOMES`.
    """
    if result not in OUTCOMES:
        raise UsageError(
            f"outcome is {result!r}; expected one of {', '.join(OUTCOMES)}.",
            details={"field": "outcome"},
        )
    files = list(unpermitted)[:MAX_LISTED]
    data = {"outcome": result, "analysis": dict(analysis)}
    return Step(Event.OUTCOME, data | ({"unpermitted": files} if files else {}))
