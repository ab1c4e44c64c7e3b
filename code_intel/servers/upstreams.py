"""The connections to map and forest where the settings name a command or a URL."""

import re
from collections import Counter
from dataclasses import replace
from functools import partial

import anyio

from code_intel.config import Settings, UpstreamConfig
from code_intel.errors import UpstreamError
from code_intel.processes import Guard
from code_intel.records import SearchAnswer, UpstreamStatus
from code_intel.servers.upstream import Target, Upstream
from code_intel.servers.upstream_answer import answer_of, below, placed, scrubbed
from code_intel.servers.upstream_child import child
from code_intel.servers.upstream_report import Report
from code_intel.servers.upstream_wire import Transport, Wire, watched
from code_intel.tools.searchers import CorpusSearcher, ProjectSearcher


class RemoteCorpus:
    """One corpus, searched through a supervised connection."""

    def __init__(self, settings: Settings, upstream: Upstream) -> None:
        self._upstream = upstream
        self._name = upstream.target.name
        self._root = settings.root
        config = settings.upstreams[self._name]
        self._cwd = config.cwd if config.command else settings.root

    @property
    def status(self) -> UpstreamStatus:
        """How the connection is doing now."""
        return self._upstream.status

    async def search(
        self, query: str, top_k: int, directory: str = "", file_pattern: str = ""
    ) -> SearchAnswer:
        """Ask the server.

        Raises:
            UpstreamError: It refused, did not answer in time, or answered nonsense.
        """
        chosen = {"directory": directory, "file_pattern": file_pattern}
        given = {name: value for name, value in chosen.items() if value}
        data, left_out = await self._upstream.ask({"query": query, "top_k": top_k, **given})
        try:
            answer, bad = answer_of(
                scrubbed(data), most=top_k, place=partial(placed, self._root, self._cwd)
            )
        except UpstreamError as error:
            raise self._upstream.useless(error) from None
        self._upstream.ignore(bad)
        answer = _attributed(answer, self._name)
        if left_out:
            answer = below(answer, directory, file_pattern)
        return _noting(answer, self._name, bad)


class Upstreams:
    """The connections of a gateway, and the task that keeps them."""

    def __init__(self, settings: Settings, local: ProjectSearcher) -> None:
        self._guard = Guard()
        self._report = Report(settings.state)
        self._connections = {
            name: Upstream(target_of(config, self._guard), self._changed)
            for name, config in settings.upstreams.items()
        }
        remote: dict[str, CorpusSearcher] = {
            name: RemoteCorpus(settings, upstream) for name, upstream in self._connections.items()
        }
        self.searcher = ProjectSearcher(
            map=remote.get("devrag-map", local.map),
            forest=remote.get("devrag-forest", local.forest),
        )

    async def run(self) -> None:
        """Keep the connections until cancelled, and leave nothing behind."""
        try:
            async with anyio.create_task_group() as group:
                for upstream in self._connections.values():
                    group.start_soon(upstream.own)
        finally:
            self._guard.close()
            self._report.close()

    def _changed(self) -> None:
        self._report.write(self.searcher.states())


def target_of(config: UpstreamConfig, guard: Guard) -> Target:
    """Return what a setting connects to."""
    return Target(
        config.name,
        config.where,
        partial(_open, config, guard),
        config.start_seconds,
        config.call_seconds,
        config.problem,
        config.masked,
    )


def _open(config: UpstreamConfig, guard: Guard, wire: Wire) -> Transport:
    if config.command:
        return watched(child(config, wire, guard), wire)
    from code_intel.servers.upstream_remote import remote  # an HTTP client is seldom needed

    return watched(remote(config, wire), wire)


_KIND = re.compile(r"[a-z]{1,20}")


def _attributed(answer: SearchAnswer, name: str) -> SearchAnswer:
    """Say what another program's index lacks in our words: only the kind of it is taken from there."""
    kinds = {note.partition(":")[0].strip() for note in answer.index.degraded}
    known = sorted(kind if _KIND.fullmatch(kind) else "other" for kind in kinds)
    notes = tuple(f"{kind}: incomplete, {name} says" for kind in dict.fromkeys(known))
    return replace(answer, index=replace(answer.index, degraded=notes))


def _noting(answer: SearchAnswer, name: str, bad: Counter[str]) -> SearchAnswer:
    """Say in the answer what of it could not be believed."""
    notes = tuple(f"{name}: {count} x {kind}" for kind, count in sorted(bad.items()))
    index = replace(answer.index, degraded=(*answer.index.degraded, *notes))
    return replace(answer, index=index)
