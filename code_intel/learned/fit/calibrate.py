"""Calibrate a model: fit its constants on labelled data, and judge whether they can be used.

The rates are cross-validated: no question is scored by constants that saw its agreement, and no
request by constants that saw its repository (docs/decisions/0060).
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from code_intel.chunking.agreement import card
from code_intel.embedding.engine import Embedder
from code_intel.learned.fit.judging import Judgements, hit, judged, pooled, wrong
from code_intel.learned.fit.labels import QUESTIONS, WITHOUT_ANSWER, Labels, sets_from
from code_intel.learned.fit.regression import MeasuredLabels
from code_intel.learned.fit.score import ScoreFit, fit_score, raw_constants
from code_intel.learned.fit.texts import CachingEmbedder
from code_intel.learned.fit.whole_requests import (
    REQUESTS,
    LabelledRequest,
    fit_of,
    fits_without,
    request_scores,
    requests_from,
    texts_of,
)
from code_intel.learned.recall import calibration
from code_intel.learned.recall.calibration import FEATURES, RequestFit
from code_intel.learned.recall.evidence import wide_share
from code_intel.records import READY_SCORE, VERIFICATION_SCORE

THRESHOLDS = (VERIFICATION_SCORE, READY_SCORE)
MIN_QUESTIONS = 200
"""Smallest number of questions with an answer, and of questions without one."""
MAX_WRONG = (
    (READY_SCORE, "near_miss", 0.06),
    (READY_SCORE, "unrelated", 0.01),
    (VERIFICATION_SCORE, "unrelated", 0.02),
)
"""Largest shares of the shipped questions of each kind that may get an answer from a score on.

The default model has .041, 0 and 0. `score.LIMITS`, which choose the scale, also count questions to
agreements with evidence in the other language.
"""
MIN_HITS = 0.25
"""Smallest share of the shipped questions that must be answered from VERIFICATION_SCORE on."""
MAX_WRONG_REQUESTS = 0.05
"""Largest share of other requests that may score READY_SCORE or more."""
MAX_WRONG_OWN = 0.1
"""Largest share of a project's questions that another agreement may answer at READY_SCORE."""
MIN_OWN_QUESTIONS = 20
"""Number of a project's questions from which `MAX_WRONG_OWN` applies."""

SHIPPED, OWN, WHOLE = "questions", "project", "requests"

Advance = Callable[[int, int, str], None]
"""Receives how many units of a kind of work are done, and how many there are."""


class Rate(NamedTuple):
    """The shares of right and wrong answers among the questions of one kind.

    Attributes:
        data: SHIPPED, OWN or WHOLE (shipped requests).
        kind: What was asked; see `KINDS`.
        language: `en` or `ja`.
        questions: Their number.
        right: The share with a right answer, at each of `THRESHOLDS`.
        wrong: The share with a wrong answer.
    """

    data: str
    kind: str
    language: str
    questions: int
    right: tuple[float, ...]
    wrong: tuple[float, ...]


class Calibrated(NamedTuple):
    """A fit.

    Attributes:
        constants: The JSON form of the constants; empty if there was too little data.
        rates: What the fit reached.
        problems: Why the constants must not be used; empty if they can be.
    """

    constants: Mapping[str, Any]
    rates: tuple[Rate, ...]
    problems: tuple[str, ...]


def calibrate(
    model: Embedder,
    own: Labels,
    advance: Advance,
    *,
    questions: Path = QUESTIONS,
    requests: Path = REQUESTS,
) -> Calibrated:
    """Fit the constants of a model.

    Args:
        model: The model.
        own: The questions of the project.
        advance: Receives the progress.
        questions: Folder of the labelled questions.
        requests: Folder of the labelled requests.

    Raises:
        EmbeddingError: The model cannot be used.
    """
    shipped = [*sets_from(questions).values()]
    if problems := _too_little(shipped):
        return Calibrated({}, (), problems)
    sets = [*shipped, *sets_from(questions, other_evidence=True).values()]
    sets += [own] if own.queries else []
    files = sorted(requests.glob("*.json"))
    embedder = CachingEmbedder(model)
    embedder.embed_all(*_texts(sets, files), lambda done, total: advance(done, total, "texts"))
    fitted = fit_score(sets, embedder, lambda done, total: advance(done, total, "sets"))
    digest = _digest([*sorted(questions.glob("*.json")), *files], own)
    raw = raw_constants(model.identity, digest, fitted)
    constants = calibration.decoded(raw, model.identity)
    rows = [row for file in files for row in requests_from(file, embedder, constants)]
    rates = (
        *_question_rates(SHIPPED, fitted, range(len(shipped))),
        *(_question_rates(OWN, fitted, [len(sets) - 1]) if own.queries else ()),
        *_request_rates(rows, fits_without(rows)),
    )
    raw = raw_constants(model.identity, digest, fitted, fit_of(rows))
    return Calibrated(raw, rates, tuple(_problems(fitted, rates)))


