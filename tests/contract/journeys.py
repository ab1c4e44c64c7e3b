"""Lead a session on the shop honestly from phase to phase by the shortest way."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from code_intel.index.facade import Index
from code_intel.learned.files.frames import SlotPairs
from code_intel.learned.learn import learn
from code_intel.records import Agreement, FileReference
from code_intel.session import journal
from code_intel.session.phases import Intent
from code_intel.tools.context.gateway import sessions_of
from projects import Caller
from served import settings_of

QUERY = "the login of the shop fails with an error page at night"
LOGIN, SERVICE = "AuthService.login", "src/auth/service.py"
SUPPOSED = f"{LOGIN} logs in"
FRAME = {
    "target_feature": {"value": "login", "quote": "login"},
    "observed_issue": {"value": "fails with an error page", "quote": "fails with an error page"},
    "trigger_condition": {"value": "at night", "quote": "at night"},
}
"""A frame of LOW risk under the demands of counts."""
QUOTE = "raise AuthenticationError(credentials.email)"
CLAIM = {"symbol": LOGIN, "explanation": "the login fails with an error here", "quote": QUOTE}
CONFIRMED = {
    "relevant_symbols": [LOGIN],
    "code_evidence": "login in service.py fails with an error page at night",
}


async def begin(call: Caller, intent: str = "MODIFY", query: str = QUERY) -> str:
    return str((await call("start_session", intent=intent, query=query))["session_id"])


async def unsearched(
    call: Caller,
    shop: Path,
    intent: str = "MODIFY",
    query: str = QUERY,
) -> str:
    """Begin a session in which nothing was searched or printed, as earlier versions did."""
    settings = settings_of(shop)
    begun = journal.create(sessions_of(settings), Intent(intent), query, demands=settings.demands)
    handle = begun.handle
    await call("get_session_status", session_id=handle)  # now the last session of the connection
    return handle


async def framed(call: Caller, intent: str = "MODIFY") -> str:
    session = await begin(call, intent)
    await call("set_query_frame", **FRAME)
    return session


async def look(call: Caller) -> None:
    """Call both required tools successfully."""
    for tool in ("find_definitions", "find_references"):
        await call(tool, symbol=LOGIN)


async def understand(call: Caller) -> dict[str, Any]:
    """Read the login, and submit it with a quote of its code."""
    await call("snippets_get", symbol=LOGIN)
    return await call("submit_understanding", symbols_identified=[CLAIM])


async def to_semantic(call: Caller) -> dict[str, Any]:
    """Submit nothing that the change rests on."""
    return await call("submit_understanding", symbols_identified=[])


async def to_verification(call: Caller) -> dict[str, Any]:
    await to_semantic(call)
    return await call(
        "submit_semantic", hypotheses=[SUPPOSED], devrag_reason="architecture_unknown"
    )


def answered(
    status: str = "confirmed", target: str = LOGIN, quote: str = QUOTE
) -> list[dict[str, Any]]:
    """Return an answer to the hypothesis; without a quote, it rests on a call alone."""
    evidence = {"tool": "find_definitions", "target": target, "result": "seen", "quote": quote}
    return [{"hypothesis": SUPPOSED, "status": status, "evidence": evidence}]


async def to_ready(call: Caller) -> dict[str, Any]:
    await to_verification(call)
    await call("find_definitions", symbol=LOGIN)
    await call("snippets_get", symbol=LOGIN)
    return await call("submit_verification", verified=answered())


def agree(
    shop: Path,
    term: str,
    symbol: str = LOGIN,
    aliases: tuple[str, ...] = (),
    frame: SlotPairs = (),
) -> None:
    """Add a confirmed agreement to the map and its index."""
    config = settings_of(shop)
    with Index(config.forest) as forest:
        (found,) = forest.store.definitions(symbol, exact=True, limit=2)
    place = FileReference(found.file, found.line)
    agreement = Agreement(term, symbol, ("It is.",), (place,), digest=found.digest, body=found.body)
    learn(config, replace(agreement, aliases=aliases, frame=frame), confirmed=True)
    with Index(config.map) as index:
        index.complete(words_only=True)
