"""Datasets as scalar variant tensors for ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.data.elements import array_of_tensor, leaf_array
from pinnace.data.stage import Absent, Run, Stage
from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.tensor import SymbolicTensor, Tensor, wrap
from pinnace.ops.dataset.recipes import as_variant
from pinnace.ops.functional.python_calls import py_function

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinnace.data.elements import Nest
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
    if isinstance(stage, Absent) and stage.variant is not None:
        return stage.variant
    symbols = stage.symbols()
    if not symbols:
        return wrap(as_variant(Readable(stage)), dtypes.variant)

    # Made from symbolic tensors: it exists only when the function runs.
    def made(*tensors: Tensor) -> Tensor:
        arrays = (np.asarray(tensor._array) for tensor in tensors)
        bound = stage.bound({id(s): a for s, a in zip(symbols, arrays, strict=True)})
        return wrap(as_variant(Readable(bound)), dtypes.variant)

    found: Tensor = py_function(made, symbols, dtypes.variant)
    return found


def stage_of_variant(variant: Tensor, spec: Nest) -> Stage:
    """The stage behind a variant; of a symbolic one the placeholder with elements of `spec`.

    Raises:
        InvalidArgumentError: the variant does not hold such a dataset.
    """
    if isinstance(variant, SymbolicTensor):
        return Absent(spec, variant)
    held: Any = array_of_tensor(variant)[()]
    if not isinstance(held, Readable):
        raise InvalidArgumentError(f"from_variant: the variant holds no dataset, got {held!r}")
    return held.stage
