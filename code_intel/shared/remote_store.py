"""Ask the shared index of a server what a ranking needs to know.

The index of a generation never changes. So what is needed as a whole, such as the imports of all
files, is kept on this machine (`KeptAnswers`), and what a question has asked is not asked again.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from code_intel.errors import EmbeddingError
from code_intel.index.rows import ChunkPlace, ChunkRow, CommitHit
from code_intel.records import Definition
from code_intel.shared.calls import MAX_HITS, MAX_TERMS, METHODS, FoundHits
from code_intel.shared.client import TOO_LARGE, SharedClient, SharedIndexError
from code_intel.shared.fields import MAX_CHUNK_ID, is_document_name, is_name
from code_intel.shared.kept_answers import KeptAnswers
from code_intel.shared.layers import digest_of
from code_intel.shared.recent import Recent
from code_intel.shared.routes import MAX_CALLS, STORE, AskStore
from code_intel.shared.wire import vector_text

if TYPE_CHECKING:  # importing numpy would add 0.1 s to a handshake
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

ResultT = TypeVar("ResultT")

QUESTION_TIMEOUT_S = 3.0
"""Time limit of all calls for one question, if the server answers them."""
BULK_TIMEOUT_S = 30.0
"""Time limit of a call outside questions."""
MAX_KNOWN_PLACES = 100_000


class RemoteStore:
    """The shared index of one generation, or of several repositories; a `SourceStore`.

    Every method raises SharedIndexError if the server does not answer in time.

    Args:
        client: Sends the questions.
        generations: The ids of the generations.
        model: The identity of the model of the vectors; None if the server must say it.
        kept: Keeps answers about a single generation.
        dimensions: Numbers of a vector.
    """

    def __init__(
        self,
        client: SharedClient,
        generations: Sequence[str],
        *,
        model: str | None = None,
        kept: KeptAnswers | None = None,
        dimensions: int = 384,
    ) -> None:
        self._generations = tuple(generations)
        self._revision = digest_of("generations", *self._generations)
        self._dimensions = dimensions
        self._client = client
        self._kept = kept
        self._places: Recent[int, ChunkPlace] = Recent(MAX_KNOWN_PLACES)
        self._cached: dict[str, tuple[object, Any]] = {}
        self._question = threading.local()
        self._whole: dict[str, Any] = {} if model is None else {"model": model}
        self._unusable: dict[str, SharedIndexError] = {}

    @contextmanager
    def question(self, seconds: float = QUESTION_TIMEOUT_S) -> Iterator[None]:
        """Limit the time that all calls in the block, which are for one question, take together."""
        self._question.left, self._question.known = seconds, {}
        try:
            yield
        finally:
            self._question.left = None

    def ask_words(self, terms: Iterable[str], names: Iterable[str], limit: int) -> None:
        """Ask in one call what `search_words` will ask in several, for the question of the block.

        Args:
            terms: The tokens of the question.
            names: The unqualified names in it.
            limit: Maximum number of chunks of each search.
        """
        wanted, limit = _names(terms), min(limit, MAX_HITS)
        calls: list[tuple[str, Any]] = [("definition_chunks", name) for name in _names(names)]
        if "model" not in self._whole:
            calls.insert(0, ("model", None))
        if wanted:
            columns = ("body", "names")
            calls += [("word_hits", (wanted, column, limit)) for column in columns]
            calls.append(("word_counts", wanted))
        calls = calls[:MAX_CALLS]
        for (method, arguments), answer in zip(calls, self._answers(calls), strict=True):
            self._question.known[method, repr(arguments)] = _checked(method, answer)

    def snapshot(self) -> AbstractContextManager[None]:
        """Return a block that does nothing: a generation never changes."""
        return nullcontext()

    def version_token(self) -> tuple[int, ...] | None:
        """Return a value that identifies the generations."""
        return (int(self._revision[:15], 16),)

    def revision(self) -> str:
        """Return a value that identifies the generations."""
        return self._revision

    def cached(
        self, name: str, version: object, compute: Callable[[ResultT | None], ResultT]
    ) -> ResultT:
        """Return a value computed from the index; compute it again when `version` changes."""
        known, value = self._cached.get(name, (None, None))
        if version is None or known != version:
            value = compute(value)
            if version is not None:
                self._cached[name] = (version, value)
        return cast("ResultT", value)

    def model(self) -> str | None:
        """Return the identity of the model of the vectors, or None without vectors."""
        return self._ask("model", None) or None

    # --- candidates

    def word_hits(
        self, terms: Iterable[str], column: Literal["body", "names"], limit: int
    ) -> list[tuple[int, float]]:
        """Return (chunk id, BM25) of chunks with any of `terms`, best first."""
        wanted = _names(terms)
        limit = min(limit, MAX_HITS)
        return self._hits("word_hits", (wanted, column, limit)) if wanted and limit > 0 else []

    def narrowed(self, folder: str, glob: str, keeps: Callable[[str], bool]) -> None:
        """Return None: this index does not list its documents for a filter."""

    def word_counts(self, terms: Iterable[str]) -> tuple[int, dict[str, int]]:
        """Return the number of chunks, and for each token that occurs, that of chunks with it."""
        chunks, counts = self._ask("word_counts", _names(terms))
        return chunks, counts

    def vector_hits(self, query: "Vector", limit: int) -> list[tuple[int, float]]:
        """Return (chunk id, cosine) of the nearest chunks, best first.

        Raises:
            EmbeddingError: `query` has other dimensions than the vectors.
        """
        import numpy as np

        if query.shape != (self._dimensions,):
            raise EmbeddingError(
                f"The question has {query.size} numbers; the index has {self._dimensions}.",
                hint="Use the model of the index.",
            )
        if limit <= 0 or not self.model():
            return []
        text = vector_text(np.ascontiguousarray(query, "<f4").tobytes())
        return self._hits("vector_hits", (text, min(limit, MAX_HITS)))

    def definition_chunks(self, name: str) -> list[int]:
        """Return the ids of the chunks in which a symbol with that unqualified name starts."""
        hits = self._hits("definition_chunks", name) if _names([name]) else ()
        return [chunk for chunk, _ in hits]

    def commit_hits(self, terms: Iterable[str]) -> dict[str, CommitHit]:  # noqa: ARG002 - see below
        """Return nothing: commits are in the local index."""
        return {}

    # --- chunks

    def chunk_places(self, ids: Iterable[int]) -> list[ChunkPlace]:
        """Return where the chunks of `ids` that exist are; hits have brought most of them."""
        wanted = _ids(ids)
        known = self._places.found(wanted)
        if missing := [chunk for chunk in wanted if chunk not in known]:
            known |= self._noted(self._ask("chunk_places", missing))
        return [known[chunk] for chunk in wanted if chunk in known]

    def chunk_rows(self, ids: Iterable[int]) -> dict[int, ChunkRow]:
        """Return the chunks of `ids` that exist."""
        wanted = _ids(ids)
        rows = self._ask("chunk_rows", wanted) if wanted else ()
        return {row.id: row for row in rows if row.id in set(wanted)}

    def chunk_texts(self, ids: Iterable[int]) -> dict[int, str]:
        """Return the texts of the chunks of `ids` that exist."""
        wanted = _ids(ids)
        return dict(self._ask("chunk_texts", wanted)) if wanted else {}

    def chunks_of(self, paths: Iterable[str]) -> list[ChunkRow]:
        """Return the chunks of documents, ordered by path and position."""
        wanted = _documents(paths)
        rows: list[ChunkRow] = self._ask("chunks_of", wanted) if wanted else []
        return rows

    def pages(self) -> list[int]:
        """Return nothing: pages of query plans are not shared."""
        return []

    # --- documents and what they define

    def digests(self) -> list[tuple[str, str, str]]:
        """Return (path, language, digest) of every document."""
        found: list[tuple[str, str, str]] = self._ask("digests", None)
        return found

    def latest(self, limit: int) -> list[tuple[str, int]]:  # noqa: ARG002 - see below
        """Return nothing: when a file changed is known on this machine only."""
        return []

    def definitions(self, symbol: str, *, exact: bool, limit: int) -> list[Definition]:
        """Return where `symbol` is defined; see `SourceStore`."""
        question = (symbol, exact, min(limit, MAX_HITS))
        is_usable = limit > 0 and _names([symbol])
        rows: list[Definition] = self._ask("definitions", question) if is_usable else []
        return rows

    def defined_in(self, paths: Iterable[str]) -> list[Definition]:
        """Return the symbols of documents, ordered by path and line, outer before inner ones."""
        wanted = _documents(paths)
        rows: list[Definition] = self._ask("defined_in", wanted) if wanted else []
        return rows

    def imports(self, paths: Iterable[str] | None = None) -> list[tuple[str, str]]:
        """Return (path, import target as written) of all documents, or of `paths`."""
        wanted = None if paths is None else _documents(paths)
        if wanted == []:
            return []
        found: list[tuple[str, str]] = self._ask("imports", wanted)
        return found

    # --- calls

    def _hits(self, method: str, arguments: object) -> list[tuple[int, float]]:
        """Return the hits with a place, and note the places that came with them."""
        found: FoundHits = self._ask(method, arguments)
        noted = self._noted(found.places)
        known = self._places.found(chunk for chunk, _ in found.hits).keys() | noted.keys()
        return [hit for hit in found.hits if hit[0] in known]

    def _noted(self, places: Iterable[ChunkPlace]) -> dict[int, ChunkPlace]:
        """Keep places, and return them by chunk."""
        noted = {place.id: place for place in places}
        self._places.put(noted)
        return noted

    def _ask(self, method: str, arguments: object) -> Any:
        """Return the checked result of a method, kept or from the server.

        Raises:
            SharedIndexError: The server does not answer in time, or with something else.
        """
        row = METHODS[method]
        kept = self._kept if row.is_bulk else None
        known = self._whole.get(method) if arguments is None else None
        if known is None and getattr(self._question, "left", None) is not None:
            known = self._question.known.get((method, repr(arguments)))
        if known is None and kept:
            known = kept.get(method, arguments)
        if known is not None:
            return self._remember(method, arguments, known)
        if arguments is None and method in self._unusable:
            raise self._unusable[method]
        try:
            (answer,) = self._answers([(method, arguments)])
            result = _checked(method, answer)
        except SharedIndexError as error:
            if not error.is_temporary and error.status in {0, TOO_LARGE}:
                self._unusable[method] = error  # such as too many files for one answer
            raise
        if kept:
            kept.put(method, arguments, answer)
        return self._remember(method, arguments, result)

    def _remember(self, method: str, arguments: object, result: Any) -> Any:
        """Keep what was asked about the whole generation in memory, and return it."""
        if arguments is None:
            self._whole[method] = result
        return result

    def _answers(self, calls: Sequence[tuple[str, Any]]) -> list[Any]:
        """Return the answers of the server, which have been checked to be JSON only.

        Raises:
            SharedIndexError: It does not answer in time, or not each call.
        """
        if not calls:
            return []
        left = getattr(self._question, "left", None)
        if left is not None and left <= 0:
            raise SharedIndexError("the server is too slow for this question")
        question = AskStore(self._generations, tuple(calls))
        began = time.monotonic()
        results = self._client.ask(STORE, question, left or BULK_TIMEOUT_S)
        if left is not None:
            self._question.left = left - (time.monotonic() - began)
        if len(results) != len(calls):
            raise SharedIndexError("the server answers another question", is_temporary=False)
        return results


def _checked(method: str, answer: object) -> Any:
    """Return the answer to a method.

    Raises:
        SharedIndexError: It has a wrong form.
    """
    try:
        return METHODS[method].result.validate_python(answer)
    except ValueError:
        raise SharedIndexError(
            f"the answer of the server to {method} has a wrong form", is_temporary=False
        ) from None


def _names(texts: Iterable[str]) -> list[str]:
    """Return the texts that an index can have as tokens or symbols."""
    return list(dict.fromkeys(filter(is_name, texts)))[:MAX_TERMS]


def _ids(ids: Iterable[int]) -> list[int]:
    """Return the numbers that a shared index can have as chunk ids, each once."""
    return [chunk for chunk in dict.fromkeys(ids) if 0 <= chunk < MAX_CHUNK_ID]


def _documents(paths: Iterable[str]) -> list[str]:
    """Return the paths that a shared index can have."""
    return [path for path in dict.fromkeys(paths) if is_document_name(path)]
