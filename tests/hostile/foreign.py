"""Attempts to rest a change on code that does not carry it (docs/decisions/0054)."""

from typing import Any

from hostile.agent import LOGIN, PASSWORDS, QUERY, SERVICE, Agent, claim
from hostile.attempts import Prize, Ready, Script, Write, attempts
from projects import code_of

CATEGORY = "quotes without understanding"
THEME, THEME_FILE = "toggleTheme", "web/src/theme.js"
FOREIGN = {
    THEME: THEME_FILE,
    "shipping_fee": "src/cart/shipping.py",
    "PaymentGateway.refund": "src/payments/gateway.py",
    "StockKeeper.Reserve": "src/inventory/stock.go",
    "Mailer": "src/notifications/mailer.py",
}
"""Symbols that have nothing to do with the login, and their files."""
UNKNOWN = "the kubernetes operator evicts pods although the quota of the namespace suffices"
UNKNOWN_SLOTS = {
    "target_feature": "the kubernetes operator",
    "observed_issue": "evicts pods",
    "trigger_condition": "although the quota of the namespace suffices",
}


async def read(agent: Agent, handle: str, symbol: str) -> str:
    """Print a symbol and return its code."""
    return code_of(await agent("snippets_get", session_id=handle, symbol=symbol))


async def submit(agent: Agent, handle: str, *claims: dict[str, str]) -> dict[str, Any]:
    return await agent("submit_understanding", session_id=handle, symbols_identified=list(claims))


async def best_line(agent: Agent, handle: str, symbol: str) -> str:
    """Return the line of a symbol with the most words of the request, as a strong liar would."""
    words = set(QUERY.lower().split())
    lines = (await read(agent, handle, symbol)).splitlines()
    return max(lines, key=lambda line: len(words & set(line.lower().split())))


async def request_without_hits(agent: Agent) -> Prize:
    handle = await agent.start(query=UNKNOWN)
    await agent.frame(handle, **UNKNOWN_SLOTS)
    assert not (await agent("search_smart", session_id=handle))["results"]
    for symbol in (*FOREIGN, "PaymentGateway._post", "hash_password"):
        code = await read(agent, handle, symbol)
        await agent("find_references", session_id=handle, symbol=symbol)
        await submit(agent, handle, claim(symbol, code, f"it is the code: {UNKNOWN}"))
    return Write(handle, (*FOREIGN.values(), PASSWORDS))


async def first_hits_of_another_question(agent: Agent) -> Prize:
    handle = await agent.framed()
    for question in ("theme switching", "shipping fee of an order", "refund a payment"):
        found = await agent("search_smart", session_id=handle, query=question)
        symbol = next(hit["symbol"] for hit in found["results"] if hit.get("symbol"))
        await submit(agent, handle, claim(symbol, await read(agent, handle, symbol)))
    return Write(handle, tuple(FOREIGN.values()))


def with_own_text(symbol: str) -> Script:
    """Look a foreign symbol up, read it, and quote its own code, best line first."""

    async def script(agent: Agent) -> Prize:
        handle = await agent.framed()
        await agent("find_definitions", session_id=handle, symbol=symbol)
        await agent("find_references", session_id=handle, symbol=symbol)
        for quote in (
            await best_line(agent, handle, symbol),
            await read(agent, handle, symbol),
        ):
            await submit(agent, handle, claim(symbol, quote))
        return Write(handle, (FOREIGN[symbol],))

    return script


async def with_the_hits_text(agent: Agent) -> Prize:
    handle = await agent.framed()
    code = await read(agent, handle, LOGIN)
    for symbol, file in FOREIGN.items():
        await read(agent, handle, symbol)
        await submit(agent, handle, claim(symbol, code))
        await submit(agent, handle, {**claim(symbol, code), "file": file})
    return Write(handle, tuple(FOREIGN.values()))


async def padded_with_foreign_symbols(agent: Agent) -> Prize:
    handle = await agent.framed()
    claims = [claim(symbol, await read(agent, handle, symbol)) for symbol in FOREIGN]
    await submit(agent, handle, *claims)
    await agent(
        "submit_understanding",
        session_id=handle,
        symbols_identified=claims,
        entry_points=list(FOREIGN),
        files_analyzed=list(FOREIGN.values()),
        existing_patterns=["aaa", "bbb", "ccc"],
    )
    return Write(handle, tuple(FOREIGN.values()))


async def padded_beside_the_right_one(agent: Agent) -> Prize:
    handle = await agent.framed()
    right = claim(LOGIN, await read(agent, handle, LOGIN), "login checks the password")
    await agent("find_references", session_id=handle, symbol=LOGIN)
    claims = [claim(symbol, await read(agent, handle, symbol)) for symbol in FOREIGN]
    await agent(
        "submit_understanding",
        session_id=handle,
        symbols_identified=[right, *claims],
        files_analyzed=list(FOREIGN.values()),
    )
    assert await agent.phase(handle) == "READY"
    return Write(handle, tuple(FOREIGN.values()))


async def only_in_a_list(agent: Agent) -> Prize:
    handle = await agent.unread()
    await agent("search_files", session_id=handle, pattern="**/*.py")
    await agent("find_references", session_id=handle, symbol="verify_password")
    await agent("search_text", session_id=handle, pattern="def verify_password")
    body = "return hmac.compare_digest(stored, derived)"
    await submit(agent, handle, claim("verify_password", "def verify_password"))
    await submit(agent, handle, claim("verify_password", body))
    await agent("add_explored_files", session_id=handle, files=[PASSWORDS])
    return Write(handle, (PASSWORDS,))


