"""Keep the tokens of a shared index in a file: their digests, grants and times.

The file has no secrets, so it can be kept where configuration is kept. A token is
`ci_ID_SECRET`; the file has the ID and the SHA-256 of the whole token. `change_tokens` changes the
file under a lock, and `TokenFile` reads it again when it has changed.
"""

import hashlib
import hmac
import json
import logging
import os
import re
import secrets
import shlex
import stat
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from code_intel.errors import CodeIntelError, ConfigError, NotFoundError, UsageError
from code_intel.foundation.durable import create, locked
from code_intel.foundation.durable import replace as replace_file
from code_intel.servers.shared.access.principal import Grant, Principal, grant_of

FILE_VERSION = 1
MAX_FILE_BYTES = 8 << 20
logger = logging.getLogger(__name__)
LOOK_SECONDS = 1.0
"""How often a server looks whether the file has changed."""
READ_SECONDS = 20.0
"""How often a server reads the file although it looks unchanged."""
STALE_SECONDS = 45.0
"""How long the last content counts while the file cannot be read."""
_TOKEN = re.compile(r"ci_(?P<id>[0-9a-f]{12})_[A-Za-z0-9_-]{43}")


@dataclass(frozen=True)
class TokenRow:
    """A token as the file has it; times are ISO 8601 with offset, or empty.

    Attributes:
        id: Names the token in commands and logs.
        name: What people call it.
        digest: SHA-256 of the token, in hexadecimal.
        grants: What it allows, each `SCOPE:PATTERN`.
        created_at: When it was created.
        expires_at: From when on it is refused; empty if it does not expire.
        revoked_at: When it was revoked; empty if it was not.
        requests_per_minute: Its own rate limit; 0 for that of the server.
    """

    id: str
    name: str
    digest: str
    grants: tuple[str, ...]
    created_at: str
    expires_at: str = ""
    revoked_at: str = ""
    requests_per_minute: int = 0

    def state(self, now: datetime) -> str:
        """Return `active`, `expired` or `revoked`."""
        if self.revoked_at:
            return "revoked"
        is_over = self.expires_at and datetime.fromisoformat(self.expires_at) <= now
        return "expired" if is_over else "active"

    def principal(self) -> Principal:
        """Return who sends this token."""
        grants = tuple(grant_of(text) for text in self.grants)
        return Principal(f"token:{self.id}", grants, self.requests_per_minute)


@dataclass(frozen=True)
class TokenTable:
    """The content of a token file.

    Attributes:
        tokens: The tokens, oldest first.
        denied: Ids of principals that are refused although their token is valid, `oidc:SUBJECT`.
    """

    tokens: tuple[TokenRow, ...] = ()
    denied: tuple[str, ...] = ()

    def find(self, token_id: str) -> TokenRow:
        """Return a token.

        Raises:
            NotFoundError: The file has no such token.
        """
        for row in self.tokens:
            if row.id == token_id:
                return row
        raise NotFoundError(
            f"The token file has no token {token_id[:100]}.",
            hint="`code-intel shared token list` shows the ids.",
        )

    def with_row(self, row: TokenRow) -> "TokenTable":
        """Return the table with a token added, or changed."""
        others = [each for each in self.tokens if each.id != row.id]
        tokens = sorted((*others, row), key=lambda each: (each.created_at, each.id))
        return replace(self, tokens=tuple(tokens))


def new_token(
    name: str,
    grants: Sequence[Grant],
    *,
    now: datetime,
    days: int = 0,
    requests_per_minute: int = 0,
) -> tuple[str, TokenRow]:
    """Return a token of 256 random bits and its row; it expires after `days`, or never with 0."""
    token_id = secrets.token_hex(6)
    token = f"ci_{token_id}_{secrets.token_urlsafe(32)}"
    row = TokenRow(
        id=token_id,
        name=name,
        digest=digest_of(token),
        grants=tuple(grant.text for grant in grants),
        created_at=now.isoformat(timespec="seconds"),
        expires_at=(now + timedelta(days=days)).isoformat(timespec="seconds") if days else "",
        requests_per_minute=requests_per_minute,
    )
    return token, row


