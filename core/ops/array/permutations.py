"""Reordering: Transpose, ReverseV2, ReverseSequence, Roll."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.context import state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import ANY, ANY_VALUE, COMPLEX, INDEX, NUMBERS, int32, int64
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape, unknown_shape
from pinnace.framework.tensor import Array, Tensor, TensorLike, wrap
from pinnace.ops import flops
from pinnace.ops.array import broadcasting, shapes
from pinnace.ops.array.axes import normal_axis, require_rank
from pinnace.ops.batch_rules import BatchCall, BatchRule
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute_one
from pinnace.ops.math import arithmetic, complexes, division, ranges
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, OpCall, attr, typed
from pinnace.ops.registry import define, normal_axes

__all__ = ["invert_permutation", "reverse", "reverse_sequence", "roll", "transpose"]


@takes_composites(ragged="shaping:reverse")
def reverse(tensor: TensorLike, axis: Any, name: str | None = None) -> Tensor:
    """`tensor` reversed along each axis in `axis`.

    Args:
        tensor: [...], any dtype.
        axis: [k], int32 or int64, distinct; negative ones count from the end.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: there is no such axis, or one is named twice.
    """
    return execute_one(REVERSE_V2, tensor, axis, name=name)


def _reverse_kernel(tensor: Array, axis: Array) -> Array:
    axes = [normal_axis("ReverseV2", a, tensor.ndim) for a in axis.tolist()]
    if len(set(axes)) != len(axes):
        raise InvalidArgumentError(f"ReverseV2: axes must be distinct, got {axis.tolist()}")
    key: list[Any] = [slice(None)] * tensor.ndim
    for a in axes:
        key[a] = slice(None, None, -1)
    return tensor[(*key, ...)]


def _infer_reverse(call: InferCall) -> Shape:
    shape = call.spec(0).shape
    require_rank(call, 1, 1, "axis must be a vector of axes")
    axes = call.constant(1)
    if (
        axes is not None
        and shape.rank is not None
        and len(normal_axes(call, axes, shape.rank)) != axes.size
    ):
        call.fail(f"axes must be distinct, got {axes.tolist()}")
    return shape


def _reverse_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    return reverse(dy, call.inputs[1]), None


REVERSE_V2 = define(
    name="ReverseV2",
    signature="tensor: T, axis: Tidx -> output: T",
    types={"T": NUMBERS | {dtypes.bool, dtypes.string}, "Tidx": typed(INDEX, default=int32)},
    infer=_infer_reverse,
    kernel=_reverse_kernel,
    gradient=_reverse_gradient,
    moves="reverse",
    flops=flops.none,
)


def reverse_sequence(
    input: TensorLike,
    seq_lengths: TensorLike,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
) -> Tensor:
    """`input` with the first seq_lengths[i] steps of slice i along `batch_axis` reversed.

    Args:
        input: [...], any dtype.
        seq_lengths: [batch], int32 or int64, at most the size of `seq_axis`.
        seq_axis: the axis of the steps.
        batch_axis: the axis of the parts; None is 0.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: a length is longer than `seq_axis`, or the axes are equal.
    """
    if seq_axis is None:
        raise ValueError("reverse_sequence: seq_axis must be given")
    batch = 0 if batch_axis is None else int(batch_axis)
    return execute_one(
        REVERSE_SEQUENCE, input, seq_lengths, seq_dim=int(seq_axis), batch_dim=batch, name=name
    )


def _reverse_sequence_kernel(
    input: Array, seq_lengths: Array, *, seq_dim: int, batch_dim: int
) -> Array:
    steps_axis = normal_axis("ReverseSequence", seq_dim, input.ndim, "seq_dim")
    batch_axis = normal_axis("ReverseSequence", batch_dim, input.ndim, "batch_dim")
    size = input.shape[steps_axis]
    if seq_lengths.size and (seq_lengths.min() < 0 or seq_lengths.max() > size):
        raise InvalidArgumentError(
            f"ReverseSequence: seq_lengths must be in [0, {size}], got {seq_lengths.tolist()}"
        )
    steps = np.arange(size)
    lengths = seq_lengths.reshape(-1, 1)
    places = np.where(steps < lengths, lengths - 1 - steps, steps)
    if batch_axis > steps_axis:
        places = places.T
    spread = [1] * input.ndim
    spread[steps_axis], spread[batch_axis] = size, input.shape[batch_axis]
    return np.take_along_axis(input, places.reshape(spread), steps_axis)


def _infer_reverse_sequence(call: InferCall) -> Shape:
    shape, lengths = call.spec(0).shape, call.spec(1).shape
    require_rank(call, 1, 1, "seq_lengths must be a vector")
    if shape.rank is None:
        return shape
    axes = []
    for what in ("seq_dim", "batch_dim"):
        axis = call.attrs[what]
        if not -shape.rank <= axis < shape.rank:
            call.fail(f"{what} must be in [{-shape.rank}, {shape.rank}), got {axis}")
        axes.append(axis % shape.rank)
    if axes[0] == axes[1]:
        call.fail(f"seq_dim and batch_dim must differ, got {axes[0]} for both")
    if lengths.rank == 1 and not lengths.is_compatible_with([shape[axes[1]]]):
        call.fail("seq_lengths must hold one length per part along batch_dim")
    if lengths.rank == 1:
        parts = lengths[0]
        return Shape([parts if i == axes[1] and n is None else n for i, n in enumerate(shape)])
    return shape


def _reverse_sequence_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    return (
        reverse_sequence(dy, call.inputs[1], call.attr("seq_dim"), call.attr("batch_dim")),
        None,
    )


REVERSE_SEQUENCE = define(
    name="ReverseSequence",
    signature="input: T, seq_lengths: Tlen -> output: T",
    types={"T": ANY_VALUE, "Tlen": typed(INDEX, default=int64)},
    attrs={"seq_dim": attr("int"), "batch_dim": attr("int", default=0)},
    infer=_infer_reverse_sequence,
    kernel=_reverse_sequence_kernel,
    gradient=_reverse_sequence_gradient,
)


def roll(input: TensorLike, shift: TensorLike, axis: Any, name: str | None = None) -> Tensor:
    """`input` rolled by `shift` along `axis`: values that leave at the end enter at the start.

    Args:
        input: [...], any dtype.
        shift: int32 or int64, a scalar or one number per axis.
        axis: int32 or int64, a scalar or a vector.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: there is no such axis, or not one shift for each.
    """
    return execute_one(ROLL, input, shift, axis, name=name)


def _roll_kernel(input: Array, shift: Array, axis: Array) -> Array:
    shifts, axes = shift.reshape(-1).tolist(), axis.reshape(-1).tolist()
    if input.ndim < 1:
        raise InvalidArgumentError("Roll: input must be 1-D or higher, got a scalar")
    if len(shifts) != len(axes):
        raise InvalidArgumentError(
            "Roll: shift and axis must have the same size: one number per axis, got "
            f"{shifts} for axes {axes}"
        )
    out = input
    totals: dict[int, int] = {}
    for step, a in zip(shifts, axes, strict=True):
        at = normal_axis("Roll", a, input.ndim)
        totals[at] = totals.get(at, 0) + step
    for at, step in totals.items():
        size = out.shape[at]
        cut = size - step % size if size and step % size else 0
        if cut:
            lead = (slice(None),) * at
            out = np.concatenate([out[(*lead, slice(cut, None))], out[(*lead, slice(0, cut))]], at)
    return out


def _infer_roll(call: InferCall) -> Shape:
    if call.spec(0).shape.rank == 0:
        call.fail("input must be 1-D or higher: Shape must be at least rank 1 but is rank 0")
    for index, what in ((1, "shift"), (2, "axis")):
        rank = call.spec(index).shape.rank
        if rank is not None and rank > 1:
            call.fail(
                f"{what} must be a scalar or a 1-D vector: Shape must be at most rank 1 but is "
                f"rank {rank}"
            )
    if not call.spec(1).shape.is_compatible_with(call.spec(2).shape):
        call.fail("shift and axis must have the same size, both shapes must be equal")
    return call.spec(0).shape


def _roll_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    return roll(dy, arithmetic.negative(call.inputs[1]), call.inputs[2]), None, None


ROLL = define(
    name="Roll",
    signature="input: T, shift: Tshift, axis: Taxis -> output: T",
    types={"T": ANY_VALUE, "Tshift": INDEX, "Taxis": INDEX},
    infer=_infer_roll,
    kernel=_roll_kernel,
    gradient=_roll_gradient,
)


def invert_permutation(x: TensorLike, name: str | None = None) -> Tensor:
    """The inverse permutation y, with y[x[i]] = i.

    Args:
        x: [n], int32 or int64: every number from 0 to n - 1 once.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: a number is missing.
    """
    return INVERT_PERMUTATION.entry(x, name=name)


def _invert_permutation_kernel(x: Array) -> Array:
    n = x.size
    if n and (x.min() < 0 or x.max() >= n):
        bad = int(x[(x < 0) | (x >= n)][0])
        raise InvalidArgumentError(
            f"InvertPermutation: x must hold every number from 0 to {n - 1} once, got {bad}"
        )
    y = np.full(n, -1, x.dtype)
    y[x] = np.arange(n, dtype=x.dtype)
    if n and y.min() < 0:
        raise InvalidArgumentError(
            f"InvertPermutation: x must hold every number from 0 to {n - 1} once, "
            f"{int(y.argmin())} is missing"
        )
    return y


def _infer_invert_permutation(call: InferCall) -> Shape:
    require_rank(call, 0, 1, "x must be a vector")
    return call.spec(0).shape.with_rank(1)


INVERT_PERMUTATION = define(
    name="InvertPermutation",
    signature="x: T -> y: T",
    types={"T": typed(INDEX, default=int32)},
    infer=_infer_invert_permutation,
    kernel=_invert_permutation_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def _axes_of(perm: list[int], rank: int) -> list[int] | None:
    """Axes counted from 0; None if they are not a permutation."""
    order = [axis + rank if axis < 0 else axis for axis in perm]
    return order if sorted(order) == [*range(rank)] else None


def _infer_transpose(call: InferCall) -> Shape:
    shape, perm = call.spec(0).shape, call.spec(1).shape
    if perm.rank not in {None, 1}:
        call.fail("perm must be rank 1, a vector of axes")
    length = perm[0] if perm.rank == 1 else None
    if shape.rank is None:
        return unknown_shape(length)
    if length not in {None, shape.rank}:
        call.fail("perm must hold every axis of x once")
    order = call.constant(1)
    if order is None:
        return unknown_shape(shape.rank)
    axes = _axes_of(order.tolist(), shape.rank)
    if axes is None:
        call.fail(f"perm must hold every axis of x once, got {order.tolist()}")
    return Shape([shape[axis] for axis in axes])


def _back(perm: Tensor) -> Tensor:
    """The permutation that undoes `perm`."""
    known = broadcasting.known_value(perm)
    if known is None or (known < 0).any():
        perm = division.floormod(perm, shapes.size(perm, perm.dtype))
    return invert_permutation(perm)


def transpose(
    a: TensorLike, perm: Any = None, conjugate: bool = False, name: str | None = "transpose"
) -> Tensor:
    """`a` with permuted axes: axis i of the result is axis perm[i] of `a`.

    Args:
        a: [...], any dtype.
        perm: every axis once, negative ones counted from the end; None reverses them.
        conjugate: also the complex conjugate of every element.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: `perm` is no permutation of the axes.
    """
    if perm is None and type(a) is Tensor and not conjugate and state.tracer is None:
        array = a._array
        if not state.tapes:
            return wrap(array.T)
    x = convert_to_tensor(a)
    rank = x.shape.rank
    order = perm
    if order is None:
        order = (
            list(range(rank))[::-1]
            if rank is not None
            else ranges.range(shapes.rank(x) - 1, -1, -1)
        )
    elif rank is not None and type(order) in {list, tuple} and all(type(i) is int for i in order):
        order = [i + rank if -rank <= i < 0 else i for i in order]
    if conjugate and x.dtype.is_complex:
        x = complexes.conj(x)
    if type(x) is Tensor and type(order) is list and state.tracer is None and not state.tapes:
        array = np.asarray(x._array)
        if sorted(order) == [*range(array.ndim)] and array.dtype != object:
            return wrap(array.transpose(order))
    return execute_one(TRANSPOSE, x, order, name=name)


def _transpose_kernel(x: Array, perm: Array) -> Array:
    given = perm.tolist()
    order = _axes_of(given, x.ndim)
    if order is None:
        raise InvalidArgumentError(
            f"Transpose: perm must hold every axis of x once, got {given}\n"
            f"  x: shape {list(x.shape)}"
        )
    return x.transpose(order)


def _transpose_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor, None]:
    return transpose(dy, _back(call.inputs[1])), None


def _transpose_rows(call: BatchCall) -> Sequence[Tensor]:
    perm = call.fixed(1)
    return [transpose(call.tensors[0], [0, *(int(n) % len(perm) + 1 for n in perm)])]


TRANSPOSE = define(
    name="Transpose",
    signature="x: T, perm: Tperm -> y: T",
    types={"T": ANY, "Tperm": typed(INDEX, default=int32)},
    infer=_infer_transpose,
    kernel=_transpose_kernel,
    gradient=_transpose_gradient,
    view="permuted",
    batch=BatchRule(_transpose_rows),
)


def _conjugate_transpose_kernel(x: Array, perm: Array) -> Array:
    return np.conj(_transpose_kernel(x, perm))


def _conjugate_transpose_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor, None]:
    return transpose(complexes.conj(dy), _back(call.inputs[1])), None


CONJUGATE_TRANSPOSE = define(
    name="ConjugateTranspose",
    signature="x: T, perm: Tperm -> y: T",
    types={"T": COMPLEX, "Tperm": typed(INDEX, default=int32)},
    infer=_infer_transpose,
    kernel=_conjugate_transpose_kernel,
    gradient=_conjugate_transpose_gradient,
)
