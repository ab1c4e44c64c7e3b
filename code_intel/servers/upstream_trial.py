"""Try a configured upstream once, as a question would: what `code-intel doctor` says of it."""

from dataclasses import replace

import anyio

from code_intel.config import UpstreamConfig
from code_intel.errors import UpstreamError
from code_intel.processes import Guard
from code_intel.servers.upstream import Upstream
from code_intel.servers.upstream_answer import answer_of, scrubbed
from code_intel.servers.upstreams import target_of


def try_out(config: UpstreamConfig) -> str:
    """Start or reach it, ask it for one hit, and let it go.

    Returns:
        How many hits it had.

    Raises:
        UpstreamError: It did not answer, or with nothing that can be used.
    """
    # A question waits for the start, so that both together have to fit into its limit.
    patient = replace(config, call_seconds=config.start_seconds + config.call_seconds)
    guard = Guard()
    try:
        return anyio.run(_ask, Upstream(target_of(patient, guard)))
    finally:
        guard.close()


async def _ask(upstream: Upstream) -> str:
    async with anyio.create_task_group() as group:
        group.start_soon(upstream.own)
        try:
            data, _ = await upstream.ask({"query": "test", "top_k": 1})
            hits = answer_of(scrubbed(data), most=1)[0].hits
            said = f"{len(hits)} hit" if hits else "no hit, which may be right"
        except UpstreamError as error:
            failure: UpstreamError | None = error
            said = ""
        else:
            failure = None
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return said
