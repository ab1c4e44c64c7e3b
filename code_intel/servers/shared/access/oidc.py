"""Check the JWTs of one OIDC issuer with the keys that it publishes (JWKS).

Only the configured asymmetric algorithms are accepted, so a token cannot choose `none`, nor have
the public key used as the secret of an HMAC. Claims are turned into grants by a table.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jwt
from jwt import PyJWKClient

from code_intel.errors import UsageError
from code_intel.servers.shared.access.principal import Grant, Principal, grant_of
from code_intel.servers.shared.settings import Issuer

MAX_TOKEN_CHARS = 12_000
KEYS_LIFESPAN_S = 45
"""How long published keys are used; a key that the issuer withdraws is refused within a minute."""
NEW_KEY_PAUSE_S = 10
"""Shortest time between two fetches because of an unknown key, or after a failure."""
FETCH_TIMEOUT_S = 5
REQUIRED = ["exp", "iat", "iss", "aud", "sub"]


class PublishedKeys(PyJWKClient):
    """The keys of an issuer. After a failed fetch, the next one waits for a pause."""

    def __init__(self, url: str, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(
            url,
            lifespan=KEYS_LIFESPAN_S,
            timeout=FETCH_TIMEOUT_S,
            cooldown_duration=NEW_KEY_PAUSE_S,
        )
        self._clock = clock
        self._failed_at = -float(NEW_KEY_PAUSE_S)

    # typing.override needs 3.12.
    def fetch_data(self) -> Any:  # type: ignore[explicit-override]
        """Fetch the keys.

        Raises:
            PyJWKClientError: They cannot be fetched, or a fetch has just failed.
        """
        if self._clock() - self._failed_at < NEW_KEY_PAUSE_S:
            raise jwt.PyJWKClientConnectionError("the keys could not be fetched a moment ago")
        try:
            return super().fetch_data()
        except (jwt.PyJWTError, ValueError, OSError) as error:
            self._failed_at = self._clock()
            raise jwt.PyJWKClientConnectionError(f"the keys cannot be fetched: {error}") from error


class TokenIssuer:
    """Accepts the tokens of an issuer. Thread-safe; the first token fetches the keys."""

    def __init__(self, issuer: Issuer) -> None:
        self._issuer = issuer
        self._keys = PublishedKeys(issuer.jwks_url)

    def find(self, token: str) -> Principal | str:
        """Return who sends a token, or the reason why it is refused. May block for seconds."""
        if len(token) > MAX_TOKEN_CHARS:
            return "too long token"
        try:
            key_id = jwt.get_unverified_header(token).get("kid")
            if not isinstance(key_id, str):
                return "no kid in token"
            claims = jwt.decode(
                token,
                self._keys.get_signing_key(key_id),
                algorithms=list(self._issuer.algorithms),
                audience=self._issuer.audience,
                issuer=self._issuer.issuer,
                leeway=self._issuer.leeway_s,
                options={"require": REQUIRED},
            )
        except jwt.PyJWTError as error:
            return type(error).__name__
        except (ValueError, TypeError) as error:  # of a key whose type does not fit
            return type(error).__name__
        return Principal(f"oidc:{claims['sub']}", tuple(self._grants(claims)))

    def _grants(self, claims: Mapping[str, Any]) -> Iterable[Grant]:
        for row in self._issuer.grants:
            pattern = Grant("read", row.value)
            for value in _values(claims, row.claim):
                if not pattern.allows("read", value):
                    continue
                for text in row.grants:
                    if "{value}" in text and "*" in value:
                        continue  # a claim must not become a wildcard
                    try:
                        yield grant_of(text.replace("{value}", value))
                    except UsageError:
                        continue  # the value cannot name a repository


def _values(claims: Mapping[str, Any], name: str) -> list[str]:
    """Return the texts of a claim."""
    found: Any = claims.get(name)
    if found is None and "." in name:
        found = claims
        for part in name.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
    if isinstance(found, str):
        return found.split() if name == "scope" else [found]
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []
