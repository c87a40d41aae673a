"""ParallelConcat, which is equivalent to Pack."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.context import state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import ANY
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.array import reshaping
from pinnace.ops.execute import execute_one
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, InferCall, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array, Tensor, TensorLike

_OP = "ParallelConcat"


def parallel_stack(values: Sequence[TensorLike], name: str | None = "parallel_stack") -> Tensor:
    """The tensors of `values` stacked along a new first axis; only inside `function`.

    `stack` gives the same, anywhere and with gradients.

    Args:
        values: tensors of one dtype and one fully known shape.
        name: name of the node while tracing.

    Returns:
        [len(values), ...].

    Raises:
        RuntimeError: outside of `function`.
        ValueError: a shape is not fully known.
        InvalidArgumentError: shapes or dtypes differ.

    Source:
        TensorFlow op `ParallelConcat` (array_ops.cc).
    """
    if state.tracer is None:
        raise RuntimeError(
            "parallel_stack: it only runs inside tf.function, as in TensorFlow\n"
            "  Try: tf.stack(values)"
        )
    first = convert_to_tensor(values[0])
    parts = [convert_to_tensor(value, first.dtype) for value in values]
    if not first.shape.is_fully_defined():
        raise ValueError(
            f"parallel_stack: the shape of values must be known while tracing, got "
            f"{first.shape.text}\n  Try: tf.stack(values)"
        )
    shape = Shape([len(parts), *first.shape])
    rows = [reshaping.expand_dims(part, 0) for part in parts]
    return execute_one(PARALLEL_CONCAT, rows, shape=shape, name=name)


def _kernel(values: tuple[Array, ...], *, shape: Shape) -> Array:
    joined = np.concatenate(values)
    if list(joined.shape) != shape.as_list():
        raise InvalidArgumentError(
            f"{_OP}: shape must be that of the values joined, {list(joined.shape)}, "
            f"got {shape.text}"
        )
    return joined


def _infer(call: InferCall) -> Shape:
    shape: Shape = call.attrs["shape"]
    if not shape.is_fully_defined():
        call.fail(f"shape must be fully known, got {shape.text}")
    if not shape.rank or shape[0] != len(call.specs(0)):
        call.fail(f"shape must begin with the number of values, got {shape.text}")
    wanted = Shape([1, *shape[1:]])
    for spec in call.specs(0):
        if not spec.shape.is_compatible_with(wanted):
            call.fail(f"each of values must have shape {wanted.text}, got {spec.shape.text}")
    return shape


PARALLEL_CONCAT = define(
    name=_OP,
    signature="values: N*T -> output: T",
    types={"T": ANY},
    attrs={"shape": attr("shape")},
    infer=_infer,
    kernel=_kernel,
    gradient=NO_GRADIENT_DEFINED,
)
