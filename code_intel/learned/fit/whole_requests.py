"""Fit the comparison of whole requests on labelled requests (docs/decisions/0053)."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from code_intel.chunking.agreement import card
from code_intel.embedding.engine import Embedder
from code_intel.learned.fit.regression import newton
from code_intel.learned.fit.texts import cards_of
from code_intel.learned.recall.calibration import Calibration, RequestFit
from code_intel.learned.recall.recall import recall
from code_intel.learned.recall.requests import (
    MAX_COMPARED,
    Request,
    evidence,
    in_space,
    request_of,
    requests_of,
    says_more,
    upper_limit,
)
from code_intel.records import Agreement

REQUESTS = Path(__file__).parent / "requests"
"""The shipped sets of labelled requests."""
WEIGHT_OTHER = 1 / 4
"""Weight of a request paired with an agreement that it is not about."""
RIDGE = 1e-2


class RequestPair(NamedTuple):
    """A request and one agreement of its repository.

    Attributes:
        score: The score of the target feature.
        rows: The evidence for each request of the agreement.
        limit: The highest score that the feature allows.
        is_near: Whether the request is about this agreement, or almost.
        is_same: Whether the agreement answers the request.
        is_unclear: Whether it names the right symbol under a different agreement than the label.
    """

    agreement: Agreement
    score: float
    rows: tuple[tuple[float, ...], ...]
    limit: float
    is_near: bool
    is_same: bool
    is_unclear: bool


class LabelledRequest(NamedTuple):
    """A labelled request with the agreements of its repository, the best feature score first."""

    repo: str
    kind: str
    language: str
    request: Request
    pairs: tuple[RequestPair, ...]


def requests_from(path: Path, embedder: Embedder, constants: Calibration) -> list[LabelledRequest]:
    """Read a set and measure each request against the agreements of its repository.

    Args:
        path: A file.
        embedder: The model.
        constants: Its constants for the target feature.
    """
    raw = json.loads(path.read_text(encoding="utf-8"))
    stores: dict[str, list[tuple[int, Agreement]]] = {}
    for row in raw["store"]:
        stores.setdefault(row["repo"], []).append((row["id"], _agreement(row)))
    repo_of = {row["id"]: row["repo"] for row in raw["store"]}
    return [
        _measured(
            row,
            f"{path.stem}/{repo_of[row['near']]}",
            stores[repo_of[row["near"]]],
            embedder,
            constants,
        )
        for row in raw["queries"]
    ]


def _agreement(row: Mapping[str, Any]) -> Agreement:
    frame = tuple((name, row["frame"][name]) for name in row["frame"] if name != "query")
    return Agreement(row["nl_term"], row["symbol"], evidence=(row["code_evidence"],), frame=frame)


def _measured(
    row: Mapping[str, Any],
    repo: str,
    store: Sequence[tuple[int, Agreement]],
    embedder: Embedder,
    constants: Calibration,
) -> LabelledRequest:
    request = request_of(row["frame"], row["query"])
    feature = request.feature
    agreements = [agreement for _, agreement in store]
    found = recall(
        feature, embedder.queries([feature])[0], cards_of(agreements, embedder), constants
    )
    texts = {part for each in (request, *(r for a in agreements for r in requests_of(a)))
             for part in each.parts}  # fmt: skip
    names = sorted(texts)
    vectors = dict(zip(names, in_space(embedder, constants.space, names), strict=True))
    pairs = []
    for match in found:
        number, agreement = store[match.card]
        is_same = number == row["expected"]
        earlier = requests_of(agreement) if says_more(request, agreement.nl_term) else ()
        pairs.append(
            RequestPair(
                agreement,
                match.score,
                tuple(evidence(request, each, match.score, vectors) for each in earlier),
                upper_limit(request, agreement, match.score),
                number == row["near"],
                is_same,
                agreement.symbol == row["symbol"] and not is_same,
            )
        )
    return LabelledRequest(repo, row["kind"], row["language"], request, tuple(pairs))


def fit_of(rows: Sequence[LabelledRequest]) -> RequestFit:
    """Fit the comparison on the pairs of some requests."""
    pairs = [
        (pair.rows[0], pair.is_same, 1 if pair.is_near else WEIGHT_OTHER)
        for row in rows
        for pair in row.pairs
        if pair.rows and not pair.is_unclear
    ]
    features = np.array([pair[0] for pair in pairs])
    truth = np.array([float(pair[1]) for pair in pairs])
    centre, scale = features.mean(axis=0), features.std(axis=0) + 1e-9
    scaled = np.column_stack([(features - centre) / scale, np.ones(len(features))])
    beta = newton(scaled, truth, np.array([float(pair[2]) for pair in pairs]), RIDGE)
    weights = beta[:-1] / scale
    return RequestFit(tuple(map(float, weights)), float(beta[-1] - centre @ weights))


def request_scores(row: LabelledRequest, fit: RequestFit | None) -> list[float]:
    """Return the score of each pair of a request; None compares the features alone."""
    scores = [pair.score for pair in row.pairs]
    if fit is not None:
        for place, pair in enumerate(row.pairs[:MAX_COMPARED]):
            if pair.rows:
                scores[place] = min(pair.limit, max(map(fit.score, pair.rows)))
    return scores


def fits_without(rows: Sequence[LabelledRequest]) -> Mapping[str, RequestFit]:
    """Return, for each repository, the comparison fitted on the other ones."""
    repos = sorted({row.repo for row in rows})
    return {repo: fit_of([row for row in rows if row.repo != repo]) for repo in repos}


def texts_of(path: Path) -> tuple[list[str], list[str]]:
    """Return the texts of a set that are embedded as queries, and those embedded as passages."""
    raw = json.loads(path.read_text(encoding="utf-8"))
    agreements = [_agreement(row) for row in raw["store"]]
    requests = [request_of(row["frame"], row["query"]) for row in raw["queries"]]
    earlier = [request for agreement in agreements for request in requests_of(agreement)]
    queries = [request.feature for request in requests]
    queries += [part for request in (*requests, *earlier) for part in request.parts]
    return queries, [card(agreement) for agreement in agreements]
