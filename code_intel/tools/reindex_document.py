"""Tool `reindex_document` of the index servers."""

from typing import Annotated

from pydantic import Field

from code_intel.tools import documents
from code_intel.tools.declaration import Answer
from code_intel.tools.desk import thread
from code_intel.tools.documents import DOCUMENT, FILENAME, one_of
from code_intel.tools.shelf import Shelf


async def reindex_document(
    shelf: Shelf,
    filename: Annotated[str, Field(description=DOCUMENT)] = "",
    filepath: Annotated[str, Field(description=FILENAME)] = "",
) -> Answer:
    """Parse one document again, though its file has not changed; the old one answers until then."""
    data = await thread(documents.reindex, shelf, one_of(filename=filename, filepath=filepath))
    return Answer(data, data["message"])
