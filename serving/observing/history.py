"""The recent past, for later viewers: a few numbers of each model, every two seconds.

They are computed from counters that requests update in any case, so that requests do no more work.
A model has a point for each step with requests, or with a viewer; other steps have none.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from operator import add, sub
from typing import TYPE_CHECKING, NamedTuple

from pinnace.serving.observing.metrics import BUCKETS_US

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.serving.observing.metrics import Metrics

STEP_S = 2.0
MOST_POINTS = 300  # per model: ten minutes without a pause
MOST_AGE_S = 3600.0  # older points are dropped
_WATCHED_S = 10.0  # after the last request of a page, when it counts as closed


class Point(NamedTuple):
    """The counts of a model in one step.

    Attributes:
        time: the end of the step, in seconds of the process's clock.
        rate: requests per second.
        median: the median latency in microseconds; None without requests.
        most: the 99th percentile of the latency in microseconds.
        rows: the mean number of rows of a batch; None without batches.
    """

    time: float
    rate: float
    median: float | None
    most: float | None
    rows: float | None


class _Counts(NamedTuple):
    """The counts of a model since the server's start."""

    requests: float
    latency: list[float]
    rows: list[float]


class History:
    """The latest points of each model.

    Args:
        metrics: the counters of requests.
    """

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._points: dict[str, deque[Point]] = {}
        self._before: dict[str, _Counts] | None = None
        self._before_at = 0.0
        self._watched_at = float("-inf")

    async def sampling(self) -> None:
        """Sample until it is cancelled."""
        while True:
            self.sample(time.monotonic())
            await asyncio.sleep(STEP_S)

    def sample(self, now: float) -> None:
        """Add a point for the time since the last call. The first call only reads the counters.

        Args:
            now: the time in seconds, not less than before.
        """
        counts = self._count()
        before, seconds = self._before, now - self._before_at
        if before is not None and seconds <= 0:
            return
        is_watched = now - self._watched_at <= _WATCHED_S
        for model, after in counts.items() if before is not None else ():
            earlier = before.get(model) if before else None
            if is_watched or after.requests != (earlier.requests if earlier else 0):
                point = _point(earlier, after, now, seconds)
                self._points.setdefault(model, deque(maxlen=MOST_POINTS)).append(point)
        self._before, self._before_at = counts, now

    def watch(self, now: float) -> None:
        """Note a viewer: for a while, steps without requests have points too."""
        self._watched_at = now

    def of(self, model: str, now: float) -> list[Point]:
        """Return the points of a model of the last hour, in order.

        Args:
            model: the model's name.
            now: the time on the clock of `sample`.
        """
        points = self._points.get(model, ())
        return [point for point in points if now - point.time <= MOST_AGE_S]

    def _count(self) -> dict[str, _Counts]:
        found: dict[str, _Counts] = {}
        for (model, _, _), meter in self._metrics.everywhere():
            requests = sum(meter.statuses)
            counts = _Counts(requests, list(meter.latency.cells), list(meter.batch_rows.cells))
            other = found.get(model)
            found[model] = counts if other is None else _sum(other, counts)
        return found


def _sum(a: _Counts, b: _Counts) -> _Counts:
    return _Counts(
        a.requests + b.requests,
        list(map(add, a.latency, b.latency)),
        list(map(add, a.rows, b.rows)),
    )


def _point(before: _Counts | None, after: _Counts, now: float, seconds: float) -> Point:
    latency, rows = after.latency, after.rows
    requests = after.requests
    if before is not None:
        requests -= before.requests
        latency = list(map(sub, latency, before.latency))
        rows = list(map(sub, rows, before.rows))
    batches = sum(rows[:-1])
    return Point(
        now,
        requests / seconds,
        quantile(latency[:-1], 0.5),
        quantile(latency[:-1], 0.99),
        rows[-1] / batches if batches else None,
    )


def quantile(counts: Sequence[float], share: float) -> float | None:
    """Return a quantile of latencies, interpolated between the bounds of its bucket.

    Args:
        counts: the numbers of latencies between the bounds `BUCKETS_US`, and above the last.
        share: the quantile's fraction, between 0 and 1.

    Returns:
        Microseconds; the last bound for larger values; None without counts.
    """
    wanted = share * sum(counts)
    if not wanted:
        return None
    below, low = 0.0, 0.0
    for count, high in zip(counts, BUCKETS_US, strict=False):
        if below + count >= wanted:
            return low + (high - low) * (wanted - below) / count if count else low
        below, low = below + count, high
    return low
