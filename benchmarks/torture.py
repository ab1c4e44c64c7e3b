r"""The gateway with one half misbehaving, in each way we know: 200 mixed calls a mode.

    python benchmarks/torture.py [--calls 200] [--modes crash_call,flood] [--era legacy] \
        [--json OUT]

Each row is a gateway process over stdio. In half of the calls its forest is the bad one, in the
other half its map. Some calls are cancelled, some go four at once. A finding ends the run with exit
code 1: a call that did not end in time, a search without an answer, a process that was left.
"""

import argparse
import json
import os
import sys
import tempfile
from dataclasses import asdict
from functools import partial
from pathlib import Path

import anyio

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from served import make_shop  # noqa: E402 - found through the path above
from torture import MODES, URLS, Row, counted, over_stdio, torture  # noqa: E402 - likewise

HEAD = (
    f"{'mode':<17}{'era':<12}{'calls':>6}{'cancel':>7}{'other':>7}{'whole':>7}{'mean s':>8}"
    f"{'max s':>7}{'starts':>7}{'+MB':>7}{'left':>6}  findings"
)


def line(row: Row) -> str:
    """Return a row of the table."""
    return (
        f"{row.mode:<17}{row.era:<12}{row.calls:>6}{row.cancelled:>7}{row.degraded:>7}{row.whole:>7}"
        f"{row.total / max(row.calls, 1):>8.3f}{row.slowest:>7.2f}{row.restarts:>7}"
        f"{row.memory_mb:>7.1f}{row.left:>6}  {counted(row.faults) or 'none'}"
    )


def main() -> int:
    """Run the modes and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--modes", default=",".join((*MODES, *URLS)))
    parser.add_argument("--era", choices=("legacy", "2026-07-28", "both"), default="both")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    eras = ("legacy", "2026-07-28")
    rows = []
    print(HEAD, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CODE_INTEL_STATE_DIR"] = str(Path(folder) / "state")
        shop = make_shop(Path(folder) / "shop")
        for place, mode in enumerate(args.modes.split(",")):
            # Both eras take turns, so that each is tried with the same patience of the reader.
            era = eras[place % 2] if args.era == "both" else args.era
            run = partial(torture, connect=over_stdio, seed=args.seed)
            row = anyio.run(run, shop, mode, era, args.calls)
            print(line(row), flush=True)
            rows.append(row)
    if args.json:
        args.json.write_text(json.dumps([asdict(row) for row in rows], indent=1), encoding="utf-8")
    return 1 if any(row.faults or row.left for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
