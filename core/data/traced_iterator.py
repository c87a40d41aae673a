"""Iterators and optional elements while a function is traced: handles, not elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.data.elements import leaves_of, packed
from pinnace.framework.specs import TensorSpec
from pinnace.ops.dataset import iterators

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.data.elements import Nest
    from pinnace.framework.dtypes import DType
    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Tensor

# A `for` that AutoGraph did not convert asks without end; no program asks so often otherwise.
_MOST_ASKED = 10_000


def kinds_and_shapes(spec: Nest, who: str) -> tuple[list[DType], list[Shape]]:
    """Dtypes and shapes of the leaves of elements of tensors.

    Raises:
        TypeError: elements hold something else.
    """
    leaves = leaves_of(spec)
    for leaf in leaves:
        if not isinstance(leaf, TensorSpec):
            raise TypeError(f"{who} in a function must give tensors, an element holds {leaf}")
    return [leaf.dtype for leaf in leaves], [leaf.shape for leaf in leaves]


def traced_next(handle: Tensor, spec: Nest) -> Any:
    """The next element, as symbolic tensors."""
    tensors = iterators.iterator_get_next(handle, *kinds_and_shapes(spec, "an iterator"))
    return packed(spec, tensors)


class TracedIterator:
    """A pass over a dataset that begins anew each time the traced function runs.

    Args:
        handle: resource.
        element_spec: of the elements.
    """

    def __init__(self, handle: Tensor, element_spec: Nest) -> None:
        self._handle = handle
        self._spec = element_spec
        self._asked = 0

    @property
    def handle(self) -> Tensor:
        """The resource by which ops read this iterator."""
        return self._handle

    @property
    def element_spec(self) -> Nest:
        """The structure of the elements, with a spec at each leaf."""
        return self._spec

    def __iter__(self) -> TracedIterator:
        return self

    def __next__(self) -> Any:
        self._asked += 1
        if self._asked > _MOST_ASKED:
            raise TypeError(
                "a Dataset cannot be iterated over by plain Python while a function is traced: "
                "the loop does not end\n"
                "  Try: AutoGraph (function(autograph=True)), or Dataset.reduce"
            )
        return self.get_next()

    def get_next(self) -> Any:
        """The next element; OutOfRangeError when the function runs after the last."""
        return traced_next(self._handle, self._spec)

    next = get_next

    def get_next_as_optional(self) -> TracedOptional:
        """The next element, or an empty Optional."""
        return optional_of(self._handle, self._spec)

    def __repr__(self) -> str:
        return f"<TracedIterator {self._spec}>"


def begin(variant: Tensor, spec: Nest) -> TracedIterator:
    """A pass over a dataset, begun when the function runs."""
    kinds, shapes = kinds_and_shapes(spec, "an iterator")
    return TracedIterator(iterators.make_iterator(variant, kinds, shapes), spec)


def optional_of(handle: Tensor, spec: Nest) -> TracedOptional:
    """The next element of an iterator, or nothing, when the function runs."""
    kinds, shapes = kinds_and_shapes(spec, "an iterator")
    return TracedOptional(spec, iterators.next_optional(handle, kinds, shapes))


class TracedOptional:
    """An element, or nothing, that is known when the traced function runs.

    Args:
        element_spec: of the element.
        variant: what stands for it.
    """

    def __init__(self, element_spec: Nest, variant: Tensor) -> None:
        self._spec = element_spec
        self._variant = variant

    @property
    def element_spec(self) -> Nest:
        """The spec of the element."""
        return self._spec

    def has_value(self, name: str | None = None) -> Tensor:
        """Whether there is a value."""
        del name
        return iterators.optional_has_value(self._variant)

    def get_value(self, name: str | None = None) -> Any:
        """The value; InvalidArgumentError when the function runs and there is none."""
        del name
        parts: Sequence[Tensor] = iterators.optional_value(
            self._variant, *kinds_and_shapes(self._spec, "an Optional")
        )
        return packed(self._spec, parts)
