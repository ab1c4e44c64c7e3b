"""Build sessions for tests from events."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from code_intel.session import steps
from code_intel.session.evidence import VerificationFacts
from code_intel.session.heads import SessionPaths, Token, session_paths
from code_intel.session.phases import Event, Intent
from code_intel.session.relevance import confirm_symbols
from code_intel.session.replay import JOURNAL_VERSION, apply
from code_intel.session.requirements import Submission, UnderstandingFacts, submit_understanding
from code_intel.session.risk import Risk
from code_intel.session.short_circuit import MapFacts, judge, map_step
from code_intel.session.state import JournalRecord, MappedSymbol, Session, Step

QUERY = "ログインできない。エラー画面が真っ白になる。直してほしい。login fails with 500 when empty"
SYMBOLS = ("AuthService", "LoginForm", "login", "validate_password", "UserRepository")
FILES = ("src/auth.py", "src/form.py", "src/users.py", "src/errors.py")


class Ticking:
    """A clock that advances one second each time it is read."""

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


def first_record(
    intent: Intent = Intent.MODIFY, query: str = QUERY, root: Path = Path("/p")
) -> JournalRecord:
    data = {
        "version": JOURNAL_VERSION,
        "name": "session_20260102_030405_00000001",
        "seal": "0" * 64,
        "intent": intent.value,
        "query": query,
        "root": str(root),
    }
    return JournalRecord(1, "2026-01-02T03:00:00+00:00", Event.STARTED, data)


def started(intent: Intent = Intent.MODIFY, query: str = QUERY, root: Path = Path("/p")) -> Session:
    return apply(None, first_record(intent, query, root))


def after(session: Session, *happened: Step) -> Session:
    for step in happened:
        data = json.loads(json.dumps(step.data))
        at = f"2026-01-02T04:00:00.{session.seq:06d}+00:00"
        session = apply(session, JournalRecord(session.seq + 1, at, step.event, data))
    return session


def quoted(**slots: str) -> Mapping[str, Mapping[str, str]]:
    """Return slots whose values are their own quotes."""
    return {name: {"value": text, "quote": text} for name, text in slots.items()}


def framed(session: Session, **slots: str) -> Session:
    return after(session, *steps.set_frame(session, quoted(**slots)))


def low_risk(intent: Intent = Intent.MODIFY) -> Session:
    session = framed(
        started(intent),
        target_feature="ログイン",
        observed_issue="エラー画面が真っ白になる",
        desired_action="直してほしい",
    )
    assert session.risk is Risk.LOW
    return session


def found(tool: str, target: str, *files: str, symbols: Iterable[str] = ()) -> Step:
    """Return a call that found `files`, and at least one result."""
    return steps.called(tool, target, found=max(1, len(files)), files=files, symbols=symbols)


def explored(session: Session) -> Session:
    """Use both required tools with success."""
    return after(
        session,
        found("find_definitions", "AuthService", FILES[0], symbols=["AuthService"]),
        found("find_references", "AuthService", *FILES[1:]),
    )


def mapped(session: Session, name: str = "AuthService") -> MappedSymbol:
    symbol = session.symbol(name)
    assert symbol is not None
    return symbol


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


def understood(
    session: Session, claim: Submission | None = None, facts: UnderstandingFacts = FACTS
) -> Session:
    """Submit an understanding."""
    return after(session, submit_understanding(session, claim or submission(), facts).step)


def confirmed(
    session: Session, symbol: str = "AuthService", evidence: str = "", score: float | None = None
) -> Session:
    """Confirm a symbol, by evidence that names it."""
    scores = {} if score is None else {symbol: score}
    evidence = evidence or f"{symbol} だ"
    verdict = confirm_symbols(session, [symbol], evidence, defined=SYMBOLS, scores=scores)
    return after(session, verdict.step)


def map_answer(
    session: Session,
    score: float = 0.95,
    *,
    query: str = "",
    files: Iterable[str] = (),
    **facts: Any,
) -> Step:
    """Return the step of a map hit for AuthService; `facts` replace those of `map_facts`."""
    step = map_step(
        session,
        judge(map_facts(session, score)._replace(**facts)),
        query=query or session.own_words,
        nl_term="ログイン",
        symbol="AuthService",
        score=score,
        symbol_defined=True,
        files=files,
    )
    assert step is not None
    return step
