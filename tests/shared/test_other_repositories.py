"""A developer finds the code of other repositories on the server that the project uses."""

import asyncio
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from code_intel.config import load_settings
from code_intel.errors import NotFoundError
from code_intel.operations.workspace import add_project
from code_intel.servers.gateway import build_gateway
from code_intel.servers.shared.access.token_file import TokenTable, change_tokens
from code_intel.shared.connection import close_connections
from code_intel.tools.context.corpus_service import open_project
from code_intel.tools.context.repositories import sources
from code_intel.tools.context.repositories.checkouts import OpenProjects
from code_intel.tools.context.repositories.known import chosen_by
from programs import git
from projects import BIN, Caller
from servers.shared.shared_processes import process
from shared.test_processes import token_of
from team_servers import Team, commit, run, settings_of, write

pytestmark = pytest.mark.milvus

SHOP = {
    "src/auth.py": '"""Log people in."""\n\n\ndef login(name):\n    """Check a password."""\n',
    "src/cart.py": "from auth import login\n\n\ndef cart_of(name):\n    return login(name)\n",
}
BILLING = {
    "src/invoice.py": "from auth import login\n\n\ndef send_invoice(order):\n"
    '    """Send the invoice of an order by mail."""\n    return login(order.customer)\n',
}
QUERY = "send the invoice of an order"
SECRET = "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"  # noqa: S105 - not a real one


class Two:
    """Two repositories on the server, and the clone of a developer of the first one.

    Attributes:
        team: The team.
        shop: The name of the first repository.
        billing: The name of the second one.
        clone: A clone of the first repository.
    """

    def __init__(self, team: Team, name: str, capsys: pytest.CaptureFixture[str]) -> None:
        self.team, self.capsys = team, capsys
        self.shop, self.billing = f"{name}/shop", f"{name}/billing"
        team.use(f"push:{name}/*", name="farm")
        self.roots = {
            each: team.repository(each, files)
            for each, files in ((self.shop, SHOP), (self.billing, BILLING))
        }
        for root in self.roots.values():
            run(capsys, "push", "--words-only", "--project", str(root))
        self.clone = team.folder / "clones" / "mine"

    def use(self, *grants: str, is_indexed: bool = True) -> None:
        """Work as a developer with a fresh clone."""
        self.team.use(*grants)
        self.team.clone(self.roots[self.shop], "mine")
        run(self.capsys, "init", str(self.clone), "--shared", self.team.url)
        if is_indexed:
            run(self.capsys, "sync", str(self.clone), "--words-only")
        self.team.record.requests.clear()

    def ask(self, *words: str, code: int | None = None) -> dict[str, Any]:
        """Ask as a process of its own would."""
        close_connections()
        command, *rest = words
        return run(self.capsys, command, "--project", str(self.clone), *rest, code=code)


@pytest.fixture
def two(team: Team, name: str, capsys: pytest.CaptureFixture[str]) -> Two:
    return Two(team, name, capsys)


def found(answer: Mapping[str, Any]) -> set[tuple[str, str]]:
    return {(row["repository"], row["document"]) for row in answer["results"]}


def test_a_search_of_all_finds_code_of_other_repositories(two: Two) -> None:
    two.use(f"read:{two.shop.rpartition('/')[0]}/*")
    answer = two.ask("search", "--all", QUERY)
    assert (two.billing, "src/invoice.py") in found(answer)
    (row,) = [row for row in answer["results"] if row["repository"] == two.billing]
    head = git(two.roots[two.billing], "rev-parse", "HEAD").strip()
    assert head.startswith(row["commit"])
    assert row["commit"]
    assert "def send_invoice(order):" in row["chunk"]
    assert all("embedding" in note for note in answer["index"]["degraded"])
    both = two.ask("search", "--all", "login")
    assert {repository for repository, _ in found(both)} == {two.shop, two.billing}
    assert len([row for row in both["results"] if row["document"] == "src/auth.py"]) == 1
    last = two.ask("search", "--repo", two.billing.partition("/")[2], QUERY)
    assert found(last) == {(two.billing, "src/invoice.py")}


@pytest.mark.parametrize("words", [["--all"], ["--repo", "shop"]])
def test_the_server_answers_for_a_project_that_is_not_indexed_yet(
    two: Two, words: list[str]
) -> None:
    two.use(f"read:{two.shop.rpartition('/')[0]}/*", is_indexed=False)
    answer = two.ask("search", "check a password", *words)
    assert (two.shop, "src/auth.py") in found(answer)
    assert all(hit["commit"] for hit in answer["results"])
    assert any(f"{two.shop} is searched as" in note for note in answer["index"]["degraded"])


def test_uses_in_other_repositories_are_found(two: Two) -> None:
    two.use(f"read:{two.shop.rpartition('/')[0]}/*")
    answer = two.ask("refs", "login", "--all")
    rows = {(row["repository"], row["file"], row["line"]) for row in answer["elsewhere"]}
    assert rows == {(two.billing, "src/invoice.py", 1), (two.billing, "src/invoice.py", 6)}
    assert {row["certainty"] for row in answer["elsewhere"]} == {"likely"}


