"""Tool `delete_document` of the index servers."""

from typing import Annotated

from pydantic import Field

from code_intel.tools.context.corpus_service import CorpusService
from code_intel.tools.context.gateway import thread
from code_intel.tools.declaration import Answer
from code_intel.tools.documents import operations
from code_intel.tools.documents.operations import DOCUMENT, FILENAME, one_of


async def delete_document(
    service: CorpusService,
    filename: Annotated[str, Field(description=DOCUMENT)] = "",
    filepath: Annotated[str, Field(description=FILENAME)] = "",
    remove_file: Annotated[
        bool, Field(description="Also remove the file from the disk; the map's go to the trash.")
    ] = False,
) -> Answer:
    """Take one document out of the index; the file stays, and stays out until it is indexed by name."""
    path = one_of(filename=filename, filepath=filepath)
    data = await thread(operations.delete, service, path, remove_file=remove_file)
    return Answer(data, data["message"])
