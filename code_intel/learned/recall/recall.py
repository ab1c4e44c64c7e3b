"""Score how surely each agreement answers a question. A high score may skip a search.

Pure: cards and vectors are passed in. The guards of a short-circuit (validity, risk, margin) act
on the phase and never on the score (seed 004 §1.3, §5.2; docs/decisions/0009).
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from code_intel.chunking.agreement import card as card_text
from code_intel.chunking.words import query_words, words
from code_intel.embedding.engine import Embedder
from code_intel.errors import UsageError
from code_intel.learned.recall import calibration
from code_intel.learned.recall.contrast import (
    foreign_words,
    lacking_aspect,
    opposite,
    other_symbols,
    symbols_in,
)
from code_intel.learned.recall.evidence import Wording, measure, shared, wording
from code_intel.learned.recall.glossary import read
from code_intel.records import READY_SCORE, VERIFICATION_SCORE, Agreement, Definition

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

EXACT = 1.0
_BELOW_READY = round(READY_SCORE - 0.01, 2)
_BELOW_VERIFICATION = round(VERIFICATION_SCORE - 0.01, 2)
ENDING = _BELOW_READY
"""Least score of a term with another generic ending, or a request around it.

An example is 「ログイン処理」 for 「ログイン機能」. The score is enough to be verified, never to
skip a search.
"""

SYNONYM = round(READY_SCORE - 0.02, 2)
"""Least score of a term in other, synonymous words, 「サインイン機能」: enough to be verified."""

ALIAS_ONCE = round((READY_SCORE + VERIFICATION_SCORE) / 2, 3)
"""Least score of an alias that one session used: enough to be verified, never to skip a search."""

OPPOSITE = _BELOW_VERIFICATION
"""Most that an agreement can score whose opposite the question names: a miss."""

DIFFERENT = _BELOW_READY
"""Most an agreement scores if the question repeats its term but for one word: to be verified."""

OTHER_SYMBOL = _BELOW_VERIFICATION
"""Most an agreement scores if the question names another symbol: a miss.

