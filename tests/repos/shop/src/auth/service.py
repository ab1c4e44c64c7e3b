"""Sign-in of registered customers."""

from dataclasses import dataclass

from auth.passwords import verify_password
from auth.tokens import TokenIssuer
from users.repository import UserRepository


class AuthenticationError(Exception):
    """Raised when the credentials do not match a customer."""


@dataclass
class Credentials:
    """What the login form sends."""

    email: str
    password: str


class AuthService:
    """Checks credentials and opens sessions."""

    def __init__(self, users: UserRepository, tokens: TokenIssuer) -> None:
        self.users = users
        self.tokens = tokens

    def login(self, credentials: Credentials) -> str:
        """Authenticate a user by e-mail and password and return a session token."""
        user = self.users.find_by_email(credentials.email)
        if user is None or not verify_password(credentials.password, user.password_hash):
            raise AuthenticationError(credentials.email)
        return self.tokens.issue(user.id)

    def logout(self, token: str) -> None:
        """Close the session of a token."""
        self.tokens.revoke(token)
