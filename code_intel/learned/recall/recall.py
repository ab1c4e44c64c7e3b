"""Score how surely each agreement answers a question. A high score may skip a search.

Pure: cards and vectors are passed in. The guards of a short-circuit (validity, risk, margin) decide
about the phase, never about the score (seed 004 §1.3, §5.2; docs/decisions/0009).
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
from code_intel.learned.recall.calibration import FEATURES, Calibration
from code_intel.learned.recall.contrast import (
    foreign_words,
    lacking_words,
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
"""Lower limit for the term with another generic ending, or within a request.

「ログイン処理」 for 「ログイン機能」 leads to VERIFICATION, never to READY.
"""

SYNONYM = round(READY_SCORE - 0.02, 2)
"""Lower limit for a synonym of the term, such as 「サインイン機能」: leads to VERIFICATION."""

ALIAS_ONCE = round((READY_SCORE + VERIFICATION_SCORE) / 2, 3)
"""Score of an alias that one session used: leads to VERIFICATION, never to READY."""

OPPOSITE = _BELOW_VERIFICATION
"""Upper limit if the question names the opposite of the agreement: a miss."""

DIFFERENT = _BELOW_READY
"""Upper limit if the question repeats the term except for a few words: VERIFICATION at most."""

OTHER_SYMBOL = _BELOW_VERIFICATION
"""Upper limit if the question names another symbol, which the forest can find: a miss."""

REJECTED = _BELOW_VERIFICATION
"""Upper limit for a query that was rejected, even if it is the term: a miss."""

REJECTED_REASON = "rejected in these words"

WORDS_ONLY = _BELOW_VERIFICATION
"""Upper limit without vectors: words alone never lead to a phase."""

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
    """An agreement of the map, prepared for `recall`.

    Attributes:
        agreement: The agreement.
        vector: The card embedded as a passage, shape (dimensions,); None if none exists yet.
        aliases_certain: Folded aliases that at least two sessions confirmed.
        rejected: Folded queries for which the agreement was rejected (docs/decisions/0027).
    """

    agreement: Agreement
    vector: "NDArray[np.float32] | None" = None
    aliases_certain: frozenset[str] = frozenset()
    rejected: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class RecallMatch:
    """One agreement's answer to a question.

    Attributes:
        card: The number of the card.
        cosine: The cosine of question and card; 0 without vectors.
        score: The calibrated score, 0 to 1.
        margin: The lead over the best score of a different term and symbol, negative if that is
            higher; 1 for an exact term or alias that no other term shares.
        reasons: Short tags, strongest first.
        measures: The evidence, in the order of `FEATURES`; empty without vectors.
    """

    card: int
    cosine: float
    score: float
    margin: float
    reasons: tuple[str, ...]
    measures: tuple[float, ...] = ()


def recall(
    query: str,
    query_vector: "NDArray[np.float32] | None",
    cards: Sequence[Card],
    constants: Calibration | None,
) -> list[RecallMatch]:
    """Return every card with its score, best first; equal scores keep the order of the cards.

    Args:
        query: The session's query.
        query_vector: `query` embedded as a query, shape (dimensions,); None without a model.
        cards: The cards of the map that are closest to the question. A card's score depends on its
            own evidence, and on the closest card of a different symbol.
        constants: The constants of the model that computed the vectors. Without them, only
            words are compared, and all scores but those of exact terms are below the thresholds.

    Raises:
        UsageError: `query` is blank.
    """
    if not fold(query):
        raise UsageError("query is empty.", details={"field": "query"})
    wordings = [wording(card.agreement) for card in cards]
    found: list[_Judgement | None] = [None] * len(cards)
    if constants is not None and query_vector is not None:
        _add_meaning(found, query, query_vector, cards, wordings, constants)
    tokens = query_words(query)
    judged = [
        _by_rules(
            query,
            card,
            said,
            known or _by_words(tokens, said),
            has_vector=query_vector is not None,
            is_calibrated=constants is not None and query_vector is not None,
        )
        for card, said, known in zip(cards, wordings, found, strict=True)
    ]
    return _ranked(judged, cards)


def ready_margin(constants: Calibration | None) -> float:
    """Return the margin that READY needs with these constants; 1 without any."""
    return constants.ready_margin if constants else 1.0


def symbol_similarity(
    embedder: Embedder,
    feature: str,
    found: Mapping[str, Sequence[Definition]],
    constants: Calibration,
) -> dict[str, float]:
    """Return how well each symbol matches a feature's name, as a calibrated score from 0 to 1.

    Raises:
        EmbeddingError: There is no model.
        UsageError: `feature` is blank.
    """
    pairs = [(name, definition) for name, rows in found.items() for definition in rows]
    if not pairs:
        return {}
    agreements = [_as_agreement(definition) for _, definition in pairs]
    vectors = embedder.passages([card_text(agreement) for agreement in agreements])
    cards = [Card(agreement, vector) for agreement, vector in zip(agreements, vectors, strict=True)]
    vector = embedder.queries([feature])[0]
    best: dict[str, float] = {}
    # scored one by one, because several symbols may implement one feature
    for (name, _), card in zip(pairs, cards, strict=True):
        score = recall(feature, vector, [card], constants)[0].score
        best[name] = max(best.get(name, 0.0), score)
    return best


def fold(text: str) -> str:
    """Normalize a text for comparison with terms: NFKC, case-folded, with single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


