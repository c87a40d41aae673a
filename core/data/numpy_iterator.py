"""The elements of a dataset as arrays."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.data.composites import holds_composites
from pinnace.data.elements import packed
from pinnace.data.iterator import SavedPosition, read_position, written_position
from pinnace.data.nothing import NoneTensorSpec
from pinnace.data.stage import Run, Stage
from pinnace.framework import structure
from pinnace.framework.specs import TensorSpec
from pinnace.ops.composites.sparse.functions import to_dense
from pinnace.ops.composites.sparse.tensor import SparseTensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pinnace.data.iterator import DatasetIterator


class NumpyIterator(SavedPosition):
    """The result of `as_numpy_iterator`; a checkpoint that contains it saves its position.

    Args:
        stage: gives the elements.
        public: gives them as the user sees them.
    """

    def __init__(self, stage: Stage, public: Callable[[], DatasetIterator]) -> None:
        for leaf in stage.leaves:
            if not isinstance(leaf, (TensorSpec, NoneTensorSpec)):
                raise TypeError(f"as_numpy_iterator: elements must be tensors, one holds {leaf}")
        self._stage = stage
        self._public = public() if holds_composites(stage.spec) else None
        self._begin(Run(stage), 0)

    def _begin(self, run: Run, skipped: int) -> None:
        self._run, self._count = run, skipped
        self._elements = self._composites() if self._public is not None else self._arrays()

    def _composites(self) -> Iterator[Any]:
        return (structure.map_structure(_composite, element) for element in self._public or ())

    def _arrays(self) -> Iterator[Any]:
        spec = self._stage.spec
        plain = isinstance(spec, TensorSpec)
        for element in itertools.islice(self._stage.open(self._run), self._count, None):
            self._count += 1
            yield _read_only(element[0]) if plain else packed(spec, [*map(_read_only, element)])

    def _position(self) -> bytes:
        if self._public is not None:
            return self._public._position()
        return written_position(self._stage, self._run, self._count)

    def _move_to(self, position: bytes) -> None:
        if self._public is not None:
            self._public._move_to(position)
            self._elements = self._composites()
        else:
            self._begin(*read_position(self._stage, position))

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
