"""Render the prompt of a command with options; run its program only on request.

A prompt file is rendered by reading it. A program is started by a POST alone, and only if the page
may write: it is the program that `code-intel commands execute` would run.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from code_intel.errors import CodeIntelError, ExecutionError, UsageError
from code_intel.operations.commands import execute_command, planned_command
from code_intel.registry.options import COMMAND_OPTIONS
from code_intel.registry.records import (
    DEFAULT_AGENT,
    VARIABLE_PATTERN,
    Command,
    CommandKey,
    ExecutionResult,
)
from code_intel.tools.commands.command_describe import commands_of
from code_intel.tools.context.commands import CommandContext
from code_intel.ui.access import form_of
from code_intel.ui.language import N_
from code_intel.ui.project import project_of
from code_intel.ui.rendering import render

MAX_TEXT_CHARS = 1500
"""Characters of the input text in the form, which is a part of the address of the page."""
MORE = "more"
"""The field for variables that the form does not have, one NAME=VALUE per line."""


@dataclass(frozen=True)
class Field:
    """A field of the form.

    Attributes:
        name: The name of the option.
        value: Its value.
        choices: The values to choose from; empty if any is allowed.
        about: What the registry says about it.
        is_missing: Whether the prompt uses it and it has no value.
    """

    name: str
    value: str
    choices: tuple[str, ...] = ()
    about: str = ""
    is_missing: bool = False


@dataclass(frozen=True)
class CommandPage:
    """What the page of a command shows.

    Attributes:
        key: The names of the command.
        commands: All commands of these names; the first is rendered.
        fields: The fields of the form.
        hidden: Fields of options that the command does not list.
        more: The variables that the form has no field for, one per line.
        result: The rendered prompt, or the program that would run; None after an error.
        error: Why there is no result.
        has_run: Whether the result is the output of the program.
    """

    key: CommandKey
    commands: Sequence[Command]
    fields: Sequence[Field]
    hidden: Sequence[Field]
    more: str
    result: ExecutionResult | None
    error: CodeIntelError | None
    has_run: bool = False

    @property
    def command_line(self) -> str:
        """The command line of the program that would run."""
        return shlex.join(self.result.argv) if self.result else ""

    @property
    def missing(self) -> list[Field]:
        """The fields whose placeholders are left in the prompt."""
        return [field for field in self.fields if field.is_missing]

    @property
    def notes(self) -> list[str]:
        """The notes about the prompt, without those about missing fields."""
        missing = self.result.missing if self.result else ()
        ends = tuple(
            end for name in missing for end in (f"pass {name}.", f"pass the option {name}.")
        )
        return (
            [each for each in self.result.notes if not each.endswith(ends)] if self.result else []
        )

    @property
    def takes_file(self) -> bool:
        """Whether the form has a field for an input file."""
        return any(field.name == "file" for field in (*self.fields, *self.hidden))

    @property
    def given(self) -> dict[str, str]:
        """The names of the command and the options that have a value, for the form that runs it."""
        fields = {each.name: each.value for each in (*self.fields, *self.hidden) if each.value}
        return self.key._asdict() | fields | ({MORE: self.more} if self.more else {})


async def show(request: Request) -> Response:
    """Show a command, and its prompt if that can be rendered."""
    context, given = project_of(request).context.commands, _given(request.query_params)
    key = _key(given)
    _, commands = await commands_of(context, *key)
    error: CodeIntelError | None = None
    result: ExecutionResult | None = None
    try:
        _, result = await planned_command(context, key[1:], _options(given), key.agent)
    except (UsageError, ExecutionError) as problem:
        error = problem
    return _answer(request, _page(key, commands, given, result, error))


async def run(request: Request) -> Response:
    """Run the program of a command, and show the prompt that it prints; a GET runs nothing."""
    if request.method != "POST":
        return RedirectResponse("/commands", HTTPStatus.SEE_OTHER)
    context, given = project_of(request).context.commands, _given(form_of(request))
    key = _key(given)
    _, commands = await commands_of(context, *key)
    try:
        result = await _run(context, key, _options(given))
    except (UsageError, ExecutionError) as problem:
        return _answer(request, _page(key, commands, given, None, problem, has_run=True))
    return _answer(request, _page(key, commands, given, result, None, has_run=True))


async def _run(
    context: CommandContext, key: CommandKey, options: Mapping[str, str]
) -> ExecutionResult:
    data = (await execute_command(context, key[1:], options, key.agent)).data
    notes = tuple(data.get("notes", ()))
    return ExecutionResult(data["prompt"], data["runner"], data["truncated"], notes)


def _answer(request: Request, page: CommandPage) -> Response:
    status = HTTPStatus.OK
    if page.error:
        is_usage = isinstance(page.error, UsageError)
        status = HTTPStatus.BAD_REQUEST if is_usage else HTTPStatus.CONFLICT
    data = {"page": page, "most": MAX_TEXT_CHARS}
    return render(request, "commands/show.html", data, status)


def _key(given: Mapping[str, str]) -> CommandKey:
    names = (given.get(name, "") for name in ("c1", "c2", "c3"))
    return CommandKey(given.get("agent", "") or DEFAULT_AGENT, *names)


def _given(fields: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of a form, whose lines browsers end with CR and LF."""
    return {name: value.replace("\r\n", "\n") for name, value in fields.items()}


def _options(given: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a form; empty fields stand for missing options.

    Raises:
        UsageError: A line of further variables is not NAME=VALUE.
    """
    found = {
        name: value
        for name, value in given.items()
        if value and (name in COMMAND_OPTIONS or name.startswith("uv-"))
    }
    for line in given.get(MORE, "").splitlines():
        name, equals, value = line.strip().partition("=")
        if line.strip() and not equals:
            raise UsageError(
                N_("A further variable is not NAME=VALUE."),
                hint=N_("Write one variable per line."),
                details={"field": MORE},
            )
        if name:
            found[f"uv-{name.removeprefix('uv-')}"] = value
    return found


def _page(
    key: CommandKey,
    commands: Sequence[Command],
    given: Mapping[str, str],
    result: ExecutionResult | None,
    error: CodeIntelError | None,
    *,
    has_run: bool = False,
) -> CommandPage:
    command = commands[0]
    says, missing = command.options, result.missing if result else ()
    texts = {name: value for name, value in given.items() if name in COMMAND_OPTIONS}
    fields, hidden = [], []
    for name in COMMAND_OPTIONS:
        listed = getattr(says, name, None)
        field = Field(
            name,
            texts.get(name, ""),
            listed if isinstance(listed, tuple) else (),
            is_missing=name in missing,
        )
        if listed or field.value or field.is_missing:
            fields.append(field)
        elif says is None or isinstance(listed, tuple):
            hidden.append(field)
    known = dict(command.variables)
    given_names = (
        name for name, value in given.items() if VARIABLE_PATTERN.fullmatch(name) and value
    )
    needed = (name for name in missing if name.startswith("uv-"))
    fields += (
        Field(name, given.get(name, ""), about=known.get(name, ""), is_missing=name in missing)
        for name in dict.fromkeys((*known, *needed, *given_names))
    )
    more = given.get(MORE, "")
    return CommandPage(key, commands, fields, hidden, more, result, error, has_run)


ROUTES = (
    Route("/commands/show", show),
    Route("/commands/run", run, methods=["GET", "POST"]),
)
