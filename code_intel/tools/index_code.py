"""Tool `index_code` of the index servers."""

import threading
from typing import Annotated, Any

import anyio
from pydantic import Field

from code_intel.tools import documents
from code_intel.tools.declaration import Answer
from code_intel.tools.desk import thread
from code_intel.tools.documents import FILEPATH, one_of
from code_intel.tools.shelf import Shelf


async def index_code(
    shelf: Shelf,
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
        data = await thread(chosen, shelf, filepath, directory, filepaths, stop, force=force)
    except anyio.get_cancelled_exc_class():
        stop.set()
        raise
    return Answer(data, data["message"])


def chosen(
    shelf: Shelf,
    filepath: str,
    directory: str,
    filepaths: str,
    stop: threading.Event,
    *,
    force: bool,
) -> dict[str, Any]:
    """Do the one of the three that was asked for; blocks."""
    if filepath:
        return documents.index(shelf, filepath, anew=force)
    if directory:
        return documents.index_folder(shelf, directory, anew=force, stop=stop.is_set)
    paths = [path for path in map(str.strip, filepaths.split(",")) if path]
    return documents.index_files(shelf, paths, anew=force)
