"""Compare whole requests with agreements: python -m benchmarks.map_requests [--write].

Asks each labelled request of the agreements of its repository, as a session does: the map is
searched for the target feature, the other slots are compared with the agreement's own request, and
the guards of the short-circuit decide. Prints the shares of READY and VERIFICATION without the
comparison, with the shipped constants, with constants fitted on the other repositories and with
those fitted on the other set. `--write` stores the constants of each engine.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.engines import ENGINES
from benchmarks.fit_score import constants_folder
from benchmarks.map_judging import interval
from code_intel.learned.aliases import is_strained
from code_intel.learned.fit.score import raw_request
from code_intel.learned.fit.texts import CachingEmbedder
from code_intel.learned.fit.whole_requests import (
    REQUESTS,
    LabelledRequest,
    fit_of,
    fits_without,
    request_scores,
    requests_from,
)
from code_intel.learned.recall import calibration
from code_intel.learned.recall.calibration import RequestFit
from code_intel.learned.recall.recall import fold
from code_intel.session import short_circuit
from code_intel.session.phases import Intent, Phase
from code_intel.session.risk import Risk
from code_intel.session.short_circuit import MapFacts, Rival


class Judged(NamedTuple):
    """The phase that a request leads to, and whether the agreement is the right one."""

    asked: LabelledRequest
    phase: Phase | None
    right: bool


def main() -> None:
    """Print the rates of every engine, and write its constants if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=REQUESTS)
    parser.add_argument("--engine", choices=ENGINES, nargs="+", default=list(ENGINES))
    parser.add_argument("--write", action="store_true", help="store the constants")
    arguments = parser.parse_args()
    for name in arguments.engine:
        embedder = CachingEmbedder(ENGINES[name]())
        constants = calibration.load(embedder.identity)
        sets = [
            requests_from(path, embedder, constants)
            for path in sorted(arguments.data.glob("*.json"))
        ]
        print(embedder.identity)
        report(sets, embedder.identity)
        if arguments.write:
            write(embedder.identity, fit_of([row for rows in sets for row in rows]))


def judged(row: LabelledRequest, fit: RequestFit | None, needed_margin: float) -> Judged:
    """Return what a request leads to, as `map_verdict.judge` decides."""
    scores = request_scores(row, fit)
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
    by_repo = fits_without(everything)
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
    space = raw.pop("space")
    raw["request"] = raw_request(fit)
    file.write_text(json.dumps(raw | {"space": space}, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {file.name}: {raw['request']}")


if __name__ == "__main__":
    main()
