"""Drive whole sessions on the shop as agents do: ask, verify, change a file, report."""

import re
from pathlib import Path
from typing import Any

from projects import Caller, code_of

LOGIN, LOGIN_FILE = "AuthService.login", "src/auth/service.py"
FEE, FEE_FILE = "shipping_fee", "src/cart/shipping.py"


def change(shop: Path, file: str) -> None:
    """Change the code of each function of a Python file that returns something."""
    path = shop / file
    text = path.read_text(encoding="utf-8")
    changed = re.sub(r"^( +)return ", rf"\1assert {len(text)}\n\1return ", text, flags=re.MULTILINE)
    assert changed != text
    path.write_text(changed, encoding="utf-8")


async def start(call: Caller, feature: str, intent: str = "MODIFY") -> str:
    """Start a session with enough slots for a low risk; return its handle.

    Its slots say nothing by which requests differ; see `start_whole`.
    """
    query = f"{feature} を見直す時に動作のバグ"
    session = await call("start_session", intent=intent, query=query)
    await call(
        "set_query_frame",
        target_feature={"value": feature, "quote": feature},
        trigger_condition={"value": "見直す時", "quote": "見直す時"},
        observed_issue={"value": "動作のバグ", "quote": "動作のバグ"},
    )
    return str(session["session_id"])


async def ask_whole(call: Caller, feature: str, trigger: str, action: str) -> dict[str, Any]:
    """Start a session whose other slots have content, and call search_smart."""
    await start_whole(call, feature, trigger, action)
    return await call("search_smart")


async def start_whole(call: Caller, feature: str, trigger: str, action: str) -> str:
    """Start a session whose other slots have content; return its handle."""
    query = f"{feature}: {trigger} {action} (動作のバグ)"
    session = await call(
        "start_session",
        intent="MODIFY",
        query=query,
        target_feature={"value": feature, "quote": feature},
        trigger_condition={"value": trigger, "quote": trigger},
        observed_issue={"value": "動作のバグ", "quote": "動作のバグ"},
        desired_action={"value": action, "quote": action},
    )
    return str(session["session_id"])


async def verify(call: Caller, symbol: str, file: str, status: str = "confirmed") -> str:
    """Read the symbol and answer all hypotheses; return the next phase."""
    hypotheses = (await call("get_session_status"))["semantic"]["hypotheses"]
    await call("find_definitions", symbol=symbol)
    evidence = {"tool": "find_definitions", "target": symbol, "result": "seen", "files": [file]}
    if status == "confirmed":
        evidence["quote"] = code_of(await call("snippets_get", symbol=symbol, path=file))
    answers = [{"hypothesis": text, "status": status, "evidence": evidence} for text in hypotheses]
    return str((await call("submit_verification", verified=answers))["next_phase"])


async def claim(call: Caller, symbol: str) -> None:
    """Look up a symbol and confirm that it implements the feature."""
    await call("find_definitions", symbol=symbol)
    await call(
        "confirm_symbol_relevance", relevant_symbols=[symbol], code_evidence=f"{symbol} is it"
    )


async def explore(call: Caller, symbol: str, file: str) -> None:
    """Lead a session to READY after a map miss, with a quote of the symbol's code."""
    await call("search_smart")
    quote = code_of(await call("snippets_get", symbol=symbol, path=file))
    claimed = {"symbol": symbol, "file": file, "explanation": f"{symbol} is it.", "quote": quote}
    await call("submit_understanding", symbols_identified=[claimed])


async def succeed(call: Caller, shop: Path, file: str) -> dict[str, Any]:
    """Change a file and report success."""
    change(shop, file)
    return await call("record_outcome", outcome="success")


async def learn(call: Caller, shop: Path, feature: str, symbol: str, file: str) -> dict[str, Any]:
    """Lead a session from its start to a learned agreement."""
    await start(call, feature)
    await explore(call, symbol, file)
    return await succeed(call, shop, file)


async def ask(call: Caller, feature: str, intent: str = "MODIFY") -> dict[str, Any]:
    """Start a session and call search_smart."""
    await start(call, feature, intent)
    return await call("search_smart")


async def score(call: Caller, words: str, symbol: str) -> float:
    """Return the map's score of a symbol for a query."""
    hits = (await call("search_map", query=words))["results"]
    scores = [hit["score"] for hit in hits if hit.get("agreement", {}).get("symbol") == symbol]
    return max(scores, default=0.0)
