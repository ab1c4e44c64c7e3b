"""Sessions for tests, made of the events that would have led to them."""

import json
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

from code_intel.session import steps
from code_intel.session.evidence import VerificationFacts
from code_intel.session.handles import Token
from code_intel.session.heads import SessionPaths, session_paths
from code_intel.session.phases import Event, Intent
from code_intel.session.replay import JOURNAL_VERSION, apply
from code_intel.session.requirements import Submission, UnderstandingFacts
from code_intel.session.risk import Risk
from code_intel.session.short_circuit import MapFacts
from code_intel.session.state import JournalRecord, Session, Step

QUERY = "ログインできない。エラー画面が真っ白になる。直してほしい。login fails with 500 when empty"
SYMBOLS = ("AuthService", "LoginForm", "login", "validate_password", "UserRepository")
FILES = ("src/auth.py", "src/form.py", "src/users.py", "src/errors.py")


class Ticking:
    """A clock that moves on by one second a look."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def tokens() -> Token:
    numbers = count(1)
    return lambda: f"{next(numbers):08x}"


def place_in(folder: Path, root: Path = Path("/project")) -> SessionPaths:
    """Return where the sessions of `root` are: journals and heads below one folder."""
    return session_paths(root, folder / "sessions", folder / "state")


def started(intent: Intent = Intent.MODIFY, query: str = QUERY, root: Path = Path("/p")) -> Session:
    data = {
        "version": JOURNAL_VERSION,
        "name": "session_20260102_030405_00000001",
        "seal": "0" * 64,
        "intent": intent.value,
        "query": query,
        "root": str(root),
    }
    return apply(None, JournalRecord(1, "2026-01-02T03:04:05+00:00", Event.STARTED, data))


def after(session: Session, *happened: Step) -> Session:
    for step in happened:
        data = json.loads(json.dumps(step.data))
        at = f"2026-01-02T04:00:00.{session.seq:06d}+00:00"
        session = apply(session, JournalRecord(session.seq + 1, at, step.event, data))
    return session


def framed(session: Session, **slots: str) -> Session:
    """Set a frame whose values are their own quotes."""
    given = {name: {"value": text, "quote": text} for name, text in slots.items()}
    return after(session, *steps.set_frame(session, given))


def low_risk(intent: Intent = Intent.MODIFY) -> Session:
    session = framed(
        started(intent),
        target_feature="ログイン",
        observed_issue="エラー画面が真っ白になる",
        desired_action="直してほしい",
    )
    assert session.risk is Risk.LOW
    return session


def explored(session: Session) -> Session:
    """Use both required tools with success."""
    return after(
        session,
        steps.called(
            "find_definitions", "AuthService", found=1, files=FILES[:1], symbols=["AuthService"]
        ),
        steps.called("find_references", "AuthService", found=3, files=FILES[1:]),
    )


def submission(symbols: int = 3, entries: int = 1, files: int = 2, patterns: int = 1) -> Submission:
    return Submission(
        SYMBOLS[:symbols],
        tuple(f"{name}.run()" for name in SYMBOLS[:entries]),
        FILES[:files],
        tuple(f"pattern {number}" for number in range(patterns)),
    )


FACTS = UnderstandingFacts(
    defined=frozenset(SYMBOLS),
    existing_files=frozenset(FILES),
    learned=frozenset({"AuthService"}),
)


KNOWN = VerificationFacts(learned=frozenset({"AuthService"}))
"""What a verification knows where an agreement names the symbol."""


def map_facts(session: Session, score: float | None = 0.95) -> MapFacts:
    """Facts under which every guard holds."""
    return MapFacts(
        score=score,
        status="valid",
        confirmed=True,
        margin=0.3,
        needed_margin=0.05,
        symbol_defined=True,
        risk=session.risk,
        intent=session.intent,
    )
