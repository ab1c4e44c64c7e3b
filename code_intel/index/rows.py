"""Define the rows that the store returns, and how spellings of a symbol are compared."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from code_intel.chunking.words import word_text
from code_intel.records import Chunk

_CALL = re.compile(r"\s*\(.*\)\s*$", re.DOTALL)
_SCOPE = re.compile(r"::|->|#|/")

Words = Sequence[tuple[str, str] | None]
"""The words of each chunk of a document: those of its text, and those of its path and symbols. None
for a chunk whose words are not indexed."""
Column = Literal["body", "names"]
"""Which words of a chunk are searched."""
Hits = list[tuple[int, float]]
"""Chunk ids with their scores, best first."""


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """A document as indexed.

    Attributes:
        path: A POSIX path relative to the config's folder, or the absolute real path outside it.
        digest: The SHA-256 of the content, in hexadecimal.
        size: In bytes.
        mtime_ns: Time of the last change. If time, size and inode are as before, the file is
            normally not read again; otherwise the digest shows whether it changed.
        inode: See `mtime_ns`.
        language: As `chunking` detected it.
        lines: Number of lines.
        problem: Why a parser gave up, or empty.
        indexed_at: ISO 8601 with offset.
        priority: Order in which chunks are embedded: 0 source, 1 documentation, 2 tests.
        id: Row id; 0 if the document is not stored yet.
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


class FileState(NamedTuple):
    """What shows whether the file of a document changed; see `DocumentRow`."""

    digest: str
    size: int = 0
    mtime_ns: int = 0
    inode: int = 0


class ChunkPlace(NamedTuple):
    """Where a chunk is, without its text.

    It is a named tuple because a search creates a thousand of them.

    Attributes:
        id: The row id.
        path: The document.
        position: The number of the chunk in its document.
        language: The language of the document.
        names: The qualified names of its symbols, one per line.
    """

    id: int
    path: str
    position: int
    language: str
    names: str

    @property
    def symbols(self) -> tuple[str, ...]:
        """The qualified names of its symbols."""
        return split_names(self.names)


class ChunkRow(NamedTuple):
    """A chunk as indexed, with the qualified names of its symbols and its verbatim text."""

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
        id: The row id, which is never reused.
        identity: The engine that computes the vectors; empty if there has been none yet.
        dimensions: Numbers per vector; 0 if there are no vectors.
        active: Whether searches use it.
    """

    id: int
    identity: str
    dimensions: int
    active: bool


class CommitRow(NamedTuple):
    """A commit as indexed; one that says nothing about its files has only its object name.

    Attributes:
        object: The object name, in hexadecimal.
        subject: The first line of its message, without secrets.
        words: The tokens of its message.
        files: The documents that it changed.
    """

    object: str
    subject: str = ""
    words: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


class CommitHit(NamedTuple):
    """How like a question the messages of the commits of a file are.

    Attributes:
        score: From 0 to 1; see `Commits.hits`.
        object: The object name of the commit that is most like the question.
        subject: The first line of its message.
    """

    score: float
    object: str
    subject: str


UNPARSED = "\x1f"
"""Begins the card of a chunk that a snapshot gave and no parser has seen: its digest follows. No
parser makes such a card, because cards have no other white space than single spaces."""


def is_parsed(card: str) -> bool:
    """Return whether a card is a text, not only the digest of one."""
    return not card.startswith(UNPARSED)


def card_digest(card: str) -> str:
    """Return the digest by which a chunk's vector is known; empty without a card."""
    if not is_parsed(card):
        return card.removeprefix(UNPARSED)
    return hashlib.sha256(card.encode()).hexdigest()[:16] if card else ""


def split_names(names: str) -> tuple[str, ...]:
    """Return the names that a chunk stores, one per line."""
    return tuple(names.split("\n")) if names else ()


def match_any(terms: Iterable[str]) -> str:
    """Return the FTS5 expression for texts with any of some tokens; empty without tokens.

    The tokens are quoted, so FTS5 syntax in them has no effect.
    """
    return " OR ".join(f'"{term}"' for term in dict.fromkeys(map(_escaped, terms)) if term)


def _escaped(term: str) -> str:
    return term.replace("\0", "").replace('"', '""').strip()


def normalize_symbol(symbol: str) -> str:
    """Return `symbol` with dots between scopes and without a call.

    >>> normalize_symbol("`AuthService::login()`")
    'AuthService.login'
    """
    without_call = _CALL.sub("", symbol.strip().strip("`"))
    return _SCOPE.sub(".", without_call).strip(". ")


def names_symbol(name: str, qualified: str, path: str) -> bool:
    """Return whether `name` (see `normalize_symbol`) means the symbol `qualified` of a file.

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
    return any(prefix.endswith(f".{module}") for prefix in (file, package))


def index_words(path: str, chunk: Chunk) -> tuple[str, str]:
    """Return the tokens of a chunk's text, and those of its path and symbols."""
    names = "\n".join((path, *chunk.symbols))
    return word_text(chunk.text), word_text(names)


def document_words(path: str, chunks: Iterable[Chunk], *, page: bool) -> Words:
    """Return the words of a document; those of a `page` of a query plan would distort BM25."""
    return [None if page or not is_parsed(c.card) else index_words(path, c) for c in chunks]
