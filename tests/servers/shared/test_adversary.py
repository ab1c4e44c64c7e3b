"""A person who may read one repository tries to learn of another."""

import hashlib
import json
import statistics
import time
from collections.abc import Iterator
from typing import Any

import pytest

from code_intel.chunking import parse_file
from code_intel.errors import ConflictError, NotFoundError
from code_intel.shared.deadlines import TIMEOUT_HEADER
from code_intel.shared.layers import generation_id
from code_intel.shared.milvus import SharedIndex
from code_intel.shared.routes import VERSION
from code_intel.shared.wire import inflated, pack
from pushes import Push, card_digest, pushed
from servers.http_processes import ACCEPT, Reply
from servers.shared.instances import Instance, instance

pytestmark = pytest.mark.milvus

HIDDEN, MISSING = "secret/vault", "secret/other"
"""A repository that exists and may not be read, and one that does not exist."""
TELLING = ("vault", "unseal", "quorum", "keys/", "c" * 40)
"""What an answer must not contain."""


@pytest.fixture(scope="module")
def running(
    shared_index: SharedIndex, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Instance]:
    limits = {"requests_per_minute": 100_000, "burst": 100_000}
    folder = tmp_path_factory.mktemp("adversary") / "one"
    with instance(folder, shared_index, limits=limits) as started:
        yield started


@pytest.fixture(scope="module")
def token(running: Instance) -> str:
    return running.token("read:team/*", "push:mine/**")


def call(running: Instance, token: str, tool: str, **arguments: Any) -> Reply:
    """Call a tool, by the older protocol without a session."""
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }
    headers = {**ACCEPT, "MCP-Protocol-Version": "2025-06-18"}
    return running.ask("POST", "/mcp", json.dumps(message).encode(), token, headers)


def told(reply: Reply, name: str) -> str:
    """Return all that an answer says, with the asked name left out."""
    return reply.body.decode().replace(name, "NAME")


@pytest.mark.covers("rule.shared.hidden")
@pytest.mark.parametrize("suffix", ["", "@main", "@nothing"])
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search_forest", {"query": "unseal quorum"}),
        ("find_definitions", {"symbol": "unseal_quorum"}),
    ],
)
def test_a_hidden_repository_answers_as_one_that_does_not_exist(
    running: Instance, token: str, tool: str, arguments: dict[str, Any], suffix: str
) -> None:
    replies = [
        call(running, token, tool, **arguments, repositories=[f"{name}{suffix}", "team/shop"])
        for name in (HIDDEN, MISSING)
    ]
    hidden, missing = replies
    assert hidden.status == missing.status == 200
    assert "not_found" in told(hidden, HIDDEN)
    assert told(hidden, HIDDEN) == told(missing, MISSING)
    without = ({"date", "x-request-id", "content-length"}, hidden.headers, missing.headers)
    assert {k: v for k, v in without[1].items() if k not in without[0]} == {
        k: v for k, v in without[2].items() if k not in without[0]
    }


@pytest.mark.covers("rule.shared.apart")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search_forest", {"query": "unseal_quorum shares login", "top_k": 50}),
        ("search_forest", {"query": "keys", "file_pattern": "**/keys/*"}),
        ("find_definitions", {"symbol": "unseal_quorum"}),
        ("find_definitions", {"symbol": "e", "exact_match": False}),
        ("find_definitions", {"symbol": "login"}),
        ("list_repositories", {}),
    ],
)
def test_answers_over_all_repositories_have_nothing_of_a_hidden_one(
    running: Instance, token: str, tool: str, arguments: dict[str, Any]
) -> None:
    reply = call(running, token, tool, **arguments)
    assert reply.status == 200
    answer = json.loads(reply.body)["result"]["structuredContent"]
    asked = json.dumps(arguments)
    shown = json.dumps(
        {key: value for key, value in answer.items() if key not in {"query", "symbol"}}
    )
    assert [word for word in TELLING if word in shown and word not in asked] == []
    rows = answer.get("results", answer.get("definitions", answer.get("repositories")))
    assert {row["repository"] for row in rows} <= {"team/shop", "team/web"}


def test_numbers_and_scores_do_not_depend_on_hidden_repositories(
    running: Instance, token: str, shared_index: SharedIndex
) -> None:
    """How rare a word is elsewhere must not change a score here."""

    def answers() -> list[dict[str, Any]]:
        return [
            json.loads(call(running, token, tool, **arguments).body)["result"]["structuredContent"]
            for tool, arguments in (
                ("search_forest", {"query": "login password cart", "top_k": 50}),
                ("find_definitions", {"symbol": "login"}),
                ("list_repositories", {}),
            )
        ]

    before = answers()
    texts = {f"a{number}.py": f"def login(cart{number}): pass\n" for number in range(80)}
    pushed(shared_index, "secret/many", texts, commit="9" * 40)
    assert answers() == before


