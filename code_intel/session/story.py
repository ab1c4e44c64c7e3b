"""Describe a session for people, one line per event of its journal.

    asked framed map found executed claimed noted believed doubted risk supposed confirmed rejected
    opened permitted reverted learned ended audited; and `phase` for each change of phase

Each text is one line without hidden characters or secret values. Long lists are cut.
"""

import re
from collections import Counter
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
from code_intel.session.short_circuit import explain
from code_intel.session.state import JournalRecord, Session, SessionCall

MAX_NAMES_PER_LINE = 6
"""Maximum number of names, files or calls listed in one line."""
EXECUTING = frozenset({"command_execute"})
"""Tools that act instead of returning results."""
_UNITS = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))

KindAndText = tuple[str, str]
"""The kind of a line and its text."""
Data = Mapping[str, Any]


class StoryLine(NamedTuple):
    """A line of a story.

    Attributes:
        at: When it happened, in ISO 8601 with an offset.
        phase: The phase that followed.
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
        lines: The lines in chronological order.
        session: The session after the last valid record; None if none exists.
        broken: Why later records are invalid; empty if all are valid.
    """

    lines: tuple[StoryLine, ...]
    session: Session | None
    broken: str = ""


class Moment(NamedTuple):
    """An event, with the session before and after it."""

    record: JournalRecord
    before: Session | None
    after: Session


def describe(records: Iterable[JournalRecord]) -> Story:
    """Describe records up to the first invalid one; consecutive calls of one tool share a line."""
    moments, broken = moments_of(records)
    lines: list[StoryLine] = []
    for run in runs_of(moments):
        at, after = run[0].record.at, run[-1].after
        if run[0].record.event is Event.CALLED:
            described = [_describe_calls([moment.after.calls[-1] for moment in run])]
        else:
            described = _describe_event(run[0].record)
        lines += [StoryLine(at, after.phase.value, kind, text) for kind, text in described]
        lines += _phase_change(run[-1])
    return Story(tuple(lines), moments[-1].after if moments else None, broken)


def with_notes(story: Story, notes: Iterable[StoryLine]) -> Story:
    """Insert notes from other sources into a story, by time."""
    lines: list[StoryLine] = []
    remaining = sorted(notes, key=lambda note: note.at)
    for line in story.lines:
        while remaining and remaining[0].at < line.at:
            lines.append(remaining.pop(0)._replace(phase=lines[-1].phase if lines else ""))
        lines.append(line)
    lines += [note._replace(phase=lines[-1].phase if lines else "") for note in remaining]
    return story._replace(lines=tuple(lines))


def moments_of(records: Iterable[JournalRecord]) -> tuple[list[Moment], str]:
    """Return the events up to the first invalid one, and why that is invalid."""
    moments: list[Moment] = []
    session: Session | None = None
    for record in records:
        try:
            after = apply(session, record)
        except CodeIntelError as error:
            return moments, error.message
        moments.append(Moment(record, session, after))
        session = after
    return moments, ""


def runs_of(moments: Iterable[Moment]) -> Iterator[list[Moment]]:
    """Yield the events in order; consecutive calls of one tool together."""
    for _, group in groupby(moments, key=_group_key):
        yield list(group)


def _describe_event(record: JournalRecord) -> list[KindAndText]:
    try:
        return list(DESCRIPTIONS[record.event](record.data))
    except (KeyError, TypeError, ValueError, AttributeError):  # written by another version
        return [(record.event.value, "")]


def _group_key(moment: Moment) -> str | int:
    """Return the same key for consecutive calls of one tool, and another one for other events."""
    is_call = moment.record.event is Event.CALLED
    return str(moment.record.data["tool"]) if is_call else moment.record.seq


def _phase_change(moment: Moment) -> Iterator[StoryLine]:
    """Describe a change of phase, with the duration of the previous phase."""
    change = moment.after.phase_history[-1]
    if moment.before is None or change.seq != moment.record.seq:
        return
    began = datetime.fromisoformat(moment.before.phase_history[-1].at)
    elapsed = duration((datetime.fromisoformat(change.at) - began).total_seconds())
    text = f"{change.source} → {change.target} after {elapsed}"
    yield StoryLine(change.at, change.target.value, "phase", text)


def _describe_calls(calls: Sequence[SessionCall]) -> KindAndText:
    """Describe calls of one tool."""
    counts = Counter(map(_describe_call, calls))
    texts = [f"{text} ({times} times)" if times > 1 else text for text, times in counts.items()]
    tool = calls[0].tool
    return "executed" if tool in EXECUTING else "found", f"{tool} {_join(texts, '; ')}"


def _describe_call(call: SessionCall) -> str:
    target = plain(call.target)
    if not call.ok:
        return f"{target}: failed"
    if call.tool in EXECUTING:
        return target
    if not call.found:
        return f"{target}: nothing"
    files = f" in {_join(map(plain, call.files), limit=2)}" if call.files else ""
    return f"{target}: {call.found}{files}"


def _describe_start(data: Data) -> Iterator[KindAndText]:
    yield "asked", f"{data['intent']}: {plain(data['query'])}"
    if START[Intent(data["intent"])] is Phase.READY:
        yield "phase", "READY from the start: the session is read-only"


def _describe_frame(data: Data) -> Iterator[KindAndText]:
    slots = [f"{s['name']} “{plain(s['value'])}” ({s['source']})" for s in data["slots"]]
    yield "framed", f"{'; '.join(slots)}; risk {data['risk']}"


def _describe_confirmation(data: Data) -> Iterator[KindAndText]:
    names = _join(plain(item["name"]) for item in data["symbols"])
    yield "confirmed", f"{names} for the target feature: {plain(data['evidence'])}"
    if unsure := [plain(item["name"]) for item in data["symbols"] if item.get("unsure")]:
        yield (
            "risk",
            f"{plain(data['risk'])}: low similarity of the target feature and {_join(unsure)}",
        )


