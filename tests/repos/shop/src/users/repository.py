"""Customers in the database."""

import sqlite3
from dataclasses import dataclass


@dataclass
class User:
    """A registered customer."""

    id: int
    email: str
    password_hash: str
    display_name: str = ""


class UserRepository:
    """Reads and writes customers."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def find_by_email(self, email: str) -> User | None:
        """Look a customer up by e-mail address."""
        row = self.connection.execute(
            "SELECT id, email, password_hash, display_name FROM users WHERE email = ?", (email,)
        ).fetchone()
        return User(*row) if row else None

    def insert(self, user: User) -> None:
        """Store a new customer."""
        self.connection.execute(
            "INSERT INTO users (email, password_hash, display_name) VALUES (?, ?, ?)",
            (user.email, user.password_hash, user.display_name),
        )
