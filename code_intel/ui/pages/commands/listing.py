"""List the commands of a registry with its problems, or find commands by purpose."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from code_intel.errors import RegistryError
from code_intel.operations.commands import search_commands
from code_intel.registry import place
from code_intel.registry.execution import unprompted
from code_intel.registry.loading import NOT_FOUND, Registries
from code_intel.registry.records import (
    DEFAULT_AGENT,
    DEFAULT_RESULTS,
    Command,
    CommandKey,
    Registry,
)
from code_intel.tools.commands.command_search import MAX_COMMANDS
from code_intel.tools.context.commands import CommandContext
from code_intel.tools.context.gateway import run_in_thread
from code_intel.ui.pages.code import number_of
from code_intel.ui.pages.paging import ListPage, page_of
from code_intel.ui.pages.questions import check_length
from code_intel.ui.project import project_of
from code_intel.ui.rendering import render, url

PAGE_SIZE = 100


@dataclass(frozen=True)
class AgentRow:
    """A registry, or why it cannot be used.

    Attributes:
        agent: The name of its agent.
        registry: The registry; None if it cannot be used.
        path: The path of its file.
        error: Why it cannot be used.
    """

    agent: str
    registry: Registry | None
    path: str
    error: RegistryError | None = None

    @property
    def is_absent(self) -> bool:
        """Whether it is the registry that every project may have, and is not there."""
        return (
            self.error is not None
            and self.agent == DEFAULT_AGENT
            and self.error.details.get("details") == NOT_FOUND
        )


@dataclass(frozen=True)
class CommandList:
    """The registries of a project, and a page of the commands of one.

    Attributes:
        agents: All registries.
        chosen: The one that is listed, or None.
        listed: Its commands.
        unprompted: Those of its commands that have no prompt.
    """

    agents: Sequence[AgentRow]
    chosen: AgentRow | None
    listed: ListPage[Command]
    unprompted: frozenset[CommandKey]

    def has_no_prompt(self, *names: str) -> bool:
        """Return whether a command of the chosen registry has no prompt."""
        agent = self.chosen.agent if self.chosen else ""
        return CommandKey(agent, *names) in self.unprompted

    @property
    def is_empty(self) -> bool:
        """Whether the project has no command and no registry at all."""
        return not any(row.registry or not row.is_absent for row in self.agents)

    def address(self, page: int) -> str:
        """Return the address of another page of the commands."""
        return url("/commands", agent=self.chosen.agent if self.chosen else "", page=page)


async def show(request: Request) -> Response:
    """Show the list, or what a search has found."""
    context = project_of(request).context.commands
    agent, query = (request.query_params.get(name, "").strip() for name in ("agent", "q"))
    check_length(query)
    page = number_of(request, "page") or 1
    found = await run_in_thread(read_commands, context, agent, page)
    answer: Mapping[str, Any] | None = None
    if query and found.chosen and found.chosen.registry:
        inputs = {"query": query, "agent": found.chosen.agent, "limit": MAX_COMMANDS}
        answer = _likely((await search_commands(context, inputs)).data)
    return render(request, "commands/list.html", {"found": found, "query": query, "answer": answer})


def _likely(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an answer without unlikely commands; if all are, with the first ones."""
    likely = [row for row in answer["results"] if "unlikely" not in row]
    return {**answer, "results": likely or answer["results"][:DEFAULT_RESULTS]}


def read_commands(context: CommandContext, agent: str, page: int) -> CommandList:
    """Return all registries, and a page of the commands of one, by default the first usable one.

    This blocks.

    Raises:
        RegistryError: The config of the registries cannot be used.
    """
    rows = [_row(context, each) for each in context.registries.agents()]
    usable = next((row for row in rows if row.registry), rows[0] if rows else None)
    chosen = next((row for row in rows if row.agent == agent), usable)
    commands = chosen.registry.commands if chosen and chosen.registry else ()
    path = chosen.registry.path if chosen and chosen.registry else context.settings.root
    return CommandList(
        rows,
        chosen,
        page_of(commands, page, PAGE_SIZE),
        unprompted(context.settings, path, commands),
    )


def _row(context: CommandContext, agent: str) -> AgentRow:
    registries: Registries = context.registries
    try:
        registry = registries.of(agent).registry
    except RegistryError as error:
        return AgentRow(agent, None, str(error.details.get("path", "")), error)
    return AgentRow(agent, registry, place.shown(registry.path, place.roots(context.settings.root)))


ROUTES = (Route("/commands", show),)
