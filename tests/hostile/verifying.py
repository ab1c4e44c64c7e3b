"""Attempts to verify without checking, or to be excused from it."""

from typing import Any

from hostile.agent import ERROR, LOGIN, PASSWORDS, SERVICE, VERIFY, Agent, claim
from hostile.attempts import Prize, Ready, Script, Write, attempts

SUPPOSED = f"{LOGIN} accepts an empty password"
REPLAYED = "replayed evidence"


def confirming(*calls: tuple[str, dict[str, Any]], **answer: Any) -> Script:
    """Make these calls in VERIFICATION, then confirm the hypothesis with this evidence."""

    async def script(agent: Agent) -> Prize:
        handle = await agent.verification()
        for tool, arguments in calls:
            await agent(tool, session_id=handle, **arguments)
        await agent.confirm(handle, **answer)
        return Ready(handle)

    return script


def looked(symbol: str = LOGIN, tool: str = "find_definitions") -> tuple[str, dict[str, Any]]:
    return tool, {"symbol": symbol}


async def evidence_of_an_earlier_round(agent: Agent) -> Prize:
    handle = await agent.verification()
    await agent("find_definitions", session_id=handle, symbol=LOGIN)
    await agent("revert_to_exploration", session_id=handle)
    await agent.submit(handle, symbols_identified=[])
    await agent.suppose(handle, SUPPOSED)
    await agent.confirm(handle)
    return Ready(handle)


async def evidence_of_another_session(agent: Agent) -> Prize:
    handle, other = await agent.verification(), await agent.verification()
    await agent("find_definitions", session_id=other, symbol=LOGIN)
    await agent.confirm(handle)
    return Ready(handle)


async def one_of_two(agent: Agent) -> Prize:
    handle = await agent.verification(SUPPOSED, f"{VERIFY} is never called")
    await agent("find_definitions", session_id=handle, symbol=LOGIN)
    await agent.confirm(handle)
    return Ready(handle)


async def other_words(agent: Agent) -> Prize:
    handle = await agent.verification()
    await agent("find_definitions", session_id=handle, symbol=LOGIN)
    await agent.confirm(handle, f"{LOGIN} exists", SUPPOSED + ", perhaps")
    return Ready(handle)


async def answered_twice(agent: Agent) -> Prize:
    handle = await agent.verification(SUPPOSED, f"{VERIFY} is never called")
    await agent("find_definitions", session_id=handle, symbol=LOGIN)
    await agent.confirm(handle, SUPPOSED, SUPPOSED.upper())
    return Ready(handle)


async def all_rejected(agent: Agent) -> Prize:
    handle = await agent.verification()
    await agent("find_definitions", session_id=handle, symbol=LOGIN)
    await agent.confirm(handle, status="rejected")
    return Ready(handle)


async def one_search_for_all(agent: Agent) -> Prize:
    texts = (SUPPOSED, f"{VERIFY} compares in constant time", f"{ERROR} is raised for both")
    handle = await agent.verification(*texts)
    await agent("search_text", session_id=handle, pattern="import")
    await agent.confirm(
        handle, *texts, tool="search_text", target="import", files=(SERVICE, PASSWORDS)
    )
    return Ready(handle)


async def hypotheses_about_nothing(agent: Agent) -> Prize:
    handle = await agent.semantic()
    await agent.suppose(handle, "it is so", "there is code")
    await agent("search_text", session_id=handle, pattern="return")
    await agent.confirm(handle, "it is so", "there is code", tool="search_text", target="return")
    return Ready(handle)


async def every_word(agent: Agent) -> Prize:
    handle = await agent.framed()
    await agent("search_smart", session_id=handle)
    for tool in ("find_definitions", "find_references"):
        await agent(tool, session_id=handle, symbol="UserRepository")
    await agent.submit(handle, symbols_identified=[])
    text = "login form import return class def self password sent user repository accepts empty"
    await agent.suppose(handle, text)
    await agent("search_text", session_id=handle, pattern="import")
    await agent.confirm(handle, text, tool="search_text", target="import", files=(SERVICE,))
    return Ready(handle)


async def unframed(agent: Agent) -> Prize:
    handle = await agent.semantic(frame=False)
    await agent.suppose(handle, SUPPOSED)
    await agent("find_definitions", session_id=handle, symbol=LOGIN)
    await agent.confirm(handle)
    return Ready(handle)


async def a_question_for_everything(agent: Agent) -> Prize:
    handle = await agent.verification("ShoppingCart loses its items")
    words = "ShoppingCart items import return class"
    await agent("query", session_id=handle, question=words, symbol="hash_password")
    await agent.confirm(handle, "ShoppingCart loses its items", tool="query", target=words)
    await agent.confirm(handle, "ShoppingCart loses its items", tool="query", target="ShoppingCart")
    return Write(handle, ("src/payments/gateway.py", "web/src/http.ts"))


async def said_again(agent: Agent) -> Prize:
    handle = await agent.semantic()
    await agent.suppose(handle, SUPPOSED, SUPPOSED.upper(), f" {SUPPOSED} ")
    await agent.suppose(handle, "", "  ", ".")
    await agent.suppose(handle)
    return Ready(handle)


async def wrong_reason(agent: Agent) -> Prize:
    handle = await agent.semantic()
    await agent.suppose(handle, SUPPOSED, reason="no_time")
    await agent.suppose(handle, SUPPOSED, reason="")
    await agent.confirm(handle)
    return Ready(handle)


async def excused_from_tools(agent: Agent) -> Prize:
    handle = await agent.unread()
    await agent("search_smart", session_id=handle)
    await agent.submit(handle, claim(VERIFY))
    await agent.submit(handle, symbols_identified=[])
    await agent.suppose(handle, SUPPOSED, reason="context_fragmented")
    await agent.suppose(handle, SUPPOSED, reason="no_definition_found")
    await agent.confirm(handle)
    return Ready(handle)


