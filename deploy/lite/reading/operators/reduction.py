"""Reductions and cumulative sums."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.deploy.lite.reading.registry import Call, constant, like, op, reads
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

_REDUCTIONS = {
    "SUM": "Sum",
    "MEAN": "Mean",
    "REDUCE_PROD": "Prod",
    "REDUCE_MAX": "Max",
    "REDUCE_MIN": "Min",
    "REDUCE_ANY": "Any",
    "REDUCE_ALL": "All",
}
_SMALLEST = 1e-6  # the least norm in LiteRT's kernel


@reads(*_REDUCTIONS)
def reduced(call: Call) -> Tensor:
    """A reduction along axes that are an input."""
    keep = bool(call.options["keep_dims"])
    return op(_REDUCTIONS[call.kind], call.x(0), call.stored(1), keep_dims=keep)


@reads("CUMSUM")
def cumsum(call: Call) -> Tensor:
    """Cumulative sums."""
    axis = op("Reshape", call.stored(1), constant([], dtypes.int32))
    options = call.options
    return op(
        "Cumsum",
        call.x(0),
        axis,
        exclusive=bool(options["exclusive"]),
        reverse=bool(options["reverse"]),
    )


@reads("L2_NORMALIZATION")
def l2_normalization(call: Call) -> Tensor:
    """x divided by its norm along the last axis."""
    x = call.x()
    total = op("Sum", op("Square", x), constant([-1], dtypes.int32), keep_dims=True)
    length = op("Maximum", op("Sqrt", total), like(_SMALLEST, x))
    return call.activated(op("RealDiv", x, length))
