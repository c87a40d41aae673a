"""Windows clamped to the bounds of a tensor: XlaDynamicSlice, XlaDynamicUpdateSlice.

Text generators, such as those of `transformers`, keep keys and values in a tensor of full length
and write each token's with the second op; so their SavedModels contain these XLA ops. JAX's
`dynamic_slice` and `dynamic_update_slice` become them, too.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import ANY_VALUE, INDEX, string
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops import flops
from pinnace.ops.array import constants, shapes
from pinnace.ops.execute import execute
from pinnace.ops.kernels.sole import is_sole
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array, Tensor
    from pinnace.ops.opdef import InferCall, OpCall

__all__: list[str] = []

# XLA has no strings: TensorFlow refuses them or crashes.
_TYPES = ANY_VALUE - {string}


def _window(
    op: str, shape: Sequence[int], starts: Sequence[int], sizes: Sequence[int]
) -> tuple[builtins.slice, ...]:
    """The window of these sizes, clamped to be in bounds."""
    if not len(starts) == len(sizes) == len(shape):
        raise InvalidArgumentError(
            f"{op}: the window must have one start and one size per axis, got "
            f"{len(starts)} starts and {len(sizes)} sizes\n  input: shape {list(shape)}"
        )
    found = []
    for axis, (n, start, size) in enumerate(zip(shape, starts, sizes, strict=True)):
        if not 0 <= size <= n:
            raise InvalidArgumentError(
                f"{op}: the window must be no larger than axis {axis}, {n}, got {size}\n"
                f"  input: shape {list(shape)}"
            )
        first = max(min(start, n - size), 0)
        found.append(builtins.slice(first, first + size))
    return tuple(found)


def _slice_kernel(input: Array, start_indices: Array, size_indices: Array) -> Array:
    place = _window("XlaDynamicSlice", input.shape, start_indices.tolist(), size_indices.tolist())
    window: Array = input[place]
    return window


def _update_kernel(input: Array, update: Array, indices: Array) -> Array:
    place = _window("XlaDynamicUpdateSlice", input.shape, indices.tolist(), update.shape)
    result = np.array(input)
    result[place] = update
    return result


def _update_in_place(own: list[Array], update: Array, indices: Array) -> Array:
    if not is_sole(own):
        return _update_kernel(own[0], update, indices)
    result = own[0]
    place = _window("XlaDynamicUpdateSlice", result.shape, indices.tolist(), update.shape)
    result[place] = update
    return result


def _check_vector(call: InferCall, index: int, rank: int | None) -> None:
    """Argument `index` must be a vector with one entry per axis."""
    shape = call.spec(index).shape
    name = call.op.inputs[index].name
    if shape.rank not in (None, 1):
        call.fail(f"{name} must be a vector")
    if rank is not None and shape.rank == 1 and shape[0] not in (None, rank):
        call.fail(f"{name} must have one entry per axis of input, {rank}, got {shape[0]}")


def _infer_slice(call: InferCall) -> Shape:
    shape, counts = call.spec(0).shape, [call.spec(index).shape for index in (1, 2)]
    # The rank follows from any of the three inputs.
    ranks = [shape.rank, *(one[0] for one in counts if one.rank == 1)]
    rank = next((n for n in ranks if n is not None), None)
    _check_vector(call, 1, rank)
    _check_vector(call, 2, rank)
    sizes = call.constant(2)
    if sizes is None:
        return Shape(None if rank is None else [None] * rank)
    lengths = [int(n) for n in sizes]
    for axis, length in enumerate(lengths):
        n = shape[axis] if shape.rank is not None else None
        if length < 0 or (n is not None and length > n):
            call.fail(f"the window must be no larger than axis {axis}, {n}, got {length}")
    return Shape(lengths)


def _infer_update(call: InferCall) -> Shape:
    shape, update = call.spec(0).shape, call.spec(1).shape
    if shape.rank is not None and update.rank is not None:
        if shape.rank != update.rank:
            call.fail(f"update must have the rank of input, {shape.rank}, got {update.rank}")
        for axis, (n, size) in enumerate(zip(shape, update, strict=True)):
            if n is not None and size is not None and size > n:
                call.fail(f"update must be no larger than input in axis {axis}, {n}, got {size}")
    rank = shape.rank if shape.rank is not None else update.rank
    _check_vector(call, 2, rank)
    return shape if shape.rank is not None or rank is None else Shape([None] * rank)


def _slice_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    x, starts, _ = call.inputs
    return execute(UPDATE, constants.zeros_like(x), dy, starts), None, None


def _update_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    _, update, starts = call.inputs
    dx = execute(UPDATE, dy, constants.zeros_like(update), starts)
    sizes = shapes.shape(update, out_type=starts.dtype)
    return dx, execute(SLICE, dy, starts, sizes), None


SLICE = define(
    name="XlaDynamicSlice",
    signature="input: T, start_indices: Tindices, size_indices: Tindices -> output: T",
    types={"T": _TYPES, "Tindices": INDEX},
    infer=_infer_slice,
    kernel=_slice_kernel,
    gradient=_slice_gradient,
    flops=flops.none,
)

UPDATE = define(
    name="XlaDynamicUpdateSlice",
    signature="input: T, update: T, indices: Tindices -> output: T",
    types={"T": _TYPES, "Tindices": INDEX},
    infer=_infer_update,
    kernel=_update_kernel,
    gradient=_update_gradient,
    fresh=True,
    in_place=_update_in_place,
    flops=flops.none,
)
