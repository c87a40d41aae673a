"""A function of an index, computed for all indices from 0 at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.functions.control.mapping import vectorized_map
from pinnace.ops.math.ranges import range as numbers

if TYPE_CHECKING:
    from collections.abc import Callable


def pfor(
    loop_fn: Callable[[Any], Any],
    iters: Any,
    fallback_to_while_loop: bool = True,
    parallel_iterations: int | None = None,
    warn: bool = False,
) -> Any:
    """The results of a function for 0, 1, ..., stacked.

    Args:
        loop_fn: takes a scalar of int32, gives tensors in any structure.
        iters: how many numbers.
        fallback_to_while_loop: whether to go one by one where an op cannot be computed for all.
        parallel_iterations: has no effect: all are computed at once.
        warn: whether to log when it goes one by one.
    """
    del parallel_iterations
    return vectorized_map(loop_fn, numbers(iters), fallback_to_while_loop, warn)


__all__ = ["pfor", "vectorized_map"]
