"""Measure a warm search among 10,000 prompt commands over stdio, beside a bare SDK echo tool.

    python -m benchmarks.command_latency [--commands 10000] [--rounds 60] [--embed] [--json OUT]

The commands are generated, the same each time: domains, actions and objects of a software house,
each with a sentence. Questions say the same in other words, half of them in Japanese, each asked
once. The servers run as for users: one with the real model, one with words only. Each round asks
every server in turn. The result is how far the median lies above the echo's: limit 20 ms.

With --embed the server embeds all commands itself, which takes minutes once; the report says so.
Without it, a few hundred cards are embedded by the model, and the vectors of the others are seeded
perturbations of those: times and memory are real, the results are not checked. Questions are always
embedded by the model.

The other tables show the time of a cold server to its first answer, with so many commands and with
16; the time of loading and of the parts of a search in this process; and the memory (/proc, Linux)
of both servers.
"""

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.latency import BIN, ECHO, WARM, Client
from benchmarks.memory import pss
from code_intel.config import Settings, load_settings
from code_intel.registry import place, reading
from code_intel.registry.bm25 import BM25Index
from code_intel.registry.finding import find
from code_intel.registry.loading import LoadedRegistry, Registries
from code_intel.registry.meaning import CommandVectors, card
from code_intel.tools.context.corpus_service import open_models

LIMIT = 20.0
"""Milliseconds above the echo."""
REAL = 320
"""Cards that the real model embeds."""
SPREAD = 0.25
"""Length of what is added to a real vector, of length 1."""
FEW = 16
PATIENCE = 1800
"""Seconds after which a server that embeds everything has done so."""
DOMAINS = (
    *("git", "docs", "test", "api", "database", "release", "security", "design", "review"),
    *("deploy", "metrics", "support", "billing", "search", "mobile", "infra", "data", "meta"),
    *("build", "legal", "search-index", "onboarding", "incident", "localization", "access"),
)
ACTIONS = {
    "create": ("Create", "make", "作成"),
    "update": ("Update", "change", "更新"),
    "review": ("Review", "look over", "レビュー"),
    "group-commit": ("Group and commit", "commit together", "まとめてコミット"),
    "merge-up": ("Merge", "bring together", "マージ"),
    "analyze": ("Analyze", "examine", "分析"),
    "generate": ("Generate", "produce", "生成"),
    "validate": ("Validate", "check", "検証"),
    "migrate": ("Migrate", "move over", "移行"),
    "summarize": ("Summarize", "sum up", "要約"),
    "plan": ("Plan", "think ahead about", "計画"),
    "refactor": ("Refactor", "restructure", "リファクタリング"),
    "decide-branch": ("Decide about", "make up my mind on", "判断"),
    "find-oldest": ("Find the oldest", "search for the first", "最古のものを検索"),
    "translate": ("Translate", "put into another language", "翻訳"),
    "archive": ("Archive", "put away", "保管"),
}
OBJECTS = {
    "unstaged-changes": ("the changes that are not staged yet", "未ステージの変更"),
    "working-branch": ("the branch somebody works on", "作業ブランチ"),
    "user-guide": ("the guide that users read", "ユーザーガイド"),
    "test-cases": ("cases that show a fault", "テストケース"),
    "error-messages": ("messages of errors", "エラーメッセージ"),
    "schema": ("the schema of the data", "スキーマ"),
    "changelog": ("what has changed for users", "変更履歴"),
    "permissions": ("who may do what", "権限"),
    "dashboards": ("the boards that show figures", "ダッシュボード"),
    "dependencies": ("packages of others", "依存関係"),
    "feature-flags": ("switches of features", "機能フラグ"),
    "log-files": ("logs of the servers", "ログファイル"),
    "configuration": ("settings and their defaults", "設定"),
    "pull-request": ("a request to merge", "プルリクエスト"),
    "specification": ("what is to be built", "仕様書"),
    "meeting-notes": ("what was said in a meeting", "会議の議事録"),
    "invoices": ("bills of customers", "請求書"),
    "translations": ("texts in other languages", "翻訳"),
    "backups": ("copies that are kept", "バックアップ"),
    "benchmarks": ("figures of speed", "ベンチマーク"),
    "api-endpoints": ("addresses that answer programs", "APIエンドポイント"),
    "instruction": ("instructions for an agent", "指示書"),
    "release-notes": ("notes about a version", "リリースノート"),
    "alerts": ("alarms at night", "アラート"),
    "personas": ("who the users are", "ペルソナ"),
}
ENDS = (
    "step by step",
    "by semantic proximity",
    "and report what was left out",
    "before it is merged",
    "with evidence from the code",
    "for the next iteration",
    "in the style of the team",
    "without changing behaviour",
    "and ask where something is unclear",
    "from a description on stdin",
    "without surprising the reviewers",
    "according to the checklist",
)


