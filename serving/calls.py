"""What passes between the parts of the server: a call of a signature, and a reply."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.serving.servable import Arrays

Headers: TypeAlias = tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, whatever carries it.

    Attributes:
        body: of the answer.
        status: of HTTP.
        headers: names in lower case, and values; length and connection are the front's business.
    """

    body: bytes
    status: int = 200
    headers: Headers = ()


@dataclass(slots=True, eq=False)
class Call:
    """One run of a signature that somebody waits for. Only the event loop's thread changes it.

    Attributes:
        feeds: arrays that fit the signature.
        finish: called once on the event loop, with outputs or with an error.
        deadline: on `time.perf_counter`'s clock; infinite for none.
        allowed_s: what was asked for, from the request on: for messages.
        arrived: when it was put into its lane, on the same clock.
        started: when its batch began to run.
        ended: when its batch had run.
        batch_rows: rows of the batch that it ran in, padding included.
        is_over: whether `finish` was called, or nobody waits any longer.
    """

    feeds: Arrays
    finish: Callable[[Arrays | None, BaseException | None], None]
    deadline: float = float("inf")
    allowed_s: float = float("inf")
    arrived: float = 0.0
    started: float = 0.0
    ended: float = 0.0
    batch_rows: int = 0
    is_over: bool = field(default=False)

    def cancel(self) -> None:
        """Nobody waits any longer: it does not run if it has not begun."""
        self.is_over = True

    def settle(self, outputs: Arrays | None, error: BaseException | None) -> None:
        """Hand the outcome to whoever waits, once."""
        if not self.is_over:
            self.is_over = True
            self.finish(outputs, error)
