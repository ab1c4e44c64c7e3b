"""Everything that reads bytes of others, fed with changed inputs.

    python -m benchmarks.fuzz [--target NAME…] [--inputs N] [--seconds S] [--seed N]
        [--no-growth | --patterns N] [--keep FOLDER] [--json OUT]

Each target (`tests/fuzzing/targets.py`) runs in a process of its own. A row has the inputs, how
many a second, the lines of its modules that were reached, the slowest inputs by size, how much the
peak of the memory grew, and the steepest growth of the time as sizes double (1 is linear, 2
quadratic). SECONDS limit each target. PATTERNS is how many repeated texts grow, chosen by the seed
(all by default). An error that the target does not document, or a growth above 1.5, is a finding;
it ends the run with exit code 1. --keep writes the inputs of findings to a folder.
"""

import argparse
import json
import os
import pickle
import resource
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from fuzzing.engine import (  # noqa: E402 - found through the path
    MAX_EXPONENT,
    Growth,
    Report,
    fuzz,
    growth,
)
from fuzzing.targets import TARGETS  # noqa: E402 - likewise

MEMORY = 4 << 30
HEAD = (
    f"{'target':<18}{'inputs':>10}{'per s':>8}{'lines':>12}{'KiB: slowest ms':>34}{'+MB':>7}"
    f"{'growth':>8}  findings"
)
Result = tuple[Report, list[Growth]]


def run(name: str, inputs: int, seed: int, seconds: float, patterns: int | None) -> Result:
    """Fuzz a target in a child, whose memory is limited; let some patterns grow (None: all)."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        code = 1
        try:
            warnings.simplefilter("ignore")  # of expressions in .gitignore files, for example
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            with tempfile.TemporaryDirectory(dir=_memory()) as folder:
                target = TARGETS[name](Path(folder))
                until = time.monotonic() + seconds
                report = fuzz(target, inputs, seed=seed, until=until, package=ROOT / "code_intel")
                grown = list(growth(target, patterns=patterns, seed=seed))
            with os.fdopen(writer, "wb") as pipe:
                pipe.write(pickle.dumps((report, grown)))
            code = 0
        except BaseException:  # noqa: BLE001 - it is printed, and the parent fails
            traceback.print_exc()
        os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    status = os.waitpid(child, 0)[1]
    assert status == 0, f"{name} ended with {status}"
    result: Result = pickle.loads(data)  # noqa: S301 - written by the child
    return result


def _memory() -> Path | None:
    memory = Path("/dev/shm")  # noqa: S108 - inputs of targets that read files
    return memory if os.access(memory, os.W_OK) else None


def findings(name: str, report: Report, grown: list[Growth]) -> list[str]:
    """Return what is wrong, in a line each."""
    steep = [g for g in grown if g.exponent > MAX_EXPONENT]
    return [f"{name}: {kind}: {data[:120]!r}" for kind, (data, _) in report.findings.items()] + [
        f"{name}: growth {g.exponent:.1f} of {g.pattern}: {g.times[-1]:.2f} s, {g.size >> 10} KiB"
        for g in steep
    ]


def line(name: str, report: Report, grown: list[Growth], found: list[str]) -> str:
    """Return a row of the table."""
    slowest = " ".join(
        f"{(1 << size) / 1024:.3g}:{ms:.1f}" for size, ms in sorted(report.slowest.items())[-4:]
    )
    steepest = max((g.exponent for g in grown), default=0.0)
    return (
        f"{name:<18}{report.inputs:>10,}{report.inputs / max(report.wall, 1e-3):>8,.0f}"
        f"{'{}/{}'.format(*report.lines):>12}{slowest:>34}{report.grown_mb:>7.0f}{steepest:>8.2f}"
        f"  {len(found) or 'none'}"
    )


def main() -> int:
    """Fuzz the targets and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", nargs="*", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=1)
    growing = parser.add_mutually_exclusive_group()
    growing.add_argument("--no-growth", action="store_const", const=0, dest="patterns")
    growing.add_argument("--patterns", type=int)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    rows, everything = [], []
    print(HEAD, flush=True)
    for name in args.target:
        report, grown = run(name, args.inputs, args.seed, args.seconds, args.patterns)
        found = findings(name, report, grown)
        print(line(name, report, grown, found), *found, sep="\n", flush=True)
        everything += found
        steepest = max(grown, key=lambda g: g.exponent, default=None)
        rows.append(
            {
                "target": name,
                "inputs": report.inputs,
                "seconds": report.wall,
                "lines": report.lines,
                "slowest_ms": report.slowest,
                "grown_mb": report.grown_mb,
                "steepest": steepest and (steepest.pattern, steepest.exponent),
                "findings": found,
            }
        )
        if args.keep:
            args.keep.mkdir(exist_ok=True)
            for number, (data, text) in enumerate(report.findings.values()):
                place = args.keep / f"{name.replace(' ', '-')}-{number}"
                place.write_bytes(data)
                place.with_suffix(".txt").write_text(text, "utf-8", "backslashreplace")
    total = sum(int(str(row["inputs"])) for row in rows)
    print(f"{total:,} inputs, {len(everything)} findings")
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1), "utf-8")
    return 1 if everything else 0


if __name__ == "__main__":
    sys.exit(main())
