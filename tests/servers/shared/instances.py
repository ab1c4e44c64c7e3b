"""Run an instance of the shared server in a thread of the test."""

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio

from code_intel.embedding.lazy import LazyEmbedder
from code_intel.servers.http.address import listen
from code_intel.servers.shared.access.oidc import TokenIssuer
from code_intel.servers.shared.access.principal import grant_of
from code_intel.servers.shared.access.token_file import (
    TokenFile,
    TokenTable,
    change_tokens,
    new_token,
)
from code_intel.servers.shared.access.verifier import Verifier
from code_intel.servers.shared.application import Application
from code_intel.servers.shared.audit import AuditLog
from code_intel.servers.shared.mcp_server import build_mcp_server
from code_intel.servers.shared.metrics import Metrics
from code_intel.servers.shared.rates import Rates
from code_intel.servers.shared.routes.api import ApiRoute
from code_intel.servers.shared.routes.table import ROUTES
from code_intel.servers.shared.services import Services
from code_intel.servers.shared.serving import policy_of, run, web_server
from code_intel.servers.shared.settings import SharedSettings
from served import settings_of
from servers.http_processes import PATIENCE, Reply, ask


@dataclass
class Instance:
    """A running instance.

    Attributes:
        port: Where it listens.
        folder: Its folder, with the token file and the audit log.
        services: What its requests work with.
    """

    port: int
    folder: Path
    services: Services

    @property
    def tokens(self) -> Path:
        return self.folder / "tokens.json"

    def token(self, *grants: str, **changes: Any) -> str:
        """Create a token, and let the instance read it."""
        token, _ = self.token_and_id(*grants, **changes)
        return token

    def token_and_id(self, *grants: str, **changes: Any) -> tuple[str, str]:
        token, row = new_token(
            "test", [grant_of(text) for text in grants], now=datetime.now(UTC), **changes
        )
        change_tokens(self.tokens, lambda table: table.with_row(row))
        self.follow()
        return token, row.id

    def follow(self) -> None:
        """Let the instance read the token file now, not within a second."""
        tokens = self.services.verifier.tokens
        assert tokens is not None
        tokens.update()

    def ask(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        token: str = "",
        headers: dict[str, str] | None = None,
    ) -> Reply:
        sent = {"Authorization": f"Bearer {token}"} if token else {}
        return ask(self.port, method, path, body, sent | (headers or {}))

    def lines(self, count: int) -> list[dict[str, Any]]:
        """Return the lines of the audit log; wait for them, because they follow the answers."""
        deadline = time.monotonic() + PATIENCE
        while len(self.log()) < count:
            assert time.monotonic() < deadline
        return self.log()

    def log(self) -> list[dict[str, Any]]:
        """Return the lines of the audit log that are written now."""
        path = self.folder / "audit.jsonl"
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        return [json.loads(line) for line in text.splitlines()]


@contextmanager
def instance(
    folder: Path,
    index: Any = None,
    *,
    routes: Sequence[ApiRoute] = ROUTES,
    embedding: str = "off",
    **settings: Any,
) -> Iterator[Instance]:
    """Run an instance on a free port, with a token file and an audit log in `folder`.

    Args:
        folder: The folder.
        index: The shared index; None for tests whose requests never reach it.
        routes: The routes of its API.
        embedding: The setting that chooses the model.
        **settings: Changes of its configuration.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "tokens.json").exists():
        change_tokens(folder / "tokens.json", lambda _table: TokenTable())
    given = {
        "engine": "unused",
        "token_file": folder / "tokens.json",
        "audit_file": folder / "audit.jsonl",
        **settings,
    }
    configured = SharedSettings.model_validate(given)
    metrics = Metrics()
    tokens = TokenFile(folder / "tokens.json")
    issuer = TokenIssuer(configured.oidc) if configured.oidc else None
    audit = AuditLog(configured.audit_file, with_questions=configured.audit_questions)
    services = Services(
        settings=configured,
        index=index,
        embedder=LazyEmbedder(settings_of(folder, embedding), corpus="forest"),
        verifier=Verifier(tokens, issuer, metrics.refuse_token),
        rates=Rates(configured.limits),
        audit=audit,
        metrics=metrics,
        threads=anyio.CapacityLimiter(configured.threads),
    )
    address = listen("127.0.0.1", 0, needs_token=True)
    policy = policy_of(configured, address)
    application = Application(services, build_mcp_server(), policy, routes)
    web = web_server(application, address)
    with ExitStack() as stack:
        stack.enter_context(audit.running())
        thread = threading.Thread(
            target=anyio.run, args=(run, application, web, address), daemon=True
        )
        thread.start()
        try:
            yield Instance(address.port, folder, services)
        finally:
            web.should_exit = True
            thread.join(PATIENCE)
