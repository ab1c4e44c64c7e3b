"""Define the values that the fields of shared records may have.

Both sides check what they receive: types, sizes, paths that stay inside a repository, and names
without control characters.
"""

from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, Field, GetCoreSchemaHandler

from code_intel.config.shared import is_repository
from code_intel.forest.source_store import SEPARATOR
from code_intel.foundation.text import hidden_character

MAX_PATH_CHARS = 1000
MAX_NAME_CHARS = 2000
MAX_BRANCH_CHARS = 250
MAX_TEXT_CHARS = 1 << 20
MAX_COMMITS = 1000
"""Maximum commits that a question names."""
MAX_SYMBOLS = 1000
"""Maximum symbols of a chunk."""
MAX_CHUNKS = 20_000
"""Maximum chunks of a file; a file has at most one for each line."""
MAX_ITEMS = 500_000
"""Maximum rows of a result, such as the imports of a repository."""
MAX_CHUNK_ID = 1 << 128
MAX_LINES = 1 << 31


def is_document(path: str) -> bool:
    """Return whether a path is relative, has no `..`, and no control characters."""
    if not 0 < len(path) <= MAX_PATH_CHARS or hidden_character(path):
        return False
    parts = path.split("/")
    return not {"", ".", ".."} & set(parts) and ".git" not in parts and ":" not in parts[0][1:2]


def is_document_name(text: str) -> bool:
    """Return whether a text may be the name of a document, of one repository or of several."""
    repository, separator, path = text.partition(SEPARATOR)
    return is_repository(repository) and is_document(path) if separator else is_document(text)


def is_name(text: str) -> bool:
    """Return whether a text may be the name of a symbol, a token or an import target.

    Control and format characters may steer a terminal or a model.
    """
    return len(text) <= MAX_NAME_CHARS and not hidden_character(text)


def is_branch(name: str) -> bool:
    """Return whether a text may be the name of a branch."""
    is_short = 0 < len(name) <= MAX_BRANCH_CHARS and not hidden_character(name)
    return is_short and not set(name) & set(" ~^:?*[\\") and ".." not in name


def are_names(text: str) -> bool:
    """Return whether each line of a text may be the name of a symbol."""
    lines = text.split("\n")
    return len(lines) <= MAX_SYMBOLS and all(map(is_name, lines))


def _that(check: Any) -> AfterValidator:
    """Return a validator that refuses the texts for which `check` is false."""

    def checked(text: str) -> str:
        if not check(text):
            raise ValueError(check.__name__)
        return text

    return AfterValidator(checked)


Path = Annotated[str, _that(is_document)]
Document = Annotated[str, _that(is_document_name)]
"""A path, or a repository with a path; see `SEPARATOR`."""
Repository = Annotated[str, Field(max_length=300), _that(is_repository)]
Branch = Annotated[str, _that(is_branch)]
Name = Annotated[str, _that(is_name)]
NameLines = Annotated[str, _that(are_names)]
"""Names, one per line."""
Names = Annotated[tuple[Name, ...], Field(max_length=MAX_SYMBOLS)]
Word = Annotated[str, Field(max_length=60), _that(is_name)]
"""A short name, such as a language or a kind of symbol."""
Text = Annotated[str, Field(max_length=MAX_TEXT_CHARS)]
Signature = Annotated[str, Field(max_length=2000)]
Doc = Annotated[str, Field(max_length=4000)]
Empty = Annotated[str, Field(max_length=0)]
"""A field that does not travel."""
Hex = Annotated[str, Field(pattern=r"^[0-9a-f]{16,64}$")]
OptionalHex = Annotated[str, Field(pattern=r"^([0-9a-f]{16,64})?$")]
Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")]
Count = Annotated[int, Field(ge=0, le=MAX_LINES)]
ChunkId = Annotated[int, Field(ge=0, lt=MAX_CHUNK_ID)]
Score = Annotated[float, Field(allow_inf_nan=False)]


class RecordForm:
    """Checks a record whose class does not know pydantic; it is metadata of an `Annotated` type.

    The JSON of such a record is the list of its values.

    Args:
        **fields: The type of each field.
    """

    def __init__(self, **fields: Any) -> None:
        self._fields = fields

    def __get_pydantic_core_schema__(self, record: Any, handler: GetCoreSchemaHandler) -> Any:
        """Return the schema of the list, and create the record of its values."""
        names = field_names(record)
        if {*names} != self._fields.keys():
            raise TypeError(f"{record.__name__} has other fields")
        row = tuple.__class_getitem__(tuple(self._fields[name] for name in names))
        create = AfterValidator(lambda values: record(*values))
        return handler.generate_schema(Annotated[row, create])


def field_names(record: Any) -> tuple[str, ...]:
    """Return the names of the fields of a named tuple or a dataclass."""
    if is_dataclass(record):
        return tuple(field.name for field in dataclass_fields(record))
    names: tuple[str, ...] = record._fields
    return names
