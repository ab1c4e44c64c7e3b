"""Run a tool as a command: its inputs are options, and its answer is printed.

A command lists the inputs that it offers and their flags. Type, choices, default and help text come
from the tool's signature.
"""

import argparse
import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from code_intel.cli.project import project_of, require_index
from code_intel.config import Settings
from code_intel.errors import BusyError, UsageError
from code_intel.tools.context.corpus_service import open_project
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.context.searchers import in_process
from code_intel.tools.declaration import Answer, Report, Tool, ignore_progress

ToolFunction = Callable[..., Awaitable[Answer]]
_TYPES: Mapping[str, Callable[[str], Any]] = {"integer": int, "number": float}


class ToolOption(NamedTuple):
    """A command-line option for an input of a tool.

    Attributes:
        flag: The option, such as `--top-k`.
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
        parser.add_argument(option.flag, **settings)


def run_tool(
    args: argparse.Namespace,
    tool: ToolFunction,
    options: Sequence[ToolOption],
    inputs: Mapping[str, Any],
) -> Answer:
    """Run a tool with the options of a command line and further inputs, outside any session.

    Raises:
        UsageError: An argument is wrong; the error names the option.
        NotFoundError: The project is not indexed yet.
    """
    with with_option_names(tool, options):
        return call(project_of(args), tool, {**tool_inputs(args, options), **inputs})


def tool_inputs(args: argparse.Namespace, options: Sequence[ToolOption]) -> dict[str, Any]:
    """Return the inputs that a command line contains, by field."""
    given: dict[str, Any] = {}
    for option in options:
        value = getattr(args, option.field)
        group, _, name = option.field.rpartition(".")
        if value is not None:
            (given.setdefault(group, {}) if group else given)[name] = value
    return given


@contextmanager
def with_option_names(tool: ToolFunction, options: Sequence[ToolOption]) -> Iterator[None]:
    """Replace the names of the tool's inputs in errors with those of the command's options."""
    try:
        yield
    except (UsageError, BusyError) as error:
        name = Tool(tool).name
        message = error.message.removeprefix(f"{name}: ")
        hint = error.hint.replace(f" and call {name} again", "")
        for option in options:
            if not option.field.islower() or "_" in option.field:  # not an ordinary word
                field = re.compile(rf"\b{re.escape(option.field)}\b")
                message, hint = (field.sub(option.flag, text) for text in (message, hint))
        raise type(error)(message, hint=hint, code=error.error, details=error.details) from error


def call(
    settings: Settings,
    tool: ToolFunction,
    given: Mapping[str, Any],
    report: Report = ignore_progress,
) -> Answer:
    """Call a tool outside any session. It may not write to the indexes.

    Args:
        settings: The project.
        tool: The tool's function.
        given: Its arguments.
        report: Receives progress.

    Raises:
        UsageError: An argument is wrong; the error names the field.
        NotFoundError: The project is not indexed yet.
    """
    require_index(settings)
    arguments, _ = Tool(tool).arguments(given)
    return asyncio.run(_call(settings, tool, arguments, report))


async def _call(
    settings: Settings, tool: ToolFunction, arguments: Mapping[str, Any], report: Report
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
        return await tool(context, **arguments)
    finally:
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