def test_a_repository_that_the_token_may_not_read_is_not_named(two: Two) -> None:
    two.use(f"read:{two.shop}")
    answer = two.ask("search", "--all", QUERY)
    assert {repository for repository, _ in found(answer)} <= {two.shop}
    refused = two.ask("search", "--repo", two.billing, QUERY, code=1)
    assert refused["error"] == "not_found"
    assert "send_invoice" not in str(answer)
    assert "billing" not in str(answer) + refused["hint"]
    assert two.ask("refs", "login", "--all").get("elsewhere") == []


def test_the_local_checkout_of_a_repository_is_searched_instead(two: Two) -> None:
    two.use(f"read:{two.shop.rpartition('/')[0]}/*")
    mine = two.team.clone(two.roots[two.billing], "billing")
    write(mine, {"src/invoice.py": "def draft_invoice():\n    return QUETZAL\n"})
    run(two.capsys, "init", str(mine))
    run(two.capsys, "sync", str(mine), "--words-only")
    add_project(settings_of(two.clone), mine)
    two.team.record.requests.clear()
    answer = two.ask("search", "--all", "draft_invoice")
    (row,) = [row for row in answer["results"] if row["document"] == "src/invoice.py"]
    assert "QUETZAL" in row["chunk"]
    two.team.record.requests.clear()
    assert found(two.ask("search", "--repo", two.billing, "draft_invoice"))
    assert two.team.record.requests == []  # a checkout of that name is known


def test_without_the_server_the_checkouts_answer_and_say_so(two: Two) -> None:
    two.use(f"read:{two.shop.rpartition('/')[0]}/*")
    two.team.record.before = lambda path: fail(path) if path.endswith("/store") else None
    answer = two.ask("search", "--all", "login")
    assert {repository for repository, _ in found(answer)} == {two.shop}
    assert any("only repositories on this machine" in n for n in answer["index"]["degraded"])
    assert two.ask("search", "--repo", two.billing, "login", code=1)["error"] == "shared_failed"
    references = two.ask("refs", "login", "--all")
    assert references["references"]
    assert any("were not searched" in note for note in references["warnings"])
    two.team.record.before = fail
    silent = two.ask("search", "--all", "login")
    assert {repository for repository, _ in found(silent)} == {two.shop}
    assert any("were not searched" in note for note in silent["index"]["degraded"])


@pytest.mark.covers("rule.repositories.server")
def test_a_server_that_the_user_has_not_named_is_not_asked(two: Two) -> None:
    two.use(f"read:{two.shop.rpartition('/')[0]}/*")
    two.team.patch.delenv("CODE_INTEL_SHARED_URL")
    two.team.patch.setenv("CODE_INTEL_STATE_DIR", str(two.team.folder / "another"))
    answer = two.ask("search", "--all", QUERY)
    assert {repository for repository, _ in found(answer)} <= {two.shop}
    assert any("code-intel init --shared" in note for note in answer["index"]["degraded"])
    refused = two.ask("search", "--repo", two.billing, QUERY, code=1)
    assert "code-intel init --shared" in refused["message"]
    assert two.team.record.requests == []


def test_a_secret_in_a_question_about_all_stays_on_this_machine(two: Two) -> None:
    two.use(f"read:{two.shop.rpartition('/')[0]}/*")
    two.ask("search", "--all", f"why does the invoice refuse {SECRET}")
    two.ask("refs", SECRET, "--all")
    sent = two.team.record.everything().lower()
    assert b"invoice" in sent
    assert SECRET.lower().encode() not in sent


