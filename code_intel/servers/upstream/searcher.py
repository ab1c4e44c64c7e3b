"""Search the corpora for which the settings name a command or a URL."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio

from code_intel.config import Settings, UpstreamConfig
from code_intel.errors import UpstreamError
from code_intel.records import SearchAnswer, UpstreamStatus
from code_intel.servers.upstream.answer import answer_of, filtered, project_name, with_notes
from code_intel.servers.upstream.connection import Connection
from code_intel.servers.upstream.report import StatusFile
from code_intel.tools.context.searchers import CorpusSearcher, ProjectSearcher


class RemoteCorpus:
    """One corpus, searched through a supervised connection."""

    def __init__(self, connection: Connection, root: Path) -> None:
        config = connection.config
        self._connection = connection
        self._naming = partial(project_name, root, config.cwd if config.command else root)

    @property
    def status(self) -> UpstreamStatus:
        """The current state of the connection."""
        return self._connection.status

    async def search(
        self, query: str, top_k: int, directory: str = "", file_pattern: str = ""
    ) -> SearchAnswer:
        """Search on the server.

        Raises:
            UpstreamError: It refused, did not answer in time, or gave an invalid answer.
        """
        parameters = {"directory": directory, "file_pattern": file_pattern}
        filters = {name: value for name, value in parameters.items() if value}
        data = await self._connection.ask({"query": query, "top_k": top_k, **filters})
        try:
            answer, dropped = answer_of(data, top_k=top_k, naming=self._naming)
        except UpstreamError as error:
            raise self._connection.invalid_answer(error) from None
        self._connection.record_answer(dropped)
        answer = with_notes(answer, self._connection.config.name, dropped)
        return filtered(answer, directory, file_pattern) if filters else answer


class Upstreams:
    """The connections of a gateway, and the tasks that keep them open."""

    def __init__(self, settings: Settings, local: ProjectSearcher) -> None:
        self._status_file = StatusFile(settings.state)
        self._connections = {
            name: Connection(config, self._report) for name, config in settings.upstreams.items()
        }
        remote: dict[str, CorpusSearcher] = {
            name: RemoteCorpus(connection, settings.root)
            for name, connection in self._connections.items()
        }
        self.searcher = ProjectSearcher(
            map=remote.get("devrag-map", local.map),
            forest=remote.get("devrag-forest", local.forest),
        )

    async def run(self) -> None:
        """Keep the connections open until cancelled, then remove the status file."""
        try:
            async with anyio.create_task_group() as group:
                for connection in self._connections.values():
                    group.start_soon(connection.run)
        finally:
            self._status_file.close()

    def _report(self) -> None:
        self._status_file.write(self.searcher.states())


def try_out(config: UpstreamConfig) -> str:
    """Connect, search once for one hit, and return what `doctor` says about the result.

    Raises:
        UpstreamError: The upstream did not answer, or its answer is invalid.
    """
    # The question waits for the start, so its time limit must include it.
    with_start_time = replace(config, call_seconds=config.start_seconds + config.call_seconds)
    hits = anyio.run(_count_hits, Connection(with_start_time))
    return f"{hits} hit" if hits else "the test search found nothing, which may be correct"


async def _count_hits(connection: Connection) -> int:
    failure: UpstreamError | None = None
    hits = 0
    async with anyio.create_task_group() as group:
        group.start_soon(connection.run)
        try:
            data = await connection.ask({"query": "test", "top_k": 1})
            hits = len(answer_of(data, top_k=1)[0].hits)
        except UpstreamError as error:  # if raised here, it would become an exception group
            failure = error
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return hits
