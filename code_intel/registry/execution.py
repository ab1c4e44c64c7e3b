"""Execute a command: check its arguments, choose a runner, and return its prompt or its failure.

The results are those of seed 001: a prompt, or an error with `command` and `stderr`
(docs/decisions/0046).
"""

import signal
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from anyio import CapacityLimiter, move_on_after, to_thread

from code_intel.config import Settings
from code_intel.errors import BusyError, NotFoundError
from code_intel.foundation import processes
from code_intel.foundation.processes import RunEnd
from code_intel.foundation.redaction import masked
from code_intel.foundation.text import counted, visible
from code_intel.registry import prompts, runners
from code_intel.registry.options import GivenOptions, OptionRequest, checked
from code_intel.registry.place import prompts_of
from code_intel.registry.prompts import failed
from code_intel.registry.records import Command, CommandKey, ExecutionResult
from code_intel.registry.runners import DENO, PROMPTS, Runner
from code_intel.registry.sources import filling

MAX_OUTPUT_BYTES = 256 * 1024
"""Bytes of stdout that are shown; what is beyond is not read."""
MAX_MESSAGE_BYTES = 4096
"""Bytes of stderr that are shown: its end."""
MAX_RUNNING = 4
"""Programs that one server runs at a time; each may need a core, and Deno 100 MB."""
FETCH_HINT = (
    "If Deno could not download climpt, set CODE_INTEL_COMMAND_RUNNER=prompts to render the "
    "registry's own prompts without network, or CODE_INTEL_CLIMPT_MODULE to a local copy."
)
SLOW_HINT = "Try again, or raise CODE_INTEL_COMMAND_TIMEOUT."
BUSY_HINT = (
    "Call it again when one of them has ended; "
    "each is stopped after {} (CODE_INTEL_COMMAND_TIMEOUT)."
)
START_HINT = "Correct CODE_INTEL_COMMAND_RUNNER, or set it to prompts."


async def execute(
    settings: Settings,
    loaded_path: Path,
    command: Command,
    options: GivenOptions = None,
    *,
    turns: CapacityLimiter | None = None,
) -> ExecutionResult:
    """Execute a command and return its prompt.

    Args:
        settings: The settings of the project, in which the program runs.
        loaded_path: The registry of the command; its prompts are beside it.
        command: The first command of its name.
        options: A mapping, or upstream's list; see `options.checked`.
        turns: Limits the programs that run at a time; None: no limit.

    Raises:
        BusyError: The limit of running programs was reached the whole time; nothing was started.
        ConfigError: A setting has an invalid value.
        ExecutionError: There is no runner or no prompt, or the program failed; details `command`,
            `stderr`, `runner`, and `exit_code`, `signal` or `timeout`.
        UsageError: An option is invalid; it names the field.
    """
    runner, asked = await to_thread.run_sync(_prepared, settings, command, options)
    if not runner.program:
        return await to_thread.run_sync(_rendered, settings, loaded_path, command, asked)
    async with _turn(turns or CapacityLimiter(MAX_RUNNING), settings.command_timeout, command):
        try:
            end = await processes.capture(
                runners.command_line(runner, command, asked),
                settings.root,
                settings.command_timeout,
                MAX_OUTPUT_BYTES,
                environment=runners.environment(settings),
                stdin=asked.stdin,
                guarded=True,
            )
        except OSError as error:
            why = f"{runner.name} cannot be started: {error.strerror or error}."
            raise failed(command, why, START_HINT, runner=runner.name) from error
    return _executed(settings, runner, command, end)


def planned(
    settings: Settings, loaded_path: Path, command: Command, options: GivenOptions = None
) -> ExecutionResult:
    """Return what `execute` would do, without running it. Arguments and errors are the same."""
    runner, asked = _prepared(settings, command, options)
    if runner.program:
        argv = runners.command_line(runner, command, asked)
        return ExecutionResult("", runner.name, argv=tuple(argv))
    return _rendered(settings, loaded_path, command, asked)


