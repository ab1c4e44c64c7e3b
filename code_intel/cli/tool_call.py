"""Run a tool as a command: its inputs are options, and its answer is printed.

A command lists the inputs that it offers and their flags. Type, choices, default and help text come
from the tool's signature.
"""

import argparse
import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from code_intel.cli.project import as_project_path, project_of, require_index, terminal_of
from code_intel.cli.terminal_words import TERMINAL_WORDS
from code_intel.config import Settings
from code_intel.errors import CodeIntelError
from code_intel.tools.context.corpus_service import open_project
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.context.searchers import in_process
from code_intel.tools.declaration import Answer, Tool
from code_intel.tools.progress import Report, ignore_progress
from code_intel.tools.wire.reader import in_terminal, in_words

ToolFunction = Callable[..., Awaitable[Answer]]
NEEDS_NO_INDEX = frozenset({"search_text"})
"""Tools that read files on disk only."""
_TYPES: Mapping[str, Callable[[str], Any]] = {"integer": int, "number": float}


class ToolOption(NamedTuple):
    """A command-line option for an input of a tool.

    Attributes:
        flag: The option, such as `--top-k`, or `-i/--ignore-case` with a short form.
        field: The input, such as `top_k` or `expectedResults.keywords`.
        metavar: The placeholder of its value in the help.
        about: Its help text, if the description in the tool does not fit.
    """

    flag: str
    field: str
    metavar: str = ""
    about: str = ""


def add_options(
    parser: argparse.ArgumentParser, tool: ToolFunction, options: Sequence[ToolOption]
) -> None:
    """Declare the options for inputs of a tool."""
    schema = Tool(tool).schema
    for option in options:
        field = _field(schema, option.field)
        settings: dict[str, Any] = {"dest": option.field, "help": _help(field, option.about)}
        kind = field.get("type")
        if kind == "boolean":
            settings |= {"action": "store_true", "default": None}
        elif "enum" in field:
            settings["choices"] = field["enum"]
        else:
            settings["type"] = _TYPES.get(str(kind), str)
            settings["metavar"] = option.metavar or None
            settings["action"] = "append" if kind == "array" else "store"
        parser.add_argument(*option.flag.split("/"), **settings)


def run_tool(
    args: argparse.Namespace,
    tool: ToolFunction,
    options: Sequence[ToolOption],
    inputs: Mapping[str, Any],
    *,
    paths: Collection[str] = (),
    rows: str = "",
) -> Answer:
    """Run a tool with the options of a command line and further inputs, outside any session.

    Args:
        args: The command line.
        tool: The tool's function.
        options: The options that are inputs of the tool.
        inputs: Further inputs.
        paths: The inputs that are paths. In the terminal they are relative to the current folder.
        rows: The field whose rows of all pages to return; by default those of one page.

    Raises:
        UsageError: An argument is wrong; the error names the option.
        NotFoundError: The project is not indexed yet.
    """
    with with_option_names(tool, options):
        settings = project_of(args)
        given = {**tool_inputs(args, options), **inputs}
        for name in paths:
            group, _, field = name.rpartition(".")
            holder = given.get(group, {}) if group else given
            if holder.get(field):
                holder[field] = _project_paths(settings, holder[field])
        return call(settings, tool, given, words=words_of(options), rows=rows)


def _project_paths(settings: Settings, given: str | list[str]) -> str | list[str]:
    if isinstance(given, str):
        return as_project_path(settings.root, given) if given.strip() else given
    return [as_project_path(settings.root, each) if each.strip() else each for each in given]


def words_of(options: Sequence[ToolOption]) -> dict[str, str]:
    """Return what tools and the inputs of these options are called in the terminal."""
    return {**TERMINAL_WORDS, **{option.field: _long(option) for option in options}}


def _long(option: ToolOption) -> str:
    return option.flag.rpartition("/")[2]


def tool_inputs(args: argparse.Namespace, options: Sequence[ToolOption]) -> dict[str, Any]:
    """Return the inputs that a command line contains, by field."""
    given: dict[str, Any] = {}
    for option in options:
        value = getattr(args, option.field, None)
        group, _, name = option.field.rpartition(".")
        if value is not None:
            (given.setdefault(group, {}) if group else given)[name] = value
    return given


@contextmanager
def with_option_names(tool: ToolFunction, options: Sequence[ToolOption]) -> Iterator[None]:
    """Replace the names of the tool's inputs in errors with those of the command's options."""
    try:
        yield
    except CodeIntelError as error:
        name = Tool(tool).name
        fields = {
            option.field: _long(option)
            for option in options
            if not option.field.islower() or "_" in option.field  # not an ordinary word
        }
        error.message = in_words(error.message.removeprefix(f"{name}: "), fields)
        error.hint = in_words(error.hint.replace(f" and call {name} again", ""), fields)
        raise


def call(
    settings: Settings,
    tool: ToolFunction,
    given: Mapping[str, Any],
    report: Report = ignore_progress,
    *,
    words: Mapping[str, str] = TERMINAL_WORDS,
    rows: str = "",
) -> Answer:
    """Call a tool outside any session. It may not write to the indexes.

    Args:
        settings: The project.
        tool: The tool's function.
        given: Its arguments.
        report: Receives progress.
        words: What tools and inputs are called in the text of the answer.
        rows: The field whose rows of all pages to return.

    Raises:
        UsageError: An argument is wrong; the error names the field.
        NotFoundError: The project is not indexed yet.
    """
    if Tool(tool).name not in NEEDS_NO_INDEX:
        require_index(settings)
    arguments, _ = Tool(tool).arguments(given)
    with in_terminal(terminal_of(settings, words)):
        return asyncio.run(_call(settings, tool, arguments, report, rows))


async def _call(
    settings: Settings, tool: ToolFunction, arguments: Mapping[str, Any], report: Report, rows: str
) -> Answer:
    map_service, forest_service = open_project(settings, readonly=True)
    context = GatewayContext(
        settings,
        in_process(map_service, forest_service),
        map_service.index,
        forest_service.index,
        map_service.embedder,
        report=report,
    )
    try:
        answer = await tool(context, **arguments)
        found = list(answer.data[rows]) if rows else []
        while rows and (cursor := answer.data["next_cursor"]):
            answer = await tool(context, **{**arguments, "cursor": cursor})
            found += answer.data[rows]
        return Answer({**answer.data, rows: found}, answer.text) if rows else answer
    finally:
        context.projects.close()
        map_service.index.close()
        forest_service.index.close()


def _field(schema: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return the JSON schema of an input; of several types, the array or else the first."""
    found: dict[str, Any] = dict(schema)
    for name in path.split("."):
        found = found["properties"][name]
        if "anyOf" in found:
            outer = {key: value for key, value in found.items() if key != "anyOf"}
            kinds = {str(one.get("type")): one for one in found["anyOf"]}
            kinds.pop("null", None)
            found = kinds.get("array", next(iter(kinds.values()))) | outer
    return found


def _help(field: Mapping[str, Any], about: str) -> str:
    """Return the help text of an option."""
    text = about or str(field["description"]).removesuffix(".")
    if not text[:2].isupper():
        text = text[:1].lower() + text[1:]
    default = field.get("default")
    if default and field.get("type") != "boolean" and "default" not in text:
        text += f" (default: {default})"
    if field.get("type") == "array":
        text += "; may be repeated"
    return text.replace("%", "%%")
