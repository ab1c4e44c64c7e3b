"""Compare whole requests with agreements: python -m benchmarks.map_requests [--write].

Asks each labelled request of the agreements of its repository, as a session does: the map is
searched for the target feature, the other slots are compared with the agreement's own request, and
the guards of the short-circuit decide. Prints the shares of READY and VERIFICATION without the
comparison, with the shipped constants, with constants fitted on the other repositories and with
those fitted on the other set. `--write` stores the constants of each engine.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.engines import ENGINES
from benchmarks.fit_score import constants_folder
from benchmarks.map_asking import CachingEmbedder, cards_of
from benchmarks.map_fit import newton
from benchmarks.map_judging import interval
from code_intel.embedding.engine import Embedder
from code_intel.learned.aliases import is_strained
from code_intel.learned.recall import calibration
from code_intel.learned.recall.calibration import REQUEST_FEATURES, RequestFit
from code_intel.learned.recall.evidence import wording
from code_intel.learned.recall.recall import fold, hard_limit, recall
from code_intel.learned.recall.requests import (
    MAX_COMPARED,
    Request,
    evidence,
    in_space,
    request_of,
    requests_of,
)
from code_intel.records import Agreement
from code_intel.session import short_circuit
from code_intel.session.phases import Intent, Phase
from code_intel.session.risk import Risk
from code_intel.session.short_circuit import MapFacts, Rival

FOLDER = Path(__file__).parent / "data" / "map_requests"
WEIGHT_OTHER = 1 / 4
"""Weight of a request paired with an agreement that it is not about."""
RIDGE = 1e-2


class Pair(NamedTuple):
    """A request and one agreement of its repository.

    Attributes:
        score: The score of the target feature.
        rows: The evidence for each request of the agreement.
        limit: The highest score that the feature allows.
        is_near: Whether the request is about this agreement, or almost.
        is_same: Whether the agreement answers the request.
        is_unclear: Whether it names the right symbol although the label is another agreement.
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
    pairs: tuple[Pair, ...]


class Judged(NamedTuple):
    """The phase that a request leads to, and whether the agreement is the right one."""

    asked: LabelledRequest
    phase: Phase | None
    right: bool


