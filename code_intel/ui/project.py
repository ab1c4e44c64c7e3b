"""Open the project of the page: its settings, indexes and model."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from starlette.requests import Request

from code_intel.config import Settings
from code_intel.index.facade import Index
from code_intel.learned.history.answer_sizes import AnswerSize
from code_intel.operations.map.session_costs import SessionFigureCache, SessionFigures
from code_intel.records import Freshness
from code_intel.tools.context.commands import CommandContext, open_commands
from code_intel.tools.context.corpus_service import CorpusService, open_project, project_sync
from code_intel.tools.context.freshness import refresh_changed
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.context.searchers import in_process
from code_intel.ui.installation import InstallationCheck
from code_intel.ui.map_cache import MapEntryCache
from code_intel.ui.map_entries import MapEntries, MapEntry
from code_intel.ui.updating import Updater
from code_intel.ui.writes import Writes


@dataclass
class OpenProject:
    """One project, open while its page is served.

    Pages read with `context`, whose indexes never change the databases. A write uses `writing`.

    Attributes:
        settings: The settings.
        readonly: Whether the page may write nothing.
        services: The services of the map and the forest, for reading.
        context: The context for reading.
        updater: Updates the indexes in the background.
        installation: Checks the installation in the background.
        writes: The last changes, which can be undone.
    """

    settings: Settings
    readonly: bool
    services: tuple[CorpusService, CorpusService] = field(init=False)
    context: GatewayContext = field(init=False)
    updater: Updater = field(init=False)
    installation: InstallationCheck = field(init=False)
    writes: Writes = field(default_factory=Writes)
    _entries: MapEntryCache = field(default_factory=MapEntryCache)
    _figures: SessionFigureCache = field(default_factory=SessionFigureCache)
    _writing: GatewayContext | None = None
    _commands: CommandContext | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Create the services; nothing is opened yet."""
        map_service, forest_service = self.services = open_project(self.settings, readonly=True)
        for service in self.services:
            service.index.disk_check.in_background = True
        self.context = GatewayContext(
            settings=self.settings,
            upstream=in_process(map_service, forest_service),
            map=map_service.index,
            forest=forest_service.index,
            embedder=map_service.embedder,
            connection=None,
            opens_commands=self._open_commands,
            map_cache=map_service.cache,
        )
        embedders = {"map": map_service.embedder, "forest": forest_service.embedder}
        self.installation = InstallationCheck(self.settings, embedders)
        self.updater = Updater(self.settings, self.installation.expire)

    def freshness(self) -> dict[str, Freshness]:
        """Return how complete and current each index is."""
        return {service.index.config.corpus: service.freshness(()) for service in self.services}

    def map_entries(self) -> MapEntries:
        """Return the entries of the map with their status; this blocks."""
        return self._entries.entries(self.context)

    def map_entry(self, file: str, *, indexes: bool = False) -> MapEntry:
        """Return an entry of the map, judged by the index as it is now; this blocks.

        Args:
            file: The name of its file, or a `reference`.
            indexes: Whether to index its source files first if they have changed, for a change.

        Raises:
            NotFoundError: The map has no file of this name.
        """
        entry = self.map_entries().named(file)
        if indexes and entry.agreement:
            refresh_changed(self.writing(), entry.files)
        return self._entries.entry(self.context, file)

    def session_figures(
        self, sizes: Mapping[str, Sequence[AnswerSize]] | None = None
    ) -> list[SessionFigures]:
        """Return what the newest sessions cost, and what the map answered in them; this blocks.

        `sizes` is the log of answers, if the caller has read it.
        """
        return self._figures.figures(self.settings, sizes)

    def writing(self) -> GatewayContext:
        """Return a context whose indexes may be changed; it shares the model of the other one."""
        with self._lock:
            if self._writing is None:
                map_index, forest = (
                    Index(
                        service.index.config,
                        embedder=service.embedder,
                        cache=service.index.cache,
                        command=project_sync(self.settings),
                    )
                    for service in self.services
                )
                self._writing = GatewayContext(
                    self.settings,
                    None,
                    map_index,
                    forest,
                    self.context.embedder,
                    map_cache=self.context.map_cache,
                )
            return self._writing

    def close(self) -> None:
        """Close the indexes."""
        self.updater.stop()
        contexts = (self.context, self._writing) if self._writing else (self.context,)
        for context in contexts:
            context.map.close()
            context.forest.close()
        if self._commands:
            self._commands.close()

    def _open_commands(self) -> CommandContext:
        with self._lock:
            if self._commands is None:
                forest = self.services[1]
                self._commands = open_commands(self.settings, forest.embedder, forest.index.cache)
            return self._commands


def project_of(request: Request) -> OpenProject:
    """Return the project that the server of a request serves."""
    project: OpenProject = request.app.state.project
    return project
