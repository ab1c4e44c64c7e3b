"""Map and forest as the gateway asks them: in process, or wherever the settings say."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from mcp.server import Server

from code_intel.config import Settings, UpstreamConfig
from code_intel.errors import UpstreamError
from code_intel.processes import Guard
from code_intel.records import SearchAnswer, UpstreamStatus
from code_intel.servers.upstream import Target, Upstream
from code_intel.servers.upstream_answer import answer_of, below, placed, scrubbed
from code_intel.servers.upstream_child import child
from code_intel.servers.upstream_report import Report
from code_intel.servers.upstream_wire import Transport, Wire, watched

HERE = "in process"
IN_PROCESS_SECONDS = 30.0
"""Seconds a question to our own servers may take: its first one may load a model."""


class Upstreams:
    """The `Searcher` of the gateway."""

    def __init__(
        self, settings: Settings, map_server: Server[None], forest_server: Server[None]
    ) -> None:
        self._settings = settings
        self._guard = Guard()
        self._report = Report(settings.state) if settings.upstreams else None
        servers = {"devrag-map": map_server, "devrag-forest": forest_server}
        self.map, self.forest = (
            Upstream(self._target(name, server), self._changed) for name, server in servers.items()
        )

    def _target(self, name: str, server: Server[None]) -> Target:
        config = self._settings.upstreams.get(name)
        if config is None:
            seconds = IN_PROCESS_SECONDS
            return Target(name, HERE, lambda _wire: server, seconds, seconds, elsewhere=False)
        return target_of(config, self._guard)

    def _changed(self) -> None:
        if self._report is not None:
            self._report.write(self.states())

    async def search_map(self, query: str, top_k: int) -> SearchAnswer:
        """Ask the map for agreements."""
        return await self._search(self.map, {"query": query, "top_k": top_k})

    async def search_forest(
        self, query: str, top_k: int, directory: str = "", file_pattern: str = ""
    ) -> SearchAnswer:
        """Ask the forest for chunks of source."""
        chosen = {"directory": directory, "file_pattern": file_pattern}
        given = {name: value for name, value in chosen.items() if value}
        return await self._search(self.forest, {"query": query, "top_k": top_k, **given})

    async def _search(self, upstream: Upstream, arguments: Mapping[str, Any]) -> SearchAnswer:
        data, left_out = await upstream.ask(arguments)
        if not upstream.target.elsewhere:
            return answer_of(data)[0]
        config = self._settings.upstreams[upstream.target.name]
        cwd = config.cwd if config.command else self._settings.root
        try:
            answer, bad = answer_of(
                scrubbed(data),
                most=arguments["top_k"],
                place=partial(placed, self._settings.root, cwd),
            )
        except UpstreamError as error:
            raise upstream.useless(error) from None
        upstream.ignore(bad)
        answer = _attributed(answer, upstream.target.name)
        if left_out:
            kept = {name: str(arguments.get(name, "")) for name in ("directory", "file_pattern")}
            answer = below(answer, **kept)
        return _noting(answer, upstream.target.name, bad)

    def states(self) -> tuple[UpstreamStatus, ...]:
        """Say how both are doing now."""
        return (self.map.status, self.forest.status)

    def close(self) -> None:
        """Leave nothing behind."""
        self._guard.close()
        if self._report is not None:
            self._report.close()


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
