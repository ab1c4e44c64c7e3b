"""Measure the evidence that a question means an agreement, as fifteen numbers.

Other agreements count only through the margin: how much closer this agreement is than the closest
one of a different symbol, and than generic phrases. So the scale is the same for maps of any size
(docs/decisions/0009).
"""

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from code_intel.chunking.agreement import card as card_text
from code_intel.chunking.agreement import split_symbol
from code_intel.chunking.words import query_words, words
from code_intel.learned.recall.actions import actions
from code_intel.learned.recall.calibration import Space, document_frequency
from code_intel.learned.recall.contrast import opposite
from code_intel.learned.recall.english import Idea, covered, ideas, missing, stems
from code_intel.learned.recall.glossary import content_of, content_words, read
from code_intel.learned.recall.short_forms import shortened
from code_intel.records import Agreement

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

NARROWEST, WIDEST = 6, 120
"""Bounds of a question's width; beyond them its length adds no evidence."""

MAX_PHRASE_WIDTH = 40
"""Limit of the width of aliases whose words count, and of terms that can have short forms.

Longer texts are sentences, whose words are too general.
"""

MAX_FOREIGN_WORDS = 3
MAX_IDEAS = 4
"""Limits beyond which further words and ideas add no evidence."""

MEASURES: Mapping[str, str] = MappingProxyType(
    {
        "margin": "How much closer in meaning the question is to this agreement than to the closest"
        " other one, or to generic phrases.",
        "gap": "Difference in the share of Japanese script. Across scripts, meanings seem less"
        " alike than they are.",
        "opposite": "1 if the question says the opposite of the agreement, else 0.",
        "term": "Share of the term's words in the question, rare words counting more. Shared words"
        " make texts seem alike without adding meaning.",
        "width": "Logarithm of the length of the question. Details make it seem less alike without"
        " taking meaning away.",
        "foreign": "Number of concepts of the question that the agreement lacks, at most 3.",
        "covered": "Share of the question's ideas that the agreement has, rare ideas counting"
        " more.",
        "known": "Number of the question's ideas that the agreement has, at most 4.",
        "unknown": "Number of the question's ideas that the agreement lacks, at most 4.",
        "unsaid": "Share of the question's ideas that the agreement lacks.",
        "action": "1 if both name actions, such as add and delete, but none in common, else 0.",
        "short": "How surely the question is a short form or a loan word of the term, 0 to 1.",
        "complete": "1 if the term and its other terms have every content word of the question,"
        " else 0. Words of the symbol and the evidence count in other measures.",
        "partial": "1 if the question repeats some content words of the term and not all, else 0.",
        "japanese": "1 if the question has Japanese script, else 0. Near misses score higher in"
        " Japanese.",
        "bias": "The log-odds of every agreement before its measures count.",
    }
)
"""What each feature of `measure` and the bias mean, in their order, for people."""

_FIRST_WIDE = 0x2E80
_BETWEEN = "\0"
"""Separates words that are searched together."""


class _Question(NamedTuple):
    """A question, prepared once for all agreements; see `Wording`."""

    text: str
    words: frozenset[str]
    wide: float
    width: float
    concepts: frozenset[str]
    ideas: tuple[Idea, ...]
    actions: frozenset[int]
    content: frozenset[str]


class Wording(NamedTuple):
    """The words of an agreement, prepared for comparison.

    Attributes:
        term: The term.
        weights: The index tokens of the term, each with its rarity.
        name: The symbol, as it is written.
        symbol: The symbol, split into words.
        said: The card and the aliases.
        action: The term, the symbol and the aliases, which name the action.
        wide: The share of Japanese script in the card.
        concepts: The concepts of the card and the aliases; see `glossary`.
        content: The content words of the card and the aliases; see `glossary`.
        stems: The stems of all ideas; see `english`.
        actions: The actions that the card names; see `actions`.
        named: The content words of the term and the aliases.
        names: `named` as one text.
        term_content: The content words of the term.
        term_stems: The stems of the ideas of the term.
    """

    term: str
    weights: Mapping[str, float]
    name: str
    symbol: str
    said: str
    action: str
    wide: float
    concepts: frozenset[str]
    content: frozenset[str]
    stems: frozenset[str]
    actions: frozenset[int]
    named: frozenset[str]
    names: str
    term_content: frozenset[str]
    term_stems: frozenset[str]


@lru_cache(maxsize=1 << 14)
def wording(agreement: Agreement) -> Wording:
    """Prepare the words of an agreement and of its aliases, except aliases that are sentences."""
    symbol = split_symbol(agreement.symbol)
    aliases = tuple(alias for alias in agreement.aliases if width(alias) <= MAX_PHRASE_WIDTH)
    card, term = card_text(agreement), agreement.nl_term
    said = (card, *aliases)
    named = frozenset().union(*map(content_of, (term, *aliases)))
    return Wording(
        term=term,
        weights=_rarities(words(term)),
        name=agreement.symbol,
        symbol=symbol,
        said=" ".join(said),
        action=" ".join((f"{term} {symbol}", *aliases)),
        wide=wide_share(card),
        concepts=frozenset().union(*(read(text).concepts for text in said)),
        content=frozenset().union(*map(content_of, said)),
        stems=frozenset().union(*(stems(ideas(text)) for text in said)),
        actions=actions(card),
        named=named,
        names=_BETWEEN.join(named),
        term_content=content_of(term),
        term_stems=stems(ideas(term)),
    )


