"""OpenTelemetry: a span for each request, and one for each of its stages. Needs the extra `otel`.

The OTEL_* variables configure the exporter and the sampling, as in any program. Spans are created
in a thread when a request is complete, from times that are recorded anyway.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pinnace.framework.errors import CANCELLED, CODE_NAMES, OK, UnavailableError
from pinnace.framework.extras import install_command
from pinnace.serving.errors import canonical_code, public_message
from pinnace.serving.observing.access_log import stages_of
from pinnace.serving.observing.background import Background

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.serving.requests.exchanging import Exchanging
    from pinnace.serving.requests.reply import Reply

_SERVER_ERRORS = frozenset({"UNKNOWN", "INTERNAL", "UNAVAILABLE", "DEADLINE_EXCEEDED", "DATA_LOSS"})


@dataclass(frozen=True, slots=True)
class _Finished:
    """The data of a finished span; times in nanoseconds since 1970."""

    name: str
    carrier: Mapping[str, str]
    attributes: Mapping[str, Any]
    begin: int
    end: int
    stages: tuple[tuple[str, int, int], ...]
    code: str
    message: str


class Tracing:
    """Creates spans of requests, children of the client's if it sent a W3C `traceparent`.

    Args:
        provider: a provider of OpenTelemetry's SDK; None creates one that sends OTLP over HTTP.

    Raises:
        UnavailableError: OpenTelemetry's SDK or exporter is not installed.
    """

    def __init__(self, provider: Any = None) -> None:
        try:
            from opentelemetry import propagate, trace
        except ImportError:
            raise _missing() from None
        self._own = None
        if provider is None:
            provider = self._own = _provider()
        self._trace: Any = trace
        self._extract: Any = propagate.extract
        self._tracer: Any = provider.get_tracer("pinnace.serving")
        self._background: Background[_Finished] = Background("traces", self._send)

    def observe(
        self, exchanging: Exchanging, reply: Reply | None, error: BaseException | None
    ) -> None:
        """Trace a completed request. Called on the event loop."""
        request = exchanging.request
        now = time.perf_counter()
        offset = time.time_ns() - int(now * 1e9)
        headers = request.headers
        carrier = {
            name: headers[name.encode()].decode("latin-1")
            for name in ("traceparent", "tracestate")
            if name.encode() in headers
        }
        code = CANCELLED if reply is None else OK if error is None else canonical_code(error)
        attributes: dict[str, Any] = {
            "rpc.system": "grpc" if request.wire.entrypoint == "GRPC" else "http",
            "pinnace.model": request.which.name,
            "pinnace.api": request.wire.api,
            "client.address": request.peer,
            "pinnace.request.bytes": exchanging.charged,
            "pinnace.code": CODE_NAMES.get(code, "UNKNOWN"),
        }
        if exchanging.servable is not None:
            attributes["pinnace.version"] = exchanging.servable.version
        call = exchanging.call
        stages: tuple[tuple[str, int, int], ...] = ()
        if call is not None and call.ended and error is None:
            attributes["pinnace.batch.rows"] = call.batch_rows
            stages = tuple(
                (name, offset + int(begin * 1e9), offset + int((begin + seconds) * 1e9))
                for name, begin, seconds in stages_of(exchanging, now)
            )
        self._background.put(
            _Finished(
                f"{request.wire.api} {request.which.name}",
                carrier,
                attributes,
                offset + int(exchanging.begun * 1e9),
                offset + int(now * 1e9),
                stages,
                attributes["pinnace.code"],
                "" if error is None else public_message(error)[:300],
            )
        )

    def close(self) -> None:
        """Send the pending spans."""
        self._background.close()
        if self._own is not None:
            self._own.shutdown()

    def _send(self, requests: list[_Finished]) -> None:
        trace = self._trace
        for request in requests:
            span = self._tracer.start_span(
                request.name,
                context=self._extract(request.carrier),
                kind=trace.SpanKind.SERVER,
                attributes=request.attributes,
                start_time=request.begin,
            )
            if request.code in _SERVER_ERRORS:
                span.set_status(trace.Status(trace.StatusCode.ERROR, request.message))
            inside = trace.set_span_in_context(span)
            for name, begin, end in request.stages:
                child = self._tracer.start_span(name, context=inside, start_time=begin)
                child.end(end_time=end)
            span.end(end_time=request.end)


def _provider() -> Any:
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise _missing() from None
    # OTEL_SERVICE_NAME takes precedence over this value.
    resource = Resource({"service.name": "pinnace"}).merge(Resource.create())
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def _missing() -> UnavailableError:
    return UnavailableError(
        f"--otel needs OpenTelemetry's SDK and its OTLP exporter\n  Try: {install_command('otel')}"
    )
