"""Keep a connection to an upstream: open it at the first question, and again after a loss.

    idle ──question──▶ starting ──▶ ready ──lost──▶ backoff ──question──▶ starting …
                           └──────unusable──────▶ failed  ──question──▶ starting …

One task (`run`) enters and leaves the client, as the SDK requires; questions wait for it. After a
first failure, the next question connects again. After each further failure, questions fail at once
during a pause, which doubles each time. A valid answer resets the pause (docs/decisions/0018).
"""

import logging
import random
from collections import Counter
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Literal

import anyio
from mcp import Client, MCPError
from mcp.types import (
    CONNECTION_CLOSED,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    Implementation,
    Tool,
)

from code_intel import __version__
from code_intel.config import UpstreamConfig
from code_intel.config.upstreams import MASK
from code_intel.errors import UpstreamError
from code_intel.records import UpstreamStatus
from code_intel.servers.upstream.answer import content_of
from code_intel.servers.upstream.child import child
from code_intel.servers.upstream.link import Link, Transport, watch
from code_intel.servers.upstream.tool import UnusableError, accepted, may_repeat, search_tool
from code_intel.servers.upstream.trouble import (
    CONNECTION_LOST,
    SAID_FIELD,
    Trouble,
    quoted,
    trouble_of,
)
from code_intel.tools.progress import Report

FIRST_PAUSE_S, MAX_PAUSE_S = 0.5, 30.0
MAX_TIMEOUTS = 2
"""Number of consecutive timeouts after which the connection is ended."""
REASON_TIMEOUT_S = 0.3
"""How long to wait for the reason why a connection was lost."""

State = Literal["idle", "starting", "ready", "backoff", "failed"]

# The status reports problems; the SDK would log tracebacks that quote the server.
logging.getLogger("mcp.client").setLevel(logging.CRITICAL)

reporting: ContextVar[Report | None] = ContextVar("reporting", default=None)
"""Receives the progress of the current call."""


