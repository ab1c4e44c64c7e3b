"""Remove a repository from the shared index, for its administrators."""

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from code_intel.config.shared import is_repository
from code_intel.servers.shared.routes.api import ApiRoute
from code_intel.servers.shared.services import Caller, not_found
from code_intel.shared.routes import VERSION


async def remove_repository(caller: Caller, request: Request) -> Response:
    """Remove the heads, generations and layers of a repository.

    Raises:
        NotFoundError: The repository does not exist, or the token may not read it.
        ScopeError: The token has no admin scope for it.
    """
    # The parameter would leave out a line end behind the name.
    repository = request.scope["path"].partition(f"{VERSION}/repositories/")[2]
    if not is_repository(repository):
        raise not_found(repository)
    caller.require("admin", repository)

    def remove() -> dict[str, object]:
        index = caller.services.index
        if not index.has_repository(repository):
            raise not_found(repository)
        removed = index.delete_repository(repository)
        return {
            "repository": repository,
            "generations": removed.generations,
            "layers": removed.layers,
        }

    answer = await to_thread.run_sync(remove, limiter=caller.services.threads)
    return JSONResponse(answer)


REMOVAL_ROUTES = (
    ApiRoute("DELETE", f"{VERSION}/repositories/{{repository:path}}", remove_repository),
)