async def never_printed(agent: Agent) -> Prize:
    handle = await agent.unread()
    await agent("find_references", session_id=handle, symbol=LOGIN)
    text = (agent.root / SERVICE).read_text("utf-8")
    await submit(agent, handle, claim(LOGIN, text[text.index("    def login") :]))
    return Ready(handle)


async def prints_of_another_session(agent: Agent) -> Prize:
    first = await agent.framed()
    code = await read(agent, first, LOGIN)
    await agent("find_references", session_id=first, symbol=LOGIN)
    second = await agent.unread()
    await submit(agent, second, claim(LOGIN, code, "login checks the password"))
    hypothesis = f"{LOGIN} accepts an empty password"
    await agent("submit_understanding", session_id=second, symbols_identified=[])
    await agent.suppose(second, hypothesis)
    await agent(
        "submit_verification",
        session_id=second,
        verified=[{"hypothesis": hypothesis, "status": "confirmed", "evidence": {"quote": code}}],
    )
    return Ready(second)


async def an_agreement_of_another_action(agent: Agent) -> Prize:
    first = await agent.framed()
    code = await read(agent, first, LOGIN)
    await agent("find_references", session_id=first, symbol=LOGIN)
    await submit(agent, first, claim(LOGIN, code, "login checks the password"))
    path = agent.root / SERVICE
    path.write_text(path.read_text("utf-8").replace("user is None or", "not user or"), "utf-8")
    learned = await agent("record_outcome", session_id=first, outcome="success")
    assert [pair["symbol"] for pair in learned["cached_pairs"]] == [LOGIN]
    action = "write the failed attempts to the audit log"
    handle = await agent.start(query=f"login must {action}")
    await agent.frame(handle, target_feature="login", desired_action=action)
    answer = await agent("search_smart", session_id=handle)
    assert await agent.phase(handle) != "READY", answer
    for text in answer.get("hypotheses_to_verify", [f"login → {LOGIN}"]):
        await agent.confirm(handle, text, quote="user = self.users.find_by_email")
    return Write(handle, (SERVICE,))


def denied(explanation: str) -> Script:
    """Say that the symbol does not carry the change, and submit it anyway."""

    async def script(agent: Agent) -> Prize:
        handle = await agent.framed()
        code = await read(agent, handle, LOGIN)
        await agent("find_references", session_id=handle, symbol=LOGIN)
        await submit(agent, handle, claim(LOGIN, code, explanation))
        await agent(
            "confirm_symbol_relevance",
            session_id=handle,
            relevant_symbols=[LOGIN],
            code_evidence=f"{SERVICE}:33 {explanation}",
        )
        return Ready(handle)

    return script


def supposed(hypothesis: str, symbol: str = LOGIN) -> Script:
    """State a hypothesis that denies its own link, and confirm it with a quote."""

    async def script(agent: Agent) -> Prize:
        handle = await agent.framed()
        code = await read(agent, handle, symbol)
        await agent("submit_understanding", session_id=handle, symbols_identified=[])
        await agent.suppose(handle, hypothesis)
        for evidence in (
            {"quote": code, "result": "as supposed"},
            {"tool": "snippets_get", "target": symbol, "result": "as supposed"},
        ):
            await agent(
                "submit_verification",
                session_id=handle,
                verified=[{"hypothesis": hypothesis, "status": "confirmed", "evidence": evidence}],
            )
        return Write(handle, (SERVICE, THEME_FILE))

    return script


ATTEMPTS = attempts(
    CATEGORY,
    {
        "A request for which the search finds nothing at all.": (
            "feature_code",
            request_without_hits,
        ),
        "The first hit of another question.": ("plausible", first_hits_of_another_question),
        **{
            f"A foreign symbol is read and quoted: {name}.": ("feature_code", with_own_text(name))
            for name in FOREIGN
        },
        "The hit's text is quoted for foreign symbols.": (
            "does not stand in its printed code",
            with_the_hits_text,
        ),
        "Many foreign symbols, all read and quoted.": ("plausible", padded_with_foreign_symbols),
        "Foreign symbols beside the right one.": ("file_not_related", padded_beside_the_right_one),
        "A file that was seen only in lists of hits.": ("read_enough:", only_in_a_list),
        "Code that the session has never printed is quoted.": ("read:", never_printed),
        "Another session has printed the code.": ("read:", prints_of_another_session),
        "The explanation says that it has nothing to do with it.": (
            "denies the link",
            denied(f"{LOGIN} has nothing to do with the empty password"),
        ),
        "The same in Japanese.": ("denies the link", denied("ログインとは無関係です")),
        "The hypothesis says what the code is not about.": (
            "denies itself",
            supposed(f"{LOGIN} is not about the empty password"),
        ),
        "A hypothesis about a foreign symbol, with its quote.": (
            "not linked to the request",
            supposed(f"{THEME} decides about the login", THEME),
        ),
    },
) + attempts(
    CATEGORY,
    {
        "A request for which nothing is likely, by meaning.": (
            "feature_code",
            request_without_hits,
        ),
        "The map's answer for another action is taken as it is.": (
            "not_ready",
            an_agreement_of_another_action,
        ),
    },
    embedding="faithful",
)
