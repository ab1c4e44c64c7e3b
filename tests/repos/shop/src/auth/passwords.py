"""Password hashing."""

import hashlib
import hmac
import os

ITERATIONS = 200_000


def hash_password(password: str) -> str:
    """Derive a salted hash that is safe to store."""
    salt = os.urandom(16)
    digest = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, ITERATIONS)
    return salt.hex() + ":" + digest.hex()


def verify_password(password: str, stored: str) -> bool:
    """Compare a password with a stored hash in constant time."""
    salt, expected = stored.split(":")
    digest = hashlib.pbkdf2_hmac("sha256", password.encode(), bytes.fromhex(salt), ITERATIONS)
    return hmac.compare_digest(digest.hex(), expected)
