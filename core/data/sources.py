"""Sources of elements: arrays, ranges, generators, file names, random numbers."""

from __future__ import annotations

import glob
import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.data.dataset_spec import DatasetSpec
from pinnace.data.elements import (
    INFINITE,
    UNKNOWN,
    Columns,
    Element,
    Nest,
    array_of_tensor,
    as_leaf,
    is_unpacked,
    leaves_of,
    normalised,
    spec_of,
    spec_text,
    text_of,
    whole_number,
)
from pinnace.data.failures import Chained
from pinnace.data.stage import Indices, Rows, Run, SeedSource, Stage, Stages
from pinnace.framework import dtypes, structure
from pinnace.framework.composite import CompositeSpec, components_of
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape, as_shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Array, SymbolicTensor, Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pinnace.framework.dtypes import DType


def arrays_of(leaves: Sequence[Any]) -> tuple[Any, ...]:
    """The arrays of tensors; symbolic tensors and stages unchanged."""
    kept = (SymbolicTensor, Stage, Stages)
    return tuple(leaf if isinstance(leaf, kept) else array_of_tensor(leaf) for leaf in leaves)


def stage_in(value: Any) -> Stage | None:
    """The stage of a dataset; None for any other value."""
    stage = getattr(value, "stage", None)
    return stage if isinstance(stage, Stage) else None


def as_part(value: Any) -> Any:
    """A value as a leaf of an element: a tensor, a composite value, a stage, or several."""
    if isinstance(value, (Stage, Stages)):
        return value
    stage = stage_in(value)
    if stage is not None:
        return stage
    if type(value) is list and value and all(stage_in(item) is not None for item in value):
        return Stages(item.stage for item in value)
    return as_leaf(value)


def _part_spec(part: Any) -> Any:
    if isinstance(part, Stage):
        return DatasetSpec(part.spec)
    if isinstance(part, Stages):
        first, *others = (DatasetSpec(stage.spec) for stage in part)
        spec = first.most_specific_common_supertype(others)
        if spec is None:
            raise ValueError(
                "datasets of one list must have elements of one structure and dtypes, have "
                + ", ".join(str(stage.spec) for stage in part)
            )
        return DatasetSpec(spec.element_spec, [len(part)])
    return spec_of(part)


class Single(Stage):
    """One element."""

    def __init__(self, tensors: Nest) -> None:
        value = normalised(tensors, as_part)
        super().__init__(structure.map_structure(_part_spec, value))
        self.arrays = arrays_of(leaves_of(value))

    def elements(self, run: Run) -> Iterator[Element]:
        """The one element."""
        del run
        yield self.arrays

    def cardinality(self) -> int:
        """1."""
        return 1


