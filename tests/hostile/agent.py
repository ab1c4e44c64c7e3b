"""Play an agent that asks for more than it has earned, and record refusals."""

import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from code_intel.session import journal
from code_intel.session.phases import Intent
from code_intel.tools.context.gateway import sessions_of
from code_intel.tools.table import GATEWAY_TOOLS
from projects import Caller, code_of, complete_answer
from served import gateway, settings_of
from shop_sessions import change

Connect = Callable[[Path], AbstractAsyncContextManager[Caller]]
TOOLS = tuple(tool.name for tool in GATEWAY_TOOLS)
_NAMED = re.compile(rf"\b(?:{'|'.join(sorted(TOOLS, key=len, reverse=True))})\b")

LOGIN, SERVICE = "AuthService.login", "src/auth/service.py"
VERIFY, PASSWORDS = "verify_password", "src/auth/passwords.py"
ERROR = "AuthenticationError"
QUERY = "login accepts an empty password when the form is sent. ログインできないときエラーが出ない"
SLOTS = {
    "target_feature": "login",
    "observed_issue": "accepts an empty password",
    "trigger_condition": "when the form is sent",
}
LINK = " ".join(SLOTS.values())
"""A sentence with every word of the request."""
LINES = {
    LOGIN: "if user is None or not verify_password(credentials.password, user.password_hash):",
    VERIFY: "def verify_password(password: str, stored: str) -> bool:",
    ERROR: "class AuthenticationError(Exception):",
}
"""A line of the code of each symbol."""


def claim(symbol: str, quote: str = "", explanation: str = LINK, file: str = "") -> dict[str, str]:
    """Return a claim with everything that its form demands."""
    return {
        "symbol": symbol,
        "explanation": explanation,
        "quote": quote or LINES.get(symbol, LINES[LOGIN]),
        "file": file,
    }


class Refusal(NamedTuple):
    """An answer that gave less than requested.

    Attributes:
        tool: The tool that was called.
        advice: The next step that the answer names.
        allowed: The tools that were allowed right after it.
        reasons: The errors, unmet demands and guards that the answer names.
    """

    tool: str
    advice: str
    allowed: frozenset[str]
    reasons: frozenset[str]

    @property
    def names_a_legal_step(self) -> bool:
        """Return whether the first tool it names is allowed now.

        Correcting an argument is a new call.
        """
        named = _NAMED.findall(self.advice) or [self.tool] * ("again" in self.advice)
        return bool(named) and named[0] in self.allowed