def test_a_token_without_a_readable_repository_learns_that_there_is_none(
    running: Instance,
) -> None:
    stranger = running.token("read:nothing/*")
    listed = call(running, stranger, "list_repositories")
    answer = json.loads(listed.body)["result"]["structuredContent"]
    assert (answer["repositories"], answer["total"]) == ([], 0)
    found = call(running, stranger, "search_forest", query="login")
    assert json.loads(found.body)["result"]["structuredContent"]["error"] == "not_found"


def test_times_of_hidden_and_missing_repositories_are_alike(running: Instance, token: str) -> None:
    """A difference that a few hundred requests would show, such as a search more."""

    def seconds(name: str) -> float:
        began = time.perf_counter()
        call(running, token, "search_forest", query="unseal quorum", repositories=[name])
        return time.perf_counter() - began

    seconds(HIDDEN)
    pairs = [(seconds(HIDDEN), seconds(MISSING)) for _ in range(40)]
    hidden, missing = (statistics.median(column) for column in zip(*pairs, strict=True))
    assert abs(hidden - missing) < 0.5 * max(hidden, missing)


def test_the_layers_of_a_hidden_repository_cannot_be_used_by_another(
    shared_index: SharedIndex,
) -> None:
    """A generation of one's own that names the layers of a hidden one is incomplete."""
    head = shared_index.head(HIDDEN, "main")
    assert head is not None
    hidden = shared_index.generation(head.generation)
    assert hidden is not None
    own = Push(shared_index, "mine/copy", {"a.py": "x = 1\n"}).generation
    stolen = own._replace(
        id=generation_id(own.repository, own.settings, hidden.tree),
        layers=hidden.layers,
        tree=hidden.tree,
    )
    with pytest.raises(ConflictError):
        shared_index.finish(stolen, "main")
    assert shared_index.head("mine/copy", "main") is None
    forged = hidden._replace(repository="team/shop")
    store = shared_index.store([forged])
    assert store.definitions("unseal_quorum", exact=True, limit=10) == []
    with pytest.raises(NotFoundError):
        store.digests()


def answer_of(running: Instance, token: str, path: str, question: Any = None) -> tuple[int, str]:
    """Return the status and the text of an answer of the API."""
    body = b"" if question is None else pack(question)
    reply = running.ask("GET" if question is None else "POST", f"{VERSION}{path}", body, token)
    return reply.status, inflated(reply.body).decode()


@pytest.mark.parametrize(
    ("path", "question"),
    [
        ("/generation", {"repository": "NAME", "branches": ["main"]}),
        ("/generation", {"repository": "NAME", "commits": ["c" * 40]}),
        ("/vectors", {"repository": "NAME", "cards": ["d" * 32]}),
        ("/push/begin", {"repository": "NAME", "commits": ["c" * 40], "branches": ["main"],
                         "settings": "e" * 32, "generation": "f" * 32}),
        ("/push/missing", {"repository": "NAME", "layer": "e" * 32, "files": []}),
        ("/push/cards", {"repository": "NAME", "cards": ["d" * 32]}),
        ("/push/files", {"repository": "NAME", "layer": "e" * 32, "files": [], "vectors": {}}),
    ],
)  # fmt: skip
def test_the_api_answers_for_a_hidden_repository_as_for_one_that_does_not_exist(
    running: Instance, token: str, path: str, question: dict[str, Any]
) -> None:
    answers = []
    for name in (HIDDEN, MISSING):
        status, text = answer_of(running, token, path, {**question, "repository": name})
        answers.append((status, text.replace(name, "NAME")))
    assert answers[0] == answers[1]
    assert answers[0][0] == 404, answers


def test_the_generation_of_a_hidden_repository_cannot_be_asked(
    running: Instance, token: str, shared_index: SharedIndex
) -> None:
    hidden, own = shared_index.head(HIDDEN, "main"), shared_index.head("team/shop", "main")
    assert hidden is not None
    assert own is not None
    calls = [["definitions", ["unseal_quorum", True, 10]]]
    for generations in ([hidden.generation], [own.generation, hidden.generation]):
        unknown = [each.replace(hidden.generation, "e" * 32) for each in generations]
        answers = [
            answer_of(running, token, "/store", {"generations": some, "calls": calls})
            for some in (generations, unknown)
        ]
        assert answers[0] == answers[1]
        assert answers[0][0] == 404


