"""Prometheus metrics: TensorFlow Serving's names, and stages of requests in addition.

Counting happens at every request, so that histograms here are plain lists; prometheus_client only
writes them. Source of names: docs/reference/serving_api.md 3, metric names.
"""

from __future__ import annotations

import re
import time
from array import array
from bisect import bisect_left, bisect_right
from operator import sub
from typing import TYPE_CHECKING, TypeAlias, cast

from pinnace.framework.errors import CANCELLED, CODE_NAMES, OK
from pinnace.serving.errors import canonical_code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from prometheus_client.core import HistogramMetricFamily, Metric
    from prometheus_client.registry import Collector

    from pinnace.serving.observing.ledger import Ledger
    from pinnace.serving.requests.exchanging import Exchanging
    from pinnace.serving.requests.request import Request
    from pinnace.serving.running.call import Call
    from pinnace.serving.running.runs import Run

Cells: TypeAlias = "memoryview[float] | list[float]"
Labels: TypeAlias = tuple[str, str, str]

_PREFIX = ":tensorflow:serving:"
OWN_PREFIX = "pinnace:serving:"
# In the ledger, the value of the entrypoint for entries other than requests.
SHADOW = "SHADOW"
LOADED = "LOADED"
PENDING = "PENDING"
_NO_REQUESTS = (SHADOW, LOADED, PENDING)
BUCKETS_US = tuple(10 * 1.8**k for k in range(33))
_BUCKETS_ROWS = tuple(float(2**k) for k in range(13))
_BUCKETS_EXAMPLES = tuple(float(2**k) for k in range(15))
_STAGES = ("read", "parse", "queue", "run", "write")
_OF_EXAMPLES = ("classify", "regress")
_THREAD_POOL = "batch_threads"  # TensorFlow Serving's name where its configuration has none
_CODES = 18  # the canonical ones, and one for any others
_UNTYPED = re.compile(rb"^(# TYPE :tensorflow:\S+) untyped$", re.MULTILINE)
# Requests for models that are not served count under one name, since clients choose the names.
_OTHER = ""


class Histogram:
    """Counts of values between bounds.

    Args:
        bounds: ascending; one more bucket has the values above the last.
        cells: the storage of the counts, and after them of the total of the values.
    """

    __slots__ = ("bounds", "cells")

    def __init__(self, bounds: tuple[float, ...], cells: Cells | None = None) -> None:
        self.bounds = bounds
        self.cells: Cells = [0] * (len(bounds) + 2) if cells is None else cells

    def observe(self, value: float) -> None:
        """Count a value."""
        cells = self.cells
        cells[bisect_left(self.bounds, value)] += 1
        cells[-1] += value

    def observe_same(self, value: float, times: int) -> None:
        """Count a value several times."""
        cells = self.cells
        cells[bisect_left(self.bounds, value)] += times
        cells[-1] += value * times

    def observe_all(self, values: list[float], unit: float) -> None:
        """Count at least one value; most are close together, in one or two buckets.

        Args:
            values: the values, which are sorted in place.
            unit: the factor from their unit to that of the bounds.
        """
        cells, bounds = self.cells, self.bounds
        values.sort()
        low = bisect_left(bounds, values[0] * unit)
        high = bisect_left(bounds, values[-1] * unit)
        counted = 0
        while low < high:
            below = bisect_right(values, bounds[low] / unit)
            cells[low] += below - counted
            counted = below
            low += 1
        cells[high] += len(values) - counted
        cells[-1] += sum(values) * unit

    def observe_since(self, begins: list[float], end: float) -> None:
        """Count the microseconds from each of these times, at least one, to a common end.

        Args:
            begins: the times in seconds.
            end: the end on the same clock.
        """
        cells, bounds = self.cells, self.bounds
        begins.sort()  # they mostly are sorted already
        low = bisect_left(bounds, (end - begins[-1]) * 1e6)
        high = bisect_left(bounds, (end - begins[0]) * 1e6)
        counted = 0
        while low < high:
            longer = bisect_left(begins, end - bounds[high - 1] * 1e-6)
            cells[high] += longer - counted
            counted = longer
            high -= 1
        cells[low] += len(begins) - counted
        cells[-1] += (len(begins) * end - sum(begins)) * 1e6

    def cumulated(self) -> list[tuple[str, float]]:
        """Prometheus's form: the count of values up to each bound."""
        below = 0.0
        rows = []
        names = [*(repr(bound) for bound in self.bounds), "+Inf"]
        for name, count in zip(names, list(self.cells)[:-1], strict=True):
            below += count
            rows.append((name, below))
        return rows


