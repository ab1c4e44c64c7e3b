"""Build the server of one corpus: devrag-map or devrag-forest."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from code_intel.foundation.heap import use_one_heap
from code_intel.records import VERIFICATION_SCORE, Corpus, Freshness
from code_intel.servers.protocol import ServerSpec, ToolCall, ToolServer, build
from code_intel.tools.declaration import Answer, Tool

if TYPE_CHECKING:  # imported only after the handshake
    from code_intel.tools.context.corpus_service import CorpusService

CORPUS_INSTRUCTIONS = {
    "map": "The map: this project's agreements that a term means a symbol. Search it first, with "
    f"the user's own words; a hit with score >= {VERIFICATION_SCORE:g} and status valid is "
    "knowledge, not a guess. For work on code, use the server code-intel, which searches the map "
    "for you.",
    "forest": "The forest: the project's whole source and documents, searched by keyword "
    "and by meaning, in any language. Hits are hypotheses: verify them before you rely on them. "
    "For work on code, use the server code-intel, which searches the forest for you.",
}


def build_index_server(
    corpus: Corpus, open_service: "Callable[[], CorpusService]", *, writes: bool = True
) -> ToolServer:
    """Return the server of a corpus, whose index is opened when it is first needed.

    `writes` says whether clients may change files of the project.
    """

    def make_spec() -> ServerSpec:
        from code_intel.tools.table import INDEX_TOOLS

        service = open_service()

        async def invoke(tool: Tool, arguments: dict[str, Any], call: ToolCall) -> Answer:
            return await tool.run(replace(service, report=call.report), **arguments)

        async def background() -> None:
            start_indexers(service)

        def freshness() -> dict[str, Freshness]:
            return {corpus: service.index.freshness()}

        return ServerSpec(
            INDEX_TOOLS, invoke, background, service.index.close, freshness, writes=writes
        )

    return build(
        name=f"devrag-{corpus}", instructions=CORPUS_INSTRUCTIONS[corpus], make_spec=make_spec
    )


def start_indexers(*services: "CorpusService") -> None:
    """Start the indexers of these corpora, in a process that answers more than one question."""
    use_one_heap()
    for service in services:
        service.embedder.is_long_lived = True
        service.index.start()  # on the event loop, so that nothing closes it meanwhile
