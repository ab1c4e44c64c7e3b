"""Map and forest answer alike in this process and through a connection to another server."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from code_intel.errors import StorageError, UpstreamError
from code_intel.records import Hit, SearchAnswer
from code_intel.tools.context.corpus_service import CorpusService, open_project
from code_intel.tools.context.searchers import LocalCorpus, ProjectSearcher
from projects import BIN
from served import AGREEMENTS, settings_of
from upstreams import point, supervised

pytestmark = pytest.mark.anyio

QUESTIONS = ("login", "AuthService.login", "shipping fee", "ログイン機能", "zzzqqq")
AGREEMENT = """---
nl_term: ログイン機能
symbol: AuthService.login
---

## Evidence

- It checks the password.
"""


def served(corpus: str) -> dict[str, object]:
    """Return the table of a stand-alone server of this project."""
    args = ["--config", f"devrag-{corpus}.json"]
    env = {"CODE_INTEL_EMBEDDING": "off"}
    return {
        "command": str(BIN / "devrag"),
        "args": args,
        "env": env,
        "start_seconds": 60,
        "call_seconds": 90,
    }


def comparable(answer: SearchAnswer) -> list[Hit]:
    """Return the hits without the parts that a message rounds, cuts or omits."""
    hits = [
        replace(hit, chunk="", score=hit.score and round(hit.score, 4), similarity=0, others=())
        for hit in answer.hits
    ]
    return [
        replace(hit, symbol="", start_line=0, end_line=0) if hit.agreement else hit for hit in hits
    ]


async def ask_all(searcher: ProjectSearcher) -> list[list[Hit]]:
    found = [comparable(await searcher.search_map(query, 5)) for query in QUESTIONS]
    found += [comparable(await searcher.search_forest(query, 5)) for query in QUESTIONS]
    below = await searcher.search_forest("login", 5, "src", "*.py")
    nowhere = await searcher.search_forest("login", 5, "no/such/folder")
    return [*found, comparable(below), comparable(nowhere)]


async def test_local_and_remote_searches_answer_alike(shop: Path) -> None:
    file = shop / AGREEMENTS / "login.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(AGREEMENT, encoding="utf-8")
    async with supervised(shop) as searcher:
        local = await ask_all(searcher)
        states = [(state.name, state.where, state.state) for state in searcher.states()]
    point(shop, map=served("map"), forest=served("forest"))
    async with supervised(shop) as searcher:
        remote = await ask_all(searcher)
        assert [state.state for state in searcher.states()] == ["ready", "ready"]
    assert states == [
        ("devrag-map", "in process", "ready"),
        ("devrag-forest", "in process", "ready"),
    ]
    for here, there in zip(local, remote, strict=True):
        assert here == there
    known, *_ = local[QUESTIONS.index("ログイン機能")]
    assert known.agreement is not None
    assert known.agreement.symbol == "AuthService.login"
    assert local[len(QUESTIONS)], "the forest found nothing"
    assert local[-1] == []


def failing(error: Exception) -> Callable[..., SearchAnswer]:
    def search(*_: object) -> SearchAnswer:
        raise error

    return search


def slow(*_: object) -> SearchAnswer:
    time.sleep(0.5)
    return SearchAnswer(())


@pytest.mark.parametrize(
    ("search", "message"),
    [
        (failing(StorageError("The disk is full.", hint="Free some space.")), "The disk is full"),
        (failing(ZeroDivisionError()), "the search failed: ZeroDivisionError"),
        (slow, "it did not answer within 0.05 s"),
    ],
)
async def test_failed_local_search_has_a_reason_and_the_next_one_works(
    shop: Path, monkeypatch: pytest.MonkeyPatch, search: Callable[..., SearchAnswer], message: str
) -> None:
    _, service = open_project(settings_of(shop))
    corpus = LocalCorpus(service, timeout_s=0.05)
    with monkeypatch.context() as patch:
        patch.setattr(CorpusService, "search", search)
        with pytest.raises(UpstreamError) as caught:
            await corpus.search("login", 5)
    assert caught.value.message == f"devrag-forest: {message}."
    assert caught.value.hint
    status = corpus.status
    assert (status.state, status.error) == ("ready", f"{message}")
    assert (await LocalCorpus(service).search("login", 5)).hits
    service.index.close()
