"""Calls that run together, their times, and the delivery of their outcomes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from pinnace.serving.running.batching import split

if TYPE_CHECKING:
    from pinnace.serving.running.call import Call
    from pinnace.serving.running.signatures import Arrays

Outcome: TypeAlias = "tuple[Arrays | None, BaseException | None]"


class Run:
    """Calls that run together.

    Args:
        calls: the calls, in order.
        rows: the rows of each call; empty if it cannot be joined.
        total: the rows of all calls.
        padded_rows: the rows of the run; 0 if unknown.
        elements: the number of elements of all inputs.

    Attributes:
        started: when it began, on `time.perf_counter`'s clock.
        ended: when it ended, on the same clock.
        is_counted: whether metrics have counted it.
        outputs: the outputs of all rows; None if the calls ran alone.
        outcomes: the outcome of each call, if they ran alone.
    """

    __slots__ = (
        "calls",
        "elements",
        "ended",
        "is_counted",
        "outcomes",
        "outputs",
        "padded_rows",
        "rows",
        "started",
        "total",
    )

    def __init__(
        self, calls: list[Call], rows: list[int], total: int, padded_rows: int, elements: int
    ) -> None:
        self.calls = calls
        self.rows = rows
        self.total = total
        self.padded_rows = padded_rows
        self.elements = elements
        self.started = self.ended = 0.0
        self.is_counted = False
        self.outputs: Arrays | None = None
        self.outcomes: list[Outcome] = []

    @property
    def is_joined(self) -> bool:
        """Whether the run differs from those of its calls alone."""
        return len(self.calls) > 1 or self.padded_rows > self.total

    def settle(self) -> None:
        """Settle all calls, once. On the event loop."""
        outputs = self.outputs
        if outputs is None:
            for call, (found, error) in zip(self.calls, self.outcomes, strict=True):
                call.settle(found, error)
        elif self._is_of_one_group():
            self.calls[0].settle_run(self, outputs)
        else:
            self.settle_apart(outputs)
        # Calls and run refer to each other: without this, requests would be cyclic garbage.
        self.calls, self.outcomes, self.outputs = [], [], None

    def _is_of_one_group(self) -> bool:
        group = self.calls[0].group
        if group is None:
            return False
        for call in self.calls:  # noqa: SIM110 (a generator costs more than its loop)
            if call.group is not group:
                return False
        return True

    def settle_apart(self, outputs: Arrays) -> None:
        """Pass its rows of the outputs to each call.

        Args:
            outputs: the run's outputs.
        """
        for call, part in zip(self.calls, split(outputs, self.rows), strict=True):
            call.settle(part, None)
