"""What Prometheus sees: TensorFlow Serving's names, and the stages of a request beside them.

Counting happens at every request, so that histograms here are plain lists; prometheus_client writes
them. Source of names: SERVING_API.md 3, metric names.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from pinnace.framework.errors import CANCELLED, CODE_NAMES, OK
from pinnace.serving.errors import canonical_code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pinnace.serving.calls import Call
    from pinnace.serving.exchange import Exchanging, Request

_PREFIX = ":tensorflow:serving:"
_OWN_PREFIX = "pinnace:serving:"
_BUCKETS_US = tuple(10 * 1.8**k for k in range(33))
_BUCKETS_ROWS = tuple(float(2**k) for k in range(13))
# Requests for models that are not served are counted under one name: clients choose theirs.
_OTHER = ""


class Histogram:
    """Counts of values between bounds.

    Args:
        bounds: ascending; one more bucket holds what is above the last.
    """

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def cumulated(self) -> list[tuple[str, float]]:
        """Prometheus's form: the count of values up to each bound."""
        below = 0
        rows = []
        names = [*(repr(bound) for bound in self.bounds), "+Inf"]
        for name, count in zip(names, self.counts.copy(), strict=True):
            below += count
            rows.append((name, float(below)))
        return rows


class Meter:
    """What is counted of one model, through one way in.

    Attributes:
        statuses: requests by the name of their code.
        latency: microseconds from a request's headers to its reply.
        runtime: microseconds that its batch ran.
        stages: microseconds of each stage of a request.
        batch_rows: rows of the batch that a request ran in.
    """

    __slots__ = ("batch_rows", "latency", "runtime", "stages", "statuses")

    def __init__(self) -> None:
        self.statuses: dict[str, int] = {}
        self.latency = Histogram(_BUCKETS_US)
        self.runtime = Histogram(_BUCKETS_US)
        self.stages = {
            name: Histogram(_BUCKETS_US) for name in ("read", "parse", "queue", "run", "write")
        }
        self.batch_rows = Histogram(_BUCKETS_ROWS)


class Metrics(Collector):
    """Counters and histograms of one server.

    Args:
        is_known: whether a model of this name is served.
    """

    def __init__(self, is_known: Callable[[str], bool]) -> None:
        self._is_known = is_known
        self._meters: dict[tuple[str, str, str], Meter] = {}
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def meter(self, model: str, api: str, entrypoint: str) -> Meter:
        """The meter of these labels.

        Args:
            model: name that the client gave.
            api: `predict`, `classify`…
            entrypoint: `REST` or `GRPC`.
        """
        meter = self._meters.get((model, api, entrypoint))
        if meter is None:
            name = model if self._is_known(model) else _OTHER
            meter = self._meters.setdefault((name, api, entrypoint), Meter())
        return meter

    def count(self, exchanging: Exchanging, error: BaseException | None, call: Call | None) -> None:
        """Count a request that was answered."""
        wire = exchanging.request.wire
        meter = self.meter(exchanging.request.which.name, wire.api, wire.entrypoint)
        now = time.perf_counter()
        code = OK if error is None else canonical_code(error)
        name = CODE_NAMES.get(code, "UNKNOWN")
        meter.statuses[name] = meter.statuses.get(name, 0) + 1
        meter.latency.observe((now - exchanging.begun) * 1e6)
        if error is None and call is not None:
            stages = meter.stages
            stages["read"].observe((exchanging.read_at - exchanging.begun) * 1e6)
            stages["parse"].observe((exchanging.decoded_at - exchanging.read_at) * 1e6)
            stages["queue"].observe((call.started - call.arrived) * 1e6)
            stages["run"].observe((call.ended - call.started) * 1e6)
            stages["write"].observe((now - call.ended) * 1e6)
            meter.runtime.observe((call.ended - call.started) * 1e6)
            if call.batch_rows:
                meter.batch_rows.observe(call.batch_rows)

    def count_cancelled(self, request: Request) -> None:
        """Count a request whose client went away."""
        meter = self.meter(request.which.name, request.wire.api, request.wire.entrypoint)
        name = CODE_NAMES[CANCELLED]
        meter.statuses[name] = meter.statuses.get(name, 0) + 1

    def text(self) -> bytes:
        """All of it in Prometheus's text format."""
        return generate_latest(self._registry)

    def collect(self) -> Iterable[Metric]:
        """What prometheus_client writes."""
        meters = list(self._meters.items())
        requests = Metric(f"{_PREFIX}request_count", "Requests, by model and status.", "unknown")
        totals: dict[tuple[str, str], int] = {}
        for (model, _, _), meter in meters:
            for status, count in list(meter.statuses.items()):
                totals[model, status] = totals.get((model, status), 0) + count
        for (model, status), count in totals.items():
            labels = {"model_name": model, "status": status}
            requests.add_sample(requests.name, labels, count)
        yield requests
        latency = HistogramMetricFamily(
            f"{_PREFIX}request_latency",
            "Microseconds from a request's headers to its answer.",
            labels=("model_name", "API", "entrypoint"),
        )
        runtime = HistogramMetricFamily(
            f"{_PREFIX}runtime_latency",
            "Microseconds that the batch of a request ran.",
            labels=("model_name", "API", "runtime"),
        )
        stages = HistogramMetricFamily(
            f"{_OWN_PREFIX}stage_latency",
            "Microseconds of each stage of a request.",
            labels=("model_name", "API", "entrypoint", "stage"),
        )
        rows = HistogramMetricFamily(
            f"{_OWN_PREFIX}batch_rows",
            "Rows of the batch that a request ran in.",
            labels=("model_name", "API"),
        )
        for (model, api, entrypoint), meter in meters:
            _add(latency, (model, api, entrypoint), meter.latency)
            for stage, histogram in meter.stages.items():
                _add(stages, (model, api, entrypoint, stage), histogram)
        for (model, api), found in _by_model(meters).items():
            _add(runtime, (model, api, "pinnace"), _sum([meter.runtime for meter in found]))
            _add(rows, (model, api), _sum([meter.batch_rows for meter in found]))
        yield latency
        yield runtime
        yield stages
        yield rows


def _by_model(
    meters: list[tuple[tuple[str, str, str], Meter]],
) -> dict[tuple[str, str], list[Meter]]:
    found: dict[tuple[str, str], list[Meter]] = {}
    for (model, api, _), meter in meters:
        found.setdefault((model, api), []).append(meter)
    return found


def _sum(histograms: list[Histogram]) -> Histogram:
    result = Histogram(histograms[0].bounds)
    for histogram in histograms:
        result.total += histogram.total
        result.counts = [a + b for a, b in zip(result.counts, histogram.counts, strict=True)]
    return result


def _add(family: HistogramMetricFamily, labels: tuple[str, ...], histogram: Histogram) -> None:
    if any(histogram.counts):
        family.add_metric(labels, histogram.cumulated(), histogram.total)
