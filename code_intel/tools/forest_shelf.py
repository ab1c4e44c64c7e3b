"""The local forest as tools of the gateway ask it, whatever answers for `search_forest`."""

import os
from pathlib import Path

from code_intel.embedding.lazy import LazyEmbedder
from code_intel.errors import UsageError
from code_intel.tools.desk import Desk
from code_intel.tools.shelf import Shelf


def forest_shelf(desk: Desk) -> Shelf:
    """Return the shelf of the project's own source."""
    own = desk.forest.embedder
    embedder = own if isinstance(own, LazyEmbedder) else desk.embedder
    return Shelf(desk.settings, desk.forest, desk.forest, embedder)


def document_name(desk: Desk, path: str, field: str) -> str:
    """Return how the index would name a file that need not exist.

    Raises:
        UsageError: It is outside the project.
    """
    plain = path.strip().replace("\\", "/")
    full = Path(os.path.normpath(desk.root / plain))
    if not full.is_relative_to(desk.root):
        raise UsageError(
            f"{path[:200]} is outside the project.",
            code="path_outside_root",
            hint="Give a path relative to the project's root.",
            details={"field": field},
        )
    folder = desk.forest.config.folder
    return full.relative_to(folder).as_posix() if full.is_relative_to(folder) else full.as_posix()
