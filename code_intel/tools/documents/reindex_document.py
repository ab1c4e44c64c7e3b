"""Implement the tool `reindex_document` of the index servers."""

from typing import Annotated

from pydantic import Field

from code_intel.tools.context.corpus_service import CorpusService
from code_intel.tools.context.gateway import run_in_thread
from code_intel.tools.declaration import Answer
from code_intel.tools.documents import operations
from code_intel.tools.documents.operations import DOCUMENT, FilenameAlias, one_of


async def reindex_document(
    service: CorpusService,
    filename: Annotated[str, Field(description=DOCUMENT)] = "",
    filepath: FilenameAlias = "",
) -> Answer:
    """Index a document again, even if unchanged."""
    data = await run_in_thread(
        operations.reindex, service, one_of(filename=filename, filepath=filepath)
    )
    return Answer(data, data["message"])
