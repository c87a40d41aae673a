"""Prometheus metrics of loads and warm-ups of versions, under TensorFlow Serving's names.

Source: TensorFlow, cc/saved_model/loader.cc; TensorFlow Serving, saved_model_warmup_util.cc.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from pinnace.serving.observing.metrics import BUCKETS_US, LOADED, Histogram, Meter, add_histogram

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prometheus_client.core import Metric

    from pinnace.serving.observing.ledger import Ledger
    from pinnace.serving.observing.metrics import Cells

_SAVED_MODEL = ":tensorflow:cc:saved_model:"
_ATTEMPTS = ("success", "fail")
_WARMUPS = ("OK", "INTERNAL")
# A server with a new version each minute has a new path each time, so their number is limited.
_MAX_PATHS = 64
_OTHER = ""


class LoadMeter:
    """The counters of the versions of one path.

    Args:
        cells: the storage of the counts, at least `Meter.CELLS`; None allocates them here.

    Attributes:
        attempts: loads, in the order of `success` and `fail`.
        latency: total microseconds of those that succeeded.
        warmups: microseconds of warm-ups, by status.
        cells: the storage of all counts.
    """

    __slots__ = ("attempts", "cells", "latency", "warmups")

    def __init__(self, cells: memoryview[float] | None = None) -> None:
        # Slices of shared memory are views of it, and so must be those of local memory.
        whole: memoryview[float] = memoryview(bytearray(8 * Meter.CELLS)).cast("d")
        whole = whole if cells is None else cells
        self.cells: Cells = whole
        self.attempts, self.latency = whole[:2], whole[2:3]
        size = len(BUCKETS_US) + 2
        self.warmups = {
            status: Histogram(BUCKETS_US, whole[3 + i * size : 3 + (i + 1) * size])
            for i, status in enumerate(_WARMUPS)
        }


class LoadMetrics:
    """The meters of all versions that were loaded.

    Args:
        ledger: the storage if several workers count; None keeps the counts here.
    """

    def __init__(self, ledger: Ledger | None = None) -> None:
        self._ledger = ledger
        self._lock = threading.Lock()  # versions are loaded in several threads
        self._meters: dict[str, LoadMeter] = {}
        if ledger is not None:  # counts of the worker that this one replaces
            self._meters.update(
                (path, LoadMeter(cells))
                for (path, _, kind), cells in ledger.own()
                if kind == LOADED
            )

    def count_load(self, path: str, seconds: float, *, is_good: bool) -> None:
        """Count a load of a version.

        Args:
            path: the version's path.
            seconds: the duration.
            is_good: whether it succeeded.
        """
        with self._lock:
            meter = self._meter(path)
            meter.attempts[0 if is_good else 1] += 1
            if is_good:
                meter.latency[0] += round(seconds * 1e6)

    def count_warmup(self, path: str, seconds: float, *, is_good: bool) -> None:
        """Count a warm-up of a version, by success."""
        with self._lock:
            self._meter(path).warmups[_WARMUPS[0 if is_good else 1]].observe(seconds * 1e6)

    def collect(self) -> Iterable[Metric]:
        """The metric families for prometheus_client."""
        from prometheus_client.core import HistogramMetricFamily, Metric

        attempts = Metric(
            f"{_SAVED_MODEL}load_attempt_count", "Versions that were loaded, or not.", "unknown"
        )
        latency = Metric(
            f"{_SAVED_MODEL}load_latency",
            "Microseconds that it took to load the versions of a path, together.",
            "unknown",
        )
        warmups = HistogramMetricFamily(
            ":tensorflow:serving:model_warmup_latency",
            "Microseconds that it took to warm a version.",
            labels=("model_path", "status"),
        )
        for path, meter in self._everywhere().items():
            for status, count in zip(_ATTEMPTS, meter.attempts, strict=True):
                if count:
                    labels = {"model_path": path, "status": status}
                    attempts.add_sample(attempts.name, labels, count)
            if meter.attempts[0]:
                latency.add_sample(latency.name, {"model_path": path}, meter.latency[0])
            for status, histogram in meter.warmups.items():
                add_histogram(warmups, (path, status), histogram)
        return (attempts, latency, warmups)

    def _meter(self, path: str) -> LoadMeter:
        meter = self._meters.get(path)
        if meter is None:
            if len(self._meters) >= _MAX_PATHS and path != _OTHER:
                return self._meter(_OTHER)
            cells = None if self._ledger is None else self._ledger.add((path, "", LOADED))
            meter = self._meters[path] = LoadMeter(cells)
        return meter

    def _everywhere(self) -> dict[str, LoadMeter]:
        """The meters of all workers, summed by path."""
        with self._lock:
            own = dict(self._meters)
        if self._ledger is None:
            return own
        found: dict[str, LoadMeter] = {}
        for (path, _, kind), cells in self._ledger.all():
            if kind == LOADED:
                total = found.setdefault(path, LoadMeter()).cells
                for i, value in enumerate(cells):
                    total[i] += value
        return found