def digest_of(token: str) -> str:
    """Return the digest of a token; it has 256 random bits, so it needs no salt."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def change_tokens(
    path: Path, change: Callable[[TokenTable], TokenTable], *, dry_run: bool = False
) -> TokenTable:
    """Change the token file under its lock, creating it if missing; return the new content.

    The file keeps its owner and group, because the server must be able to read it.

    Raises:
        ConfigError: The file cannot be used.
        BusyError: Another process changes it.
        StorageError: It cannot be written, or the caller cannot keep its owner. It is unchanged.
    """
    if dry_run:
        return change(read_table(path) if path.exists() else TokenTable())
    with locked(path.with_name(f"{path.name}.lock")):
        exists = path.exists()
        table = change(read_table(path) if exists else TokenTable())
        content = {"version": FILE_VERSION, **asdict(table)}
        data = (json.dumps(content, ensure_ascii=False, indent=1) + "\n").encode()
        if exists:
            replace_file(path, data, owner=_owner(path))
        else:
            create(path, data, 0o600, owner=_owner(path))
    return table


def _owner(path: Path) -> tuple[int, int] | None:
    """Return user and group of the file; root creates it for those of its folder."""
    if path.exists():
        status = path.stat()
    elif os.name == "posix" and os.geteuid() == 0:
        status = path.parent.stat()
    else:
        return None
    return status.st_uid, status.st_gid


def read_table(path: Path) -> TokenTable:
    """Read a token file.

    Raises:
        ConfigError: The file is missing or malformed, or others may change it.
    """
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if os.name == "posix" and status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                raise _unusable(path, "can be changed by others", f"chmod go-w {path}")
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise _unusable(path, f"cannot be read: {error.strerror or error}") from None
    try:
        return _table_of(json.loads(data))
    except (ValueError, KeyError, TypeError, UsageError) as error:
        detail = error.message if isinstance(error, CodeIntelError) else f"{error!s:.200}"
        raise _unusable(path, f"is not a token file: {detail}") from None


def _table_of(content: dict[str, Any]) -> TokenTable:
    if content["version"] != FILE_VERSION:
        raise ValueError(f"version {content['version']!r:.20} needs a newer code-intel")
    rows = [TokenRow(**{**row, "grants": tuple(row["grants"])}) for row in content["tokens"]]
    for row in rows:
        row.principal()
        row.state(datetime.now(UTC))
    return TokenTable(tuple(rows), tuple(map(str, content["denied"])))


def _unusable(path: Path, what: str, remedy: str = "") -> ConfigError:
    hint = remedy or (
        "Create a token: "
        f"code-intel shared token create NAME --grant 'read:**' --tokens {shlex.quote(str(path))}"
    )
    return ConfigError(f"{path} {what}.", hint=hint, details={"field": "token_file"})


class TokenFile:
    """The token file of a server. Thread-safe.

    `update` looks whether the file has changed; the server calls it every `LOOK_SECONDS`. If the
    file could not be read for `STALE_SECONDS`, all tokens are refused, so that a revoked token
    never lives longer.

    Args:
        path: The file.
        clock: A monotonic clock in seconds.

    Raises:
        ConfigError: The file cannot be used.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._mark = self._stat()
        self._rows, self._denied = _by_id(read_table(path))
        self._read = self._good = clock()

    def find(self, token: str) -> Principal | str:
        """Return who sends a token, or the reason why it is refused."""
        if not self.is_current():
            return "token file unreadable"
        match = _TOKEN.fullmatch(token)
        row = self._rows.get(match["id"]) if match else None
        known = row.digest if row else "0" * 64
        if not hmac.compare_digest(known, digest_of(token)) or row is None:
            return "unknown token"
        state = row.state(datetime.now(UTC))
        return row.principal() if state == "active" else f"{state} token"

    def is_denied(self, principal: str) -> bool:
        """Return whether a principal is refused although its token is valid."""
        return not self.is_current() or principal in self._denied

    def is_current(self) -> bool:
        """Return whether the last content counts."""
        return self.age() < STALE_SECONDS

    def age(self) -> float:
        """Return for how many seconds the content has not been compared with the file."""
        return self._clock() - self._good

    def update(self) -> None:
        """Read the file again if it has changed; keep the last content if that fails.

        An unchanged file is read, too, from time to time: a network file system shows a change to
        those who open the file.
        """
        now, mark = self._clock(), self._stat()
        if mark is None:
            return
        if mark != self._mark or now - self._read >= READ_SECONDS:
            try:
                table = read_table(self._path)
            except ConfigError as error:
                logger.warning("%s %s", error.message, error.hint)
                return
            self._rows, self._denied = _by_id(table)
            self._mark, self._read = mark, now
        self._good = now

    def _stat(self) -> tuple[int, int, int] | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino


def _by_id(table: TokenTable) -> tuple[dict[str, TokenRow], frozenset[str]]:
    return {row.id: row for row in table.tokens}, frozenset(table.denied)
