"""What requests work with, and what a handler knows about its caller."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from anyio import CapacityLimiter
from starlette.requests import Request

from code_intel.embedding.lazy import LazyEmbedder
from code_intel.errors import BusyError, CodeIntelError, NotFoundError
from code_intel.servers.shared.access.principal import Principal, Scope
from code_intel.servers.shared.access.verifier import Verifier
from code_intel.servers.shared.audit import AuditLog, RequestLog
from code_intel.servers.shared.metrics import Metrics
from code_intel.servers.shared.rates import LATER, BodyBudget, Rates
from code_intel.servers.shared.settings import SharedSettings

if TYPE_CHECKING:
    from code_intel.shared.milvus import SharedIndex


QUEUE_FACTOR = 8
"""How many requests may wait, as a multiple of those that work."""


@dataclass(frozen=True)
class Services:
    """What an instance works with, the same for all requests.

    Attributes:
        settings: The configuration.
        index: The shared index.
        embedder: The model for questions; it may be unavailable.
        verifier: Accepts or refuses tokens.
        rates: What each sender may do.
        audit: The log of requests.
        metrics: The metrics.
        threads: Limits how many requests work at the same time.
        bodies: Limits the memory of bodies.
    """

    settings: SharedSettings
    index: "SharedIndex"
    embedder: LazyEmbedder
    verifier: Verifier
    rates: Rates
    audit: AuditLog
    metrics: Metrics
    threads: CapacityLimiter
    bodies: BodyBudget = field(default_factory=BodyBudget)

    def check_queue(self) -> None:
        """Refuse a request if so many wait that it would be answered too late.

        Raises:
            BusyError: That is so.
        """
        waiting = self.threads.statistics().tasks_waiting
        if waiting >= QUEUE_FACTOR * self.threads.total_tokens:
            raise BusyError("Too many requests wait for this instance.", hint=LATER)


class ScopeError(CodeIntelError):
    """The token does not allow what was requested in a repository that it may read."""

    code = "forbidden"
    remedy = "Use a token with the scope that the message names."


class Caller(NamedTuple):
    """Who sent a request, and what it works with.

    Attributes:
        principal: Who sent it.
        record: Its record in the audit log; handlers add repositories and the question.
        services: What the instance works with.
    """

    principal: Principal
    record: RequestLog
    services: Services

    def require(self, scope: Scope, repository: str) -> None:
        """Check that the caller may do that in a repository, which need not exist.

        Raises:
            NotFoundError: It may not read the repository; the same as for one that does not exist.
            ScopeError: It may read the repository, but not do that.
        """
        self.record.add_repositories([repository])
        if not self.principal.may_read(repository):
            raise not_found(repository)
        if not self.principal.may(scope, repository):
            raise ScopeError(f"The token has no {scope} scope for {repository[:200]}.")


def not_found(repository: str) -> NotFoundError:
    """Return the error for a repository that does not exist, or that the caller may not read."""
    return NotFoundError(
        f"There is no repository {repository[:200]}, or the token may not read it.",
        hint="list_repositories and GET /v1/repositories show those that it may read.",
        details={"field": "repository"},
    )


def caller_of(request: Request) -> Caller:
    """Return who sent a request that the guard has let through."""
    state = request.state
    return Caller(state.principal, state.record, state.services)
