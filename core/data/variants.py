"""Datasets as scalar variant tensors for ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.data.elements import leaf_array
from pinnace.data.stage import Run, Stage
from pinnace.framework import dtypes
from pinnace.framework.tensor import Tensor, wrap
from pinnace.ops.functional.python_calls import py_function

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinnace.ops.dataset.recipes import Turn


class Readable:
    """A dataset for the op ReduceDataset."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    def element_arrays(self, turn: Turn) -> Iterator[tuple[Any, ...]]:
        """The leaves of each element, in a new pass."""
        del turn  # the functions of elements have their own plans
        for element in self.stage.open(Run()):
            yield tuple([np.asarray(leaf_array(leaf)) for leaf in element])

    def cardinality(self) -> int:
        """The number of elements; INFINITE or UNKNOWN."""
        return self.stage.cardinality()


def variant_of(stage: Stage) -> Tensor:
    """The handle of a dataset for ops."""
    symbols = stage.symbols()
    if not symbols:
        return _variant(stage)

    # Made from symbolic tensors: it exists only when the function runs.
    def made(*tensors: Tensor) -> Tensor:
        arrays = (np.asarray(tensor._array) for tensor in tensors)
        return _variant(stage.bound({id(s): a for s, a in zip(symbols, arrays, strict=True)}))

    found: Tensor = py_function(made, symbols, dtypes.variant)
    return found


def _variant(stage: Stage) -> Tensor:
    array = np.empty((), object)
    array[()] = Readable(stage)
    return wrap(array, dtypes.variant)
