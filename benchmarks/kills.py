"""Kill servers and commands with SIGKILL at random moments, under load, and check what they leave.

    python -m benchmarks.kills [--kills 2000] [--seed 1] [--at-once 8] [--rounds 15] [--seconds S]
        [--keep FOLDER] [--json OUT]

Several processes work on one project at once (`tests/killing/victims.py`): gateways, the other
stdio servers, and commands. Each is killed at a random moment. Then everything that was
acknowledged must be there, the index must equal one that is built afresh, `doctor` must report
nothing, and no process, lock, temporary file or socket may be left (`tests/killing/checks.py`). A
fault ends the run with exit code 1.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from killing.rounds import Tally, play  # noqa: E402 - found through the path above


def table(tally: Tally) -> str:
    """Return the kills by kind."""
    kinds = sorted(tally.killed.keys() | tally.ended.keys())
    rows = [f"{kind:<18}{tally.killed[kind]:>7}{tally.ended[kind]:>7}" for kind in kinds]
    return "\n".join([f"{'kind':<18}{'killed':>7}{'ended':>7}", *rows])


def main() -> int:
    """Kill, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    began, said, tally = time.monotonic(), 0, Tally()
    with tempfile.TemporaryDirectory() as folder:
        for tally in play(
            Path(folder),
            args.kills,
            seed=args.seed,
            at_once=args.at_once,
            rounds=args.rounds,
            until=began + args.seconds,
            keep=args.keep,
        ):
            for fault in tally.faults[said:]:
                print(f"round {tally.rounds}: {fault}", flush=True)
            said = len(tally.faults)
            if tally.rounds % 10 == 0:
                print(f"{time.monotonic() - began:.0f} s, {tally.killed.total()} kills", flush=True)
    print(table(tally))
    print(*(f"refused {n:>5}  {what}" for what, n in tally.refused.most_common(20)), sep="\n")
    print(
        f"{tally.killed.total()} kills in {tally.rounds} rounds, {tally.answers} acknowledged "
        f"calls, {len(tally.faults)} faults, {time.monotonic() - began:.0f} s"
    )
    if args.json:
        args.json.write_text(json.dumps(vars(tally), indent=1), encoding="utf-8")
    return 1 if tally.faults else 0


if __name__ == "__main__":
    sys.exit(main())
