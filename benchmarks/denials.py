"""Count the denials that `session/understanding/denials.py` misses, and the false alarms.

    python -m benchmarks.denials
    python -m benchmarks.denials --sources DIR --show

The set has 60 sentences in each language that deny the link between a symbol and a request, and 60
that contain a negation and explain the code. They were written before the list was read. With
--sources, the sentences of the last commit messages of each git repository in DIR are counted too:
they describe changes, so that nearly every match is a false alarm.
"""

import argparse
import json
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.labels import HERE
from code_intel.session.understanding.denials import denial

OWN = HERE / "data" / "denials.jsonl"
MAX_COMMITS = 2000
MIN_WORDS = 4
_SENTENCE_END = re.compile(r"(?<=[.!?。])\s+|\n+")


def wrong(rows: Sequence[Mapping[str, Any]], language: str, *, denies: bool) -> list[str]:
    """Return the sentences of a kind that are judged wrongly."""
    return [
        str(row["text"])
        for row in rows
        if row["language"] == language
        and row["denies"] == denies
        and bool(denial(row["text"])) != denies
    ]


def commit_sentences(repository: Path) -> Iterator[str]:
    """Yield the sentences of the last commit messages that have at least four words."""
    command = ["git", "-C", str(repository), "log", f"-n{MAX_COMMITS}", "--format=%s%n%b"]
    done = subprocess.run(command, capture_output=True, check=True)
    for sentence in _SENTENCE_END.split(done.stdout.decode(errors="replace")):
        if len(sentence.split()) >= MIN_WORDS:
            yield sentence.strip()


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=OWN, help="JSONL; by default ours")
    parser.add_argument("--sources", type=Path, help="a folder of git clones")
    parser.add_argument("--show", action="store_true", help="print the sentences, too")
    args = parser.parse_args()
    rows = [json.loads(line) for line in args.data.read_text(encoding="utf-8").splitlines()]
    for language, denies in product(sorted({row["language"] for row in rows}), (True, False)):
        total = sum(row["language"] == language and row["denies"] == denies for row in rows)
        found = wrong(rows, language, denies=denies)
        print(f"{language} {'missed' if denies else 'false alarms':14} {len(found):3} of {total}")
        show(found if args.show else ())
    if args.sources:
        folders = sorted(path.parent for path in args.sources.glob("*/.git"))
        sentences = [text for folder in folders for text in commit_sentences(folder)]
        found = [text for text in sentences if denial(text)]
        share = len(found) / max(1, len(sentences))
        print(f"commit sentences: {len(found)} of {len(sentences)} ({share:.2%})")
        show(found if args.show else ())


def show(sentences: Iterable[str]) -> None:
    """Print sentences."""
    for sentence in sentences:
        print(f"    {sentence}")


if __name__ == "__main__":
    main()
