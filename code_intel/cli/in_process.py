"""Whatever answers for map and forest where there is no server: the project's own indexes, in this process."""

from dataclasses import dataclass

from code_intel.index.waiting import reading
from code_intel.records import SearchAnswer, UpstreamStatus
from code_intel.tools.shelf import Shelf


@dataclass(frozen=True)
class InProcess:
    """A `records.Searcher` over the two shelves of a project."""

    map: Shelf
    forest: Shelf

    async def search_map(self, query: str, top_k: int) -> SearchAnswer:
        """Ask the map for agreements."""
        return await reading(self.map.search, query, top_k)

    async def search_forest(
        self, query: str, top_k: int, directory: str = "", file_pattern: str = ""
    ) -> SearchAnswer:
        """Ask the forest for chunks of source."""
        return await reading(self.forest.search, query, top_k, directory, file_pattern)

    def states(self) -> tuple[UpstreamStatus, ...]:
        """Say how both are doing now: the map, then the forest."""
        return tuple(
            UpstreamStatus(f"devrag-{shelf.index.config.corpus}", "in process", "ready")
            for shelf in (self.map, self.forest)
        )
