"""In-place updates of rows, and uninitialized arrays: InplaceUpdate and others, Empty.

TensorFlow writes into its input. A kernel here never does; the result of an `Inplace` op is the
same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.dtypes import ANY_VALUE, DType
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.array.axes import require_rank
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, NOT_DIFFERENTIABLE, InferCall, OpDef, attr
from pinnace.ops.registry import define, register, same_as_input

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Array

__all__: list[str] = []


def _places(name: str, x: Array, i: Array, v: Array) -> Array:
    """The row indices, which TensorFlow wraps around at both ends."""
    if x.ndim < 1 or i.ndim != 1 or v.shape != (i.size, *x.shape[1:]):
        raise InvalidArgumentError(
            f"{name}: v must have a row of x for each number in the vector i, "
            f"got x {list(x.shape)}, i {list(i.shape)}, v {list(v.shape)}"
        )
    return i % max(len(x), 1)


def _infer(call: InferCall) -> Shape:
    x, i, v = (call.spec(index).shape for index in range(3))
    if x.rank == 0:
        call.fail("x must have at least one axis")
    if i.rank not in {None, 1}:
        call.fail("i must be a vector")
    if x.rank is not None:
        rows = Shape([i[0] if i.rank == 1 else None]).concatenate(x[1:])
        if not rows.is_compatible_with(v):
            call.fail("v must have a row of x for each number in i")
    return x


def _replacing(name: str, change: Callable[[Array, Array, Array], None]) -> OpDef:
    def kernel(x: Array, i: Array, v: Array) -> Array:
        places = _places(name, x, i, v)
        y = x.copy()
        if x.size and v.size:  # TensorFlow, too, leaves an array without elements as it is
            change(y, places, v)
        return y

    return OpDef(
        name=name,
        signature="x: T, i: int32, v: T -> y: T",
        types={"T": ANY_VALUE},
        infer=_infer,
        kernel=kernel,
        gradient=NO_GRADIENT_DEFINED,
    )


def _put(y: Array, places: Array, v: Array) -> None:
    # A loop, so that of duplicate rows the last value remains.
    for place, row in zip(places.tolist(), v, strict=True):
        y[place] = row


def _counting(name: str, change: Callable[[Array, Array, Array], None]) -> OpDef:
    """An op for numeric dtypes; without indices any dtype is accepted, as in TensorFlow."""

    def change_numbers(y: Array, places: Array, v: Array) -> None:
        if y.dtype.kind in "bO":
            kind = "bool" if y.dtype.kind == "b" else "string"
            raise InvalidArgumentError(f"{name}: x and v must be of numbers, got {kind}")
        change(y, places, v)

    return _replacing(name, change_numbers)


INPLACE_UPDATE = register(_replacing("InplaceUpdate", _put))
INPLACE_ADD = register(_counting("InplaceAdd", np.add.at))
INPLACE_SUB = register(_counting("InplaceSub", np.subtract.at))


def _empty_kernel(shape: Array, *, dtype: DType) -> Array:
    # Always cleared: uninitialised memory may hold data of other requests.
    sizes = tuple(shape.tolist())
    if min(sizes, default=0) < 0:
        raise InvalidArgumentError(f"Empty: sizes must not be negative, got {list(sizes)}")
    blank = b"" if dtype.name == "string" else 0
    return np.full(sizes, blank, dtype.numpy)


def _infer_empty(call: InferCall) -> Shape:
    require_rank(call, 0, 1, "shape must be a vector")
    return call.shape_constant(0)


EMPTY = define(
    name="Empty",
    signature="shape: int32 -> output: dtype",
    types={"dtype": ANY_VALUE},
    attrs={"init": attr("bool", default=False)},
    infer=_infer_empty,
    kernel=_empty_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="random",
)
DEEP_COPY = define(
    name="DeepCopy",
    signature="x: T -> y: T",
    types={"T": ANY_VALUE},
    infer=same_as_input,
    kernel=lambda x: np.array(x),
    gradient=NO_GRADIENT_DEFINED,
    effect="random",
)
