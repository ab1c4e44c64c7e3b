"""Searches find new and edited agreements even while another process is indexing."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from code_intel.index.lease import IndexerLease
from projects import BIN, Project
from served import settings_of
from shop_sessions import LOGIN, LOGIN_FILE, learn

BUSY = Path(__file__).with_name("busy_indexer.py")
TESTS = BUSY.parents[1]
TERM = "ログイン機能"
OTHER = "サインインの窓口"


@pytest.fixture
def shop(words: Project) -> Project:
    """The shop with its words indexed, and a model."""
    env = {name: value for name, value in words.env.items() if name != "CODE_INTEL_EMBEDDING"}
    return Project(words.root, env)


@contextmanager
def busy(project: Project, work: str) -> Iterator[None]:
    """Run the process that indexes, and let it end afterwards."""
    path = os.pathsep.join([str(TESTS), str(TESTS.parent)])
    process = subprocess.Popen(
        [sys.executable, str(BUSY), str(project.root), work],
        env={**project.env, "PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "at work\n"
        yield
        assert process.poll() is None, "it was not at work all the time"
        for config in (settings_of(project.root).map, settings_of(project.root).forest):
            assert IndexerLease(config.db_path).holder() == process.pid
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def searched(project: Project, *command: str) -> list[tuple[str, float]]:
    """Run a search command; return term and score of its agreements."""
    done = project.spawn(*command, check=False)
    said = json.loads(done.stdout)
    return found(said.get("data", said))


def found(answer: dict[str, Any]) -> list[tuple[str, float]]:
    agreed = (hit for hit in answer["results"] if hit.get("agreement"))
    return [(hit["agreement"]["nl_term"], hit["score"]) for hit in agreed]


def search_in_new_processes(project: Project, query: str) -> list[list[tuple[str, float]]]:
    """Search in two new processes, one of each program."""
    return [
        searched(project, "code-intel", "search", "--map", query, "--json"),
        searched(project, "devrag", "--config", "devrag-map.json", "search", query),
    ]


@contextmanager
def terminal(project: Project) -> Iterator[Callable[[str], list[tuple[str, float]]]]:
    """Run `code-intel search --map -`; yield a function that searches."""
    process = subprocess.Popen(
        [str(BIN / "code-intel"), "search", "--map", "-"],
        cwd=project.root,
        env=dict(project.env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    answers, questions = process.stdout, process.stdin

    def ask(words: str) -> list[tuple[str, float]]:
        questions.write(f"{words}\n")
        questions.flush()
        return found(json.loads(answers.readline()))

    try:
        yield ask
    finally:
        questions.close()
        process.wait(60)
        answers.close()


@pytest.mark.parametrize(
    ("work", "sync", "reason"),
    [
        pytest.param("embedding", "done", "", marks=pytest.mark.long),
        ("writing", "deferred", "is being written by another process"),
    ],
)
async def test_learned_agreements_are_found_while_another_process_indexes(
    shop: Project, work: str, sync: str, reason: str
) -> None:
    with busy(shop, work):
        async with shop.connect("code-intel", "serve") as call:
            outcome = await learn(call, shop.root, TERM, LOGIN, LOGIN_FILE)
            assert outcome["map_sync"] == sync
            assert reason in outcome["map_sync_reason"]
            assert bool(reason) == bool(outcome["map_sync_reason"])
            here = found(await call("search_map", query=TERM))
        assert here[0] == (TERM, 1.0)
        for answers in search_in_new_processes(shop, TERM):
            assert answers[0] == (TERM, 1.0)


async def test_every_entry_point_finds_hand_edits_and_deletions_at_once(
    shop: Project,
) -> None:
    with (
        busy(shop, "embedding"),
        terminal(shop) as search,
    ):
        folder = shop.root / ".code-intel" / "agreements"
        async with (
            shop.connect("code-intel", "serve") as gateway,
            shop.connect("devrag", "--config", "devrag-map.json") as server,
        ):

            async def ask(words: str) -> list[list[tuple[str, float]]]:
                return [
                    found(await gateway("search_map", query=words)),
                    found(await server("search", query=words)),
                    search(words),
                ]

            await learn(gateway, shop.root, TERM, LOGIN, LOGIN_FILE)
            assert [answers[0] for answers in await ask(TERM)] == [(TERM, 1.0)] * 3
            (file,) = folder.glob("*.md")
            before = file.stat()
            text = file.read_text("utf-8")
            file.write_text(text.replace(TERM, "ログオン機能"), encoding="utf-8")  # the same size
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
            assert [answers[0] for answers in await ask("ログオン機能")] == [
                ("ログオン機能", 1.0)
            ] * 3
            added = text.replace(TERM, OTHER)
            (folder / "added.md").write_text(added, encoding="utf-8")
            assert [answers[0] for answers in await ask(OTHER)] == [(OTHER, 1.0)] * 3
            (folder / "added.md").unlink()
            assert [OTHER in dict(answers) for answers in await ask(OTHER)] == [False] * 3
            file.unlink()
            assert await ask(TERM) == [[]] * 3