class Meter:
    """The counters of one model, through one protocol.

    Args:
        cells: the storage of the counts, `Meter.CELLS` of them; None allocates them here.

    Attributes:
        statuses: requests by canonical code; the last one is for unknown codes.
        latency: microseconds from a request's headers to its reply.
        runtime: microseconds that its batch ran.
        stages: microseconds of each stage of a request.
        batch_rows: rows of the batch that a request ran in.
        examples: the number of examples of a request that has them.
        runs: the number of runs, in one cell.
    """

    __slots__ = (
        *("batch_rows", "cells", "examples", "latency", "runs", "runtime", "stages", "statuses"),
    )

    _BOUNDS = (BUCKETS_US,) * (2 + len(_STAGES)) + (_BUCKETS_ROWS, _BUCKETS_EXAMPLES)
    CELLS = _CODES + 1 + sum(len(bounds) + 2 for bounds in _BOUNDS)

    def __init__(self, cells: memoryview[float] | None = None) -> None:
        self.cells = cells
        # Lists if no other process reads them, since they are twice as fast.
        self.statuses: Cells = [0] * _CODES if cells is None else cells[:_CODES]
        self.runs: Cells = [0] if cells is None else cells[_CODES : _CODES + 1]
        at = _CODES + 1
        histograms = []
        for bounds in self._BOUNDS:
            end = at + len(bounds) + 2
            histograms.append(Histogram(bounds, None if cells is None else cells[at:end]))
            at = end
        self.latency, self.runtime = histograms[:2]
        self.stages = dict(zip(_STAGES, histograms[2:-2], strict=True))
        self.batch_rows, self.examples = histograms[-2:]