@dataclass
class Agent:
    """A client that can restart its own gateway.

    Attributes:
        root: The project.
        connect: Starts a server for a project and connects to it.
        refusals: The refusals so far, in order.
    """

    root: Path
    connect: Connect = gateway
    refusals: list[Refusal] = field(default_factory=list)
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    _caller: Caller | None = None

    @property
    def sessions(self) -> Path:
        return self.root / ".code-intel" / "sessions"

    async def restart(self) -> None:
        """End the server and start another on the same files."""
        await self._stack.aclose()
        self._caller = await self._stack.enter_async_context(self.connect(self.root))

    async def close(self) -> None:
        """End the server."""
        await self._stack.aclose()

    async def __call__(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool; record a refusal and return it like an answer."""
        answer, failed = await self.ask(tool, **arguments)
        advice = _advice(tool, answer, failed=failed)
        if advice is not None:
            handle = arguments.get("session_id")
            allowed, reasons = await self._allowed(handle), frozenset(_reasons(tool, answer))
            self.refusals.append(Refusal(tool, advice, allowed, reasons))
        return answer

    async def ask(self, tool: str, **arguments: Any) -> tuple[dict[str, Any], bool]:
        """Call a tool; return its answer, and whether that is an error."""
        assert self._caller is not None
        result = await self._caller.client.call_tool(tool, arguments)
        assert result.structured_content is not None
        if result.is_error:
            return dict(result.structured_content), True
        return complete_answer(tool, result), False

    async def _allowed(self, handle: object) -> frozenset[str]:
        status, failed = await self.ask("get_session_status", session_id=handle)
        return frozenset({"start_session"} if failed else status["allowed_tools"])

    async def phase(self, handle: str) -> str:
        """Return the phase of a session, or the error that keeps it from being used."""
        status, failed = await self.ask("get_session_status", session_id=handle)
        return str(status["error"] if failed else status["current_phase"])

    async def may_write(self, handle: str, file: str) -> bool:
        """Return whether the session may write a file."""
        return bool(
            (await self("check_write_target", session_id=handle, file_path=file)).get("allowed")
        )

    async def start(self, intent: str = "MODIFY", query: str = QUERY) -> str:
        """Begin a session without a frame."""
        return str((await self("start_session", intent=intent, query=query))["session_id"])

    async def framed(self, *slots: str, intent: str = "MODIFY") -> str:
        """Begin a session with the named slots, by default all three that the query has."""
        handle = await self.start(intent)
        await self.frame(handle, **{name: SLOTS[name] for name in slots or SLOTS})
        return handle

    async def frame(self, handle: str, **slots: str) -> dict[str, Any]:
        """Set slots whose values are their quotes."""
        given = {name: {"value": words, "quote": words} for name, words in slots.items()}
        return await self("set_query_frame", session_id=handle, **given)

    async def unread(self, intent: str = "MODIFY", query: str = QUERY) -> str:
        """Begin a framed session that has printed nothing, as earlier versions did."""
        paths = sessions_of(settings_of(self.root))
        handle = str(journal.create(paths, Intent(intent), query, demands="evidence").handle)
        if query == QUERY:
            await self.frame(handle, **SLOTS)
        return handle

    async def look(self, handle: str, symbol: str = LOGIN) -> str:
        """Read a symbol and its uses as an honest agent would; return its code."""
        shown = await self("snippets_get", session_id=handle, symbol=symbol)
        await self("find_definitions", session_id=handle, symbol=symbol)
        await self("find_references", session_id=handle, symbol=symbol)
        return code_of(shown) if "lines" in shown else ""

    async def submit(self, handle: str, *claims: Any, **other: Any) -> dict[str, Any]:
        """Submit claims, by default the one of an honest agent."""
        given = {"symbols_identified": list(claims or [claim(LOGIN)])} | other
        return await self("submit_understanding", session_id=handle, **given)

    async def ready(self, intent: str = "MODIFY") -> str:
        """Earn READY honestly."""
        handle = await self.framed(intent=intent)
        await self.look(handle)
        await self.submit(handle)
        assert await self.phase(handle) == "READY", self.refusals
        return handle

    async def semantic(self, *, frame: bool = True) -> str:
        """Reach SEMANTIC with an empty submission."""
        handle = await self.framed() if frame else await self.start()
        await self.look(handle)
        await self.submit(handle, symbols_identified=[])
        assert await self.phase(handle) == "SEMANTIC"
        return handle

    async def verification(self, *hypotheses: str) -> str:
        """Reach VERIFICATION with hypotheses, by default one about the login."""
        handle = await self.semantic()
        await self.suppose(handle, *(hypotheses or (f"{LOGIN} accepts an empty password",)))
        assert await self.phase(handle) == "VERIFICATION"
        return handle

    async def suppose(
        self, handle: str, *hypotheses: str, reason: str = "architecture_unknown"
    ) -> dict[str, Any]:
        return await self(
            "submit_semantic", session_id=handle, hypotheses=list(hypotheses), devrag_reason=reason
        )

    async def confirm(
        self,
        handle: str,
        *hypotheses: str,
        tool: str = "find_definitions",
        target: str = LOGIN,
        result: str = "it is as supposed",
        status: str = "confirmed",
        files: tuple[str, ...] = (SERVICE,),
        quote: str = "",
    ) -> dict[str, Any]:
        """Settle hypotheses by a call, or by a quote; by default the one of `verification`."""
        call = {"tool": tool, "target": target, "result": result, "files": list(files)}
        evidence = {"quote": quote, "result": result} if quote else call
        texts = hypotheses or (f"{LOGIN} accepts an empty password",)
        verified = [{"hypothesis": text, "status": status, "evidence": evidence} for text in texts]
        return await self("submit_verification", session_id=handle, verified=verified)

    def edit(self, file: str = SERVICE) -> None:
        """Change the code of the functions in a Python file."""
        change(self.root, file)


def _advice(tool: str, answer: dict[str, Any], *, failed: bool) -> str | None:
    """Return the advice of an answer that gave less than requested."""
    if failed:
        field = " again" if "field" in answer else ""
        return f"{answer['hint']}{field}"
    if tool == "check_write_target" and not answer["allowed"]:
        return f"{answer['hint']} again"
    rejected = tool == "submit_verification" and answer["next_phase"] == "EXPLORATION"
    if answer.get("missing_requirements") or answer.get("guards") or rejected:
        keys = ("hint", "next_action", "next_step")
        return next((str(answer[key]) for key in keys if answer.get(key)), "") or answer["message"]
    if tool == "record_outcome" and not answer.get("cached_pairs"):
        return f"{answer['note']} again"
    return None


def _reasons(tool: str, answer: dict[str, Any]) -> Iterator[str]:
    """Yield what an answer names as the reasons for which it gave less than requested."""
    yield from filter(None, [answer.get("error"), answer.get("warning")])
    for key in ("missing_requirements", "consistency_errors", "left_out"):
        yield from answer.get(key) or ()
    yield from answer.get("guards") or ()
    for item in answer.get("validation_errors") or ():
        yield item["error"]
    if tool == "record_outcome" and not answer.get("cached_pairs"):
        yield "nothing learned"


@asynccontextmanager
async def hostile(root: Path, connect: Connect = gateway) -> AsyncIterator[Agent]:
    """Connect an agent, by default to a server in this process."""
    agent = Agent(root, connect)
    try:
        await agent.restart()
        yield agent
    finally:
        await agent.close()