class Timings(NamedTuple):
    """What one run has found; milliseconds, seconds and MB by name."""

    milliseconds: dict[str, list[float]]
    seconds: dict[str, float]
    megabytes: dict[str, float]
    parts: dict[str, float]


def registry(count: int) -> dict[str, Any]:
    """Return a registry of so many commands in the form of seed 001."""
    draw = random.Random(1)
    names = list(product(DOMAINS, ACTIONS, OBJECTS))
    draw.shuffle(names)
    assert count <= len(names), f"there are {len(names):,} commands at the most"
    commands = [
        {
            "c1": f"climpt-{c1}",
            "c2": c2,
            "c3": c3,
            "description": f"{ACTIONS[c2][0]} {c3.replace('-', ' ')} of {c1} "
            f"{draw.choice(ENDS)}, {OBJECTS[c3][0]}",
            "usage": f"climpt-{c1} {c2} {c3}",
            "options": {
                "edition": ["default"],
                "adaptation": ["default", "detailed"],
                "file": draw.random() < 0.5,
                "stdin": draw.random() < 0.5,
                "destination": draw.random() < 0.5,
            },
        }
        for c1, c2, c3 in names[:count]
    ]
    return {"version": "1.0.0", "description": "Generated", "tools": {"commands": commands}}


def questions(rounds: int) -> tuple[list[str], list[str]]:
    """Return questions in English and in Japanese, each once."""
    draw = random.Random(2)
    needs = draw.sample(list(product(DOMAINS, ACTIONS, OBJECTS)), rounds)
    english = [f"{ACTIONS[c2][1]} {OBJECTS[c3][0]} for {c1}" for c1, c2, c3 in needs]
    japanese = [f"{c1} の{OBJECTS[c3][1]}を{ACTIONS[c2][2]}したい" for c1, c2, c3 in needs]
    return english, japanese


def project(folder: Path, count: int, cache: Path) -> Settings:
    """Make a project with a registry, whose vectors are kept in a folder of its own."""
    path = folder / place.REGISTRY
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(registry(count), ensure_ascii=False, indent=1), encoding="utf-8")
    (folder / ".code-intel").mkdir()
    (folder / ".code-intel" / "config.toml").write_text(
        f'cache_dir = "{cache}"\n', encoding="utf-8"
    )
    return load_settings(folder)


def make_up(settings: Settings, loaded: LoadedRegistry) -> None:
    """Keep a vector a command: real ones, and near a real one all others."""
    _, embedder, cache = open_models(settings)
    cards = [card(command) for command in loaded.index.commands]
    vectors = dict(zip(cards, embedder.passages(cards[:REAL]), strict=False))
    real, draw = list(vectors.values()), np.random.default_rng(1)
    for at, text in enumerate(cards[REAL:]):
        noise = draw.normal(size=real[0].shape)
        moved = real[at % len(real)] + SPREAD * noise / np.linalg.norm(noise)
        vectors[text] = (moved / np.linalg.norm(moved)).astype(np.float32)
    cache.put(embedder.identity, vectors)
    cache.close()


def started(home: Path, *words: str, **environment: str) -> list[str]:
    """Return a command line whose registry is never the reader's own."""
    given = {"HOME": str(home), **environment}
    return ["env", *(f"{name}={value}" for name, value in given.items()), *words]


def cold(command: Sequence[str], folder: Path, tool: str, argument: str) -> float:
    """Return the seconds from a server's start to its first answer."""
    began = time.perf_counter()
    with Client(command, folder) as client:
        client.call(tool, {argument: "group changes and commit them"})
        return time.perf_counter() - began


def wait_for_vectors(client: Client) -> float:
    """Return the seconds until a search has nothing to do without."""
    began = time.perf_counter()
    while time.perf_counter() < began + PATIENCE:
        said = client.ask("tools/call", name="search", arguments={"query": "update the changelog"})
        if not said["structuredContent"].get("degraded"):
            return time.perf_counter() - began
        time.sleep(0.5)
    raise AssertionError("the vectors are not there in time")


