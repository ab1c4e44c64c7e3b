"""Answer the searches of terminals in the gateway, where the indexes and the model are open.

The answer is the one that the terminal's own process would give: from the engine that it would
load, and with the state of the index that it would see (docs/decisions/0077). Where the gateway
cannot promise this, it has no answer, and the terminal searches itself.
"""

import logging
import os
from dataclasses import replace
from pathlib import Path

from code_intel.config import Settings
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.foundation.gateway_socket import HookOutput, HookRequest
from code_intel.index.cancellation import run_read
from code_intel.tools.context.repositories.checkouts import OpenProjects
from code_intel.tools.search.terminal_search import Services, answer
from code_intel.tools.wire.reader import Terminal
from code_intel.tools.wire.terminal_question import TerminalRequest, decode_request

logger = logging.getLogger(__name__)


class TerminalAnswers:
    """Answers the searches of terminals with the indexes and engines of the gateway."""

    def __init__(self, settings: Settings, services: Services, projects: OpenProjects) -> None:
        self._settings = settings
        self._services = services
        self._projects = projects
        self._embedders = [
            LazyEmbedder(
                settings,
                corpus=service.index.config.corpus,
                shared_with=services[0].embedder,
                prefers_faster=False,
            )
            for service in services
        ]

    async def answer(self, request: HookRequest) -> HookOutput | None:
        """Return what the command prints; None if the terminal has to search itself."""
        try:
            asked = decode_request(request.event)
            if asked.settings != self._settings.search_digest or self._has_failed_engine():
                return None
            return await run_read(self._answer, asked)
        except Exception as error:  # noqa: BLE001 - the terminal meets and reports it itself
            logger.debug("a terminal has to search itself: %r", error)
            return None

    def _has_failed_engine(self) -> bool:
        """Return whether an engine failed here, which may work in another process."""
        is_off = self._settings.embedding == "off"
        return any(
            each.degraded() or (each.why_unavailable() and not is_off) for each in self._embedders
        )

    def _answer(self, asked: TerminalRequest) -> HookOutput:
        try:
            services = self._read_once()
            found = answer(services, asked.question, self._projects)
        finally:  # not earlier, because a scan would slow this search down
            for service in self._services:
                service.index.request_scan()
        root = Path(os.path.realpath(self._settings.root))
        terminal = Terminal(root, Path(asked.folder), {}, asked.sync)
        return HookOutput(found.printed(asked.form, terminal) + "\n", exit_code=found.exit_code)

    def _read_once(self) -> Services:
        """Return the services that `open_project` opens for one answer, with the stores of here."""
        map_index, forest = (
            service.index.read_once(embedder)
            for service, embedder in zip(self._services, self._embedders, strict=True)
        )
        of_map, of_forest = self._services
        for_map, for_forest = self._embedders
        return (
            replace(of_map, index=map_index, forest=forest, embedder=for_map),
            replace(of_forest, index=forest, forest=forest, embedder=for_forest),
        )