class Connection:
    """A supervised connection to one upstream."""

    def __init__(
        self, config: UpstreamConfig, on_change: Callable[[], None] = lambda: None
    ) -> None:
        self.config = config
        self._on_change = on_change
        self._state: State = "idle"
        self._trouble = Trouble("")
        self._since, self._failing_since = _now(), ""
        self._failures = self._timeouts = self._starts = 0
        self._retry_at = 0.0
        self._ignored: Counter[str] = Counter()
        self._legacy = False
        self._link = Link()
        self._client: Client | None = None
        self._tool: Tool | None = None
        self._requested, self._state_changed = anyio.Event(), anyio.Event()
        if config.problem:
            self._state, self._failing_since = "failed", _now()
            self._trouble = Trouble(self._masked(config.problem))

    @property
    def status(self) -> UpstreamStatus:
        """The current state."""
        is_paused = self._state in {"backoff", "failed"} and not self.config.problem
        remaining = self._retry_at - anyio.current_time() if is_paused else 0.0
        return UpstreamStatus(
            name=self.config.name,
            where=self.config.where,
            state=self._state,
            since=self._failing_since or self._since,
            error=self._trouble.why,
            hint=self.config.remedy,
            said=self._trouble.said,
            retry_in=max(0.1, round(remaining, 1)) if remaining > 0 else None,
            restarts=max(0, self._starts - 1),
            ignored=tuple(sorted((self._ignored + self._link.ignored).items())),
        )

    async def run(self) -> None:
        """Connect whenever a question needs it, until cancelled."""
        if self.config.problem:
            self._on_change()
            return
        while True:
            await self._requested.wait()
            self._starts += 1
            self._set_state("starting")
            state, trouble = await self._connect()
            self._client = self._tool = None
            self._ignored += self._link.ignored
            self._link.ignored.clear()
            self._failures += 1
            pause = MAX_PAUSE_S if state == "failed" else pause_after(self._failures)
            self._retry_at = anyio.current_time() + pause * random.uniform(0.5, 1)
            self._fail(trouble)
            self._requested = anyio.Event()
            self._set_state(state)

    async def _connect(self) -> tuple[State, Trouble]:
        """Connect and wait until the connection ends; return the next state and the reason."""
        link = self._link = Link()
        transport = watch(self._transport(link), link)
        mode = "legacy" if self._legacy else "auto"
        info = Implementation(name="code-intel", version=__version__)
        is_reached, trouble = False, Trouble(CONNECTION_LOST)
        try:
            with anyio.move_on_after(self.config.start_seconds) as starting:
                async with Client(transport, mode=mode, client_info=info, cache=None) as client:
                    try:
                        self._tool = await search_tool(client)
                        starting.deadline = float("inf")
                        is_reached, self._client = True, client
                        self._set_state("ready")
                        await link.ended.wait()
                    except UnusableError as error:
                        _reject(link, error)
            if starting.cancelled_caught:
                trouble = Trouble(f"it did not start within {self.config.start_seconds:g} s")
        except Exception as error:  # noqa: BLE001 - any failure of a server becomes a status
            trouble = trouble_of(error, link.http_error)
        if not is_reached and not link.unusable:
            # Some servers exit or hang when they receive a request of the newer protocol.
            self._legacy = not self._legacy
        state: State = "failed" if link.unusable else "backoff"
        return state, Trouble(link.reason, link.said) if link.reason else trouble

    def _transport(self, link: Link) -> Transport:
        if self.config.command:
            return child(self.config, link)
        from code_intel.servers.upstream.remote import remote  # most projects need no HTTP client

        return remote(self.config, link)

    async def ask(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Call the tool `search` with the arguments that it accepts.

        Raises:
            UpstreamError: The server refused, or did not answer in time.
        """
        link: Link | None = None
        try:
            with anyio.fail_after(self.config.call_seconds):
                for is_last in (False, True):
                    client = await self._wait_for_client()
                    link = self._link
                    result = await self._call(client, link, arguments, is_last=is_last)
                    if result is not None:
                        self._timeouts = 0
                        return self._content(result)
        except TimeoutError:
            timeout = f"{self.config.call_seconds:g} s"
            if link is None:
                raise self.failure(Trouble(f"it was still starting after {timeout}")) from None
            self._timeouts += 1
            if self._timeouts >= MAX_TIMEOUTS:
                self._timeouts = 0
                link.end("it left several questions in a row unanswered")
            raise self.failure(Trouble(f"it did not answer within {timeout}")) from None
        raise AssertionError  # the last attempt returns or raises

    async def _wait_for_client(self) -> Client:
        """Return the client once there is one; raise if connecting failed or is paused."""
        while (client := self._client) is None:
            paused = self._state in {"backoff", "failed"} and anyio.current_time() < self._retry_at
            if self.config.problem or paused:
                raise self.failure(self._trouble)
            state_changed = self._state_changed
            self._requested.set()
            await state_changed.wait()
        return client

    async def _call(
        self, client: Client, link: Link, arguments: Mapping[str, Any], *, is_last: bool
    ) -> CallToolResult | None:
        """Send one request; return None if the connection was lost and it may be sent again."""
        tool = self._tool
        try:
            tool = self._tool = tool or await search_tool(client)
            parameters = CallToolRequestParams(name="search", arguments=accepted(tool, arguments))
            # Not `client.call_tool`: it would apply the server's own schema to its answers.
            return await client.session.send_request(
                CallToolRequest(params=parameters),
                CallToolResult,
                progress_callback=self._progress(reporting.get()),
            )
        except TimeoutError:
            raise
        except Exception as error:  # noqa: BLE001 - parsing an answer may fail in any way
            if isinstance(error, UnusableError):
                _reject(link, error)
            if link.unusable or not (_is_lost(error) or link.ended.is_set()):
                self._tool = None  # so that the next question lists the tools again
                raise self.failure(trouble_of(error, link.http_error)) from None
        if self._client is client:
            self._client = None
        with anyio.move_on_after(REASON_TIMEOUT_S):
            await link.ended.wait()
        link.end("")
        if is_last or link.dropped or not may_repeat(tool):
            raise self.failure(Trouble(link.reason or CONNECTION_LOST, link.said))
        return None

    def _progress(self, report: Report | None) -> Any:
        """Return a callback that reports progress under the upstream's name, or None."""
        if report is None:
            return None

        async def callback(done: float, total: float | None, message: str | None) -> None:
            await report(done, total, f"{self.config.name}: {quoted(message)}" if message else "")

        return callback

    def _content(self, result: CallToolResult) -> Mapping[str, Any]:
        try:
            return content_of(result)
        except UpstreamError as error:
            raise self.invalid_answer(error) from None

    def invalid_answer(self, error: UpstreamError) -> UpstreamError:
        """Return the error for an invalid answer; the next question lists the tools again."""
        self._tool = None
        return self.failure(trouble_of(error))

    def record_answer(self, ignored: Counter[str]) -> None:
        """Record a valid answer and the parts of it that were ignored."""
        self._ignored += ignored
        self._link.received_bytes = 0
        self._failures = 0
        if self._failing_since:
            self._failing_since = ""
            self._on_change()

    def failure(self, trouble: Trouble) -> UpstreamError:
        """Record a failure and return its error."""
        self._fail(trouble)
        details = {SAID_FIELD: self._trouble.said} if self._trouble.said else None
        return UpstreamError(f"{self.config.name}: {self._trouble.why}.", details=details)

    def _fail(self, trouble: Trouble) -> None:
        """Record what went wrong, and since when."""
        why = " ".join(trouble.why.split()).rstrip(".")
        masked = Trouble(self._masked(why), self._masked(trouble.said))
        is_new = masked != self._trouble or not self._failing_since
        self._trouble = masked
        self._failing_since = self._failing_since or _now()
        if is_new:
            self._on_change()

    def _masked(self, text: str) -> str:
        text = self.config.masked(text)
        return text.replace(self._link.secret, MASK) if self._link.secret else text

    def _set_state(self, state: State) -> None:
        """Change the state, and wake the questions that wait for it."""
        self._state, self._since = state, _now()
        state_changed, self._state_changed = self._state_changed, anyio.Event()
        state_changed.set()
        self._on_change()


def pause_after(failures: int) -> float:
    """Return how long questions fail at once after this many consecutive failures, in seconds."""
    return min(MAX_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(failures - 2, 10)) if failures > 1 else 0.0


def _reject(link: Link, error: UnusableError) -> None:
    """End the connection to a server that cannot answer our questions."""
    link.unusable = True
    link.end(*trouble_of(error))


def _is_lost(error: Exception) -> bool:
    """Return whether a request failed because the connection was lost.

    Servers use the same code for their own errors; the SDK's messages tell them apart.
    """
    if isinstance(error, MCPError):
        is_from_sdk = error.message == "Connection closed" or error.message.startswith("SSE stream")
        return error.code == CONNECTION_CLOSED and is_from_sdk
    return isinstance(error, anyio.ClosedResourceError | anyio.BrokenResourceError)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
