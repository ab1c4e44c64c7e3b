"""Choose the runner that executes a command (seed 000; docs/decisions/0046).

The user of the machine chooses it. A repository cannot name or bring one: relative parts of PATH
are ignored.
"""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from code_intel.config import Settings
from code_intel.errors import ConfigError, NotFoundError
from code_intel.foundation.text import hidden_character, visible
from code_intel.registry.options import OptionRequest, argv
from code_intel.registry.records import DEFAULT_AGENT, Command

AUTO, CLIMPT, DENO, PROMPTS = "auto", "climpt", "deno", "prompts"
PERMISSIONS = (
    *("run", "--allow-read", "--allow-write", "--allow-env", "--allow-run", "--allow-net"),
    "--no-config",
)
"""Deno's permissions for climpt (seed 000), without the project's configuration."""
QUIET_ENVIRONMENT: Mapping[str, str] = MappingProxyType(
    {"NO_COLOR": "1", "DENO_NO_PROMPT": "1", "DENO_NO_UPDATE_CHECK": "1"}
)
"""Environment variables for programs in addition to those passed on: no colours, no prompts."""


class Runner(NamedTuple):
    """A runner: its name, its program (empty: the prompt is rendered here), its first arguments."""

    name: str
    program: str = ""
    before: tuple[str, ...] = ()


def chosen(settings: Settings) -> Runner:
    """Return the runner that the settings name, or the first available one.

    Raises:
        ConfigError: A setting is invalid.
        NotFoundError: The named runner is not on PATH.
    """
    asked = settings.command_runner
    if asked == PROMPTS:
        return Runner(PROMPTS)
    if asked == AUTO:
        return _found(CLIMPT, settings) or _found(DENO, settings) or Runner(PROMPTS)
    if asked in {CLIMPT, DENO}:
        if (runner := _found(asked, settings)) is not None:
            return runner
        raise NotFoundError(
            f"{asked} is not on PATH.",
            hint=f"Install {asked}, or set CODE_INTEL_COMMAND_RUNNER to auto or another runner.",
            details={"field": "command_runner"},
        )
    if not Path(asked).is_absolute() or hidden_character(asked):
        raise ConfigError(
            f"command_runner is `{visible(asked[:200])}`; expected auto, climpt, deno, prompts, or "
            "a program's absolute path.",
            hint="Correct the variable CODE_INTEL_COMMAND_RUNNER, or unset it.",
            details={"field": "command_runner"},
        )
    return Runner(Path(asked).name, asked)


def command_line(runner: Runner, command: Command, asked: OptionRequest) -> list[str]:
    """Return the argument vector of one execution; the command's identifiers were checked.

    `--config` is the domain for the agent `climpt`, `agent-domain` for any other (seed 000).
    """
    own = command.agent == DEFAULT_AGENT
    config = command.c1 if own else f"{command.agent}-{command.c1}"
    return [
        *(runner.program, *runner.before),
        *(f"--config={config}", command.c2, command.c3),
        *argv(asked),
    ]


def environment(settings: Settings) -> dict[str, str]:
    """Return the whole environment of a program."""
    return {**settings.passed_on, **QUIET_ENVIRONMENT}


def _found(name: str, settings: Settings) -> Runner | None:
    paths = settings.passed_on.get("PATH", "").split(os.pathsep)
    program = shutil.which(name, path=os.pathsep.join(filter(os.path.isabs, paths)))
    if program is None or not Path(program).is_absolute():
        return None
    return Runner(name, program, (*PERMISSIONS, settings.climpt_module) if name == DENO else ())
