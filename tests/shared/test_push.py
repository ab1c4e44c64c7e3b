"""`code-intel push` sends what changed, once, and nothing that should stay on the machine."""

import hashlib
import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from code_intel.config import SharedConfig
from code_intel.index.store import Store
from code_intel.shared import client, pushing, routes
from code_intel.shared.layers import plan_layers
from code_intel.shared.milvus import SharedIndex
from code_intel.shared.pushing import Pusher
from code_intel.shared.records import Generation, SharedChunk, SharedFile
from code_intel.shared.routes import SendFiles
from code_intel.shared.wire import pack, vector_text
from programs import git
from pushes import MODEL, card_digest, vector_of
from team_servers import Team, commit, run, start, write

pytestmark = pytest.mark.milvus

SECRET = "Tr0ub4dor&3-of-the-payment-gateway"  # noqa: S105 - not a real one
FILES = {
    "src/auth.py": "def login(name):\n    return name\n",
    "src/cart.py": "import os\n\n\nclass Cart:\n    def total(self):\n        return 0\n",
    "src/pay.py": f'password = "{SECRET}"\n\n\ndef pay(token="{SECRET}"):\n    return token\n',
    ".gitignore": "*.local\n",
}
Run = Callable[..., dict[str, Any]]


@pytest.fixture
def push(capsys: pytest.CaptureFixture[str]) -> Run:
    def pushed(root: Path, *options: str, code: int | None = 0) -> dict[str, Any]:
        return run(capsys, "push", "--words-only", "--project", str(root), *options, code=code)

    return pushed


@pytest.fixture
def shop(team: Team, name: str) -> Path:
    team.use("push:shop/*")
    return team.repository(name, FILES)


def files_of(index: SharedIndex, name: str, branch: str = "main") -> set[str]:
    head = index.head(name, branch)
    assert head is not None
    generation = index.generation(head.generation)
    assert generation is not None
    return {path for path, *_ in index.store([generation]).digests()}


def test_the_first_push_sends_all_and_the_second_nothing(
    team: Team, shop: Path, name: str, push: Run, shared_index: SharedIndex
) -> None:
    first = push(shop)
    assert (first["repository"], first["branch"], first["sent"]) == (name, "main", 4)
    assert files_of(shared_index, name) == set(FILES)
    team.record.requests.clear()
    second = push(shop)
    assert (second["sent"], second["generation"]) == (0, first["generation"])
    assert team.record.pushed_files() == []


def test_a_push_sends_the_files_that_changed(
    team: Team, shop: Path, name: str, push: Run, shared_index: SharedIndex
) -> None:
    push(shop)
    team.record.requests.clear()
    (shop / "src" / "cart.py").unlink()
    commit(shop, {"src/auth.py": "def logout():\n    return 1\n", "src/new.py": "x = 1\n"})
    found = push(shop)
    assert team.record.pushed_files() == ["src/auth.py", "src/new.py"]
    assert (found["changed"], found["deleted"]) == (2, 1)
    assert files_of(shared_index, name) == (set(FILES) | {"src/new.py"}) - {"src/cart.py"}


def test_no_secret_leaves_the_machine(team: Team, shop: Path, push: Run) -> None:
    push(shop)
    sent = team.record.everything()
    assert b"password" in sent
    assert SECRET.encode() not in sent
    assert b"Tr0ub4dor" not in sent


def test_only_tracked_files_leave_the_machine(
    team: Team, shop: Path, name: str, push: Run, shared_index: SharedIndex
) -> None:
    write(shop, {"notes.local": "ignored words\n", "draft.py": "untracked_words = 1\n"})
    found = push(shop)
    sent = team.record.everything()
    assert b"ignored words" not in sent
    assert b"untracked_words" not in sent
    assert b"draft.py" not in sent
    assert found["left_out"] == {"not tracked by git, or marked to differ from it": 1}
    assert files_of(shared_index, name) == set(FILES)


