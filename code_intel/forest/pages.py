"""Add the best matching page of a query plan to the ranked source files.

A page contains the words of its question and the code that answered it, so it would come first in a
ranking with source files. The source is therefore ranked without pages. Then the best page is
inserted after the first hits, in addition to the requested number (docs/decisions/0041).
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from code_intel.chunking import knowledge_page
from code_intel.chunking.words import words
from code_intel.forest.ranking.question import RankedQuestion
from code_intel.forest.source_store import SourceStore
from code_intel.index.rows import ChunkRow
from code_intel.index.store import Store
from code_intel.records import PAGE_TAG, Hit

if TYPE_CHECKING:  # importing numpy would add 0.1 s to a handshake
    import numpy as np
    from numpy.typing import NDArray

TAG, STALE, PARTIAL = PAGE_TAG, "stale", "partial"
"""Tags in `Hit.why`: a page; a page about a file that has since changed or been deleted; a page of
a plan that found only a part of what it expected."""
MIN_SHARED_WORDS = 0.5
"""Share of the question's words that a page's goal must contain to match."""
MAX_PAGES = 1000
"""Maximum number of pages that are compared with a question; the last indexed ones are."""
MAX_PAGE_CHARS = 700
"""Maximum characters of a page in a hit."""
PAGE_RANK = 10
"""Number of hits before the page. Even as the tenth hit, it displaced the answer to one to three
of 148 questions."""


def pages_of(store: SourceStore) -> tuple[int, ...]:
    """Return the chunk ids of all pages, the last indexed ones last."""
    with store.snapshot():
        return store.cached("pages", store.version_token(), lambda _: tuple(sorted(store.pages())))


def best_page(
    store: Store, question: RankedQuestion, vector: "NDArray[np.float32] | None", nearest: float
) -> ChunkRow | None:
    """Return the page whose goal is closest to the question, or None if no page matches.

    A page also matches if its cosine is at least `nearest`, the highest cosine of a source chunk.
    """
    pages = store.chunk_rows(pages_of(store)[-MAX_PAGES:])
    cosines = {} if vector is None else _cosines(store, pages, vector)
    matching = []
    for page in pages.values():
        front = _front_matter(page.text)
        shared = _shared_words(front.goal, question) if front else 0.0
        closeness = cosines.get(page.id, 0.0) / nearest if nearest > 0 else 0.0
        if shared >= MIN_SHARED_WORDS or closeness >= 1:
            matching.append((shared + closeness, page.path, page))
    return max(matching, key=lambda match: match[:2])[2] if matching else None


def _cosines(store: Store, pages: Iterable[int], vector: "NDArray[np.float32]") -> dict[int, float]:
    import numpy as np

    length = float(np.linalg.norm(vector))
    return {
        page: float(stored @ vector) / (float(np.linalg.norm(stored)) * length)
        for page, stored in store.generations.vectors_of(pages).items()
    }


def _shared_words(goal: str, question: RankedQuestion) -> float:
    terms = set(question.terms)
    return len(terms & set(words(goal))) / len(terms) if terms else 0.0


def insert_page(hits: Sequence[Hit], page: ChunkRow, tags: tuple[str, ...]) -> list[Hit]:
    """Return the hits with the page inserted after the first `PAGE_RANK`."""
    index = min(len(hits), PAGE_RANK)
    start, text = _excerpt(page.text)
    hit = Hit(
        document=page.path,
        chunk=text,
        position=page.position,
        similarity=0.0,
        score=hits[index - 1].score if hits else 1.0,
        start_line=start,
        end_line=start + text.count("\n"),
        why=tags,
    )
    return [*hits[:index], hit, *hits[index:]]


def _excerpt(text: str) -> tuple[int, str]:
    """Return the first line number of a page's body, and the first lines of the body."""
    _, end, body = text.partition("\n---\n")
    body = (body if end else text).lstrip("\n")
    start = text[: len(text) - len(body)].count("\n") + 1
    lines = body[:MAX_PAGE_CHARS].splitlines(keepends=True)
    return start, "".join(lines if len(body) <= MAX_PAGE_CHARS else lines[:-1]).rstrip()


def tags_of(store: Store, page: ChunkRow) -> tuple[str, ...]:
    """Return the tags of a page, with `stale` if a file that it describes has changed."""
    front = _front_matter(page.text)
    if front is None:
        return TAG, STALE
    unchanged = all(_is_unchanged(store, path, digest) for path, digest in front.files)
    tags = (TAG,) if unchanged else (TAG, STALE)
    return tags if front.status == "success" else (*tags, PARTIAL)


@lru_cache(maxsize=MAX_PAGES)
def _front_matter(text: str) -> knowledge_page.PageFrontMatter | None:
    return knowledge_page.read(text)


def _is_unchanged(store: Store, path: str, digest: str) -> bool:
    known = store.document(path)
    return known is not None and known.digest[: knowledge_page.DIGEST_CHARS] == digest
