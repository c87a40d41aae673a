"""Named iterators of graphs, created once per model or per run; datasets read by iterators."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.errors import InvalidArgumentError, OutOfRangeError
from pinnace.framework.shapes import SCALAR, Shape
from pinnace.ops.dataset.iterators import ITERATOR_GET_NEXT, GraphIterator
from pinnace.ops.dataset.recipes import ELEMENT, METADATA, Turn, as_variant, dataset_of
from pinnace.ops.execute import eager_context, execute_one
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, NOT_DIFFERENTIABLE, InferCall, OpDef, attr
from pinnace.ops.registry import define, register, scalar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinnace.framework.tensor import Array, Tensor
    from pinnace.ops.dataset.recipes import Leaves
    from pinnace.ops.running import RunContext

__all__: list[str] = []


class OneShot(GraphIterator):
    """An iterator that makes its dataset itself, when it is first read.

    Args:
        name: name in error messages.
        factory: FunctionRef without arguments, gives the dataset.
    """

    def __init__(self, name: str, factory: Any) -> None:
        super().__init__(name)
        self._factory = factory

    @property
    def is_initialized(self) -> bool:
        """True: no initialization is needed."""
        return True

    def _first(self) -> Iterator[Leaves]:
        made = self._turn.call(self._factory)
        return dataset_of("OneShotIterator", made[0]).element_arrays(self._turn)


def _named(ctx: RunContext, container: str, name: str, made: GraphIterator) -> Array:
    """The iterator with a name, shared within a run."""
    if name and ctx is not eager_context():
        made = ctx.stream(("iterators", container, name), lambda: made)
    return as_variant(made)


def _iterator_kernel(*, container: str, shared_name: str, ctx: RunContext) -> Array:
    return _named(ctx, container, shared_name, GraphIterator(shared_name or "iterator"))


for _name in ("Iterator", "IteratorV2"):
    register(
        OpDef(
            name=_name,
            signature="-> handle: resource",
            attrs={**ELEMENT, "shared_name": attr("string"), "container": attr("string")},
            infer=scalar,
            kernel=_iterator_kernel,
            gradient=NOT_DIFFERENTIABLE,
            effect="read",
        )
    )


def _one_shot_kernel(
    *, dataset_factory: Any, container: str, shared_name: str, ctx: RunContext
) -> Array:
    made = OneShot(shared_name or "one_shot_iterator", dataset_factory)
    return _named(ctx, container, shared_name, made)


ONE_SHOT = register(
    OpDef(
        name="OneShotIterator",
        signature="-> handle: resource",
        attrs={
            **ELEMENT,
            "dataset_factory": attr("func"),
            "container": attr("string", default=""),
            "shared_name": attr("string", default=""),
        },
        infer=scalar,
        kernel=_one_shot_kernel,
        gradient=NOT_DIFFERENTIABLE,
        effect="read",
    )
)

# The ops that make an iterator which outlives a run, and the op that gives it a dataset.
MAKERS = frozenset({"Iterator", "IteratorV2", "OneShotIterator"})
FILLER = "MakeIterator"


register(
    OpDef(
        name="AnonymousIterator",
        signature="-> handle: resource",
        attrs=ELEMENT,
        infer=scalar,
        kernel=lambda: as_variant(GraphIterator()),
        gradient=NOT_DIFFERENTIABLE,
        effect="io",
    )
)


def _two_scalars(_: InferCall) -> tuple[Shape, Shape]:
    return SCALAR, SCALAR


def _nothing(_: InferCall) -> tuple[Shape, ...]:
    return ()


class _Idle:
    """The object behind handles that TensorFlow keeps beside datasets: memory, seeds, deleters."""

    def __repr__(self) -> str:
        return "<a resource beside a dataset>"


_IDLE = _Idle()

register(
    OpDef(
        name="AnonymousIteratorV2",
        signature="-> handle: resource, deleter: variant",
        attrs=ELEMENT,
        infer=_two_scalars,
        kernel=lambda: (as_variant(GraphIterator()), as_variant(_IDLE)),
        gradient=NOT_DIFFERENTIABLE,
        effect="io",
    )
)
register(
    OpDef(
        name="AnonymousMemoryCache",
        signature="-> handle: resource, deleter: variant",
        infer=_two_scalars,
        kernel=lambda: (as_variant(_IDLE), as_variant(_IDLE)),
        gradient=NOT_DIFFERENTIABLE,
        effect="read",
    )
)
register(
    OpDef(
        name="DummyMemoryCache",
        signature="-> handle: resource",
        infer=scalar,
        kernel=lambda: as_variant(_IDLE),
        gradient=NOT_DIFFERENTIABLE,
        effect="read",
    )
)


def _delete_kernel(handle: Array, deleter: Array) -> None:
    """Does nothing: an object is freed when nothing refers to it."""
    del handle, deleter


for _name in (
    *("DeleteIterator", "DeleteMemoryCache", "DeleteRandomSeedGenerator", "DeleteSeedGenerator"),
):
    register(
        OpDef(
            name=_name,
            signature="handle: resource, deleter: variant ->",
            infer=_nothing,
            kernel=_delete_kernel,
            gradient=NOT_DIFFERENTIABLE,
            effect="write",
        )
    )

register(
    OpDef(
        name="ThreadPoolHandle",
        signature="-> handle: resource",
        attrs={
            "num_threads": attr("int"),
            "max_intra_op_parallelism": attr("int", default=1),
            "display_name": attr("string"),
            "container": attr("string", default=""),
            "shared_name": attr("string", default=""),
        },
        infer=scalar,
        kernel=lambda: as_variant(_IDLE),
        gradient=NOT_DIFFERENTIABLE,
        effect="read",
    )
)


def _same_kernel(input_handle: Array) -> Array:
    return np.asarray(input_handle)


for _name in ("WrapDatasetVariant", "UnwrapDatasetVariant"):
    register(
        OpDef(
            name=_name,
            signature="input_handle: variant -> output_handle: variant",
            infer=scalar,
            kernel=_same_kernel,
            gradient=NO_GRADIENT_DEFINED,
        )
    )


def _at_kernel(dataset: Array, index: Array, *, ctx: RunContext) -> Leaves:
    op, place = "GetElementAtIndex", int(index)
    elements = dataset_of(op, dataset).element_arrays(Turn(ctx))
    found = next(itertools.islice(elements, place, None), None) if place >= 0 else None
    if found is None:
        raise OutOfRangeError(f"{op}: the dataset has no element {place}")
    return found


register(
    OpDef(
        name="GetElementAtIndex",
        signature="dataset: variant, index: int64 -> components: (output_types)",
        attrs=ELEMENT,
        infer=ITERATOR_GET_NEXT.infer,
        kernel=_at_kernel,
        gradient=NO_GRADIENT_DEFINED,
    )
)

register(
    OpDef(
        name="IteratorGetNextSync",
        signature="iterator: resource -> components: (output_types)",
        attrs=ELEMENT,
        infer=ITERATOR_GET_NEXT.infer,
        kernel=ITERATOR_GET_NEXT.kernel,
        gradient=NO_GRADIENT_DEFINED,
        effect="write",
    )
)


def cardinality(input_dataset: Tensor) -> Tensor:
    """The number of elements of the dataset behind a variant; INFINITE or UNKNOWN."""
    return execute_one(DATASET_CARDINALITY, input_dataset)


def _cardinality_kernel(input_dataset: Array) -> Array:
    return np.array(dataset_of("DatasetCardinality", input_dataset).cardinality(), np.int64)


DATASET_CARDINALITY = define(
    name="DatasetCardinality",
    signature="input_dataset: variant -> cardinality: int64",
    attrs={"cardinality_options": attr("string", default="")},
    infer=scalar,
    kernel=_cardinality_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def _single_kernel(dataset: Array, *, ctx: RunContext) -> Leaves:
    op = "DatasetToSingleElement"
    found = list(itertools.islice(dataset_of(op, dataset).element_arrays(Turn(ctx)), 2))
    if len(found) != 1:
        told = "more than one" if found else "none"
        raise InvalidArgumentError(
            f"{op}: the dataset must have exactly one element, it has {told}"
        )
    return found[0]


register(
    OpDef(
        name="DatasetToSingleElement",
        signature="dataset: variant -> components: (output_types)",
        attrs={**ELEMENT, **METADATA},
        infer=ITERATOR_GET_NEXT.infer,
        kernel=_single_kernel,
        gradient=NO_GRADIENT_DEFINED,
        effect="write",
    )
)
