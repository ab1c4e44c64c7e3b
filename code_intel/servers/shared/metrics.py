"""Count and time requests for Prometheus. No label has a repository or a sender."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from code_intel.servers.shared.audit import RequestLog

CONTENT_TYPE = CONTENT_TYPE_LATEST
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
"""Upper bounds of the buckets of durations."""
BYTES = (1 << 10, 1 << 14, 1 << 17, 1 << 20, 1 << 23, 1 << 26)
"""Upper bounds of the buckets of sizes."""


class Metrics:
    """The metrics of one instance; docs/shared-server.md lists them."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        prefix = "code_intel_"
        self._requests = Counter(
            f"{prefix}requests", "Answered requests.", ("route", "tool", "status"),
            registry=self.registry,
        )  # fmt: skip
        self._seconds = Histogram(
            f"{prefix}request_seconds", "Duration of requests.", ("route", "tool"),
            buckets=SECONDS, registry=self.registry,
        )  # fmt: skip
        self._received = Histogram(
            f"{prefix}received_bytes", "Size of bodies of requests.", ("route",),
            buckets=BYTES, registry=self.registry,
        )  # fmt: skip
        self._running = Gauge(
            f"{prefix}running_requests", "Requests that are being answered.",
            registry=self.registry,
        )  # fmt: skip
        self._refused_tokens = Counter(
            f"{prefix}refused_tokens", "Refused tokens.", ("reason",), registry=self.registry
        )
        self._refused = Counter(
            f"{prefix}refused_requests", "Requests that a check or a limit refused.", ("reason",),
            registry=self.registry,
        )  # fmt: skip

    def watch(self, name: str, about: str, value: Callable[[], float]) -> None:
        """Report a value that is read when the metrics are."""
        Gauge(f"code_intel_{name}", about, registry=self.registry).set_function(value)

    def begin(self) -> None:
        """Count a request that begins."""
        self._running.inc()

    def end(self, record: RequestLog) -> None:
        """Count a request that has ended."""
        self._running.dec()
        route = record.route or "none"
        self._requests.labels(route, record.tool, str(record.status)).inc()
        self._seconds.labels(route, record.tool).observe(record.seconds())
        self._received.labels(route).observe(record.received)
        if record.refused:
            self._refused.labels(record.refused).inc()

    def refuse_token(self, reason: str) -> None:
        """Count a refused token."""
        self._refused_tokens.labels(reason).inc()

    def text(self) -> bytes:
        """Return all metrics in Prometheus's text format."""
        return generate_latest(self.registry)
