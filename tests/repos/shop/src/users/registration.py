"""Creating accounts."""

from auth.passwords import hash_password
from notifications.mailer import Mailer
from users.repository import User, UserRepository


class EmailTakenError(Exception):
    """Raised when an account with this address exists."""


class RegistrationService:
    """Signs up new customers."""

    def __init__(self, users: UserRepository, mailer: Mailer) -> None:
        self.users = users
        self.mailer = mailer

    def register(self, email: str, password: str) -> None:
        """Create an account and send the welcome mail."""
        if self.users.find_by_email(email) is not None:
            raise EmailTakenError(email)
        self.users.insert(User(0, email, hash_password(password)))
        self.mailer.send(email, "Welcome", "Thank you for joining us.")