@pytest.mark.parametrize("mark", ["--skip-worktree", "--assume-unchanged"])
def test_a_file_that_is_marked_to_differ_from_the_commit_stays_here(
    team: Team, shop: Path, name: str, push: Run, shared_index: SharedIndex, mark: str
) -> None:
    git(shop, "update-index", mark, "src/auth.py")
    write(shop, {"src/auth.py": "def login_of_this_machine():\n    return 1\n"})
    push(shop)
    assert b"login_of_this_machine" not in team.record.everything()
    assert files_of(shared_index, name) == set(FILES) - {"src/auth.py"}


@pytest.mark.parametrize("change", ["edit", "delete"])
def test_a_commit_whose_files_changed_on_the_disk_is_not_pushed(
    team: Team, shop: Path, push: Run, change: str
) -> None:
    if change == "edit":
        write(shop, {"src/auth.py": "edited = 1\n"})
    else:
        (shop / "src" / "auth.py").unlink()
    found = push(shop, code=1)
    assert "src/auth.py" in found["message"]
    assert "Commit or undo" in found["hint"]
    assert team.record.requests == []


def test_odd_names_do_not_stop_a_push(
    team: Team, name: str, push: Run, shared_index: SharedIndex
) -> None:
    team.use("push:shop/*")
    odd = {
        "docs/emoji.md": "# A family \U0001f468\u200d\U0001f469\u200d\U0001f467\n\nWords.\n",
        "docs/long.md": f"# {'long ' * 900}\n\nWords.\n",
        "src/esc.py": "def f():\n    return '\x1b[2J'\n",
        "src/bom.py": "\ufeffimport os\n",
        "src/empty.py": "",
        "a\u202eb.py": "hidden = 1\n",
    }
    found = push(team.repository(name, odd))
    assert files_of(shared_index, name) == set(odd) - {"a\u202eb.py"}
    assert found["left_out"] == {"has a name with control characters": 1}


def test_a_dry_run_says_what_would_be_sent_and_sends_no_file(
    team: Team, shop: Path, name: str, push: Run, shared_index: SharedIndex
) -> None:
    found = push(shop, "--dry-run")
    assert (found["sent"], found["dry_run"]) == (4, True)
    assert sorted(found["names"]) == sorted(FILES)
    assert team.record.pushed_files() == []
    assert shared_index.head(name, "main") is None
    assert {path for path, _ in team.record.requests} <= {
        "/v1/push/begin",
        "/v1/push/missing",
        "/v1/push/cards",
    }


def test_a_push_that_was_killed_goes_on_where_it_stopped(
    team: Team, name: str, push: Run, shared_index: SharedIndex
) -> None:
    files = {f"src/part{number:03}.py": f"value = {number}\n" for number in range(350)}
    team.use("push:shop/*")
    root = team.repository(name, files)
    sent: list[str] = []
    process: subprocess.Popen[str] = start("push", "--words-only", "--project", str(root))

    def kill_at_the_third(path: str) -> None:
        sent.append(path)
        if sent.count("/v1/push/files") == 3:
            os.kill(process.pid, signal.SIGKILL)

    team.record.before = kill_at_the_third
    process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL
    assert shared_index.head(name, "main") is None
    team.record.before = lambda path: None  # noqa: ARG005
    before = len(team.record.pushed_files())
    team.record.requests.clear()
    found = push(root)
    again = set(team.record.pushed_files())
    # What the server had written was not sent again. It may have written the third part, too.
    assert len(again) in {350 - before, 350 - before + 100}
    assert found["sent"] == len(again)
    assert files_of(shared_index, name) == set(files)


def test_a_server_that_fails_for_a_while_is_asked_again(
    team: Team, shop: Path, name: str, push: Run, shared_index: SharedIndex
) -> None:
    failures = iter(range(2))

    def fail_twice(path: str) -> None:
        if path.endswith("/push/files") and next(failures, None) is not None:
            raise ConnectionError("the balancer has no instance")

    team.record.before = fail_twice
    assert push(shop)["sent"] == 4
    assert files_of(shared_index, name) == set(FILES)


