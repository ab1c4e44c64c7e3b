"""Attempts to claim understanding by padding, inventions and false quotes."""

import json
from typing import Any

from hostile.agent import LINES, LOGIN, QUERY, SERVICE, SLOTS, VERIFY, Agent, claim
from hostile.attempts import Prize, Ready, Script, Write, attempts
from programs import git

THEME, THEME_FILE = "toggleTheme", "web/src/theme.js"
THEME_LINE = "export function toggleTheme(current) {"
SAYS_LITTLE = 'salt, expected = stored.split(":")'
"""A line of verify_password with no word of the request."""
REFUND, REFUND_FILE = "PaymentGateway.refund", "src/payments/gateway.py"
REFUND_LINE = "def refund(self, transaction_id: str, amount: Decimal) -> str:"


def claiming(*claims: Any, **other: Any) -> Script:
    """Look honestly, then claim something else."""

    async def script(agent: Agent) -> Prize:
        handle = await agent.framed()
        await agent.look(handle)
        await agent.submit(handle, *claims, **other)
        return Ready(handle)

    return script


def padding(*claims: dict[str, str], beside: bool = True) -> Script:
    """Read a foreign symbol and claim it, alone and beside the right one, to open its file."""

    async def script(agent: Agent) -> Prize:
        handle = await agent.framed()
        for symbol in (LOGIN, THEME, REFUND):
            await agent.look(handle, symbol)
        await agent.submit(handle, *claims)
        await agent.submit(handle, *([claim(LOGIN)] * beside), *claims)
        return Write(handle, (THEME_FILE, REFUND_FILE))

    return script


def without_reading(*calls: tuple[str, dict[str, Any]], symbol: str = LOGIN) -> Script:
    """Make only these calls, then claim what an honest agent would."""

    async def script(agent: Agent) -> Prize:
        handle = await agent.unread()
        for tool, arguments in calls:
            await agent(tool, session_id=handle, **arguments)
        await agent.submit(handle, claim(symbol))
        return Ready(handle)

    return script


async def linked_folder(agent: Agent) -> Prize:
    (agent.root / "lib").symlink_to("src")
    handle = await agent.framed()
    await agent.look(handle)
    new = {"name": "check_form", "file": "lib/auth/form.py", "beside": LOGIN}
    await agent.submit(handle, new_symbols=[new])
    linked = f"lib/{SERVICE.removeprefix('src/')}"
    await agent.submit(handle, claim(LOGIN, file=linked))
    return Write(handle, ("lib/auth/form.py", "lib/auth/tokens.py", "src/auth/tokens.py"))


async def slow_digest(agent: Agent) -> str:
    """Begin to delete a symbol whose name and documentation do not speak of the issue."""
    query = "remove verify_password, since the digest is slow"
    handle = await agent.start("DELETE", query)
    await agent.frame(handle, target_feature="verify_password", observed_issue="the digest is slow")
    await agent.look(handle, VERIFY)
    return handle


async def padded_at_high_risk(agent: Agent) -> Prize:
    handle = await slow_digest(agent)
    await agent.submit(
        handle,
        *(claim(name, SAYS_LITTLE) for name in (VERIFY, f"{VERIFY}()", VERIFY)),
        entry_points=[VERIFY, f"{VERIFY}()", LOGIN],
        files_analyzed=[SERVICE, "src/auth/passwords.py", "src/auth/tokens.py"],
        existing_patterns=["errors are exceptions", "Errors  are exceptions", "..", "--"],
    )
    return Ready(handle)


def framing(feature: str, quote: str, query: str = QUERY) -> Script:
    """Claim that the query is about something else, and continue as if that had been accepted."""

    async def script(agent: Agent) -> Prize:
        handle = await agent.start(query=query)
        others = {
            name: {"value": SLOTS[name], "quote": SLOTS[name]} for name in SLOTS if query == QUERY
        }
        slots = others | {"target_feature": {"value": feature, "quote": quote}}
        answer = await agent("set_query_frame", session_id=handle, **slots)
        assert answer["error"] == "validation_failed"
        await agent.look(handle, THEME)
        await agent.submit(handle, claim(THEME, THEME_LINE, f"{THEME} is the {feature}"))
        return Write(handle, (THEME_FILE,))

    return script


async def no_frame(agent: Agent) -> Prize:
    handle = await agent.start()
    await agent.look(handle, THEME)
    await agent.submit(handle, claim(THEME, THEME_LINE))
    return Write(handle, (THEME_FILE,))


