"""Define how a client asks for the agreements of other repositories, and the answer.

The server finds candidates; the client scores them, with the constants of its own map. So a server
does not say how sure an answer is.
"""

from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from code_intel.shared.fields import Commit, Count, Name, Path, Repository
from code_intel.shared.routes import Route, VectorText

MAP_PREFIX = "/map"
"""The beginning of the paths of all requests to the index of agreements."""
MAX_TERMS = 100
MAX_NAMED_REPOSITORIES = 1000
MAX_TEXT_CHARS = 16_384
"""Maximum characters of an agreement as it is shared."""
MAX_FOUND = 60
"""Maximum agreements of an answer."""


class FindAgreements(NamedTuple):
    """Ask for the agreements that may answer a question.

    Attributes:
        terms: The tokens of the question; see `chunking.words.query_words`.
        vector: Its vector, as `wire.vector_text` writes it; empty without a model.
        model: The identity of that model.
        without: The repository of the caller, which knows its own agreements; empty for none.
        repositories: The repositories to ask; empty for all that the caller may read.
    """

    terms: Annotated[tuple[Name, ...], Field(max_length=MAX_TERMS)]
    vector: VectorText = ""
    model: Name = ""
    without: Repository | Literal[""] = ""
    repositories: Annotated[tuple[Repository, ...], Field(max_length=MAX_NAMED_REPOSITORIES)] = ()


class FoundAgreement(NamedTuple):
    """An agreement of another repository.

    Attributes:
        repository: The name of the repository.
        commit: The commit that has the agreement.
        path: Its file in that repository.
        text: The agreement; see `texts.shared_text`.
        vector: The vector of its card by the model of the question, or empty.
    """

    repository: Repository
    commit: Commit
    path: Path
    text: Annotated[str, Field(max_length=MAX_TEXT_CHARS)]
    vector: VectorText = ""


class FoundAgreements(NamedTuple):
    """The candidates, and how many repositories were asked and left out."""

    agreements: Annotated[tuple[FoundAgreement, ...], Field(max_length=MAX_FOUND)]
    repositories: Count = 0
    left_out: Count = 0


AGREEMENTS: Route[FindAgreements, FoundAgreements] = Route(
    f"{MAP_PREFIX}/search", FindAgreements, FoundAgreements
)
