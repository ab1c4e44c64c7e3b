"""What speaks for and against «this question means that agreement», as twelve numbers.

Of the rest of the store only one thing counts: how much closer this agreement is than the closest
one of a different symbol, and than phrases about nothing. A map of one agreement is thus judged by
the same scale as a map of many (docs/decisions/0009).
"""

import math
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from code_intel.chunking.agreement import card as card_text
from code_intel.chunking.agreement import split_symbol
from code_intel.chunking.words import query_words, words
from code_intel.learned.actions import actions
from code_intel.learned.calibration import Space, document_frequency
from code_intel.learned.contrast import opposite
from code_intel.learned.english import covered, ideas, missing, stems
from code_intel.learned.glossary import content_words, read
from code_intel.learned.short_forms import shortened
from code_intel.records import Agreement

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

NARROWEST, WIDEST = 6, 120
"""Bounds of a question's width: beyond them length says nothing more."""

PHRASE = 40
"""Width of an alias up to which its words are the agreement's: a sentence has words about everything."""

MOST_FOREIGN = 3
MOST_IDEAS = 4
"""Further ones say nothing more."""

_FIRST_WIDE = 0x2E80


class Wording(NamedTuple):
    """What an agreement says, prepared for comparison.

    Attributes:
        words: Index tokens of card and aliases.
        term: The term.
        term_words: Index tokens of the term.
        name: The symbol as it is written.
        symbol: The same, split into words, as it is compared with those of other agreements.
        said: Card and aliases.
        action: Term, symbol and aliases: what names the action.
        wide: Share of Japanese script in the card.
        concepts: Of card and aliases; see `glossary`.
        content: Content words of card and aliases; see `glossary`.
        stems: Of all its ideas; see `english`.
        actions: Of the card; see `actions`.
    """

    words: frozenset[str]
    term: str
    term_words: frozenset[str]
    name: str
    symbol: str
    said: str
    action: str
    wide: float
    concepts: frozenset[str]
    content: frozenset[str]
    stems: frozenset[str]
    actions: frozenset[int]


def wording(agreement: Agreement) -> Wording:
    """Prepare an agreement's own words and its aliases'; of an alias that is a sentence only the whole counts."""
    symbol = split_symbol(agreement.symbol)
    aliases = tuple(alias for alias in agreement.aliases if width(alias) <= PHRASE)
    name = agreement.symbol
    return _wording(card_text(agreement), agreement.nl_term, name, symbol, aliases)


@lru_cache(maxsize=4096)
def _wording(card: str, term: str, name: str, symbol: str, aliases: tuple[str, ...]) -> Wording:
    said = (card, *aliases)
    return Wording(
        words=frozenset().union(*map(words, said)),
        term=term,
        term_words=frozenset(words(term)),
        name=name,
        symbol=symbol,
        said=" ".join(said),
        action=" ".join((f"{term} {symbol}", *aliases)),
        wide=wide_share(card),
        concepts=frozenset().union(*(read(text).concepts for text in said)),
        content=frozenset().union(*map(content_words, said)),
        stems=frozenset().union(*(stems(ideas(text)) for text in said)),
        actions=actions(card),
    )


def measure(
    query: str, query_vector: "NDArray[Any]", wordings: Sequence[Wording], vectors: "NDArray[Any]",
    space: Space,
) -> "Array":  # fmt: skip
    """Return the evidence for each agreement, shape (agreements, features).

    margin    cosine of question and card in the centred space without the language axis, less that of
              the closest card of a different symbol or of generic phrases, whichever is closer
    gap       difference in the share of Japanese script: across scripts cosines are lower
    opposite  1 when the question says the opposite of the agreement (see `contrast`), else 0
    term      share of the term's weighty words in the question: shared words raise a cosine
              without adding meaning
    width     log of the question's width: details lower a cosine without taking meaning away
    foreign   how many of the question's concepts (see `glossary`) the agreement does not have, at most 3
    covered   share of the question's ideas, in English and by rarity (see `english`), that it has
    known     how many of them it has, at most 4
    unknown   how many it does not have, at most 4
    unsaid    the share of those
    action    1 when both name actions and none in common (see `actions`), else 0
    short     how surely the question is a short form or a loan word of it (see `short_forms`)
    """
    import numpy as np

    asked = space.queries(query_vector.reshape(1, -1))[0]
    margins = _margins(space.passages(vectors) @ asked, wordings, space.crowd(asked))
    rows = [
        (float(margin), *_worded(query, said))
        for margin, said in zip(margins, wordings, strict=True)
    ]
    return np.array(rows, dtype=np.float64).reshape(len(wordings), -1)


def _margins(cosines: "Array", wordings: Sequence[Wording], crowd: float) -> "Array":
    """Return how far each cosine is ahead of the best one of a different symbol, and of `crowd`."""
    import numpy as np

    order = np.argsort(-cosines, kind="stable")
    first = order[0] if len(order) else 0
    second = next((at for at in order if wordings[at].symbol != wordings[first].symbol), None)
    rivals = [
        second if said.symbol == wordings[first].symbol else first for said in wordings
    ]  # fmt: skip
    best = [crowd if rival is None else max(crowd, float(cosines[rival])) for rival in rivals]
    return np.asarray(cosines - np.array(best), dtype=np.float64)


def _worded(query: str, said: Wording) -> tuple[float, ...]:
    """Return the features that words alone give, in the order of `FEATURES` after the first."""
    said_ideas = ideas(query)
    lacking = missing(said_ideas, said.stems)
    does = actions(query)
    return (
        abs(wide_share(query) - said.wide),
        float(bool(opposite(query, said.action, said.content))),
        shared(said.term_words, frozenset(query_words(query))),
        math.log(width(query)),
        min(MOST_FOREIGN, len(read(query).concepts - said.concepts)),
        covered(said_ideas, said.stems),
        min(MOST_IDEAS, len(said_ideas) - lacking),
        min(MOST_IDEAS, lacking),
        min(MOST_IDEAS, lacking) / max(1, min(8, len(said_ideas))),
        float(bool(does and said.actions) and not does & said.actions),
        shortened(query, said.term, said.symbol),
    )


def shared(of: Iterable[str], among: frozenset[str]) -> float:
    """Return the share of `of` that occurs `among`, each word by its rarity; 0 to 1."""
    frequency, phrases = document_frequency()
    weights = {word: math.log((phrases + 1) / (frequency[word] + 0.5)) for word in of}
    total = sum(weights.values())
    return sum(weights[word] for word in weights.keys() & among) / total if total else 0.0


def width(text: str) -> int:
    """Return how wide a text is set, Japanese characters counting double, within bounds."""
    folded = unicodedata.normalize("NFKC", text)
    wide = sum(ord(char) >= _FIRST_WIDE for char in folded)
    return min(WIDEST, max(NARROWEST, len(folded) + wide))


def wide_share(text: str) -> float:
    """Return the share of Japanese script in a text, 0 to 1."""
    chars = [char for char in unicodedata.normalize("NFKC", text) if not char.isspace()]
    return sum(ord(char) >= _FIRST_WIDE for char in chars) / len(chars) if chars else 0.0