async def late_frame(agent: Agent) -> Prize:
    handle = await agent.start()
    await agent.look(handle, THEME)
    for slots in ({"trigger_condition": "when the form is sent"}, SLOTS):
        await agent.frame(handle, **slots)
        await agent.submit(handle, claim(THEME, THEME_LINE))
    return Write(handle, (THEME_FILE,))


async def frame_again(agent: Agent) -> Prize:
    handle = await slow_digest(agent)
    for issue in ("the digest is slow", "verify_password", "", "digest"):
        await agent.frame(handle, observed_issue=issue)
        await agent.submit(handle, claim(VERIFY, SAYS_LITTLE))
    return Ready(handle)


async def other_feature(agent: Agent) -> Prize:
    handle = await agent.framed("observed_issue", "trigger_condition")
    await agent.frame(handle, target_feature="form")
    await agent.look(handle, THEME)
    await agent(
        "confirm_symbol_relevance",
        session_id=handle,
        relevant_symbols=[THEME],
        code_evidence=f"{THEME_FILE}:4 {THEME} is what the login form sends",
    )
    await agent.frame(handle, target_feature="login")
    await agent.submit(handle, claim(THEME, THEME_LINE))
    return Write(handle, (THEME_FILE,))


async def anything_confirmed(agent: Agent) -> Prize:
    handle = await agent.start(query="ログインのとき空のパスワードでもエラーが出ない")
    await agent.frame(
        handle,
        target_feature="ログイン",
        trigger_condition="空のパスワード",
        observed_issue="エラーが出ない",
    )
    await agent.look(handle, THEME)
    says = "ログインのとき空のパスワードでもエラーが出ない。"
    await agent(
        "confirm_symbol_relevance",
        session_id=handle,
        relevant_symbols=[THEME],
        code_evidence=says,
    )
    await agent.submit(handle, claim(THEME, THEME_LINE, says))
    return Write(handle, (THEME_FILE,))


async def an_emptied_index(agent: Agent) -> Prize:
    await agent.close()
    config = agent.root / "devrag-forest.json"
    settings = json.loads(config.read_text("utf-8")) | {"document_patterns": ["docs"]}
    config.write_text(json.dumps(settings), encoding="utf-8")
    for file in agent.root.rglob("vectors-forest.db*"):
        file.unlink()
    await agent.restart()
    handle = await agent.framed(intent="IMPLEMENT")
    await agent("search_text", session_id=handle, pattern="def ")
    new = {"name": "log_in", "file": "src/payments/new.py"}
    await agent.submit(handle, symbols_identified=[], new_symbols=[new])
    new["beside"] = REFUND_FILE
    await agent.submit(handle, claim(REFUND, REFUND_LINE), new_symbols=[new])
    await agent.submit(handle, symbols_identified=[])
    text = "login does not exist yet"
    await agent.suppose(handle, text)
    await agent("search_text", session_id=handle, pattern="zzqxj")
    await agent.confirm(
        handle, text, tool="search_text", target="zzqxj", files=("src/payments/new.py",)
    )
    await agent.confirm(handle, text, quote=REFUND_LINE)
    return Write(handle, ("src/payments/new.py", REFUND_FILE))


async def a_deleted_index(agent: Agent) -> Prize:
    await agent.close()
    for file in agent.root.rglob("vectors-*.db*"):
        file.unlink()
    await agent.restart()
    handle = await agent.unread()
    await agent("search_text", session_id=handle, pattern="refund", path="src")
    await agent.submit(handle, claim(REFUND, REFUND_LINE), claim(REFUND, file=REFUND_FILE))
    await agent.submit(handle, symbols_identified=[])
    text = f"{REFUND} accepts an empty password"
    await agent.suppose(handle, text)
    await agent("search_text", session_id=handle, pattern="refund", path="src")
    await agent.confirm(handle, text, tool="search_text", target="refund", files=(REFUND_FILE,))
    await agent.confirm(handle, text, quote=REFUND_LINE)
    return Write(handle, (REFUND_FILE,))


