"""Padding: Pad, PadV2, MirrorPad and its gradient."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import ANY_VALUE, INDEX, int32
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape, unknown_shape
from pinnace.framework.tensor import Array, Operands, Tensor, TensorLike
from pinnace.ops import batch_rules, flops
from pinnace.ops.array import joining, shapes, slicing
from pinnace.ops.array.broadcasting import known_value
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.opdef import InferCall, OpCall, attr, typed
from pinnace.ops.registry import define, gradient_of

__all__ = ["pad"]

_MODES = ("REFLECT", "SYMMETRIC")


def _pairs(op: str, x: Array, paddings: Array) -> list[list[int]]:
    if paddings.shape != (x.ndim, 2) or (paddings.size and paddings.min() < 0):
        raise InvalidArgumentError(
            f"{op}: paddings must be non-negative, a pair of numbers per axis, got "
            f"{paddings.tolist()}\n  input: shape {list(x.shape)}"
        )
    return paddings.tolist()  # type: ignore[no-any-return]


def _padded(op: str, x: Array, paddings: Array, value: Any) -> Array:
    pairs = _pairs(op, x, paddings)
    out = np.full([n + a + b for n, (a, b) in zip(x.shape, pairs, strict=True)], value, x.dtype)
    out[tuple([slice(a, a + n) for n, (a, _) in zip(x.shape, pairs, strict=True)])] = x
    return out


def _check_paddings(call: InferCall) -> tuple[Shape, Array | None]:
    shape, pairs = call.spec(0).shape, call.spec(1).shape
    if not pairs.is_compatible_with([shape.rank, 2]):
        call.fail(
            "paddings must be a matrix with 2 columns, a pair of numbers per axis: "
            "paddings must be the rank of inputs"
        )
    if shape.rank is None and pairs.rank == 2:
        shape = unknown_shape(pairs[0])
    value = call.constant(1)
    if value is not None and value.size and value.min() < 0:
        call.fail(f"paddings must be at least 0, got {value.tolist()}")
    return shape, value


def _infer_pad(call: InferCall) -> Shape:
    shape, pairs = _check_paddings(call)
    if len(call.inputs) > 2 and call.spec(2).shape.rank not in {None, 0}:
        call.fail("constant_values must be a scalar")
    if shape.rank is None:
        return shape
    if pairs is None:
        return unknown_shape(shape.rank)
    return Shape(
        [None if n is None else n + int(pair.sum()) for n, pair in zip(shape, pairs, strict=True)]
    )


def _pad_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    x, paddings = call.inputs[:2]
    begin = paddings[:, 0]
    dx = slicing.slice(dy, begin, shapes.shape(x, begin.dtype))
    # TensorFlow defines no gradient for the border value.
    return (dx, None, None)[: len(call.inputs)]


def pad(
    tensor: TensorLike,
    paddings: TensorLike,
    mode: str = "CONSTANT",
    constant_values: TensorLike = 0,
    name: str | None = None,
) -> Tensor:
    """`tensor` padded by paddings[i, 0] elements before and paddings[i, 1] after along each axis i.

    Args:
        tensor: [...], any dtype.
        paddings: [rank, 2], int32 or int64, at least 0.
        mode: "CONSTANT", "REFLECT" (mirrored without the edge) or "SYMMETRIC" (with it), in any
            case of letters.
        constant_values: a scalar: what a constant border holds.
        name: name of the node while tracing.

    Raises:
        ValueError: the mode is unknown.
        InvalidArgumentError: not a pair per axis, a negative number, or a mirror wider than the
            axis.

    Source:
        TensorFlow ops `Pad`, `PadV2`, `MirrorPad` (array_ops.cc).
    """
    kind = mode.upper()
    if kind == "CONSTANT":
        # TensorFlow writes the older op for a border of zeros.
        if (
            not isinstance(constant_values, Operands)
            and np.ndim(constant_values) == 0
            and constant_values == 0
        ):
            padded = execute_one(PAD, tensor, paddings, name=name)
        else:
            padded = execute_one(PAD_V2, tensor, paddings, constant_values, name=name)
    elif kind in _MODES:
        padded = execute_one(MIRROR_PAD, convert_to_tensor(tensor), paddings, mode=kind, name=name)
    else:
        raise ValueError(f"pad: mode must be CONSTANT, REFLECT or SYMMETRIC, got {mode!r}")
    if not padded.shape.is_fully_defined() and isinstance(paddings, (list, tuple)):
        _tell_known(padded, tensor, paddings)
    return padded


def _tell_known(padded: Tensor, tensor: TensorLike, paddings: Sequence[Any]) -> None:
    """The sizes of axes whose pair is known among others that are not."""
    pairs = [_known_pair(pair) for pair in paddings]
    shape = convert_to_tensor(tensor).shape
    if shape.rank == len(pairs):
        padded.set_shape(
            [
                None if n is None or pair is None else n + sum(pair)
                for n, pair in zip(shape, pairs, strict=True)
            ]
        )


def _known_pair(pair: Any) -> list[int] | None:
    parts = pair if isinstance(pair, (list, tuple)) else [pair]
    known: list[Any] = [known_value(part) if isinstance(part, Tensor) else part for part in parts]
    return None if any(part is None for part in known) else np.ravel(known).tolist()


@gradient_of(slicing.SLICE)
def _slice_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    x, begin, _ = call.inputs
    sizes = shapes.shape(x, begin.dtype)
    after = sizes - begin - shapes.shape(dy, begin.dtype)
    return pad(dy, joining.stack([begin, after], axis=1)), None, None


def _pad_kernel(input: Array, paddings: Array) -> Array:
    return _padded("Pad", input, paddings, b"" if input.dtype == object else 0)


PAD = define(
    name="Pad",
    signature="input: T, paddings: Tpaddings -> output: T",
    types={"T": ANY_VALUE, "Tpaddings": typed(INDEX, default=int32)},
    infer=_infer_pad,
    kernel=_pad_kernel,
    gradient=_pad_gradient,
    batch=batch_rules.leading([0, 0]),
    flops=flops.none,
)


def _pad_v2_kernel(input: Array, paddings: Array, constant_values: Array) -> Array:
    return _padded("PadV2", input, paddings, constant_values.reshape(-1)[0])


PAD_V2 = define(
    name="PadV2",
    signature="input: T, paddings: Tpaddings, constant_values: T -> output: T",
    types={"T": ANY_VALUE, "Tpaddings": typed(INDEX, default=int32)},
    infer=_infer_pad,
    kernel=_pad_v2_kernel,
    gradient=_pad_gradient,
    flops=flops.none,
)


def _mirror_places(op: str, size: int, pair: list[int], mode: str, axis: int) -> Array:
    """The index of the input for each index of a padded axis."""
    edge = int(mode == "REFLECT")
    before, after = pair
    if max(pair) > size - edge:
        raise InvalidArgumentError(
            f"{op}: paddings of axis {axis} must be at most {max(size - edge, 0)} in mode {mode}, "
            f"got {pair}"
        )
    left = np.arange(before, 0, -1) - 1 + edge
    right = size - 1 - edge - np.arange(after)
    return np.concatenate([left, np.arange(size), right])


def _mirror_pad_kernel(input: Array, paddings: Array, *, mode: str) -> Array:
    out = input
    for axis, pair in enumerate(_pairs("MirrorPad", input, paddings)):
        if pair != [0, 0]:
            out = out.take(_mirror_places("MirrorPad", input.shape[axis], pair, mode, axis), axis)
    return out


def _infer_mirror_pad(call: InferCall) -> Shape:
    shape, pairs = _check_paddings(call)
    edge = int(call.attrs["mode"] == "REFLECT")
    if shape.rank is not None and pairs is not None:
        for axis, (n, pair) in enumerate(zip(shape, pairs, strict=True)):
            if n is not None and pair.max() > n - edge:
                call.fail(
                    f"paddings of axis {axis} must be at most {max(n - edge, 0)}, got "
                    f"{pair.tolist()}"
                )
    return _infer_pad(call)


def _mirror_pad_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    return execute(MIRROR_PAD_GRAD, dy, call.inputs[1], mode=call.attr("mode")), None


MIRROR_PAD = define(
    name="MirrorPad",
    signature="input: T, paddings: Tpaddings -> output: T",
    types={"T": ANY_VALUE, "Tpaddings": typed(INDEX, default=int32)},
    attrs={"mode": attr("string", allowed=_MODES)},
    infer=_infer_mirror_pad,
    kernel=_mirror_pad_kernel,
    gradient=_mirror_pad_gradient,
    flops=flops.none,
)


def _mirror_pad_grad_kernel(input: Array, paddings: Array, *, mode: str) -> Array:
    out = input
    for axis, pair in enumerate(_pairs("MirrorPadGrad", input, paddings)):
        if pair == [0, 0]:
            continue
        size = input.shape[axis] - sum(pair)
        if size < 0:
            raise InvalidArgumentError(
                f"MirrorPadGrad: paddings {pair} of axis {axis} must be less than its size, "
                f"{input.shape[axis]}"
            )
        places = _mirror_places("MirrorPadGrad", size, pair, mode, axis)
        rows = np.moveaxis(out, axis, 0)
        start = pair[0]
        total = rows[start : start + size].copy()
        # Each border shows an input element at most once, so `+=` is safe.
        total[places[:start]] += rows[:start]
        total[places[start + size :]] += rows[start + size :]
        out = np.moveaxis(total, 0, axis)
    return out


def _infer_mirror_pad_grad(call: InferCall) -> Shape:
    shape, pairs = _check_paddings(call)
    if shape.rank is None:
        return shape
    if pairs is None:
        return unknown_shape(shape.rank)
    return Shape(
        [None if n is None else n - int(pair.sum()) for n, pair in zip(shape, pairs, strict=True)]
    )


def _mirror_pad_grad_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    return execute(MIRROR_PAD, dy, call.inputs[1], mode=call.attr("mode")), None


MIRROR_PAD_GRAD = define(
    name="MirrorPadGrad",
    signature="input: T, paddings: Tpaddings -> output: T",
    types={"T": ANY_VALUE, "Tpaddings": typed(INDEX, default=int32)},
    attrs={"mode": attr("string", allowed=_MODES)},
    infer=_infer_mirror_pad_grad,
    kernel=_mirror_pad_grad_kernel,
    gradient=_mirror_pad_grad_gradient,
)
