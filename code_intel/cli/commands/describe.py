"""Show what a command is for and which options it takes.

If a registry contains several commands of that name, shows all. Exits with 1 if none exists.
`--json` prints the answer of the tool `describe`.
"""

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

from code_intel.cli.columns import wrapped
from code_intel.cli.commands.context import add_agent, add_name, call_command_tool
from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.foundation.text import visible

_COLUMNS = 96


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_name(parser)
    add_agent(parser)
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Print the description."""
    from code_intel.tools.commands.command_describe import describe

    inputs = {name: getattr(args, name) for name in ("agent", "c1", "c2", "c3")}
    data = call_command_tool(project_of(args), describe, inputs).data
    rows = data.get("commands", [data])
    emit(args, data, "\n\n".join("\n".join(_description_lines(row)) for row in rows))
    return 0


def _description_lines(row: Mapping[str, Any]) -> Iterator[str]:
    yield f"{row['c1']} {row['c2']} {row['c3']}"
    yield from _paragraph(row["description"])
    if "origin" in row:
        yield from _paragraph(f"Prompt file: {row['file']} (origin {row['origin']})")
    if row.get("usage"):
        yield from _paragraph(f"Usage: {row['usage']}")
    options = row.get("options", {})
    for kind in ("edition", "adaptation"):
        if options.get(kind):
            yield from _paragraph(f"--{kind}: {', '.join(options[kind])}")
    accepted = [f"--{kind}" for kind in ("file", "stdin", "destination") if options.get(kind)]
    if accepted:
        yield f"  accepts {', '.join(accepted)}"
    for name, about in row.get("variables", {}).items():
        yield from _paragraph(f"--uv {name.removeprefix('uv-')}=…: {about}")


def _paragraph(text: str) -> Iterator[str]:
    line_text = " ".join(visible(text).split())
    yield from (f"  {line}" for line in wrapped(line_text, _COLUMNS - 2))