class Metrics:
    """Counters and histograms of one server.

    Args:
        is_known: whether a model with this name is served.
        ledger: the storage if several workers count; None keeps the counts here.
    """

    def __init__(self, is_known: Callable[[str], bool], ledger: Ledger | None = None) -> None:
        self._is_known = is_known
        self.ledger = ledger
        self._meters: dict[Labels, Meter] = {}
        if ledger is not None:  # counts of the worker that this one replaces
            self._meters.update(
                (key, Meter(cells)) for key, cells in ledger.own() if key[2] not in _NO_REQUESTS
            )
        self._others: list[Collector] = []

    def meter(self, model: str, api: str, entrypoint: str) -> Meter:
        """Return the meter with these labels.

        Args:
            model: the name that the client gave.
            api: `predict`, `classify`…
            entrypoint: `REST` or `GRPC`.
        """
        meter = self._meters.get((model, api, entrypoint))
        if meter is None:
            name = model if self._is_known(model) else _OTHER
            key = (name, api, entrypoint)
            meter = self._meters.get(key)
            if meter is None:
                cells = None if self.ledger is None else self.ledger.add(key)
                meter = self._meters.setdefault(key, Meter(cells))
        return meter

    def count(
        self,
        exchanging: Exchanging,
        error: BaseException | None,
        call: Call | None,
        now: float = 0.0,
    ) -> None:
        """Count an answered request.

        Args:
            exchanging: the request.
            error: the error that was the answer, or None.
            call: the call of the request; None if it never waited for a run.
            now: the time of the answer on `time.perf_counter`'s clock, if it is past.
        """
        wire = exchanging.request.wire
        meter = self.meter(exchanging.request.which.name, wire.api, wire.entrypoint)
        now = now or time.perf_counter()
        code = OK if error is None else canonical_code(error)
        meter.statuses[code if 0 <= code < _CODES else _CODES - 1] += 1
        meter.latency.observe((now - exchanging.begun) * 1e6)
        if wire.api in _OF_EXAMPLES and exchanging.decoded is not None:
            for examples in exchanging.decoded.feeds.values():  # one input of strings
                meter.examples.observe(len(examples))
        run = exchanging.run
        is_new = run is not None and not run.is_counted
        if run is not None and is_new:
            run.is_counted = True
            meter.runs[0] += 1
        if exchanging.servable is not None:
            statistics = exchanging.servable.statistics
            if error is not None:
                statistics.count_failure(exchanging, now)
            elif run is not None:
                statistics.count((exchanging,), run, now, is_new=is_new)
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

    def count_run(self, run: Run, answered: list[Exchanging]) -> None:
        """Count requests of one model and wire that one run answered, as `count` for each."""
        if not answered:
            return
        request = answered[0].request
        meter = self.meter(request.which.name, request.wire.api, request.wire.entrypoint)
        now = time.perf_counter()
        times = len(answered)
        meter.statuses[OK] += times
        if answered[0].servable is not None:
            answered[0].servable.statistics.count(answered, run, now, is_new=not run.is_counted)
        run.is_counted = True
        meter.runs[0] += 1
        begun = [x.begun for x in answered]
        read_at = [x.read_at for x in answered]
        decoded_at = [x.decoded_at for x in answered]
        stages = meter.stages
        if begun == read_at:  # each body came with its headers
            stages["read"].observe_same(0.0, times)
        else:
            stages["read"].observe_all(list(map(sub, read_at, begun)), 1e6)
        stages["parse"].observe_all(list(map(sub, decoded_at, read_at)), 1e6)
        meter.latency.observe_since(begun, now)
        started = run.started
        stages["queue"].observe_since(decoded_at, started)
        ran = (run.ended - started) * 1e6
        stages["run"].observe_same(ran, times)
        meter.runtime.observe_same(ran, times)
        stages["write"].observe_same((now - run.ended) * 1e6, times)
        meter.batch_rows.observe_same(run.padded_rows, times)

    def count_cancelled(self, request: Request) -> None:
        """Count a request whose client left."""
        meter = self.meter(request.which.name, request.wire.api, request.wire.entrypoint)
        meter.statuses[CANCELLED] += 1

    def everywhere(self) -> list[tuple[Labels, Meter]]:
        """The meters of all workers, summed by labels."""
        if self.ledger is None:
            return list(self._meters.items())
        found: dict[Labels, list[float]] = {}
        for key, cells in self.ledger.all():
            if key[2] in _NO_REQUESTS:
                continue
            total = found.setdefault(key, [0.0] * Meter.CELLS)
            found[key] = [a + b for a, b in zip(total, cells, strict=True)]
        return [(key, Meter(memoryview(array("d", total)))) for key, total in found.items()]

    def register(self, collector: Collector) -> None:
        """Export another collector, too."""
        self._others.append(collector)

    def text(self) -> bytes:
        """All metrics in Prometheus's text format."""
        # Late, as in `collect`: the first answer does not wait for this import.
        from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest

        registry = CollectorRegistry()
        if self.ledger is None:  # each of several processes would export its own numbers
            ProcessCollector(registry=registry)
        registry.register(cast("Collector", self))
        for collector in self._others:
            registry.register(collector)
        # The client library's counters end in `_total`, TensorFlow Serving's do not: these are
        # exported as untyped families, of which there are no others.
        return _UNTYPED.sub(rb"\1 counter", generate_latest(registry))

    def collect(self) -> Iterable[Metric]:
        """The metric families for prometheus_client."""
        from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric

        from pinnace.engine import rejections

        meters = self.everywhere()
        requests = Metric(f"{_PREFIX}request_count", "Requests, by model and status.", "unknown")
        totals: dict[tuple[str, str], float] = {}
        for (model, _, _), meter in meters:
            for code, count in enumerate(meter.statuses):
                if count:
                    status = CODE_NAMES.get(code, "UNKNOWN")
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
            f"{OWN_PREFIX}stage_latency",
            "Microseconds of each stage of a request.",
            labels=("model_name", "API", "entrypoint", "stage"),
        )
        rows = HistogramMetricFamily(
            f"{OWN_PREFIX}batch_rows",
            "Rows of the batch that a request ran in.",
            labels=("model_name", "API"),
        )
        for (model, api, entrypoint), meter in meters:
            add_histogram(latency, (model, api, entrypoint), meter.latency)
            for stage, histogram in meter.stages.items():
                add_histogram(stages, (model, api, entrypoint, stage), histogram)
        for (model, api), found in _by_model(meters).items():
            ran = _sum([meter.runtime for meter in found])
            add_histogram(runtime, (model, api, "pinnace"), ran)
            add_histogram(rows, (model, api), _sum([meter.batch_rows for meter in found]))
        yield latency
        yield runtime
        yield stages
        yield rows
        yield from _of_examples(meters)
        yield from _of_batching(meters)
        yield CounterMetricFamily(
            f"{OWN_PREFIX}compiled_rejected",
            "Tables that are not used any more: they raised, the plan does not. Of this worker.",
            value=rejections.count(),
        )


