"""Measure the time to first byte of every page of `code-intel ui`, on a large project.

    python -m benchmarks.ui_pages [--agreements N] [--sessions N] [--keep FOLDER] [--json OUT]

The server runs as people start it, with the embedding model. Each page is asked once (`first`) and
three times more; then each round asks every page, and a static file of the same server, once. All
requests use one connection and ask for no compression. A page passes if 95 % of its answers begin
within the limit. `cpu` is the processor time of an answer, in steps of 3 ms; it says more on a busy
machine. Memory is the highest resident set of the server (/proc, Linux).
Exit codes: 0 every page passed, 1 one did not.
"""

import argparse
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from benchmarks.latency import BIN
from benchmarks.map_scale import business
from benchmarks.memory import pss
from benchmarks.ui_project import make_large
from code_intel.chunking.agreement import file_name
from code_intel.config import Settings, load_settings
from code_intel.session import journal
from code_intel.tools.context.gateway import sessions_of

LIMIT_MS = 200.0
WARM = 3
STATIC = "/static/icon.svg"
LINK = re.compile(r"code-intel: open http://127\.0\.0\.1:(\d+)(/[\w-]+)(/open\S+)")
PAGES = {
    "a static file": STATIC,
    "overview": "/",
    "warnings": "/doctor",
    "map": "/map",
    "map, last page": "/map?page=100",
    "map, searched": "/map?q={word}",
    "map, filtered and sorted": "/map?state=valid&kind=agreement&sort=-since",
    "map, of a file": "/map?file={file}",
    "entry": "/map/entry?file={entry}",
    "history of an entry": "/map/history?file={entry}",
    "neighbours of an entry": "/map/near?file={entry}",
    "confirming": "/map/change?change=confirm&file={entry}",
    "editing": "/map/edit?file={entry}",
    "review": "/map/review",
    "proposals": "/map/proposals",
    "trash": "/map/trash",
    "ask": "/ask",
    "ask, answered": "/ask?q={term}",
    "sessions": "/sessions",
    "sessions, last page": "/sessions?page=10",
    "session": "/sessions/{session}",
    "code seen by a session": "/sessions/{session}/seen?step={step}&file={seen}",
    "plans": "/plans",
    "plan": "/plans/{plan}",
    "knowledge": "/plans/knowledge",
    "commands": "/commands",
    "quality": "/quality",
    "code": "/code?file={file}&start=1&end=9",
}
"""The path of each page by name; braces stand for what the project has (`places`)."""


class Page:
    """A server of the page, opened by its link."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stderr is not None
        link = next(filter(None, map(LINK.match, process.stderr)))
        self.pid = process.pid
        self._connection = http.client.HTTPConnection("127.0.0.1", int(link[1]), timeout=120)
        self._home, self._cookie = link[2], ""
        answer = self._ask(link[3])
        self._cookie = (answer.getheader("set-cookie") or "").partition(";")[0]
        answer.read()

    def ask(self, path: str) -> tuple[float, int]:
        """Return the milliseconds until the first byte of a page, and its length."""
        started = time.perf_counter()
        answer = self._ask(path)
        first = answer.read(1)
        took = 1000 * (time.perf_counter() - started)
        rest = answer.read()
        assert answer.status == http.client.OK, (path, answer.status, rest[:2000])
        return took, len(first) + len(rest)

    def _ask(self, path: str) -> http.client.HTTPResponse:
        self._connection.request("GET", f"{self._home}{path}", headers={"cookie": self._cookie})
        return self._connection.getresponse()


@contextmanager
def served(settings: Settings) -> Iterator[Page]:
    """Run `code-intel ui` on a project."""
    process = subprocess.Popen(
        [str(BIN / "code-intel"), "ui", "--no-open"],
        cwd=settings.root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    try:
        yield Page(process)
    finally:
        process.terminate()
        process.communicate(timeout=60)


def places(settings: Settings, agreements: int) -> dict[str, str]:
    """Return the names in the project that paths of pages contain."""
    middle = business(agreements)[agreements // 2]
    sessions = sorted((settings.state / "sessions").glob("*.jsonl"))
    plans = sorted((settings.plans_dir / "cache" / "plans").glob("*-*.json"))
    name = sessions[len(sessions) // 2].stem
    calls = journal.inspect(sessions_of(settings), name).calls
    seen = next(call for call in calls if call.printed)
    entry = settings.agreements / file_name(middle.nl_term, middle.symbol)
    found = {
        "file": middle.files[0].path,
        "entry": entry.relative_to(settings.root).as_posix(),
        "term": middle.nl_term,
        "word": middle.nl_term.split()[0],
        "session": name,
        "step": str(seen.seq),
        "seen": seen.printed[0].file,
        "plan": plans[0].stem,
    }
    return {name: quote(value) for name, value in found.items()}


def race(page: Page, paths: Mapping[str, str], rounds: int) -> dict[str, dict[str, float]]:
    """Return the figures of each page."""
    found: dict[str, dict[str, float]] = {}
    times: dict[str, list[float]] = {name: [] for name in paths}
    for name, path in paths.items():
        first, length = page.ask(path)
        found[name] = {"first": first, "bytes": length}
        for _ in range(WARM):
            page.ask(path)
    for _ in range(rounds):
        for name, path in paths.items():
            times[name].append(page.ask(path)[0])
    for name, path in paths.items():
        before = spent(page.pid)
        for _ in range(WARM):
            page.ask(path)
        found[name]["cpu"] = (spent(page.pid) - before) / WARM
    for name, values in times.items():
        ordered = sorted(values)
        found[name] |= {
            "p50": ordered[len(ordered) // 2],
            "p95": ordered[int(0.95 * (len(ordered) - 1))],
        }
    return found


def spent(pid: int) -> float:
    """Return the milliseconds of processor time of a process and the programs that it ran."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return 1000 * sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def peak(pid: int) -> float:
    """Return the highest resident set of a process in MB."""
    lines = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def main() -> int:
    """Build the project, ask for the pages, print the table; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--agreements", type=int, default=10_000)
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument(
        "--keep", type=Path, help="make the project here, or take the one that is here"
    )
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.keep or Path(scratch) / "business"
        if folder.exists():
            settings = load_settings(folder)
        else:
            settings = make_large(folder, args.agreements, args.sessions)
        names = places(settings, args.agreements)
        paths = {name: path.format(**names) for name, path in PAGES.items()}
        with served(settings) as page:
            found = race(page, paths, args.rounds)
            memory = {"peak": peak(page.pid), "PSS": pss(page.pid)}
    print(f"{args.agreements:,} agreements, {args.sessions:,} sessions; milliseconds to first byte")
    show(found)
    print("memory of the server in MB: " + ", ".join(f"{k} {v:.0f}" for k, v in memory.items()))
    if args.json:
        args.json.write_text(json.dumps({"pages": found, "MB": memory}, indent=1), "utf-8")
    return int(any(row["p95"] > LIMIT_MS for row in found.values()))


def show(found: Mapping[str, Mapping[str, float]]) -> None:
    """Print the table."""
    columns: Sequence[str] = ("first", "p50", "p95", "cpu")
    print(f"{'':<28}" + "".join(f"{name:>9}" for name in columns) + f"{'kB':>8}")
    for name, row in found.items():
        cells = "".join(f"{row[column]:>9.1f}" for column in columns)
        late = f"  over {LIMIT_MS:.0f} ms" if row["p95"] > LIMIT_MS else ""
        print(f"{name:<28}{cells}{row['bytes'] / 1000:>8.1f}{late}")


if __name__ == "__main__":
    sys.exit(main())
