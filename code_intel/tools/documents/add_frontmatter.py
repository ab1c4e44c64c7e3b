"""Implement the tool `add_frontmatter` of the index servers."""

from typing import Annotated

from pydantic import Field

from code_intel.tools.context.corpus_service import CorpusService
from code_intel.tools.context.gateway import run_in_thread
from code_intel.tools.declaration import Answer
from code_intel.tools.documents import metadata
from code_intel.tools.documents.operations import FILEPATH


async def add_frontmatter(
    service: CorpusService,
    filepath: Annotated[str, Field(min_length=1, description=FILEPATH)],
    domain: metadata.Domain = None,
    docType: metadata.DocType = None,  # noqa: N803 - devrag's name
    language: metadata.Language = None,
    tags: metadata.Tags = "",
    project: metadata.Project = "",
) -> Answer:
    """Add front matter to a file that has none."""
    values = metadata.fields(
        {
            "domain": domain,
            "docType": docType,
            "language": language,
            "tags": tags,
            "project": project,
        }
    )
    data = await run_in_thread(metadata.write, service, filepath, values, update=False)
    return Answer(data, data["message"])
