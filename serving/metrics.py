"""What Prometheus sees: TensorFlow Serving's names, in a registry of the server's own.

Source: SERVING_API.md 3, metric names.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from pinnace.framework.errors import CODE_NAMES, OK
from pinnace.serving.errors import canonical_code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType

_PREFIX = ":tensorflow:serving:"
_BUCKETS_US = tuple(10 * 1.8**k for k in range(33))
# Requests for models that are not served are counted under one name: clients choose theirs.
_OTHER = ""


class _RequestCounter(Collector):
    """`request_count`: prometheus_client's own Counter would add `_total` to the name."""

    def __init__(self) -> None:
        self.counts: dict[tuple[str, str], int] = {}

    def collect(self) -> Iterable[Metric]:
        metric = Metric(f"{_PREFIX}request_count", "Requests, by model and status.", "unknown")
        for (model, status), count in list(self.counts.items()):
            metric.add_sample(metric.name, {"model_name": model, "status": status}, count)
        yield metric


class Metrics:
    """Counters and histograms of one server.

    Args:
        is_known: whether a model of this name is served.
    """

    def __init__(self, is_known: Callable[[str], bool]) -> None:
        self._is_known = is_known
        self._registry = CollectorRegistry()
        self._requests = _RequestCounter()
        self._registry.register(self._requests)
        self._latency = Histogram(
            f"{_PREFIX}request_latency",
            "Microseconds from a request's headers to its answer.",
            ("model_name", "API", "entrypoint"),
            buckets=_BUCKETS_US,
            registry=self._registry,
        )
        self._runtime = Histogram(
            f"{_PREFIX}runtime_latency",
            "Microseconds that the model ran, or waited to run.",
            ("model_name", "API", "runtime"),
            buckets=_BUCKETS_US,
            registry=self._registry,
        )

    def request(self, model: str, api: str, entrypoint: str = "REST") -> Measurement:
        """Counts and times the request within its `with`.

        Args:
            model: name that the client gave.
            api: `predict`, `classify`…
            entrypoint: `REST` or `GRPC`.
        """

        def finish(seconds: float, error: BaseException | None) -> None:
            name = model if self._is_known(model) else _OTHER
            code = OK if error is None else canonical_code(error)
            key = name, CODE_NAMES.get(code, "UNKNOWN")
            self._requests.counts[key] = self._requests.counts.get(key, 0) + 1
            self._latency.labels(name, api, entrypoint).observe(seconds * 1e6)

        return Measurement(finish)

    def run(self, model: str, api: str) -> Measurement:
        """Times the run within its `with`, if it succeeds."""

        def finish(seconds: float, error: BaseException | None) -> None:
            if error is None:
                self._runtime.labels(model, api, "pinnace").observe(seconds * 1e6)

        return Measurement(finish)

    def text(self) -> bytes:
        """All of it in Prometheus's text format."""
        return generate_latest(self._registry)


class Measurement:
    """Time between the two ends of a `with`, and the error that ended it.

    Args:
        finish: gets the seconds and the error.
    """

    __slots__ = ("_begin", "_finish")

    def __init__(self, finish: Callable[[float, BaseException | None], None]) -> None:
        self._finish = finish
        self._begin = 0.0

    def __enter__(self) -> None:
        self._begin = time.perf_counter()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._finish(time.perf_counter() - self._begin, error)