async def later_phases_first(agent: Agent) -> Prize:
    handle = await agent.framed()
    await agent.suppose(handle, SUPPOSED)
    await agent("find_definitions", session_id=handle, symbol=LOGIN)
    await agent.confirm(handle)
    await agent("search_forest", session_id=handle, query="login")
    await agent("add_explored_files", session_id=handle, files=[SERVICE])
    return Ready(handle)


async def unlisted_tools(agent: Agent) -> Prize:
    handle = await agent.verification()
    calls: dict[str, dict[str, Any]] = {
        "semantic_rerank": {"query": "login", "candidates": [SERVICE]},
        "search_forest": {"query": "login"},
        "submit_understanding": {"symbols_identified": [claim(LOGIN)]},
        "submit_semantic": {"hypotheses": ["x"], "devrag_reason": "architecture_unknown"},
    }
    for tool, arguments in calls.items():
        assert (await agent(tool, session_id=handle, **arguments))["error"] == "phase_blocked"
    return Ready(handle)


async def smuggled_types(agent: Agent) -> Prize:
    handle = await agent.verification()
    await agent("find_definitions", session_id=handle, symbol=LOGIN)
    evidence = '{"tool": "find_definitions", "target": ["AuthService.login"], "result": true}'
    for verified in (
        f'[{{"hypothesis": "{SUPPOSED}", "status": "CONFIRMED", "evidence": {evidence}}}]',
        f'{{"hypothesis": "{SUPPOSED}", "status": "confirmed", "evidence": {evidence}}}',
        "true",
        "confirmed",
    ):
        await agent("submit_verification", session_id=handle, verified=verified)
    return Ready(handle)


ATTEMPTS = (
    *attempts(
        REPLAYED,
        {
            "A finding of EXPLORATION is submitted as a new one.": (
                "no successful find_definitions",
                confirming(),
            ),
            "A check of an earlier VERIFICATION serves the next one.": (
                "no successful find_definitions",
                evidence_of_an_earlier_round,
            ),
            "Another session has made the call.": (
                "no successful find_definitions",
                evidence_of_another_session,
            ),
            "A check was made, of another symbol.": (
                "no successful find_definitions",
                confirming(looked(VERIFY)),
            ),
            "The symbol was looked up, but not with the tool that is named.": (
                "no successful find_references",
                confirming(looked(), tool="find_references"),
            ),
            "A true call about another symbol confirms the hypothesis.": (
                "is unrelated to the hypothesis",
                confirming(
                    looked("ShoppingCart.total"),
                    target="ShoppingCart.total",
                    files=("src/cart/cart.py",),
                ),
            ),
            "A search for any character confirms the hypothesis.": (
                "target is too short",
                confirming(("search_text", {"pattern": "."}), tool="search_text", target="."),
            ),
            "A search for one letter confirms the hypothesis.": (
                "target is too short",
                confirming(looked("l"), target="l"),
            ),
            "A check that found nothing confirms the hypothesis.": (
                "found nothing",
                confirming(looked("LoginController"), target="LoginController"),
            ),
            "A call that was refused confirms the hypothesis.": (
                "no successful find_definitions",
                confirming(("find_definitions", {"symbol": LOGIN, "path": "/etc"})),
            ),
            "The result of the check is a blank.": (
                "target and result must not be empty",
                confirming(looked(), result=" "),
            ),
            "Reading the file with another program is the evidence.": (
                "is not an evidence tool",
                confirming(looked(), tool="Read", target=SERVICE),
            ),
            "Code that the agent wrote itself is outlined, and is the evidence.": (
                "analyze_structure found nothing",
                confirming(
                    (
                        "analyze_structure",
                        {
                            "code": "class AuthService:\n    def login(self): ...",
                            "language": "python",
                        },
                    ),
                    tool="analyze_structure",
                    target="code",
                ),
            ),
            "One search for `import` confirms three hypotheses.": (
                "is unrelated to the hypothesis",
                one_search_for_all,
            ),
            "What is supposed names nothing that could be checked.": (
                "names nothing that can be found",
                hypotheses_about_nothing,
            ),
            "The hypothesis has every word, so that any evidence speaks of it.": (
                "quotes no code",
                every_word,
            ),
            "What the query is about is never said, something true is verified.": (
                "quotes no code",
                unframed,
            ),
            "One question about everything is the evidence.": (
                "quotes no code",
                a_question_for_everything,
            ),
            "Only the easier hypothesis is answered.": ("unanswered", one_of_two),
            "Something easier than what was supposed is confirmed.": (
                "unknown hypothesis",
                other_words,
            ),
            "One hypothesis is answered twice, the other never.": (
                "answered twice",
                answered_twice,
            ),
            "All hypotheses are rejected, which settles all of them.": (
                "Every hypothesis was rejected",
                all_rejected,
            ),
        },
    ),
    *attempts(
        "padding",
        {
            "One hypothesis is stated in three spellings, others are empty.": (
                "is repeated",
                said_again,
            ),
        },
    ),
    *attempts(
        "the wrong intent or phase",
        {
            "A reason that the table does not have.": ("invalid_devrag_reason", wrong_reason),
            "A reason is to excuse from the required tools.": (
                "no successful find_definitions",
                excused_from_tools,
            ),
            "Submissions of later phases are called from the start.": (
                "phase_blocked",
                later_phases_first,
            ),
            "Tools that are not listed are called in a phase that forbids them.": (
                "phase_blocked",
                unlisted_tools,
            ),
            "A string stands for the answers, with other types inside.": (
                "invalid_argument",
                smuggled_types,
            ),
        },
    ),
)
