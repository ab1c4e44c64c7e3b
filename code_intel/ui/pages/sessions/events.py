"""Make the steps of a time line from the events of a journal."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from code_intel.session.phases import START, Event, Intent, Phase
from code_intel.session.short_circuit import explain
from code_intel.session.state import SessionCall
from code_intel.session.story import EXECUTING, Moment
from code_intel.tools.context.client_reads import SHELL_WRITE, WRITE_TOOL
from code_intel.ui.pages.sessions.steps import Data, Hit, Item, TimelineStep, seen_lines

WRITING = frozenset({WRITE_TOOL, SHELL_WRITE})
"""Names under which a session notes what a client was about to write."""

REASONS: Mapping[str, str] = MappingProxyType({"valid": "the agreement was not valid then"})
"""Reasons of guards that refer to what only the answer of the tool has."""


def steps_of(run: Sequence[Moment]) -> Sequence[TimelineStep]:
    """Return the steps of an event, or of consecutive calls of one tool."""
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
    reasons = tuple(REASONS.get(each["guard"], each["reason"]) for each in explain(data["failed"]))
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
    said = {
        name: str(analysis.get(field) or "")
        for name, field in (
            ("failure", "failure_point"),
            ("cause", "root_cause"),
            ("feedback", "user_feedback_summary"),
        )
    }
    yield TimelineStep("ended", values={"outcome": data["outcome"], **said})
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
