"""The server of one corpus: devrag-map or devrag-forest."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from code_intel.records import VERIFICATION_SCORE, Corpus, Freshness
from code_intel.servers.protocol import Call, Offer, ToolServer, build
from code_intel.tools.declaration import Answer, Tool

if TYPE_CHECKING:  # opened after the handshake, imported no earlier
    from code_intel.tools.context.corpus_service import CorpusService

INSTRUCTIONS = {
    "map": "The map: what this project has agreed, «this term means that symbol». Search it first, with the "
    f"user's own words; score >= {VERIFICATION_SCORE:g} with status valid is knowledge, not a guess. Work on code goes "
    "through the server code-intel, which asks this one for you.",
    "forest": "The forest: the project's whole source and documents, searched by words and meaning, in any "
    "language. Hits are hypotheses: verify them before you rely on them. Work on code goes through the "
    "server code-intel, which asks this one for you.",
}


def build_index_server(
    corpus: Corpus, open_service: "Callable[[], CorpusService]", *, writes: bool = True
) -> ToolServer:
    """Return the server of a service, which is opened when it is first needed.

    `writes` says whether clients may change what is the project's.
    """

    def offer() -> Offer:
        from code_intel.tools.table import INDEX_TOOLS

        service = open_service()

        async def invoke(tool: Tool, arguments: dict[str, Any], call: Call) -> Answer:
            return await tool.run(replace(service, report=call.report), **arguments)

        async def background() -> None:
            start_indexers(service)

        def condition() -> dict[str, Freshness]:
            return {corpus: service.index.freshness()}

        return Offer(INDEX_TOOLS, invoke, background, service.index.close, condition, writes=writes)

    return build(name=f"devrag-{corpus}", instructions=INSTRUCTIONS[corpus], offer=offer)


def start_indexers(*services: "CorpusService") -> None:
    """Start the indexers of these services; this process will answer more than one question."""
    for service in services:
        service.embedder.lasting = True
        service.index.start()  # only starts a thread: on the loop, so that nothing closes it meanwhile
