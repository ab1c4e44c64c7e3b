"""Tokens in a file: what is stored, and how soon a change counts."""

import json
import os
import shlex
import tempfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from code_intel.cli.main import COMMANDS, parser_of
from code_intel.errors import ConfigError, NotFoundError, StorageError
from code_intel.servers.shared.access.principal import Principal, grant_of
from code_intel.servers.shared.access.token_file import (
    READ_SECONDS,
    STALE_SECONDS,
    TokenFile,
    TokenRow,
    change_tokens,
    new_token,
    read_table,
)

as_root = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="only root can give a file to another user"
)
NOW = datetime(2026, 11, 1, tzinfo=UTC)


class Clock:
    """A clock that a test moves."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def add(path: Path, grant: str = "read:team/*", **changes: Any) -> tuple[str, TokenRow]:
    token, row = new_token("test", [grant_of(grant)], now=datetime.now(UTC))
    row = replace(row, **changes)
    change_tokens(path, lambda table: table.with_row(row))
    return token, row


def test_the_file_has_the_digest_and_not_the_token(tmp_path: Path) -> None:
    token, row = add(tmp_path / "tokens.json")
    text = (tmp_path / "tokens.json").read_text()
    assert row.digest in text
    assert token.rpartition("_")[2] not in text
    assert (tmp_path / "tokens.json").stat().st_mode & 0o077 == 0


def test_a_token_says_who_sends_it_and_what_they_may_do(tmp_path: Path) -> None:
    token, row = add(tmp_path / "tokens.json", requests_per_minute=7)
    found = TokenFile(tmp_path / "tokens.json").find(token)
    assert found == Principal(f"token:{row.id}", (grant_of("read:team/*"),), 7)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"expires_at": (datetime.now(UTC) - timedelta(seconds=1)).isoformat()}, "expired token"),
        ({"revoked_at": datetime.now(UTC).isoformat()}, "revoked token"),
        ({"digest": "0" * 64}, "unknown token"),
    ],
)
def test_a_token_that_does_not_count_is_refused_with_the_reason(
    tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    token, _ = add(tmp_path / "tokens.json", **changes)
    assert TokenFile(tmp_path / "tokens.json").find(token) == reason


@pytest.mark.parametrize("text", ["", "ci_", "ci_000000000000_", "x" * 5000, "ci_日本_x", "\udcff"])
def test_what_is_no_token_is_refused(tmp_path: Path, text: str) -> None:
    add(tmp_path / "tokens.json")
    assert TokenFile(tmp_path / "tokens.json").find(text) == "unknown token"


def test_a_token_with_a_changed_character_is_refused(tmp_path: Path) -> None:
    token, _ = add(tmp_path / "tokens.json")
    changed = token[:-1] + ("A" if token[-1] != "A" else "B")
    assert TokenFile(tmp_path / "tokens.json").find(changed) == "unknown token"


def test_a_revoked_token_is_refused_after_the_next_look(tmp_path: Path) -> None:
    token, row = add(tmp_path / "tokens.json")
    tokens = TokenFile(tmp_path / "tokens.json")
    assert isinstance(tokens.find(token), Principal)
    revoked = replace(row, revoked_at=datetime.now(UTC).isoformat())
    change_tokens(tmp_path / "tokens.json", lambda table: table.with_row(revoked))
    tokens.update()
    assert tokens.find(token) == "revoked token"


def test_a_change_that_leaves_the_times_of_the_file_as_they_were_is_seen_later(
    tmp_path: Path,
) -> None:
    path, clock = tmp_path / "tokens.json", Clock()
    token, row = add(path)
    tokens, status = TokenFile(path, clock), path.stat()
    text = path.read_text().replace(row.digest, "0" * 64)
    path.write_text(text)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    tokens.update()
    assert isinstance(tokens.find(token), Principal)
    clock.now += READ_SECONDS
    tokens.update()
    assert tokens.find(token) == "unknown token"


@pytest.mark.covers("rule.shared.revoked")
@pytest.mark.parametrize("damage", ["removed", "malformed"])
def test_a_file_that_cannot_be_read_refuses_all_tokens_within_a_minute(
    tmp_path: Path, damage: str
) -> None:
    path, clock = tmp_path / "tokens.json", Clock()
    token, _ = add(path)
    tokens, text = TokenFile(path, clock), path.read_text()
    if damage == "removed":
        path.unlink()
    else:
        path.write_text("{")
    clock.now += STALE_SECONDS - 1
    tokens.update()
    assert isinstance(tokens.find(token), Principal)
    clock.now += 1
    tokens.update()
    assert tokens.find(token) == "token file unreadable"
    assert tokens.is_denied("oidc:alice")
    assert STALE_SECONDS < 60
    path.write_text(text)
    path.chmod(0o600)
    tokens.update()
    assert isinstance(tokens.find(token), Principal)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "is not a token file"),
        ("[]", "is not a token file"),
        ('{"version": 2, "tokens": [], "denied": []}', "needs a newer code-intel"),
        ('{"version": 1, "tokens": [{}], "denied": []}', "is not a token file"),
    ],
)
def test_a_file_that_is_not_understood_is_refused(tmp_path: Path, content: str, says: str) -> None:
    path = tmp_path / "tokens.json"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(ConfigError, match=says):
        TokenFile(path)


def test_a_row_with_an_unknown_grant_or_time_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    add(path)
    for field, value in (("grants", ["all:x"]), ("expires_at", "soon")):
        content = json.loads(path.read_text())
        content["tokens"][0][field] = value
        (tmp_path / "other.json").write_text(json.dumps(content))
        (tmp_path / "other.json").chmod(0o600)
        with pytest.raises(ConfigError, match="is not a token file"):
            read_table(tmp_path / "other.json")


def test_a_file_that_others_may_change_is_refused(tmp_path: Path) -> None:
    add(tmp_path / "tokens.json")
    (tmp_path / "tokens.json").chmod(0o662)
    with pytest.raises(ConfigError, match="can be changed by others"):
        read_table(tmp_path / "tokens.json")


@as_root
@pytest.mark.parametrize("exists", [True, False])
def test_root_changes_or_creates_the_file_for_the_user_of_the_server(
    tmp_path: Path, *, exists: bool
) -> None:
    path = tmp_path / "tokens.json"
    if exists:
        add(path)
    os.chown(path if exists else tmp_path, 10001, 10002)
    add(path)
    assert (path.stat().st_uid, path.stat().st_gid) == (10001, 10002)


@as_root
def test_a_user_who_cannot_keep_the_owner_of_the_file_leaves_it_unchanged() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokens.json"
        add(path)
        os.chown(path, 10001, 10001)
        path.chmod(0o644)
        Path(folder).chmod(0o777)
        before = path.read_bytes()
        path.with_name("tokens.json.lock").unlink()
        os.seteuid(10003)
        try:
            with pytest.raises(StorageError, match="could not be written"):
                add(path)
        finally:
            os.seteuid(0)
        assert path.read_bytes() == before
        assert path.stat().st_uid == 10001
        assert sorted(each.name for each in Path(folder).iterdir()) == [
            "tokens.json",
            "tokens.json.lock",
        ]


def test_a_missing_file_is_an_error_that_says_how_to_create_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        TokenFile(tmp_path / "tokens.json")
    name, *arguments = shlex.split(caught.value.hint.rpartition("code-intel ")[2])
    (command,) = (each for each in COMMANDS if each.name == name)
    parser_of(command, "code-intel").parse_args(arguments)


def test_a_token_that_does_not_exist_cannot_be_changed(tmp_path: Path) -> None:
    add(tmp_path / "tokens.json")
    with pytest.raises(NotFoundError):
        read_table(tmp_path / "tokens.json").find("000000000000")
