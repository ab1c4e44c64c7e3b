"""Define the rows that the store returns, and how spellings of a symbol are compared."""

import re
from dataclasses import dataclass
from typing import NamedTuple

from code_intel.chunking.words import words
from code_intel.records import Chunk

_CALL = re.compile(r"\s*\(.*\)\s*$", re.DOTALL)
_SCOPE = re.compile(r"::|->|#|/")


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """A document as indexed.

    Attributes:
        path: POSIX, relative to the config's folder; absolute real path outside it.
        digest: Hex SHA-256 of the bytes.
        size: Bytes.
        mtime_ns: With size and inode a hint that the content is unchanged; the digest decides.
        inode: See `mtime_ns`.
        language: The name that chunking gave it.
        lines: Number of lines.
        problem: Why a parser gave up, or empty.
        indexed_at: ISO 8601 with offset.
        priority: Order in which chunks are embedded: 0 source, 1 documentation, 2 tests.
        id: Row id; 0 before it is stored.
    """

    path: str
    digest: str
    size: int = 0
    mtime_ns: int = 0
    inode: int = 0
    language: str = ""
    lines: int = 0
    problem: str = ""
    indexed_at: str = ""
    priority: int = 0
    id: int = 0


class ChunkRow(NamedTuple):
    """A chunk as indexed; `symbols` are qualified names, `text` is verbatim.

    A named tuple, because a search creates a thousand of them.
    """

    id: int
    document_id: int
    path: str
    position: int
    start_line: int
    end_line: int
    text: str
    symbols: tuple[str, ...]
    language: str
    card: str


@dataclass(frozen=True, slots=True)
class Generation:
    """The vectors of one model.

    Attributes:
        id: Never reused.
        identity: Of the engine that computes them; empty before the first.
        dimensions: Numbers per vector; 0 if there are no vectors.
        active: Whether it answers searches.
    """

    id: int
    identity: str
    dimensions: int
    active: bool


def normalize_symbol(symbol: str) -> str:
    """Return `symbol` with dots between scopes and without a call.

    >>> normalize_symbol("`AuthService::login()`")
    'AuthService.login'
    """
    bare = _CALL.sub("", symbol.strip().strip("`"))
    return _SCOPE.sub(".", bare).strip(". ")


def names_symbol(name: str, qualified: str, path: str) -> bool:
    """Whether `name` (see `normalize_symbol`) names the symbol `qualified` of the file `path`.

    Outer scopes may be omitted (`login`) or taken from the path: with the file name where files are
    modules (`auth.service.AuthService`), without it where folders are packages
    (`com.shop.Cart.add`).
    """
    if name == qualified or qualified.endswith(f".{name}"):
        return True
    if not name.endswith(f".{qualified}"):
        return False
    module = name[: -len(qualified) - 1]
    folder, _, file_name = path.rpartition("/")
    package = "." + folder.strip("/").replace("/", ".")
    file = f"{package.rstrip('.')}.{file_name.partition('.')[0]}"
    return any(place.endswith(f".{module}") for place in (file, package))


def index_words(path: str, chunk: Chunk) -> tuple[str, str]:
    """Return the tokens of a chunk's text, and those of its path and symbols."""
    names = "\n".join((path, *chunk.symbols))
    return " ".join(words(chunk.text)), " ".join(words(names))
