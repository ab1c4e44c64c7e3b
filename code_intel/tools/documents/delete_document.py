"""Implement the tool `delete_document` of the index servers."""

from typing import Annotated

from pydantic import Field

from code_intel.tools.context.corpus_service import CorpusService
from code_intel.tools.context.gateway import run_in_thread
from code_intel.tools.declaration import Answer
from code_intel.tools.documents import operations
from code_intel.tools.documents.operations import DOCUMENT, FilenameAlias, one_of


async def delete_document(
    service: CorpusService,
    filename: Annotated[str, Field(description=DOCUMENT)] = "",
    filepath: FilenameAlias = "",
    remove_file: Annotated[bool, Field(description="Also remove the file.")] = False,
) -> Answer:
    """Delete a document from the index."""
    path = one_of(filename=filename, filepath=filepath)
    data = await run_in_thread(operations.delete, service, path, remove_file=remove_file)
    return Answer(data, data["message"])
