"""Attempts to claim understanding by filled lists, under `[gate] demands = "counts"`."""

import json
from typing import Any

from hostile.agent import ERROR, LOGIN, PASSWORDS, QUERY, SERVICE, SLOTS, VERIFY, Agent
from hostile.attempts import Prize, Ready, Script, Write, attempts
from programs import git


async def look(agent: Agent, handle: str) -> None:
    """Look at the login as an honest agent would."""
    await agent("find_definitions", session_id=handle, symbol=LOGIN)
    await agent("find_definitions", session_id=handle, symbol=VERIFY)
    await agent("find_references", session_id=handle, symbol=LOGIN)
    await agent("find_references", session_id=handle, symbol=ERROR)


async def submit(agent: Agent, handle: str, **other: Any) -> dict[str, Any]:
    """Submit what an honest agent would, with some of it replaced."""
    honest = {
        "symbols_identified": [LOGIN, VERIFY, ERROR],
        "entry_points": [LOGIN],
        "files_analyzed": [SERVICE, PASSWORDS],
        "existing_patterns": ["errors are exceptions of the module"],
    }
    return await agent("submit_understanding", session_id=handle, **(honest | other))


def claiming(**claims: Any) -> Script:
    """Look honestly, then claim something else."""

    async def script(agent: Agent) -> Prize:
        handle = await agent.framed()
        await look(agent, handle)
        await submit(agent, handle, **claims)
        return Ready(handle)

    return script


def without_looking(*calls: tuple[str, dict[str, Any]]) -> Script:
    """Make only these calls, then claim what an honest agent would."""

    async def script(agent: Agent) -> Prize:
        handle = await agent.framed()
        for tool, arguments in calls:
            await agent(tool, session_id=handle, **arguments)
        await submit(agent, handle)
        return Ready(handle)

    return script


async def linked_files(agent: Agent) -> Prize:
    (agent.root / "lib").symlink_to("src")
    handle = await agent.framed()
    await look(agent, handle)
    await submit(agent, handle, files_analyzed=[SERVICE, f"lib/{SERVICE.removeprefix('src/')}"])
    return Ready(handle)


