"""Attempts to reach READY by quotes of code that does not stand there."""

from typing import Any

from hostile.agent import LINES, LOGIN, PASSWORDS, SERVICE, VERIFY, Agent, claim
from hostile.attempts import Prize, Ready, Script, Write, attempts

THEME = "web/src/theme.js"
SUPPOSED = f"{LOGIN} accepts an empty password"


def submitting(*claims: Any, **other: Any) -> Script:
    """Read the login, then claim it with these quotes."""

    async def script(agent: Agent) -> Prize:
        handle = await agent.framed()
        for symbol in (LOGIN, VERIFY):
            await agent.look(handle, symbol)
        await agent.submit(handle, *claims, **other)
        return Ready(handle)

    return script


def change_login(agent: Agent) -> None:
    path = agent.root / SERVICE
    text = path.read_text("utf-8").replace("user is None or", "user is None or 1 or")
    path.write_text(text, encoding="utf-8")


async def changed_lines(agent: Agent) -> Prize:
    handle = await agent.framed()
    await agent.look(handle)
    change_login(agent)
    changed = LINES[LOGIN].replace("user is None or", "user is None or 1 or")
    for quote in (LINES[LOGIN], changed, "return self.tokens.issue(user.id)"):
        await agent.submit(handle, claim(LOGIN, quote))
    return Ready(handle)


async def changed_lines_in_verification(agent: Agent) -> Prize:
    handle = await agent.verification()
    change_login(agent)
    changed = LINES[LOGIN].replace("user is None or", "user is None or 1 or")
    for quote in (LINES[LOGIN], changed):
        await agent.confirm(handle, quote=quote)
    return Ready(handle)


def quoting(symbol: str, quote: str, *hypotheses: str) -> Script:
    """Read a symbol in VERIFICATION and quote this for the hypotheses."""

    async def script(agent: Agent) -> Prize:
        handle = await agent.verification(*(hypotheses or (SUPPOSED,)))
        await agent.look(handle, symbol)
        await agent.confirm(handle, *hypotheses, quote=quote)
        return Ready(handle)

    return script


async def refused_quote_by_way_of_semantic(agent: Agent) -> Prize:
    rows = "".join(f"    total = total + sizes[{number}]\n" for number in range(60))
    added = f"\n\ndef margins(sizes, total):\n{rows}    return total * factor_of(sizes)\n"
    path = agent.root / SERVICE
    path.write_text(path.read_text("utf-8") + added, encoding="utf-8")
    await agent("find_definitions", symbol="margins", path=SERVICE)  # indexes the file
    handle = await agent.framed()
    await agent.look(handle, "margins")
    quote = "return total * factor_of(sizes)"
    await agent.submit(handle, claim("margins", quote))
    await agent.submit(handle, symbols_identified=[])
    text = "the total of the margins accepts an empty password"
    await agent.suppose(handle, text)
    await agent.confirm(handle, text, quote=quote)
    return Ready(handle)


async def one_by_a_quote_one_by_a_call(agent: Agent) -> Prize:
    foreign = "toggleTheme accepts an empty password"
    handle = await agent.verification(SUPPOSED, foreign)
    await agent.look(handle, "toggleTheme")
    call = {
        "tool": "find_definitions", "target": "toggleTheme", "result": "as supposed",
        "files": [THEME],
    }  # fmt: skip
    answers = {SUPPOSED: {"quote": LINES[LOGIN], "result": "as supposed"}, foreign: call}
    verified = [
        {"hypothesis": text, "status": "confirmed", "evidence": evidence}
        for text, evidence in answers.items()
    ]
    await agent("submit_verification", session_id=handle, verified=verified)
    return Write(handle, (THEME,))


async def new_code_anywhere(agent: Agent) -> Prize:
    handle = await agent.framed(intent="IMPLEMENT")
    await agent("snippets_get", session_id=handle, path=THEME)
    await agent("search_text", session_id=handle, pattern=".", path="README.md")
    places = (
        (THEME, "web/src/login.js"),
        ("toggleTheme", "web/src/login.js"),
        ("README.md", "login.py"),
        (LOGIN, "web/src/login.js"),
        ("", "login.py"),
    )
    for beside, file in places:
        new = {"name": "empty_password_login", "file": file, "beside": beside}
        await agent.submit(handle, symbols_identified=[], new_symbols=[new])
    return Write(handle, ("web/src/login.js", "login.py", THEME))


ATTEMPTS = attempts(
    "quotes without understanding",
    {
        "The quoted lines have changed since they were read.": ("has changed since", changed_lines),
        "They have changed since, and are quoted for a hypothesis.": (
            "stands in no code",
            changed_lines_in_verification,
        ),
        "New code is placed beside whatever was printed.": ("plausible", new_code_anywhere),
        "A quote is invented.": (
            "does not stand in its printed code",
            submitting(claim(LOGIN, "if not credentials.password: return None")),
        ),
        "A quote of another symbol's code is given.": (
            "does not stand in its printed code",
            submitting(claim(LOGIN, LINES[VERIFY])),
        ),
        "Lines from two places are joined to one quote.": (
            "does not stand in its printed code",
            submitting(claim(LOGIN, f"{LINES[LOGIN]}\n{LINES[VERIFY]}")),
        ),
        "The quote is a single word.": (
            "does not stand in its printed code",
            submitting(claim(LOGIN, "password")),
        ),
        "The lists of the counts are filled instead of a quote.": (
            "has no quote",
            submitting(
                LOGIN,
                VERIFY,
                entry_points=[LOGIN],
                files_analyzed=[SERVICE, PASSWORDS],
                existing_patterns=["errors are exceptions of the module"],
            ),
        ),
        "A true quote of other code is given for the hypothesis.": (
            "shares no word",
            quoting("ShoppingCart.total", "def total(self) -> Decimal:"),
        ),
        "One hypothesis is quoted for, a foreign one confirmed by a call.": (
            "quotes no code",
            one_by_a_quote_one_by_a_call,
        ),
        "A quote that submit_understanding refused is given for a hypothesis.": (
            "its quote speaks of neither",
            refused_quote_by_way_of_semantic,
        ),
        "Boilerplate is quoted for a hypothesis that names it.": (
            "not linked to the request",
            quoting("toggleTheme", "return next;", "the next theme accepts an empty password"),
        ),
    },
)
