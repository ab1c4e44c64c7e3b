"""`code-intel shared token`: create, list, rotate and revoke."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from code_intel.cli.main import main
from code_intel.servers.shared.access.principal import Principal
from code_intel.servers.shared.access.token_file import TokenFile


class Tokens:
    """The token commands on one file."""

    def __init__(self, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.path = path
        self._capsys = capsys

    def run(self, *words: str) -> tuple[int, Any]:
        code = main(["shared", "token", *words, "--tokens", str(self.path), "--json"])
        return code, json.loads(self._capsys.readouterr().out)

    def create(self, *words: str) -> dict[str, Any]:
        code, made = self.run("create", "test", *(words or ("--grant", "read:team/*")))
        assert code == 0, made
        found: dict[str, Any] = made
        return found

    def who(self, token: str) -> Principal | str:
        return TokenFile(self.path).find(token)


@pytest.fixture
def tokens(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Tokens:
    return Tokens(tmp_path / "tokens.json", capsys)


def test_a_created_token_is_accepted_with_its_grants(tokens: Tokens) -> None:
    made = tokens.create("--grant", "read:team/*", "--grant", "push:team/shop")
    found = tokens.who(made["token"])
    assert isinstance(found, Principal)
    assert found.may("push", "team/shop")
    assert not found.may("push", "team/web")
    assert found.may("read", "team/web")


def test_the_token_is_printed_once_and_first(
    tokens: Tokens, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["create", "ci", "--grant", "read:x", "--tokens", str(tokens.path)]
    assert main(["shared", "token", *words]) == 0
    token = capsys.readouterr().out.splitlines()[0]
    assert isinstance(tokens.who(token), Principal)
    assert main(["shared", "token", "list", "--tokens", str(tokens.path)]) == 0
    assert token not in capsys.readouterr().out


def test_a_token_expires_after_90_days_unless_something_else_is_said(tokens: Tokens) -> None:
    for words, days in (((), 90), (("--days", "7"), 7), (("--days", "0"), 0)):
        made = tokens.create("--grant", "read:x", *words)
        expected = datetime.now(UTC) + timedelta(days=days)
        if days:
            at = datetime.fromisoformat(made["expires_at"])
            assert abs(at - expected) < timedelta(minutes=1)
        else:
            assert not made["expires_at"]


def test_the_list_has_every_token_and_no_secret(tokens: Tokens) -> None:
    first, second = tokens.create(), tokens.create("--grant", "admin:**", "--days", "0")
    code, listed = tokens.run("list")
    assert code == 0
    assert {row["id"] for row in listed["tokens"]} == {first["id"], second["id"]}
    assert {row["state"] for row in listed["tokens"]} == {"active"}
    assert first["token"] not in json.dumps(listed)
    assert "digest" not in json.dumps(listed)


def test_a_revoked_token_is_refused_and_listed_as_revoked(tokens: Tokens) -> None:
    made = tokens.create()
    assert tokens.run("revoke", made["id"])[0] == 0
    assert tokens.who(made["token"]) == "revoked token"
    assert tokens.run("list")[1]["tokens"][0]["state"] == "revoked"


def test_a_rotated_token_counts_beside_its_successor_until_the_overlap_is_over(
    tokens: Tokens,
) -> None:
    old = tokens.create("--grant", "push:team/shop", "--requests-per-minute", "9")
    code, new = tokens.run("rotate", old["id"], "--overlap-hours", "1")
    assert code == 0
    assert new["grants"] == ["push:team/shop"]
    assert new["requests_per_minute"] == 9
    assert isinstance(tokens.who(old["token"]), Principal)
    assert isinstance(tokens.who(new["token"]), Principal)
    ends = datetime.fromisoformat(new["replaces_until"]) - datetime.now(UTC)
    assert timedelta(minutes=58) < ends < timedelta(minutes=61)


def test_without_an_overlap_the_old_token_is_refused_at_once(tokens: Tokens) -> None:
    old = tokens.create()
    assert tokens.run("rotate", old["id"], "--overlap-hours", "0")[0] == 0
    assert tokens.who(old["token"]) == "expired token"


def test_a_rotation_never_lets_a_token_live_longer(tokens: Tokens) -> None:
    old = tokens.create("--grant", "read:x", "--days", "1")
    _, new = tokens.run("rotate", old["id"], "--overlap-hours", "100")
    assert new["replaces_until"] == old["expires_at"]


def test_a_subject_of_an_issuer_can_be_denied_and_allowed_again(tokens: Tokens) -> None:
    tokens.create()
    assert tokens.run("revoke", "oidc:alice")[0] == 0
    assert TokenFile(tokens.path).is_denied("oidc:alice")
    assert tokens.run("revoke", "oidc:alice", "--undo")[0] == 0
    assert not TokenFile(tokens.path).is_denied("oidc:alice")


@pytest.mark.parametrize(
    "words", [("create", "x", "--grant", "read:x"), ("rotate", "ID"), ("revoke", "ID")]
)
def test_a_dry_run_changes_nothing_and_shows_no_token(
    tokens: Tokens, words: tuple[str, ...]
) -> None:
    made = tokens.create()
    before = tokens.path.read_bytes()
    code, answer = tokens.run(
        *(made["id"] if word == "ID" else word for word in words), "--dry-run"
    )
    assert code == 0
    assert answer["dry_run"] is True
    assert not answer.get("token")
    assert tokens.path.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "code", "field"),
    [
        (("create", "x", "--grant", "all:x"), 2, "grant"),
        (("create", "x"), 2, "grant"),
        (("create", "", "--grant", "read:x"), 2, "name"),
        (("create", "x", "--grant", "read:x", "--days", "-1"), 2, "days"),
        (("create", "x", "--grant", "read:x", "--requests-per-minute", "-1"), 2,
         "requests_per_minute"),
        (("rotate", "ID", "--overlap-hours", "-1"), 2, "overlap_hours"),
        (("revoke", "ID", "--undo"), 2, "undo"),
    ],
)  # fmt: skip
def test_a_wrong_option_is_named_and_changes_nothing(
    tokens: Tokens, words: tuple[str, ...], code: int, field: str
) -> None:
    made = tokens.create()
    before = tokens.path.read_bytes()
    found = tokens.run(*(made["id"] if word == "ID" else word for word in words))
    assert (found[0], found[1]["field"]) == (code, field)
    assert tokens.path.read_bytes() == before


def test_a_token_that_does_not_exist_is_not_found(tokens: Tokens) -> None:
    tokens.create()
    for command in ("rotate", "revoke"):
        code, answer = tokens.run(command, "000000000000")
        assert (code, answer["error"]) == (1, "not_found")


def test_a_revoked_token_cannot_be_rotated(tokens: Tokens) -> None:
    made = tokens.create()
    tokens.run("revoke", made["id"])
    assert tokens.run("rotate", made["id"])[0] == 2


def test_stdout_has_only_the_token(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "tokens.json")
    grant = ("--grant", "read:x", "--tokens", path)
    assert main(["shared", "token", "create", "ci", *grant]) == 0
    shown = capsys.readouterr()
    assert isinstance(TokenFile(Path(path)).find(shown.out.strip()), Principal)
    assert shown.out.count("\n") == 1
    assert "It is not shown again." in shown.err
    assert shown.out.strip() not in shown.err
    assert main(["shared", "token", "create", "ci", *grant, "--dry-run"]) == 0
    shown = capsys.readouterr()
    assert (shown.out.startswith("Would be created"), shown.err) == (True, "")
