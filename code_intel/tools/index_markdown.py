"""Tool `index_markdown` of the index servers."""

from typing import Annotated

from pydantic import Field

from code_intel.tools import documents
from code_intel.tools.declaration import Answer
from code_intel.tools.desk import thread
from code_intel.tools.documents import FILEPATH
from code_intel.tools.shelf import Shelf


async def index_markdown(
    shelf: Shelf, filepath: Annotated[str, Field(min_length=1, description=FILEPATH)]
) -> Answer:
    """Index one file now; it stays indexed, whatever the patterns say, until it is deleted by name.

    Files that the configuration means are indexed without being asked for.
    """
    data = await thread(documents.index, shelf, filepath)
    return Answer(data, data["message"])
