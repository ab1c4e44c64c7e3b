"""Trace requests and the work in them with OpenTelemetry.

The API comes with the MCP SDK and does nothing until an OpenTelemetry SDK is configured, such as by
`opentelemetry-instrument`. No span has the text of a question or code.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import propagate, trace
from opentelemetry.trace import SpanKind, Status, StatusCode
from starlette.types import Scope

from code_intel.servers.shared.audit import RequestLog

FIRST_SERVER_ERROR = 500


@contextmanager
def request_span(scope: Scope, record: RequestLog) -> Iterator[None]:
    """Trace a request; the span continues the trace that the client names in `traceparent`."""
    headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
    context, name = propagate.extract(headers), f"{scope['method']} request"
    with _tracer().start_as_current_span(name, context=context, kind=SpanKind.SERVER) as span:
        try:
            yield
        finally:
            span.update_name(f"{scope['method']} {record.route or 'none'}")
            span.set_attributes(
                {
                    "http.request.method": scope["method"],
                    "http.route": record.route,
                    "http.response.status_code": record.status,
                    "user.id": record.principal,
                    "code_intel.request": record.id,
                    "code_intel.tool": record.tool,
                }
            )
            if record.status >= FIRST_SERVER_ERROR:
                span.set_status(Status(StatusCode.ERROR))


@contextmanager
def work_span(name: str, repositories: int = 0) -> Iterator[None]:
    """Trace a part of a request, such as a search in the engine."""
    with _tracer().start_as_current_span(name) as span:
        span.set_attribute("code_intel.repositories", repositories)
        yield


def _tracer() -> trace.Tracer:
    return trace.get_tracer("code_intel.shared")
