"""Verify the bearer token of a request, as the MCP SDK's resource server demands."""

from collections.abc import Callable

import anyio
from anyio import to_thread
from mcp.server.auth.provider import AccessToken
from pydantic import SkipValidation

from code_intel.servers.shared.access.oidc import TokenIssuer
from code_intel.servers.shared.access.principal import Principal
from code_intel.servers.shared.access.token_file import LOOK_SECONDS, TokenFile

MAX_FETCHES = 4
"""How many threads check JWTs, so that a slow issuer leaves the others for searches."""


class PrincipalToken(AccessToken):
    """An accepted token, with its sender."""

    principal: SkipValidation[Principal]


class Verifier:
    """The SDK's `TokenVerifier` over a token file and an OIDC issuer.

    Args:
        tokens: The token file, if there is one.
        issuer: The issuer, if there is one.
        refused: Is called with the reason of each refusal; the client does not learn it.
    """

    def __init__(
        self,
        tokens: TokenFile | None,
        issuer: TokenIssuer | None,
        refused: Callable[[str], None] = lambda _reason: None,
    ) -> None:
        self.tokens = tokens
        self._issuer = issuer
        self._refused = refused
        self._limiter = anyio.CapacityLimiter(MAX_FETCHES)

    async def verify_token(self, token: str) -> PrincipalToken | None:
        """Return who sends a token, or None if it is refused."""
        found = await self._find(token)
        if isinstance(found, Principal) and self._is_denied(found):
            found = "denied principal"
        if isinstance(found, str):
            self._refused(found)
            return None
        scopes: list[str] = sorted({grant.scope for grant in found.grants})
        return PrincipalToken(token="", client_id=found.id, scopes=scopes, principal=found)

    async def watch(self) -> None:
        """Follow the changes of the token file until cancelled."""
        while self.tokens is not None:
            await anyio.sleep(LOOK_SECONDS)
            await to_thread.run_sync(self.tokens.update)

    async def _find(self, token: str) -> Principal | str:
        if self.tokens is not None and (self._issuer is None or token.startswith("ci_")):
            return self.tokens.find(token)
        if self._issuer is None:
            return "unknown token"
        return await to_thread.run_sync(self._issuer.find, token, limiter=self._limiter)

    def _is_denied(self, principal: Principal) -> bool:
        return self.tokens is not None and self.tokens.is_denied(principal.id)