def test_files_that_are_too_large_for_one_request_are_sent_in_parts(
    team: Team,
    shop: Path,
    name: str,
    push: Run,
    shared_index: SharedIndex,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    more = {
        f"src/n{n}.py": f"def {hashlib.sha256(b'%d' % n).hexdigest()}x(): pass\n" for n in range(60)
    }
    commit(shop, more)
    monkeypatch.setattr(client, "MAX_BODY_BYTES", 5000)
    push(shop)
    assert len([*team.record.bodies("/push/files")]) > 1
    assert files_of(shared_index, name) == {*FILES, *more}


def test_a_token_that_may_only_read_does_not_push(team: Team, shop: Path, push: Run) -> None:
    push(shop)
    team.use("read:shop/*")
    commit(shop, {"src/auth.py": "changed = 1\n"})
    team.record.requests.clear()
    found = push(shop, code=1)
    assert "does not allow" in found["message"]
    assert team.record.pushed_files() == []
    team.use("push:other/*")
    assert "no such repository" in push(shop, code=1)["message"]


def test_a_detached_head_needs_a_branch_and_ci_names_it(
    shop: Path, name: str, push: Run, shared_index: SharedIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_BRANCH"):
        monkeypatch.delenv(variable, raising=False)
    git(shop, "checkout", "-q", "--detach")
    assert "--branch" in push(shop, code=2)["hint"]
    monkeypatch.setenv("CI_COMMIT_BRANCH", "release/1")
    assert push(shop)["branch"] == "release/1"
    assert push(shop, "--branch", "main")["branch"] == "main"
    assert files_of(shared_index, name, "release/1") == set(FILES)


def texts_in(index: SharedIndex, name: str) -> str:
    """Return all that the engine has of a repository."""
    engine, names = index._engine, index._opened.names  # noqa: SLF001 - what is left is seen below
    condition = f'repository == "{name}"'
    return "".join(
        str(row["content"])
        for short in ("contents", "symbols")
        for row in engine.query(names[short], condition, ("content",))
    )


def test_after_a_whole_push_a_prune_removes_a_text_that_was_pushed_by_mistake(
    shop: Path, name: str, push: Run, shared_index: SharedIndex
) -> None:
    commit(shop, {"src/auth.py": "def customer_of_acme():\n    return 1\n"})
    push(shop)
    commit(shop, {"src/auth.py": "def customer():\n    return 1\n"})
    assert push(shop)["base"] is not None

    def prune() -> None:
        for _ in range(2):
            shared_index.prune(0)

    prune()
    assert "acme" in texts_in(shared_index, name)
    would = push(shop, "--whole", "--dry-run")
    assert (would["base"], would["sent"]) == (None, 4)
    found = push(shop, "--whole")
    assert (found["base"], found["sent"]) == (None, 4)
    prune()
    assert "acme" not in texts_in(shared_index, name)
    assert "customer" in texts_in(shared_index, name)
    assert files_of(shared_index, name) == set(FILES)
    assert push(shop)["sent"] == 0
    commit(shop, {"src/more.py": "more = 1\n"})
    assert push(shop)["sent"] == 1
    assert files_of(shared_index, name) == {*FILES, "src/more.py"}


def test_a_deleted_branch_is_removed_from_the_server(
    team: Team, shop: Path, name: str, push: Run, shared_index: SharedIndex
) -> None:
    push(shop)
    git(shop, "checkout", "-qb", "feature/a")
    head = commit(shop, {"src/feature.py": "feature = 1\n"})
    push(shop)
    team.use("read:shop/*")
    assert "does not allow" in push(shop, "--delete-branch", "feature/a", code=1)["message"]
    team.use("push:other/*")
    assert "no such repository" in push(shop, "--delete-branch", "main", code=1)["message"]
    team.use("push:shop/*")
    team.record.requests.clear()
    assert push(shop, "--delete-branch", "feature/a", "--dry-run")["commit"] == head
    assert shared_index.head(name, "feature/a") is not None
    found = push(shop, "--delete-branch", "feature/a")
    assert (found["branch"], found["commit"], found["dry_run"]) == ("feature/a", head, False)
    assert push(shop, "--delete-branch", "feature/a")["commit"] is None
    assert {path for path, _ in team.record.requests} == {"/v1/push/delete-branch"}
    assert [head.branch for head in shared_index.heads(name.__eq__)] == ["main"]
    assert push(shop, "--delete-branch", "a..b", code=2)["field"] == "branch"


def test_a_shallow_clone_pushes_only_the_difference(team: Team, shop: Path, push: Run) -> None:
    push(shop)
    commit(shop, {"src/auth.py": "changed = 1\n"})
    clone = team.clone(shop, "shallow", "--depth=1")
    team.use("push:shop/*", name="ci")
    team.record.requests.clear()
    push(clone)
    assert team.record.pushed_files() == ["src/auth.py"]


def test_a_new_branch_builds_on_the_index_of_its_ancestor(
    team: Team, shop: Path, name: str, push: Run, shared_index: SharedIndex
) -> None:
    push(shop)
    git(shop, "checkout", "-qb", "feature/a")
    commit(shop, {"src/feature.py": "feature = 1\n"})
    team.record.requests.clear()
    assert push(shop)["sent"] == 1
    assert files_of(shared_index, name, "feature/a") == set(FILES) | {"src/feature.py"}
    assert files_of(shared_index, name) == set(FILES)


@pytest.mark.model
def test_a_vector_that_a_readable_repository_has_is_not_computed_again(
    team: Team, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    team.use("push:shop/*", embedding="faithful")
    first = run(capsys, "push", "--project", str(team.repository(name, FILES)))
    assert (first["embedded"] > 0, first["reused"]) == (True, 0)
    fork = team.repository(f"{name}-fork", FILES)
    team.use("push:shop/*-fork", name="stranger", embedding="faithful")
    assert run(capsys, "push", "--project", str(fork), "--dry-run")["reused"] == 0
    team.use("push:shop/*", name="farm", embedding="faithful")
    second = run(capsys, "push", "--project", str(fork))
    assert (second["embedded"], second["reused"]) == (0, first["embedded"])


def test_a_file_whose_vectors_are_too_large_for_one_request_is_sent_in_parts(
    team: Team, name: str, monkeypatch: pytest.MonkeyPatch, shared_index: SharedIndex
) -> None:
    numbers = range(40)
    chunks = tuple(
        SharedChunk(at, at + 1, at + 1, f"value{at} = {at}", (), card_digest(str(at)))
        for at in numbers
    )
    file = SharedFile("a.py", "0" * 64, "python", 40, 0, chunks, (), ())
    vectors = {card_digest(str(at)): vector_text(vector_of(str(at)).tobytes()) for at in numbers}
    plan = plan_layers(name, "1" * 32, {file.path: file.digest}, None, {})
    body = SendFiles(name, plan.new, (file,), vectors)
    monkeypatch.setattr(client, "MAX_BODY_BYTES", len(pack(body)) // 4)
    config = SharedConfig(team.url, name, token=team.running.token(f"push:{name}"))
    with (
        closing(client.SharedClient(config)) as connection,
        closing(Store.open(team.folder / "none.db")) as none,
    ):
        Pusher(connection, name, none, team.folder, 0).send(body)
    assert len(team.record.bodies("/push/files")) > 4
    assert shared_index.missing(name, plan.new, [(file.path, file.digest)]) == ()
    generation = Generation(
        plan.generation, name, "a" * 40, plan.tree, "1" * 32, MODEL, plan.layers, 1, 0, ""
    )
    shared_index.finish(generation, "main")
    written = shared_index.generation(plan.generation)
    assert written is not None
    store = shared_index.store([written])
    for at in numbers:
        (hit, score), *_ = store.vector_hits(vector_of(str(at)), 3)
        assert store.chunk_texts([hit])[hit] == f"value{at} = {at}"
        assert score > 0.99


def test_the_files_of_a_large_base_are_listed_in_parts(
    team: Team, shop: Path, push: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "MAX_PAGE", 2)
    monkeypatch.setattr(pushing, "MAX_PAGE", 2)
    push(shop)
    team.record.requests.clear()
    commit(shop, {"src/auth.py": "def logout():\n    return 1\n"})
    found = push(shop)
    assert (found["changed"], found["deleted"]) == (1, 0)
    assert team.record.pushed_files() == ["src/auth.py"]
    assert len(team.record.bodies("/push/base")) == 2
