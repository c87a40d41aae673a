"""Ragged tensors as variants: RaggedTensorToVariant, RaggedTensorFromVariant.

Loops carry the rows of a ragged tensor as a vector of such values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import ANY, INDEX, DType, int64
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.array import shapes
from pinnace.ops.execute import execute
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, attr, typed
from pinnace.ops.ragged.splits import check_splits
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array, Tensor
    from pinnace.ops.opdef import InferCall, OpCall

_TO, _FROM = "RaggedTensorToVariant", "RaggedTensorFromVariant"


@dataclass(frozen=True, slots=True, eq=False)
class RaggedParts:
    """The content of one variant; not a tuple, since NumPy would unpack that."""

    splits: tuple[Array, ...]
    values: Array


def _boxed(parts: Sequence[RaggedParts], shape: tuple[int, ...]) -> Array:
    out = np.empty(len(parts), object)
    for at, part in enumerate(parts):
        out[at] = part
    return out.reshape(shape)


def _to_kernel(
    rt_nested_splits: tuple[Array, ...], rt_dense_values: Array, *, batched_input: bool
) -> Array:
    nested, values = rt_nested_splits, rt_dense_values
    if values.ndim:
        check_splits(_TO, nested, len(values))
    if not batched_input:
        return _boxed([RaggedParts(nested, values)], ())
    if not nested:
        return _boxed([RaggedParts((), row) for row in values], (len(values),))
    outer, rest = nested[0], nested[1:]
    rows = []
    for begin, end in zip(outer[:-1].tolist(), outer[1:].tolist(), strict=True):
        inner = []
        first, last = begin, end
        for splits in rest:
            cut = splits[first : last + 1]
            inner.append(cut - cut[0])
            first, last = int(cut[0]), int(cut[-1])
        rows.append(RaggedParts(tuple(inner), values[first:last]))
    return _boxed(rows, (len(rows),))


def _infer_to(call: InferCall) -> Shape:
    if not call.attrs["batched_input"]:
        return Shape(())
    if call.specs(0):
        outer = call.specs(0)[0].shape
        return Shape([None if not outer.rank or outer[0] is None else outer[0] - 1])
    values = call.spec(1).shape
    return Shape([values[0] if values.rank else None])


def _to_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    nested, values = call.inputs
    outer = nested[0] if nested else np.zeros(0, np.int64)
    grad = execute(
        RAGGED_TENSOR_TO_VARIANT_GRADIENT, dy, outer, shapes.shape(values), Tvalues=values.dtype
    )
    return [None] * len(nested), grad


def _parts_in(encoded: Array, dtype: DType, who: str) -> list[RaggedParts]:
    found = []
    for item in encoded.reshape(-1):
        if not isinstance(item, RaggedParts):
            raise InvalidArgumentError(
                f"{who}: the variant must hold a ragged tensor, got {type(item).__name__}"
            )
        if item.values.dtype != dtype.numpy:
            raise InvalidArgumentError(
                f"{who}: the variant must hold values of {dtype.name}, got {item.values.dtype}"
            )
        found.append(item)
    return found


def _from_kernel(
    encoded_ragged: Array,
    *,
    input_ragged_rank: int,
    output_ragged_rank: int,
    Tvalues: DType,  # noqa: N803 (the attribute's name)
    Tsplits: DType,  # noqa: N803 (the attribute's name)
) -> tuple[Array, ...]:
    parts = _parts_in(encoded_ragged, Tvalues, _FROM)
    depth = input_ragged_rank
    if depth == -1:
        depth = output_ragged_rank - encoded_ragged.ndim
    if depth < 0 or output_ragged_rank != depth + encoded_ragged.ndim:
        raise InvalidArgumentError(
            f"{_FROM}: output_ragged_rank must be input_ragged_rank plus the rank of the variant, "
            f"got {output_ragged_rank}, {input_ragged_rank} and {encoded_ragged.ndim}"
        )
    for part in parts:
        if len(part.splits) != depth:
            raise InvalidArgumentError(
                f"{_FROM}: the variant must hold a ragged rank of {depth}, got {len(part.splits)}"
            )
    if not encoded_ragged.ndim:
        (only,) = parts
        return (*[splits.astype(Tsplits.numpy) for splits in only.splits], only.values)
    nested: list[Array] = []
    rows = encoded_ragged.shape[0]
    for size in encoded_ragged.shape[1:]:
        nested.append(np.arange(rows + 1) * size)
        rows *= size
    first = [len(p.splits[0]) - 1 if depth else len(p.values) for p in parts]
    nested.append(np.concatenate(([0], np.cumsum(first))))
    for level in range(depth):
        ends = [p.splits[level][1:] for p in parts]
        bases = np.concatenate(([0], np.cumsum([p.splits[level][-1] for p in parts])))
        nested.append(
            np.concatenate([[0], *[end + base for end, base in zip(ends, bases, strict=False)]])
        )
    inner = parts[0].values.shape[1:] if parts else ()
    if any(p.values.shape[1:] != inner for p in parts):
        raise InvalidArgumentError(f"{_FROM}: all values must have the same inner shape")
    values = np.concatenate([p.values for p in parts]) if parts else np.zeros(0, Tvalues.numpy)
    return (*[splits.astype(Tsplits.numpy) for splits in nested], values)


def _infer_from(call: InferCall) -> tuple[Shape, ...]:
    depth = int(call.attrs["output_ragged_rank"])
    return (*[Shape([None])] * depth, Shape(None))


def _from_gradient(call: OpCall, *dys: Any) -> tuple[Any, ...]:
    nested = call.outputs[:-1]
    rank = call.inputs[0].shape.rank
    if rank is None or rank > 1:
        raise InvalidArgumentError(
            f"{_FROM}: the gradient needs a scalar or a vector of variants, got rank {rank}"
        )
    return (execute(RAGGED_TENSOR_TO_VARIANT, list(nested), dys[-1], batched_input=rank == 1),)


def _gradient_kernel(
    encoded_ragged_grad: Array,
    row_splits: Array,
    dense_values_shape: Array,
    *,
    Tvalues: DType,  # noqa: N803 (the attribute's name)
) -> Array:
    del row_splits  # the parts are in order
    shape = tuple(dense_values_shape.tolist())
    if encoded_ragged_grad.ndim == 0 and encoded_ragged_grad[()] is None:
        return np.zeros(shape, Tvalues.numpy)
    parts = _parts_in(encoded_ragged_grad, Tvalues, f"{_TO}Gradient")
    flat = [part.values.reshape(-1) for part in parts] or [np.zeros(0, Tvalues.numpy)]
    return np.concatenate(flat).reshape(shape)


RAGGED_TENSOR_TO_VARIANT = define(
    name=_TO,
    signature=(
        "rt_nested_splits: RAGGED_RANK*Tsplits, rt_dense_values: Tvalues -> encoded_ragged: variant"
    ),
    types={"Tvalues": ANY, "Tsplits": typed(INDEX, default=int64)},
    attrs={"batched_input": attr("bool")},
    infer=_infer_to,
    kernel=_to_kernel,
    gradient=_to_gradient,
)
RAGGED_TENSOR_FROM_VARIANT = define(
    name=_FROM,
    signature=(
        "encoded_ragged: variant -> output_nested_splits: output_ragged_rank*Tsplits, "
        "output_dense_values: Tvalues"
    ),
    types={"Tvalues": ANY, "Tsplits": typed(INDEX, default=int64)},
    attrs={"input_ragged_rank": attr("int"), "output_ragged_rank": attr("int")},
    infer=_infer_from,
    kernel=_from_kernel,
    gradient=_from_gradient,
)
RAGGED_TENSOR_TO_VARIANT_GRADIENT = define(
    name="RaggedTensorToVariantGradient",
    signature=(
        "encoded_ragged_grad: variant, row_splits: Tsplits, dense_values_shape: int32 -> "
        "dense_values_grad: Tvalues"
    ),
    types={"Tvalues": ANY, "Tsplits": typed(INDEX, default=int64)},
    infer=lambda call: call.shape_constant(2),
    kernel=_gradient_kernel,
    gradient=NO_GRADIENT_DEFINED,
)
