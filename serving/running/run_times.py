"""How long runs of a signature take."""

from __future__ import annotations

_NEAR = 0.9  # run times that differ by less make no other expectations


class RunTimes:
    """How long a signature runs, by the size of what it is fed: measured, guessed between."""

    __slots__ = ("_expected", "_seconds", "_told")

    def __init__(self) -> None:
        self._seconds: dict[int, float] = {}
        self._told: dict[int, float] = {}  # about the same; changes seldom
        self._expected: dict[int, float] = {}  # what follows from it

    def expect(self, elements: int) -> float:
        """Seconds that a run should take; infinite as long as nothing was measured.

        A run takes no longer than a larger one, nor than as many smaller ones: so a size that was
        slow once, beside a compiler or a neighbour, is tried again.

        Args:
            elements: of all inputs together.
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
        """Seconds below which a run will hardly be, for who refuses one because of it.

        `expect` says the most: a thousand rows as a thousand runs of one, which mostly takes far
        less. Here a run takes as long as the longest that was no larger.

        Args:
            elements: of all inputs together.
        """
        bucket = elements.bit_length()
        smaller = [s for measured, s in self._told.copy().items() if measured <= bucket]
        return min(self.expect(elements), max(smaller, default=0.0))

    def record(self, elements: int, seconds: float) -> None:
        """Remember a run: a shorter one at once, for the first runs compile; longer ones slowly."""
        bucket = elements.bit_length()
        known = self._seconds.get(bucket, seconds)
        mean = seconds if seconds < known else known + 0.2 * (seconds - known)
        self._seconds[bucket] = mean
        if not _NEAR * mean < self._told.get(bucket, 0.0) < mean / _NEAR:
            self._told[bucket] = mean
            self._expected = {}
