"""List every agent's commands and the problems of its registry, or what commands were used for.

C1, C1 C2 or C1 C2 C3 restricts the list. --learned lists what commands were used for. --forget
removes such records: those of a command, those with the text of --for, or all with --all. Exits
with 1 if none exist, with 2 if a registry cannot be used.

--json: `registries` {agent, path, folders, version, description, commandCount, commands, notes} or
{agent, error, path, details}; `uses` {agent, c1, c2, c3, feature, times, last}, `notes`;
`forgotten`.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from code_intel.cli.columns import cut
from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.errors import RegistryError, UsageError
from code_intel.foundation.text import counted, visible
from code_intel.registry.records import DEFAULT_AGENT, CommandKey

if TYPE_CHECKING:  # imported when the subcommand runs
    from code_intel.config import Settings
    from code_intel.registry.learning import CommandUse
    from code_intel.registry.loading import Registries

_COLUMNS, _NAME_COLUMNS = 110, 46
NO_AGENT_NOTE = "There are no agents. Name one, and its registry, in {}."


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "name",
        nargs="*",
        metavar="C1 C2 C3",
        help="only this command, or commands of this domain or action",
    )
    parser.add_argument(
        "--agent", metavar="NAME", help="only commands of this agent (default: all)"
    )
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument(
        "--learned", action="store_true", help="list what commands were used for, the latest first"
    )
    mode.add_argument(
        "--forget", action="store_true", help="remove records of what commands were used for"
    )
    parser.add_argument(
        "--for", dest="feature", metavar="TEXT", help="with --forget: only records with this text"
    )
    parser.add_argument("--all", action="store_true", help="with --forget: all records")
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """List commands or uses, or remove uses."""
    if len(args.name) > 3:  # noqa: PLR2004 - the names of a command
        raise UsageError("A command has three names: C1 C2 C3.", details={"field": "name"})
    for name in ("feature", "all"):
        if getattr(args, name) and not args.forget:
            flag = "--for" if name == "feature" else "--all"
            raise UsageError(f"{flag} needs --forget.", details={"field": name})
    settings = project_of(args)
    if args.forget:
        return _forget(args, settings)
    return _list_uses(args, settings) if args.learned else _list_registries(args, settings)


def _list_registries(args: argparse.Namespace, settings: "Settings") -> int:
    """List every registry; return 2 if one cannot be used, 1 if there is no command."""
    from code_intel.registry.loading import Registries
    from code_intel.registry.place import CONFIG

    registries = Registries(settings.root)
    agents = [args.agent] if args.agent else registries.agents()
    rows = [_registry_data(settings.root, registries, agent, args.name) for agent in agents]
    lines = [line for row in rows for line in _lines(row)]
    emit(args, {"registries": rows}, "\n".join(lines) or NO_AGENT_NOTE.format(CONFIG))
    if any("error" in row for row in rows):
        return 2
    return 0 if any(row["commands"] for row in rows) else 1


def _registry_data(
    root: Path, registries: "Registries", agent: str, name: Sequence[str]
) -> dict[str, Any]:
    from code_intel.registry import place
    from code_intel.tools.commands.command_list import has_name
    from code_intel.tools.commands.command_search import command_data

    try:
        registry = registries.of(agent).registry
    except RegistryError as error:
        return {"agent": agent, **error.as_dict()}
    path = place.shown(registry.path, place.roots(root))
    return {
        "agent": agent,
        "path": path,
        "folders": [*registry.folders],
        "version": registry.version,
        "description": registry.description,
        "commandCount": len(registry.commands),
        "commands": [command_data(one) for one in registry.commands if has_name(one.key, name)],
        "notes": list(registry.notes),
    }


def _lines(row: dict[str, Any]) -> Iterator[str]:
    if "error" in row:
        yield f"{row['agent']}: {row['path']}: {row['details']}"
        yield f"  {row['hint']}"
        return
    places = ", ".join(dict.fromkeys((row["path"], *row["folders"])))
    yield f"{row['agent']}: {counted(row['commandCount'], 'command')} in {places}"
    for each in row["commands"]:
        name = f"{each['c1']} {each['c2']} {each['c3']}"
        origin = f" (origin {each['origin']})" if "origin" in each else ""
        one_line = " ".join(visible(each["description"]).split())
        columns = _COLUMNS - max(len(name), _NAME_COLUMNS) - len(origin)
        yield f"  {name:<{_NAME_COLUMNS}}  {cut(one_line, columns)}{origin}"
    yield from (f"  Note: {visible(note)}" for note in row["notes"])


def _list_uses(args: argparse.Namespace, settings: "Settings") -> int:
    """List what commands were used for; return 1 if no use is recorded."""
    from code_intel.registry.learning import CommandExperience
    from code_intel.tools.commands.command_list import has_name

    history = CommandExperience(settings.root).kept()
    of_agent = (use for use in history.uses if args.agent in {None, use.agent})
    uses = [use for use in of_agent if has_name(use.key, args.name)]
    notes = [history.note] if history.note else []
    lines = [_use_line(use) for use in uses] or [
        "No uses are recorded yet. `code-intel commands execute --for TEXT` records one."
    ]
    lines += [f"Note: {visible(note)}" for note in notes]
    emit(args, {"uses": [asdict(use) for use in uses], "notes": notes}, "\n".join(lines))
    return 0 if uses else 1


def _use_line(use: "CommandUse") -> str:
    used = datetime.fromisoformat(use.last).astimezone()
    agent = "" if use.agent == DEFAULT_AGENT else f"{use.agent}: "
    name = f"{agent}{use.c1} {use.c2} {use.c3}"
    return visible(f"{used:%Y-%m-%d %H:%M}  ×{use.times:<4} {name:<{_NAME_COLUMNS}}  {use.feature}")


def _forget(args: argparse.Namespace, settings: "Settings") -> int:
    """Remove records of uses.

    Raises:
        UsageError: The options do not say which records.
        StorageError: The file could not be written.
    """
    from code_intel.registry.learning import CommandExperience

    if args.all == bool(args.name or args.feature):
        raise UsageError(
            "Say what to forget.",
            hint="Give a command's three names, --for TEXT, or --all alone.",
            details={"field": "forget"},
        )
    if args.name and len(args.name) != 3:  # noqa: PLR2004 - as above
        raise UsageError(
            "A command has three names: C1 C2 C3.",
            hint="`code-intel commands list --learned` shows them.",
            details={"field": "name"},
        )
    key = CommandKey(args.agent or DEFAULT_AGENT, *args.name) if args.name else None
    count = CommandExperience(settings.root).forget(key, args.feature or "")
    emit(
        args,
        {"forgotten": count},
        f"{count} removed." if count else "There was nothing to remove.",
    )
    return 0 if count else 1
