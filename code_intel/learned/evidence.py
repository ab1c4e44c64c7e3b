"""What speaks for and against «this question means that agreement», as nine numbers.

Nothing here looks at the rest of the store, so a map of one agreement scores as a map of many.
"""

import math
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from code_intel.chunking.agreement import card as card_text
from code_intel.chunking.agreement import split_symbol
from code_intel.chunking.words import query_words, words
from code_intel.learned.calibration import NEIGHBOURS, Space, document_frequency
from code_intel.learned.contrast import opposite
from code_intel.learned.glossary import content_words, read
from code_intel.records import Agreement

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

NARROWEST, WIDEST = 6, 120
"""Bounds of a question's width: beyond them length says nothing more."""

MOST_CONCEPTS = 3

_FIRST_WIDE = 0x2E80


class Wording(NamedTuple):
    """What an agreement says, prepared for comparison."""

    words: frozenset[str]
    term: str
    term_words: frozenset[str]
    action: str
    wide: float
    concepts: frozenset[str]
    content: frozenset[str]


def wording(agreement: Agreement) -> Wording:
    """Prepare an agreement's own words and its aliases'."""
    action = f"{agreement.nl_term} {split_symbol(agreement.symbol)}"
    return _wording(card_text(agreement), agreement.nl_term, action, agreement.aliases)


@lru_cache(maxsize=4096)
def _wording(card: str, term: str, action: str, aliases: tuple[str, ...]) -> Wording:
    return Wording(
        words=frozenset(words(card)).union(*(words(alias) for alias in aliases)),
        term=term,
        term_words=frozenset(words(term)),
        action=" ".join((action, *aliases)),
        wide=wide_share(card),
        concepts=read(card).concepts.union(*(read(alias).concepts for alias in aliases)),
        content=content_words(card).union(*map(content_words, aliases)),
    )


def measure(
    query: str, query_vector: "NDArray[Any]", wordings: Sequence[Wording], vectors: "NDArray[Any]",
    space: Space,
) -> "Array":  # fmt: skip
    """Return the evidence for each agreement, shape (agreements, features).

    meaning   cosine of question and card in the centred space without the language axis
    crowd     mean cosine of the question and its nearest generic phrases: a question that is
              close to anything proves little by being close to this
    gap       difference in the share of Japanese script: across scripts cosines are lower
    opposite  1 when the question says the opposite of the agreement (see `contrast`), else 0
    words     share of the question's weighty words that the agreement contains
    term      share of the term's weighty words in the question: shared words raise a cosine
              without adding meaning
    width     log of the question's width: details lower a cosine without taking meaning away
    concepts  how many of the question's concepts (see `glossary`) the agreement has, at most 3
    foreign   how many it does not have, at most 3
    """
    import numpy as np

    asked = space.queries(query_vector.reshape(1, -1))[0]
    meaning = space.passages(vectors) @ asked
    nearest = np.sort(space.crowd @ asked)[-NEIGHBOURS:]
    question = frozenset(query_words(query))
    concepts = read(query).concepts
    wide = wide_share(query)
    rows = [
        (
            float(cosine),
            float(nearest.mean()),
            abs(wide - said.wide),
            float(bool(opposite(query, said.action, said.content))),
            shared(question, said.words),
            shared(said.term_words, question),
            math.log(width(query)),
            min(MOST_CONCEPTS, len(concepts & said.concepts)),
            min(MOST_CONCEPTS, len(concepts - said.concepts)),
        )
        for cosine, said in zip(meaning, wordings, strict=True)
    ]
    return np.array(rows, dtype=np.float64).reshape(len(wordings), -1)


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
