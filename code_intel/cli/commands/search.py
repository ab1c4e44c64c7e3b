"""Find commands by purpose, in any language, best first. Nothing is executed or recorded.

--also repeats the question in other words, such as the action and the target.
Exits with 1 if no command is likely; unlikely ones are marked. `--json` prints the answer of the
tool `search`.
"""

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

from code_intel.cli.columns import wrapped
from code_intel.cli.commands.context import add_agent, call_command_tool
from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.foundation.text import visible
from code_intel.registry.records import DEFAULT_RESULTS

_COLUMNS = 96


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("query", nargs="+", help="what you want to do")
    parser.add_argument(
        "--also",
        action="append",
        metavar="QUERY",
        help="the question in other words; at most four times",
    )
    parser.add_argument(
        "--top-k",
        type=int,
        default=DEFAULT_RESULTS,
        metavar="N",
        help=f"number of commands (default: {DEFAULT_RESULTS}, at most 20)",
    )
    add_agent(parser)
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Print the commands found; return 1 if none is likely."""
    from code_intel.tools.commands.command_search import search

    query = " ".join(args.query)
    inputs = {"query": query, "agent": args.agent, "limit": args.top_k}
    if args.also:
        inputs["queries"] = [query, *args.also]
    answer = call_command_tool(project_of(args), search, inputs)
    emit(args, answer.data, "\n".join(_lines(answer.data)))
    return 0 if any("unlikely" not in row for row in answer.data["results"]) else 1


def _lines(data: Mapping[str, Any]) -> Iterator[str]:
    from code_intel.registry.meaning import PENDING

    for row in data["results"]:
        origin = f" (origin {row['origin']})" if "origin" in row else ""
        mark = "  (unlikely)" if "unlikely" in row else ""
        yield f"{row['score']:.2f}  {row['c1']} {row['c2']} {row['c3']}{origin}{mark}"
        description = " ".join(visible(row["description"]).split())
        yield from (f"      {line}" for line in wrapped(description, _COLUMNS - 6, limit=3))
    if not data["results"] or "listed" in data:
        yield "No command is likely. `code-intel commands list` lists all of them."
    reasons = [reason.removeprefix("embedding: ") for reason in data["degraded"]]
    yield from (f"Note: {visible(note)}" for note in (*reasons, *data.get("warnings", ())))
    if any(PENDING.rpartition("}")[2] in reason for reason in data["degraded"]):
        yield "Note: `code-intel commands reload` computes them now."
