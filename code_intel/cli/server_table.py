"""Build the servers of a process by their command lines.

They share the indexes and models of the project (docs/decisions/0099).
"""

from functools import cache
from typing import TYPE_CHECKING

from code_intel.config import Settings

if TYPE_CHECKING:  # imported when a server starts
    from code_intel.servers.protocol import ToolServer
    from code_intel.servers.shared_services import SharedServices


class ServerTable:
    """Builds the servers of `code-intel serve`, `code-intel commands` and `devrag --config PATH`.

    They serve stdin, so clients may execute commands and change files.
    """

    def __init__(self, settings: Settings) -> None:
        """Begin without any; nothing is imported."""
        self._settings = settings
        self._services = cache(lambda: _open_services(settings))

    def build(self, words: tuple[str, ...]) -> "ToolServer":
        """Return the server of a command line.

        Raises:
            CodeIntelError: The configuration cannot be used.
        """
        if words[0] == "devrag":
            return self._index_server(words[2])
        if words[1] == "commands":
            from code_intel.servers.commands import build_commands_server

            return build_commands_server(self._settings, services=self._services)
        from code_intel.servers.gateway import build_gateway

        return build_gateway(self._settings, services=self._services)

    def _index_server(self, path: str) -> "ToolServer":
        from code_intel.cli.devrag import read_config
        from code_intel.cli.devrag.line import read
        from code_intel.servers.index_server import build_index_server

        config = read_config(read(["--config", path, "serve"]))
        return build_index_server(config.corpus, lambda: self._services().of_config(config))


def _open_services(settings: Settings) -> "SharedServices":
    from code_intel.servers.shared_services import SharedServices

    return SharedServices(settings)
