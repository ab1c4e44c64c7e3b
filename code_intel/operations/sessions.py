"""List sessions, and tell the story of one: what it asked, found, claimed and decided."""

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, NamedTuple

from code_intel.config import Settings
from code_intel.errors import StorageError
from code_intel.learned.history import decisions
from code_intel.learned.history.drafts import OutcomeDraft, read_draft, read_drafts
from code_intel.learned.history.logs import folder_of
from code_intel.operations.id_prefix import IdKind, resolve_prefix
from code_intel.session import journal
from code_intel.session.guidance import risk_reason
from code_intel.session.listing import SessionSummary, list_sessions
from code_intel.session.phases import Phase
from code_intel.session.state import Session
from code_intel.session.story import Story, StoryLine, describe, plain, with_notes
from code_intel.tools.context.gateway import sessions_of

_MAX_DECISIONS = 500
_MAX_CANDIDATES = 20
"""Number of journals among which the last used session is searched."""
_PREFIX = "session_"
SESSION = IdKind(
    "session",
    "`code-intel session list --all` lists them.",
    "An agent starts one before it changes code.",
)
_DECISIONS: Mapping[str, str] = {
    "refused": "refused",
    "plan_made": "planned",
    "step_skipped": "skipped",
    "step_failed": "failed",
    "fallback_taken": "fell back",
    "fallback_refused": "no fallback",
}
"""Kinds of decisions that journals do not contain, and their labels."""


class ListedSession(NamedTuple):
    """A session in the list, and the state of its draft; empty without one."""

    summary: SessionSummary
    draft: str

    @property
    def result(self) -> str:
        """The last outcome, or the state of the draft; empty without either."""
        return self.summary.outcome or self.draft

    @property
    def data(self) -> dict[str, Any]:
        """The session as JSON."""
        return {
            **self.summary._asdict(),
            "query": plain(self.summary.query),
            "why": plain(self.summary.why),
            "draft": self.draft,
        }


class SessionDecisions(NamedTuple):
    """Decisions of one kind and time about a session.

    Attributes:
        at: When, in ISO 8601.
        kind: The kind, in a word or two.
        texts: What was decided, and why, of each.
    """

    at: str
    kind: str
    texts: tuple[tuple[str, str], ...]


class SessionStory(NamedTuple):
    """A session and everything that it did.

    Attributes:
        name: Its name.
        state: `open`, `ended`, `expired` or `broken`.
        story: The session and its lines; `broken` says what is wrong with its journal.
        draft: The draft of its outcome, if there is one.
        is_ahead: Whether the journal has lines that its head does not cover.
    """

    name: str
    state: str
    story: Story
    draft: OutcomeDraft | None
    is_ahead: bool

    @property
    def data(self) -> dict[str, Any]:
        """The session as JSON, without the lines of the story."""
        data: dict[str, Any] = {
            "name": self.name,
            "state": self.state,
            "broken": plain(self.story.broken),
            "ahead": self.is_ahead,
        }
        data |= session_data(self.story.session) if self.story.session else {}
        return data | {"draft": draft_data(self.draft)}


def listed_sessions(
    settings: Settings, limit: int = journal.MAX_JOURNALS, start: int = 0
) -> list[ListedSession]:
    """Return sessions after the first `start`, the most recently used first; this blocks."""
    paths, hours = sessions_of(settings), settings.session_hours
    found = list_sessions(paths, expire_hours=hours, limit=limit, start=start)
    drafts = {draft.session: draft.state() for draft in read_drafts(settings)}
    return [ListedSession(session, drafts.get(session.name, "")) for session in found]


def session_story(settings: Settings, name: str) -> SessionStory:
    """Return the story of a session with the decisions about it; this blocks.

    Args:
        settings: The project.
        name: The full name of the session; `resolve_name` returns it.
    """
    intact = journal.read_intact(sessions_of(settings), name)
    described = describe(intact.records)
    story = with_notes(described, _decision_lines(settings, name))._replace(
        broken=described.broken or intact.problem
    )
    state = state_of(story.session, story.broken, settings.session_hours)
    return SessionStory(name, state, story, read_draft(settings, name), intact.ahead)