def _too_little(sets: Sequence[Labels]) -> tuple[str, ...]:
    kinds = [kind for labels in sets for kind in labels.kinds]
    without = sum(kind in WITHOUT_ANSWER for kind in kinds)
    answerable = len(kinds) - without
    if min(without, answerable) >= MIN_QUESTIONS:
        return ()
    found = f"{answerable} labelled questions with an answer and {without} without one"
    return (f"There are {found}. At least {MIN_QUESTIONS} of each are needed.",)


def _texts(sets: Sequence[Labels], files: Sequence[Path]) -> tuple[list[str], list[str]]:
    """Return all texts that the fit embeds as queries, and as passages."""
    phrases = [row["text"] for row in calibration.background()]
    queries = [*phrases, *(query for labels in sets for query in labels.queries)]
    passages = [*phrases, *(row["text"] for row in calibration.chatter())]
    passages += [card(agreement) for labels in sets for agreement in labels.agreements]
    for file in files:
        asked, cards = texts_of(file)
        queries += asked
        passages += cards
    return queries, passages


def _digest(files: Sequence[Path], own: Labels) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    terms = [[each.nl_term, each.symbol, *each.evidence] for each in own.agreements]
    digest.update(json.dumps([terms, own.queries, own.expected]).encode())
    return digest.hexdigest()


def _question_rates(data: str, fitted: ScoreFit, places: Sequence[int]) -> Iterator[Rate]:
    stores = [fitted.stores[at] for at in places]
    found = _judged(stores, [fitted.held_out[at] for at in places])
    texts = [query for store in stores for query in store.labels.queries]
    languages = np.array([_language(text) for text in texts])
    kinds = np.where(found.answerable, "answerable", found.kinds)
    for kind in dict.fromkeys(kinds.tolist()):
        for language in ("en", "ja"):
            among = found.only((kinds == kind) & (languages == language))
            if len(among.value):
                yield Rate(
                    data,
                    kind,
                    language,
                    len(among.value),
                    tuple(float(hit(among, score).mean()) for score in THRESHOLDS),
                    tuple(float(wrong(among, score).mean()) for score in THRESHOLDS),
                )


def _judged(stores: Sequence[MeasuredLabels], logits: Sequence[Any]) -> Judgements:
    return pooled(
        [
            judged(store.labels, store.scores(values))
            for store, values in zip(stores, logits, strict=True)
        ]
    )


def _request_rates(
    rows: Sequence[LabelledRequest], fits: Mapping[str, RequestFit]
) -> Iterator[Rate]:
    found: dict[tuple[str, str], list[tuple[float, bool]]] = {}
    for row in rows:
        scores = request_scores(row, fits[row.repo])
        best = int(np.argmax(scores))
        kind = "repeated" if row.kind == "same" else "other"
        found.setdefault((kind, row.language), []).append((scores[best], row.pairs[best].is_same))
    for kind, language in sorted(found, key=lambda group: (group[0] == "other", group[1])):
        answers = found[kind, language]
        shares = [
            tuple(
                sum(value >= score and is_right == wanted for value, is_right in answers)
                / len(answers)
                for score in THRESHOLDS
            )
            for wanted in (True, False)
        ]
        yield Rate(WHOLE, kind, language, len(answers), *shares)


def _problems(fitted: ScoreFit, rates: Sequence[Rate]) -> Iterator[str]:
    """Yield why a fit must not be used."""
    if fitted.result.weights[FEATURES.index("margin")] <= 0:
        yield "The model's vectors do not distinguish right agreements from wrong ones."
    for score, kind, limit in MAX_WRONG:
        found = _share(rates, SHIPPED, kind, THRESHOLDS.index(score), right=False)
        if found > limit:
            yield _excess(f"questions of the kind {kind}", score, found, limit)
    hits = _share(rates, SHIPPED, "answerable", 0, right=True)
    if hits < MIN_HITS:
        yield (
            f"Only {hits:.3f} of the questions with an answer reach {VERIFICATION_SCORE}; at least "
            f"{MIN_HITS} are needed."
        )
    others = _share(rates, WHOLE, "other", 1, right=False)
    if others > MAX_WRONG_REQUESTS:
        yield _excess("requests for something else", READY_SCORE, others, MAX_WRONG_REQUESTS)
    own = _share(rates, OWN, "answerable", 1, right=False)
    count = sum(rate.questions for rate in rates if rate.data == OWN)
    if count >= MIN_OWN_QUESTIONS and own > MAX_WRONG_OWN:
        yield _excess("this project's questions", READY_SCORE, own, MAX_WRONG_OWN)


def _excess(what: str, score: float, found: float, limit: float) -> str:
    return f"{found:.3f} of the {what} get a wrong answer at {score}; at most {limit} may."


def _share(rates: Sequence[Rate], data: str, kind: str, at: int, *, right: bool) -> float:
    """Return a share over both languages; 0 without questions."""
    among = [rate for rate in rates if rate.data == data and rate.kind == kind]
    total = sum(rate.questions for rate in among)
    counted = sum((rate.right if right else rate.wrong)[at] * rate.questions for rate in among)
    return counted / total if total else 0.0


def _language(text: str) -> str:
    return "ja" if wide_share(text) else "en"
