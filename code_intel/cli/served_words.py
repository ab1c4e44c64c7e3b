"""Build the server that a command line names, for the client of another process."""

from typing import TYPE_CHECKING

from code_intel.config import Settings

if TYPE_CHECKING:  # imported when the server starts
    from code_intel.servers.protocol import ToolServer


def build_served(settings: Settings, words: tuple[str, ...]) -> "ToolServer":
    """Return the server of `code-intel serve`, `code-intel commands` or `devrag --config PATH`.

    Raises:
        ConfigError: The configuration cannot be used.
    """
    if words[0] == "devrag":
        from code_intel.cli.devrag import read_config
        from code_intel.cli.devrag.line import read
        from code_intel.cli.devrag.serve import build_server

        return build_server(read_config(read([*words[1:3], "serve"])), writes=True)
    if words[1] == "commands":
        from code_intel.servers.commands import build_commands_server

        return build_commands_server(settings)
    from code_intel.servers.gateway import build_gateway

    return build_gateway(settings)
