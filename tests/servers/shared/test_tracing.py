"""Requests are spans of OpenTelemetry if an SDK is configured."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from servers.http_processes import PATIENCE
from servers.shared.instances import Instance, instance
from servers.shared.test_requests import ROUTES

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture(scope="module")
def exporter() -> InMemorySpanExporter:
    found = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(found))
    trace.set_tracer_provider(provider)
    return found


@pytest.fixture
def running(exporter: InMemorySpanExporter, tmp_path: Path) -> Iterator[Instance]:
    with instance(tmp_path / "one", routes=ROUTES) as started:
        exporter.clear()
        yield started


def span_of(exporter: InMemorySpanExporter) -> ReadableSpan:
    """Return the span of the only request; it ends after the answer was sent."""
    deadline = time.monotonic() + PATIENCE
    while not (spans := exporter.get_finished_spans()):
        assert time.monotonic() < deadline
    return spans[-1]


def test_a_request_continues_the_trace_of_its_client(
    running: Instance, exporter: InMemorySpanExporter
) -> None:
    token, token_id = running.token_and_id("read:team/*")
    headers = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
    reply = running.ask("POST", "/v1/echo", b"secret text", token, headers)
    span = span_of(exporter)
    assert (span.name, span.kind) == ("POST /v1/echo", SpanKind.SERVER)
    assert span.context is not None
    assert f"{span.context.trace_id:032x}" == TRACE
    assert span.parent is not None
    assert f"{span.parent.span_id:016x}" == PARENT
    assert span.attributes is not None
    assert span.attributes["http.response.status_code"] == 200
    assert span.attributes["user.id"] == f"token:{token_id}"
    assert span.attributes["code_intel.request"] == reply.headers["x-request-id"]
    assert "secret" not in span.to_json()


def test_a_failed_request_is_marked(running: Instance, exporter: InMemorySpanExporter) -> None:
    running.ask("GET", "/v1/fail/engine", token=running.token("read:team/*"))
    span = span_of(exporter)
    assert span.name == "GET /v1/fail/{name}"
    assert span.status.status_code is StatusCode.ERROR


def test_a_refused_request_is_a_span_without_a_sender(
    running: Instance, exporter: InMemorySpanExporter
) -> None:
    running.ask("POST", "/v1/push/secret-name")
    span = span_of(exporter)
    assert span.attributes is not None
    assert span.attributes["http.response.status_code"] == 401
    assert span.attributes["user.id"] == ""
    assert "secret-name" not in span.to_json()
