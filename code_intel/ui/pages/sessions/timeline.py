"""Make the time line of a session from the records of its journal and the log of decisions.

Each record gives one step or several; consecutive calls of one tool are one step.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache

from code_intel.operations.sessions import SessionDecisions, session_decisions
from code_intel.session import journal
from code_intel.session.heads import SessionPaths
from code_intel.session.listing import FileState, file_state
from code_intel.session.state import JournalRecord, Session
from code_intel.session.story import Moment, duration, moments_of, runs_of
from code_intel.tools.context.gateway import GatewayContext
from code_intel.ui.pages.sessions.events import steps_of
from code_intel.ui.pages.sessions.steps import Item, TimelineStep

STEPS_PER_PAGE = 100
MAX_KEPT = 8
"""Time lines that a process keeps: one of thousands of calls takes seconds to read."""

_WRITE = re.compile(r"write (?P<file>.+) in (?P<phase>\w+): (?P<error>\w+)")
"""A refused write in the log of decisions; see `decision_log.denied_writes`."""


@dataclass(frozen=True)
class Timeline:
    """The time line of a session.

    Attributes:
        steps: The steps in chronological order.
        session: The session after the last valid record; None without one.
        broken: Why later records are missing; empty if none are.
        is_ahead: Whether the journal has lines that do not count.
    """

    steps: tuple[TimelineStep, ...]
    session: Session | None
    broken: str = ""
    is_ahead: bool = False


def read_timeline(context: GatewayContext, name: str) -> Timeline:
    """Return the time line of a session; this blocks, and never raises for damage."""
    found = session_decisions(context.settings, name)
    decisions = [step for each in found for step in _decision(each)]
    return with_decisions(_journal(context.sessions, name), decisions)


def _journal(paths: SessionPaths, name: str) -> Timeline:
    states = file_state(paths.journal(name)), file_state(paths.head(name))
    found = _read(paths, name, *states)
    # The damage may have been a failure to read.
    return _read.__wrapped__(paths, name, *states) if found.broken else found


@lru_cache(maxsize=MAX_KEPT)
def _read(
    paths: SessionPaths, name: str, journal_state: FileState, head_state: FileState
) -> Timeline:
    """Return the time line of a session whose journal and head are in these states."""
    del journal_state, head_state
    intact = journal.read_intact(paths, name)
    found = timeline(intact.records)
    return replace(found, broken=found.broken or intact.problem, is_ahead=intact.ahead)


def timeline(records: Iterable[JournalRecord]) -> Timeline:
    """Return the time line of records up to the first invalid one."""
    moments, broken = moments_of(records)
    steps: list[TimelineStep] = []
    for run in runs_of(moments):
        first, last = run[0], run[-1]
        found = (*steps_of(run), *_phase_change(last))
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


def _phase_change(moment: Moment) -> Iterator[TimelineStep]:
    """Yield a change of phase, with the duration of the previous phase."""
    change = moment.after.phase_history[-1]
    if moment.before is None or change.seq != moment.record.seq:
        return
    began, ended = moment.before.phase_history[-1].at, change.at
    seconds = (datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds()
    values = {"source": change.source, "target": change.target.value, "time": duration(seconds)}
    yield TimelineStep("phase", values=values)


def _decision(found: SessionDecisions) -> Iterator[TimelineStep]:
    """Yield the refused writes, then a step with all other decisions."""
    items = []
    for what, why in found.texts:
        if found.kind == "refused" and (write := _WRITE.fullmatch(what)):
            yield TimelineStep("write refused", why, values=write.groupdict(), at=found.at)
        else:
            items.append(Item(what, text=why))
    if items:
        yield TimelineStep(found.kind, items=tuple(items), at=found.at)
