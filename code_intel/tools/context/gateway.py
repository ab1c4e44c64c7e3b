"""Give the gateway's tools one project's settings, indexes, model and sessions.

A tool that works in a session locks it with `context.session(...)`, which checks the phase, because
a client may call tools in parallel. Journals are read and written on worker threads, so that
nothing here blocks the event loop.
"""

import copy
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar
from weakref import WeakValueDictionary

import anyio
from anyio import to_thread

from code_intel.config import Settings
from code_intel.config.writable_folders import is_writable
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.errors import CodeIntelError, NotFoundError, SessionError, UsageError
from code_intel.index.facade import Index
from code_intel.learned.history import answer_sizes, decisions
from code_intel.learned.history.answer_sizes import AnswerSize
from code_intel.learned.history.logs import folder_of
from code_intel.learned.recall.candidates import MapCache
from code_intel.records import Searcher
from code_intel.session import journal, phases
from code_intel.session.guidance import with_next_step
from code_intel.session.heads import SessionPaths, session_paths
from code_intel.session.state import Session, Step
from code_intel.tools.context import decision_log
from code_intel.tools.context.repositories.checkouts import OpenProjects
from code_intel.tools.declaration import Answer
from code_intel.tools.progress import Report, ignore_progress

if TYPE_CHECKING:  # most sessions execute no command
    from code_intel.forest.references.project import ProjectNames
    from code_intel.tools.context.commands import CommandContext

MAX_CONNECTIONS = 1000
"""Maximum connections to remember; the least recently used are dropped first."""
P = ParamSpec("P")
ResultT = TypeVar("ResultT")


@dataclass
class GatewayContext:
    """One project, as the tools of the gateway see it during one call.

    Attributes:
        settings: The project's settings.
        upstream: Searches the map and the forest; None for commands that search neither.
        map: The local index of the map.
        forest: The local index of the forest, the source of definitions and validity.
        embedder: The process's model.
        offered: Names of the tools that the server lists; hints mention no others.
        connection: Name of the caller's connection, or None if the protocol has no connections.
        lasts: The handle of the last session that each connection started or named.
        report: Sends the progress of a call to the client.
        warnings: Problems that did not fail the call; its answer lists them.
        opens_commands: Opens the project's commands when first used; None if none exist.
        map_cache: Data of the map that is cached between queries.
        projects: The other projects of this machine that searches have opened.
        names: The names of the project's files, once something has asked for them in this call;
            None if they are not kept, because there is no call.
        worked: The session in which this call worked, as the call left it; None without one.
        began: When this call began, by `time.perf_counter`.
        sessions: The paths of the sessions' journals.
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
    report: Report = ignore_progress
    warnings: list[str] = field(default_factory=list)
    opens_commands: "Callable[[], CommandContext] | None" = None
    map_cache: MapCache = field(default_factory=MapCache)
    projects: OpenProjects = field(default_factory=OpenProjects)
    names: "list[ProjectNames] | None" = None
    worked: Session | None = None
    began: float = field(default_factory=time.perf_counter)
    sessions: SessionPaths = field(init=False)

    def __post_init__(self) -> None:
        """Find the folder of the sessions once."""
        self.sessions = sessions_of(self.settings)

    def for_call(self, connection: str | None, report: Report) -> "GatewayContext":
        """Return the context of one call, with its own connection, progress and warnings."""
        call = copy.copy(self)
        call.connection, call.report, call.warnings, call.names = connection, report, [], []
        call.worked, call.began = None, time.perf_counter()
        return call

    @property
    def searcher(self) -> Searcher:
        """The searcher for the map and the forest.

        Raises:
            NotFoundError: This process searches neither.
        """
        if self.upstream is None:
            raise NotFoundError("The map and the forest cannot be searched here.")
        return self.upstream

    @property
    def commands(self) -> "CommandContext":
        """The project's commands.

        Raises:
            NotFoundError: This process serves no commands.
        """
        if self.opens_commands is None:
            raise NotFoundError("Commands are not served here.")
        return self.opens_commands()

    @property
    def root(self) -> Path:
        """The project's root."""
        return self.settings.root

    @property
    def last(self) -> str | None:
        """The handle of the session that this connection started or named last."""
        return None if self.connection is None else self.lasts.get(self.connection)

    def remember(self, handle: str) -> None:
        """Remember a session as this connection's last."""
        if self.connection is not None:
            self.lasts.pop(self.connection, None)
            self.lasts[self.connection] = handle
            while len(self.lasts) > MAX_CONNECTIONS:
                del self.lasts[next(iter(self.lasts))]

    @asynccontextmanager
    async def session(self, session_id: str | None, tool: str) -> "AsyncIterator[LockedSession]":
        """Lock a session for one call of `tool`, if its phase allows the tool.

        Raises:
            SessionError: No session was named and this connection has none, or it does not exist.
            PhaseError: The phase forbids the tool.
        """
        chosen = session_id or self.last
        if chosen is None:
            raise self._no_session_error(tool)
        async with self.locks.setdefault(chosen, anyio.Lock()):
            hours = self.settings.session_hours
            session = await run_in_thread(journal.load, self.sessions, chosen, expire_hours=hours)
            locked = LockedSession(self, session, chosen, tool)
            try:
                phases.check_allowed(session, tool, self.offered or None)
                self.remember(chosen)
                yield locked
            except (SessionError, UsageError) as error:
                if isinstance(error, SessionError):
                    error.hint = with_next_step(error.hint, locked.session, self.offered or None)
                await self.note(session, decision_log.refusal(locked.session, error, tool))
                raise
            finally:
                self.worked = locked.session
            if locked.session is not session:
                await self.note(session, *decision_log.phase_changes(session, locked.session, tool))

    @asynccontextmanager
    async def optional_session(
        self, session_id: str | None, tool: str
    ) -> "AsyncIterator[LockedSession | None]":
        """Lock the session if there is one that has not ended.

        Reading tools also work without a session.
        """
        if session_id is None and self.last is None:
            yield None
            return
        async with self.session(session_id, tool) as locked:
            yield None if locked.session.ended else locked

    async def read_session(
        self, session_id: str | None, tool: str
    ) -> tuple[Session | None, str | None]:
        """Return the session and its handle, if there is one, without keeping the lock.

        A search may be slow, so it locks the session again to record its results.
        """
        async with self.optional_session(session_id, tool) as locked:
            return (locked.session, locked.handle) if locked else (None, None)

    async def note(self, session: Session | None, *rows: decisions.Decision) -> None:
        """Append decisions to the project's log; if this fails, add a warning to the call."""
        folder = folder_of(self.settings.state)
        try:
            if rows:
                await run_in_thread(decisions.append, folder, session.name if session else "", rows)
        except CodeIntelError as error:
            self.warnings.append(f"Decisions were not logged: {error.message}")

    async def note_size(self, tool: str, tokens: int, session: Session | None = None) -> None:
        """Log the tokens and time of an answer in a session; without a session, do nothing.

        Only statistics use the log, so a failure is ignored.
        """
        worked = session or self.worked
        if worked is None:
            return
        took = round((time.perf_counter() - self.began) * 1000)
        size = AnswerSize(worked.name, worked.seq, tool, tokens, took)
        with suppress(CodeIntelError):
            await run_in_thread(answer_sizes.append, folder_of(self.settings.state), size)

    def _no_session_error(self, tool: str) -> SessionError:
        if self.connection is not None:
            return SessionError(f"{tool} needs a session, but none was started.")
        return SessionError(
            f"{tool} needs session_id, because this protocol version has no connections over HTTP.",
            hint="Pass the session_id from start_session; if none exists, call start_session.",
            details={"field": "session_id"},
        )