def measure(
    query: str, query_vector: "NDArray[Any]", wordings: Sequence[Wording], vectors: "NDArray[Any]",
    space: Space,
) -> "Array":  # fmt: skip
    """Return the evidence for each agreement, shape (agreements, features).

    The features are those of `MEASURES`, except the bias. For the words of a question see
    `contrast` (opposites), `glossary` (concepts and content words), `english` (ideas), `actions`
    and `short_forms`.
    """
    import numpy as np

    query_vector = space.queries(query_vector.reshape(1, -1))[0]
    cosines = space.passages(vectors) @ query_vector
    margins = _margins(cosines, wordings, space.crowd(query_vector))
    question = _question(query)
    japanese = float(question.wide > 0)
    rows = [
        (float(margin), *_word_features(question, said), japanese)
        for margin, said in zip(margins, wordings, strict=True)
    ]
    return np.array(rows, dtype=np.float64).reshape(len(wordings), -1)


def _margins(cosines: "Array", wordings: Sequence[Wording], crowd: float) -> "Array":
    """Return the lead of each cosine over `crowd` and the best cosine of a rival.

    Agreements of one term together describe one feature, so they are no rivals.
    """
    import numpy as np

    order = np.argsort(-cosines, kind="stable")
    terms = [said.term.casefold() for said in wordings]
    rivals = [
        next((at for at in order if wordings[at].symbol != said.symbol and terms[at] != term), None)
        for said, term in zip(wordings, terms, strict=True)
    ]
    best = [crowd if rival is None else max(crowd, float(cosines[rival])) for rival in rivals]
    return np.asarray(cosines - np.array(best), dtype=np.float64)


def _question(query: str) -> _Question:
    return _Question(
        text=query,
        words=frozenset(query_words(query)),
        wide=wide_share(query),
        width=math.log(width(query)),
        concepts=read(query).concepts,
        ideas=ideas(query),
        actions=actions(query),
        content=content_words(query),
    )


def _word_features(question: _Question, said: Wording) -> tuple[float, ...]:
    """Return the features from `gap` to `partial`, from words alone."""
    lacking = missing(question.ideas, said.stems)
    does = question.actions
    return (
        abs(question.wide - said.wide),
        float(bool(opposite(question.text, said.action, said.content))),
        _share(said.weights, question.words),
        question.width,
        min(MAX_FOREIGN_WORDS, len(question.concepts - said.concepts)),
        covered(question.ideas, said.stems),
        min(MAX_IDEAS, len(question.ideas) - lacking),
        min(MAX_IDEAS, lacking),
        min(MAX_IDEAS, lacking) / max(1, min(8, len(question.ideas))),
        float(bool(does and said.actions) and not does & said.actions),
        shortened(question.text, said.term, said.symbol)
        if width(said.term) <= MAX_PHRASE_WIDTH
        else 0.0,
        float(_is_complete(question, said)),
        float(_is_partial(question, said)),
    )


def _is_complete(question: _Question, said: Wording) -> bool:
    """Return whether a question has content words, and term and aliases have all of them."""
    return bool(question.content) and all(
        word in said.named or word in said.names for word in question.content
    )


def _is_partial(question: _Question, said: Wording) -> bool:
    """Return whether a question repeats some of the content words of a term, and not all.

    It must share an idea with the term, too: a common part of two words is no repetition.
    """
    if not any(idea & said.term_stems for idea in question.ideas):
        return False
    repeated = (
        any(word in other or other in word for other in question.content)
        for word in said.term_content
    )
    return len(set(repeated)) > 1


def shared(of: Iterable[str], among: frozenset[str]) -> float:
    """Return the share of words that occur in a set, 0 to 1, each weighted by its rarity."""
    return _share(_rarities(of), among)


def _rarities(of: Iterable[str]) -> dict[str, float]:
    frequency, phrases = document_frequency()
    return {word: math.log((phrases + 1) / (frequency[word] + 0.5)) for word in of}


def _share(weights: Mapping[str, float], among: frozenset[str]) -> float:
    total = sum(weights.values())
    return sum(weights[word] for word in weights.keys() & among) / total if total else 0.0


def width(text: str) -> int:
    """Return the display width of a text, in which Japanese characters count twice, in bounds."""
    folded = unicodedata.normalize("NFKC", text)
    wide = sum(ord(char) >= _FIRST_WIDE for char in folded)
    return min(WIDEST, max(NARROWEST, len(folded) + wide))


def wide_share(text: str) -> float:
    """Return the share of Japanese script in a text, 0 to 1."""
    chars = [char for char in unicodedata.normalize("NFKC", text) if not char.isspace()]
    return sum(ord(char) >= _FIRST_WIDE for char in chars) / len(chars) if chars else 0.0
