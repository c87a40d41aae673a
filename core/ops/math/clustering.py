"""The centers that are nearest to points: NearestNeighbors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, InferCall
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array

__all__: list[str] = []

# Distances computed at once: points are taken in blocks of about so many numbers.
_BLOCK = 1 << 22


def _kernel(points: Array, centers: Array, k: Array) -> tuple[Array, Array]:
    wanted = int(k)
    if wanted <= 0:
        raise InvalidArgumentError(f"NearestNeighbors: k must be at least 1, got {wanted}")
    for name, array in (("points", points), ("centers", centers)):
        if not len(array):
            raise InvalidArgumentError(f"NearestNeighbors: there must be {name}, got none")
    count = min(wanted, len(centers))
    indices = np.empty((len(points), count), np.int64)
    distances = np.empty((len(points), count), np.float32)
    rows = max(1, _BLOCK // max(1, centers.size))
    for begin in range(0, len(points), rows):
        block = points[begin : begin + rows]
        found = np.square(block[:, None, :] - centers[None]).sum(-1, dtype=np.float32)
        order = np.argsort(found, axis=1, kind="stable")[:, :count]
        indices[begin : begin + rows] = order
        distances[begin : begin + rows] = np.take_along_axis(found, order, 1)
    return indices, distances


def _infer(call: InferCall) -> tuple[Shape, Shape]:
    points, centers = call.spec(0).shape, call.spec(1).shape
    for name, shape in (("points", points), ("centers", centers)):
        if shape.rank not in {None, 2}:
            call.fail(f"{name} must be a matrix, got {shape.rank} axes")
    if call.spec(2).shape.rank not in {None, 0}:
        call.fail("k must be a scalar")
    known = points.rank is not None and centers.rank is not None
    if known and None not in {points[1], centers[1]} and points[1] != centers[1]:
        call.fail(f"points and centers must have as many columns, got {points[1]} and {centers[1]}")
    k, count = call.constant(2), centers[0] if centers.rank is not None else None
    width = None if k is None or count is None else min(int(k), int(count))
    shape = Shape([points[0] if points.rank is not None else None, width])
    return shape, shape


NEAREST_NEIGHBORS = define(
    name="NearestNeighbors",
    signature="points: float32, centers: float32, k: int64 -> "
    "nearest_center_indices: int64, nearest_center_distances: float32",
    infer=_infer,
    kernel=_kernel,
    gradient=NO_GRADIENT_DEFINED,
)
