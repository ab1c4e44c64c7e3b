"""Say what the sender of a request may do with which repositories.

A grant is written `SCOPE:PATTERN`, such as `read:payments/*`. In a pattern, `*` matches any
characters but `/`, and `**` also matches `/`. A scope includes those before it in `SCOPES`.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple, get_args

import re2

from code_intel.errors import UsageError

Scope = Literal["read", "push", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
"""`read` asks, `push` also writes generations, `admin` also removes them and reads metrics."""
MAX_PATTERN_CHARS = 200
_PATTERN = re.compile(r"[A-Za-z0-9._/*@+~-]{1,200}")
_WILDCARD = re.compile(r"\*\*|\*")


class Grant(NamedTuple):
    """Allows a scope, and those that it includes, in the repositories that a pattern matches."""

    scope: Scope
    pattern: str

    @property
    def text(self) -> str:
        """The grant as it is written."""
        return f"{self.scope}:{self.pattern}"

    def allows(self, scope: Scope, repository: str) -> bool:
        """Return whether this grant allows a scope in a repository."""
        is_included = SCOPES.index(scope) <= SCOPES.index(self.scope)
        return is_included and bool(_compiled(self.pattern).fullmatch(repository))


def grant_of(text: str, field: str = "grant") -> Grant:
    """Read a grant.

    Raises:
        UsageError: The scope does not exist, or the pattern has characters that no name has.
    """
    scope, colon, pattern = text.partition(":")
    if not colon or scope not in SCOPES:
        raise UsageError(
            f"{field} {text[:100]!r} does not begin with read:, push: or admin:.",
            hint="Write a scope, a colon and a pattern of repository names: read:payments/*",
            details={"field": field},
        )
    if not _PATTERN.fullmatch(pattern):
        raise UsageError(
            f"{field} {text[:100]!r} has no pattern of repository names.",
            hint="Use letters, digits, ._/@+~- and the wildcards * and **: read:payments/*",
            details={"field": field},
        )
    return Grant(scope, pattern)


@dataclass(frozen=True)
class Principal:
    """The sender of a request.

    Attributes:
        id: `token:` and the token's id, or `oidc:` and the subject; logs show it.
        grants: What it may do; everything else is refused.
        requests_per_minute: Its own rate limit; 0 for that of the server.
    """

    id: str
    grants: tuple[Grant, ...] = ()
    requests_per_minute: int = 0

    def may(self, scope: Scope, repository: str) -> bool:
        """Return whether it may do that in a repository, whether or not the repository exists."""
        return any(grant.allows(scope, repository) for grant in self.grants)

    def may_read(self, repository: str) -> bool:
        """Return whether it may learn that a repository exists, and read it."""
        return self.may("read", repository)

    def is_pusher(self) -> bool:
        """Return whether it may push to any repository."""
        return any(grant.scope != "read" for grant in self.grants)

    def is_admin(self) -> bool:
        """Return whether it administers any repository."""
        return any(grant.scope == "admin" for grant in self.grants)


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> "re2._Regexp[str]":
    """Return the expression of a pattern; it matches in linear time."""
    parts, end = [], 0
    for wildcard in _WILDCARD.finditer(pattern):
        parts += [re.escape(pattern[end : wildcard.start()])]
        parts += [".*" if wildcard[0] == "**" else "[^/]*"]
        end = wildcard.end()
    return re2.compile("".join((*parts, re.escape(pattern[end:]))))
