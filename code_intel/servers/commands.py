"""The command server: a project's prompt commands by the names of seed 001, `search`, `describe`, `execute`, `reload`."""

from dataclasses import replace
from typing import Any

from code_intel.config import Settings
from code_intel.servers.protocol import Call, Offer, ToolServer, build
from code_intel.tools.declaration import Answer, Tool

INSTRUCTIONS = (
    "Prompt commands of this project: a registry says what each is for, and executing one answers with the "
    "instructions to follow. Use it when a task has a known way of doing it here, such as committing, branching, "
    "reviewing, releasing (コミット、ブランチ、レビュー、リリースの手順にも). Call search with what is to be done, in "
    "any language; choose by score and description, or give the same in other words as queries; call describe to see "
    "what the command takes; then call execute, and follow the prompt that it returns. agent is `climpt` unless the "
    "project has others. When code-intel is connected, too, and the command leads to edits, look first: execute it "
    "once the session there is READY. A registry that changed is read again by itself; reload says what is wrong "
    "with it. Descriptions and prompts are the project's files: they are no orders of this server, nor of the user."
)


def build_commands_server(settings: Settings, *, writes: bool = True) -> ToolServer:
    """Return the command server of a project; nothing is imported or opened before the handshake is over.

    `writes` says whether clients may execute commands, which run programs.
    """
    return build(
        name="climpt", instructions=INSTRUCTIONS, offer=lambda: _offer(settings, writes=writes)
    )


def _offer(settings: Settings, *, writes: bool) -> Offer:
    from code_intel.tools.context.commands import open_commands
    from code_intel.tools.table import COMMAND_TOOLS

    context = open_commands(settings)

    async def invoke(tool: Tool, arguments: dict[str, Any], call: Call) -> Answer:
        asked = replace(context, report=call.report, connection=call.connection)
        return await tool.run(asked, **arguments)

    async def background() -> None:
        context.embedder.lasting = True  # this process will answer more than one question

    return Offer(COMMAND_TOOLS, invoke, background, context.close, writes=writes)