def _describe_map_answer(data: Data) -> Iterator[KindAndText]:
    pair = f"{plain(data['nl_term'])} → {plain(data['symbol'])}"
    score = f"{data['score']:.2f}" if isinstance(data["score"], int | float) else "no score"
    query = f"“{plain(data['query'])}”"
    guards = "; ".join(item["reason"] for item in explain(data["failed"]))
    reason = f"; not READY because {guards}" if guards else ""
    if data["band"] == "forest" or not data["nl_term"]:
        yield "map", f"no answer to {query}; the forest may be searched{reason}"
    else:
        yield "map", f"answers {query} with {pair} ({score}){reason}"


def _describe_understanding(data: Data) -> Iterator[KindAndText]:
    symbols = [f"{plain(s['name'])} ({s['source']})" for s in data["symbols"]]
    claims = {
        "symbols": symbols,
        "entry points": map(plain, data.get("entry_points", ())),
        "files": map(plain, data["files"]),
        "patterns": map(plain, data.get("patterns", ())),
    }
    listed = ((kind, _join(names)) for kind, names in claims.items())
    yield "claimed", "; ".join(f"{kind}: {names}" for kind, names in listed if names)
    if notes := plain(data.get("notes") or ""):
        yield "noted", notes
    if data["missing"]:
        yield "doubted", _join(map(plain, data["missing"]), "; ")
    else:
        yield "believed", "all requirements are met"


def _describe_hypotheses(data: Data) -> Iterator[KindAndText]:
    texts = [f"“{plain(item['text'])}” ({item['confidence']})" for item in data["hypotheses"]]
    missing = _join((plain(item) for item in data.get("missing", ())), "; ")
    reason = f"{plain(data['reason'])} ({missing})" if missing else plain(data["reason"])
    yield "supposed", f"{_join(texts, '; ')}, because of {reason}"


def _describe_verification(data: Data) -> Iterator[KindAndText]:
    for answer in data["answers"]:
        call = answer["evidence"]
        note = "" if answer["corroborated"] else ", which matches no call"
        evidence = f"{plain(call['tool'])} {plain(call['target'])}: {plain(call['result'])}"
        yield answer["status"], f"“{plain(answer['hypothesis'])}” by {evidence}{note}"


def _describe_explored_files(data: Data) -> Iterator[KindAndText]:
    yield "opened", _join(map(plain, data["files"]))


def _describe_permission(data: Data) -> Iterator[KindAndText]:
    yield "permitted", _join(map(plain, data["files"]))


def _describe_raised_risk(_: Data) -> Iterator[KindAndText]:
    yield "doubted", "the risk is now higher than when READY was reached"


def _describe_revert(data: Data) -> Iterator[KindAndText]:
    yield "reverted", plain(data["reason"]) or "no reason given"


def _describe_learning(data: Data) -> Iterator[KindAndText]:
    yield "learned", f"{plain(data['nl_term'])} → {plain(data['symbol'])}"


def _describe_outcome(data: Data) -> Iterator[KindAndText]:
    analysis = data["analysis"]
    parts = [
        plain(analysis.get("root_cause") or ""),
        f"failed in {analysis['failure_point']}" if analysis.get("failure_point") else "",
        plain(analysis.get("user_feedback_summary") or ""),
    ]
    reasons = "; ".join(filter(None, parts))
    yield "ended", f"{data['outcome']}: {reasons}" if reasons else data["outcome"]
    if files := data.get("unpermitted"):
        yield "audited", f"written without permission: {_join(map(plain, files))}"


DESCRIPTIONS: Mapping[Event, Callable[[Data], Iterable[KindAndText]]] = MappingProxyType(
    {
        Event.STARTED: _describe_start,
        Event.FRAMED: _describe_frame,
        Event.CONFIRMED: _describe_confirmation,
        Event.MAP_MISSED: _describe_map_answer,
        Event.MAP_LIKELY: _describe_map_answer,
        Event.MAP_CONFIDENT: _describe_map_answer,
        Event.UNDERSTOOD: _describe_understanding,
        Event.DOUBTED: _describe_understanding,
        Event.SUPPOSED: _describe_hypotheses,
        Event.VERIFIED: _describe_verification,
        Event.REFUTED: _describe_verification,
        Event.EXPLORED: _describe_explored_files,
        Event.PERMITTED: _describe_permission,
        Event.RISK_RAISED: _describe_raised_risk,
        Event.REVERTED: _describe_revert,
        Event.LEARNED: _describe_learning,
        Event.OUTCOME: _describe_outcome,
    }
)
"""How each event is described, except CALLED; `_describe_calls` describes several of these."""


def duration(seconds: float) -> str:
    """Return a time span in its two largest units.

    >>> duration(125)
    '2 min 5 s'
    >>> duration(90_061)
    '1 d 1 h'
    """
    remaining = max(0, round(seconds))
    parts: list[str] = []
    for unit, size in _UNITS:
        if remaining >= size or (unit == "s" and not parts):
            parts.append(f"{remaining // size} {unit}")
        remaining %= size
    return " ".join(parts[:2])


def plain(text: object) -> str:
    """Return a text on one line, without hidden characters or secret values."""
    return visible(masked(re.sub(r"[ \t\r\n]+", " ", str(text)).strip()))


def _join(texts: Iterable[str], separator: str = ", ", limit: int = MAX_NAMES_PER_LINE) -> str:
    """Join the first texts and say how many more there are."""
    items = list(texts)
    more = f" and {len(items) - limit} more" if len(items) > limit else ""
    return separator.join(items[:limit]) + more
