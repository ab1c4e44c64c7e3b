"""Search the map and the forest, in this process or through another server.

`ProjectSearcher` is the `records.Searcher` of the gateway and the terminal. It searches each corpus
in the project's own index (`LocalCorpus`) or, if the settings name one, through a connection to
another server (`servers.upstream`).
"""

import logging
from collections.abc import Awaitable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

import anyio

from code_intel.errors import CodeIntelError, UpstreamError
from code_intel.index.cancellation import run_read
from code_intel.records import Corpus, SearchAnswer, Searcher, UpstreamStatus
from code_intel.tools.context.corpus_service import CorpusService

logger = logging.getLogger(__name__)

IN_PROCESS = "in process"
LOCAL_TIMEOUT_S = 30.0
"""Time limit of a search in this process; the first search may have to load a model."""


class CorpusSearcher(Protocol):
    """Searches one corpus."""

    @property
    def status(self) -> UpstreamStatus:
        """Its current state."""

    async def search(
        self, query: str, top_k: int, directory: str = "", file_pattern: str = ""
    ) -> SearchAnswer:
        """Search the corpus.

        Raises:
            UpstreamError: It did not answer; the message begins with the name of the corpus.
        """


@dataclass(frozen=True)
class ProjectSearcher:
    """A `records.Searcher` over the two corpora of a project."""

    map: CorpusSearcher
    forest: CorpusSearcher

    async def search_map(self, query: str, top_k: int) -> SearchAnswer:
        """Search the map for agreements."""
        return await self.map.search(query, top_k)

    async def search_forest(
        self, query: str, top_k: int, directory: str = "", file_pattern: str = ""
    ) -> SearchAnswer:
        """Search the forest for chunks of source."""
        return await self.forest.search(query, top_k, directory, file_pattern)

    def states(self) -> tuple[UpstreamStatus, ...]:
        """Return the current states of the map and the forest."""
        return (self.map.status, self.forest.status)


class UnavailableCorpus(NamedTuple):
    """A corpus that did not answer, with the error and its current state; see `degraded`."""

    error: UpstreamError
    status: UpstreamStatus


async def try_search(
    searcher: Searcher, corpus: Corpus, answer: Awaitable[SearchAnswer]
) -> tuple[SearchAnswer | None, tuple[UnavailableCorpus, ...]]:
    """Await the answer of a corpus; if none exists, return the reason."""
    try:
        return await answer, ()
    except UpstreamError as error:
        map_state, forest_state = searcher.states()
        return None, (UnavailableCorpus(error, map_state if corpus == "map" else forest_state),)


class LocalCorpus:
    """One corpus, searched in this process on a worker thread."""

    def __init__(self, service: CorpusService, timeout_s: float = LOCAL_TIMEOUT_S) -> None:
        self._service = service
        self._timeout_s = timeout_s
        self._name = f"devrag-{service.index.config.corpus}"
        self._error = ""
        self._since = _now()
        self._failing_since = ""

    @property
    def status(self) -> UpstreamStatus:
        """The state, which is always "ready", with the last error."""
        since = self._failing_since or self._since
        return UpstreamStatus(self._name, IN_PROCESS, "ready", since=since, error=self._error)

    async def search(
        self, query: str, top_k: int, directory: str = "", file_pattern: str = ""
    ) -> SearchAnswer:
        """Search the index within a time limit.

        Raises:
            UpstreamError: The index cannot be used, or the search took too long.
        """
        try:
            with anyio.fail_after(self._timeout_s):
                answer = await run_read(self._service.search, query, top_k, directory, file_pattern)
        except TimeoutError:
            raise self._failure(f"it did not answer within {self._timeout_s:g} s") from None
        except CodeIntelError as error:
            raise self._failure(error.message, error.hint) from error
        except Exception as error:
            logger.exception("the search in %s failed", self._name)
            raise self._failure(f"the search failed: {type(error).__name__}") from error
        self._failing_since = ""
        return answer

    def _failure(self, message: str, hint: str | None = None) -> UpstreamError:
        self._error = message.rstrip(".")
        self._failing_since = self._failing_since or _now()
        return UpstreamError(f"{self._name}: {self._error}.", hint=hint)


def in_process(map_service: CorpusService, forest_service: CorpusService) -> ProjectSearcher:
    """Return a searcher for both indexes in this process."""
    return ProjectSearcher(LocalCorpus(map_service), LocalCorpus(forest_service))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