def _of_examples(meters: list[tuple[Labels, Meter]]) -> Iterable[Metric]:
    """TensorFlow Serving's counts of the examples of classify and regress."""
    from prometheus_client.core import HistogramMetricFamily, Metric

    counts = HistogramMetricFamily(
        f"{_PREFIX}request_example_counts", "Examples in a request.", labels=("model",)
    )
    total = Metric(f"{_PREFIX}request_example_count_total", "Examples.", "unknown")
    by_model: dict[str, list[Histogram]] = {}
    for (model, _, _), meter in meters:
        by_model.setdefault(model, []).append(meter.examples)
    for model, histograms in by_model.items():
        found = _sum(histograms)
        add_histogram(counts, (model,), found)
        if found.cells[-1]:
            total.add_sample(total.name, {"model": model}, found.cells[-1])
    yield counts
    yield total


def _of_batching(meters: list[tuple[Labels, Meter]]) -> Iterable[Metric]:
    """TensorFlow Serving's metrics of batching, for all models together."""
    from prometheus_client.core import HistogramMetricFamily, Metric

    queuing = HistogramMetricFamily(
        f"{_PREFIX}batching_session:queuing_latency",
        "Microseconds that a request waited to be run.",
        labels=("thread_pool_name",),
    )
    runs = Metric(
        f"{_PREFIX}batching_session:wrapped_run_count",
        "Runs of models; requests that run together are one.",
        "unknown",
    )
    if meters:
        waits = _sum([meter.stages["queue"] for _, meter in meters])
        add_histogram(queuing, (_THREAD_POOL,), waits)
    total = sum(meter.runs[0] for _, meter in meters)
    runs.add_sample(runs.name, {}, total)
    yield queuing
    yield runs
    graph_runs = Metric(":tensorflow:core:graph_runs", "Runs of models.", "unknown")
    graph_runs.add_sample(graph_runs.name, {}, total)
    yield graph_runs


def _by_model(meters: list[tuple[Labels, Meter]]) -> dict[tuple[str, str], list[Meter]]:
    found: dict[tuple[str, str], list[Meter]] = {}
    for (model, api, _), meter in meters:
        found.setdefault((model, api), []).append(meter)
    return found


def _sum(histograms: list[Histogram]) -> Histogram:
    result = Histogram(histograms[0].bounds)
    for histogram in histograms:
        result.cells = [a + b for a, b in zip(result.cells, histogram.cells, strict=True)]
    return result


def add_histogram(
    family: HistogramMetricFamily, labels: tuple[str, ...], histogram: Histogram
) -> None:
    """Add a histogram to a family, if it is not empty."""
    rows = histogram.cumulated()
    if rows[-1][1]:
        family.add_metric(labels, rows, histogram.cells[-1])
