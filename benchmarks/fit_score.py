"""Fit the calibrated score of the map on labelled questions: python -m benchmarks.fit_score.

Prints the cross-validated rates (grouped by feature: no agreement is scored by constants that saw
it or its questions) and writes the constants of each engine into the package. The same data and
model give the same file. What is fitted and why: docs/decisions/0009.
"""

import argparse
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.engines import ENGINES
from benchmarks.map_candidates import show_candidates
from benchmarks.map_judging import curve, judged, pooled, reliability
from benchmarks.map_labels import FOLDER, sets_from
from benchmarks.map_tables import show_curve, show_rates, show_reliability
from code_intel.embedding.engine import Embedder
from code_intel.learned.fit.score import ScoreFit, fit_score, raw_constants
from code_intel.learned.fit.texts import CachingEmbedder
from code_intel.learned.recall import calibration

STEPS = np.arange(0.5, 0.96, 0.05).round(2).tolist()


def main() -> None:
    """Fit, print, write, for every engine."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=FOLDER)
    parser.add_argument("--out", type=Path, help="folder; default: the package's own constants")
    parser.add_argument("--engine", choices=ENGINES, nargs="+", default=list(ENGINES))
    arguments = parser.parse_args()
    for name in arguments.engine:
        fitted_for(
            CachingEmbedder(ENGINES[name]()), arguments.data, arguments.out or constants_folder()
        )


def fitted_for(embedder: Embedder, data: Path, out: Path) -> None:
    """Fit, print and write the constants of one engine."""
    names = [(name, other) for other in (False, True) for name in sets_from(data)]
    fitted = fit_score(
        [sets_from(data, other_evidence=other)[name] for name, other in names], embedder
    )
    slope, english, japanese, even = fitted.scale
    shifts = f"English {english:.2f}, Japanese {japanese:.2f}, calibrated {even:.2f}"
    print(f"{embedder.identity}: slope {slope:.3f}, shifts: {shifts}")
    report(names, fitted, embedder)
    write(out, embedder.identity, digest_of(data), fitted)


def report(names: Sequence[tuple[str, bool]], fitted: ScoreFit, embedder: Embedder) -> None:
    """Print the cross-validated rates, curve, calibration, and what the tools show."""
    for wanted, title in (
        (False, "evidence as labelled"),
        (True, "evidence in the other language"),
    ):
        print(f"\ncross-validated, {title}")
        rows = zip(names, fitted.stores, fitted.held_out, strict=True)
        chosen = {
            name: (store.labels, store.scores(values))
            for (name, other), store, values in rows
            if other == wanted
        }
        found = {name: judged(*row) for name, row in chosen.items()}
        whole = pooled(list(found.values()))
        show_rates({**found, "all": whole})
        show_curve(curve(whole, STEPS), whole)
        labels = {name: row[0] for name, row in chosen.items()}
        scores = {name: row[1] for name, row in chosen.items()}
        show_candidates(labels, scores, embedder, fitted.margin)
        show_reliability({**{name: reliability(each) for name, each in found.items()},
                          "all": reliability(whole)})  # fmt: skip


def write(out: Path, identity: str, digest: str, fitted: ScoreFit) -> None:
    """Write the constants and read them back."""
    raw = raw_constants(identity, digest, fitted)
    file = out / calibration.slug(identity)
    if file.is_file():  # fitted by benchmarks.map_requests, which must be run afterwards
        old = json.loads(file.read_text(encoding="utf-8"))
        raw |= {"request": old["request"]} if "request" in old else {}
    file.write_text(json.dumps(raw, indent=1) + "\n", encoding="utf-8")
    read_back = calibration.decoded(raw, identity)
    print(f"\nwrote {file.name}: bias {read_back.bias}, READY margin {read_back.ready_margin}")
    for name, row in raw["features"].items():
        print(f"  {name:9} {row['weight']:8.3f}   {row['low']:7.3f} to {row['high']:.3f}")


def digest_of(data: Path) -> str:
    """Return the SHA-256 of the labelled sets, one after the other."""
    files = sorted(data.glob("*.json")) if data.is_dir() else [data]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def constants_folder() -> Path:
    """Return where the package keeps its constants."""
    return Path(calibration.__file__).parent / "constants"


if __name__ == "__main__":
    main()
