"""Describe a session for people, one line per event of its journal.

    asked framed map found claimed understood doubted confirmed supposed rejected opened reverted
    learned ended; and `phase` for each change of phase

Each text is one line without hidden characters and secret values; long lists are cut.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from types import MappingProxyType
from typing import Any, NamedTuple

from code_intel.errors import CodeIntelError
from code_intel.foundation.redaction import masked
from code_intel.foundation.text import visible
from code_intel.session.phases import START, Event, Intent, Phase
from code_intel.session.replay import apply
from code_intel.session.short_circuit import explained
from code_intel.session.state import JournalRecord, Session, SessionCall

MAX_NAMES_PER_LINE = 6
"""Names, files or calls listed in one line."""
EXECUTING = frozenset({"command_execute"})
"""Tools that act and have no results."""
_UNITS = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))

Words = tuple[str, str]
"""The kind of a line and its text."""
Data = Mapping[str, Any]


class StoryLine(NamedTuple):
    """A line of a story.

    Attributes:
        at: ISO 8601 with its offset.
        phase: The phase after it.
        what: The kind of event, in one word.
        text: What happened.
    """

    at: str
    phase: str
    what: str
    text: str


class Story(NamedTuple):
    """The description of a session.

    Attributes:
        lines: In chronological order.
        session: The session after the last valid record; None if none exists.
        broken: Why later records are invalid; empty if all are valid.
    """

    lines: tuple[StoryLine, ...]
    session: Session | None
    broken: str = ""


class _Moment(NamedTuple):
    """An event, with the session before and after it."""

    record: JournalRecord
    before: Session | None
    after: Session


def describe(records: Iterable[JournalRecord]) -> Story:
    """Describe records up to the first invalid one; consecutive calls of a tool share a line."""
    moments, broken = _replayed(records)
    lines: list[StoryLine] = []
    for _, group in groupby(moments, key=_together):
        run = list(group)
        at, after = run[0].record.at, run[-1].after
        if run[0].record.event is Event.CALLED:
            words: Iterable[Words] = (_calls([moment.after.calls[-1] for moment in run]),)
        else:
            words = _words(run[0].record)
        lines += [StoryLine(at, after.phase.value, what, text) for what, text in words]
        lines += _moved(run[-1])
    return Story(tuple(lines), moments[-1].after if moments else None, broken)


def with_notes(story: Story, notes: Iterable[StoryLine]) -> Story:
    """Insert notes from other sources into a story, by time."""
    lines: list[StoryLine] = []
    left = sorted(notes, key=lambda note: note.at)
    for line in story.lines:
        while left and left[0].at < line.at:
            lines.append(left.pop(0)._replace(phase=lines[-1].phase if lines else ""))
        lines.append(line)
    lines += [note._replace(phase=lines[-1].phase if lines else "") for note in left]
    return story._replace(lines=tuple(lines))


def _replayed(records: Iterable[JournalRecord]) -> tuple[list[_Moment], str]:
    moments: list[_Moment] = []
    session: Session | None = None
    for record in records:
        try:
            after = apply(session, record)
        except CodeIntelError as error:
            return moments, error.message
        moments.append(_Moment(record, session, after))
        session = after
    return moments, ""


def _words(record: JournalRecord) -> list[Words]:
    try:
        return list(DESCRIPTIONS[record.event](record.data))
    except (KeyError, TypeError, ValueError, AttributeError):  # written by another version
        return [(record.event.value, "")]


def _together(moment: _Moment) -> str | int:
    called = moment.record.event is Event.CALLED
    return str(moment.record.data["tool"]) if called else moment.record.seq


def _moved(moment: _Moment) -> Iterator[StoryLine]:
    """Describe a change of phase, with the duration of the previous one."""
    change = moment.after.phase_history[-1]
    if moment.before is None or change.seq != moment.record.seq:
        return
    began = datetime.fromisoformat(moment.before.phase_history[-1].at)
    lasted = duration((datetime.fromisoformat(change.at) - began).total_seconds())
    text = f"{change.source} → {change.target} after {lasted}"
    yield StoryLine(change.at, change.target.value, "phase", text)


def _calls(calls: Sequence[SessionCall]) -> Words:
    """Describe calls of one tool."""
    counted: dict[str, int] = {}
    for call in calls:
        text = _call(call)
        counted[text] = counted.get(text, 0) + 1
    texts = [f"{text} ({times} times)" if times > 1 else text for text, times in counted.items()]
    tool = calls[0].tool
    return "executed" if tool in EXECUTING else "found", f"{tool} {_some(texts, '; ')}"


def _call(call: SessionCall) -> str:
    target = plain(call.target)
    if not call.ok:
        return f"{target}: failed"
    if call.tool in EXECUTING:
        return target
    if not call.found:
        return f"{target}: nothing"
    where = f" in {_some(map(plain, call.files), most=2)}" if call.files else ""
    return f"{target}: {call.found}{where}"


def _started(data: Data) -> Iterator[Words]:
    yield "asked", f"{data['intent']}: {plain(data['query'])}"
    if START[Intent(data["intent"])] is Phase.READY:
        yield "phase", "READY from the start: the session is read-only"


def _framed(data: Data) -> Iterator[Words]:
    slots = [f"{s['name']} “{plain(s['value'])}” ({s['source']})" for s in data["slots"]]
    yield "framed", f"{'; '.join(slots)}; risk {data['risk']}"


def _confirmed(data: Data) -> Iterator[Words]:
    names = _some(plain(item["name"]) for item in data["symbols"])
    yield "confirmed", f"{names} for the target feature: {plain(data['evidence'])}"
    if unsure := [plain(item["name"]) for item in data["symbols"] if item.get("unsure")]:
        yield (
            "risk",
            f"{plain(data['risk'])}: low likeness of the target feature and {_some(unsure)}",
        )


def _map_answered(data: Data) -> Iterator[Words]:
    pair = f"{plain(data['nl_term'])} → {plain(data['symbol'])}"
    score = f"{data['score']:.2f}" if isinstance(data["score"], int | float) else "no score"
    query = f"“{plain(data['query'])}”"
    guards = "; ".join(item["reason"] for item in explained(data["failed"]))
    reason = f"; not READY because {guards}" if guards else ""
    if data["band"] == "forest" or not data["nl_term"]:
        yield "map", f"no answer to {query}; search_forest is allowed{reason}"
    else:
        yield "map", f"answers {query} with {pair} ({score}){reason}"


def _understood(data: Data) -> Iterator[Words]:
    symbols = [f"{plain(s['name'])} ({s['source']})" for s in data["symbols"]]
    claims = {
        "symbols": symbols,
        "entry points": map(plain, data.get("entry_points", ())),
        "files": map(plain, data["files"]),
        "patterns": map(plain, data.get("patterns", ())),
    }
    listed = ((kind, _some(names)) for kind, names in claims.items())
    yield "claimed", "; ".join(f"{kind}: {names}" for kind, names in listed if names)
    if notes := plain(data.get("notes") or ""):
        yield "noted", notes
    if data["missing"]:
        yield "doubted", _some(map(plain, data["missing"]), "; ")
    else:
        yield "believed", "all requirements are met"


def _supposed(data: Data) -> Iterator[Words]:
    texts = [f"“{plain(item['text'])}” ({item['confidence']})" for item in data["hypotheses"]]
    lacked = _some((plain(item) for item in data.get("missing", ())), "; ")
    why = f"{plain(data['reason'])} ({lacked})" if lacked else plain(data["reason"])
    yield "supposed", f"{_some(texts, '; ')}, because of {why}"


def _settled(data: Data) -> Iterator[Words]:
    for answer in data["answers"]:
        found = answer["evidence"]
        borne = "" if answer["corroborated"] else ", which matches no call"
        shown = f"{plain(found['tool'])} {plain(found['target'])}: {plain(found['result'])}"
        yield answer["status"], f"“{plain(answer['hypothesis'])}” by {shown}{borne}"


def _explored(data: Data) -> Iterator[Words]:
    yield "opened", _some(map(plain, data["files"]))


def _risk_raised(_: Data) -> Iterator[Words]:
    yield "doubted", "the risk is now higher than when READY was reached"


def _reverted(data: Data) -> Iterator[Words]:
    yield "reverted", plain(data["reason"]) or "no reason given"


def _learned(data: Data) -> Iterator[Words]:
    yield "learned", f"{plain(data['nl_term'])} → {plain(data['symbol'])}"


def _ended(data: Data) -> Iterator[Words]:
    analysis = data["analysis"]
    parts = [
        plain(analysis.get("root_cause") or ""),
        f"failed in {analysis['failure_point']}" if analysis.get("failure_point") else "",
        plain(analysis.get("user_feedback_summary") or ""),
    ]
    reasons = "; ".join(filter(None, parts))
    yield "ended", f"{data['outcome']}: {reasons}" if reasons else data["outcome"]


DESCRIPTIONS: Mapping[Event, Callable[[Data], Iterable[Words]]] = MappingProxyType(
    {
        Event.STARTED: _started,
        Event.FRAMED: _framed,
        Event.CONFIRMED: _confirmed,
        Event.MAP_MISSED: _map_answered,
        Event.MAP_LIKELY: _map_answered,
        Event.MAP_CONFIDENT: _map_answered,
        Event.UNDERSTOOD: _understood,
        Event.DOUBTED: _understood,
        Event.SUPPOSED: _supposed,
        Event.VERIFIED: _settled,
        Event.REFUTED: _settled,
        Event.EXPLORED: _explored,
        Event.RISK_RAISED: _risk_raised,
        Event.REVERTED: _reverted,
        Event.LEARNED: _learned,
        Event.OUTCOME: _ended,
    }
)
"""How each event is described; `_calls` describes several CALLED events at once."""


def duration(seconds: float) -> str:
    """Return a time span in its two largest units.

    >>> duration(125)
    '2 min 5 s'
    >>> duration(90_061)
    '1 d 1 h'
    """
    left = max(0, round(seconds))
    parts: list[str] = []
    for unit, size in _UNITS:
        if left >= size or (unit == "s" and not parts):
            parts.append(f"{left // size} {unit}")
        left %= size
    return " ".join(parts[:2])


def plain(text: object) -> str:
    """Return a text on one line, without hidden characters and secret values."""
    return visible(masked(re.sub(r"[ \t\r\n]+", " ", str(text)).strip()))


def _some(texts: Iterable[str], between: str = ", ", most: int = MAX_NAMES_PER_LINE) -> str:
    """Join the first texts and add how many more there are."""
    found = list(texts)
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return between.join(found[:most]) + more
