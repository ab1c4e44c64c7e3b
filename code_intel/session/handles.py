"""Handles: whoever has one may use its session, and nobody else (docs/decisions/0029).

    session_20260102_030406_0000000a_00112233445566778899aabbccddeeff
    └──────────── name ────────────┘ └──────────── secret ──────────┘

The name is public: files, logs, agreements and the terminal say it. The secret is told to whoever
starts the session; of it only the seal, its SHA-256, is kept.
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
"""What makes the last part of a name: 8 hex digits."""

NAME = re.compile(r"session_[0-9]{8}_[0-9]{6}_[0-9a-f]{8}")
_HANDLE = re.compile(rf"({NAME.pattern})(?:_([0-9a-f]{{32}}))?")
_SHOWN = 32  # characters of what is no handle: no more than a name, never a secret


class Handle(NamedTuple):
    """A session's name, and the secret that its owner knows; empty when only the name was said."""

    name: str
    secret: str

    @property
    def text(self) -> str:
        """What its owner is told, and passes as `session_id`."""
        return f"{self.name}_{self.secret}"

    @property
    def seal(self) -> str:
        """What is kept of the secret."""
        return hashlib.sha256(self.secret.encode("ascii")).hexdigest()

    def opens(self, seal: str) -> bool:
        """Whether the secret is the one that was sealed; takes as long when it is not."""
        return bool(self.secret) and hmac.compare_digest(self.seal, seal)


def random_token() -> str:
    """Return 8 random hex digits: two sessions of one second have two names."""
    return os.urandom(4).hex()


def mint(now: datetime, token: Token = random_token) -> Handle:
    """Return a new handle; `now` goes into the name in UTC."""
    name = f"session_{now.astimezone(UTC):%Y%m%d_%H%M%S}_{token()}"
    return Handle(name, os.urandom(16).hex())


def parse(text: str) -> Handle:
    """Return the handle that `text` is.

    Raises:
        SessionError: It has not the form of one; a name without its secret opens nothing.
    """
    found = _HANDLE.fullmatch(text)
    if found is None:
        raise SessionError(f"{text[:_SHOWN]!a} is no session id.")
    if found[2] is None:
        raise SessionError(
            f"{found[1]} is the name of a session; the session_id that start_session returned is longer."
        )
    return Handle(found[1], found[2])


def unknown(name: str) -> SessionError:
    """Return the refusal of a session that is not there, or not for whoever asks."""
    return SessionError(f"There is no session {name}.")
