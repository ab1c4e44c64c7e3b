"""An index with three repositories of two teams."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from code_intel.shared.milvus import SharedIndex
from pushes import pushed

SHOP = {
    "auth/login.py": (
        '"""Sign users in."""\n\n\ndef login(user: str, password: str) -> bool:\n'
        '    """Check the password of a user."""\n    return bool(user and password)\n'
    ),
    "cart/totals.py": (
        '"""Add up carts."""\n\n\ndef cart_total(prices: list[int]) -> int:\n'
        '    """Return the sum of the prices in a cart."""\n    return sum(prices)\n'
    ),
}
WEB = {
    "src/session.py": (
        '"""Keep sessions."""\n\n\nclass Session:\n    """A user who has signed in."""\n\n'
        '    def login(self, user: str) -> None:\n        """Begin a session."""\n'
    ),
}
VAULT = {
    "keys/unseal.py": (
        '"""Open the vault."""\n\n\ndef unseal_quorum(shares: list[bytes]) -> bytes:\n'
        '    """Join key shares; login comes later, and cart_total is not used."""\n'
        '    return b"".join(shares)\n'
    ),
    "keys/login.py": 'def login(share: bytes) -> bool:\n    """Sign in to the vault."""\n',
}


@pytest.fixture(scope="session")
def shared_index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedIndex]:
    """The repositories team/shop, team/web and secret/vault."""
    folder: Path = tmp_path_factory.mktemp("shared") / "milvus"
    with SharedIndex.open(str(folder)) as index:
        pushed(index, "team/shop", SHOP, commit="a" * 40)
        pushed(index, "team/web", WEB, commit="b" * 40)
        pushed(index, "secret/vault", VAULT, commit="c" * 40)
        yield index
