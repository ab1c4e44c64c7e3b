"""Ask the map of other repositories, if the settings allow it."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from code_intel.errors import CodeIntelError, EmbeddingError
from code_intel.foundation.redaction import masked
from code_intel.learned.recall.calibration import of_project
from code_intel.learned.status.snapshot import NOW
from code_intel.records import Hit
from code_intel.shared.client import SharedIndexError
from code_intel.shared.connection import Connection, connection_of
from code_intel.tools.context.gateway import GatewayContext, run_in_thread

MAX_SECONDS = 1.0
"""Time limit of the server's answer."""
MAX_HITS = 10
OFF = "The map is not shared: [shared] map is false."
SILENT = "The map of other repositories did not answer: {reason}."


class Elsewhere(NamedTuple):
    """What other repositories have agreed.

    Attributes:
        hits: Their agreements, best first; untrusted.
        repositories: The number of repositories that were asked.
        left_out: The number of those that were not, because they are too many for one question.
    """

    hits: tuple[Hit, ...] = ()
    repositories: int = 0
    left_out: int = 0


async def ask_elsewhere(
    context: GatewayContext,
    query: str,
    *,
    since: float = NOW,
    repositories: Sequence[str] = (),
) -> Elsewhere:
    """Return the agreements of other repositories; none if the map is not shared.

    If the server does not answer in time, the call gets a warning. After a failure, the server is
    left alone for a while.
    """
    if not context.settings.shared.map:
        return Elsewhere()
    work = partial(_found, context, masked(query), since, tuple(repositories))
    try:
        return await run_in_thread(work)
    except SharedIndexError as error:
        reason = error.reason
    except CodeIntelError as error:
        reason = error.message
    context.warnings.append(SILENT.format(reason=reason.removesuffix(".")))
    return Elsewhere()


def _found(
    context: GatewayContext, query: str, since: float, repositories: tuple[str, ...]
) -> Elsewhere:
    from code_intel.shared.agreements.asking import ask_map  # these import numpy
    from code_intel.shared.agreements.scoring import scored

    connection: Connection | None = connection_of(context.settings)
    if connection is None:
        return Elsewhere()
    connection.client.breaker.check()
    embedder, vector = context.embedder, None
    if not embedder.why_unavailable():
        try:
            vector = embedder.queries([query])[0]
        except EmbeddingError:
            vector = None
    identity = embedder.identity if vector is not None else ""
    answer = ask_map(connection, query, vector, identity, MAX_SECONDS, repositories)
    constants = of_project(context.settings, identity) if identity else None
    snapshot = context.map_cache.snapshot(context.settings, since=since)
    own = context.map_cache.cards(context.map, snapshot, identity, constants)
    near = own.candidates(query, vector, ())
    hits = scored(
        query,
        vector,
        answer.agreements,
        constants,
        own=[own.cards[number] for number in near],
        known=snapshot.known.by_key.keys(),
        rejected={key: found.wordings for key, found in snapshot.objections.items()},
    )
    return Elsewhere(tuple(hits[:MAX_HITS]), answer.repositories, answer.left_out)
