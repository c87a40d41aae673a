"""Statistics of one version of a model, for Triton's statistics extension.

They are counted on the event loop, in addition to the metrics, which combine all versions of a
model.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.serving.requests.exchanging import Exchanging
    from pinnace.serving.running.runs import Run

_MOST_SIZES = 1024  # of batches that are counted separately; clients choose them


@dataclass(slots=True)
class Duration:
    """The count of an event, and its total duration.

    Attributes:
        count: the number of events.
        seconds: the total duration.
    """

    count: int = 0
    seconds: float = 0.0

    def add(self, seconds: float, times: int = 1) -> None:
        """Count events with a total duration."""
        self.count += times
        self.seconds += seconds

    @property
    def ns(self) -> int:
        """The total duration in nanoseconds."""
        return max(0, round(self.seconds * 1e9))


@dataclass(slots=True)
class Statistics:
    """The requests of one version.

    Attributes:
        success: from the headers of a request to its answer.
        fail: the same for requests that ended with an error.
        queue: from the decoded request to the start of its run.
        compute_input: the decoding.
        compute_infer: the run of the request.
        compute_output: from the end of the run to the answer.
        rows: the rows of all answered requests, at least one of each.
        runs: the number of runs of the model.
        batches: the runs by their number of rows.
        last_at: the time of the last answer, in seconds since 1970.
    """

    success: Duration = field(default_factory=Duration)
    fail: Duration = field(default_factory=Duration)
    queue: Duration = field(default_factory=Duration)
    compute_input: Duration = field(default_factory=Duration)
    compute_infer: Duration = field(default_factory=Duration)
    compute_output: Duration = field(default_factory=Duration)
    rows: int = 0
    runs: int = 0
    batches: dict[int, Duration] = field(default_factory=dict)
    last_at: float = 0.0

    def count_failure(self, request: Exchanging, now: float) -> None:
        """Count a request that ended with an error.

        Args:
            request: the request.
            now: the time on `time.perf_counter`'s clock.
        """
        self.fail.add(now - request.begun)

    def count(self, requests: Sequence[Exchanging], run: Run, now: float, *, is_new: bool) -> None:
        """Count requests that one run answered.

        Args:
            requests: at least one request.
            run: their run.
            now: the time on `time.perf_counter`'s clock.
            is_new: whether no request of the run was counted before.
        """
        times = len(requests)
        begun = sum([x.begun for x in requests])
        read_at = sum([x.read_at for x in requests])
        decoded_at = sum([x.decoded_at for x in requests])
        self.success.add(now * times - begun, times)
        self.compute_input.add(decoded_at - read_at, times)
        self.queue.add(run.started * times - decoded_at, times)
        ran = run.ended - run.started
        self.compute_infer.add(ran * times, times)
        self.compute_output.add((now - run.ended) * times, times)
        self.rows += sum([x.rows or 1 for x in requests])
        self.last_at = time.time()
        if not is_new:
            return
        self.runs += 1
        size = run.padded_rows or 1
        batch = self.batches.get(size)
        if batch is None:
            if len(self.batches) >= _MOST_SIZES:
                return
            batch = self.batches[size] = Duration()
        batch.add(ran)
