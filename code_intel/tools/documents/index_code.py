"""Tool `index_code` of the index servers."""

import threading
from typing import Annotated, Any

import anyio
from pydantic import Field

from code_intel.tools.context.corpus_service import CorpusService
from code_intel.tools.context.gateway import thread
from code_intel.tools.declaration import Answer
from code_intel.tools.documents import operations
from code_intel.tools.documents.operations import FILEPATH, one_of


async def index_code(
    service: CorpusService,
    filepath: Annotated[str, Field(description=FILEPATH)] = "",
    directory: Annotated[str, Field(description="Instead: every file below this folder.")] = "",
    filepaths: Annotated[str, Field(description="Instead: several paths, with commas.")] = "",
    force: Annotated[bool, Field(description="Parse again what has not changed.")] = False,
) -> Answer:
    """Index source files now, also beyond the patterns; they stay indexed until deleted by name.

    Vectors of a folder or of several files follow in the background. Files that the configuration
    means are indexed without being asked for.
    """
    one_of(filepath=filepath, directory=directory, filepaths=filepaths)
    stop = threading.Event()
    try:
        data = await thread(chosen, service, filepath, directory, filepaths, stop, force=force)
    except anyio.get_cancelled_exc_class():
        stop.set()
        raise
    return Answer(data, data["message"])


def chosen(
    service: CorpusService,
    filepath: str,
    directory: str,
    filepaths: str,
    stop: threading.Event,
    *,
    force: bool,
) -> dict[str, Any]:
    """Do the one of the three that was asked for; blocks."""
    if filepath:
        return operations.index(service, filepath, force=force)
    if directory:
        return operations.index_folder(service, directory, force=force, stop=stop.is_set)
    paths = [path for path in map(str.strip, filepaths.split(",")) if path]
    return operations.index_files(service, paths, force=force)
