"""A generated tree of many files: the first answer while it is indexed, a kill half-way, memory.

    python benchmarks/large_tree.py [--files 100000] [--json OUT]

Every file is a small module; words only. The first run is killed with half of the files indexed,
and the second continues. Memory is the peak of the indexing process (RSS); an unsound index ends
the run.
"""

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from large_tree import measure as tree  # noqa: E402 - found through the path above


def main() -> None:
    """Grow the tree and print the row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        row = tree(Path(folder) / "tree", args.files)
    print(f"{'files':>8}{'first s':>9}{'known':>8}{'kept':>8}{'read again':>12}{'s':>8}{'MB':>8}")
    print(
        f"{row.files:>8}{row.first_answer:>9.2f}{row.known_then:>8}{row.kept:>8}{row.resumed:>12}"
        f"{row.seconds:>8.1f}{row.peak_mb:>8.0f}"
    )
    if args.json:
        args.json.write_text(json.dumps(asdict(row)), encoding="utf-8")


if __name__ == "__main__":
    main()
