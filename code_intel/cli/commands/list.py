"""List every agent's commands and the problems of its registry.

C1, C1 C2 or C1 C2 C3 restricts the list. Exits with 1 if no command exists, with 2 if a registry
cannot be used.

--json: `registries` {agent, path, folders, version, description, commandCount, commands, notes} or
{agent, error, path, details}.
"""

import argparse
from collections.abc import Iterator
from typing import Any

from code_intel.cli.columns import cut
from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.errors import UsageError
from code_intel.foundation.text import counted, visible

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
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """List every registry; return 2 if one cannot be used, 1 if there is no command."""
    if len(args.name) > 3:  # noqa: PLR2004 - the names of a command
        raise UsageError("A command has three names: C1 C2 C3.", details={"field": "name"})
    from code_intel.operations.commands import registry_rows
    from code_intel.registry.place import CONFIG

    rows = registry_rows(project_of(args), args.agent, args.name)
    lines = [line for row in rows for line in _lines(row)]
    emit(args, {"registries": rows}, "\n".join(lines) or NO_AGENT_NOTE.format(CONFIG))
    if any("error" in row for row in rows):
        return 2
    return 0 if any(row["commands"] for row in rows) else 1


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
