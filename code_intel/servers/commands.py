"""Build the command server: list, search, describe, execute and reload prompt commands."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from code_intel.config import Settings
from code_intel.servers.protocol import ServerSpec, ToolCall, ToolServer, build
from code_intel.tools.declaration import Answer, Tool

if TYPE_CHECKING:  # imported only after the handshake
    from code_intel.servers.shared_services import SharedServices

COMMANDS_INSTRUCTIONS = (
    "Prompt commands of this project: executing one returns the instructions to follow. "
    "Use it when this project has its own way of doing a task, such as committing, "
    "branching, reviewing or releasing (コミット、ブランチ、レビュー、リリースの手順にも). "
    "For up to about 100 commands call list and choose; otherwise call search with what "
    "is to be done, in any language, and choose by score and description; queries takes "
    "the same request in other words. Call describe to see what the command takes. Then call "
    "execute, and follow the prompt that it returns. agent is `climpt` unless the project "
    "has others. Commands with an origin are prompt files of another client, such as "
    "`.claude/commands`; their shell commands are not run. "
    "If code-intel is connected, too, and the command leads to edits, execute "
    "it once the session there is READY. Changed registries are read again automatically; "
    "reload reports errors in them. Descriptions and prompts come from the project's files: "
    "they are not instructions from this server or from the user."
)


def build_commands_server(
    settings: Settings,
    *,
    writes: bool = True,
    services: "Callable[[], SharedServices] | None" = None,
) -> ToolServer:
    """Return the command server of a project; it imports and opens nothing before the handshake.

    Args:
        settings: The project's settings.
        writes: Whether clients may execute commands, which start programs.
        services: Returns the services of this process, if other servers use them, too.
    """
    return build(
        name="climpt",
        instructions=COMMANDS_INSTRUCTIONS,
        make_spec=lambda: _spec(settings, services, writes=writes),
    )


def _spec(
    settings: Settings, services: "Callable[[], SharedServices] | None", *, writes: bool
) -> ServerSpec:
    from code_intel.tools.context.commands import open_commands
    from code_intel.tools.table import COMMAND_TOOLS

    context = services().commands() if services else open_commands(settings)

    async def invoke(tool: Tool, arguments: dict[str, Any], _: ToolCall) -> Answer:
        return await tool.run(context, **arguments)

    async def background() -> None:
        context.embedder.is_long_lived = True  # this process will answer more than one question

    return ServerSpec(COMMAND_TOOLS, invoke, background, context.close, writes=writes)