The forest knows every symbol by name.
"""

REJECTED = _BELOW_VERIFICATION
"""Most an agreement scores in words in which it was rejected, even its own term: a miss."""

WORDS_ONLY = _BELOW_VERIFICATION
"""Most that words alone can reach: without vectors nothing short-circuits."""

_BETWEEN_NOUNS = re.compile(r"(?<=[一-鿿ァ-ヶー])の(?=[一-鿿ァ-ヶ])")
_ENDING = re.compile(
    r"(?:の?(?:機能|処理|実装|仕組み|ロジック)"
    r"|(?<=.)\b(?:features?|functions?|functionality|process|processing|handling|logic))$"
)
_REQUESTS = (
    re.compile(
        r"(?:の?(?:バグ|不具合))?(?:[をの]?(?:修正|改修|改善|調査|調べ|直し?|見直し|リファクタリング)"
        r"(?:する|して|す|したい|たい|て)?(?:ください|ほしい|下さい)?)?$"
    ),
    re.compile(
        r"^(?:please )?(?:(?:fix|debug|refactor|improve|investigate) )?"
        r"(?:the )?(?:(?:bugs?|issues?) in (?:the )?)?"
    ),
    re.compile(r" (?:bugs?|issues?)$"),
)
"""Requests around a term: they say what to do with it, and nothing about its meaning."""


@dataclass(frozen=True, slots=True)
class Card:
    """One agreement of the map as recall sees it.

    Attributes:
        agreement: What was agreed.
        vector: Its card embedded as a passage, shape (dimensions,); None while it is missing.
        aliases_certain: Those of its aliases that were confirmed in two sessions or more.
        rejected: Words, folded, in which it was rejected (docs/decisions/0027).
    """

    agreement: Agreement
    vector: "NDArray[np.float32] | None" = None
    aliases_certain: frozenset[str] = frozenset()
    rejected: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class RecallMatch:
    """One agreement's answer to a question.

    Attributes:
        card: Place in the cards handed in.
        cosine: Plain cosine of question and card; 0 without vectors.
        score: Calibrated, 0 to 1.
        margin: How far its score is ahead of the best one of a different symbol; negative when
            behind, and 1 for an exact term or alias that no other symbol shares.
        reasons: Short tags, strongest first.
    """

    card: int
    cosine: float
    score: float
    margin: float
    reasons: tuple[str, ...]


def recall(
    query: str, query_vector: "NDArray[np.float32] | None", cards: Sequence[Card], identity: str
) -> list[RecallMatch]:
    """Return every card with its score, best first; equal scores keep the order of the cards.

    Args:
        query: The session's own words.
        query_vector: `query` embedded as a query, shape (dimensions,); None without a model.
        cards: The map, or those of its cards that are closest to the question. A card's score
            depends on its own evidence, and on how much closer the closest card of a different
            symbol is.
        identity: Identity of the model both kinds of vectors come from. An uncalibrated model
            counts as none: words alone, below every threshold.

    Raises:
        UsageError: `query` is blank.
    """
    if not fold(query):
        raise UsageError("query is empty.", details={"field": "query"})
    constants = calibration.fitted(identity) if query_vector is not None else None
    wordings = [wording(card.agreement) for card in cards]
    found: list[_Judgement | None] = [None] * len(cards)
    if constants is not None and query_vector is not None:
        _add_meaning(found, query, query_vector, cards, wordings, constants)
    tokens = query_words(query)
    judged = [
        _by_rules(
            query, card, said, known or _by_words(tokens, said), with_model=constants is not None
        )
        for card, said, known in zip(cards, wordings, found, strict=True)
    ]
    return _ranked(judged, cards)


def ready_margin(identity: str) -> float:
    """Return the margin a READY needs under this model; an unreachable 1 without constants."""
    constants = calibration.fitted(identity)
    return constants.ready_margin if constants else 1.0


def symbol_similarity(
    embedder: Embedder, feature: str, found: Mapping[str, Sequence[Definition]]
) -> dict[str, float]:
    """Return how well each symbol fits a feature's name, 0 to 1, on the same calibrated scale.

    Raises:
        EmbeddingError: There is no model, or none that is calibrated.
        UsageError: `feature` is blank.
    """
    constants = calibration.load(embedder.identity)
    pairs = [(name, definition) for name, rows in found.items() for definition in rows]
    if not pairs:
        return {}
    agreements = [_as_agreement(definition) for _, definition in pairs]
    vectors = embedder.passages([card_text(agreement) for agreement in agreements])
    cards = [Card(agreement, vector) for agreement, vector in zip(agreements, vectors, strict=True)]
    vector = embedder.queries([feature])[0]
    best: dict[str, float] = {}
    # each alone: several symbols may implement one feature
    for (name, _), card in zip(pairs, cards, strict=True):
        score = recall(feature, vector, [card], constants.identity)[0].score
        best[name] = max(best.get(name, 0.0), score)
    return best


def fold(text: str) -> str:
    """Return a text as terms are compared: NFKC, case folded, white space as single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


@dataclass(slots=True)
class _Judgement:
    cosine: float
    score: float
    reasons: list[str]
    exact: bool = False


def _by_words(tokens: Sequence[str], said: Wording) -> _Judgement:
    share = shared(tokens, frozenset(words(said.said)))
    return _Judgement(0.0, WORDS_ONLY * share, ["words only"])


def _add_meaning(
    found: list[_Judgement | None], query: str, query_vector: "NDArray[Any]", cards: Sequence[Card],
    wordings: Sequence[Wording], constants: calibration.Calibration,
) -> None:  # fmt: skip
    """Judge by meaning wherever there is a vector."""
    import numpy as np

    places = [place for place, card in enumerate(cards) if card.vector is not None]
    if not places:
        return
    vectors = np.stack([np.asarray(cards[place].vector, dtype=np.float64) for place in places])
    said = [wordings[place] for place in places]
    evidence = measure(query, query_vector, said, vectors, constants.space)
    cosines = vectors @ query_vector
    for place, row, cosine, score in zip(
        places, evidence, cosines, constants.scores(evidence), strict=True
    ):
        values = dict(zip(calibration.FEATURES, row.tolist(), strict=True))
        reasons = [f"meaning {values['margin']:+.2f}"]
        reasons += [f"words {values['covered']:.2f}"] if values["covered"] else []
        reasons += ["short form"] if values["short"] else []
        reasons += ["another action"] if values["action"] else []
        found[place] = _Judgement(float(cosine), float(score), reasons)