@dataclass(slots=True)
class _Judgement:
    cosine: float
    score: float
    reasons: list[str]
    exact: bool = False
    measures: tuple[float, ...] = ()


def _by_words(tokens: Sequence[str], said: Wording) -> _Judgement:
    share = shared(tokens, frozenset(words(said.said)))
    return _Judgement(0.0, WORDS_ONLY * share, ["words only"])


def _add_meaning(
    found: list[_Judgement | None], query: str, query_vector: "NDArray[Any]", cards: Sequence[Card],
    wordings: Sequence[Wording], constants: Calibration,
) -> None:  # fmt: skip
    """Add a judgement by meaning for each card that has a vector."""
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
        values = dict(zip(FEATURES, row.tolist(), strict=True))
        reasons = [f"meaning {values['margin']:+.2f}"]
        reasons += [f"words {values['covered']:.2f}"] if values["covered"] else []
        reasons += ["short form"] if values["short"] else []
        reasons += ["another action"] if values["action"] else []
        measures = tuple(values.values())
        found[place] = _Judgement(float(cosine), float(score), reasons, measures=measures)


def lower_limit(query: str, card: Card) -> tuple[float, str]:
    """Return the lowest score that the words allow, and the reason; (0, "") without a limit.

    The limits are for an exact term, a known alias, another ending and a synonym.
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


def upper_limit(query: str, said: Wording) -> tuple[float, str]:
    """Return the highest score that the words allow, and the reason; (1, "") without a limit.

    The limits are for an opposite, another symbol and a word that the agreement lacks.
    """
    if reason := opposite(query, said.action, said.content):
        return OPPOSITE, reason
    if named := other_symbols(query, said.name, said.said):
        return OTHER_SYMBOL, f"names another symbol: {', '.join(sorted(named))}"
    if foreign := foreign_words(query, said.term, said.content):
        return DIFFERENT, f"other words: {', '.join(sorted(foreign))}"
    if lacking := lacking_words(query, said.term):
        return DIFFERENT, f"says less than the term: {', '.join(sorted(lacking))}"
    return 1.0, ""


def hard_limit(query: str, said: Wording) -> float:
    """Return the limit of the score of a whole request by its feature: an opposite is a miss."""
    bound, _ = upper_limit(query, said)
    return bound if bound < VERIFICATION_SCORE else 1.0


def _by_rules(
    query: str,
    card: Card,
    said: Wording,
    judged: _Judgement,
    *,
    has_vector: bool,
    is_calibrated: bool,
) -> _Judgement:
    score, reason = lower_limit(query, card)
    bound, objection = upper_limit(query, said) if score < EXACT else (EXACT, "")
    if score == ALIAS_ONCE:  # one session is not enough
        bound = min(bound, DIFFERENT)
    if _forms(query).folded in card.rejected:
        score, reason, bound, objection = 0.0, "", REJECTED, REJECTED_REASON
    if reason:
        judged.exact = score == EXACT and has_vector
        judged.score = max(judged.score, score)
        judged.reasons.insert(0, reason)
    if objection:
        judged.reasons.insert(0 if judged.score > bound else len(judged.reasons), objection)
    judged.score = min(judged.score, bound if is_calibrated or judged.exact else WORDS_ONLY)
    return judged


def _ranked(found: Sequence[_Judgement], cards: Sequence[Card]) -> list[RecallMatch]:
    order = sorted(range(len(found)), key=lambda place: -found[place].score)
    symbols = [_symbol(card) for card in cards]
    terms = [fold(card.agreement.nl_term) for card in cards]
    answers = []
    for place in order:
        mine = found[place]
        rival = next(
            (at for at in order if symbols[at] != symbols[place] and terms[at] != terms[place]),
            None,
        )
        ahead = mine.score - (0.0 if rival is None else found[rival].score)
        margin = 1.0 if mine.exact and (rival is None or not found[rival].exact) else ahead
        reasons = tuple(mine.reasons)
        answers.append(RecallMatch(place, mine.cosine, mine.score, margin, reasons, mine.measures))
    return answers


def _symbol(card: Card) -> str:
    return re.sub(r"\([^)]*\)", "", card.agreement.symbol).strip()


def _stem(folded: str) -> str:
    """Strip a request, one generic ending and a の between nouns (送料の計算 becomes 送料計算)."""
    for pattern in (*_REQUESTS, _ENDING):
        folded = pattern.sub("", folded, count=1).strip() or folded
    return _BETWEEN_NOUNS.sub("", folded)


class _Forms(NamedTuple):
    folded: str
    stem: str
    meaning: str


@lru_cache(maxsize=1 << 14)
def _forms(text: str) -> _Forms:
    """Return the three forms of a text that are compared with those of a term."""
    folded = fold(text)
    stem = _stem(folded)
    return _Forms(folded, stem, read(stem).canonical)


def _as_agreement(definition: Definition) -> Agreement:
    return Agreement(
        nl_term=definition.qualified, symbol=definition.qualified, evidence=(definition.signature,)
    )
