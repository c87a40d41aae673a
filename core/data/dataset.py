"""Dataset: the public face of a pipeline of stages."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.data import traced_iterator
from pinnace.data.applying import Applying
from pinnace.data.arranging import Arranging
from pinnace.data.batching import Batching
from pinnace.data.composites import holds_composites
from pinnace.data.elements import INFINITE, UNKNOWN, packed
from pinnace.data.iterator import DatasetIterator
from pinnace.data.making import Making
from pinnace.data.pipeline import public
from pinnace.data.stage import Run, Stage
from pinnace.framework import structure
from pinnace.framework.context import state
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor, wrap
from pinnace.ops.composites.sparse.functions import to_dense
from pinnace.ops.composites.sparse.tensor import SparseTensor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinnace.data.options import Options


class NumpyIterator:
    """What `as_numpy_iterator` gives."""

    __slots__ = ("_elements",)

    def __init__(self, elements: Iterator[Any]) -> None:
        self._elements = elements

    def __iter__(self) -> Iterator[Any]:
        return self._elements  # a loop needs nothing of this class

    def __next__(self) -> Any:
        return next(self._elements)

    def next(self) -> Any:
        """The next element, as `next(iterator)`."""
        return next(self._elements)


class Dataset(Making, Applying, Arranging, Batching):
    """A sequence of elements, each a structure of tensors, made when they are read.

    Every method gives a new dataset. Functions are traced once, when the method is called; a pass
    runs them as plans. `for` begins a new pass each time.

    Args:
        stage: where elements come from; the static methods make one.
        options: how to run.
    """

    def __init__(self, stage: Stage, options: Options | None = None) -> None:
        if not isinstance(stage, Stage):
            raise TypeError(
                f"a Dataset is made by its static methods, got {stage!r}\n"
                "  Try: Dataset.from_tensor_slices(...)"
            )
        self._stage = stage
        self._options = options

    def __iter__(self) -> Any:
        if state.tracer is not None:
            return traced_iterator.begin(self.variant_tensor, self.element_spec)
        return DatasetIterator(self._stage, public, self.element_spec)

    def as_numpy_iterator(self) -> NumpyIterator:
        """The elements as arrays nobody may write to, NumPy scalars and bytes."""
        return NumpyIterator(self._arrays())

    def _arrays(self) -> Iterator[Any]:
        stage = self._stage
        for leaf in stage.leaves:
            if not isinstance(leaf, TensorSpec):
                raise TypeError(f"as_numpy_iterator: elements must be tensors, one holds {leaf}")
        spec = stage.spec
        if holds_composites(spec):
            return (structure.map_structure(_numpy_of, element) for element in iter(self))
        opened = stage.open(Run())
        if isinstance(spec, TensorSpec):
            return (_for_numpy(element[0]) for element in opened)
        return (packed(spec, [_for_numpy(leaf) for leaf in element]) for element in opened)

    def get_single_element(self, name: str | None = None) -> Any:
        """The only element.

        Raises:
            InvalidArgumentError: there is none, or more than one.
        """
        del name
        found = list(itertools.islice(iter(self), 2))
        if len(found) != 1:
            what = "more than one" if found else "none"
            raise InvalidArgumentError(
                f"get_single_element: exactly one element is required, got {what}"
            )
        return found[0]

    def cardinality(self, name: str | None = None) -> Tensor:
        """How many elements there are; INFINITE_CARDINALITY or UNKNOWN_CARDINALITY."""
        del name
        return wrap(np.array(self._stage.cardinality(), np.int64))

    def __len__(self) -> int:
        size = self._stage.cardinality()
        if size == INFINITE:
            raise TypeError("the dataset is infinite")
        if size == UNKNOWN:
            raise TypeError(
                "the length of the dataset is unknown\n  Try: experimental.assert_cardinality"
            )
        return size

    def __bool__(self) -> bool:
        return True

    def _repr_html_(self) -> str:
        """For notebooks: what its elements are, and how many; none is read."""
        from pinnace.framework import html

        count = self._stage.cardinality()
        told = {INFINITE: "without end", UNKNOWN: "not known beforehand"}.get(count, count)
        rows = []
        for path, spec in structure.flatten_with_paths(self.element_spec):
            plain = isinstance(spec, TensorSpec)
            kind, shape = (spec.dtype.name, spec.shape) if plain else (type(spec).__name__, "")
            rows.append(("/".join(map(str, path)) or "element", kind, shape))
        title = f"{type(self._stage).__name__} dataset, elements: {told}"
        return html.table(title, ("component", "dtype", "shape"), rows)

    def __repr__(self) -> str:
        return f"<{type(self._stage).__name__} dataset element_spec={self.element_spec}>"


def _numpy_of(leaf: Any) -> Any:
    """A tensor as an array; a ragged one as rows, a sparse one with its zeros."""
    return to_dense(leaf).numpy() if isinstance(leaf, SparseTensor) else leaf.numpy()


def _for_numpy(leaf: Any) -> Any:
    if type(leaf) is np.ndarray:
        if not leaf.ndim:
            return leaf[()]
        view = leaf.view()
        view.flags.writeable = False
        return view
    return leaf
