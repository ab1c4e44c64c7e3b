"""What the store hands out: frozen rows, and how people spell a symbol."""

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
        mtime_ns: A hint, with size and inode; the digest decides.
        inode: See `mtime_ns`.
        language: As chunking named it.
        lines: Number of lines.
        problem: Why a parser gave up, or empty.
        indexed_at: ISO 8601 with offset.
        priority: Order in which vectors are made: 0 source, 1 documentation, 2 tests.
        id: Row id; 0 when not stored yet.
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

    A tuple, since a search makes a thousand of them.
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
        id: Never given twice.
        identity: Of the engine that makes them; empty before any.
        dimensions: Numbers a vector has; 0: there are none.
        active: Whether it answers.
    """

    id: int
    identity: str
    dimensions: int
    active: bool


def spelling(symbol: str) -> str:
    """Return `symbol` with dots between scopes: `` `AuthService::login()` `` is `AuthService.login`."""
    bare = _CALL.sub("", symbol.strip().strip("`"))
    return _SCOPE.sub(".", bare).strip(". ")


def spells(asked: str, qualified: str, path: str) -> bool:
    """Whether `asked` (see `spelling`) names the symbol `qualified` of the file `path`.

    Scopes may be left out from the left (`login`) or added from the path: with the file's name where files
    are modules (`auth.service.AuthService`), without it where folders are packages (`com.shop.Cart.add`).
    """
    if asked == qualified or qualified.endswith(f".{asked}"):
        return True
    if not asked.endswith(f".{qualified}"):
        return False
    module = asked[: -len(qualified) - 1]
    folder, _, name = path.rpartition("/")
    package = "." + folder.strip("/").replace("/", ".")
    file = f"{package.rstrip('.')}.{name.partition('.')[0]}"
    return any(place.endswith(f".{module}") for place in (file, package))


def said_of(path: str, chunk: Chunk) -> tuple[str, str]:
    """Return the words of a chunk's text, and those of its names and path."""
    names = "\n".join((path, *chunk.symbols))
    return " ".join(words(chunk.text)), " ".join(words(names))