def unprompted(
    settings: Settings, loaded_path: Path, commands: Iterable[Command]
) -> frozenset[CommandKey]:
    """Return the commands that have no prompt file; none if a program makes the prompts."""
    try:
        if runners.chosen(settings).program:
            return frozenset()
    except NotFoundError:
        return frozenset()
    folder, asked = prompts_of(loaded_path), OptionRequest()
    return frozenset(
        each.key
        for each in commands
        if not each.origin
        and not any((folder / place).is_file() for place in prompts.places(each, asked))
    )


def _prepared(
    settings: Settings, command: Command, options: GivenOptions
) -> tuple[Runner, OptionRequest]:
    """Return the runner, which has no program for a client's prompt file, and the options."""
    asked = checked(options, command, settings.root)
    if command.origin:
        return Runner(PROMPTS), asked
    try:
        return runners.chosen(settings), asked
    except NotFoundError as error:
        named = settings.command_runner
        raise failed(command, error.message, error.hint, runner=named) from None


def _rendered(
    settings: Settings, loaded_path: Path, command: Command, asked: OptionRequest
) -> ExecutionResult:
    if command.origin:
        return filling.render(settings.root, command, asked)
    return prompts.render(prompts_of(loaded_path), command, asked, settings.root)


@asynccontextmanager
async def _turn(turns: CapacityLimiter, seconds: int, command: Command) -> AsyncIterator[None]:
    """Wait until another program may run, and count it while it runs; else raise BusyError."""
    with move_on_after(seconds) as waiting:
        await turns.acquire()
    if waiting.cancelled_caught:
        raise BusyError(
            f"{command.name} was not started: {counted(int(turns.total_tokens), 'command')} "
            f"(the limit) were still running after {counted(seconds, 'second')}.",
            hint=BUSY_HINT.format(counted(seconds, "second")),
        )
    try:
        yield
    finally:
        turns.release()


def _executed(settings: Settings, runner: Runner, command: Command, end: RunEnd) -> ExecutionResult:
    """Return the prompt; raise ExecutionError if the program failed or printed none."""
    cut = len(end.stdout) > MAX_OUTPUT_BYTES
    why, details, hint = _trouble(settings, runner, end)
    if why and not cut:
        why = f"{runner.name} {why}."
        raise failed(command, why, hint, runner=runner.name, said=message(end.stderr), **details)
    # A cut output may end inside a character.
    prompt = end.stdout[:MAX_OUTPUT_BYTES].decode("utf-8", "ignore" if cut else "replace")
    notes = []
    if cut:
        notes.append(f"It is longer than {MAX_OUTPUT_BYTES >> 10} KiB. Its end is missing.")
    if "\ufffd" in prompt:
        notes.append("It has bytes that are not valid UTF-8.")
    return ExecutionResult(prompt, runner.name, cut, tuple(notes))


def _trouble(
    settings: Settings, runner: Runner, end: RunEnd
) -> tuple[str, dict[str, int], str | None]:
    """Return the problem, its details and a remedy; the problem is empty after a success."""
    code = end.code
    if end.timed_out or code is None:
        seconds = settings.command_timeout
        return f"did not end within {counted(seconds, 'second')}", {"timeout": seconds}, SLOW_HINT
    if code < 0:
        names = {each.value: each.name for each in signal.Signals}
        return f"was killed by {names.get(-code, f'signal {-code}')}", {"signal": -code}, None
    hint = FETCH_HINT if runner.name == DENO else None
    if code:
        return f"ended with exit code {code}", {"exit_code": code}, hint
    if not end.stdout.strip():
        return "printed no prompt", {"exit_code": 0}, hint
    return "", {}, None


def message(stderr: str) -> str:
    """Return the end of stderr for display: masked, visible, at most `MAX_MESSAGE_BYTES`."""
    said = visible(masked(stderr), keep="\n\t").strip()
    return said.encode()[-MAX_MESSAGE_BYTES:].decode("utf-8", "ignore")
