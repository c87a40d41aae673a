"""The time of day: Timestamp."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from pinnace.ops.execute import execute_one
from pinnace.ops.opdef import NOT_DIFFERENTIABLE
from pinnace.ops.registry import define, scalar

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor

__all__: list[str] = []


def timestamp(name: str | None = None) -> Tensor:
    """The time when it runs, inside a function too: seconds since 1970, a float64 scalar.

    Args:
        name: name of the node while tracing.

    Source:
        TensorFlow op `Timestamp`.
    """
    return execute_one(TIMESTAMP, name=name)


def _kernel() -> Array:
    return np.asarray(time.time())


TIMESTAMP = define(
    name="Timestamp",
    signature="-> ts: float64",
    infer=scalar,
    kernel=_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="io",
)
