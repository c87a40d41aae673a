"""Durations of a signature's runs."""

from __future__ import annotations

_NEAR = 0.9  # run times that differ by less do not change expectations


class RunTimes:
    """A signature's run times by the size of its inputs: measured, and interpolated between."""

    __slots__ = ("_expected", "_seconds", "_told")

    def __init__(self) -> None:
        self._seconds: dict[int, float] = {}
        self._told: dict[int, float] = {}  # about the same, but rarely changed
        self._expected: dict[int, float] = {}  # derived from it

    def expect(self, elements: int) -> float:
        """Return the expected seconds of a run; infinite before the first measurement.

        A run is assumed to take no longer than a larger one, nor than several smaller ones of the
        same total, so that a size that was slow once, beside a compilation or another process, is
        retried.

        Args:
            elements: the number of elements of all inputs.
        """
        bucket = elements.bit_length()
        expected = self._expected
        found = expected.get(bucket)
        if found is None:
            found = expected[bucket] = min(
                (
                    seconds * 2.0 ** max(bucket - measured, 0)
                    for measured, seconds in self._told.copy().items()
                ),
                default=float("inf"),
            )
        return found

    def at_least(self, elements: int) -> float:
        """Return a lower bound on the seconds of a run, for refusing calls that cannot end in time.

        `expect` is an upper bound: it counts a thousand rows as a thousand runs of one, which
        usually takes far less. Here a run takes as long as the longest one that was no larger.

        Args:
            elements: the number of elements of all inputs.
        """
        bucket = elements.bit_length()
        smaller = [s for measured, s in self._told.copy().items() if measured <= bucket]
        return min(self.expect(elements), max(smaller, default=0.0))

    def record(self, elements: int, seconds: float) -> None:
        """Record a run: shorter times count at once, as first runs compile; longer ones slowly."""
        bucket = elements.bit_length()
        known = self._seconds.get(bucket, seconds)
        mean = seconds if seconds < known else known + 0.2 * (seconds - known)
        self._seconds[bucket] = mean
        if not _NEAR * mean < self._told.get(bucket, 0.0) < mean / _NEAR:
            self._told[bucket] = mean
            self._expected = {}
