"""A call of a signature that waits for its run.

It is a plain class, since one is created for every request: a frozen dataclass takes several times
as long to create.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.serving.running.runs import Run
    from pinnace.serving.running.signatures import Arrays


class Call:
    """A pending run of a signature. Only the event loop's thread changes it.

    Args:
        feeds: arrays that match the signature.
        finish: called once on the event loop, with outputs or with an error.
        deadline: the deadline on `time.perf_counter`'s clock; infinite for none.
        allowed_s: the request's time limit, for messages.

    Attributes:
        arrived: when it was queued in its lane, on the same clock; 0 before that.
        elements: the number of elements of its feeds.
        rows: the number of rows of its feeds; 0 if it cannot be joined with others.
        key: calls with equal keys can be joined.
        group: calls of one run with the same group are settled together by `settle_run`.
        run: its run, once that has begun.
        is_over: whether it was settled or cancelled.
    """

    __slots__ = (
        "allowed_s",
        "arrived",
        "deadline",
        "elements",
        "feeds",
        "finish",
        "group",
        "is_over",
        "key",
        "rows",
        "run",
    )

    feeds: Arrays
    finish: Callable[[Arrays | None, BaseException | None], None]
    elements: int
    rows: int
    key: object

    def __init__(
        self,
        feeds: Arrays,
        finish: Callable[[Arrays | None, BaseException | None], None],
        deadline: float = float("inf"),
        allowed_s: float = float("inf"),
    ) -> None:
        self.feeds = feeds
        self.finish = finish
        self.deadline = deadline
        self.allowed_s = allowed_s
        self.arrived = 0.0
        self.group: object = None
        self.run: Run | None = None
        self.is_over = False

    @property
    def started(self) -> float:
        """When its run began; 0 before that."""
        return 0.0 if self.run is None else self.run.started

    @property
    def ended(self) -> float:
        """When its run ended; 0 before that."""
        return 0.0 if self.run is None else self.run.ended

    @property
    def batch_rows(self) -> int:
        """The rows of its run, including padding; 0 if unknown."""
        return 0 if self.run is None else self.run.padded_rows

    def cancel(self) -> None:
        """Cancel the call, which then does not run if it has not begun."""
        self.is_over = True

    def settle(self, outputs: Arrays | None, error: BaseException | None) -> None:
        """Pass the outcome to the caller, once."""
        if not self.is_over:
            self.is_over = True
            self.finish(outputs, error)

    def settle_run(self, run: Run, outputs: Arrays) -> None:
        """Pass its rows of the outputs to each call of a run, all of which have this group.

        Args:
            run: a run of joined calls.
            outputs: the run's outputs, each with all its rows, including padding.
        """
        run.settle_apart(outputs)
