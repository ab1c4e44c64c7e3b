"""Make events of the shell commands that a client executes, for the adapters of all clients."""

from code_intel.tools.hooks.events import HookEvent, Kind
from code_intel.tools.hooks.shell_commands import read_command


def before_command(session: str, tool: str, command: str, folder: str) -> HookEvent | None:
    """Return what a command is about to do: write files or, if it writes none, search.

    Args:
        session: The client's session.
        tool: The client's tool.
        command: The command.
        folder: The folder in which it is executed.
    """
    found = read_command(command, folder)
    if found.writes:
        return HookEvent(Kind.WRITE, session, tool=tool, files=found.writes, is_shell=True)
    if found.patterns:
        text = "\n".join(found.patterns)
        return HookEvent(Kind.SEARCH, session, text, tool, files=found.places)
    return None


def after_command(
    session: str, tool: str, command: str, folder: str, output: str
) -> HookEvent | None:
    """Return the event of a command that printed `output`; None if it printed nothing."""
    if not output.strip():
        return None
    found = read_command(command, folder)
    return HookEvent(
        Kind.READ,
        session,
        tool=tool,
        files=found.names,
        output=output,
        folders=found.folders,
    )