def test_chunks_of_a_hidden_repository_cannot_be_read_by_their_ids(
    shared_index: SharedIndex,
) -> None:
    hidden, own = shared_index.head(HIDDEN, "main"), shared_index.head("team/shop", "main")
    assert hidden is not None
    assert own is not None
    theirs = shared_index.generation(hidden.generation)
    ours = shared_index.generation(own.generation)
    assert theirs is not None
    assert ours is not None
    ids = shared_index.store([theirs]).definition_chunks("unseal_quorum")
    assert ids
    assert shared_index.store([theirs]).chunk_texts(ids)
    store = shared_index.store([ours])
    assert (store.chunk_texts(ids), store.chunk_rows(ids), store.chunk_places(ids)) == ({}, {}, [])


def test_the_api_lists_readable_repositories_only(running: Instance, token: str) -> None:
    status, text = answer_of(running, token, "/repositories")
    assert status == 200
    assert "team/shop" in text
    assert [word for word in TELLING if word in text] == []


def test_only_administrators_of_a_repository_remove_it(
    running: Instance, token: str, shared_index: SharedIndex
) -> None:
    def remove(name: str, token: str) -> int:
        return running.ask("DELETE", f"{VERSION}/repositories/{name}", token=token).status

    pushed(shared_index, "removed/one", {"a.py": "x = 1\n"})
    assert remove(HIDDEN, token) == remove(MISSING, token) == 404
    assert remove("team/shop", token) == 403
    assert remove("removed/one", running.token("push:removed/*")) == 403
    administrator = running.token("admin:removed/*")
    for end in ("%0a", "%0d%0a", "%20", "/", "/.."):
        assert remove(f"removed/one{end}", administrator) == 404
    assert shared_index.head("removed/one", "main") is not None
    assert remove("removed/one", administrator) == 200
    assert shared_index.head("removed/one", "main") is None
    assert remove("removed/one", administrator) == 404
    assert shared_index.head("team/shop", "main") is not None


def test_vectors_by_card_come_only_from_the_named_repositories(shared_index: SharedIndex) -> None:
    text = "def card_of_the_vault(): pass\n"
    pushed(shared_index, "secret/cards", {"a.py": text}, commit="8" * 40)
    card = card_digest(parse_file("a.py", text).chunks[0].card)
    assert shared_index.vectors([card], ["secret/cards"]).keys() == {card}
    assert shared_index.vectors([card], ["team/shop", "team/web"]) == {}
    assert shared_index.vectors([card], []) == {}


def test_names_with_the_language_of_the_engine_are_only_names(
    running: Instance, token: str
) -> None:
    for name in (
        'x" or repository != "',
        "x' or 1 == 1 or '",
        "team/shop\\",
        '"] or repository in ["secret/vault',
        "team/*",
        "**",
        "%",
    ):
        for tool, arguments in (
            ("search_forest", {"query": "unseal", "repositories": [name]}),
            ("find_definitions", {"symbol": name, "exact_match": False}),
            ("search_forest", {"query": name, "directory": name, "file_pattern": name}),
        ):
            reply = call(running, token, tool, **arguments)
            assert reply.status == 200, (name, tool)
            answer = json.loads(reply.body)["result"]["structuredContent"]
            assert answer.get("error") != "unexpected", (name, tool)
            rows = answer.get("results", answer.get("definitions", []))
            assert {row["repository"] for row in rows} <= {"team/shop", "team/web"}


def test_the_metrics_name_no_repository(running: Instance, token: str) -> None:
    call(running, token, "search_forest", query="x", repositories=[HIDDEN])
    text = running.ask("GET", "/metrics", token=running.token("admin:ops")).body.decode()
    assert "team/" not in text
    assert "secret" not in text


def test_the_audit_log_has_the_digest_of_a_question_over_http(
    running: Instance, token: str, shared_index: SharedIndex
) -> None:
    head = shared_index.head("team/shop", "main")
    assert head is not None
    calls = [["word_hits", [["login", "password"], "body", 3]], ["word_counts", ["login"]]]
    before = len(running.log())
    reply = running.ask("POST", f"{VERSION}/store", pack([[head.generation], calls]), token)
    assert reply.status == 200
    line = running.lines(before + 1)[-1]
    assert line["tool"] == "word_counts,word_hits"
    digest = hashlib.sha256(b"login password").hexdigest()[:16]
    assert line["question"] == {"sha256": digest, "chars": 14}
    assert line["repositories"] == ["team/shop"]


def test_the_engine_is_not_asked_for_a_client_that_waits_no_longer(
    running: Instance, token: str
) -> None:
    question = pack(["team/shop", [], ["main"]])
    path = f"{VERSION}/generation"
    late = running.ask("POST", path, question, token, {TIMEOUT_HEADER: "0"})
    assert late.status == 503
    assert running.ask("POST", path, question, token, {TIMEOUT_HEADER: "60000"}).status == 200
    assert running.ask("POST", path, question, token, {TIMEOUT_HEADER: "soon"}).status == 200
