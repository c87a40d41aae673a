"""Reading a dataset inside a function: IteratorGetNext, ReduceDataset, optional elements.

The objects of the handles are defined by `pinnace.data`, or by `recipes.py` if a loaded graph
created them: an iterator has `next_arrays(ctx)`, a dataset `element_arrays(turn)`.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    OutOfRangeError,
)
from pinnace.ops.dataset.recipes import ELEMENT, Turn, as_variant, dataset_of
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, NOT_DIFFERENTIABLE, InferCall, attr
from pinnace.ops.registry import define, scalar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Array, Tensor
    from pinnace.ops.dataset.recipes import Readable
    from pinnace.ops.running import RunContext

__all__: list[str] = []


def _infer_outputs(call: InferCall) -> tuple[Shape, ...]:
    return tuple(call.attrs["output_shapes"])


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
        OutOfRangeError: the iterator is at its end.
    """
    result: tuple[Tensor, ...] = execute(
        ITERATOR_GET_NEXT,
        iterator,
        output_types=tuple(output_types),
        output_shapes=tuple(output_shapes),
        name=name,
    )
    return result


def _get_next_kernel(iterator: Array, *, ctx: RunContext) -> tuple[Array, ...]:
    readable: Any = np.asarray(iterator)[()]
    arrays: tuple[Array, ...] = readable.next_arrays(ctx)
    return arrays


ITERATOR_GET_NEXT = define(
    name="IteratorGetNext",
    signature="iterator: resource -> components: (output_types)",
    attrs={"output_types": attr("list(type)"), "output_shapes": attr("list(shape)")},
    infer=_infer_outputs,
    kernel=_get_next_kernel,
    gradient=NO_GRADIENT_DEFINED,
    effect="write",
)


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
        captured: the arguments of `f` after state and element.
        f: FunctionRef: (*state, *element, *captured) -> state.
        output_types: dtypes of the state.
        output_shapes: its shapes, the same at every step.
        name: name of the node while tracing.
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
    for element in readable.element_arrays(Turn(ctx)):
        ctx.check()
        state = ctx.call(f, (*state, *element, *other_arguments))
    return state