def made_to_be_found(*, committed: bool = False, verified: bool = False) -> Script:
    """Write files that define and use the claimed symbols, then look at them."""

    async def script(agent: Agent) -> Prize:
        handle = await agent.framed()
        files = tuple(f"src/made_{number}.py" for number in range(4))
        for number, file in enumerate(files):
            text = f"# {QUERY}\ndef login_{number}():\n    return login_{number}()\n"
            (agent.root / file).write_text(text, encoding="utf-8")
        if committed:
            git(agent.root, "add", "-A")
            git(agent.root, "commit", "-qm", "Made")
        await agent("search_smart", session_id=handle)
        for number in range(4):
            await agent.look(handle, f"login_{number}")
        await agent(
            "confirm_symbol_relevance",
            session_id=handle,
            relevant_symbols=["login_0"],
            code_evidence=f"login_0 in {files[0]}:2 is the login",
        )
        names = [f"login_{number}" for number in range(4)]
        await agent.submit(handle, *(claim(name, f"def {name}():") for name in names))
        if verified:
            text = "login_0 accepts an empty password"
            await agent.submit(handle, symbols_identified=[])
            await agent.suppose(handle, text)
            await agent.look(handle, "login_0")
            await agent.confirm(handle, text, target="login_0", files=files[:1])
            await agent.confirm(handle, text, quote="return login_0()")
        return Write(handle, (*files, "src/made_4.py"))

    return script


async def everything_at_once(agent: Agent) -> Prize:
    handle = await agent.unread()
    for file in (THEME_FILE, REFUND_FILE):
        await agent("search_text", session_id=handle, pattern=".", path=file, max_results=1000)
    await agent.submit(handle, claim(THEME, THEME_LINE), claim(REFUND, REFUND_LINE))
    return Write(handle, (THEME_FILE, REFUND_FILE))


REFERENCES = ("find_references", {"symbol": LOGIN})
WIDE = "".join(chr(ord(letter) + 0xFEE0) for letter in THEME)

