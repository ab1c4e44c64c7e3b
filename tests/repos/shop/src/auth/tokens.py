"""Session tokens."""

import secrets
import time


class TokenIssuer:
    """Issues, checks and revokes opaque session tokens."""

    def __init__(self, lifetime_seconds: int = 3600) -> None:
        self.lifetime_seconds = lifetime_seconds
        self._sessions: dict[str, tuple[int, float]] = {}

    def issue(self, user_id: int) -> str:
        """Create a token for a user."""
        token = secrets.token_urlsafe(32)
        self._sessions[token] = (user_id, time.time() + self.lifetime_seconds)
        return token

    def revoke(self, token: str) -> None:
        """Forget a token."""
        self._sessions.pop(token, None)

    def user_of(self, token: str) -> int | None:
        """Return the user a token belongs to, or None once it has expired."""
        user_id, expires = self._sessions.get(token, (0, 0.0))
        return user_id if expires > time.time() else None
