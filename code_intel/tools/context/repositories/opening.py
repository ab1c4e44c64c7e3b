"""Search the repositories that a call of a tool names."""

from collections.abc import Sequence
from typing import Annotated

import anyio
from pydantic import Field

from code_intel.errors import UpstreamError
from code_intel.index.cancellation import run_read
from code_intel.records import SearchAnswer
from code_intel.tools.context.forest_service import forest_service
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.context.repositories.known import chosen_by
from code_intel.tools.context.repositories.search import RepositoriesQuestion, search_repositories
from code_intel.tools.context.repositories.sources import Chosen
from code_intel.tools.context.searchers import LOCAL_TIMEOUT_S

RepositoryNames = Annotated[
    list[str],
    Field(description="Search these repositories instead of this project; `*` is all of them."),
]


def chosen_repositories(
    context: GatewayContext, names: Sequence[str], *, to_search: bool = False
) -> Chosen:
    """Return the indexes that names mean; this blocks. See `chosen_by`.

    Raises:
        CodeIntelError: See `choose`.
    """
    return chosen_by(forest_service(context), context.projects, names, to_search=to_search)


async def search_others(
    context: GatewayContext,
    asked: RepositoriesQuestion,
    names: Sequence[str],
) -> SearchAnswer:
    """Return the best places in the repositories that are named, within a time limit.

    Raises:
        CodeIntelError: See `choose`; or the search took too long.
    """

    def search() -> SearchAnswer:
        chosen = chosen_repositories(context, names, to_search=True)
        service = forest_service(context)
        return search_repositories(service, chosen, asked, context.projects.union)

    try:
        with anyio.fail_after(LOCAL_TIMEOUT_S):
            return await run_read(search)
    except TimeoutError:
        raise UpstreamError(
            f"The repositories did not answer within {LOCAL_TIMEOUT_S:g} s.",
            hint="Name fewer repositories.",
        ) from None