ATTEMPTS = (
    *attempts(
        "padding",
        {
            "The same foreign symbol is listed three times.": (
                "plausible",
                padding(
                    claim(THEME, THEME_LINE),
                    claim(THEME, 'localStorage.setItem("theme", next);'),
                    claim(THEME, "return next;"),
                ),
            ),
            "One foreign symbol is spelled as four languages would.": (
                "plausible",
                padding(
                    *(
                        claim(name, REFUND_LINE)
                        for name in (REFUND, "PaymentGateway::refund()", f" {REFUND} ", "refund")
                    )
                ),
            ),
            "A foreign symbol is spelled in upper and lower case.": (
                "defined",
                padding(*(claim(name, THEME_LINE) for name in (THEME.upper(), THEME.lower()))),
            ),
            "A foreign symbol is spelled in full-width letters.": (
                "defined",
                padding(claim(WIDE, THEME_LINE)),
            ),
            "Invisible characters give a foreign symbol the right name.": (
                "symbols_identified",
                padding(claim("AuthService.lo\u200bgin", THEME_LINE, file=THEME_FILE)),
            ),
            "A Cyrillic letter gives a foreign symbol the right name.": (
                "defined",
                padding(claim("\u0410uthService.login", THEME_LINE, file=THEME_FILE)),
            ),
            "One foreign file is listed under several paths.": (
                "plausible",
                padding(
                    *(
                        claim(THEME, THEME_LINE, file=file)
                        for file in (f"./{THEME_FILE}", "web/src/../src/theme.js", THEME_FILE)
                    )
                ),
            ),
            "A new file is announced through a linked folder.": ("beside", linked_folder),
            "At HIGH risk all lists are filled, and one slot has no quote.": (
                "slot_quotes",
                padded_at_high_risk,
            ),
            "Symbols that exist, but elsewhere and unseen, are quoted.": (
                "read",
                claiming(
                    claim(LOGIN),
                    claim("export_orders", "def export_orders("),
                    claim("StockKeeper.Reserve"),
                ),
            ),
            "A few letters that some symbol contains are named.": (
                "defined",
                claiming(claim("th"), claim("or")),
            ),
        },
    ),
    *attempts(
        "invented files and symbols",
        {
            "Symbols that sound right are quoted beside the right one.": (
                "defined",
                claiming(claim(LOGIN), claim("LoginController"), claim("SessionManager")),
            ),
            "The right symbol is said to be in a file that sounds right.": (
                "defined",
                claiming(claim(LOGIN, file="src/auth/controller.py")),
            ),
            "The right symbol is said to be in another file that exists.": (
                "defined",
                claiming(claim(LOGIN, file=REFUND_FILE)),
            ),
            "The right symbol is said to be outside of the project.": (
                "defined",
                claiming(claim(LOGIN, file="/etc/hostname"), claim(LOGIN, file="../../etc/hosts")),
            ),
            "New code is announced outside of the project.": (
                "new_symbols",
                claiming(
                    new_symbols=[{"name": "log_in", "file": "../../etc/x.py", "beside": LOGIN}]
                ),
            ),
            "The empty string and one letter are symbols.": (
                "symbols_identified",
                claiming(claim(""), claim("l"), claim("()")),
            ),
            "New code is announced beside a symbol that does not exist.": (
                "defined",
                claiming(
                    symbols_identified=[],
                    new_symbols=[{"name": "log_in", "file": SERVICE, "beside": "main"}],
                ),
            ),
            "The claims arrive as an object of numbers.": (
                "invalid_argument",
                claiming(symbols_identified='{"a": 1, "b": 2, "c": 3}'),
            ),
            "One string is claimed, to be read as a list of letters.": (
                "invalid_argument",
                claiming(symbols_identified=LOGIN),
            ),
            "An unrelated symbol is quoted in the question's own words.": (
                "plausible",
                anything_confirmed,
            ),
            "Files are written that define what is quoted.": ("made_since", made_to_be_found()),
            "They are committed at once, and quoted.": (
                "made_since",
                made_to_be_found(committed=True),
            ),
            "They are what is verified by a quote.": ("was added", made_to_be_found(verified=True)),
        },
    ),
    *attempts(
        "one-character quotes",
        {
            "の is quoted for any feature, for a foreign symbol.": (
                "plausible",
                framing("の", "の", "ログインの問題"),
            ),
            "The value has a line that the query does not have, for a foreign symbol.": (
                "plausible",
                framing("login\nsymbol: toggleTheme", "login"),
            ),
            "The value says more than its quote does, for a foreign symbol.": (
                "plausible",
                framing("login and theme switching", "login"),
            ),
            "ログアウト is taken from ログイン, for a foreign symbol.": (
                "plausible",
                framing("ログアウト", "ログイン"),
            ),
            "The quote is good, and not from the query, for a foreign symbol.": (
                "plausible",
                framing("theme switching", "theme switching"),
            ),
            "What does not work is said to work, for a foreign symbol.": (
                "plausible",
                framing("ログインできる", "ログインできない"),
            ),
            "Without a frame nothing has to be plausible.": ("plausible", no_frame),
            "The frame is completed once the symbol was refused.": ("plausible", late_frame),
            "Another frame takes back the slot that has no quote.": ("slot_quotes", frame_again),
            "What was confirmed for one feature is quoted for another.": (
                "a symbol has been confirmed for it",
                other_feature,
            ),
        },
    ),
    *attempts(
        "searching without looking",
        {
            "Everything is known already, and quoted from memory.": ("read", without_reading()),
            "The tools are used, and find nothing.": (
                "read",
                without_reading(
                    ("find_definitions", {"symbol": "zzqx"}),
                    ("find_references", {"symbol": "zzqx"}),
                ),
            ),
            "The tools are asked for one letter.": (
                "read",
                without_reading(
                    ("find_definitions", {"symbol": "l"}), ("find_references", {"symbol": "e"})
                ),
            ),
            "The tools are called, and refuse.": (
                "read",
                without_reading(
                    ("find_definitions", {"symbol": LOGIN, "path": "../.."}),
                    ("find_references", {"symbol": LOGIN, "path": "/"}),
                    ("snippets_get", {"path": "../x"}),
                ),
            ),
            "One list of all symbols stands for all files.": (
                "read",
                without_reading(
                    REFERENCES,
                    ("get_symbols", {"path": "."}),
                    ("search_files", {"pattern": "**/*"}),
                ),
            ),
            "Only the quoted line is searched for.": (
                "read",
                without_reading(
                    REFERENCES,
                    ("search_text", {"pattern": LINES[LOGIN].partition("(")[0]}),
                ),
            ),
            "Only the uses of the symbol are read.": (
                "read",
                without_reading(("find_references", {"symbol": VERIFY}), symbol=VERIFY),
            ),
            "A search for any character prints a file line by line.": (
                "plausible",
                everything_at_once,
            ),
            "The index is deleted, so that nothing is ranked.": ("read_enough", a_deleted_index),
            "The index is pointed elsewhere, so that the project is new.": (
                "beside",
                an_emptied_index,
            ),
        },
    ),
)
