"""The gateway's client side: whatever answers for map and forest, through one MCP client each.

Each upstream has one task that enters and leaves its client, as the SDK demands; callers only await.
It connects at the first question and stays. What comes back is read with care: it may not be ours.
"""

import json
import math
from collections.abc import Mapping
from typing import Any, cast

import anyio
from mcp import Client, MCPError
from mcp.server import Server
from mcp.types import CallToolResult, TextContent

from code_intel.errors import CodeIntelError
from code_intel.records import AgreementHit, FileReference, Freshness, Hit, SearchAnswer, Validity

TIMEOUT = 30.0
"""Seconds a question may take."""
STATUSES = frozenset(
    {"valid", "changed", "broken", "unchecked", "expired", "conflict", "invalid", "unconfirmed"}
)


class UpstreamError(CodeIntelError):
    """Map or forest did not answer; the other half still does."""

    code = "upstream_failed"
    remedy = "Ask again; `code-intel status` says what is wrong with the index."


class Upstream:
    """One index server, connected while `own` runs."""

    def __init__(self, name: str, server: Server[None]) -> None:
        self.name = name
        self._server = server
        self._client: Client | None = None
        self._wanted = anyio.Event()
        self._settled = anyio.Event()

    async def own(self) -> None:
        """Connect at the first question and keep the connection until cancelled."""
        await self._wanted.wait()
        async with Client(self._server, read_timeout_seconds=TIMEOUT) as client:
            self._client = client
            self._settled.set()
            await anyio.sleep_forever()

    async def ask(self, tool: str, arguments: dict[str, Any]) -> Mapping[str, Any]:
        """Call a tool and return its structured content.

        Raises:
            UpstreamError: It refused, or did not answer in time.
        """
        self._wanted.set()
        try:
            with anyio.fail_after(TIMEOUT):
                await self._settled.wait()
                client = cast("Client", self._client)
                result = await client.call_tool(tool, arguments)
        except (MCPError, TimeoutError) as error:
            raise UpstreamError(f"{self.name} did not answer: {error}.") from error
        return self._read(result)

    def _read(self, result: CallToolResult) -> Mapping[str, Any]:
        content = result.structured_content
        if content is None:
            first = next(
                (part.text for part in result.content if isinstance(part, TextContent)), ""
            )
            try:
                content = json.loads(first)
            except ValueError:
                content = {"message": first}
        if not isinstance(content, Mapping):
            raise UpstreamError(f"{self.name} answered with no object.")
        if result.is_error:
            hint = content.get("hint")
            raise UpstreamError(
                f"{self.name}: {content.get('message', 'refused')}",
                hint=hint if isinstance(hint, str) else None,
            )
        return content


class Upstreams:
    """The `Searcher` of the gateway."""

    def __init__(self, map_server: Server[None], forest_server: Server[None]) -> None:
        self.map = Upstream("devrag-map", map_server)
        self.forest = Upstream("devrag-forest", forest_server)

    async def search_map(self, query: str, top_k: int) -> SearchAnswer:
        """Ask the map for agreements."""
        return answer_of(await self.map.ask("search", {"query": query, "top_k": top_k}))

    async def search_forest(
        self, query: str, top_k: int, directory: str = "", file_pattern: str = ""
    ) -> SearchAnswer:
        """Ask the forest for chunks of source."""
        arguments = {
            "query": query,
            "top_k": top_k,
            "directory": directory,
            "file_pattern": file_pattern,
        }
        return answer_of(await self.forest.ask("search", arguments))


def answer_of(data: Mapping[str, Any]) -> SearchAnswer:
    """Read a search answer; hits without a document are dropped, numbers out of range are not believed."""
    results = data.get("results")
    hits = (
        [_hit(item) for item in results if isinstance(item, Mapping)]
        if isinstance(results, list)
        else []
    )
    index = data.get("index")
    return SearchAnswer(
        tuple(hit for hit in hits if hit.document),
        _freshness(index if isinstance(index, Mapping) else {}),
    )


def _hit(item: Mapping[str, Any]) -> Hit:
    return Hit(
        document=str(item.get("document", "")),
        chunk=str(item.get("chunk", "")),
        position=_whole(item.get("position")),
        similarity=_unit(item.get("similarity")) or 0.0,
        score=_unit(item.get("score")),
        symbol=str(item.get("symbol", "")),
        start_line=_whole(item.get("start_line")),
        end_line=_whole(item.get("end_line")),
        why=_texts(item.get("why")),
        agreement=_agreement(item.get("agreement")),
    )


def _agreement(value: object) -> AgreementHit | None:
    if not isinstance(value, Mapping):
        return None
    status = value.get("status")
    return AgreementHit(
        nl_term=str(value.get("nl_term", "")),
        symbol=str(value.get("symbol", "")),
        status=cast("Validity", status) if status in STATUSES else "unchecked",
        files=tuple(_file(text) for text in _texts(value.get("files"))),
        reasons=_texts(value.get("reasons")),
        learned_at=str(value.get("learned_at", "")),
    )


def _file(text: str) -> FileReference:
    path, found, line = text.rpartition(":")
    return FileReference(path, int(line)) if found and line.isdecimal() else FileReference(text)


def _freshness(value: Mapping[str, Any]) -> Freshness:
    state = value.get("state")
    return Freshness(
        state=state if state in {"fresh", "stale", "building", "missing"} else "fresh",
        files=_whole(value.get("files")),
        pending=_whole(value.get("pending")),
        degraded=_texts(value.get("degraded")),
    )


def _unit(value: object) -> float | None:
    """Return a number of 0 to 1, or None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value) if 0 <= value <= 1 else None


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
