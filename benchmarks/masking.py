r"""Count the values that masking hides in repositories, and compare its time with another revision.

    python -m benchmarks.masking FOLDER... [--before REVISION] [--rounds 5] [--list] [--json OUT]

Each FOLDER is a git work tree. A public repository contains no secret that is in use, so the
number of masked values is an upper bound of the false alarms. Limit: one per 1,000 lines. With
--before, the rules of that revision mask the same texts in the same run, in turn, and the result is
the quotient of the median processor times. Limit 1.15.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from code_intel.chunking import decode
from code_intel.foundation import redaction

ROOT = Path(__file__).resolve().parent.parent
MAX_PER_THOUSAND = 1.0
MAX_TIME = 1.15
Mask = Callable[[str], tuple[str, int]]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; exit with 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--before", help="a git revision of this repository")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--list", action="store_true", help="print each line with a masked value")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args(argv)
    texts = {folder: read_texts(folder) for folder in args.folders}
    rows = [count(folder, files, listed=args.list) for folder, files in texts.items()]
    report: dict[str, Any] = {"repositories": [*rows, total(rows)]}
    for row in report["repositories"]:
        print(f"{row['name']:<16}{row['lines']:>9} lines{row['masked']:>6} masked"
              f"{row['per_thousand']:>7.2f} per 1,000 lines")  # fmt: skip
    if args.before:
        whole = [text for files in texts.values() for text in files.values()]
        report["time"] = times(whole, mask_of(args.before), args.rounds)
        print("before {before:.3f} s, now {now:.3f} s, quotient {quotient:.2f}, "
              "{ms_per_mb:.1f} ms per MB".format(**report["time"]))  # fmt: skip
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    over = any(row["per_thousand"] > MAX_PER_THOUSAND for row in report["repositories"])
    return int(over or (args.before is not None and report["time"]["quotient"] > MAX_TIME))


def read_texts(folder: Path) -> dict[str, str]:
    """Return the text of each tracked file, before masking."""
    listed = subprocess.run(
        ["git", "-C", folder, "ls-files", "-z"], capture_output=True, check=True, text=True
    )
    paths = (folder / name for name in listed.stdout.split("\0") if name)
    data = {path: path.read_bytes() for path in paths if path.is_file() and not path.is_symlink()}
    return {
        str(path.relative_to(folder)): raw.decode("utf-8", "replace")
        for path, raw in data.items()
        if decode(raw) is not None
    }


def count(folder: Path, files: dict[str, str], *, listed: bool) -> dict[str, Any]:
    """Return the row of a repository."""
    lines = masked = 0
    for name, text in files.items():
        hidden, found = redaction.mask(text)
        lines += text.count("\n")
        masked += found
        if found and listed:
            pairs = zip(text.split("\n"), hidden.split("\n"), strict=True)
            for number, (before, after) in enumerate(pairs, 1):
                if before != after:
                    print(f"{folder.name}/{name}:{number}: {after.strip()[:160]}")
    return row(folder.resolve().name, lines, masked)


def row(name: str, lines: int, masked: int) -> dict[str, Any]:
    """Return a row of the table."""
    per_thousand = 1_000 * masked / max(lines, 1)
    return {"name": name, "lines": lines, "masked": masked, "per_thousand": per_thousand}


def total(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the row of all repositories together."""
    lines, masked = (sum(row[field] for row in rows) for field in ("lines", "masked"))
    return row("all", lines, masked)


def mask_of(revision: str) -> Mask:
    """Return the function `mask` of another revision; its modules are loaded for this run only."""
    folder = "code_intel.foundation"
    current = {
        name: sys.modules[name] for name in (f"{folder}.secret_patterns", redaction.__name__)
    }
    try:
        for name in current:
            path = name.replace(".", "/") + ".py"
            shown = subprocess.run(
                ["git", "-C", ROOT, "show", f"{revision}:{path}"],
                capture_output=True, check=True, text=True,
            )  # fmt: skip
            module = sys.modules[name] = ModuleType(name)
            exec(compile(shown.stdout, path, "exec"), module.__dict__)  # noqa: S102 - our own code
        loaded: Mask = sys.modules[redaction.__name__].mask
        return loaded
    finally:
        sys.modules.update(current)


def times(texts: Sequence[str], before: Mask, rounds: int) -> dict[str, float]:
    """Return the median processor times of both revisions, measured in turn."""
    taken: dict[Mask, list[float]] = {before: [], redaction.mask: []}
    for mask in taken:
        mask("\n".join(texts)[:100_000])  # compiles the patterns
    for _ in range(rounds):
        for mask, seconds in taken.items():
            started = time.process_time()
            for text in texts:
                mask(text)
            seconds.append(time.process_time() - started)
    old, new = (statistics.median(taken[mask]) for mask in (before, redaction.mask))
    megabytes = sum(map(len, texts)) / 1e6
    return {"before": old, "now": new, "quotient": new / old, "ms_per_mb": 1_000 * new / megabytes}


if __name__ == "__main__":
    sys.exit(main())