class ArrayRows(Rows):
    """Rows of arrays with a common first axis."""

    def __init__(self, arrays: Columns) -> None:
        self._arrays = arrays
        self.count = len(arrays[0])
        self.row_bytes = sum(a.nbytes // max(1, len(a)) for a in arrays)

    def take(self, indices: Indices) -> Columns:
        """The rows with these indices: views for a range."""
        if type(indices) is range:
            if indices.step == 1:
                cut = slice(indices.start, indices.stop)
                return tuple([array[cut] for array in self._arrays])
            indices = np.asarray(indices)
        return tuple([array.take(indices, 0) for array in self._arrays])


class Slices(Stage):
    """The rows of tensors."""

    def __init__(self, tensors: Nest) -> None:
        value = normalised(tensors)
        leaves = structure.flatten(value)
        if not leaves:
            raise ValueError("from_tensor_slices: at least one tensor is required, got none")
        sizes = [self._size(leaf) for leaf in leaves]
        known = [n for n in sizes if n is not None]
        if known and any(n != known[0] for n in known):
            shapes = ", ".join(leaf.shape.text for leaf in leaves)
            raise ValueError(
                f"from_tensor_slices: first axes must have one size, got {sizes}\n"
                f"  shapes: {shapes}"
            )
        super().__init__(
            structure.map_structure(lambda leaf: TensorSpec.of(leaf.shape[1:], leaf.dtype), value)
        )
        self.arrays = arrays_of(leaves)
        self._count = known[0] if known else None

    @staticmethod
    def _size(leaf: Any) -> int | None:
        if leaf.shape.rank == 0:
            raise ValueError(
                "from_tensor_slices: every tensor must have a first axis, "
                f"got a scalar {leaf.dtype.name}\n  Try: from_tensors"
            )
        size: int | None = leaf.shape[0] if leaf.shape.rank else None
        return size

    def rows(self) -> Rows:
        """All rows."""
        rows = ArrayRows(self.arrays)
        if any(len(array) != rows.count for array in self.arrays):
            raise InvalidArgumentError(
                "from_tensor_slices: first axes must have one size, "
                f"got {[len(array) for array in self.arrays]}"
            )
        return rows

    def cardinality(self) -> int:
        """The size of the first axis."""
        return UNKNOWN if self._count is None else self._count


class RangeRows(Rows):
    """start + step i."""

    def __init__(self, numbers: range, dtype: DType) -> None:
        self._numbers = numbers
        self._kind = dtype.numpy
        self.count = len(numbers)
        self.row_bytes = 8

    def take(self, indices: Indices) -> Columns:
        """The numbers at these indices."""
        start, step = self._numbers.start, self._numbers.step
        if type(indices) is range:
            part = self._numbers[indices.start : indices.stop : indices.step]
            return (np.arange(part.start, part.stop, part.step, dtype=np.int64).astype(self._kind),)
        return ((np.asarray(indices) * step + start).astype(self._kind),)


class Range(Stage):
    """Numbers from start up to, but excluding, stop."""

    def __init__(self, start: Any, stop: Any, step: Any, dtype: DType) -> None:
        super().__init__(TensorSpec.of(Shape(()), dtype))
        self._bounds: tuple[Any, ...] = tuple(
            whole_number(value, "range", name)
            for value, name in ((start, "start"), (stop, "stop"), (step, "step"))
        )
        if self._bounds[2] is not None and isinstance(self._bounds[2], int) and not self._bounds[2]:
            raise InvalidArgumentError("range: step must not be 0")

    def _numbers(self) -> range:
        start, stop, step = (int(value) for value in self._bounds)
        if not step:
            raise InvalidArgumentError("range: step must not be 0")
        return range(start, stop, step)

    def rows(self) -> Rows:
        """All numbers."""
        return RangeRows(self._numbers(), self.leaves[0].dtype)

    def cardinality(self) -> int:
        """The number of elements."""
        if any(isinstance(value, SymbolicTensor) for value in self._bounds):
            return UNKNOWN
        return len(self._numbers())


class Counter(Stage):
    """start, start + step, and so on without end."""

    def __init__(self, start: int, step: int, dtype: DType) -> None:
        super().__init__(TensorSpec.of(Shape(()), dtype))
        self._start = start
        self._step = step

    def elements(self, run: Run) -> Iterator[Element]:
        """The numbers."""
        del run
        kind = self.leaves[0].dtype.numpy.type
        for number in itertools.count(self._start, self._step):
            yield (kind(number),)

    def cardinality(self) -> int:
        """Infinite."""
        return INFINITE


class RandomNumbers(Stage):
    """Integers drawn from [0, 2^32)."""

    def __init__(self, seeds: SeedSource) -> None:
        super().__init__(TensorSpec.of(Shape(()), dtypes.int64))
        self._seeds = seeds

    def elements(self, run: Run) -> Iterator[Element]:
        """The numbers."""
        generator = np.random.default_rng(run.seed(self._seeds))
        while True:
            for number in generator.integers(0, 2**32, 256, np.int64):
                yield (number,)

    def cardinality(self) -> int:
        """Infinite."""
        return INFINITE


class Generated(Stage):
    """The items of a Python generator."""

    def __init__(
        self, generator: Callable[..., Any], spec: Nest, args: Sequence[Any] | None = None
    ) -> None:
        super().__init__(spec)
        if not callable(generator):
            raise TypeError(f"from_generator: generator must be callable, got {generator!r}")
        self._generator = generator
        self._args = arrays_of([convert_to_tensor(arg) for arg in args or ()])
        self._shapes = tuple(leaf.shape for leaf in self.leaves)
        self._kinds = tuple(leaf.dtype for leaf in self.leaves)
        self._exact = tuple(
            leaf.shape.dims if leaf.shape.is_fully_defined() else None for leaf in self.leaves
        )

    def elements(self, run: Run) -> Iterator[Element]:
        """The items of one call of the generator function, converted to the specs."""
        del run
        arguments = [array[()] if not array.ndim else array for array in self._args]
        # The function is called when the first item is read.
        values = Chained(lambda given: self._generator(*given), [arguments])
        alone = not structure.is_nested(self.spec) and len(self.leaves) == 1
        return map(self._single if alone else self._element, values)

    def _single(self, value: Any) -> Element:
        return (self._leaf(value, 0),)

    def _element(self, value: Any) -> Element:
        try:
            if is_unpacked(self.spec) and isinstance(value, list):
                value = tuple(value)
            parts = structure.flatten_up_to(self.spec, value, check_types=False)
            leaves = [leaf for part in parts for leaf in components_of(part)]
            if len(leaves) != len(self.leaves):
                raise ValueError("a part is not ragged, or not sparse, as it should be")  # noqa: TRY301
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"from_generator: every element must have the structure {spec_text(self.spec)}, "
                f"got {value!r}\n  {error}"
            ) from None
        return tuple([self._leaf(leaf, index) for index, leaf in enumerate(leaves)])

    def _leaf(self, value: Any, index: int) -> Any:
        kind = self._kinds[index]
        if type(value) is np.ndarray and value.dtype == kind.numpy and value.dtype != object:
            array = value
        else:
            array = self._converted(value, kind, index)
        if array.shape != self._exact[index] and not self._shapes[index].is_compatible_with(
            Shape.of(array.shape)
        ):
            raise InvalidArgumentError(
                f"from_generator: component {index} of every element must be "
                f"{self.leaves[index].text}, got shape {Shape.of(array.shape).text}"
            )
        return array

    @staticmethod
    def _converted(value: Any, kind: DType, index: int) -> Array:
        try:
            if (
                isinstance(value, np.ndarray)
                and kind is not dtypes.string
                and value.dtype != object
            ):
                return value.astype(kind.numpy, casting="same_kind")
            return array_of_tensor(convert_to_tensor(value, kind))  # type: ignore[no-any-return]
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"from_generator: component {index} of every element must be {kind.name}, "
                f"got {value!r}\n  {error}"
            ) from None


