"""What the gateway's tools work with: one project's settings, indexes, model and sessions.

A tool that belongs to a session takes it with `desk.session(...)`: judge, run, record, under one
lock a session, since a client may call tools in parallel. Journals are read and written on worker
threads; nothing here blocks the event loop.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar
from weakref import WeakValueDictionary

import anyio
from anyio import to_thread

from code_intel.config import Settings
from code_intel.config.placing import is_writable
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.errors import CodeIntelError, NotFoundError, SessionError, UsageError
from code_intel.index.facade import Index
from code_intel.learned import decisions
from code_intel.learned.logs import folder_of
from code_intel.records import Searcher
from code_intel.session import journal, phases
from code_intel.session.guidance import leading_on
from code_intel.session.heads import Place, place_of
from code_intel.session.state import Session, Step
from code_intel.tools import deciding
from code_intel.tools.declaration import Report, silent

if TYPE_CHECKING:  # most sessions execute no command
    from code_intel.tools.command_desk import CommandDesk

MOST_REMEMBERED = 1000
"""Connections whose last session is known; the longest unused are forgotten first."""
P = ParamSpec("P")
T = TypeVar("T")


@dataclass
class Desk:
    """One project as the gateway sees it.

    Attributes:
        settings: The project's settings.
        upstream: Whatever answers for map and forest; None for commands that ask neither.
        map: The local map index.
        forest: The local forest index; definitions and validity come from it.
        embedder: The process's model.
        offered: Names of the tools that the server lists; refusals name no others.
        connection: Who asks: the name of a connection, or None where there is none to remember.
        lasts: The handle of the last session that each connection started or named.
        report: Takes the progress of a call to who asks.
        warnings: What went wrong beside a call; its answer says so.
        opens_commands: Opens the project's commands when they are first asked for; None where nobody does.
    """

    settings: Settings
    upstream: Searcher | None
    map: Index
    forest: Index
    embedder: LazyEmbedder
    offered: frozenset[str] = frozenset()
    connection: str | None = ""
    lasts: dict[str, str] = field(default_factory=dict)
    locks: WeakValueDictionary[str, anyio.Lock] = field(default_factory=WeakValueDictionary)
    report: Report = silent
    warnings: list[str] = field(default_factory=list)
    opens_commands: "Callable[[], CommandDesk] | None" = None

    @property
    def searcher(self) -> Searcher:
        """Whatever answers for map and forest.

        Raises:
            NotFoundError: Nobody does here.
        """
        if self.upstream is None:
            raise NotFoundError("Nobody answers for map and forest here.")
        return self.upstream

    @property
    def commands(self) -> "CommandDesk":
        """The project's commands, for who asks now.

        Raises:
            NotFoundError: Nobody opens them here.
        """
        if self.opens_commands is None:
            raise NotFoundError("Nobody knows of commands here.")
        return replace(self.opens_commands(), report=self.report, connection=self.connection)

    @property
    def root(self) -> Path:
        """The project's root."""
        return self.settings.root

    @property
    def sessions(self) -> Place:
        """Where the sessions are."""
        return sessions_of(self.settings)

    @property
    def last(self) -> str | None:
        """The handle of the last session that this connection started or named; no other sees it."""
        return None if self.connection is None else self.lasts.get(self.connection)

    def remember(self, handle: str) -> None:
        """Make a session this connection's last."""
        if self.connection is not None:
            self.lasts.pop(self.connection, None)
            self.lasts[self.connection] = handle
            while len(self.lasts) > MOST_REMEMBERED:
                del self.lasts[next(iter(self.lasts))]

    @asynccontextmanager
    async def session(self, session_id: str | None, tool: str) -> "AsyncIterator[Held]":
        """Hold a session for one call of `tool`, once its phase allows it.

        Raises:
            SessionError: None was named and this connection has started none; or it does not exist.
            PhaseError: The phase forbids the tool.
        """
        chosen = session_id or self.last
        if chosen is None:
            raise self._unnamed(tool)
        async with self.locks.setdefault(chosen, anyio.Lock()):
            hours = self.settings.session_hours
            session = await thread(journal.load, self.sessions, chosen, expire_hours=hours)
            held = Held(self, session, chosen, tool)
            try:
                phases.check_allowed(session, tool, self.offered or None)
                self.remember(chosen)
                yield held
            except (SessionError, UsageError) as error:
                if isinstance(error, SessionError):
                    error.hint = leading_on(error.hint, held.session, self.offered or None)
                await self.note(session, deciding.refusal(held.session, error, tool))
                raise
            await self.note(session, *deciding.moves(session, held.session, tool))

    @asynccontextmanager
    async def perhaps(self, session_id: str | None, tool: str) -> "AsyncIterator[Held | None]":
        """Hold the session if there is one: read-only tools also work without."""
        if session_id is None and self.last is None:
            yield None
            return
        async with self.session(session_id, tool) as held:
            yield held

    async def note(self, session: Session | None, *made: decisions.Decision) -> None:
        """Write decisions to the project's log; what cannot be written is a warning, and no more."""
        folder = folder_of(self.settings.state)
        try:
            if made:
                await thread(decisions.note, folder, session.name if session else "", made)
        except CodeIntelError as error:
            self.warnings.append(f"Decisions were not logged: {error.message}")

    def _unnamed(self, tool: str) -> SessionError:
        if self.connection is not None:
            return SessionError(f"{tool} works within a session, and there is none.")
        return SessionError(
            f"{tool} needs session_id: over HTTP in this protocol version no call knows of another.",
            hint="Pass the session_id that start_session returned; without one, call start_session.",
            details={"field": "session_id"},
        )


@dataclass
class Held:
    """A session under its lock, as of the last step appended; `handle` is for its owner's eyes alone."""

    desk: Desk
    session: Session
    handle: str
    tool: str

    async def append(self, *steps: Step) -> Session:
        """Write steps to the journal, and return the session after them."""
        self.session = await thread(
            journal.append, self.desk.sessions, self.handle, *steps, seen=self.session
        )
        return self.session

    async def decide(self, judgement: Callable[[Session], tuple[T, Sequence[Step]]]) -> T:
        """Judge the session as it is on disk and append what follows, while no process can come between.

        `judgement` returns its verdict and the steps to append; when it raises, nothing is written.
        """

        def work() -> T:
            sessions, seen = self.desk.sessions, self.session
            with journal.transaction(sessions, self.handle, seen=seen) as held:
                phases.check_allowed(held.session, self.tool, self.desk.offered or None)
                verdict, steps = judgement(held.session)
                self.session = held.append(*steps)
            return verdict

        return await thread(work)


def sessions_of(settings: Settings) -> Place:
    """Return where a project's sessions are: beside their heads where nobody may write the project."""
    place = place_of(settings.root, settings.state / "sessions", settings.state_dir)
    if is_writable(place.journals):
        return place
    return place._replace(journals=settings.state_dir / "journals" / place.project)


async def thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run blocking work on a worker thread; abandoned when the call is cancelled."""
    return await to_thread.run_sync(lambda: work(*args, **kwargs), abandon_on_cancel=True)
