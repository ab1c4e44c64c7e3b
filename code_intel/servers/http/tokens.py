"""Read the tokens of an HTTP server from a private file, one per line."""

import hashlib
import hmac
import math
import os
import re
import shlex
import stat
from collections.abc import Iterable
from pathlib import Path

from code_intel.errors import ConfigError

MIN_TOKEN_BITS = 128
"""Minimum entropy of a token."""
_MAX_FILE_BYTES = 64 << 10
_MIN_DISTINCT_CHARS = 8
"""A token with fewer distinct characters is refused, because it is not random."""
_ALPHABETS = (("0123456789", 10), ("0123456789abcdef", 16), ("0123456789ABCDEF", 16))
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")


class Tokens:
    """A set of valid tokens, stored as digests."""

    def __init__(self, tokens: Iterable[str]) -> None:
        self._digests = [_digest(token) for token in tokens]

    def owner(self, authorization: str) -> str | None:
        """Return the owner of the token in an `Authorization` header; None for an invalid token.

        The owner is the token's digest in hexadecimal. Checking takes the same time for all tokens.
        """
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer":
            return None
        sent = _digest(token.strip())
        matches = [digest for digest in self._digests if hmac.compare_digest(digest, sent)]
        return matches[0].hex() if matches else None


def read_tokens(path: Path) -> Tokens:
    """Read a token file: one token per line; empty lines and lines that start with # are skipped.

    Raises:
        ConfigError: The file is missing, empty or not private, or contains an invalid or weak
            token. The hint contains a command that creates a new file.
    """
    try:
        with open(path, "rb", opener=_open_nonblocking) as file:
            status = os.fstat(file.fileno())
            _check_private(path, status)
            text = file.read(_MAX_FILE_BYTES + 1).decode("ascii", "replace")
    except OSError as error:
        raise _unusable(path, f"cannot be read: {error.strerror or error}") from None
    if len(text) > _MAX_FILE_BYTES:
        raise _unusable(path, f"is larger than {_MAX_FILE_BYTES} bytes")
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    tokens = [(number, line) for number, line in lines if line and not line.startswith("#")]
    if not tokens:
        raise _unusable(path, "contains no token")
    for number, token in tokens:
        if not _TOKEN.fullmatch(token):
            raise _unusable(
                path, f"has characters in line {number} that HTTP headers cannot contain"
            )
        if _entropy_bits(token) < MIN_TOKEN_BITS or len(set(token)) < _MIN_DISTINCT_CHARS:
            raise _unusable(
                path, f"contains a weak token (less than {MIN_TOKEN_BITS} bits) in line {number}"
            )
    return Tokens(token for _, token in tokens)


def _open_nonblocking(path: str, flags: int) -> int:
    """Open a file; do not wait for a writer if it is a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def token_command(path: Path | str) -> str:
    """Return a shell command that creates a token file."""
    generator = 'python3 -c "import secrets; print(secrets.token_urlsafe())"'
    return f"(umask 077; {generator} > {shlex.quote(str(path))})"


def _check_private(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise _unusable(path, "is not a regular file")
    if os.name == "posix" and status.st_mode & 0o077:
        raise ConfigError(
            f"{path} can be read by others (mode {stat.S_IMODE(status.st_mode):03o}).",
            hint="Create a new token, because others may know this one: "
            f"rm {shlex.quote(str(path))}; {token_command(path)}",
            details={"field": "token_file"},
        )


def _unusable(path: Path, what: str) -> ConfigError:
    return ConfigError(
        f"{path} {what}.",
        hint=f"Create a token: {token_command(path)}",
        details={"field": "token_file"},
    )


def _entropy_bits(token: str) -> float:
    """Return the entropy of a random token of the same length and alphabet."""
    alphabet_size = next((size for known, size in _ALPHABETS if set(token) <= set(known)), 64)
    return len(token) * math.log2(alphabet_size)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()
