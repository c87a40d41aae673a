"""Reading a dataset inside a function: IteratorGetNext, ReduceDataset.

What is behind the handles is the business of `pinnace.data`: an iterator has `next_arrays()`, a
dataset `element_arrays()`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pinnace.ops.execute import execute
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, OpDef, attr
from pinnace.ops.registry import register

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Array, Tensor
    from pinnace.ops.running import RunContext

__all__: list[str] = []


class ReadableIterator(Protocol):
    """What stands behind an iterator's handle."""

    def next_arrays(self) -> tuple[Array, ...]:
        """The next element's leaves; OutOfRangeError after the last."""


class ReadableDataset(Protocol):
    """What stands behind a dataset's handle."""

    def element_arrays(self) -> Iterator[tuple[Array, ...]]:
        """The leaves of every element, in a new pass."""


def iterator_get_next(
    iterator: Tensor,
    output_types: Sequence[DType],
    output_shapes: Sequence[Shape],
    name: str | None = None,
) -> tuple[Tensor, ...]:
    """The leaves of the next element.

    Args:
        iterator: resource, of an iterator.
        output_types: dtypes of the leaves.
        output_shapes: their shapes as far as they are known.
        name: name of the node while tracing.

    Raises:
        OutOfRangeError: there is no next element.

    Source:
        TensorFlow op `IteratorGetNext` (dataset_ops.cc).
    """
    result: tuple[Tensor, ...] = execute(
        ITERATOR_GET_NEXT,
        iterator,
        output_types=tuple(output_types),
        output_shapes=tuple(output_shapes),
        name=name,
    )
    return result


def reduce_dataset(
    dataset: Tensor,
    initial: Sequence[Tensor],
    captured: Sequence[Tensor],
    f: Any,
    output_types: Sequence[DType],
    output_shapes: Sequence[Shape],
    name: str | None = None,
) -> tuple[Tensor, ...]:
    """The state after f(state, element) was applied to every element.

    Args:
        dataset: variant, of a dataset.
        initial: the state at the start.
        captured: what `f` takes after state and element.
        f: FunctionRef: (*state, *element, *captured) -> state.
        output_types: dtypes of the state.
        output_shapes: its shapes, the same at every step.
        name: name of the node while tracing.

    Source:
        TensorFlow op `ReduceDataset` (dataset_ops.cc).
    """
    result: tuple[Tensor, ...] = execute(
        REDUCE_DATASET,
        dataset,
        list(initial),
        list(captured),
        f=f,
        output_types=tuple(output_types),
        output_shapes=tuple(output_shapes),
        name=name,
    )
    return result


def _get_next_kernel(iterator: Array) -> tuple[Array, ...]:
    readable: Any = np.asarray(iterator)[()]
    arrays: tuple[Array, ...] = readable.next_arrays()
    return arrays


def _reduce_kernel(
    input_dataset: Array,
    initial_state: tuple[Array, ...],
    other_arguments: tuple[Array, ...],
    *,
    f: Any,
    ctx: RunContext,
) -> tuple[Array, ...]:
    readable: Any = np.asarray(input_dataset)[()]
    state = tuple(initial_state)
    for element in readable.element_arrays():
        ctx.check()
        state = ctx.call(f, (*state, *element, *other_arguments))
    return state


def _infer_outputs(call: InferCall) -> tuple[Shape, ...]:
    return tuple(call.attrs["output_shapes"])


ITERATOR_GET_NEXT = register(
    OpDef(
        name="IteratorGetNext",
        signature="iterator: resource -> components: (output_types)",
        attrs={
            "output_types": attr("list(type)"),
            "output_shapes": attr("list(shape)"),
        },
        infer=_infer_outputs,
        kernel=_get_next_kernel,
        gradient=NOT_DIFFERENTIABLE,
        effect="write",
    )
)
REDUCE_DATASET = register(
    OpDef(
        name="ReduceDataset",
        signature=(
            "input_dataset: variant, initial_state: (Tstate), other_arguments: (Targuments)"
            " -> components: (output_types)"
        ),
        attrs={
            "f": attr("func"),
            "Tstate": attr("list(type)"),
            "Targuments": attr("list(type)"),
            "output_types": attr("list(type)"),
            "output_shapes": attr("list(shape)"),
            "use_inter_op_parallelism": attr("bool", default=True),
            "metadata": attr("string", default=""),
        },
        infer=_infer_outputs,
        kernel=_reduce_kernel,
        gradient=NOT_DIFFERENTIABLE,
        effect="write",
    )
)