def least(query: str, card: Card) -> tuple[float, str]:
    """Return the least score that the words alone justify, and the reason; 0 without one.

    It covers what needs no fit: the exact term, a known alias, another ending, a synonym.
    """
    question, term = _forms(query), _forms(card.agreement.nl_term)
    certain, aliases = map(fold, card.aliases_certain), map(fold, card.agreement.aliases)
    rules = (
        (question.folded == term.folded, EXACT, "exact term"),
        (question.folded in certain, EXACT, "known alias"),
        (question.stem == term.stem, ENDING, "term but for its ending"),
        (question.meaning == term.meaning, SYNONYM, "synonym of the term"),
        (bool(symbols_in(query) & {_symbol(card)}), SYNONYM, "its very symbol"),
        (question.folded in aliases, ALIAS_ONCE, "alias of one session"),
    )
    return next(((score, reason) for holds, score, reason in rules if holds), (0.0, ""))


def most(query: str, said: Wording) -> tuple[float, str]:
    """Return the highest score that the words allow, and the reason; (1, "") without a limit.

    No fit may exceed it: for an opposite, another symbol, or a word that the agreement lacks.
    """
    if reason := opposite(query, said.action, said.content):
        return OPPOSITE, reason
    if named := other_symbols(query, said.name, said.said):
        return OTHER_SYMBOL, f"names another symbol: {', '.join(sorted(named))}"
    if foreign := foreign_words(query, said.term, said.content):
        return DIFFERENT, f"other words: {', '.join(sorted(foreign))}"
    if lacking := lacking_aspect(query, said.term):
        return DIFFERENT, f"says less than the term: {', '.join(sorted(lacking))}"
    return 1.0, ""


def _by_rules(
    query: str, card: Card, said: Wording, judged: _Judgement, *, with_model: bool
) -> _Judgement:
    score, reason = least(query, card)
    bound, objection = most(query, said) if score < EXACT else (EXACT, "")
    if score == ALIAS_ONCE:  # one session is not enough
        bound = min(bound, DIFFERENT)
    if _forms(query).folded in card.rejected:
        score, reason, bound, objection = 0.0, "", REJECTED, "rejected in these words"
    if reason:
        judged.exact = score == EXACT and with_model
        judged.score = max(judged.score, score)
        judged.reasons.insert(0, reason)
    if objection:
        judged.reasons.insert(0 if judged.score > bound else len(judged.reasons), objection)
    judged.score = min(judged.score, bound if with_model else WORDS_ONLY)
    return judged


def _ranked(found: Sequence[_Judgement], cards: Sequence[Card]) -> list[RecallMatch]:
    order = sorted(range(len(found)), key=lambda place: -found[place].score)
    symbols = [_symbol(card) for card in cards]
    exact = {symbols[place] for place in order if found[place].exact}
    first = order[0] if order else 0
    second = next((place for place in order if symbols[place] != symbols[first]), None)
    answers = []
    for place in order:
        mine = found[place]
        rival = second if symbols[place] == symbols[first] else first
        ahead = mine.score - (0.0 if rival is None else found[rival].score)
        margin = 1.0 if mine.exact and exact == {symbols[place]} else ahead
        answers.append(RecallMatch(place, mine.cosine, mine.score, margin, tuple(mine.reasons)))
    return answers


def _symbol(card: Card) -> str:
    return re.sub(r"\([^)]*\)", "", card.agreement.symbol).strip()


def _stem(folded: str) -> str:
    """Strip a request, one generic ending and a の between nouns; never all of the text.

    送料の計算 is 送料計算.
    """
    for pattern in (*_REQUESTS, _ENDING):
        folded = pattern.sub("", folded, count=1).strip() or folded
    return _BETWEEN_NOUNS.sub("", folded)


class _Forms(NamedTuple):
    folded: str
    stem: str
    meaning: str


@lru_cache(maxsize=1 << 14)
def _forms(text: str) -> _Forms:
    """Return a text in the three forms in which it may equal a term."""
    folded = fold(text)
    stem = _stem(folded)
    return _Forms(folded, stem, read(stem).canonical)


def _as_agreement(definition: Definition) -> Agreement:
    return Agreement(
        nl_term=definition.qualified, symbol=definition.qualified, evidence=(definition.signature,)
    )
