"""Sample files, their index, and files as the ranking finds them."""

from collections.abc import Mapping
from pathlib import Path

from code_intel.chunking import parse_file
from code_intel.forest.ranking.evidence import File
from code_intel.index.rows import ChunkPlace, DocumentRow
from code_intel.index.store import Store
from doubles import HashEmbedder
from index.samples import put_vectors

FILES = {
    "src/auth/service.py": '''\
"""Signs users in and out."""


class AuthService:
    """Checks passwords and hands out tokens."""

    def login(self, user, password):
        """Check a password and return a session token."""
        return self.tokens.issue(user, password)

    def logout(self, token):
        self.tokens.revoke(token)
''',
    "src/auth/tokens.py": '''\
class TokenStore:
    """Keeps session tokens until they expire."""

    def issue(self, user, password): ...
    def revoke(self, token): ...
''',
    "src/web/routes.py": '''\
from src.auth.service import AuthService


def post_login(request):
    """Handle the login form."""
    return AuthService().login(request.user, request.password)
''',
    "src/shop/cart.py": '''\
class Cart:
    """What a customer is about to buy."""

    def total_price(self, discount):
        """Sum the prices, less the discount."""
''',
    "src/compat/cart.py": "def total_price(cart):\n    return cart.total_price(discount=0)\n",
    "tests/auth/test_service.py": """\
from src.auth.service import AuthService


def test_login_checks_the_password_and_returns_a_session_token():
    service = AuthService()
    assert service.login("user", "password") == "session token"
    assert service.login("user", "password") == service.login("user", "password")
""",
    "examples/login.py": (
        "service = AuthService()\nservice.login('me', 'password')  # session token\n"
    ),
    "docs/login.md": (
        "# Login\n\n`AuthService.login` checks a password and returns a session token.\n"
    ),
    "web/src/format.ts": """\
/** Formats an amount of money. */
export function formatMoney(amount: number, currency: string): string {
  const rounded = Math.round(amount * 100) / 100
  return `${rounded} ${currency}`
}
""",
    "web/format.js": """\
/** Formats an amount of money. */
export function formatMoney(amount, currency) {
  const rounded = Math.round(amount * 100) / 100
  return `${rounded} ${currency}`
}
""",
    "web/format.d.ts": """\
/** Formats an amount of money. */
export declare function formatMoney(amount: number, currency: string): string
""",
}


def plant(path: Path, files: Mapping[str, str], embedder: HashEmbedder | None = None) -> Store:
    """Index `files` into a new database at `path`, with vectors if there is an embedder."""
    store = Store.open(path)
    for name, text in files.items():
        parsed = parse_file(name, text)
        store.put_document(DocumentRow(name, digest=name, language=parsed.language), parsed)
    if embedder is not None:
        waiting = store.pending(1000)
        vectors = embedder.passages([card for _, card in waiting])
        chunks = [chunk for chunk, _ in waiting]
        put_vectors(store, list(zip(chunks, vectors, strict=True)), identity=embedder.identity)
    return store


def file(path: str, *texts: str, **values: float) -> File:
    """Return a file with one chunk per text; `values` are measures of the first chunk."""
    rows = [
        ChunkPlace(place + 1, path, place, "python", names="")
        for place, _ in enumerate(texts or ("",))
    ]
    made = File(path, rows=rows, texts=dict(enumerate(texts or ("",), start=1)))
    for name, value in values.items():
        getattr(made, name)[1] = value
    return made
