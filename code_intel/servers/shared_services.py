"""Share the indexes and models of a project between the servers of one process.

The gateway, the index servers and the command server of a project may run in the same process
(docs/decisions/0099). Each index is then open once, and each model is loaded once.
"""

from dataclasses import replace

from code_intel.config import IndexConfig, Settings
from code_intel.tools.context.commands import CommandContext, open_commands
from code_intel.tools.context.corpus_service import (
    CorpusService,
    open_project,
    open_service,
)


class SharedServices:
    """The services of one project; each is opened when it is first needed."""

    def __init__(self, settings: Settings) -> None:
        """Begin with none."""
        self.settings = settings
        self._services: tuple[CorpusService, CorpusService] | None = None
        self._commands: CommandContext | None = None

    def of_project(self) -> tuple[CorpusService, CorpusService]:
        """Return the services of the map and the forest."""
        if self._services is None:
            self._services = open_project(self.settings)
        return self._services

    def of_config(self, config: IndexConfig) -> CorpusService:
        """Return the service of an index; one of its own, unless it is an index of the project."""
        for service in self.of_project():
            own = service.index.config
            if replace(config, knowledge=own.knowledge) == own:
                return service
        return open_service(config)

    def commands(self) -> CommandContext:
        """Return the project's commands."""
        if self._commands is None:
            _, forest = self.of_project()
            self._commands = open_commands(self.settings, forest.embedder, forest.index.cache)
        return self._commands

    def close(self) -> None:
        """Close what has been opened."""
        if self._commands is not None:
            self._commands.close()
        for service in self._services or ():
            service.index.close()
