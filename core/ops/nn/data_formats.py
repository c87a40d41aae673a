"""Conversion of axes and sizes between data formats: DataFormatDimMap and DataFormatVecPermute.

TensorFlow's layout optimiser leaves them in graphs, between NHWC and NCHW.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.dtypes import INDEX, int32
from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, OpDef, attr, typed
from pinnace.ops.registry import register, same_as_input

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Array

__all__: list[str] = []


def permuted_order(source: str, target: str, count: int) -> list[int]:
    """The positions in `source` of the `count` sizes of `target`: all, or the spatial ones."""
    name = "DataFormatVecPermute"
    order = _order(name, source, target)
    if count == len(source):
        return order
    spatial = [letter for letter in source if letter in "DHW"]
    if count != len(spatial):
        raise InvalidArgumentError(
            f"{name}: x must have {len(source)} or {len(spatial)} rows, got {count}"
        )
    return [spatial.index(letter) for letter in target if letter in "DHW"]


def _order(name: str, source: str, target: str) -> list[int]:
    """The position of each axis of `target` in `source`."""
    if sorted(source) != sorted(target) or len(set(source)) != len(source):
        raise InvalidArgumentError(
            f"{name}: src_format and dst_format must hold the same letters, each once, "
            f"got {source!r} and {target!r}"
        )
    return [source.index(letter) for letter in target]


def _of_formats(
    name: str, infer: Callable[[InferCall], Shape], kernel: Callable[..., Array]
) -> OpDef:
    return OpDef(
        name=name,
        signature="x: T -> y: T",
        types={"T": typed(INDEX, default=int32)},
        attrs={
            "src_format": attr("string", default="NHWC"),
            "dst_format": attr("string", default="NCHW"),
        },
        infer=infer,
        kernel=kernel,
        gradient=NOT_DIFFERENTIABLE,
    )


def _map_kernel(x: Array, *, src_format: str, dst_format: str) -> Array:
    order = _order("DataFormatDimMap", src_format, dst_format)
    table = np.argsort(order).astype(x.dtype)
    return table[x % len(table)]  # type: ignore[no-any-return]


DIM_MAP = register(_of_formats("DataFormatDimMap", same_as_input, _map_kernel))


def _permute_kernel(x: Array, *, src_format: str, dst_format: str) -> Array:
    return x[permuted_order(src_format, dst_format, len(x))]


def _infer_permute(call: InferCall) -> Shape:
    shape = call.spec(0).shape
    if shape.rank not in {None, 1, 2}:
        call.fail("x must be a vector, or a matrix of two columns")
    if shape.rank == 2 and shape[1] not in {None, 2}:
        call.fail(f"a matrix x must have two columns, got {shape[1]}")
    return shape


VEC_PERMUTE = register(_of_formats("DataFormatVecPermute", _infer_permute, _permute_kernel))