def main() -> None:
    """Print the rates of every engine, and write its constants if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=FOLDER)
    parser.add_argument("--engine", choices=ENGINES, nargs="+", default=list(ENGINES))
    parser.add_argument("--write", action="store_true", help="store the constants")
    arguments = parser.parse_args()
    for name in arguments.engine:
        embedder = CachingEmbedder(ENGINES[name]())
        sets = [requests_from(path, embedder) for path in sorted(arguments.data.glob("*.json"))]
        print(embedder.identity)
        report(sets, embedder.identity)
        if arguments.write:
            write(embedder.identity, fit_of([row for rows in sets for row in rows]))


def requests_from(path: Path, embedder: Embedder) -> list[LabelledRequest]:
    """Read a set and measure each request against the agreements of its repository."""
    raw = json.loads(path.read_text(encoding="utf-8"))
    stores: dict[str, list[tuple[int, Agreement]]] = {}
    for row in raw["store"]:
        stores.setdefault(row["repo"], []).append((row["id"], _agreement(row)))
    repo_of = {row["id"]: row["repo"] for row in raw["store"]}
    return [
        _measured(
            row, f"{path.stem}/{repo_of[row['near']]}", stores[repo_of[row["near"]]], embedder
        )
        for row in raw["queries"]
    ]


def _agreement(row: Mapping[str, Any]) -> Agreement:
    frame = tuple((name, row["frame"][name]) for name in row["frame"] if name != "query")
    return Agreement(row["nl_term"], row["symbol"], evidence=(row["code_evidence"],), frame=frame)


def _measured(
    row: Mapping[str, Any], repo: str, store: Sequence[tuple[int, Agreement]], embedder: Embedder
) -> LabelledRequest:
    request = request_of(row["frame"], row["query"])
    feature = request.feature
    constants = calibration.load(embedder.identity)
    agreements = [agreement for _, agreement in store]
    found = recall(
        feature, embedder.queries([feature])[0], cards_of(agreements, embedder), embedder.identity
    )
    texts = {part for each in (request, *(r for a in agreements for r in requests_of(a)))
             for part in each.parts}  # fmt: skip
    names = sorted(texts)
    vectors = dict(zip(names, in_space(embedder, constants.space, names), strict=True))
    pairs = []
    for match in found:
        number, agreement = store[match.card]
        is_same = number == row["expected"]
        pairs.append(
            Pair(
                agreement,
                match.score,
                tuple(evidence(request, r, match.score, vectors) for r in requests_of(agreement)),
                hard_limit(feature, wording(agreement)),
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
    centre, scale = features.mean(axis=0), features.std(axis=0)
    scaled = np.column_stack([(features - centre) / scale, np.ones(len(features))])
    beta = newton(scaled, truth, np.array([float(pair[2]) for pair in pairs]), RIDGE)
    weights = beta[:-1] / scale
    return RequestFit(tuple(map(float, weights)), float(beta[-1] - centre @ weights))


def judged(row: LabelledRequest, fit: RequestFit | None, needed_margin: float) -> Judged:
    """Return what a request leads to, as `map_verdict.judge` decides."""
    scores = [pair.score for pair in row.pairs]
    if fit is not None:
        for place, pair in enumerate(row.pairs[:MAX_COMPARED]):
            if pair.rows:
                scores[place] = min(pair.limit, max(map(fit.score, pair.rows)))
    best = max(range(len(scores)), key=lambda place: scores[place])
    pair = row.pairs[best]
    rivals = [
        Rival(fold(other.agreement.nl_term), other.agreement.symbol, score, confirmed=True)
        for other, score in zip(row.pairs, scores, strict=True)
    ]
    facts = MapFacts(
        score=scores[best],
        status="valid",
        confirmed=True,
        margin=short_circuit.margin(rivals[best], rivals),
        needed_margin=needed_margin,
        symbol_defined=True,
        risk=Risk.MEDIUM,
        intent=Intent.MODIFY,
        alias_only=pair.score >= 1 and is_strained(row.request.feature, pair.agreement),
    )
    return Judged(row, short_circuit.judge(facts).phase, pair.is_same)


def report(sets: Sequence[Sequence[LabelledRequest]], identity: str) -> None:
    """Print the rates before and after, held out by repository and by set."""
    constants = calibration.load(identity)
    everything = [row for rows in sets for row in rows]

    def judge_all(fit_for: Callable[[LabelledRequest], RequestFit | None]) -> list[Judged]:
        return [judged(row, fit_for(row), constants.ready_margin) for row in everything]

    show("feature alone", judge_all(lambda _: None))
    if constants.request:
        show("shipped constants", judge_all(lambda _: constants.request))
    by_repo = {
        repo: fit_of([row for row in everything if row.repo != repo])
        for repo in {row.repo for row in everything}
    }
    show("other repositories", judge_all(lambda row: by_repo[row.repo]))
    if len(sets) > 1:
        by_set = [
            fit_of([r for other in sets if other is not rows for r in other]) for rows in sets
        ]
        place = {id(row): at for at, rows in enumerate(sets) for row in rows}
        found = judge_all(lambda row: by_set[place[id(row)]])
        show("the other set", found)
        for at in range(len(sets)):
            show(f"  fitted on others, set {at + 1}",
                 [each for each in found if place[id(each.asked)] == at])  # fmt: skip


def show(title: str, found: Sequence[Judged]) -> None:
    """Print shares of READY and of 0.7 or better, with intervals by agreement."""
    print(f"\n{title}")
    for kind, language, among in _groups(found):
        group = np.array([_group(each) for each in among])
        cells = []
        for name, phases in (("READY", {Phase.READY}), ("0.7", {Phase.READY, Phase.VERIFICATION})):
            wanted = np.array(
                [each.phase in phases and each.right == (kind == "same") for each in among]
            )
            share = interval(wanted, group)
            cells.append(f"{name} {share.share:.3f} [{share.low:.3f}, {share.high:.3f}]")
        print(f"  {kind:13} {language:4} {len(among):4}  " + "   ".join(cells))


def _groups(found: Sequence[Judged]) -> Iterator[tuple[str, str, list[Judged]]]:
    for kinds, title in (
        (("same",), "same"), (("other_action",), "other_action"), (("neighbour",), "neighbour"),
        (("other_action", "neighbour"), "both false"),
    ):  # fmt: skip
        for languages, name in ((("en",), "en"), (("ja",), "ja"), (("en", "ja"), "both")):
            among = [e for e in found if e.asked.kind in kinds and e.asked.language in languages]
            if among:
                yield title, name, among


def _group(each: Judged) -> str:
    near = next(pair.agreement for pair in each.asked.pairs if pair.is_near)
    return f"{each.asked.repo}/{near.symbol}"


def write(identity: str, fit: RequestFit) -> None:
    """Store the comparison in the file with the engine's constants."""
    file = constants_folder() / calibration.slug(identity)
    raw = json.loads(file.read_text(encoding="utf-8"))
    weights = {
        name: round(value, 4) for name, value in zip(REQUEST_FEATURES, fit.weights, strict=True)
    }
    space = raw.pop("space")
    raw["request"] = {"weights": weights, "bias": round(fit.bias, 4)}
    file.write_text(json.dumps(raw | {"space": space}, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {file.name}: {weights}, bias {fit.bias:.3f}")


if __name__ == "__main__":
    main()
