"""Attempts by concurrent calls and by restarts during a session."""

from collections.abc import Awaitable

import anyio

from hostile.agent import LOGIN, PASSWORDS, SERVICE, Agent, claim
from hostile.attempts import Prize, Ready, Write, attempts

SUPPOSED = f"{LOGIN} accepts an empty password"
PARALLEL, RESTARTED = "parallel calls", "restarts in mid-session"


async def at_once(*calls: Awaitable[object]) -> None:
    async def wait(call: Awaitable[object]) -> None:
        await call

    async with anyio.create_task_group() as group:
        for call in calls:
            group.start_soon(wait, call)


async def submissions(agent: Agent) -> Prize:
    handle = await agent.framed()
    await agent.look(handle)
    await at_once(*(agent.submit(handle, symbols_identified=[]) for _ in range(4)))
    assert await agent.phase(handle) == "SEMANTIC"
    return Ready(handle)


async def to_and_fro(agent: Agent) -> Prize:
    handle = await agent.framed()
    await agent.look(handle, "toggleTheme")
    wrong = claim("toggleTheme", "return next;")
    for _ in range(5):
        await at_once(
            agent.submit(handle, symbols_identified=[]),
            agent("revert_to_exploration", session_id=handle),
            agent.submit(handle, wrong),
            agent.suppose(handle, SUPPOSED),
            agent.confirm(handle),
        )
    return Ready(handle)


async def confirm_while_rejecting(agent: Agent) -> Prize:
    handle = await agent.verification()
    await agent.confirm(handle)
    await at_once(
        *(agent.confirm(handle) for _ in range(3)),
        agent.confirm(handle, status="rejected"),
        agent("revert_to_exploration", session_id=handle),
        *(agent.confirm(handle) for _ in range(3)),
    )
    return Ready(handle)


async def write_while_reverting(agent: Agent) -> Prize:
    handle = await agent.ready()
    await at_once(
        agent("revert_to_exploration", session_id=handle),
        *(agent("add_explored_files", session_id=handle, files=[SERVICE]) for _ in range(3)),
        *(agent.may_write(handle, SERVICE) for _ in range(3)),
    )
    return Write(handle, (SERVICE, PASSWORDS))


async def frames_at_once(agent: Agent) -> Prize:
    handle = await agent.start()
    await at_once(
        agent.frame(handle, target_feature="login"),
        agent.frame(
            handle,
            target_feature="login",
            observed_issue="accepts an empty password",
            trigger_condition="when the form is sent",
        ),
        agent.frame(handle, target_feature="login", desired_action="エラーが出ない"),
    )
    await agent.look(handle, "toggleTheme")
    await agent.submit(handle, claim("toggleTheme", "return next;"))
    return Ready(handle)


async def in_every_phase(agent: Agent) -> Prize:
    exploring, supposing = await agent.framed(), await agent.semantic()
    verifying, ready = await agent.verification(), await agent.ready()
    await agent("revert_to_exploration", session_id=ready)
    await agent.restart()
    assert await agent.phase("") == "no_active_session"
    await agent.submit(exploring, claim("toggleTheme", "return next;"))
    await agent.confirm(supposing)
    await agent.confirm(verifying)
    for handle in (exploring, supposing, verifying, ready):
        assert await agent.phase(handle) != "READY"
        assert not await agent.may_write(handle, SERVICE)
    await agent.restart()
    await agent("add_explored_files", session_id=verifying, files=[SERVICE])
    return Write(ready, (SERVICE, PASSWORDS))


async def after_each_refusal(agent: Agent) -> Prize:
    handle = await agent.verification()
    for _ in range(3):
        await agent.confirm(handle)
        await agent.restart()
    await agent.confirm(handle, status="rejected")
    await agent.restart()
    await agent.confirm(handle)
    return Ready(handle)


async def two_servers(agent: Agent) -> Prize:
    handle = await agent.ready()
    assert await agent.may_write(handle, SERVICE)
    other = Agent(agent.root, agent.connect)
    await other.restart()
    await other("revert_to_exploration", session_id=handle)
    await other.close()
    return Write(handle, (SERVICE,))


ATTEMPTS = (
    *attempts(
        PARALLEL,
        {
            "Too little is submitted several times at once.": ("phase_blocked", submissions),
            "Submissions of every phase and the way back are called at once.": (
                "plausible",
                to_and_fro,
            ),
            "A hypothesis is confirmed while it is rejected.": (
                "no successful find_definitions",
                confirm_while_rejecting,
            ),
            "Permission is asked for while READY is taken back.": (
                "not_ready",
                write_while_reverting,
            ),
            "Frames of different risk are set at once.": ("plausible", frames_at_once),
            "One server takes READY back, another is asked.": ("not_ready", two_servers),
        },
    ),
    *attempts(
        RESTARTED,
        {
            "The server is restarted in each phase.": (
                "no successful find_definitions",
                in_every_phase,
            ),
            "The server is restarted after each refusal.": (
                "no successful find_definitions",
                after_each_refusal,
            ),
        },
    ),
)
