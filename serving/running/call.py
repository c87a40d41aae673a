"""A call of a signature that waits for its run.

One is made for every request, so that it is a plain class: a frozen dataclass takes several times
as long to make.
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
        feeds: arrays that fit the signature.
        finish: called once on the event loop, with outputs or with an error.
        deadline: on `time.perf_counter`'s clock; infinite for none.
        allowed_s: the timeout that the request has, for messages.

    Attributes:
        arrived: when it was put into its lane, on the same clock; 0 before that.
        elements: of its feeds.
        rows: of its feeds; 0 if it cannot be joined with others.
        key: calls with equal keys can be joined.
        group: calls of one run that have the same one are settled together by `settle_run`.
        run: that it is part of, once it has begun to run.
        is_over: whether it was settled, or its caller is gone.
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
        """Rows of its run, padding included; 0 if unknown."""
        return 0 if self.run is None else self.run.padded_rows

    def cancel(self) -> None:
        """The caller gave up: the call does not run if it has not begun."""
        self.is_over = True

    def settle(self, outputs: Arrays | None, error: BaseException | None) -> None:
        """Give the outcome to the caller, once."""
        if not self.is_over:
            self.is_over = True
            self.finish(outputs, error)

    def settle_run(self, run: Run, outputs: Arrays) -> None:
        """Hand each call of a run its rows of the outputs. All have the group of this one.

        Args:
            run: of calls that were joined.
            outputs: of the run; each has as many rows as the run, padding included.
        """
        run.settle_apart(outputs)
