"""Pages that query plans wrote, beside the source that they speak of and never in its place.

A page repeats the words of a question and the code that answered it, so in one ranking with the source it would
win. The source is ranked as if there were none; then the best page that speaks to the question stands behind those
hits that people read, beside the number that was asked for (docs/decisions/0041).
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from code_intel.chunking import knowledge_page
from code_intel.chunking.words import words
from code_intel.forest.ranking.question import Question
from code_intel.index.rows import ChunkRow
from code_intel.index.store import Store
from code_intel.records import Hit

if TYPE_CHECKING:  # numpy costs a handshake 0.1 s
    import numpy as np
    from numpy.typing import NDArray

TAG, STALE = "knowledge", "stale"
"""In `Hit.why`: a page; and one that speaks of files that have changed since, or are gone."""
SAID = 0.5
"""Share of a question's words that a page's goal has when it was about the same."""
READ = 1000
"""Pages, those indexed last, whose goals are compared: a repository may carry any number, and each question reads them."""
SHOWN = 700
"""Characters of a page that a hit shows."""
PLACE = 10
"""Files that a page never stands before: in the place of the tenth it cost the answer in one to three of 148 questions."""


_KEPT: WeakKeyDictionary[Store, tuple[tuple[int, ...], tuple[int, ...]]] = WeakKeyDictionary()


def pages_of(store: Store) -> tuple[int, ...]:
    """Return the ids of the pages, those indexed last last; looked for once, until anybody writes."""
    state, kept = store.state(), _KEPT.get(store)
    if kept is not None and kept[0] == state:
        return kept[1]
    found = tuple(sorted(store.pages()))
    if state is not None:
        _KEPT[store] = (state, found)
    return found


def best(
    store: Store, question: Question, vector: "NDArray[np.float32] | None", nearest: float
) -> ChunkRow | None:
    """Return the page whose goal says most of the question, if any speaks to it at all.

    Args:
        store: The forest's index.
        question: What is asked.
        vector: Its embedding, if there is one.
        nearest: The cosine of the nearest source: a page that means as much speaks to the question, whatever its words.
    """
    pages = store.chunk_rows(pages_of(store)[-READ:])
    cosines = {} if vector is None else _cosines(store, pages, vector)
    merits = []
    for page in pages.values():
        front = _front(page.text)
        said = _shared(front.goal, question) if front else 0.0
        close = cosines.get(page.id, 0.0) / nearest if nearest > 0 else 0.0
        if said >= SAID or close >= 1:
            merits.append((said + close, page.path, page))
    return max(merits, key=lambda each: each[:2])[2] if merits else None


def _cosines(store: Store, pages: Iterable[int], vector: "NDArray[np.float32]") -> dict[int, float]:
    import numpy as np  # a handshake does not wait for it

    length = float(np.linalg.norm(vector))
    return {
        page: float(made @ vector) / (float(np.linalg.norm(made)) * length)
        for page, made in store.generations.vectors_of(pages).items()
    }


def _shared(goal: str, question: Question) -> float:
    asked = set(question.terms)
    return len(asked & set(words(goal))) / len(asked) if asked else 0.0


def placed(hits: Sequence[Hit], page: ChunkRow, tags: tuple[str, ...]) -> list[Hit]:
    """Return the hits and the page, one more than was asked for: behind all of them, or behind the first `PLACE`."""
    place = min(len(hits), PLACE)
    start, text = _shown(page.text)
    hit = Hit(
        document=page.path,
        chunk=text,
        position=page.position,
        similarity=0.0,
        score=hits[place - 1].score if hits else 1.0,
        start_line=start,
        end_line=start + text.count("\n"),
        why=tags,
    )
    return [*hits[:place], hit, *hits[place:]]


def _shown(text: str) -> tuple[int, str]:
    """Return the lines of a page that a hit shows, behind the front matter, and the number of the first."""
    _, end, body = text.partition("\n---\n")
    body = (body if end else text).lstrip("\n")
    start = text[: len(text) - len(body)].count("\n") + 1
    lines = body[:SHOWN].splitlines(keepends=True)
    return start, "".join(lines if len(body) <= SHOWN else lines[:-1]).rstrip()


def tags_of(store: Store, page: ChunkRow) -> tuple[str, ...]:
    """Return the tags of a page: the index may know a file that it speaks of otherwise."""
    front = _front(page.text)
    if front is not None and all(_is_as_it_was(store, *each) for each in front.files):
        return (TAG,)
    return TAG, STALE


@lru_cache(maxsize=READ)
def _front(text: str) -> knowledge_page.PageFrontMatter | None:
    return knowledge_page.read(text)


def _is_as_it_was(store: Store, path: str, digest: str) -> bool:
    known = store.document(path)
    return known is not None and known.digest[: knowledge_page.DIGITS] == digest
