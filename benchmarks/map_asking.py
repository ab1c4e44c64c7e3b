"""Labelled questions asked of a map through the product's own `recall`.

The map is asked as it is, filled up with agreements of others, with one agreement alone, and with
an alias for each.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from benchmarks.map_judging import Judgements, Scores, judged
from benchmarks.map_labels import Labels, chosen
from code_intel.embedding.engine import Embedder
from code_intel.learned.fit.texts import CachingEmbedder, cards_of
from code_intel.learned.recall.calibration import fitted
from code_intel.learned.recall.recall import Card, fold, recall
from code_intel.records import Agreement

__all__ = ["CachingEmbedder", "asked", "cards_of"]

NO_QUOTE = ("sentence", "request")
"""Kinds that a session does not name a feature by, so that they become no alias."""


def asked(labels: Labels, embedder: Embedder, cards: Sequence[Card] | None = None) -> Scores:
    """Return the score of every question for every card; cards default to the set's agreements."""
    cards = cards_of(labels.agreements, embedder) if cards is None else cards
    constants = fitted(embedder.identity)
    scores = np.zeros((len(labels.queries), len(cards)))
    for row, (query, vector) in enumerate(
        zip(labels.queries, embedder.queries(labels.queries), strict=True)
    ):
        for answer in recall(query, vector, cards, constants):
            scores[row, answer.card] = answer.score
    return scores


def alone(labels: Labels, embedder: Embedder) -> Scores:
    """Return the score of every question for each map of one agreement that matters to it.

    Shape (questions, agreements): all agreements for unrelated questions, 0 but for the one that it
    is about for any other.
    """
    scores = np.zeros((len(labels.queries), len(labels.agreements)))
    near = np.array(labels.near)
    for place, one in enumerate(cards_of(labels.agreements, embedder)):
        rows = np.flatnonzero((near == place) | (near < 0))
        scores[rows, place] = asked(chosen(labels, rows.tolist()), embedder, [one])[:, 0]
    return scores


def fillers(labels: Labels, others: Mapping[str, Labels], size: int) -> list[Agreement]:
    """Return agreements of other sets that bring a map to a size, as far as there are such.

    None means what one of the map already says. The same each time; a larger map holds the smaller.
    """
    known = {fold(agreement.nl_term) for agreement in labels.agreements}
    twins = frozenset[str]().union(*labels.twins)
    mine = frozenset(labels.names)
    free = [
        agreement
        for other in others.values()
        for agreement, name, same in zip(other.agreements, other.names, other.twins, strict=True)
        if name not in mine | twins and not same & mine and fold(agreement.nl_term) not in known
    ]
    order = np.random.default_rng(0).permutation(len(free))
    return [free[at] for at in order[: max(0, size - len(labels.agreements))]]


def filled(labels: Labels, strangers: Sequence[Agreement], embedder: Embedder) -> Judgements:
    """Ask a set of its map together with agreements of others.

    Left out, whatever the size: questions that agreements of another set answer.
    """
    labels = chosen(labels, [row for row, other in enumerate(labels.elsewhere) if not other])
    cards = cards_of([*labels.agreements, *strangers], embedder)
    return judged(labels, asked(labels, embedder, cards))


class AliasRound(NamedTuple):
    """One round: every agreement has one alias, and the rest is asked. The same questions each."""

    without: Judgements
    one_session: Judgements
    two_sessions: Judgements


def aliased(labels: Labels, embedder: Embedder, plain: Scores, rounds: int) -> Iterator[AliasRound]:
    """Make one question of each agreement its alias, and ask all others, so many times.

    Args:
        labels: The set.
        embedder: The model.
        plain: Scores without aliases, as `asked` returned them.
        rounds: An agreement's questions follow each other in a seeded order, then again.
    """
    candidates = quotes(labels)
    cards = cards_of(labels.agreements, embedder)
    for turn in range(rounds):
        alias = {place: each[turn % len(each)] for place, each in candidates.items() if each}
        rest = sorted(set(range(len(labels.queries))) - set(alias.values()))
        asking = chosen(labels, rest)
        said = {place: labels.queries[row] for place, row in alias.items()}
        yield AliasRound(
            judged(asking, plain[rest]),
            *(
                judged(asking, asked(asking, embedder, with_aliases(cards, said, certain)))
                for certain in ((), range(len(cards)))
            ),
        )


def quotes(labels: Labels) -> dict[int, list[int]]:
    """Return, by agreement, the questions that may become its alias, in a seeded order."""
    found: dict[int, list[int]] = {place: [] for place in range(len(labels.agreements))}
    for row in np.random.default_rng(0).permutation(len(labels.queries)).tolist():
        if labels.expected[row] >= 0 and labels.kinds[row] not in NO_QUOTE:
            found[labels.expected[row]].append(row)
    return found


def with_aliases(
    cards: Sequence[Card], said: Mapping[int, str], certain: Collection[int]
) -> list[Card]:
    """Give cards, by place, an alias that one session used, or two where it is certain."""
    return [
        replace(
            one,
            agreement=replace(one.agreement, aliases=(said[place],)),
            aliases_certain=frozenset([said[place]] if place in certain else []),
        )
        if place in said
        else one
        for place, one in enumerate(cards)
    ]
