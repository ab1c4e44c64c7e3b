"""Implement the tool `index_markdown` of the index servers."""

from typing import Annotated

from pydantic import Field

from code_intel.tools.context.corpus_service import CorpusService
from code_intel.tools.context.gateway import run_in_thread
from code_intel.tools.declaration import Answer
from code_intel.tools.documents import operations
from code_intel.tools.documents.operations import FILEPATH


async def index_markdown(
    service: CorpusService, filepath: Annotated[str, Field(min_length=1, description=FILEPATH)]
) -> Answer:
    """Index one file of any kind now."""
    data = await run_in_thread(operations.index, service, filepath)
    return Answer(data, data["message"])
