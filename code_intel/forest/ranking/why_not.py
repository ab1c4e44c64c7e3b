"""Say where a file lost in a search, and why another file is the first.

Everything is computed as for an answer: by `gather`, `is_likely` and `rank`. The cases are in
`_CASES`; the first that applies is the reason.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, NamedTuple

from code_intel.chunking.words import words
from code_intel.forest.ranking.evidence import File, gather
from code_intel.forest.ranking.floor import is_likely
from code_intel.forest.ranking.question import read
from code_intel.forest.ranking.search import POOL, rank, state_of
from code_intel.forest.ranking.trace import RowTrace
from code_intel.foundation.text import counted
from code_intel.index.corpus import is_page
from code_intel.index.store import Store
from code_intel.records import RowShare

if TYPE_CHECKING:  # importing numpy would add 0.1 s to a handshake
    import numpy as np
    from numpy.typing import NDArray

MAX_NAMED_WORDS = 6
"""Words of the question that a sentence names."""

_WORD = re.compile(r"\w+", re.ASCII)

Lost = Literal["", "question", "page", "candidates", "points", "floor", "reduced", "limit"]
"""Where a file lost; empty if it is shown."""


class RankedFile(NamedTuple):
    """A file in the ranking.

    Attributes:
        document: Its name in the index.
        rank: Its position, from 1; 0 without one.
        score: Its score, relative to the best file.
        ranking: What each signal gave to it.
    """

    document: str
    rank: int = 0
    score: float = 0.0
    ranking: tuple[RowShare, ...] = ()


@dataclass(frozen=True, slots=True)
class FileSearch:
    """How one file fared in a search.

    Attributes:
        file: The file in the ranking; the floor is not applied.
        first: The first file that is shown; without its name if none is.
        last: The last file that is shown; as above.
        files: Number of files in the ranking.
        shown: Number of files that are shown at most.
        per_file: Number of places of one file that are shown at most.
        places: Number of its places that the searches found.
        has_question: Whether the question has a word or a name.
        likely: Whether anything is likely enough to be shown.
        words: The words of the question that the file contains.
        missing: The other words of the question.
        cosine: The largest cosine of the file and the question; None without vectors of both.
        last_cosine: The lowest cosine that the search for vectors kept; None without vectors.
    """

    file: RankedFile
    first: RankedFile
    last: RankedFile
    files: int
    shown: int
    per_file: int
    places: int
    has_question: bool
    likely: bool
    words: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    cosine: float | None = None
    last_cosine: float | None = None

    @property
    def lost(self) -> Lost:
        """Where the file lost."""
        return next(case.lost for case in _CASES if case.applies(self))

    @property
    def reason(self) -> str:
        """Where the file lost, in sentences."""
        return next(case.reason(self) for case in _CASES if case.applies(self))

    @property
    def others(self) -> list[RankedFile]:
        """The other files to compare it with: the first one, and the last one shown."""
        if not self.file.rank:
            return []
        shown = {each.document: each for each in (self.first, self.last) if each.rank}
        return [each for document, each in shown.items() if document != self.file.document]

    @property
    def reductions(self) -> list[RowShare]:
        """The signals that reduce the score of the file, the strongest first."""
        reduced = (share for share in self.file.ranking if share.factor < 1)
        return sorted(reduced, key=lambda share: share.factor)

    @property
    def unreduced(self) -> float:
        """The score of the file without its reductions."""
        return sum(share.points for share in self.file.ranking if share.factor >= 1)


def why_not(
    store: Store,
    query: str,
    vector: "NDArray[np.float32] | None",
    document: str,
    *,
    top_k: int,
    per_file: int,
    bases: Sequence[str] = (),
) -> FileSearch:
    """Return how an indexed file fares in a search of the whole forest.

    Args:
        store: The forest's index.
        query: The question.
        vector: The question's embedding, or None to search with words only.
        document: The file's name in the index.
        top_k: Number of files that the search shows.
        per_file: Number of places of one file that it shows.
        bases: Indexed folders as document names; see `search`.
    """
    question = read(query)
    files = gather(store, question, vector, POOL) if question.terms or question.names else []
    trace = RowTrace()
    ranked = rank(state_of(store, question, files, bases), trace=trace)
    best = ranked[0].score if ranked else 1.0
    rows = [
        RankedFile(each.file.path, at, each.score / best, trace.shares(each.file.path, best))
        for at, each in enumerate(ranked, start=1)
    ]
    found = next((file for file in files if file.path == document), File(document))
    said = _words_of(store, document)
    cosines = [cosine for file in files for cosine in file.cosines.values()]
    likely = bool(files) and is_likely(store, query, question, files)
    shown = rows[: max(top_k, 0)] if likely else []
    return FileSearch(
        file=next((row for row in rows if row.document == document), RankedFile(document)),
        first=shown[0] if shown else RankedFile(""),
        last=shown[-1] if shown else RankedFile(""),
        files=len(rows),
        shown=top_k,
        per_file=per_file,
        places=len(found.rows),
        has_question=bool(question.terms or question.names),
        likely=likely,
        words=_spelled(query, (term for term in question.terms if term in said)),
        missing=_spelled(query, (term for term in question.terms if term not in said)),
        cosine=_cosine(store, vector, document) if cosines else None,
        last_cosine=min(cosines, default=None),
    )


def _words_of(store: Store, document: str) -> set[str]:
    """Return the index tokens of a document: its text, its path and its symbols."""
    chunks = store.chunks_of([document])
    texts = [document, *(chunk.text for chunk in chunks)]
    return set(words("\n".join([*texts, *(name for each in chunks for name in each.symbols)])))


def _spelled(query: str, terms: Iterable[str]) -> tuple[str, ...]:
    """Return tokens as the question spells them, such as `invoice` for `invoic`."""
    spelled = {token: word for word in _WORD.findall(query) for token in words(word)}
    return tuple(dict.fromkeys(spelled.get(term, term) for term in terms))


def _cosine(store: Store, vector: "NDArray[np.float32] | None", document: str) -> float | None:
    """Return the largest cosine of a document and the question."""
    if vector is None:
        return None
    vectors = store.generations.vectors_of(chunk.id for chunk in store.chunks_of([document]))
    return max((float(each @ vector) for each in vectors.values()), default=None)


# --- reasons


def _no_candidate(found: FileSearch) -> str:
    by_words = _said(found)
    if found.words:
        by_words += (
            f" Each search keeps the best {POOL} places of all files, and others match better."
        )
    if found.last_cosine is None:
        return f"{by_words} The search compared words only."
    if found.cosine is None:
        return f"{by_words} It has no vector yet."
    return (
        f"{by_words} Its meaning is too far from the question: its best place has a cosine of"
        f" {found.cosine:.3f}, and the last one kept {found.last_cosine:.3f}."
    )


def _said(found: FileSearch) -> str:
    if not found.words:
        return f"It has none of the question's words ({_listed(found.missing)})."
    lacks = f", but not {_listed(found.missing)}" if found.missing else ""
    return f"It has {_listed(found.words)}{lacks}."


def _shown(found: FileSearch) -> str:
    sentence = f"It is shown: file {found.file.rank} of {found.files}.{_ahead(found)}"
    if found.places <= 1:
        return sentence
    return (
        f"{sentence} {found.places} of its places match; at most {found.per_file} are shown, and"
        " only those that score as much as the last file."
    )


def _ahead(found: FileSearch) -> str:
    """Return why the first file is ahead; empty for the first file and one with its score."""
    names = [
        f"the reduction `{each.row}`"
        if each.row in {share.row for share in found.reductions}
        else f"`{each.row}`"
        for each in decisive(found.file.ranking, found.first.ranking)
    ]
    if found.file.rank <= 1 or not names:
        return ""
    return f" The first, {found.first.document}, is ahead mostly because of {_joined(names)}."


def _below_floor(found: FileSearch) -> str:
    return (
        "Nothing matches the question well enough to be a likely answer, so no file is shown."
        f" {_said(found)} Use other words."
    )


def _reduced(found: FileSearch) -> str:
    factors = " and ".join(
        f"`{share.row}` multiplies its score by {share.factor:.2f}" for share in found.reductions
    )
    return (
        f"{_place(found)} The signal {factors}; without that, it would have"
        f" {found.unreduced:.2f} and would be shown."
    )


def _beyond_limit(found: FileSearch) -> str:
    row, mine, other = differences(found.file.ranking, found.last.ranking)[0]
    return (
        f"{_place(found)} The signal `{row}` makes the largest difference: {mine:+.2f} for this"
        f" file, {other:+.2f} for {found.last.document}."
    )


def _place(found: FileSearch) -> str:
    return (
        f"It is file {found.file.rank} of {found.files}, and {counted(found.shown, 'file')} are"
        f" shown. Its score is {found.file.score:.2f}; the last one shown has"
        f" {found.last.score:.2f}."
    )


class Difference(NamedTuple):
    """The points of a signal for a file and for another one."""

    row: str
    mine: float
    other: float

    @property
    def behind(self) -> float:
        """By how much the file is behind."""
        return self.other - self.mine


def differences(mine: Iterable[RowShare], others: Iterable[RowShare]) -> list[Difference]:
    """Return the signals of two files; those in which the first is furthest behind come first."""
    own, other = _points(mine), _points(others)
    rows = dict.fromkeys([*other, *own])
    found = (Difference(row, own.get(row, 0.0), other.get(row, 0.0)) for row in rows)
    return sorted(found, key=lambda each: -each.behind)


def decisive(mine: Iterable[RowShare], others: Iterable[RowShare]) -> list[Difference]:
    """Return the fewest signals that make half of what a file lacks to another one, or more."""
    behind = [each for each in differences(mine, others) if each.behind > 0]
    half = sum(each.behind for each in behind) / 2
    sums = accumulate((each.behind for each in behind), initial=0.0)
    return [each for each, before in zip(behind, sums, strict=False) if before < half]


def _points(shares: Iterable[RowShare]) -> Mapping[str, float]:
    return {share.row: share.points for share in shares}


def _listed(found: Sequence[str]) -> str:
    more = ", …" if len(found) > MAX_NAMED_WORDS else ""
    return ", ".join(found[:MAX_NAMED_WORDS]) + more


def _joined(names: Sequence[str]) -> str:
    """Return names as `a`, `a and b`, or `a, b and c`."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


class _Case(NamedTuple):
    lost: Lost
    applies: Callable[[FileSearch], bool]
    reason: Callable[[FileSearch], str]


_CASES = (
    _Case(
        "question",
        lambda found: not found.has_question,
        lambda _: "The question has no word to search for.",
    ),
    _Case(
        "page",
        lambda found: not found.file.rank and is_page(found.file.document),
        lambda _: "It is a page of a query plan, which only `--include own` shows.",
    ),
    _Case("candidates", lambda found: not found.places, _no_candidate),
    _Case(
        "points",
        lambda found: not found.file.rank,
        lambda _: (
            "It was found, but it matches least of all files found, so no signal gave points."
        ),
    ),
    _Case("floor", lambda found: not found.likely, _below_floor),
    _Case("", lambda found: found.file.rank <= found.shown, _shown),
    _Case("reduced", lambda found: found.unreduced > found.last.score, _reduced),
    _Case("limit", lambda _: True, _beyond_limit),
)
"""Where a file lost, in the order of the search."""
