"""Describe every command with its arguments and flags, for programs."""

import argparse
from typing import Any

from code_intel import __version__
from code_intel.cli.devrag.options import add_output
from code_intel.cli.main import parser_of

GLOBAL_FLAGS = ("config", "model-dir", "version")
DESTRUCTIVE = frozenset({"delete"})


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_output(parser)


def run(_args: argparse.Namespace) -> tuple[int, dict[str, Any] | None, str]:
    """Return the description, derived from the parsers."""
    from code_intel.cli.devrag import DEVRAG_COMMANDS

    commands = []
    for command in DEVRAG_COMMANDS:
        parser = parser_of(command, "devrag")
        actions = parser._actions  # noqa: SLF001 - argparse has no public list
        flags = [_row(action) for action in actions if action.option_strings]
        row = {
            "name": command.name,
            "description": command.about,
            "args": [_row(action) for action in actions if not action.option_strings],
            "flags": [flag for flag in flags if flag["name"] not in GLOBAL_FLAGS],
            "destructive": command.name in DESTRUCTIVE,
        }
        commands.append(row)
    data = {
        "name": "devrag",
        "version": __version__,
        "flag_syntax": {"prefix": "--", "flag_position": "anywhere"},
        "global_flags": list(GLOBAL_FLAGS),
        "commands": commands,
    }
    return 0, data, "\n".join(f"{row['name']}: {row['description']}" for row in commands)


def _row(action: argparse.Action) -> dict[str, Any]:
    long_options = [name for name in action.option_strings if name.startswith("--")]
    row: dict[str, Any] = {
        "name": long_options[0].removeprefix("--") if long_options else action.dest,
        "type": "bool" if action.nargs == 0 else "string",
        "required": action.required,
        "description": action.help or "",
    }
    if action.choices:
        row["enum"] = list(action.choices)
    if action.default not in {None, "", argparse.SUPPRESS, False}:
        row["default"] = action.default
    return row
