"""Write docs/tools.md, docs/commands.md and the generated parts of docs/phases.md.

    python docs/generate.py [--check]

The documentation of a tool or command is its own description. With `--check` the script only
reports pages that are out of date. A test does the same.
"""

import argparse
import importlib
import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from code_intel.cli.devrag import DEVRAG_COMMANDS as DEVRAG
from code_intel.cli.main import COMMANDS, CliCommand, parser_of
from code_intel.cli.subcommands import SUBCOMMANDS
from code_intel.servers.shared.tools.table import TOOLS as SHARED_TOOLS
from code_intel.session.phases import (
    AFTER_MAP_MISS,
    ALLOWED,
    START,
    TRANSITIONS,
    UNGATED,
    Event,
    Intent,
    Phase,
)
from code_intel.tools.declaration import Tool
from code_intel.tools.table import COMMAND_TOOLS, GATEWAY_TOOLS, GROUPS, INDEX_TOOLS, Group

HERE = Path(__file__).resolve().parent

GATEWAY_HEAD = """\
`tools/list` returns the group `core` and the groups that the setting `tool_groups` names, because
every listed tool takes up context in every conversation. A tool that is not listed can still be
called by name."""

COMMANDS_SERVER_HEAD = """\
The server that clients list as `climpt` offers the tools of the group `commands` without a session
([prompt commands](command-registry.md)). It has no phases: the order `search`, `describe`,
`execute` is recommended, not enforced."""

SHARED_HEAD = """\
The server of a [shared index](shared.md) offers these tools over HTTP, without sessions and phases.
A call sees only the repositories that its token may read."""

TOOLS_HEAD = """\
# Tools

This page lists the tools that the servers offer over MCP. `tools/list` does not change during a
connection. A tool that the session's phase forbids returns an error that names the phase, the
allowed tools and the next step ([how a session works](phases.md)). Errors are results with
`isError` and the text `{error, message, hint}`.

Some terms appear in many descriptions. The *map* contains the project's agreements: Markdown files
in git that say which symbol a term refers to. The *forest* is the index of the source. READY is the
phase of a session in which files may be written. The query *frame* says what a request is about."""

COMMANDS_HEAD = """\
# Commands

Exit codes: 0, success; 1, a check found a problem or a search found nothing; 2, wrong usage or
configuration; 3, an internal error. Answers go to stdout, progress and messages to stderr. On a
terminal, answers are coloured; `NO_COLOR=1` switches the colours off."""

MEANINGS: Mapping[Event, tuple[str, str]] = {
    Event.STARTED: ("start_session", "The session begins."),
    Event.FRAMED: (
        "set_query_frame",
        "The query frame was set. It may raise the risk, never lower it.",
    ),
    Event.CALLED: ("every search or lookup", "A call was made; its results are recorded."),
    Event.CONFIRMED: (
        "confirm_symbol_relevance",
        "Symbols were confirmed to implement the target feature.",
    ),
    Event.MAP_MISSED: (
        "search_smart, search_map",
        "The map has no answer; search_forest is allowed.",
    ),
    Event.MAP_LIKELY: ("search_smart", "The map has a likely hit, or a guard prevented READY."),
    Event.MAP_CONFIDENT: ("search_smart", "The map has a confident hit, and no guard failed."),
    Event.UNDERSTOOD: (
        "submit_understanding",
        "All requirements are met. In READY, it adds symbols (demands of evidence).",
    ),
    Event.DOUBTED: ("submit_understanding", "Something is missing or still a hypothesis."),
    Event.SUPPOSED: ("submit_semantic", "Hypotheses were submitted, with a reason."),
    Event.VERIFIED: ("submit_verification", "At least one hypothesis was confirmed by evidence."),
    Event.REFUTED: ("submit_verification", "All hypotheses were rejected."),
    Event.EXPLORED: ("add_explored_files, submit_understanding", "More files may be written."),
    Event.PERMITTED: ("check_write_target", "The write gate allowed files; they stay open."),
    Event.RISK_RAISED: ("set_query_frame", "The risk is higher than when READY was reached."),
    Event.REVERTED: ("revert_to_exploration", "The session returned to EXPLORATION."),
    Event.LEARNED: ("record_outcome", "A success became an agreement."),
    Event.OUTCOME: ("record_outcome", "The result was recorded."),
}
"""The tool that causes each event, and the meaning of the event."""


