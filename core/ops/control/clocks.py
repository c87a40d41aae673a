"""Timestamp: the time when a graph runs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.shapes import SCALAR
from pinnace.ops.execute import execute_one
from pinnace.ops.opdef import NOT_DIFFERENTIABLE
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor

__all__ = ["timestamp"]


def timestamp(name: str | None = None) -> Tensor:
    """Seconds since 1970, a float64 scalar, at the time when the graph runs.

    Args:
        name: name of the node while tracing.
    """
    return execute_one(TIMESTAMP, name=name)


def _timestamp_kernel() -> Array:
    return np.asarray(time.time(), np.float64)


TIMESTAMP = define(
    name="Timestamp",
    signature="-> ts: double",
    infer=lambda call: SCALAR,  # noqa: ARG005
    kernel=_timestamp_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="io",
)