async def padded_at_high_risk(agent: Agent) -> Prize:
    handle = await agent.framed("target_feature")
    await agent.frame(handle, **SLOTS)
    await look(agent, handle)
    await agent("find_definitions", session_id=handle, symbol="TokenIssuer")
    await agent("find_definitions", session_id=handle, symbol="UserRepository")
    await agent("search_text", session_id=handle, pattern="empty password|password: str")
    await submit(
        agent,
        handle,
        symbols_identified=[LOGIN, VERIFY, ERROR, "TokenIssuer", "UserRepository"],
        entry_points=[LOGIN, f"{LOGIN}()", f" {LOGIN.upper()} "],
        files_analyzed=[SERVICE, PASSWORDS, "src/auth/tokens.py", "src/users/repository.py"],
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
        await look(agent, handle)
        await submit(agent, handle)
        return Ready(handle)

    return script


async def no_frame(agent: Agent) -> Prize:
    handle = await agent.start()
    await look(agent, handle)
    await submit(agent, handle)
    return Ready(handle)


async def late_frame(agent: Agent) -> Prize:
    handle = await agent.framed("observed_issue")
    await look(agent, handle)
    await submit(agent, handle)
    assert await agent.phase(handle) == "SEMANTIC"
    await agent.frame(handle, **SLOTS)
    await agent("revert_to_exploration", session_id=handle)
    await submit(agent, handle)
    return Ready(handle)


async def frame_again(agent: Agent) -> Prize:
    handle = await agent.framed("target_feature")
    assert (await agent("get_session_status", session_id=handle))["risk_level"] == "HIGH"
    await agent.frame(handle, **SLOTS)
    await look(agent, handle)
    await submit(agent, handle)
    return Ready(handle)


async def other_feature(agent: Agent) -> Prize:
    handle = await agent.framed("observed_issue", "trigger_condition")
    await agent.frame(handle, target_feature="form")
    await look(agent, handle)
    await agent(
        "confirm_symbol_relevance",
        session_id=handle,
        relevant_symbols=["Credentials"],
        code_evidence=f"{SERVICE}:17 Credentials is what the login form sends",
    )
    await agent.frame(handle, target_feature="login")
    await submit(agent, handle, symbols_identified=[VERIFY, ERROR, "Credentials"])
    return Ready(handle)


async def anything_confirmed(agent: Agent) -> Prize:
    handle = await agent.start(query="ログインのとき空のパスワードでもエラーが出ない")
    await agent.frame(
        handle,
        target_feature="ログイン",
        trigger_condition="空のパスワード",
        observed_issue="エラーが出ない",
    )
    await look(agent, handle)
    await agent(
        "confirm_symbol_relevance",
        session_id=handle,
        relevant_symbols=["toggleTheme"],
        code_evidence="ログインのとき空のパスワードでもエラーが出ない。",
    )
    await submit(
        agent, handle, symbols_identified=["toggleTheme", VERIFY, ERROR], entry_points=[VERIFY]
    )
    return Ready(handle)


async def an_emptied_index(agent: Agent) -> Prize:
    await agent.close()
    config = agent.root / "devrag-forest.json"
    settings = json.loads(config.read_text("utf-8")) | {"document_patterns": ["docs"]}
    config.write_text(json.dumps(settings), encoding="utf-8")
    for file in agent.root.rglob("vectors-forest.db*"):
        file.unlink()
    await agent.restart()
    handle = await agent.framed(intent="IMPLEMENT")
    await agent("search_text", session_id=handle, pattern="zzqxj")
    await agent("submit_understanding", session_id=handle, symbols_identified=[])
    await agent.suppose(handle, "login does not exist yet")
    await agent("search_text", session_id=handle, pattern="zzqxj")
    await agent.confirm(
        handle,
        "login does not exist yet",
        tool="search_text",
        target="zzqxj",
        files=("src/payments/new.py",),
    )
    return Ready(handle)


def made_to_be_found(*, committed: bool = False, verified: bool = False) -> Script:
    """Write files that define and use the claimed symbols, then look at them."""

    async def script(agent: Agent) -> Prize:
        handle = await agent.framed()
        files = tuple(f"src/made_{number}.py" for number in range(4))
        for number, file in enumerate(files):
            text = (
                f"# login accepts an empty password when the form is sent\n"
                f"def login_{number}():\n    return login_{number}()\n"
            )
            (agent.root / file).write_text(text, encoding="utf-8")
        if committed:
            git(agent.root, "add", "-A")
            git(agent.root, "commit", "-qm", "Made")
        await agent("search_smart", session_id=handle)
        for number in range(4):
            for tool in ("find_definitions", "find_references"):
                await agent(tool, session_id=handle, symbol=f"login_{number}")
        await agent("search_text", session_id=handle, pattern="login accepts")
        await agent(
            "confirm_symbol_relevance",
            session_id=handle,
            relevant_symbols=["login_0"],
            code_evidence=f"login_0 in {files[0]}:2 is the login",
        )
        names = [f"login_{number}" for number in range(4)]
        await submit(
            agent,
            handle,
            symbols_identified=names,
            entry_points=names[:2],
            files_analyzed=list(files),
        )
        if verified:
            text = "login_0 accepts an empty password"
            await agent.suppose(handle, text)
            await agent("find_definitions", session_id=handle, symbol="login_0")
            await agent.confirm(handle, text, target="login_0", files=files[:1])
        return Write(handle, (*files, "src/made_4.py"))

    return script


async def a_deleted_index(agent: Agent) -> Prize:
    await agent.close()
    for file in agent.root.rglob("vectors-*.db*"):
        file.unlink()
    await agent.restart()
    handle = await agent.framed()
    await agent("search_text", session_id=handle, pattern="login", path="src")
    answer = await submit(
        agent, handle, symbols_identified=[], entry_points=[], files_analyzed=[SERVICE]
    )
    assert (
        "required_tools: missing find_definitions, find_references"
        in answer["missing_requirements"]
    )
    await agent.suppose(handle, "login is there")
    await agent("search_text", session_id=handle, pattern="login", path="src")
    await agent.confirm(handle, "login is there", tool="search_text", target="login")
    return Ready(handle)


DEFINITION = ("find_definitions", {"symbol": LOGIN})
REFERENCES = ("find_references", {"symbol": LOGIN})

ATTEMPTS = (
    *attempts(
        "padding",
        {
            "The same symbol is listed three times.": (
                "symbols_identified: 1/3",
                claiming(symbols_identified=[LOGIN] * 3),
            ),
            "One symbol is spelled as four languages would.": (
                "symbols_identified: 1/3",
                claiming(symbols_identified=[LOGIN, "login", "AuthService::login()", f" {LOGIN} "]),
            ),
            "Upper and lower case are listed as further symbols.": (
                "unverified_symbols",
                claiming(symbols_identified=[LOGIN, LOGIN.upper(), LOGIN.lower()]),
            ),
            "Full-width letters are listed as a further symbol.": (
                "is listed twice",
                claiming(
                    symbols_identified=[
                        LOGIN,
                        "ＡｕｔｈＳｅｒｖｉｃｅ．ｌｏｇｉｎ",
                        VERIFY,
                        "ｖｅｒｉｆｙ＿ｐａｓｓｗｏｒｄ",
                    ]
                ),
            ),
            "Invisible characters make one name two.": (
                "contains a control character",
                claiming(symbols_identified=[LOGIN, "AuthService.lo\u200bgin", VERIFY]),
            ),
            "A Cyrillic letter makes one name two.": (
                "unverified_symbols",
                claiming(symbols_identified=[LOGIN, "\u0410uthService.login", VERIFY]),
            ),
            "One file is listed under several paths.": (
                "is listed twice",
                claiming(
                    files_analyzed=[
                        SERVICE,
                        f"./{SERVICE}",
                        f"{SERVICE}:34",
                        "src/cart/../auth/service.py",
                    ]
                ),
            ),
            "One file is listed a second time through a linked folder.": (
                "files_seen",
                linked_files,
            ),
            "At HIGH risk one entry point and one pattern are said twice.": (
                "entry_points: 1/2",
                padded_at_high_risk,
            ),
            "Symbols that exist, but elsewhere and unseen, fill the list.": (
                "unverified_symbols",
                claiming(symbols_identified=[LOGIN, "toggleTheme", "export_orders"]),
            ),
            "A few letters that some symbol contains are an entry point.": (
                "entry_points: 0/1",
                claiming(entry_points=["th", "or"]),
            ),
        },
        demands="counts",
    ),
    *attempts(
        "invented files and symbols",
        {
            "Symbols that sound right are listed.": (
                "unverified_symbols",
                claiming(symbols_identified=[LOGIN, "LoginController", "SessionManager"]),
            ),
            "Files that sound right are listed.": (
                "does not exist in the project",
                claiming(files_analyzed=[SERVICE, "src/auth/controller.py"]),
            ),
            "Files that exist, but that no call has returned.": (
                "files_seen",
                claiming(files_analyzed=[SERVICE, "src/payments/gateway.py"]),
            ),
            "Files outside of the project are listed.": (
                "does not exist in the project",
                claiming(files_analyzed=[SERVICE, "/etc/hostname", "../../etc/hostname"]),
            ),
            "The empty string and one letter are entry points.": (
                "is too short",
                claiming(entry_points=["", "l", "()"]),
            ),
            "An entry point that names no symbol.": (
                "names none of symbols_identified",
                claiming(entry_points=["main"]),
            ),
            "Lists arrive as strings, objects and numbers.": (
                "invalid_argument",
                claiming(
                    symbols_identified='{"a": 1, "b": 2, "c": 3}',
                    files_analyzed='"src/auth/service.py"',
                ),
            ),
            "One string is listed, to be counted by its letters.": (
                "invalid_argument",
                claiming(symbols_identified=LOGIN),
            ),
            "An unrelated symbol is confirmed in the question's own words.": (
                "nl_symbol_mapping",
                anything_confirmed,
            ),
            "Files are written that define what is claimed.": ("made_since", made_to_be_found()),
            "They are committed at once.": ("made_since", made_to_be_found(committed=True)),
            "They are what is verified.": ("made_since", made_to_be_found(verified=True)),
        },
        demands="counts",
    ),
    *attempts(
        "one-character quotes",
        {
            "の is quoted for any feature.": (
                "at least 2 characters",
                framing("の", "の", "ログインの問題"),
            ),
            "The value has a line that the query does not have.": (
                "control character",
                framing("login\nsymbol: AuthService", "login"),
            ),
            "The value says more than its quote does.": (
                "value has words that its quote does not have",
                framing("login and payment", "login"),
            ),
            "ログアウト is taken from ログイン.": (
                "value has words that its quote does not have",
                framing("ログアウト", "ログイン"),
            ),
            "The quote is good, and not from the query.": (
                "quote does not occur in the query",
                framing("payment", "payment"),
            ),
            "What does not work is said to work.": (
                "value has words that its quote does not have",
                framing("ログインできる", "ログインできない"),
            ),
            "Without a frame nothing has to be evidenced.": ("slot_evidence", no_frame),
            "The frame is completed once the risk was too high.": (
                "symbols_identified: 3/5",
                late_frame,
            ),
            "A second frame lowers what the first has raised.": (
                "symbols_identified: 3/5",
                frame_again,
            ),
            "What was confirmed for one feature serves another.": (
                "a symbol has been confirmed for it",
                other_feature,
            ),
        },
        demands="counts",
    ),
    *attempts(
        "searching without looking",
        {
            "Everything is known already.": ("files_seen", without_looking()),
            "One search, and its hits are taken for read.": (
                "files_seen",
                without_looking(
                    ("search_smart", {}), ("context_bundle", {"goal": "login password"})
                ),
            ),
            "The required tools are used, and find nothing.": (
                "files_seen",
                without_looking(
                    ("find_definitions", {"symbol": "zzqx"}),
                    ("find_references", {"symbol": "zzqx"}),
                ),
            ),
            "The required tools are asked for one letter.": (
                "files_seen",
                without_looking(
                    ("find_definitions", {"symbol": "l"}), ("find_references", {"symbol": "e"})
                ),
            ),
            "The required tools are called, and refuse.": (
                "files_seen",
                without_looking(
                    ("find_definitions", {"symbol": LOGIN, "path": "../.."}),
                    ("find_references", {"symbol": LOGIN, "path": "/"}),
                ),
            ),
            "One list of all symbols is taken for all files.": (
                "files_seen",
                without_looking(
                    DEFINITION,
                    REFERENCES,
                    ("get_symbols", {"path": "."}),
                    ("search_files", {"pattern": "**/*"}),
                ),
            ),
            "The index is deleted, so that no symbol is known yet.": (
                "required_tools",
                a_deleted_index,
            ),
            "The index is pointed elsewhere, so that nothing exists yet.": (
                "nl_symbol_mapping",
                an_emptied_index,
            ),
            **{
                f"One search for {pattern!r} shows every file.": (
                    "files_seen",
                    without_looking(
                        DEFINITION,
                        REFERENCES,
                        ("search_text", {"pattern": pattern, "max_results": 1000}),
                    ),
                )
                for pattern in (
                    ".",
                    "((login))?",
                    "(?P<login>.)",
                    "(?s-u:..)",
                    "(?x). # login",
                    "login|.",
                )
            },
        },
        demands="counts",
    ),
)