REDUCE_DATASET = define(
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


def make_iterator(
    dataset: Tensor, output_types: Sequence[DType], output_shapes: Sequence[Shape]
) -> Tensor:
    """The handle of a new iterator over a dataset, created in each run of the function.

    Args:
        dataset: variant, of a dataset.
        output_types: dtypes of an element's leaves.
        output_shapes: their shapes as far as they are known.

    Source:
        TensorFlow ops `AnonymousIteratorV3`, `MakeIterator` (dataset_ops.cc).
    """
    kinds, shapes = tuple(output_types), tuple(output_shapes)
    handle: Tensor = execute(ANONYMOUS_ITERATOR, output_types=kinds, output_shapes=shapes)
    execute(MAKE_ITERATOR, dataset, handle)
    return handle


class GraphIterator:
    """The resource behind the handle of an iterator that a graph makes.

    Args:
        name: name in error messages.
    """

    mutable = True

    def __init__(self, name: str = "iterator") -> None:
        self.name = name
        self._lock = threading.Lock()
        self._turn = Turn()
        self._elements: Iterator[tuple[Array, ...]] | None = None

    @property
    def is_initialized(self) -> bool:
        """Whether a pass has begun."""
        return self._elements is not None

    def begin(self, dataset: Readable) -> None:
        """A new pass over `dataset`."""
        with self._lock:
            self._elements = dataset.element_arrays(self._turn)

    def next_arrays(self, ctx: RunContext) -> tuple[Array, ...]:
        """The next element's leaves, for a run; OutOfRangeError after the last.

        Raises:
            FailedPreconditionError: no pass has begun.
        """
        with self._lock:
            self._turn.ctx = ctx
            if self._elements is None:
                self._elements = self._first()
            for element in self._elements:
                return element
        raise OutOfRangeError("End of sequence")

    def _first(self) -> Iterator[tuple[Array, ...]]:
        raise FailedPreconditionError(
            f"IteratorGetNext: the iterator {self.name!r} has no dataset yet: MakeIterator, the "
            "initializer of an iterator, did not run"
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"


def _anonymous_kernel() -> Array:
    return as_variant(GraphIterator())


ANONYMOUS_ITERATOR = define(
    name="AnonymousIteratorV3",
    signature="-> handle: resource",
    attrs=ELEMENT,
    infer=scalar,
    kernel=_anonymous_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="io",
)


class _Element:
    """An optional element; None if there is none."""

    __slots__ = ("leaves",)

    def __init__(self, leaves: tuple[Array, ...] | None) -> None:
        self.leaves = leaves


def next_optional(
    iterator: Tensor, output_types: Sequence[DType], output_shapes: Sequence[Shape]
) -> Tensor:
    """The next element as an Optional, a variant scalar."""
    return execute_one(
        ITERATOR_GET_NEXT_AS_OPTIONAL,
        iterator,
        output_types=tuple(output_types),
        output_shapes=tuple(output_shapes),
    )


def _next_optional_kernel(iterator: Array, *, ctx: RunContext) -> Array:
    readable: Any = np.asarray(iterator)[()]
    try:
        return as_variant(_Element(readable.next_arrays(ctx)))
    except OutOfRangeError:
        return as_variant(_Element(None))


ITERATOR_GET_NEXT_AS_OPTIONAL = define(
    name="IteratorGetNextAsOptional",
    signature="iterator: resource -> optional: variant",
    attrs=ELEMENT,
    infer=scalar,
    kernel=_next_optional_kernel,
    gradient=NO_GRADIENT_DEFINED,
    effect="write",
)


def optional_has_value(optional: Tensor) -> Tensor:
    """Whether there is an element."""
    return execute_one(OPTIONAL_HAS_VALUE, optional)


def _has_value_kernel(optional: Array) -> Array:
    held: Any = np.asarray(optional)[()]
    return np.array(held.leaves is not None)


OPTIONAL_HAS_VALUE = define(
    name="OptionalHasValue",
    signature="optional: variant -> has_value: bool",
    infer=scalar,
    kernel=_has_value_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def optional_value(
    optional: Tensor, output_types: Sequence[DType], output_shapes: Sequence[Shape]
) -> tuple[Tensor, ...]:
    """The leaves of the element.

    Raises:
        InvalidArgumentError: the optional is empty.
    """
    result: tuple[Tensor, ...] = execute(
        OPTIONAL_GET_VALUE,
        optional,
        output_types=tuple(output_types),
        output_shapes=tuple(output_shapes),
    )
    return result


def _get_value_kernel(optional: Array) -> tuple[Array, ...]:
    held: Any = np.asarray(optional)[()]
    if held.leaves is None:
        raise InvalidArgumentError("OptionalGetValue: there is no value")
    leaves: tuple[Array, ...] = held.leaves
    return leaves


OPTIONAL_GET_VALUE = define(
    name="OptionalGetValue",
    signature="optional: variant -> components: (output_types)",
    attrs=ELEMENT,
    infer=_infer_outputs,
    kernel=_get_value_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def _make_kernel(dataset: Array, iterator: Array) -> None:
    found: Any = np.asarray(iterator)[()]
    if not isinstance(found, GraphIterator):
        raise InvalidArgumentError(f"MakeIterator: {found!r} is no iterator of a graph")
    found.begin(dataset_of("MakeIterator", dataset))


MAKE_ITERATOR = define(
    name="MakeIterator",
    signature="dataset: variant, iterator: resource ->",
    infer=lambda call: (),  # noqa: ARG005 (no outputs)
    kernel=_make_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="write",
)


def _from_value_kernel(components: tuple[Array, ...]) -> Array:
    return as_variant(_Element(components))


# The gradient of a loaded graph keeps intermediate values of branches in optionals.
OPTIONAL_FROM_VALUE = define(
    name="OptionalFromValue",
    signature="components: (Toutput_types) -> optional: variant",
    infer=scalar,
    kernel=_from_value_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def _none_kernel() -> Array:
    return as_variant(_Element(None))


OPTIONAL_NONE = define(
    name="OptionalNone",
    signature="-> optional: variant",
    infer=scalar,
    kernel=_none_kernel,
    gradient=NOT_DIFFERENTIABLE,
)
