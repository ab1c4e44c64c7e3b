"""Implement the tools `execute` of the command server and `command_execute` of the gateway."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from code_intel.errors import CodeIntelError
from code_intel.foundation.redaction import masked
from code_intel.registry import execution
from code_intel.registry.loading import LoadedRegistry
from code_intel.registry.records import DEFAULT_AGENT, Command, ExecutionResult
from code_intel.session import steps
from code_intel.session.state import Session
from code_intel.tools.commands.command_describe import Action, Domain, Target, commands_of
from code_intel.tools.commands.command_search import Agent
from code_intel.tools.context.commands import CommandContext
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.wire.answers import tokens
from code_intel.tools.wire.suspicion import flags_of

NAME = "command_execute"
ALWAYS_ALLOWED = "command_describe"
"""A tool that every phase allows: the session's phase may change while a command runs."""
MAX_PROMPT_TOKENS = 9000
"""Maximum tokens of a prompt in an answer, so that the answer stays below 10,000."""
PROMPT_CUT = "The prompt is cut. `code-intel commands execute` prints all of it."
NOT_RECORDED = "The call was not recorded in the session: {}"
PHASE_CHANGED = "The session's phase changed during this call, so the call was not recorded."

Options = Annotated[
    dict[str, Any] | list[str] | None,
    Field(
        description=(
            "Values for edition, adaptation, file, destination, stdin and uv-NAME, as describe "
            "lists them; or a list such as --edition=detailed."
        )
    ),
]


async def execute(
    context: CommandContext,
    c1: Domain,
    c2: Action,
    c3: Target,
    agent: Agent = DEFAULT_AGENT,
    options: Options = None,
) -> Answer:
    """Run a command and return its prompt: the instructions to follow next, as text.

    Call search and describe first. Only options that describe lists are accepted. In a session of
    code-intel, call it only in READY, because following the prompt may write files.
    """
    return await _executed(context, agent, c1, c2, c3, options)


async def command_execute(
    context: GatewayContext,
    c1: Domain,
    c2: Action,
    c3: Target,
    agent: Agent = DEFAULT_AGENT,
    options: Options = None,
    session_id: SessionId = None,
) -> Answer:
    """Run a prompt command in READY and return its prompt: the instructions to follow next.

    Call command_search and command_describe first. Only options that command_describe lists are
    accepted.
    """
    async with context.session(session_id, NAME) as locked_session:
        handle, began = locked_session.handle, locked_session.session
    name = (agent, c1, c2, c3)
    try:
        answer = await _executed(context.commands, *name, options)
    except CodeIntelError:
        await _note_call(context, handle, began, name, ok=False)
        raise
    return answer.noting(*await _note_call(context, handle, began, name, ok=True))


async def _executed(
    context: CommandContext,
    agent: str,
    c1: str,
    c2: str,
    c3: str,
    options: Mapping[str, Any] | Sequence[str] | None,
) -> Answer:
    """Run the first command of a name; return its prompt, cut to the answer's size.

    Raises:
        UsageError: An option is wrong; names the field.
        NotFoundError: There is no such command.
        ExecutionError: It failed; has its stderr.
        BusyError: Too many other commands are running.
    """
    loaded, command = await chosen(context, agent, c1, c2, c3)
    done = await execution.execute(
        context.settings,
        loaded.registry.path,
        command,
        options,
        turns=context.turns,
    )
    prompt, cut = _shown(masked(done.prompt))  # mask first: a cut secret would not be recognized
    data = data_of(command, done) | {"prompt": prompt, "truncated": done.truncated or cut}
    answer = Answer(data, prompt, is_exact=True)
    return answer.noting(PROMPT_CUT) if cut else answer


async def chosen(
    context: CommandContext, agent: str, c1: str, c2: str, c3: str
) -> tuple[LoadedRegistry, Command]:
    """Return the first command of a name, and its registry.

    Raises:
        NotFoundError: There is no such command.
        RegistryError: The registry cannot be used.
    """
    loaded, (command, *_) = await commands_of(context, agent, c1, c2, c3)
    return loaded, command


def data_of(command: Command, done: ExecutionResult) -> dict[str, Any]:
    """Return the data of an execution, with the whole prompt."""
    data = {**command.key._asdict(), "runner": done.runner, "prompt": done.prompt}
    data["truncated"] = done.truncated
    if command.origin:
        data["origin"] = command.origin
    if done.notes:
        data["notes"] = list(done.notes)
    return data | flags_of(done.prompt)


def _shown(prompt: str) -> tuple[str, bool]:
    """Return the first lines of a prompt that fit an answer, and whether any were cut."""
    left, length = MAX_PROMPT_TOKENS, 0
    for line in prompt.splitlines(keepends=True):
        left -= tokens(json.dumps(line, ensure_ascii=False))
        if left < 0:
            break
        length += len(line)
    return (
        (prompt[: length or MAX_PROMPT_TOKENS // 2], True)
        if length < len(prompt)
        else (prompt, False)
    )


async def _note_call(
    context: GatewayContext, handle: str, began: Session, name: Sequence[str], *, ok: bool
) -> tuple[str, ...]:
    """Record the call in its session, which was not locked during the call; return warnings.

    A failure to record does not undo the execution, so the answer stays.
    """
    try:
        async with context.session(handle, ALWAYS_ALLOWED) as locked_session:
            if locked_session.session.phase_seq != began.phase_seq:
                return (PHASE_CHANGED,)
            await locked_session.append(steps.called(NAME, " ".join(name[1:]), ok=ok))
    except CodeIntelError as error:
        return (NOT_RECORDED.format(error.message),)
    return ()
