"""Run an instance until a signal stops it. Standard output stays empty."""

import logging
import sys
from contextlib import ExitStack
from functools import partial
from types import FrameType
from typing import NoReturn
from urllib.parse import urlsplit

import anyio

from code_intel.config import Settings
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.servers.http.address import Address, listen
from code_intel.servers.http.guard import Policy
from code_intel.servers.http.limits import Limits
from code_intel.servers.http.web import StoppableServer, serve_until_signal, web_config
from code_intel.servers.shared.access.oidc import TokenIssuer
from code_intel.servers.shared.access.token_file import TokenFile
from code_intel.servers.shared.access.verifier import Verifier
from code_intel.servers.shared.application import Application
from code_intel.servers.shared.audit import AuditLog
from code_intel.servers.shared.mcp_server import build_mcp_server
from code_intel.servers.shared.metrics import Metrics
from code_intel.servers.shared.rates import Rates
from code_intel.servers.shared.routes.health import Readiness
from code_intel.servers.shared.services import Services
from code_intel.servers.shared.settings import SharedSettings
from code_intel.shared.milvus import SharedIndex

BODY_SECONDS = 60.0
"""How long a body may take to arrive."""
EXIT_SECONDS = 1.0
"""How long the process may take to exit after the last request has ended."""


class DrainingServer(StoppableServer):
    """A web server that finishes running requests after a signal."""

    readiness: Readiness

    # typing.override needs 3.12.
    def handle_exit(  # type: ignore[explicit-override]
        self, sig: int, frame: FrameType | None
    ) -> None:
        """Take no more requests, and stop when the running ones have ended."""
        self.readiness.is_draining = True
        super().handle_exit(sig, frame)


def serve_shared(settings: SharedSettings, project: Settings) -> NoReturn:
    """Serve until SIGTERM (exit code 0) or SIGINT (130); never returns.

    Args:
        settings: The configuration of the instance.
        project: The settings that choose the model.

    Raises:
        UsageError: The address cannot be used.
        ConfigError: The token file cannot be used.
        BusyError: Another process uses the audit log, or the file of the engine.
        StorageError: The index was written by a newer version.
        UpstreamError: The engine does not answer.
    """
    logging.getLogger("mcp").setLevel(logging.ERROR)  # it logs every mistake of a client
    with ExitStack() as stack:
        services = open_services(settings, project, stack)
        address = listen_as(settings)
        application = Application(services, build_mcp_server(), policy_of(settings, address))
        web = web_server(application, address)
        serving = f"code-intel: serving {address.url}; every request needs a token"
        print(serving, file=sys.stderr, flush=True)  # noqa: T201 - its only output
        serve_until_signal(web, partial(run, application, web, address), stack.close)


def open_services(settings: SharedSettings, project: Settings, stack: ExitStack) -> Services:
    """Open what requests work with; `stack` closes it."""
    metrics, tokens, issuer = Metrics(), None, None
    if settings.token_file is not None:
        tokens = TokenFile(settings.token_file)
        metrics.watch(
            "token_file_age_seconds", "Since the token file was last looked at.", tokens.age
        )
    if settings.oidc is not None:
        issuer = TokenIssuer(settings.oidc)
    audit = AuditLog(settings.audit_file, with_questions=settings.audit_questions)
    stack.enter_context(audit.running())
    metrics.watch("audit_failures", "Lines that the audit log lacks.", lambda: audit.failures)
    embedder = LazyEmbedder(project, corpus="forest")
    embedder.is_long_lived = True
    return Services(
        settings=settings,
        index=stack.enter_context(
            SharedIndex.open(
                settings.engine, settings.engine_token(), partitions=settings.engine_partitions
            )
        ),
        embedder=embedder,
        verifier=Verifier(tokens, issuer, metrics.refuse_token),
        rates=Rates(settings.limits),
        audit=audit,
        metrics=metrics,
        threads=anyio.CapacityLimiter(settings.threads),
    )


def listen_as(settings: SharedSettings) -> Address:
    """Open the socket of an instance; requests may also use the host of `public_url`."""
    public = urlsplit(settings.public_url).hostname
    names = (*settings.allow_hosts, public) if public else settings.allow_hosts
    return listen(settings.host, settings.port, names=names, needs_token=True, field="port")


def policy_of(settings: SharedSettings, address: Address) -> Policy:
    """Return the conditions that a request must meet."""
    limits = Limits(
        body_bytes=max(settings.body_mib, settings.push_body_mib) << 20,
        body_seconds=BODY_SECONDS,
        connections=settings.connections,
    )
    return Policy(address, limits=limits)


def web_server(application: Application, address: Address) -> DrainingServer:
    """Return the web server of an instance."""
    settings = application.services.settings
    limits = policy_of(settings, address).limits
    web = DrainingServer(web_config(application.app, limits, graceful_s=settings.drain_s))
    web.shutdown_timeout_s = settings.drain_s + EXIT_SECONDS
    web.readiness = application.readiness
    return web


async def run(application: Application, web: DrainingServer, address: Address) -> None:
    """Serve until `web.should_exit`."""
    with address.socket:
        async with application.running():
            await web.serve(sockets=[address.socket])
