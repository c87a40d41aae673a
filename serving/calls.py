"""What passes between the parts of the server: a call of a signature, and a reply.

One of each is made for every request, so that they are plain classes: a frozen dataclass takes
several times as long to make.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.serving.runs import Run
    from pinnace.serving.servable import Arrays

Headers: TypeAlias = tuple[tuple[bytes, bytes], ...]


class Reply:
    """An answer, whatever carries it.

    Args:
        body: of the answer.
        status: of HTTP.
        headers: names in lower case, and values; length and connection are the front's business.
    """

    __slots__ = ("body", "headers", "status")

    def __init__(self, body: bytes, status: int = 200, headers: Headers = ()) -> None:
        self.body = body
        self.status = status
        self.headers = headers


class Call:
    """One run of a signature that somebody waits for. Only the event loop's thread changes it.

    Args:
        feeds: arrays that fit the signature.
        finish: called once on the event loop, with outputs or with an error.
        deadline: on `time.perf_counter`'s clock; infinite for none.
        allowed_s: what was asked for, from the request on: for messages.

    Attributes:
        arrived: when it was put into its lane, on the same clock; 0 before that.
        elements: of its feeds.
        rows: of its feeds; 0 if it cannot be joined with others.
        key: what calls must agree in to be joined.
        group: calls of one run that have the same one are settled together by `settle_run`.
        run: that it is part of, once it has begun to run.
        is_over: whether it was settled, or nobody waits any longer.
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
        """When its run was over; 0 before that."""
        return 0.0 if self.run is None else self.run.ended

    @property
    def batch_rows(self) -> int:
        """Rows of its run, padding included; 0 if they cannot be told."""
        return 0 if self.run is None else self.run.padded_rows

    def cancel(self) -> None:
        """Nobody waits any longer: it does not run if it has not begun."""
        self.is_over = True

    def settle(self, outputs: Arrays | None, error: BaseException | None) -> None:
        """Hand the outcome to whoever waits, once."""
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