def race(folder: Path, few: Path, home: Path, rounds: int) -> Timings:
    """Ask the servers in turn; return what it took, and their memory."""
    serve = [str(BIN / "code-intel"), "commands"]
    with_vectors = started(home, *serve)
    words_only = started(home, *serve, CODE_INTEL_EMBEDDING="off")
    echo_server = [sys.executable, "-c", ECHO]
    cases = {
        "cold, bare SDK, echo": (echo_server, folder, "echo", "text"),
        f"cold, {FEW} commands": (words_only, few, "search", "query"),
        "cold, all commands": (words_only, folder, "search", "query"),
    }
    seconds = {
        name: statistics.median(cold(*case) for _ in range(3)) for name, case in cases.items()
    }
    english, japanese = questions(rounds + WARM)
    rows: dict[str, list[float]] = {}
    with ExitStack() as stack:
        echo = stack.enter_context(Client(echo_server, folder))
        meaning = stack.enter_context(Client(with_vectors, folder))
        words = stack.enter_context(Client(words_only, folder))
        memory = {"connected": pss(meaning.pid)}
        seconds["vectors there after"] = wait_for_vectors(meaning)
        for turn, (en, ja) in enumerate(zip(english, japanese, strict=True)):
            if turn == WARM:
                rows.clear()
            asked = {
                "bare SDK, echo": (echo, "echo", {"text": en}),
                "vectors, English": (meaning, "search", {"query": en}),
                "vectors, Japanese": (meaning, "search", {"query": ja}),
                "words only, English": (words, "search", {"query": en}),
                "words only, Japanese": (words, "search", {"query": ja}),
            }
            for name, (client, tool, arguments) in asked.items():
                rows.setdefault(name, []).append(client.call(tool, arguments))
        memory["after questions"] = pss(meaning.pid)
        memory["words only, after questions"] = pss(words.pid)
    return Timings(rows, seconds, memory, {})


def parts(settings: Settings, home: Path, rounds: int) -> tuple[dict[str, float], dict[str, float]]:
    """Return the seconds of loading and the median milliseconds of each part of a search.

    Measure in this process.
    """
    seconds: dict[str, float] = {}

    def once(name: str, work: Callable[[], Any]) -> Any:
        began = time.perf_counter()
        result = work()
        seconds[name] = time.perf_counter() - began
        return result

    registries = Registries(settings.root, home)
    loaded = once("registry read and checked", registries.of)
    once("index of words", lambda: BM25Index(loaded.registry.commands))
    once(
        "index of stems and English",
        lambda: BM25Index(loaded.registry.commands, reading.description_terms),
    )
    times: dict[str, list[float]] = {}

    def timed(name: str, work: Callable[..., Any], *arguments: Any, **named: Any) -> None:
        began = time.perf_counter()
        work(*arguments, **named)
        times.setdefault(name, []).append(1000 * (time.perf_counter() - began))

    _, embedder, cache = open_models(settings)
    embedder.is_long_lived = True  # as servers have it
    with closing(CommandVectors(embedder, cache, patience=60)) as meanings:
        assert not meanings.of(loaded, 600)[1]
        english, japanese = questions(rounds)
        for query in (*english, *japanese):
            timed("registry looked at again", registries.of)
            timed("BM25 of seed 000", loaded.index.search, query)
            timed("words, all of it", find, loaded, [query], command_vectors=None)
            timed("question embedded", meanings.question, query)
            timed(
                "by meaning, question embedded before",
                find,
                loaded,
                [query],
                command_vectors=meanings,
            )
    return seconds, {name: statistics.median(values) for name, values in times.items()}


def measure(commands: int, rounds: int, *, embed: bool) -> Timings:
    """Make the projects and run everything."""
    with tempfile.TemporaryDirectory() as scratch:
        home, few, folder = (Path(scratch) / name for name in ("home", "few", "project"))
        home.mkdir()
        settings = project(folder, commands, Path(scratch) / "cache")
        project(few, FEW, Path(scratch) / "cache")
        if not embed:
            make_up(settings, Registries(folder, home).of())
        found = race(folder, few, home, rounds)
        loading, spent = parts(settings, home, rounds)
        return found._replace(seconds=found.seconds | loading, parts=spent)


def show(commands: int, found: Timings, *, embed: bool) -> None:
    """Print the tables."""
    print(
        f"{commands:,} commands, vectors {'real' if embed else 'made up'}; milliseconds over stdio"
    )
    print(f"{'':<34}{'p50':>8}{'p95':>8}{'above the echo':>16}   limit {LIMIT:g}")
    bare = statistics.median(found.milliseconds["bare SDK, echo"])
    for name, values in found.milliseconds.items():
        median = statistics.median(values)
        late = sorted(values)[int(0.95 * (len(values) - 1))]
        print(f"{name:<34}{median:>8.1f}{late:>8.1f}{median - bare:>16.1f}")
    tables: dict[str, Mapping[str, float]] = {
        "seconds": found.seconds,
        "milliseconds in one process, medians": found.parts,
        "MB": found.megabytes,
    }
    for title, table in tables.items():
        print(f"\n{title}")
        for name, value in table.items():
            print(f"{name:<34}{value:>8.2f}")


def main() -> None:
    """Measure, print the tables, write the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--commands", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--embed", action="store_true", help="let the server embed all commands")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    found = measure(args.commands, args.rounds, embed=args.embed)
    show(args.commands, found, embed=args.embed)
    if args.json:
        report = {"commands": args.commands, **found._asdict()}
        args.json.write_text(json.dumps(report, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
