"""Handles: a session is used with its handle, which only its owner knows (docs/decisions/0029).

    session_20260102_030406_0000000a_00112233445566778899aabbccddeeff
    └──────────── name ────────────┘ └──────────── secret ──────────┘

The name is public: files, logs, agreements and the terminal show it. The secret is returned by
start_session only; the journal keeps its SHA-256, the seal.
"""

import hashlib
import hmac
import os
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from code_intel.errors import SessionError

Token = Callable[[], str]
"""Returns the last part of a name: 8 hex digits."""

SESSION_NAME_PATTERN = re.compile(r"session_[0-9]{8}_[0-9]{6}_[0-9a-f]{8}")
_HANDLE = re.compile(rf"({SESSION_NAME_PATTERN.pattern})(?:_([0-9a-f]{{32}}))?")
_SHOWN_CHARS = 32
"""How much of a malformed handle a message quotes: no more than a name, never a secret."""


class Handle(NamedTuple):
    """A session's name and secret."""

    name: str
    secret: str

    @property
    def text(self) -> str:
        """The `session_id` that tools take."""
        return f"{self.name}_{self.secret}"

    @property
    def seal(self) -> str:
        """The hash of the secret, which the journal keeps."""
        return hashlib.sha256(self.secret.encode("ascii")).hexdigest()

    def opens(self, seal: str) -> bool:
        """Return whether the secret matches `seal`, in constant time."""
        return hmac.compare_digest(self.seal, seal)


def random_token() -> str:
    """Return 8 random hex digits, so that sessions of the same second have different names."""
    return os.urandom(4).hex()


def mint(now: datetime, token: Token = random_token) -> Handle:
    """Return a new handle; `now` goes into the name in UTC."""
    name = f"session_{now.astimezone(UTC):%Y%m%d_%H%M%S}_{token()}"
    return Handle(name, os.urandom(16).hex())


def parse(text: str) -> Handle:
    """Return the handle that `text` spells.

    Raises:
        SessionError: It is malformed, or a name without its secret.
    """
    found = _HANDLE.fullmatch(text)
    if found is None:
        raise SessionError(f"{text[:_SHOWN_CHARS]!a} is not a session id.")
    if found[2] is None:
        raise SessionError(
            f"{found[1]} is the name of a session; the session_id that start_session returned is "
            "longer."
        )
    return Handle(found[1], found[2])


def unknown(name: str) -> SessionError:
    """Return the error for a missing session, which is also the error for a wrong secret."""
    return SessionError(f"There is no session {name}.")
