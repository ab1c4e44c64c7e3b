"""Answer a hook event in the hook's own process, without a model, if no gateway listens."""

import asyncio
from pathlib import Path

from code_intel.cli.project import require_index
from code_intel.config import load_settings
from code_intel.errors import NotFoundError
from code_intel.foundation.gateway_socket import HookOutput, HookRequest
from code_intel.tools.context.corpus_service import open_project
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.context.searchers import in_process
from code_intel.tools.hooks.answering import answer_event


def answer_here(root: str, request: HookRequest) -> HookOutput:
    """Return the answer to one event.

    Raises:
        ConfigError: The project's configuration cannot be used.
        NotFoundError: The project is not indexed yet, and the hook enforces.
    """
    settings = load_settings(Path(root))
    try:
        require_index(settings)
    except NotFoundError:  # until the first `code-intel sync`, a hook that advises knows nothing
        if request.enforces:
            raise
        return HookOutput()
    map_service, forest_service = open_project(settings, readonly=True, engines=())
    context = GatewayContext(
        settings,
        in_process(map_service, forest_service),
        map_service.index,
        forest_service.index,
        map_service.embedder,
    )
    try:
        return asyncio.run(answer_event(context, request))
    finally:
        map_service.index.close()
        forest_service.index.close()
