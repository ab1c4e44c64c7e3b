"""Run an OIDC issuer in a thread: it signs JWTs and publishes its keys over HTTP."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

AUDIENCE = "https://code.example.com/mcp"


class OidcIssuer:
    """An issuer; `url` is its identity, and `jwks_url` has its public keys.

    Attributes:
        fetches: How often the keys were fetched.
        is_broken: Whether fetching the keys fails.
    """

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.jwks_url = f"{self.url}/keys"
        self.fetches = 0
        self.is_broken = False
        self._private: dict[str, Any] = {}
        self.add_key("first")

    def add_key(self, name: str, *, curve: bool = False) -> None:
        """Make a key and publish it."""
        key = (
            ec.generate_private_key(ec.SECP256R1())
            if curve
            else rsa.generate_private_key(public_exponent=65537, key_size=2048)
        )
        self._private[name] = key

    def withdraw_key(self, name: str) -> None:
        """Publish a key no longer."""
        del self._private[name]

    def private_key(self, name: str = "first") -> Any:
        return self._private[name]

    def public_pem(self, name: str = "first") -> bytes:
        pem: bytes = (
            self._private[name]
            .public_key()
            .public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        )
        return pem

    def keys(self) -> dict[str, Any]:
        """Return the published keys."""
        published = []
        for name, key in self._private.items():
            kind = ECAlgorithm if isinstance(key, ec.EllipticCurvePrivateKey) else RSAAlgorithm
            alg = "ES256" if kind is ECAlgorithm else "RS256"
            jwk = json.loads(kind.to_jwk(key.public_key()))
            published.append({**jwk, "kid": name, "use": "sig", "alg": alg})
        return {"keys": published}

    def claims(self, **changes: Any) -> dict[str, Any]:
        """Return the claims of a valid token; a claim that is None is left out."""
        now = int(time.time())
        claims = {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": "alice",
            "iat": now,
            "exp": now + 300,
            "groups": ["payments"],
            **changes,
        }
        return {name: value for name, value in claims.items() if value is not None}

    def token(self, key: str = "first", *, algorithm: str = "RS256", **changes: Any) -> str:
        """Return a signed token."""
        return jwt.encode(
            self.claims(**changes), self._private[key], algorithm, headers={"kid": key}
        )


@contextmanager
def oidc_issuer() -> Iterator[OidcIssuer]:
    """Run an issuer on a free port."""
    found: list[OidcIssuer] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            issuer = found[0]
            issuer.fetches += 1
            body = json.dumps(issuer.keys()).encode()
            self.send_response(500 if issuer.is_broken else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        # typing.override needs 3.12.
        def log_message(self, *_args: object) -> None:  # type: ignore[explicit-override]
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.append(OidcIssuer(server.server_address[1]))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield found[0]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
