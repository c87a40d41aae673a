"""Iterators in functions being traced: handles without elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.data.elements import packed
from pinnace.data.optionals import kinds_and_shapes, optional_of
from pinnace.ops.control.assertions import Assert
from pinnace.ops.dataset import iterators
from pinnace.ops.math.logic import logical_not

if TYPE_CHECKING:
    from pinnace.data.elements import Nest
    from pinnace.data.optionals import Optional
    from pinnace.framework.tensor import Tensor

# A `for` loop that AutoGraph did not convert never ends; no other program asks this often.
_MOST_ASKED = 10_000


def traced_next(handle: Tensor, spec: Nest) -> Any:
    """The next element, as symbolic tensors."""
    tensors = iterators.iterator_get_next(handle, *kinds_and_shapes(spec, "an iterator"))
    return packed(spec, tensors)


class TracedIterator:
    """An iterator over a dataset, created anew in each run of the traced function.

    Args:
        handle: resource.
        element_spec: spec of the elements.
    """

    def __init__(self, handle: Tensor, element_spec: Nest) -> None:
        self._handle = handle
        self._spec = element_spec
        self._asked = 0

    @property
    def handle(self) -> Tensor:
        """The resource with which ops read this iterator."""
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
        """The next element; OutOfRangeError at run time after the last."""
        return traced_next(self._handle, self._spec)

    next = get_next

    def get_next_as_optional(self) -> Optional:
        """The next element, or an empty Optional."""
        return optional_of(self._handle, self._spec)

    def __repr__(self) -> str:
        return f"<TracedIterator {self._spec}>"


def only(variant: Tensor, spec: Nest) -> Any:
    """The single element of a dataset, read when the function runs."""
    iterator = begin(variant, spec)
    first = iterator.get_next_as_optional()
    Assert(first.has_value(), ["Dataset was empty."])
    value = first.get_value()
    second = iterator.get_next_as_optional()
    Assert(logical_not(second.has_value()), ["Dataset had more than one element."])
    return value


def begin(variant: Tensor, spec: Nest) -> TracedIterator:
    """An iterator over a dataset, created when the function runs."""
    kinds, shapes = kinds_and_shapes(spec, "an iterator")
    return TracedIterator(iterators.make_iterator(variant, kinds, shapes), spec)
