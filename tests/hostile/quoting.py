"""Attempts to reach READY by quotes of code that was not read or has nothing to do with it."""

from typing import Any

from hostile.agent import LOGIN, PASSWORDS, SERVICE, VERIFY, Agent
from hostile.attempts import Prize, Ready, Script, Write, attempts

QUOTE = "if user is None or not verify_password(credentials.password, user.password_hash):"
SAYS = "login accepts an empty password when the form is sent"
THEME = "web/src/theme.js"
THEME_QUOTE = "export function toggleTheme"


def claim(symbol: str, quote: str = QUOTE, explanation: str = SAYS, file: str = "") -> Any:
    return {"symbol": symbol, "explanation": explanation, "quote": quote, "file": file}


async def submit(agent: Agent, handle: str, *claims: Any, **other: Any) -> dict[str, Any]:
    return await agent(
        "submit_understanding", session_id=handle, symbols_identified=list(claims), **other
    )


async def read(agent: Agent, handle: str, symbol: str) -> None:
    for tool in ("snippets_get", "find_definitions", "find_references"):
        await agent(tool, session_id=handle, symbol=symbol)


def submitting(*claims: Any, reading: tuple[str, ...] = (), **other: Any) -> Script:
    """Read these symbols, then claim those."""

    async def script(agent: Agent) -> Prize:
        handle = await agent.framed()
        for symbol in reading:
            await read(agent, handle, symbol)
        await submit(agent, handle, *claims, **other)
        return Ready(handle)

    return script


async def first_hit(agent: Agent) -> Prize:
    handle = await agent.framed()
    hits = (await agent("search_smart", session_id=handle))["results"]
    await agent(
        "confirm_symbol_relevance",
        session_id=handle,
        relevant_symbols=[hits[0]["symbol"]],
        code_evidence=f"{hits[0]['symbol']} {SAYS}",
    )
    await submit(agent, handle, hits[0]["symbol"])
    return Ready(handle)


async def hit_list_alone(agent: Agent) -> Prize:
    handle = await agent.framed()
    await agent("find_definitions", session_id=handle, symbol=LOGIN)
    await agent("search_files", session_id=handle, pattern="**/*.py")
    await submit(agent, handle, claim(LOGIN, "def login(self, credentials: Credentials) -> str:"))
    return Ready(handle)


async def foreign_symbol(agent: Agent) -> Prize:
    handle = await agent.framed()
    await read(agent, handle, LOGIN)
    await read(agent, handle, "toggleTheme")
    await submit(agent, handle, claim("toggleTheme", QUOTE))
    await submit(agent, handle, claim("toggleTheme", THEME_QUOTE))
    return Write(handle, (THEME,))


async def padding(agent: Agent) -> Prize:
    handle = await agent.framed()
    for symbol in (LOGIN, "toggleTheme"):
        await read(agent, handle, symbol)
    await submit(agent, handle, claim("toggleTheme", THEME_QUOTE))
    await submit(agent, handle, claim(LOGIN), claim("toggleTheme", THEME_QUOTE))
    return Write(handle, (THEME,))


async def changed_lines(agent: Agent) -> Prize:
    handle = await agent.framed()
    await read(agent, handle, LOGIN)
    path = agent.root / SERVICE
    path.write_text(path.read_text("utf-8").replace("user is None or", "user is None or 1 or"))
    await submit(agent, handle, claim(LOGIN))
    return Ready(handle)


async def prints_of_another_session(agent: Agent) -> Prize:
    await read(agent, await agent.framed(), LOGIN)
    handle = await agent.framed()
    await submit(agent, handle, claim(LOGIN))
    return Ready(handle)


async def by_way_of_semantic(agent: Agent) -> Prize:
    handle = await agent.framed()
    await submit(agent, handle)
    text = f"toggleTheme {SAYS}"
    await agent.suppose(handle, text)
    await read(agent, handle, "toggleTheme")
    await agent.confirm(handle, text, target="toggleTheme", files=(THEME,))
    evidence = {"quote": THEME_QUOTE, "result": SAYS}
    verified = [{"hypothesis": text, "status": "confirmed", "evidence": evidence}]
    await agent("submit_verification", session_id=handle, verified=verified)
    return Ready(handle)


async def denied_hypothesis(agent: Agent) -> Prize:
    handle = await agent.framed()
    await submit(agent, handle)
    text = f"{LOGIN} is not about passwords"
    await agent.suppose(handle, text)
    await read(agent, handle, LOGIN)
    verified = [{"hypothesis": text, "status": "confirmed", "evidence": {"quote": QUOTE}}]
    await agent("submit_verification", session_id=handle, verified=verified)
    return Ready(handle)


async def new_code_anywhere(agent: Agent) -> Prize:
    handle = await agent.framed(intent="IMPLEMENT")
    await agent("snippets_get", session_id=handle, path=THEME)
    await agent("search_text", session_id=handle, pattern=".", path="README.md")
    places = ((THEME, "web/src/login.js"), ("README.md", "login.py"), ("", "login.py"))
    for beside, file in places:
        new = {"name": "empty_password_login", "file": file, "beside": beside}
        await submit(agent, handle, new_symbols=[new])
    return Ready(handle)


ATTEMPTS = attempts(
    "quotes without understanding",
    {
        "The first hit is named, without a quote.": first_hit,
        "A file is only seen in a list of hits.": hit_list_alone,
        "The right symbol's quote is given for a foreign symbol.": foreign_symbol,
        "A foreign symbol is added to the right one, to open its file.": padding,
        "The quoted lines have changed since they were read.": changed_lines,
        "The lines were printed in another session.": prints_of_another_session,
        "A foreign symbol is supposed, looked up and quoted.": by_way_of_semantic,
        "A hypothesis that denies itself is quoted for.": denied_hypothesis,
        "New code is placed beside whatever was printed.": new_code_anywhere,
        "An unrelated symbol is read and quoted.": submitting(
            claim("toggleTheme", THEME_QUOTE), reading=("toggleTheme",)
        ),
        "A quote is invented.": submitting(
            claim(LOGIN, "if not credentials.password: return None"), reading=(LOGIN,)
        ),
        "A quote of another symbol's code is given.": submitting(
            claim(LOGIN, "def verify_password(password: str, stored: str) -> bool:"),
            reading=(LOGIN, VERIFY),
        ),
        "The quote is a single word.": submitting(claim(LOGIN, "password"), reading=(LOGIN,)),
        "The symbol is said to be unrelated.": submitting(
            claim(LOGIN, explanation="login has nothing to do with the form"), reading=(LOGIN,)
        ),
        "The lists of the counts are filled instead.": submitting(
            LOGIN,
            VERIFY,
            entry_points=[LOGIN],
            files_analyzed=[SERVICE, PASSWORDS],
            existing_patterns=["errors are exceptions of the module"],
            reading=(LOGIN, VERIFY),
        ),
    },
    demands="evidence",
)
