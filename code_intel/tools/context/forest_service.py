"""Search the local forest, even if an upstream answers `search_forest`."""

import os
from pathlib import Path

from code_intel.embedding.lazy import LazyEmbedder
from code_intel.errors import UsageError
from code_intel.tools.context.corpus_service import CorpusService
from code_intel.tools.context.gateway import GatewayContext


def forest_service(context: GatewayContext) -> CorpusService:
    """Return the service of the project's own source."""
    model = context.forest.embedder
    embedder = model if isinstance(model, LazyEmbedder) else context.embedder
    return CorpusService(context.settings, context.forest, context.forest, embedder)


def document_name(context: GatewayContext, path: str, field: str) -> str:
    """Return the name of a file in the index; the file need not exist.

    Raises:
        UsageError: The file is outside the project.
    """
    plain = path.strip().replace("\\", "/")
    full = Path(os.path.normpath(context.root / plain))
    if not full.is_relative_to(context.root):
        raise UsageError(
            f"{path[:200]} is outside the project.",
            code="path_outside_root",
            hint="Give a path relative to the project's root.",
            details={"field": field},
        )
    folder = context.forest.config.folder
    return full.relative_to(folder).as_posix() if full.is_relative_to(folder) else full.as_posix()
