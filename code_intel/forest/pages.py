"""Pages that query plans wrote, beside the source that they speak of and never in its place.

A page repeats the words of a question and the code that answered it, so in one ranking with the source it would
win. The source is ranked as if there were none; then the best page that speaks to the question stands last among
those hits that people read (docs/decisions/0041).
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from code_intel.chunking import knowledge_page
from code_intel.chunking.words import words
from code_intel.forest.evidence import File
from code_intel.forest.measures import meaning
from code_intel.forest.question import Question
from code_intel.index.corpus import is_page
from code_intel.index.store import Store
from code_intel.records import Hit

TAG, STALE = "knowledge", "stale"
"""In `Hit.why`: a page; and one that speaks of files that have changed since, or are gone."""
SAID = 0.5
"""Share of a question's words that a page's goal has when it was about the same."""
PLACE = 10
"""From the top: where a page stands, or last where fewer hits are asked for."""


def apart(files: Sequence[File]) -> tuple[list[File], list[File]]:
    """Return the source, and the pages."""
    return [f for f in files if not is_page(f.path)], [f for f in files if is_page(f.path)]


def best(pages: Collection[File], source: Collection[File], question: Question) -> File | None:
    """Return the page whose goal says most of the question; None where none says half of it, or means as much as the source."""
    nearest = max((meaning(file, question) for file in source), default=0.0)
    merits = []
    for page in pages:
        front = knowledge_page.read(page.rows[0].text)
        said = _shared(front.goal, question) if front else 0.0
        close = meaning(page, question) / nearest if nearest > 0 else 0.0
        if said >= SAID or close >= 1:
            merits.append((said + close, page.path, page))
    return max(merits, key=lambda each: each[:2])[2] if merits else None


def _shared(goal: str, question: Question) -> float:
    asked = set(question.terms)
    return len(asked & set(words(goal))) / len(asked) if asked else 0.0


def placed(hits: Sequence[Hit], page: Hit, top_k: int) -> list[Hit]:
    """Return the hits with the page among them, at most `top_k`; the best source stays first."""
    place = min(len(hits), PLACE - 1, max(top_k - 1, 0))
    if place == 0 and hits:
        return list(hits)
    page = replace(page, score=hits[place - 1].score if hits else 1.0)
    return [*hits[:place], page, *hits[place:]][:top_k]


def tags_of(store: Store, page: File) -> tuple[str, ...]:
    """Return the tags of a page: the index may know a file that it speaks of otherwise."""
    front = knowledge_page.read(page.rows[0].text)
    if front is not None and all(_is_as_it_was(store, *each) for each in front.files):
        return (TAG,)
    return TAG, STALE


def _is_as_it_was(store: Store, path: str, digest: str) -> bool:
    known = store.document(path)
    return known is not None and known.digest[: knowledge_page.DIGITS] == digest