def generated_spec(types: Nest, shapes: Nest, signature: Nest) -> Nest:
    """The spec of a generator's elements, from the arguments of `from_generator`.

    Raises:
        TypeError: neither signature nor types, or both; a leaf that is no spec.
    """
    if signature is None:
        if types is None:
            raise TypeError("from_generator: output_signature (or output_types) is required")
        signature = _signature_of(types, shapes)
    elif types is not None or shapes is not None:
        raise TypeError("from_generator: output_types and output_shapes exclude output_signature")
    signature = _tuples(signature)
    for spec in structure.flatten(signature):
        if not isinstance(spec, (TensorSpec, CompositeSpec)):
            raise TypeError(f"from_generator: output_signature must hold TensorSpecs, got {spec!r}")
    return structure.map_structure(spec_of, signature)


def _tuples(signature: Nest) -> Nest:
    """Lists as tuples: in an element spec a list would be a leaf."""
    if isinstance(signature, list):
        return tuple(_tuples(part) for part in signature)
    if is_unpacked(signature):
        return tuple(_tuples(part) for part in signature)
    if isinstance(signature, dict):
        return {key: _tuples(part) for key, part in signature.items()}
    return signature


def _signature_of(output_types: Nest, output_shapes: Nest) -> Nest:
    kinds = _tuples(output_types)
    if output_shapes is None:
        return structure.map_structure(lambda kind: TensorSpec(None, kind), kinds)
    shapes = structure.flatten_up_to(kinds, output_shapes, check_types=False)
    leaves = [
        TensorSpec(as_shape(shape), kind)
        for shape, kind in zip(shapes, structure.flatten(kinds), strict=True)
    ]
    return structure.pack_sequence_as(kinds, leaves)


def matching_files(file_pattern: Any) -> list[str]:
    """The names of the files that match a pattern or one of several, sorted.

    Raises:
        InvalidArgumentError: no file matches.
    """
    given = [file_pattern] if isinstance(file_pattern, (str, bytes, Path)) else file_pattern
    if isinstance(given, Tensor):
        given = np.asarray(array_of_tensor(given)).ravel().tolist()
    patterns = [text_of(pattern, "list_files", "file_pattern") for pattern in given]
    found = sorted({path for pattern in patterns for path in glob.glob(pattern)})  # noqa: PTH207 (patterns may be absolute)
    if not found:
        raise InvalidArgumentError(f"list_files: No files matched pattern: {', '.join(patterns)}")
    return found
