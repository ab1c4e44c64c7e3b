"""Implement the tool `index_code` of the index servers."""

import threading
from typing import Annotated, Any

import anyio
from pydantic import Field

from code_intel.tools.context.corpus_service import CorpusService
from code_intel.tools.context.gateway import run_in_thread
from code_intel.tools.declaration import Answer
from code_intel.tools.documents import operations
from code_intel.tools.documents.operations import FILEPATH, one_of


async def index_code(
    service: CorpusService,
    filepath: Annotated[str, Field(description=FILEPATH)] = "",
    directory: Annotated[str, Field(description="Or a folder.")] = "",
    filepaths: Annotated[str, Field(description="Or paths, comma-separated.")] = "",
    force: Annotated[bool, Field(description="Include unchanged files.")] = False,
) -> Answer:
    """Index source files now, matched by the config or not."""
    one_of(filepath=filepath, directory=directory, filepaths=filepaths)
    stop = threading.Event()
    try:
        data = await run_in_thread(
            index_arguments, service, filepath, directory, filepaths, stop, force=force
        )
    except anyio.get_cancelled_exc_class():
        stop.set()
        raise
    return Answer(data, data["message"])


def index_arguments(
    service: CorpusService,
    filepath: str,
    directory: str,
    filepaths: str,
    stop: threading.Event,
    *,
    force: bool,
) -> dict[str, Any]:
    """Index the file, the folder or the files that the caller names; block until done."""
    if filepath:
        return operations.index(service, filepath, force=force)
    if directory:
        return operations.index_folder(service, directory, force=force, stop=stop.is_set)
    paths = [path for path in map(str.strip, filepaths.split(",")) if path]
    return operations.index_files(service, paths, force=force)
