"""The elements of a dataset as arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.data.composites import holds_composites
from pinnace.data.elements import packed
from pinnace.data.nothing import NoneTensorSpec
from pinnace.data.stage import Run, Stage
from pinnace.framework import structure
from pinnace.framework.specs import TensorSpec
from pinnace.ops.composites.sparse.functions import to_dense
from pinnace.ops.composites.sparse.tensor import SparseTensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class NumpyIterator:
    """The result of `as_numpy_iterator`.

    Args:
        stage: gives the elements.
        public: gives them as the user sees them.
    """

    __slots__ = ("_elements",)

    def __init__(self, stage: Stage, public: Callable[[], Iterator[Any]]) -> None:
        for leaf in stage.leaves:
            if not isinstance(leaf, (TensorSpec, NoneTensorSpec)):
                raise TypeError(f"as_numpy_iterator: elements must be tensors, one holds {leaf}")
        spec = stage.spec
        self._elements: Iterator[Any]
        if holds_composites(spec):
            self._elements = (structure.map_structure(_composite, element) for element in public())
            return
        opened = stage.open(Run())
        if isinstance(spec, TensorSpec):
            self._elements = (_read_only(element[0]) for element in opened)
        else:
            self._elements = (packed(spec, [_read_only(leaf) for leaf in e]) for e in opened)

    def __iter__(self) -> Iterator[Any]:
        return self._elements  # a loop needs nothing of this class

    def __next__(self) -> Any:
        return next(self._elements)

    def next(self) -> Any:
        """The next element; equivalent to `next(iterator)`."""
        return next(self._elements)


def _composite(leaf: Any) -> Any:
    """A tensor as an array; a ragged one as nested rows, a sparse one as a dense array."""
    return to_dense(leaf).numpy() if isinstance(leaf, SparseTensor) else leaf.numpy()


def _read_only(leaf: Any) -> Any:
    if type(leaf) is np.ndarray:
        if not leaf.ndim:
            return leaf[()]
        view = leaf.view()
        view.flags.writeable = False
        return view
    return leaf