def resolve_name(settings: Settings, text: str) -> str:
    """Return the name of a session, given its name, the beginning of it, its handle, or `last`.

    Raises:
        NotFoundError: No session matches.
        UsageError: Several sessions match; the error names two.
    """
    paths = sessions_of(settings)
    names = [file.name for file in journal.journal_files(paths)]
    if text == "last":
        matches = [one.name for one in list_sessions(paths, limit=_MAX_CANDIDATES)[:1]]
    else:
        with_prefix = (
            name
            for name in names
            if name.removeprefix(_PREFIX).startswith(text.removeprefix(_PREFIX))
        )
        exact = [name for name in names if text.startswith(name)]
        matches = exact or (list(with_prefix) if text else [])
    return resolve_prefix(matches, text, SESSION, any_exist=bool(names))


def session_data(session: Session) -> dict[str, Any]:
    """Return the state of the session after the shown lines."""
    return {
        "intent": session.intent.value,
        "query": plain(session.query),
        "phase": session.phase.value,
        "ready_by": session.ready_by,
        "risk": session.risk.value,
        **risk_reason(session),
        "started_at": session.started_at,
        "used_at": session.updated_at,
        "tool_calls": len(session.calls),
        "symbols": [symbol.name for symbol in session.symbols if symbol.confirmed],
        "explored_files": list(session.explored_files),
        "planned_files": list(session.planned_files),
        "hypotheses": [item.text for item in session.hypotheses],
        "missing": list(session.missing),
        "outcomes": [item.outcome for item in session.outcomes],
        "learned": [{"nl_term": term, "symbol": symbol} for term, symbol in session.learned],
    }


def draft_data(draft: OutcomeDraft | None) -> dict[str, Any] | None:
    """Return the draft of the outcome as data, without the handle of the session."""
    if draft is None:
        return None
    return {
        "state": draft.state(),
        "drafted_at": draft.drafted_at,
        "files": list(draft.files),
        "unpermitted_files": list(draft.unpermitted),
        "agreements": [
            {"nl_term": each.nl_term, "symbol": each.symbol} for each in draft.agreements
        ],
    }


def write_permission(session: Session | None, state: str) -> str:
    """Return a sentence about what the session may write now."""
    if session is not None and session.ended:
        return "It may no longer write: its outcome was recorded."
    if session is None or state != "open":
        return f"It may no longer write: it is {state}."
    if not session.intent.writes:
        return f"It may not write: {session.intent} is read-only."
    if session.phase is not Phase.READY:
        return f"It may not write before READY; it is in {session.phase}."
    if session.demands == "evidence":
        permitted = ", ".join(map(plain, session.permitted_files)) or "none yet"
        return f"It may write the files that the write gate has allowed: {permitted}"
    files = ", ".join(map(plain, (*session.explored_files, *session.planned_files)))
    return f"It may write, and create files beside: {files or 'no file explored yet'}"


def session_decisions(settings: Settings, name: str) -> list[SessionDecisions]:
    """Return what the log of decisions adds to a journal; nothing if it cannot be read."""
    try:
        log = decisions.newest(folder_of(settings.state), name, _MAX_DECISIONS)
    except StorageError:
        return []
    return [
        SessionDecisions(
            time,
            _DECISIONS[kind],
            tuple((str(row.get("what") or ""), str(row.get("why") or "")) for row in rows),
        )
        for (time, kind), rows in groupby(log.records, key=_time_and_kind)
        if kind in _DECISIONS
    ]


def refusals_by_session(settings: Settings) -> Counter[str]:
    """Return how many refusals the log of decisions has of each session; none if unreadable."""
    try:
        rows = decisions.refusals(folder_of(settings.state))
    except StorageError:
        rows = ()
    return Counter(str(row.get("session_id") or "") for row in rows)


def _decision_lines(settings: Settings, name: str) -> list[StoryLine]:
    """Return the decisions of a session as lines of its story."""
    return [
        StoryLine(
            each.at,
            "",
            each.kind,
            "; ".join(f"{plain(what)}: {plain(why)}" for what, why in each.texts),
        )
        for each in session_decisions(settings, name)
    ]


def _time_and_kind(row: Mapping[str, Any]) -> tuple[str, str]:
    """Return the key of decisions that are shown in one line."""
    return str(row.get("timestamp") or ""), str(row.get("decision") or "")


def state_of(session: Session | None, broken: str, hours: float) -> str:
    """Return `open`, `ended`, `expired` or `broken`.

    Args:
        session: The session after its last valid record; None without one.
        broken: Why later records are invalid; empty if all are valid.
        hours: Hours after which it expires.
    """
    if broken or session is None:
        return "broken"
    if session.ended:
        return "ended"
    is_over = journal.is_expired(session.updated_at, hours, datetime.now(UTC))
    return "expired" if is_over else "open"
