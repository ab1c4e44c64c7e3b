"""The client side: one supervised connection to whatever answers for map or forest.

Each upstream has one task that enters and leaves its client, as the SDK demands; callers only await. It
is connected at the first question and connected again when it was lost, at growing distances; a question
never waits longer than its own limit. docs/decisions/0018 has the reasons.
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

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
from code_intel.config.upstreams import MASK
from code_intel.errors import UpstreamError
from code_intel.records import UpstreamStatus
from code_intel.servers.upstream_answer import content_of
from code_intel.servers.upstream_check import RefusedError, arguments_for, search_tool
from code_intel.servers.upstream_health import Health, State
from code_intel.servers.upstream_wire import Transport, Wire
from code_intel.servers.upstream_words import Trouble, quoted, trouble_of
from code_intel.tools.declaration import Report

BRIEF = 1.0
"""Seconds for which a question waits for an attempt to start what has failed again and again."""
PROBE = 2.0
"""Seconds within which a server that missed a question must at least say what it can do."""
TELLING = 0.3
"""Seconds to learn why a connection was lost."""

LOST = "the connection was lost"

# What strangers do wrong stands in the status; the SDK writes a traceback that quotes them.
logging.getLogger("mcp.client").setLevel(logging.CRITICAL)

reporting: ContextVar[Report | None] = ContextVar("reporting", default=None)
"""Where progress of the call being served goes."""


@dataclass(frozen=True)
class Target:
    """What an upstream connects to.

    Attributes:
        name: `devrag-map` or `devrag-forest`.
        where: What may be shown of it.
        open: Makes the transport of a connection.
        start_seconds: Seconds a start may take.
        call_seconds: Seconds a question may take, waiting for the start included.
        problem: Why it cannot be used at all, or empty.
        masked: Takes secrets out of a text.
    """

    name: str
    where: str
    open: Callable[[Wire], Transport]
    start_seconds: float
    call_seconds: float
    problem: str = ""
    masked: Callable[[str], str] = str


class Upstream:
    """One index server, kept connected while `own` runs."""

    def __init__(self, target: Target, changed: Callable[[], None] = lambda: None) -> None:
        self.target = target
        self._health = Health(target.name, target.where, self._masked, changed)
        self._legacy = False
        self._client: Client | None = None
        self._wire = Wire()
        self._tool: Tool | None = None
        self._suspected = anyio.Event()

    @property
    def status(self) -> UpstreamStatus:
        """How it is doing now."""
        return self._health.status(self._wire.ignored)

    def _masked(self, text: str) -> str:
        text = self.target.masked(text)
        return text.replace(self._wire.secret, MASK) if self._wire.secret else text

    async def own(self) -> None:
        """Connect at the first question, and again whenever that was lost, until cancelled."""
        if self.target.problem:
            self._health.trouble(self.target.problem)
            self._health.say("failed")
            await anyio.sleep_forever()
        await self._health.wanted.wait()
        while True:
            state: State = "backoff"
            self._health.say("starting")
            try:
                trouble = await self._connection()
            except RefusedError as refusal:
                trouble, state = trouble_of(refusal), "failed"
            await self._health.pause(state, *trouble)

    async def _connection(self) -> Trouble:
        """Connect, serve until it ends, and return why."""
        wire = self._wire = Wire()
        refusal: RefusedError | None = None
        reached, trouble = False, Trouble(LOST)
        try:
            with anyio.CancelScope() as starting:
                starting.deadline = anyio.current_time() + self.target.start_seconds
                async with self._new_client(wire) as client:
                    try:
                        self._tool = await search_tool(client)
                        starting.deadline = float("inf")
                        reached, self._client = True, client
                        self._health.say("ready")
                        await self._watch(client, wire)
                    except RefusedError as found:
                        refusal = found
                    finally:
                        self._client = None
            if starting.cancelled_caught:
                trouble = Trouble(f"it did not start within {self.target.start_seconds:g} s")
        except Exception as failure:  # noqa: BLE001 - whatever a stranger does ends here, as a status
            trouble = trouble_of(failure, wire.note)
        self._health.ignored += wire.ignored
        wire.ignored.clear()
        if not reached and refusal is None:
            # Some servers end, or never answer, when asked for what they do not know.
            self._legacy = not self._legacy
        if refusal is not None:
            raise refusal
        return Trouble(wire.reason, wire.said) if wire.reason else trouble

    def _new_client(self, wire: Wire) -> Client:
        return Client(
            self.target.open(wire),
            mode="legacy" if self._legacy else "auto",
            client_info=Implementation(name="code-intel", version=__version__),
            cache=None,
        )

    async def _watch(self, client: Client, wire: Wire) -> None:
        """Stay until the connection ends; look again at a server that answered badly.

        Raises:
            RefusedError: It has become of no use.
        """
        while not wire.ended.is_set():
            self._suspected = anyio.Event()
            await _either(wire.ended, self._suspected)
            if not wire.ended.is_set():
                with anyio.move_on_after(PROBE) as probe:
                    self._tool = await search_tool(client)
                if probe.cancelled_caught:
                    wire.end("it no longer answers")

    async def ask(self, arguments: Mapping[str, Any]) -> tuple[Mapping[str, Any], tuple[str, ...]]:
        """Call its `search`.

        Returns:
            What it answered, and the names of arguments that it does not take and was not sent.

        Raises:
            UpstreamError: It refused, or did not answer in time.
        """
        self._health.asked()
        asked: Wire | None = None
        try:
            with anyio.fail_after(self.target.call_seconds):
                for last in (False, True):
                    client = await self._connected()
                    asked = self._wire
                    assert self._tool is not None  # noqa: S101 - a client has been looked at
                    fitting, left_out = arguments_for(self._tool, arguments)
                    result = await self._call(client, asked, fitting, last=last)
                    if result is not None:
                        return self._read(result), left_out
        except TimeoutError:
            seconds = f"{self.target.call_seconds:g} s"
            if asked is None:
                raise self._health.failure(f"it was still starting after {seconds}") from None
            if self._health.missed():
                asked.end("it left several questions in a row unanswered")
            self._suspected.set()
            raise self._health.failure(f"it did not answer within {seconds}") from None
        raise AssertionError  # the last attempt returns or raises

    async def _connected(self) -> Client:
        """Return the client; wait for it, but not for one that has failed again and again."""
        if self.target.problem:
            raise self._health.failure(self.target.problem)
        while (client := self._client) is None:
            self._health.wanted.set()
            hopeless = self._health.hopeless
            if hopeless and self._health.state in {"backoff", "failed"}:
                raise self._health.failure(self._health.error, self._health.said)
            with anyio.move_on_after(BRIEF if hopeless else None) as waiting:
                await self._health.moved.wait()
            if waiting.cancelled_caught:
                raise self._health.failure(self._health.error, self._health.said)
        return client

    async def _call(
        self, client: Client, wire: Wire, arguments: dict[str, Any], *, last: bool
    ) -> CallToolResult | None:
        """Send one request; None when the connection was lost and it may be sent again."""
        parameters = CallToolRequestParams(name="search", arguments=arguments)
        try:
            # Not call_tool: it would run the schema a stranger sent us over what he answers.
            return await client.session.send_request(
                CallToolRequest(params=parameters),
                CallToolResult,
                progress_callback=self._progress(reporting.get()),
            )
        except TimeoutError:
            raise
        except Exception as error:  # noqa: BLE001 - an answer may fail to be read in any way
            if not _is_lost(error) and not wire.ended.is_set():
                self._suspected.set()
                raise self._health.failure(*trouble_of(error, wire.note)) from None
        if self._client is client:
            self._client = None
        with anyio.move_on_after(TELLING):
            await wire.ended.wait()
        wire.end("")
        if last or wire.dropped or not _may_repeat(self._tool):
            raise self._health.failure(wire.reason or LOST, wire.said)
        return None

    def _progress(self, report: Report | None) -> Any:
        """Return a callback that passes progress on, in the name of whoever makes it; or None."""
        if report is None:
            return None

        async def callback(done: float, total: float | None, message: str | None) -> None:
            await report(done, total, f"{self.target.name}: {quoted(message)}" if message else "")

        return callback

    def _read(self, result: CallToolResult) -> Mapping[str, Any]:
        try:
            content = content_of(result)
        except UpstreamError as error:
            raise self.useless(error) from None
        self._health.answered()
        return content

    def useless(self, error: UpstreamError) -> UpstreamError:
        """Return the error for an answer that cannot be used; after several it is looked at again."""
        if self._health.refused():
            self._suspected.set()
        why, said = trouble_of(error)
        return self._health.failure(why, said)

    def ignore(self, found: Counter[str]) -> None:
        """Count what of an answer could not be believed."""
        self._health.ignored += found


async def _either(*events: anyio.Event) -> None:
    """Wait until one of the events is set."""
    async with anyio.create_task_group() as group:

        async def wait(event: anyio.Event) -> None:
            await event.wait()
            group.cancel_scope.cancel()

        for event in events:
            group.start_soon(wait, event)


def _is_lost(error: Exception) -> bool:
    """Whether an error of a request means that there is no connection any more.

    The code alone does not tell: servers use it for errors of their own. The SDK's words do.
    """
    if isinstance(error, MCPError):
        ours = error.message == "Connection closed" or error.message.startswith("SSE stream")
        return error.code == CONNECTION_CLOSED and ours
    return isinstance(error, anyio.ClosedResourceError | anyio.BrokenResourceError)


def _may_repeat(tool: Tool | None) -> bool:
    """Whether a tool says of itself that calling it twice does no harm."""
    hints = tool.annotations if tool is not None else None
    return hints is not None and bool(hints.read_only_hint or hints.idempotent_hint)
