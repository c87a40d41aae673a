"""What every part of Dataset needs: the stage it stands for, and how to make another dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.data.elements import Nest, leaf_array, whole_number
from pinnace.data.options import Options
from pinnace.data.stage import Run, Stage
from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.tensor import Tensor, wrap
from pinnace.ops.functional.python_calls import py_function

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinnace.data.dataset import Dataset


def public(stage: Stage, options: Options | None = None) -> Dataset:
    """The dataset whose elements a stage gives."""
    from pinnace.data.dataset import Dataset

    return Dataset(stage, options)


class Pipeline:
    """A stage, and how it is to run."""

    _stage: Stage
    _options: Options | None

    def _with(self, stage: Stage) -> Dataset:
        return public(stage, self._options)

    @property
    def stage(self) -> Stage:
        """What gives the elements."""
        return self._stage

    @property
    def element_spec(self) -> Nest:
        """The structure of the elements, with a spec at each leaf."""
        return self._stage.spec

    @property
    def variant_tensor(self) -> Tensor:
        """A handle of this dataset for ops."""
        symbols = self._stage.symbols()
        if not symbols:
            return _variant(self._stage)
        # Made of tensors of the function that is traced: there when it runs.
        stage = self._stage

        def made(*tensors: Tensor) -> Tensor:
            arrays = (np.asarray(tensor._array) for tensor in tensors)
            return _variant(stage.bound({id(s): a for s, a in zip(symbols, arrays, strict=True)}))

        found: Tensor = py_function(made, symbols, dtypes.variant)
        return found

    def _in_order(self, deterministic: bool | None) -> bool:
        if deterministic is None and self._options is not None:
            deterministic = self._options.deterministic
        return deterministic is not False

    def options(self) -> Options:
        """How it runs."""
        return self._options or Options()

    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """The same dataset, and `options` for what is made of it."""
        del name
        return public(self._stage, self.options().merge(options))


def _variant(stage: Stage) -> Tensor:
    array = np.empty((), object)
    array[()] = Readable(stage)
    return wrap(array, dtypes.variant)


class Readable:
    """A dataset, as the op ReduceDataset reads it."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    def element_arrays(self) -> Iterator[tuple[Any, ...]]:
        """The leaves of every element, in a new pass."""
        for element in self.stage.open(Run()):
            yield tuple([np.asarray(leaf_array(leaf)) for leaf in element])


def stage_of(dataset: Any, who: str) -> Stage:
    """The stage of a dataset; TypeError for anything else."""
    if not isinstance(dataset, Pipeline):
        raise TypeError(f"{who}: a Dataset is required, got {dataset!r} ({type(dataset).__name__})")
    return dataset.stage


def parallel_calls(value: Any, who: str) -> int | None:
    """The argument num_parallel_calls."""
    if value is None:
        return None
    number: int = whole_number(value, who, "num_parallel_calls", -1)
    if number == 0:
        raise InvalidArgumentError(
            f"{who}: num_parallel_calls must be at least 1 or AUTOTUNE, got 0"
        )
    return number
