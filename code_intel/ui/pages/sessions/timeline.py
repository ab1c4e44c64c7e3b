"""Make the time line of a session from the records of its journal.

Each record gives one step or several; consecutive calls of one tool are one step. A step has the
parts of a record as data, so that a page can link files, lines and agreements.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any

from code_intel.session.phases import START, Event, Intent, Phase
from code_intel.session.short_circuit import explain
from code_intel.session.state import JournalRecord, Print, Session, SessionCall
from code_intel.session.story import EXECUTING, Moment, duration, moments_of, runs_of
from code_intel.tools.context.client_reads import SHELL_WRITE, WRITE_TOOL

WRITING = frozenset({WRITE_TOOL, SHELL_WRITE})
"""Names under which a session notes what a client was about to write."""
Data = Mapping[str, Any]


@dataclass(frozen=True)
class SeenLines:
    """Consecutive lines of a file that an answer printed.

    Attributes:
        file: The file, relative to the project.
        first: The first line, as it was numbered then.
        last: The last line.
        prints: The notes of these lines, in blocks.
    """

    file: str
    first: int
    last: int
    prints: tuple[Print, ...]


@dataclass(frozen=True)
class Hit:
    """A result of a search; `is_map` if the document is an entry of the map."""

    document: str
    symbol: str
    score: float | None
    is_map: bool


@dataclass(frozen=True)
class Item:
    """One part of a step: a call, a claim, a slot, an answer, a decision.

    Attributes:
        name: What it is about.
        verdict: What came of it, in a word.
        text: A sentence about it.
        quote: The code that it quotes.
        files: Files that it names.
        seq: The number of its record, for a call.
        found: How many results a call had; None for other parts.
        symbols: Symbols that a call found.
        seen: Lines that its answer printed.
        hits: The first results of a search.
    """

    name: str = ""
    verdict: str = ""
    text: str = ""
    quote: str = ""
    files: tuple[str, ...] = ()
    seq: int = 0
    found: int | None = None
    symbols: tuple[str, ...] = ()
    seen: tuple[SeenLines, ...] = ()
    hits: tuple[Hit, ...] = ()


@dataclass(frozen=True)
class TimelineStep:
    """A step of the time line.

    Attributes:
        kind: The kind, in a word; templates have the text of each.
        text: What a person or an agent said.
        items: The parts.
        reasons: Why something was not accepted, one sentence each.
        values: Facts by name that the kind of step has.
        seq: The number of its first record; 0 for a decision, which the journal does not have.
        at: When it happened, in ISO 8601.
        phase: The phase that followed.
    """

    kind: str
    text: str = ""
    items: tuple[Item, ...] = ()
    reasons: tuple[str, ...] = ()
    values: Data = field(default_factory=dict)
    seq: int = 0
    at: str = ""
    phase: str = ""


@dataclass(frozen=True)
class Timeline:
    """The time line of a session.

    Attributes:
        steps: The steps in chronological order.
        session: The session after the last valid record; None if there is none.
        broken: Why later records are invalid; empty if all are valid.
    """

    steps: tuple[TimelineStep, ...]
    session: Session | None
    broken: str = ""


def timeline(records: Iterable[JournalRecord]) -> Timeline:
    """Return the time line of records up to the first invalid one."""
    moments, broken = moments_of(records)
    steps: list[TimelineStep] = []
    for run in runs_of(moments):
        first, last = run[0], run[-1]
        found = (*_steps_of(run), *_phase_change(last))
        seq, phase = first.record.seq, last.after.phase.value
        steps += (replace(step, seq=seq, at=first.record.at, phase=phase) for step in found)
    return Timeline(tuple(steps), moments[-1].after if moments else None, broken)


def with_decisions(found: Timeline, decisions: Iterable[TimelineStep]) -> Timeline:
    """Insert decisions that the journal does not have, by time."""
    steps: list[TimelineStep] = []
    left = sorted(decisions, key=lambda step: step.at)
    for step in found.steps:
        while left and left[0].at < step.at:
            steps.append(replace(left.pop(0), phase=steps[-1].phase if steps else ""))
        steps.append(step)
    steps += (replace(step, phase=steps[-1].phase if steps else "") for step in left)
    return replace(found, steps=tuple(steps))


def seen_lines(prints: Iterable[Print]) -> tuple[SeenLines, ...]:
    """Join the notes of printed lines to runs of consecutive lines, by file."""
    runs: list[SeenLines] = []
    for each in sorted(dict.fromkeys(prints), key=lambda item: (item.file, item.first, item.last)):
        if runs and runs[-1].file == each.file and each.first <= runs[-1].last + 1:
            before = runs.pop()
            last = max(before.last, each.last)
            runs.append(replace(before, last=last, prints=(*before.prints, each)))
        else:
            runs.append(SeenLines(each.file, each.first, each.last, (each,)))
    return tuple(runs)


def _steps_of(run: Sequence[Moment]) -> Sequence[TimelineStep]:
    record = run[0].record
    try:
        if record.event is Event.CALLED:
            return [_calls(run)]
        return list(STEPS[record.event](record.data))
    except (KeyError, TypeError, ValueError, AttributeError):  # written by another version
        return [TimelineStep(record.event.value)]


def _calls(run: Sequence[Moment]) -> TimelineStep:
    tool = run[0].after.calls[-1].tool
    kind = "written" if tool in WRITING else "executed" if tool in EXECUTING else "found"
    items = tuple(_call(moment.after.calls[-1], moment.record.data) for moment in run)
    return TimelineStep(kind, items=items, values={"tool": tool})


def _call(call: SessionCall, data: Data) -> Item:
    if not call.ok:
        verdict = "failed"
    else:
        is_empty = not call.found and call.tool not in EXECUTING | WRITING
        verdict = "nothing" if is_empty else ""
    seen = seen_lines(call.printed)
    printed = {each.file for each in seen}
    return Item(
        call.target,
        verdict,
        files=tuple(file for file in call.files if file not in printed),
        seq=call.seq,
        found=call.found,
        symbols=call.symbols,
        seen=seen,
        hits=(*_hits(data, "map_results"), *_hits(data, "forest_results")),
    )


def _hits(data: Data, key: str) -> Iterator[Hit]:
    for row in data.get(key) or ():
        score = row.get("score")
        is_number = isinstance(score, int | float)
        yield Hit(
            str(row.get("document") or ""),
            str(row.get("symbol") or ""),
            float(score) if is_number else None,
            is_map=key == "map_results",
        )


def _phase_change(moment: Moment) -> Iterator[TimelineStep]:
    """Yield a change of phase, with the duration of the previous phase."""
    change = moment.after.phase_history[-1]
    if moment.before is None or change.seq != moment.record.seq:
        return
    began, ended = moment.before.phase_history[-1].at, change.at
    seconds = (datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds()
    values = {"source": change.source, "target": change.target.value, "time": duration(seconds)}
    yield TimelineStep("phase", values=values)


def _start(data: Data) -> Iterator[TimelineStep]:
    values = {
        "intent": data["intent"],
        "commit": data.get("commit") or "",
        "changed": tuple(data.get("baseline", ())),
    }
    yield TimelineStep("asked", data["query"], values=values)
    if START[Intent(data["intent"])] is Phase.READY:
        yield TimelineStep("phase", values={"source": "", "target": Phase.READY.value, "time": ""})


def _frame(data: Data) -> Iterator[TimelineStep]:
    items = (Item(slot["name"], slot["source"], slot["value"]) for slot in data["slots"])
    yield TimelineStep("framed", items=tuple(items), values={"risk": data["risk"]})


def _confirmation(data: Data) -> Iterator[TimelineStep]:
    items = tuple(
        Item(item["name"], "unsure" if item.get("unsure") else "") for item in data["symbols"]
    )
    unsure = any(item.verdict for item in items)
    values = {"risk": data["risk"]} if unsure else {}
    yield TimelineStep("confirmed", data["evidence"], items, values=values)


def _map_answer(data: Data) -> Iterator[TimelineStep]:
    is_miss = data["band"] == "forest" or not data["nl_term"]
    score = data["score"]
    values = {
        "pair": None if is_miss else (data["nl_term"], data.get("agreed") or data["symbol"]),
        "symbol": data["symbol"],
        "score": score if isinstance(score, int | float) else None,
    }
    reasons = tuple(each["reason"] for each in explain(data["failed"]))
    yield TimelineStep("map", data["query"], reasons=reasons, values=values)


def _understanding(data: Data) -> Iterator[TimelineStep]:
    items = [
        Item(
            each["name"],
            each["source"],
            each.get("evidence", ""),
            each.get("quote", ""),
            tuple(filter(None, [each.get("file", "")])),
        )
        for each in data["symbols"]
    ]
    items += (
        Item(each["name"], "new", each.get("beside", ""), files=(each["file"],))
        for each in data.get("new_symbols", ())
    )
    yield TimelineStep(
        "claimed",
        str(data.get("notes") or ""),
        tuple(items),
        values={
            "files": tuple(data["files"]),
            "entry_points": tuple(map(str, data.get("entry_points", ()))),
            "patterns": tuple(map(str, data.get("patterns", ()))),
            "pairs": tuple((each[0], each[2]) for each in data.get("accepted", ())),
        },
    )
    risk = {"risk": data.get("risk", ""), "risk_reason": data.get("risk_reason", "")}
    reasons = tuple(map(str, data["missing"]))
    yield TimelineStep("doubted" if reasons else "believed", reasons=reasons, values=risk)


def _hypotheses(data: Data) -> Iterator[TimelineStep]:
    items = tuple(Item(each["text"], each["confidence"]) for each in data["hypotheses"])
    reasons = (str(data["reason"]), *map(str, data.get("missing", ())))
    yield TimelineStep("supposed", items=items, reasons=tuple(filter(None, reasons)))


def _verification(data: Data) -> Iterator[TimelineStep]:
    for answer in data["answers"]:
        call = answer["evidence"]
        item = Item(
            f"{call['tool']} {call['target']}",
            "" if answer["corroborated"] else "matches no call",
            str(call["result"]),
            str(call.get("quote") or ""),
            tuple(call.get("files") or ()),
        )
        yield TimelineStep(str(answer["status"]), answer["hypothesis"], (item,))


def _explored(data: Data) -> Iterator[TimelineStep]:
    quotes = dict(data.get("quotes", ()))
    items = (Item(quote=quotes.get(file, ""), files=(file,)) for file in data["files"])
    yield TimelineStep("opened", items=tuple(items))


def _permission(data: Data) -> Iterator[TimelineStep]:
    yield TimelineStep("permitted", items=tuple(Item(files=(file,)) for file in data["files"]))


def _raised_risk(_: Data) -> Iterator[TimelineStep]:
    yield TimelineStep("risk")


def _revert(data: Data) -> Iterator[TimelineStep]:
    yield TimelineStep("reverted", data["reason"])


def _learning(data: Data) -> Iterator[TimelineStep]:
    pair = (data["nl_term"], data["symbol"])
    yield TimelineStep("learned", values={"pair": pair, "created": bool(data.get("created"))})


def _outcome(data: Data) -> Iterator[TimelineStep]:
    analysis = data["analysis"]
    texts = (analysis.get(name) for name in ("root_cause", "user_feedback_summary"))
    yield TimelineStep(
        "ended",
        "\n".join(str(text) for text in texts if text),
        values={"outcome": data["outcome"], "failure": str(analysis.get("failure_point") or "")},
    )
    if files := data.get("unpermitted"):
        yield TimelineStep("audited", items=tuple(Item(files=(file,)) for file in files))


STEPS: Mapping[Event, Callable[[Data], Iterable[TimelineStep]]] = MappingProxyType(
    {
        Event.STARTED: _start,
        Event.FRAMED: _frame,
        Event.CONFIRMED: _confirmation,
        Event.MAP_MISSED: _map_answer,
        Event.MAP_LIKELY: _map_answer,
        Event.MAP_CONFIDENT: _map_answer,
        Event.UNDERSTOOD: _understanding,
        Event.DOUBTED: _understanding,
        Event.SUPPOSED: _hypotheses,
        Event.VERIFIED: _verification,
        Event.REFUTED: _verification,
        Event.EXPLORED: _explored,
        Event.PERMITTED: _permission,
        Event.RISK_RAISED: _raised_risk,
        Event.REVERTED: _revert,
        Event.LEARNED: _learning,
        Event.OUTCOME: _outcome,
    }
)
"""The steps of each event, except CALLED; `_calls` makes one of several of these."""
