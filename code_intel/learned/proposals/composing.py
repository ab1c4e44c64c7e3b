"""Compose proposals from the commits that are about a symbol. Pure.

The titles of a symbol's commits are clustered by their words. Each cluster is one proposal: its
most central title is the term, and the other titles are evidence that the term has this meaning.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from code_intel.learned.proposals.changes import Change
from code_intel.learned.proposals.current import CurrentCode, Place
from code_intel.learned.proposals.purpose import names_feature, term_of
from code_intel.learned.recall.glossary import content_words
from code_intel.learned.recall.recall import fold
from code_intel.records import Agreement, FileReference, Symbol

CLUSTER_SIZE = 7
"""Titles of a cluster; a symbol with fewer has one cluster."""
MAX_CLUSTERS = 6
"""Clusters of one symbol."""
MAX_FILES = 4
"""Files of a proposal: the one that defines the symbol, and others."""
MIN_FILE_SHARE = 0.25
"""Share of a symbol's commits that changed another file of the proposal."""


class Proposal(NamedTuple):
    """A proposed agreement.

    Attributes:
        place: The symbol.
        agreement: The agreement, unconfirmed.
        commits: The commits that it rests on, the one that gave the term first.
        titles: What these commits are for.
        sources: Other sources, such as `docs/timeouts.md:12`.
        said: What the code says about the symbol; see `statements`.
        share: The share of the changed lines of the term's commit that are in the symbol.
        sure: How sure it is, from 0 to 1; see `ranking`.
    """

    place: Place
    agreement: Agreement
    commits: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    share: float = 1.0
    sure: float = 0.0

    @property
    def key(self) -> tuple[str, str]:
        """The term and the symbol, which identify an agreement."""
        return self.agreement.nl_term, self.agreement.symbol


def compose(changes: Iterable[Change], current: CurrentCode) -> list[Proposal]:
    """Return the proposals that some commits support, by symbol."""
    by_place: dict[Place, list[Change]] = defaultdict(list)
    for change in changes:
        by_place[change.place].append(change)
    return [
        proposal
        for place, among in by_place.items()
        if (symbol := current.symbol(place))
        for proposal in _proposals(place, symbol, _distinct(among))
    ]


def statements(symbol: Symbol) -> tuple[str, ...]:
    """Return what the code says about a symbol: its declaration, and its documentation."""
    about = (f"`{symbol.signature}`" if symbol.signature else "", symbol.doc)
    return tuple(text for text in about if text)


def reference(place: Place, symbol: Symbol) -> FileReference:
    """Return the definition of a symbol."""
    return FileReference(place.path, symbol.start_line)


def _proposals(place: Place, symbol: Symbol, changes: Sequence[Change]) -> Iterable[Proposal]:
    counts = Counter(file for each in changes for file in each.files if file != place.path)
    others = [file for file, n in counts.most_common() if n >= MIN_FILE_SHARE * len(changes)]
    files = (reference(place, symbol), *map(FileReference, others[: MAX_FILES - 1]))
    said = statements(symbol)
    for cluster in _clusters(changes):
        term = cluster[0]
        evidence = (*said, *(each.title for each in cluster[1:]))
        agreement = Agreement(
            nl_term=term_of(term.title),
            symbol=place.symbol,
            evidence=evidence or (term.title,),
            files=files,
            digest=symbol.digest,
        )
        commits = tuple(each.commit for each in cluster)
        titles = tuple(each.title for each in cluster)
        yield Proposal(place, agreement, commits, titles, said=said, share=term.share)


def _distinct(changes: Iterable[Change]) -> list[Change]:
    """Return the changes with different titles, latest first: a merge repeats its commits."""
    found: dict[str, Change] = {}
    for change in changes:
        found.setdefault(fold(term_of(change.title)), change)
    return list(found.values())


def _clusters(changes: Sequence[Change]) -> Iterable[list[Change]]:
    """Yield clusters of changes, each with the most central one first."""
    content = [content_words(term_of(each.title)) for each in changes]
    weights = _rarities(content)
    left = set(range(len(changes)))
    for number in range(MAX_CLUSTERS):
        terms = [at for at in sorted(left) if names_feature(changes[at].title)]
        if not terms:
            return
        seed = max(
            terms,
            key=lambda at: sum(_likeness(content, weights, at, other) for other in left - {at}),
        )
        near = [at for at in left if at != seed and content[at] & content[seed]]
        if len(changes) <= CLUSTER_SIZE:
            near = [at for at in left if at != seed]
        elif number and not near:
            return
        near.sort(key=lambda at: (-_likeness(content, weights, seed, at), at))
        cluster = [seed, *near[: CLUSTER_SIZE - 1]]
        yield [changes[at] for at in cluster]
        left -= set(cluster)


def _rarities(content: Iterable[frozenset[str]]) -> Mapping[str, float]:
    content = list(content)
    counts = Counter(word for words in content for word in words)
    return {word: math.log(len(content) / count + 1) for word, count in counts.items()}


def _likeness(
    content: Sequence[frozenset[str]], weights: Mapping[str, float], one: int, other: int
) -> float:
    shared = content[one] & content[other]
    return sum(weights[word] for word in shared) / math.sqrt(1 + len(content[one]))
