"""Implement the tools `execute` of the command server and `command_execute` of the gateway."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from code_intel.errors import CodeIntelError
from code_intel.foundation.redaction import masked
from code_intel.registry import execution
from code_intel.registry.execution import Executed
from code_intel.registry.loading import Loaded
from code_intel.registry.options import check_identifiers
from code_intel.registry.records import DEFAULT_AGENT, Command, Key
from code_intel.session import steps
from code_intel.session.state import Session
from code_intel.tools.commands.command_describe import Action, Domain, Target, commands_of
from code_intel.tools.commands.command_search import Agent
from code_intel.tools.context.commands import CommandContext
from code_intel.tools.context.gateway import GatewayContext, thread
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.wire.answers import tokens
from code_intel.tools.wire.suspicion import flags_of

NAME, AFTERWARDS = "command_execute", "command_describe"
"""What the phase allows when it begins, and what every phase does: a session may go on while a command runs."""
MOST_TOKENS = 9000
"""Of a prompt in an answer, so that all of it stays below 10,000."""
CUT = "The prompt is longer than an answer may be: `code-intel commands execute` prints all of it."
UNNOTED = "This was not noted in its session: {}"
MOVED = "The session went on while this ran, so it was not noted there."

Options = Annotated[
    dict[str, Any] | list[str] | None,
    Field(
        description=(
            "edition, adaptation, file, destination, stdin and uv-NAME, as describe says; or a list such as "
            "--edition=detailed."
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

    Call search and describe before. In a session of code-intel, call it in READY alone: what the prompt says to do
    is the work, and the work begins there. Only options that describe lists are taken.
    """
    key, answer = await _executed(context, agent, c1, c2, c3, options)
    feature = context.answered.query_for(context.connection, key)
    return await _learned(context, key, feature, answer)


async def command_execute(
    context: GatewayContext,
    c1: Domain,
    c2: Action,
    c3: Target,
    agent: Agent = DEFAULT_AGENT,
    options: Options = None,
    session_id: SessionId = None,
) -> Answer:
    """Run a prompt command and return its prompt: the instructions to follow next, as text. In READY alone.

    Call command_search and command_describe before. What was executed is remembered for the session's feature, and
    found sooner for features like it.
    """
    async with context.session(session_id, NAME) as held:
        handle, began = held.handle, held.session
    name, commands = (agent, c1, c2, c3), context.commands
    try:
        key, answer = await _executed(commands, *name, options)
    except CodeIntelError:
        await _note_call(context, handle, began, name, ok=False)
        raise
    notes = await _note_call(context, handle, began, name, ok=True)
    return await _learned(commands, key, began.own_words, answer.noting(*notes))


async def _executed(
    context: CommandContext,
    agent: str,
    c1: str,
    c2: str,
    c3: str,
    options: Mapping[str, Any] | Sequence[str] | None,
) -> tuple[Key, Answer]:
    """Run the first command of a name; return its key, and its prompt, or as much of it as an answer may have.

    Raises:
        UsageError: An identifier or an option is wrong; names the field.
        NotFoundError: There is no such command.
        ExecutionError: It failed; has its stderr.
        BusyError: Too many others are being executed.
    """
    loaded, command = await chosen(context, agent, c1, c2, c3)
    done = await execution.execute(
        context.settings,
        loaded.registry.path,
        command,
        options,
        report=context.report,
        turns=context.turns,
    )
    prompt, cut = _shown(masked(done.prompt))  # half a secret is not known for one
    data = data_of(command, done) | {"prompt": prompt, "truncated": done.truncated or cut}
    answer = Answer(data, prompt, is_exact=True)
    return command.key, answer.noting(CUT) if cut else answer


async def chosen(
    context: CommandContext, agent: str, c1: str, c2: str, c3: str
) -> tuple[Loaded, Command]:
    """Return the command that is executed by a name, the first of it, and the registry it is from.

    Raises:
        UsageError: An identifier is none.
        NotFoundError: There is no such command.
        RegistryError: The registry cannot be used.
    """
    check_identifiers(agent, c1, c2, c3)
    loaded, (command, *_) = await commands_of(context, agent, c1, c2, c3)
    return loaded, command


def data_of(command: Command, done: Executed) -> dict[str, Any]:
    """Return what is answered of an execution, with the whole prompt."""
    data = {**command.key._asdict(), "runner": done.runner, "prompt": done.prompt}
    data["truncated"] = done.truncated
    if done.notes:
        data["notes"] = list(done.notes)
    return data | flags_of(done.prompt)


def _shown(prompt: str) -> tuple[str, bool]:
    """Return as many whole lines of a prompt as an answer has room for, and whether that is less than all."""
    left, kept = MOST_TOKENS, 0
    for line in prompt.splitlines(keepends=True):
        left -= tokens(json.dumps(line, ensure_ascii=False))
        if left < 0:
            break
        kept += len(line)
    return (prompt[: kept or MOST_TOKENS // 2], True) if kept < len(prompt) else (prompt, False)


async def _learned(context: CommandContext, key: Key, feature: str, answer: Answer) -> Answer:
    """Note for which feature a command was executed, and say so where that was kept."""
    is_kept = bool(feature) and await thread(context.experience.note, key, feature)
    if is_kept:
        return replace(answer, data={**answer.data, "noted_for": feature})
    return answer


async def _note_call(
    context: GatewayContext, handle: str, began: Session, name: Sequence[str], *, ok: bool
) -> tuple[str, ...]:
    """Note the call in its session, which nobody had to wait for meanwhile; return what went wrong.

    What was executed is not undone by that, so its answer stands.
    """
    try:
        async with context.session(handle, AFTERWARDS) as held:
            if held.session.phase_seq != began.phase_seq:
                return (MOVED,)
            await held.append(steps.called(NAME, " ".join(name[1:]), ok=ok))
    except CodeIntelError as error:
        return (UNNOTED.format(error.message),)
    return ()
