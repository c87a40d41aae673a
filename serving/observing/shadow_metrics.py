"""Prometheus metrics of shadow versions: their latency, and differences of their outputs."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from pinnace.serving.observing.metrics import (
    BUCKETS_US,
    OWN_PREFIX,
    SHADOW,
    Histogram,
    Meter,
    add_histogram,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pinnace.serving.config.traffic import Shadow
    from pinnace.serving.observing.ledger import Ledger
    from pinnace.serving.observing.metrics import Cells

RESULTS = ("same", "different", "mismatched", "failed", "unavailable", "dropped")
_SCALES = ("absolute", "relative")
_BUCKETS_DIFFERENCE = tuple(10.0**k for k in range(-9, 7))


class ShadowMeter:
    """The counters of one shadow.

    Args:
        cells: the storage of the counts, at least `Meter.CELLS`; None allocates them here.

    Attributes:
        results: copies of requests by result, in the order of `RESULTS`.
        latency: microseconds of the shadow's runs.
        differences: differences from the answers given, by scale.
        largest: the largest of these, in the order of the scales.
    """

    __slots__ = ("differences", "largest", "latency", "results")

    def __init__(self, cells: Cells | None = None) -> None:
        at = 0
        # Slices of shared memory are views of it, but slices of a list are copies.
        whole: Cells = [0.0] * Meter.CELLS if cells is None else cells

        def part(size: int) -> Cells:
            nonlocal at
            at += size
            return whole[at - size : at]

        self.results = part(len(RESULTS))
        self.latency = Histogram(BUCKETS_US, part(len(BUCKETS_US) + 2))
        size = len(_BUCKETS_DIFFERENCE) + 2
        self.differences = {scale: Histogram(_BUCKETS_DIFFERENCE, part(size)) for scale in _SCALES}
        self.largest = part(len(_SCALES))

    def count(self, result: str) -> None:
        """Count a copy of a request."""
        self.results[RESULTS.index(result)] += 1

    def differ(self, absolute: float, relative: float) -> None:
        """Count the differences of the outputs of one request."""
        for i, (scale, value) in enumerate(zip(_SCALES, (absolute, relative), strict=True)):
            self.differences[scale].observe(value)
            self.largest[i] = max(self.largest[i], value)

    def add(self, other: ShadowMeter) -> None:
        """Add the counts of another worker."""
        pairs = [(self.results, other.results), (self.latency.cells, other.latency.cells)]
        pairs += [(self.differences[s].cells, other.differences[s].cells) for s in _SCALES]
        for mine, its in pairs:
            for i, value in enumerate(its):
                mine[i] += value
        for i, value in enumerate(other.largest):
            self.largest[i] = max(self.largest[i], value)


class ShadowMetrics(Collector):
    """The meters of all shadows.

    Args:
        ledger: the storage if several workers count; None keeps the counts here.
    """

    def __init__(self, ledger: Ledger | None = None) -> None:
        self._ledger = ledger
        self._meters: dict[tuple[str, str], ShadowMeter] = {}
        if ledger is not None:  # counts of the worker that this one replaces
            for (model, version, kind), cells in ledger.own():
                if kind == SHADOW:
                    self._meters[model, version] = ShadowMeter(cells)

    def meter(self, model: str, version: int) -> ShadowMeter:
        """Return the meter of a shadow."""
        key = (model, str(version))
        if key not in self._meters:
            cells = None if self._ledger is None else self._ledger.add((*key, SHADOW))
            self._meters[key] = ShadowMeter(cells)
        return self._meters[key]

    def report(self, shadow: Shadow) -> dict[str, Any]:
        """Return the results of a shadow's copies so far, for JSON.

        Returns:
            `fraction` of the requests, `results` by kind, `mean_us` of its runs, and the largest
            `absolute_difference` and `relative_difference` from the answers given; None for values
            that are unknown or not finite.
        """
        meter = self._everywhere().get((shadow.model, str(shadow.version))) or ShadowMeter()
        *counts, total = meter.latency.cells
        runs = sum(counts)
        return {
            "fraction": shadow.fraction,
            "results": {
                result: int(count)
                for result, count in zip(RESULTS, meter.results, strict=True)
                if count
            },
            "mean_us": total / runs if runs else None,
            **{
                f"{scale}_difference": largest if isfinite(largest) else None
                for scale, largest in zip(_SCALES, meter.largest, strict=True)
            },
        }

    def collect(self) -> Iterable[Metric]:
        """The metric families for prometheus_client."""
        names = ("model_name", "version")
        counts = Metric(
            f"{OWN_PREFIX}shadow_count",
            "Copies of requests for shadow versions, by what came of them.",
            "unknown",
        )
        latency = HistogramMetricFamily(
            f"{OWN_PREFIX}shadow_latency", "Microseconds that a shadow ran.", labels=names
        )
        differences = HistogramMetricFamily(
            f"{OWN_PREFIX}shadow_difference",
            "Largest difference of a shadow's outputs from the answer that was given; relative: to "
            "the largest value of that answer.",
            labels=(*names, "scale"),
        )
        largest = GaugeMetricFamily(
            f"{OWN_PREFIX}shadow_difference_max",
            "The largest of these since the start.",
            labels=(*names, "scale"),
        )
        for labels, meter in self._everywhere().items():
            for result, count in zip(RESULTS, meter.results, strict=True):
                values = dict(zip(names, labels, strict=True))
                counts.add_sample(counts.name, {**values, "result": result}, count)
            add_histogram(latency, labels, meter.latency)
            for scale, value in zip(_SCALES, meter.largest, strict=True):
                add_histogram(differences, (*labels, scale), meter.differences[scale])
                largest.add_metric((*labels, scale), value)
        return (counts, latency, differences, largest)

    def _everywhere(self) -> dict[tuple[str, str], ShadowMeter]:
        """The meters of all workers, summed by shadow."""
        if self._ledger is None:
            return self._meters
        found: dict[tuple[str, str], ShadowMeter] = {}
        for (model, version, kind), cells in self._ledger.all():
            if kind == SHADOW:
                found.setdefault((model, version), ShadowMeter()).add(ShadowMeter(cells))
        return found