class Layout(argparse.RawDescriptionHelpFormatter):
    """Format argparse's help independently of the terminal and the Python version."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=98)

    def _format_action_invocation(self, action: argparse.Action) -> str:  # type: ignore[explicit-override]  # typing.override needs 3.12
        """Name the value of an option once, after all of its names."""
        if not action.option_strings:
            return super()._format_action_invocation(action)
        value = "" if action.nargs == 0 else f" {self._format_args(action, action.dest.upper())}"
        return ", ".join(action.option_strings) + value


def tools_page() -> str:
    """Return docs/tools.md."""
    gateway = ["# code-intel", GATEWAY_HEAD, *(part for group in GROUPS for part in _group(group))]
    index = ["# devrag-map and devrag-forest", *map(_tool, INDEX_TOOLS)]
    commands = ["# code-intel commands", COMMANDS_SERVER_HEAD, *map(_tool, COMMAND_TOOLS)]
    shared = ["# code-intel serve-shared", SHARED_HEAD, *map(_tool, SHARED_TOOLS)]
    return "\n\n".join([TOOLS_HEAD, *gateway, *index, *commands, *shared]) + "\n"


def _group(group: Group) -> list[str]:
    names = ", ".join(f"`{tool.name}`" for tool in group.tools)
    return [f"## Group {group.name}\n\n{group.about} {names}", *map(_tool, group.tools)]


def commands_page() -> str:
    """Return docs/commands.md."""
    ours = [_command("code-intel", command) for command in COMMANDS]
    devrag = [_command("devrag", command) for command in DEVRAG]
    return "\n\n".join([COMMANDS_HEAD, *ours, *devrag]) + "\n"


def phases_page() -> str:
    """Return docs/phases.md with its generated parts updated."""
    page = (HERE / "phases.md").read_text(encoding="utf-8")
    for name, lines in (("diagram", _diagram()), ("events", _events()), ("tools", _by_phase())):
        begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
        before, _, rest = page.partition(begin)
        after = rest.partition(end)[2]
        page = "".join((before, begin, *(f"{line}\n" for line in lines), end, after))
    return page


def _diagram() -> Iterator[str]:
    """Return the transitions as a state diagram, with one arrow for each pair of phases."""
    yield from ("```mermaid", "stateDiagram-v2")
    starts: dict[Phase, list[str]] = {}
    for intent, phase in START.items():
        starts.setdefault(phase, []).append(intent.value)
    yield from (
        f"    [*] --> {phase}: {', '.join(starts[phase])}" for phase in Phase if phase in starts
    )
    for phase, row in TRANSITIONS.items():
        moves: dict[Phase, list[str]] = {}
        for event, target in row.items():
            if not _changes_no_phase(event):
                moves.setdefault(target, []).append(event.value)
        yield from (
            f"    {phase} --> {target}: {', '.join(names)}" for target, names in moves.items()
        )
    yield "```"


def _changes_no_phase(event: Event) -> bool:
    """Return whether an event never changes the phase."""
    return all(row.get(event) is phase for phase, row in TRANSITIONS.items())


def _events() -> Iterator[str]:
    yield f"| event | tool | meaning | {' | '.join(Phase)} |"
    yield "|---" * (3 + len(Phase)) + "|"
    for event in Event:
        tool, meaning = MEANINGS[event]
        cells = (_target(phase, event) for phase in Phase)
        yield f"| `{event}` | {tool} | {meaning} | {' | '.join(cells)} |"


def _target(phase: Phase, event: Event) -> str:
    if event is Event.STARTED:
        intents = [intent.value for intent in Intent if START[intent] is phase]
        return f"starts here: {', '.join(intents)}" if intents else "–"
    target = TRANSITIONS[phase].get(event)
    return "–" if target is None else "stays" if target is phase else f"→ {target}"


def _by_phase() -> Iterator[str]:
    names = [tool.name for tool in GATEWAY_TOOLS]
    yield f"In every phase: {', '.join(f'`{name}`' for name in names if name in UNGATED)}."
    yield ""
    yield f"| tool | {' | '.join(Phase)} |"
    yield "|---" * (1 + len(Phase)) + "|"
    for name in names:
        if name not in UNGATED:
            yield f"| `{name}` | {' | '.join(_answers(phase, name) for phase in Phase)} |"


def _answers(phase: Phase, tool: str) -> str:
    if tool not in ALLOWED[phase]:
        return "–"
    return "after a map miss" if (phase, tool) in AFTER_MAP_MISS else "yes"


def _tool(tool: Tool) -> str:
    required = tool.schema.get("required", [])
    rows = [
        f"| `{name}` | {_type(schema)} | {_default(name, schema, required)} "
        f"| {schema.get('description', '')} |"
        for name, schema in tool.schema["properties"].items()
    ]
    table = ["| parameter | type | default | meaning |", "|---|---|---|---|", *rows] if rows else []
    return "\n".join([f"### {tool.name}", "", tool.description, *([""] if rows else []), *table])


def _type(schema: dict[str, object]) -> str:
    options = schema.get("anyOf")
    if isinstance(options, list):
        return " or ".join(_type(option) for option in options)
    choices = schema.get("enum")
    if isinstance(choices, list):
        return ", ".join(map(str, choices))
    return str(schema.get("type", "any"))


def _default(name: str, schema: dict[str, object], required: Sequence[str]) -> str:
    return "**required**" if name in required else f"`{schema.get('default')!r}`"


def _command(program: str, command: CliCommand, level: str = "##") -> str:
    module = importlib.import_module(command.module)
    about = inspect.getdoc(module) or ""
    parser = parser_of(command, program)
    parser.formatter_class = Layout
    usage = parser.format_help().partition("\n\n")
    options = usage[2].partition("positional arguments:")[2] or usage[2].partition("options:")[2]
    heading = (
        "arguments:" + options if "positional arguments:" in usage[2] else "options:" + options
    )
    block = f"```\n{usage[0]}\n\n{heading.rstrip()}\n```"
    name = f"{program} {command.name}"
    subcommands = SUBCOMMANDS.get(name.removeprefix("code-intel "), ())
    words = [_command(name, subcommand, f"{level}#") for subcommand in subcommands]
    return "\n\n".join([f"{level} {name}", about, block, *words])


PAGES = {"tools.md": tools_page, "commands.md": commands_page, "phases.md": phases_page}


def main() -> int:
    """Write the pages; with `--check`, return 1 if one is out of date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    outdated = []
    for name, page in PAGES.items():
        path, text = HERE / name, page()
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        outdated.append(name)
        if not args.check:
            path.write_text(text, encoding="utf-8")
    print("\n".join(outdated) or "up to date", file=sys.stderr)
    return 1 if outdated and args.check else 0


if __name__ == "__main__":
    sys.exit(main())