@dataclass
class LockedSession:
    """A locked session, with all steps so far. Only the session's owner may see `handle`."""

    context: GatewayContext
    session: Session
    handle: str
    tool: str

    def answer(self, message: str, text: str = "", **data: Any) -> Answer:
        """Return the answer of a tool that has changed the session."""
        fields = {"success": True, "session_id": self.handle, **data, "message": message}
        return Answer(fields, text or message)

    async def append(self, *steps: Step) -> Session:
        """Append steps to the journal, and return the resulting session."""
        self.session = await run_in_thread(
            journal.append, self.context.sessions, self.handle, *steps, loaded=self.session
        )
        return self.session

    async def decide(
        self, judgement: Callable[[Session], tuple[ResultT, Sequence[Step]]]
    ) -> ResultT:
        """Judge the session as it is on disk and append the result, under its file lock.

        `judgement` returns its verdict and the steps to append. If it raises, nothing is written.
        """

        def judge() -> ResultT:
            sessions, seen = self.context.sessions, self.session
            with journal.transaction(sessions, self.handle, loaded=seen) as transaction:
                session = transaction.session
                phases.check_allowed(session, self.tool, self.context.offered or None)
                verdict, steps = judgement(session)
                self.session = transaction.append(*steps)
            return verdict

        return await run_in_thread(judge)


def sessions_of(settings: Settings) -> SessionPaths:
    """Return the paths of the sessions, in the user's state folder if the project is read-only."""
    paths = session_paths(settings.root, settings.state / "sessions", settings.state_dir)
    if is_writable(paths.journals):
        return paths
    return paths._replace(journals=settings.state_dir / "journals" / paths.project)


async def run_in_thread(work: Callable[P, ResultT], *args: P.args, **kwargs: P.kwargs) -> ResultT:
    """Run blocking work on a worker thread; cancelling the call abandons it."""
    return await to_thread.run_sync(lambda: work(*args, **kwargs), abandon_on_cancel=True)