def test_more_repositories_than_a_question_takes_are_left_out_and_counted(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    two.use(f"read:{two.shop.rpartition('/')[0]}/*")
    monkeypatch.setattr(sources, "MAX_REPOSITORIES", 1)
    answer = two.ask("search", "--all", QUERY)
    assert {repository for repository, _ in found(answer)} <= {two.shop}
    assert any(note.startswith("1 further repository") for note in answer["index"]["degraded"])


def test_a_gateway_asks_for_the_names_once_a_minute(two: Two) -> None:
    two.use(f"read:{two.shop.rpartition('/')[0]}/*")
    service, projects = open_project(settings_of(two.clone), readonly=True)[1], OpenProjects()
    for _ in range(3):
        assert len(chosen_by(service, projects, ["*"]).indexes) == 2
    with pytest.raises(NotFoundError):
        chosen_by(service, projects, ["no/such"])
    assert [path for path, _ in two.team.record.requests] == ["/v1/repositories"]
    service.index.close()


def test_status_and_doctor_say_what_the_server_has(two: Two) -> None:
    two.use(f"read:{two.shop.rpartition('/')[0]}/*")
    head = git(two.roots[two.shop], "rev-parse", "HEAD").strip()
    shared = {"url": two.team.url, "repository": two.shop, "commit": head, "error": ""}
    assert report(two, "status")["shared"] == shared
    (level, what, remedy) = checked(two)
    assert (level, remedy) == ("info", "")
    assert "may read 2 repositories" in what
    two.team.patch.setenv("CODE_INTEL_SHARED_TOKEN", "wrong")
    refused = report(two, "status")["shared"]
    assert (refused["commit"], "does not accept the token" in refused["error"]) == ("", True)
    level, what, remedy = checked(two)
    assert level == "error"
    assert "does not accept the token" in what
    assert "CODE_INTEL_SHARED_TOKEN" in remedy
    two.team.use("read:other/*")
    level, _, remedy = checked(two)
    assert (level, "code-intel push" in remedy) == ("warning", True)
    two.team.patch.setenv("CODE_INTEL_SHARED_URL", "http://127.0.0.1:9")
    level, what, remedy = checked(two)
    assert (level, "cannot be reached" in what, "shared.url" in remedy) == ("warning", True, True)


def report(two: Two, command: str) -> dict[str, Any]:
    close_connections()
    return run(two.capsys, command, str(two.clone), code=None)


def checked(two: Two) -> tuple[str, str, str]:
    """Return what `doctor` finds about the server."""
    (row,) = [row for row in report(two, "doctor")["findings"] if row["area"] == "shared"]
    return row["level"], row["what"], row["remedy"]


def test_a_third_person_finds_the_code_of_a_second_one_with_real_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("milvus_lite", reason="the extra `milvus` is not installed")
    tokens, engine = tmp_path / "tokens.json", str(tmp_path / "shared.db")
    change_tokens(tokens, lambda _table: TokenTable())
    monkeypatch.setenv("CODE_INTEL_EMBEDDING", "off")
    roots = {}
    for name, files in (("shop", SHOP), ("billing", BILLING)):
        roots[name] = tmp_path / name
        write(roots[name], files)
        git(roots[name], "init", "-qb", "main")
        git(roots[name], "remote", "add", "origin", f"git@git.example.com:team/{name}.git")
        commit(roots[name])
    clone = tmp_path / "clones" / "shop"
    clone.parent.mkdir()

    grants = {"farm": "push:team/*", "reader": "read:team/*", "guest": "read:team/shop"}
    people = {person: token_of(tokens, grant) for person, grant in grants.items()}

    def work_as(person: str) -> None:
        monkeypatch.setenv("CODE_INTEL_SHARED_TOKEN", people[person])
        for kind in ("CACHE", "STATE"):
            monkeypatch.setenv(f"CODE_INTEL_{kind}_DIR", str(tmp_path / person / kind))
        close_connections()

    with process(tmp_path / "server", engine, tokens) as server:
        url = f"http://127.0.0.1:{server.port}"
        work_as("farm")
        monkeypatch.setenv("CODE_INTEL_SHARED_URL", url)
        for root in roots.values():
            run(capsys, "push", "--words-only", "--project", str(root))
        monkeypatch.delenv("CODE_INTEL_SHARED_URL")
        work_as("reader")
        git(tmp_path, "clone", "-q", str(roots["shop"]), str(clone))
        git(clone, "remote", "set-url", "origin", "git@git.example.com:team/shop.git")
        run(capsys, "init", str(clone), "--shared", url)
        run(capsys, "sync", str(clone), "--words-only")
        searched = run(capsys, "search", "--project", str(clone), "--all", QUERY)
        assert ("team/billing", "src/invoice.py") in found(searched)
        used = run(capsys, "refs", "--project", str(clone), "login", "--all")
        assert {row["repository"] for row in used["elsewhere"]} == {"team/billing"}
        in_text = program(clone, "search", "--repo", "billing", QUERY)
        assert "team/billing: src/invoice.py:" in in_text.stdout
        asked = asyncio.run(by_tool(clone))
        assert found(asked) == {("team/billing", "src/invoice.py")}
        assert "no evidence about this project" in asked["message"]
        work_as("guest")
        run(capsys, "init", str(clone), "--shared", url)
        refused = run(capsys, "search", "--project", str(clone), "--repo", "billing", QUERY, code=1)
        assert "team/billing" not in json.dumps(refused)
        nothing = run(capsys, "search", "--project", str(clone), "--all", QUERY, code=None)
        assert "invoice.py" not in json.dumps(nothing)
        assert "billing" not in json.dumps(nothing)
    log = (tmp_path / "server" / "audit.jsonl").read_text("utf-8")
    assert "team/billing" in log
    assert "invoice" not in log


async def by_tool(root: Path) -> Any:
    """Ask a gateway, as an agent does."""
    async with Client(build_gateway(load_settings(root, os.environ))) as client:
        return await Caller(client)("search_forest", query=QUERY, repositories=["billing"])


def program(root: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run a command in a terminal."""
    return subprocess.run(
        [str(BIN / "code-intel"), *words], cwd=root, capture_output=True, text=True, check=True
    )


def fail(path: str) -> None:
    """Let the server break."""
    raise ConnectionError(path)
