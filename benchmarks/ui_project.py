"""Build the large project of `benchmarks.ui_pages`: 10,000 agreements, 1,000 sessions, 100 plans.

Agreements are those of `benchmarks.map_scale`. One real session is held through the gateway; the
others are copies of its steps with their own names, times and heads. Outcomes, sizes of answers and
events of agreements are those of these sessions.
"""

import sys
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.latency import BIN, Client
from benchmarks.map_scale import make
from code_intel.config import Settings, load_settings
from code_intel.learned.history import answer_sizes, outcomes
from code_intel.learned.history.experience import AgreementExperience, Kind
from code_intel.learned.history.state import open_state
from code_intel.learned.recall.recall import fold
from code_intel.planning import keeping
from code_intel.planning.records import Evaluation, Expected, Iteration, Metrics, QueryPlan, Result
from code_intel.records import Agreement
from code_intel.session import journal
from code_intel.session.phases import Intent
from code_intel.session.state import JournalRecord, Step
from code_intel.tools.context.gateway import sessions_of

PLANS = 100
BETWEEN = timedelta(minutes=40)
"""The time from one session to the next."""
ENDINGS: Sequence[tuple[Kind, ...]] = (
    ("offered", "accepted"),
    ("offered", "accepted"),
    ("offered", "confirmed"),
    ("offered", "rejected"),
)
"""What sessions make of an agreement, in turn."""


def make_large(folder: Path, agreements: int, sessions: int) -> Settings:
    """Set up the project in a new folder; return its settings."""
    settings, agreed = make(folder, agreements)
    _say(f"{agreements:,} agreements are indexed")
    with open_state(settings.state) as state, state.transaction():
        for number in range(sessions):
            for event in _events(agreed[number % len(agreed)], number):
                state.add_experience(event)
    steps = _real_session(settings, agreed[0])
    now = datetime.now(UTC)
    for number in range(sessions):
        at = now - BETWEEN * (sessions - number)
        _copy(settings, steps, agreed[number % len(agreed)].nl_term, at, number)
    _say(f"{sessions:,} sessions of {len(steps)} steps are written")
    for number in range(PLANS):
        keeping.save(settings.plans_dir, _plan(agreed[number]))
    return load_settings(folder)


def _real_session(settings: Settings, agreement: Agreement) -> tuple[JournalRecord, ...]:
    """Hold a session through the gateway; return its journal."""
    query = f"{agreement.nl_term} fails when the form is empty"
    frame = {"target_feature": agreement.nl_term, "observed_issue": "fails"}
    calls: Sequence[tuple[str, dict[str, Any]]] = (
        (
            "start_session",
            {"intent": "MODIFY", "query": query}
            | {name: {"value": text, "quote": text} for name, text in frame.items()},
        ),
        ("search_smart", {"query": agreement.nl_term}),
        ("snippets_get", {"symbol": agreement.symbol}),
        ("find_references", {"symbol": agreement.symbol}),
        ("check_write_target", {"file_path": agreement.files[0].path}),
        ("record_outcome", {"outcome": "success", "analysis": {"root_cause": "never checked"}}),
    )
    with Client([str(BIN / "code-intel"), "serve"], settings.root) as gateway:
        for tool, arguments in calls:
            gateway.call(tool, arguments)
    paths = sessions_of(settings)
    (file,) = journal.journal_files(paths)
    return journal.read_intact(paths, file.name).records


def _copy(
    settings: Settings, records: Sequence[JournalRecord], query: str, at: datetime, number: int
) -> None:
    """Write a session with the same steps, and the log records of its answers and its outcome."""
    paths, logs = sessions_of(settings), outcomes.folder_of(settings.state)
    clock = iter(at + timedelta(seconds=7 * place) for place in range(len(records) + 1))
    created = journal.create(
        paths,
        Intent.MODIFY,
        f"{query} fails when the form is empty",
        clock=lambda: at,
        token=lambda: f"{number:08x}",
        commit=records[0].data.get("commit"),
        demands=records[0].data["demands"],
    )
    steps = [Step(record.event, record.data) for record in records[1:]]
    journal.append(paths, created.handle, *steps, clock=lambda: next(clock))
    name = created.session.name
    for seq in range(2, len(records), 2):
        size = answer_sizes.AnswerSize(name, seq, "snippets_get", 300 + number, 4 + number % 40)
        answer_sizes.append(logs, size)
    outcomes.append(logs, {"session_id": name, "timestamp": at.isoformat(), "outcome": "success"})


def _events(agreement: Agreement, number: int) -> list[AgreementExperience]:
    key, at = (agreement.nl_term, agreement.symbol), datetime(2026, 6, 1, tzinfo=UTC)
    band = "ready" if number % 3 else "verification"
    return [
        AgreementExperience(
            key,
            kind,
            fold(agreement.nl_term),
            f"session_{number}",
            band if kind == "offered" else "",
            at + timedelta(minutes=number),
        )
        for kind in ENDINGS[number % len(ENDINGS)]
    ]


def _plan(agreement: Agreement) -> QueryPlan:
    whole = Metrics(1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
    method = agreement.symbol.rpartition(".")[2]
    found = Result(
        agreement.files[0].path, f"def {method}(self, item):", 0.9, 1.0, method, 1, 2, 0, ("words",)
    )
    judged = Evaluation(whole, 0.9, 0.9, (method,), ())
    return QueryPlan(
        id=str(uuid.uuid4()),
        goal=f"How does {agreement.nl_term} work?",
        expected=Expected((method,)),
        iterations=tuple(
            Iteration(number, agreement.nl_term, (method,), (found,) * 5, judged)
            for number in (1, 2, 3)
        ),
        final=(found,) * 5,
        stop="reached",
        source="forest, words and vectors",
        revision="A1",
        created="2026-03-01T12:00:00+00:00",
    )


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
