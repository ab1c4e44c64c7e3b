"""The tokens that open an HTTP server: one a line of a file that nobody else may read."""

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

BITS = 128
"""What a token must be worth; a guess a nanosecond would take longer than there is time."""
_LARGEST = 64 << 10
_VARIETY = 8
"""Different characters; fewer are a pattern, not chance."""
_ALPHABETS = (("0123456789", 10), ("0123456789abcdef", 16), ("0123456789ABCDEF", 16))
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")


class Tokens:
    """Tokens, remembered as digests."""

    def __init__(self, tokens: Iterable[str]) -> None:
        self._digests = [_digest(token) for token in tokens]

    def owner(self, authorization: str) -> str | None:
        """Return who sends this `Authorization` (a digest of the token), or None for nobody we know.

        Takes the same time for every wrong token.
        """
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer":
            return None
        given = _digest(token.strip())
        known = [digest for digest in self._digests if hmac.compare_digest(digest, given)]
        return known[0].hex() if known else None


def read_tokens(path: Path) -> Tokens:
    """Read a token file: one token a line; empty lines and lines that start with # say nothing.

    Raises:
        ConfigError: It is missing, empty, not private, or holds what can be guessed; the hint is a
            command that makes one.
    """
    try:
        with open(path, "rb", opener=_at_once) as file:
            status = os.fstat(file.fileno())
            _check_private(path, status)
            text = file.read(_LARGEST + 1).decode("ascii", "replace")
    except OSError as error:
        raise _unusable(path, f"cannot be read: {error.strerror or error}") from None
    if len(text) > _LARGEST:
        raise _unusable(path, f"is larger than {_LARGEST} bytes")
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    tokens = [(number, line) for number, line in lines if line and not line.startswith("#")]
    if not tokens:
        raise _unusable(path, "holds no token")
    for number, token in tokens:
        if not _TOKEN.fullmatch(token):
            raise _unusable(path, f"has in line {number} what no HTTP header can carry as a token")
        if _worth(token) < BITS or len(set(token)) < _VARIETY:
            raise _unusable(path, f"has in line {number} a token worth less than {BITS} bits")
    return Tokens(token for _, token in tokens)


def _at_once(path: str, flags: int) -> int:
    """Open a file, though it may be a pipe that nobody writes to."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def making(path: Path | str) -> str:
    """Return the command that makes a token file."""
    maker = 'python3 -c "import secrets; print(secrets.token_urlsafe())"'
    return f"(umask 077; {maker} > {shlex.quote(str(path))})"


def _check_private(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise _unusable(path, "is no file")
    if os.name == "posix" and status.st_mode & 0o077:
        raise ConfigError(
            f"{path} can be read by others (mode {stat.S_IMODE(status.st_mode):03o}).",
            hint=f"Make a new token, since that one is known: rm {shlex.quote(str(path))}; {making(path)}",
            details={"field": "token_file"},
        )


def _unusable(path: Path, what: str) -> ConfigError:
    return ConfigError(
        f"{path} {what}.", hint=f"Make a token: {making(path)}", details={"field": "token_file"}
    )


def _worth(token: str) -> float:
    """Return how many bits a token of this length and alphabet has at most."""
    letters = next((size for known, size in _ALPHABETS if set(token) <= set(known)), 64)
    return len(token) * math.log2(letters)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()
