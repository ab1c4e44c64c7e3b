"""A fresh clone answers at once: the shared index, with the files of this machine over it."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from code_intel.forest.dependencies.build import graph_of
from code_intel.index.store import Store
from code_intel.shared import client
from code_intel.shared.connection import close_connections, connection_of
from code_intel.shared.kept_answers import KEPT_GENERATIONS
from code_intel.shared.overlay import Overlay
from code_intel.shared.remote_store import RemoteStore
from code_intel.tools.context.corpus_service import open_project
from programs import git
from team_servers import Team, commit, run, settings_of, write

pytestmark = [pytest.mark.milvus, pytest.mark.model]

FILES = {
    "src/auth.py": '"""Log people in."""\n\n\ndef login(name):\n    """Check a password."""\n',
    "src/cart.py": '"""Keep a cart."""\n\n\nclass Cart:\n    """Things that a person buys."""\n',
    "src/mail.py": '"""Send letters."""\n\n\ndef send_letter(to):\n    """Post a letter."""\n',
    "docs/guide.md": "# Guide\n\nHow a customer pays with a voucher.\n",
}
BASKET = "a person who puts goods into a shopping basket"
TOKEN = "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"  # noqa: S105 - not a real one
Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Ask:
    def asked(root: Path, *words: str) -> dict[str, Any]:
        """Ask as a process of its own would."""
        close_connections()
        query = ("search", "--forest", "--project", str(root), " ".join(words))
        return run(capsys, *query, code=None)

    return asked


@pytest.fixture
def pushed(team: Team, name: str, capsys: pytest.CaptureFixture[str]) -> Path:
    """Return the repository, whose index was pushed with vectors."""
    team.use("push:shop/*", name="farm", embedding="faithful")
    root = team.repository(name, FILES)
    run(capsys, "push", "--project", str(root))
    return root


def developer(team: Team, capsys: pytest.CaptureFixture[str], root: Path, *grants: str) -> Path:
    """Return the fresh clone of a developer who uses the shared index."""
    team.use(*(grants or ("read:shop/*",)), embedding="faithful")
    clone = team.clone(root, "mine")
    run(capsys, "init", str(clone), "--shared", team.url)
    team.record.requests.clear()
    return clone


def documents(found: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys(row["document"] for row in found["results"]))


def test_a_fresh_clone_answers_with_vectors_and_embeds_nothing(
    team: Team, pushed: Path, ask: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = developer(team, capsys, pushed)
    found = ask(clone, BASKET)
    assert documents(found)[0] == "src/cart.py"
    assert found["results"][0]["similarity"] > 0
    assert found["results"][0]["symbol"] == "Cart"
    index = found["index"]
    assert (index["shared"], index["state"], index["degraded"]) == (
        git(pushed, "rev-parse", "HEAD").strip(),
        "fresh",
        [],
    )
    with Store.open(settings_of(clone).forest.db_path, readonly=True) as store:
        assert store.model() is None


def test_a_secret_in_a_question_stays_on_this_machine(
    team: Team, pushed: Path, ask: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = developer(team, capsys, pushed)
    team.record.requests.clear()
    ask(clone, f"why does the cart refuse {TOKEN}")
    sent = team.record.everything().lower()
    assert b"cart" in sent
    assert TOKEN.lower().encode() not in sent


def test_a_file_that_differs_is_answered_from_this_machine(
    team: Team, pushed: Path, ask: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = developer(team, capsys, pushed)
    write(
        clone, {"src/auth.py": "def unlock(door):\n    return door\n", "src/new.py": "zebra = 1\n"}
    )
    (clone / "src" / "mail.py").unlink()
    assert documents(ask(clone, "unlock door"))[0] == "src/auth.py"
    assert documents(ask(clone, "zebra"))[0] == "src/new.py"
    assert "src/mail.py" not in documents(ask(clone, "send_letter"))
    shown = [row["chunk"] for row in ask(clone, "login password")["results"]]
    assert not any("def login" in text for text in shown)
    write(clone, {"src/auth.py": FILES["src/auth.py"]})
    assert documents(ask(clone, "login"))[0] == "src/auth.py"


def test_a_commit_on_top_uses_the_index_of_its_ancestor(
    team: Team, pushed: Path, ask: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = developer(team, capsys, pushed)
    base = git(clone, "rev-parse", "HEAD").strip()
    git(clone, "checkout", "-qb", "feature")
    commit(clone, {"src/feature.py": "def giraffe():\n    return 1\n"})
    found = ask(clone, "giraffe")
    assert (documents(found)[0], found["index"]["shared"]) == ("src/feature.py", base)
    assert documents(ask(clone, "send_letter"))[0] == "src/mail.py"


def test_the_nearest_commit_that_was_pushed_is_used(
    team: Team, pushed: Path, ask: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    first = git(pushed, "rev-parse", "HEAD").strip()
    second = commit(pushed, {"src/cart.py": FILES["src/cart.py"] + "\n\nbasket = 1\n"})
    run(capsys, "push", "--project", str(pushed))
    clone = developer(team, capsys, pushed)
    assert ask(clone, "Cart")["index"]["shared"] == second
    git(clone, "checkout", "-q", "--detach", first)
    assert ask(clone, "Cart")["index"]["shared"] == first
    # After a rebase onto a history that the server does not know, the trunk is the base.
    git(clone, "checkout", "-q", "--orphan", "other")
    git(clone, "commit", "-qm", "The same files with another history")
    assert ask(clone, "Cart")["index"]["shared"] == second


def test_a_sync_takes_the_vectors_and_then_answers_alone(
    team: Team, pushed: Path, ask: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = developer(team, capsys, pushed)
    run(capsys, "sync", str(clone))
    assert any(path.endswith("/vectors") for path, _ in team.record.requests)
    team.record.requests.clear()
    found = ask(clone, BASKET)
    assert documents(found)[0] == "src/cart.py"
    assert "shared" not in found["index"]
    assert team.record.requests == []


def test_without_the_server_the_local_words_answer_and_say_so(
    team: Team, pushed: Path, ask: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = developer(team, capsys, pushed)
    run(capsys, "sync", str(clone), "--words-only")
    assert ask(clone, "send_letter")["index"]["shared"]
    team.patch.setenv("CODE_INTEL_SHARED_URL", "http://127.0.0.1:9")
    found = ask(clone, "send_letter")
    assert documents(found)[0] == "src/mail.py"
    assert "shared" not in found["index"]
    assert any(
        note.startswith("shared: the server cannot be reached")
        for note in found["index"]["degraded"]
    )
    team.patch.setenv("CODE_INTEL_SHARED_URL", team.url)
    assert ask(clone, "send_letter")["index"]["shared"]


def test_a_repository_that_the_token_may_not_read_is_like_one_that_does_not_exist(
    team: Team, pushed: Path, ask: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = developer(team, capsys, pushed, "read:other/*")
    run(capsys, "sync", str(clone), "--words-only")
    notes = ask(clone, "send_letter")["index"]["degraded"]
    settings = settings_of(clone)
    missing = replace(settings.shared, repository="other/not-there")
    connection = connection_of(replace(settings, shared=missing))
    assert connection is not None
    with pytest.raises(client.SharedIndexError) as unknown:
        connection.generation([], 5)
    assert any(unknown.value.reason in note for note in notes)


def test_a_project_that_the_user_has_not_approved_sends_nothing(
    team: Team, pushed: Path, ask: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = developer(team, capsys, pushed)
    git(clone, "add", ".code-intel/config.toml")
    git(clone, "commit", "-qm", "Use the shared index")
    other = team.clone(clone, "other")
    team.patch.delenv("CODE_INTEL_SHARED_URL")
    run(capsys, "init", str(other))
    run(capsys, "sync", str(other), "--words-only")
    team.record.requests.clear()
    notes = ask(other, "send_letter")["index"]["degraded"]
    assert any("code-intel init --shared" in note for note in notes)
    assert team.record.requests == []
    run(capsys, "init", str(other), "--shared", team.url)
    assert ask(other, "send_letter")["index"]["shared"]


def test_a_gateway_asks_the_server_until_its_own_index_is_complete(
    team: Team, pushed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = developer(team, capsys, pushed)
    services = open_project(settings_of(clone))
    try:
        forest = services[1]
        assert forest.search(BASKET, 3).index.shared
        team.record.before = fail
        down = forest.search("send_letter", 3).index
        assert (down.shared, any("shared: " in note for note in down.degraded)) == ("", True)
        # Nothing is sent while the server is left alone; afterwards, it is asked again.
        team.record.before = lambda path: None  # noqa: ARG005
        count = len(team.record.requests)
        assert not forest.search("send_letter", 3).index.shared
        assert len(team.record.requests) == count
        connection = connection_of(forest.settings)
        assert connection is not None
        connection.client.breaker.clock = lambda: connection.client.breaker.opens_at + 1
        assert forest.search("send_letter", 3).index.shared
        forest.index.complete()
        found = forest.search(BASKET, 3)
        assert (found.index.shared, found.hits[0].document) == ("", "src/cart.py")
    finally:
        for service in services:
            service.index.close()


def test_a_process_that_stays_ranks_by_imports_of_both_indexes(
    team: Team, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    team.use("push:shop/*", name="farm")
    root = team.repository(name, {**FILES, "src/shop.py": "from src.cart import Cart\n"})
    run(capsys, "push", "--words-only", "--project", str(root))
    clone = developer(team, capsys, root)
    write(clone, {"src/new.py": "from src.cart import Cart\n\ncart = Cart()\n"})
    connection = connection_of(settings_of(clone))
    assert connection is not None
    overlay = Overlay(connection, settings_of(clone).forest)
    overlay.wants_graph = True
    with overlay.question(lambda _model: False) as state:
        overlay.index_now(state.differing)
    overlay.join()
    with overlay.question(lambda _model: False):
        pass
    overlay.join()
    with overlay.question(lambda _model: False) as state:
        assert state.has_graph
        importers = graph_of(state.union).inbound("src/cart.py")
    overlay.close()
    assert set(importers) == {"src/shop.py", "src/new.py"}


def test_a_server_is_asked_once_about_a_repository_that_the_token_may_not_read_any_more(
    team: Team, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    team.use("push:shop/*", name="farm")
    root = team.repository(name, FILES)
    run(capsys, "push", "--words-only", "--project", str(root))
    clone = developer(team, capsys, root)
    services = open_project(settings_of(clone), readonly=True)
    try:
        forest = services[1]
        assert forest.search("send_letter", 3).index.shared
        team.use("read:other/*")
        connection = connection_of(forest.settings)
        assert connection is not None
        token = settings_of(clone).shared.token
        connection.client.config = replace(connection.client.config, token=token)
        # A question of other words, because answers are kept.
        refused = forest.search("shopping cart", 3).index
        assert (refused.shared, any("no such repository" in n for n in refused.degraded)) == (
            "",
            True,
        )
        team.record.requests.clear()
        assert not forest.search("voucher", 3).index.shared
        assert team.record.requests == []
        assert connection.heads(5) == ()  # other questions to the server are still asked
    finally:
        for service in services:
            service.index.close()


def test_projects_of_one_server_keep_their_answers_apart(
    team: Team, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    team.use("push:shop/*", name="farm")
    clones = []
    for number in range(KEPT_GENERATIONS + 1):
        root = team.repository(f"{name}-{number}", FILES)
        run(capsys, "push", "--words-only", "--project", str(root))
        clones.append(team.clone(root, f"clone{number}"))
    team.use("read:shop/*")
    for clone in clones:
        run(capsys, "init", str(clone), "--shared", team.url)
        close_connections()
        run(capsys, "search", "--forest", "--project", str(clone), "send_letter", code=None)
        close_connections()
    folders = {file.parent for file in (team.folder / "developer").rglob("digests-*.json.gz")}
    assert len(folders) == len(clones)


def test_a_list_that_is_too_large_for_an_answer_is_asked_for_once(
    team: Team, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    team.use("push:shop/*", name="farm")
    root = team.repository(name, FILES)
    run(capsys, "push", "--words-only", "--project", str(root))
    clone = developer(team, capsys, root)
    connection = connection_of(settings_of(clone))
    assert connection is not None
    (head,) = [head for head in connection.heads(5) if head.repository == name]
    store = RemoteStore(connection.client, [head.generation])
    monkeypatch.setattr(client, "MAX_BODY_BYTES", 150)
    for _ in range(2):
        with pytest.raises(client.SharedIndexError, match="too large"):
            store.digests()
    assert [path for path, _ in team.record.requests].count("/v1/store") == 1


def fail(path: str) -> None:
    """Let the server break."""
    raise ConnectionError(path)
