r"""How long the words of a repository take, beside semble's whole indexing, in one run.

    python -m benchmarks.indexing --peers /path/to/peers/bin/python \
        [FOLDER...] [--rounds 5] [--json OUT]

Without FOLDER: 1,000 files of the standard library. Each round indexes every folder again with
both, in turn, each in a process of its own; imports and models do not count. Ours ends with
everything on disk and searchable. semble's stays in memory, with vectors of the `wordllama` wheel,
since its own model lies on a hub. The result is the quotient of medians: limit 2. `peer_side.py`
describes --peers.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from benchmarks.labels import forest_config
from code_intel.index.facade import Index

LIMIT = 2.0
HERE = Path(__file__).resolve().parent
LIBRARY = Path(sysconfig.get_path("stdlib"))
FILES = 1_000


class Peers:
    """The other side, if there is one: `peer_side.py` in an interpreter that has the peers."""

    def __init__(self, python: Path | None) -> None:
        self._process = None
        if python is not None:
            self._process = subprocess.Popen(
                [python, HERE / "peer_side.py"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        self.versions: dict[str, str] = self.ask(peer="versions") if python else {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait(10)

    def ask(self, **request: Any) -> dict[str, Any]:
        """Return the answer to one request; see `peer_side.py`."""
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        assert line, f"the peers' side failed on {request['peer']}"
        return dict(json.loads(line))

    def has(self, *packages: str) -> bool:
        """Whether these are installed there; says so when not."""
        missing = [name for name in packages if not self.versions.get(name)]
        if missing:
            print(f"not measured: {', '.join(missing)} not there; see --peers")
        return not missing


def library(folder: Path) -> None:
    """Copy 1,000 files of the standard library, from all of it."""
    files = [path for path in sorted(LIBRARY.rglob("*.py")) if "site-packages" not in path.parts]
    assert len(files) >= FILES, f"the standard library has {len(files)} files"
    for path in files[:: len(files) // FILES][:FILES]:
        target = folder / path.relative_to(LIBRARY)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)


def ours(folder: Path) -> dict[str, Any]:
    """Index the words of a folder, in this process, into a database that is thrown away."""
    with (
        tempfile.TemporaryDirectory() as scratch,
        Index(forest_config(folder, scratch)) as index,
    ):
        started = time.perf_counter()
        report = index.complete(words_only=True)
        seconds = time.perf_counter() - started
        assert not report.failed, report.failed
        _, chunks = index.store.generations.progress("")
        return {"seconds": seconds, "files": index.store.document_count(), "chunks": chunks}


def ours_apart(folder: Path) -> dict[str, Any]:
    """Do the same in a new process, where nothing is remembered."""
    command = [sys.executable, "-m", "benchmarks.indexing", "--once", str(folder.resolve())]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=HERE.parent)
    return dict(json.loads(done.stdout))


def semble_apart(python: Path, folder: Path) -> dict[str, Any]:
    """Index with semble, in a new process of the peers'."""
    with Peers(python) as peers:
        return peers.ask(peer="semble", folder=str(folder))


def main() -> None:
    """Run the rounds and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--peers", type=Path, help="interpreter in which semble and wordllama are")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--once", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.once:
        print(json.dumps(ours(args.once)))
        return
    with ExitStack() as stack:
        folders = args.folders
        if not folders:
            scratch = stack.enter_context(tempfile.TemporaryDirectory())
            folders = [Path(scratch) / "library"]
            library(folders[0])
        measured = stack.enter_context(Peers(args.peers)).has("semble", "wordllama")
        report = []
        for folder in folders:
            runs: dict[str, list[dict[str, Any]]] = {"ours": [], "semble": []}
            for _ in range(args.rounds):
                runs["ours"].append(ours_apart(folder))
                if measured:
                    runs["semble"].append(semble_apart(args.peers, folder))
            report.append({"folder": folder.name, **show(folder.name, runs)})
    if args.json:
        args.json.write_text(json.dumps(report, indent=1), encoding="utf-8")


def show(name: str, runs: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    """Print the table of one folder and return what it says."""
    print(f"{name:<18}{'files':>7}{'chunks':>8}{'min s':>8}{'median':>8}{'max':>8}")
    medians = {}
    for who, found in runs.items():
        if found:
            seconds = [run["seconds"] for run in found]
            medians[who] = statistics.median(seconds)
            print(
                f"{who:<18}{found[0]['files']:>7}{found[0]['chunks']:>8}{min(seconds):>8.2f}"
                f"{medians[who]:>8.2f}{max(seconds):>8.2f}"
            )
    ratio = medians["ours"] / medians["semble"] if "semble" in medians else None
    if ratio is not None:
        pairs = zip(runs["ours"], runs["semble"], strict=True)
        rounds = sorted(one["seconds"] / other["seconds"] for one, other in pairs)
        print(f"ratio {ratio:.2f} (by round {rounds[0]:.2f} to {rounds[-1]:.2f})   limit {LIMIT:g}")
    return {"runs": runs, "ratio": ratio}


if __name__ == "__main__":
    main()
