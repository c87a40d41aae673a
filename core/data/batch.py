"""Batches: batch, padded and ragged batches, unbatch, rebatch."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.data import composites
from pinnace.data.composites import with_batch_axis, without_batch_axis
from pinnace.data.dataset_spec import DatasetSpec
from pinnace.data.elements import (
    INFINITE,
    UNKNOWN,
    Columns,
    Element,
    Nest,
    array_of_tensor,
    columns_of,
    known,
    leaf_array,
    refuse_ragged,
    whole_number,
)
from pinnace.data.failures import Chained, Failure, Guarded, Raising, raising
from pinnace.data.nothing import NoneTensorSpec
from pinnace.data.stage import Indices, Rows, Run, Stage, exactly
from pinnace.framework import structure
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape, as_shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Array, SymbolicTensor, Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


class Gathered:
    """Batches gathered from rows."""

    __slots__ = ("_full", "_rows", "_stream")

    def __init__(self, rows: Rows, stream: Iterator[Indices], full: int) -> None:
        self._rows = rows
        self._stream = stream
        self._full = full

    def __iter__(self) -> Gathered:
        return self

    def __next__(self) -> Element:
        indices = next(self._stream)
        if len(indices) < self._full:
            raise StopIteration
        return self._rows.take(indices)


class Stacked:
    """Batches stacked from single elements; a failing element does not end the iteration."""

    __slots__ = ("_full", "_join", "_size", "_source")

    def __init__(
        self,
        source: Iterator[Element],
        size: int,
        full: int,
        join: Callable[[Sequence[Element]], Element],
    ) -> None:
        self._source = source
        self._size = size
        self._full = full
        self._join = join

    def __iter__(self) -> Stacked:
        return self

    def __next__(self) -> Element:
        elements = list(itertools.islice(self._source, self._size))
        if len(elements) < self._full:
            raise StopIteration
        return self._join(elements)


class Batched(Stage):
    """Consecutive elements, stacked."""

    def __init__(self, source: Stage, size: Any, drop_remainder: bool) -> None:
        self._source = source
        self._size = whole_number(size, "batch", "batch_size", 1)
        self._drop = bool(drop_remainder)
        super().__init__(with_batch_axis(source.spec, self._known_size()))

    @property
    def size(self) -> Any:
        """The batch size, except that the last batch may be smaller; an int or a tensor."""
        return self._size

    def _known_size(self) -> int | None:
        """The size of the batch axis if all batches have it, else None."""
        size = known(self._size)
        if self._drop or size is None:
            return size
        return None

    def elements(self, run: Run) -> Iterator[Element]:
        """Batches; gathered at once if the source has rows."""
        size = whole_number(int(self._size), "batch", "batch_size", 1)
        full = size if self._drop else 1
        if not composites.holds_tensors_only(self._source.spec):
            spec = self._source.spec
            return Stacked(
                self._source.open(run),
                size,
                full,
                lambda elements: composites.joined(elements, spec, "batch"),
            )
        found = self._source.indexed(run)
        if found is not None:
            return Gathered(found[0], exactly(found[1], size), full)
        blocks = self._source.blocks(run)
        if blocks is not None:
            return Raising(_recut(Guarded(blocks), size, full))
        specs = self._source.leaves
        return Stacked(
            self._source.open(run),
            size,
            full,
            lambda elements: columns_of(elements, specs, "batch"),
        )

    def cardinality(self) -> int:
        """The source's cardinality divided by the batch size."""
        return _divided(self._source, self._size, self._drop)


def _recut(blocks: Iterable[Any], size: int, full: int) -> Iterator[Any]:
    """Blocks cut to another length; a failing one takes the rows that wait with it."""
    waiting: list[Columns] = []
    have = 0
    for block in blocks:
        if type(block) is Failure:
            waiting, have = [], 0
            yield block
            continue
        start, length = 0, len(block[0])
        while have + length - start >= size:
            stop = start + size - have
            waiting.append(tuple([column[start:stop] for column in block]))
            yield _joined(waiting)
            waiting, have, start = [], 0, stop
        if start < length:
            waiting.append(tuple([column[start:] for column in block]))
            have += length - start
    if have >= full and waiting:
        yield _joined(waiting)


def _joined(parts: Sequence[Columns]) -> Columns:
    if len(parts) == 1:
        return parts[0]
    return tuple([_concatenated(i, columns) for i, columns in enumerate(zip(*parts, strict=True))])


def _concatenated(component: int, columns: Sequence[Array]) -> Array:
    shapes = {column.shape[1:] for column in columns}
    if len(shapes) > 1:
        refuse_ragged([row for column in columns for row in column], component, "batch")
    return np.concatenate(columns)


class PaddedBatched(Stage):
    """Consecutive elements, padded to one shape."""

    def __init__(
        self,
        source: Stage,
        size: Any,
        padded_shapes: Nest,
        padding_values: Nest,
        drop_remainder: bool,
    ) -> None:
        self._source = source
        self._size = whole_number(size, "padded_batch", "batch_size", 1)
        self._drop = bool(drop_remainder)
        _check_padded(source.spec)
        self._shapes, self._sizes = _padded_shapes(source, padded_shapes)
        self._values = _padding_values(source, padding_values)
        front = Shape((known(self._size) if self._drop else None,))
        specs = iter(
            TensorSpec.of(front + shape, leaf.dtype)
            for shape, leaf in zip(self._shapes, source.leaves, strict=True)
        )
        super().__init__(
            structure.map_structure(
                lambda leaf: leaf if isinstance(leaf, NoneTensorSpec) else next(specs), source.spec
            )
        )

    def elements(self, run: Run) -> Iterator[Element]:
        """Padded batches."""
        size = int(self._size)
        return Stacked(self._source.open(run), size, size if self._drop else 1, self._join)

    def _join(self, elements: Sequence[Element]) -> Element:
        columns = zip(*elements, strict=True)
        shapes = (
            shape if sizes is None else _padded_shape(np.asarray(sizes))
            for shape, sizes in zip(self._shapes, self._sizes, strict=True)
        )
        return tuple(
            _padded([np.asarray(leaf_array(leaf)) for leaf in column], shape, value, index)
            for index, (column, shape, value) in enumerate(
                zip(columns, shapes, self._values, strict=True)
            )
        )

    def cardinality(self) -> int:
        """The source's cardinality divided by the batch size."""
        return _divided(self._source, self._size, self._drop)


def _check_padded(spec: Nest) -> None:
    for leaf in structure.flatten(spec):
        if isinstance(leaf, DatasetSpec):
            raise TypeError(f"`padded_batch` is not supported for datasets of datasets, got {spec}")
        if not isinstance(leaf, (TensorSpec, NoneTensorSpec)):
            raise TypeError(
                "`padded_batch` is only supported for datasets that produce tensor elements but "
                "type spec of elements in the input dataset is not a subclass of TensorSpec: "
                f"`{leaf}`."
            )


def _padded(arrays: Sequence[Array], shape: Shape, value: Any, component: int) -> Array:
    dims = shape.dims or ()
    for array in arrays:
        if array.ndim != len(dims):
            raise InvalidArgumentError(
                f"padded_batch: component {component} must have rank {len(dims)}, "
                f"got shape {Shape.of(array.shape).text}"
            )
    sizes = []
    for axis, wanted in enumerate(dims):
        largest = max(array.shape[axis] for array in arrays)
        if wanted is not None and largest > wanted:
            raise InvalidArgumentError(
                f"padded_batch: component {component} must fit into {shape.text}, "
                f"an element has size {largest} along axis {axis}"
            )
        sizes.append(largest if wanted is None else wanted)
    batch = np.full((len(arrays), *sizes), value, arrays[0].dtype)
    for row, array in zip(batch, arrays, strict=True) if sizes else ():
        row[tuple(slice(n) for n in array.shape)] = array
    if not sizes:
        batch[...] = [array[()] for array in arrays]
    return batch


def _padded_shapes(source: Stage, given: Nest) -> tuple[tuple[Shape, ...], tuple[Any, ...]]:
    """The padded shape of each leaf, and its sizes where only a run of the function knows them."""
    if given is None:
        for leaf in source.leaves:
            if not isinstance(leaf, TensorSpec) or leaf.shape.rank is None:
                raise ValueError(
                    "padded_batch: `padded_shapes` must be given where elements have an unknown "
                    f"rank, got {leaf}"
                )
        return tuple(leaf.shape for leaf in source.leaves), (None,) * len(source.leaves)
    # A shape may be a list, a tuple or a TensorShape: the element's structure tells shapes from
    # nests.
    parts = structure.flatten_up_to(source.spec, given, check_types=False)
    shapes = []
    for part, leaf in zip(parts, source.leaves, strict=True):
        shape = _padded_shape(part)
        if shape.rank is None or not _fits(leaf.shape, shape):
            raise ValueError(
                f"padded_batch: The padded shape {_as_tuple(shape)} is not compatible with the "
                f"shape {_as_tuple(leaf.shape)} of the corresponding input component."
            )
        shapes.append(shape)
    return tuple(shapes), tuple(p if isinstance(p, SymbolicTensor) else None for p in parts)


def _padded_shape(given: Any) -> Shape:
    if given is None or isinstance(given, Shape):
        return as_shape(given)
    if isinstance(given, SymbolicTensor) and given.shape.rank == 1:
        return Shape(None if given.shape[0] is None else (None,) * given.shape[0])
    if isinstance(given, Tensor):
        given = array_of_tensor(given)
    sizes = np.asarray([-1 if n is None else n for n in given])
    if sizes.ndim != 1:
        raise ValueError(
            f"padded_batch: Padded shape {given} must be a `tf.int64` vector tensor, "
            f"but its shape was {sizes.shape}."
        )
    if sizes.size and not np.issubdtype(sizes.dtype, np.integer):
        raise TypeError(
            f"padded_batch: Padded shape {given} must be a `tf.int64` vector tensor, "
            f"but its element type was {sizes.dtype.name}."
        )
    return Shape([None if n == -1 else int(n) for n in sizes])


def _fits(shape: Shape, padded: Shape) -> bool:
    """Whether elements of a shape can be padded to another, as far as both are known."""
    if shape.rank is None:
        return True
    pairs = zip(shape, padded, strict=True) if shape.rank == padded.rank else ((1, 0),)
    return all(n is None or wanted is None or n <= wanted for n, wanted in pairs)


def _as_tuple(shape: Shape) -> str:
    return str(None if shape.dims is None else tuple(shape.dims))


def _up_to(spec: Nest, given: Nest) -> list[Any]:
    """The padding value of each leaf; None stands for that of a whole part."""
    if not structure.is_nested(spec):
        return [given]
    if given is None:
        return [None] * len(structure.flatten(spec))
    keys = sorted(spec) if isinstance(spec, Mapping) else range(len(spec))
    one_level = dict.fromkeys(keys) if isinstance(spec, Mapping) else (None,) * len(spec)
    below = structure.flatten_up_to(one_level, given, check_types=False)
    return [
        part for key, value in zip(keys, below, strict=True) for part in _up_to(spec[key], value)
    ]


def _padding_values(source: Stage, given: Nest) -> tuple[Any, ...]:
    leaves = source.leaves
    if given is None:
        parts: list[Any] = [None] * len(leaves)
    elif structure.is_nested(given):
        parts = _up_to(source.spec, given)
    else:
        parts = [given] * len(leaves)  # TensorFlow: one value is used for all
    values = []
    for part, leaf in zip(parts, leaves, strict=True):
        if part is None:
            values.append(b"" if leaf.dtype.name == "string" else leaf.dtype.numpy.type(0))
            continue
        tensor = convert_to_tensor(part, leaf.dtype)
        if tensor.shape.rank:
            raise ValueError(
                f"padded_batch: a padding value must be a scalar, got {tensor.shape.text}"
            )
        values.append(array_of_tensor(tensor)[()])
    return tuple(values)


class Unbatched(Stage):
    """The rows of elements."""

    def elements(self, run: Run) -> Iterator[Element]:
        """The rows of elements that hold ragged or sparse tensors."""
        spec = self._source.spec
        return Chained(
            lambda element: composites.rows(element, spec, "unbatch"), self._source.open(run)
        )

    def __init__(self, source: Stage) -> None:
        super().__init__(without_batch_axis(source.spec, "unbatch"))
        self._source = source

    def blocks(self, run: Run) -> Iterator[Columns] | None:
        """Each element of the source is a block."""
        if not composites.holds_tensors_only(self._source.spec):
            return None
        return map(_same_length, self._source.open(run))

    def cardinality(self) -> int:
        """The cardinality, which is known if the sizes of the first axes are."""
        there = self._source.cardinality()
        sizes = map(composites.first_size, structure.flatten(self._source.spec))
        size = next((n for n in sizes if n is not None), None)
        if there == 0:
            return 0
        if there < 0 or size is None:
            return INFINITE if there == INFINITE and size != 0 else UNKNOWN
        return there * size


class SliceOf(Unbatched):
    """The rows of one element; their number is known if its sizes are."""

    def cardinality(self) -> int:
        """The size of the first axis."""
        sizes = map(composites.first_size, structure.flatten(self._source.spec))
        return next((int(n) for n in sizes if n is not None), UNKNOWN)


def _same_length(element: Element) -> Columns:
    if len({len(leaf) for leaf in element}) > 1:
        raise InvalidArgumentError(
            "unbatch: first axes of one element must have one size, "
            f"got {[len(leaf) for leaf in element]}"
        )
    return element


class RaggedBatched(Stage):
    """Consecutive tensors of different shapes as ragged tensors."""

    def __init__(self, source: Stage, size: Any, drop_remainder: bool, splits: Any) -> None:
        self._source = source
        self._size = whole_number(size, "ragged_batch", "batch_size", 1)
        self._drop = bool(drop_remainder)
        self._ragged = structure.map_structure(
            lambda leaf: composites.ragged_spec(leaf, splits), source.spec
        )
        self._convert = composites.ragged_element(splits, source.spec)
        front = known(self._size) if self._drop else None
        super().__init__(with_batch_axis(self._ragged, front))

    def elements(self, run: Run) -> Iterator[Element]:
        """Ragged batches."""
        size = int(self._size)
        convert, spec = self._convert, self._ragged
        return Stacked(
            self._source.open(run),
            size,
            size if self._drop else 1,
            lambda elements: composites.joined(
                [convert(e) for e in elements], spec, "ragged_batch"
            ),
        )

    def cardinality(self) -> int:
        """The source's cardinality divided by the batch size."""
        return _divided(self._source, self._size, self._drop)


class SparseBatched(Stage):
    """Consecutive tensors of different shapes as sparse tensors."""

    def __init__(self, source: Stage, size: Any, row_shape: Any) -> None:
        self._source = source
        self._size = whole_number(size, "sparse_batch", "batch_size", 1)
        if not isinstance(source.spec, TensorSpec):
            raise TypeError(f"sparse_batch: elements must be one tensor, are {source.spec}")
        rows = as_shape(row_shape)
        self._join = composites.sparse_join(list(rows))
        super().__init__(composites.sparse_spec(Shape((None,)) + rows, source.spec.dtype))

    def elements(self, run: Run) -> Iterator[Element]:
        """Sparse batches."""
        return Stacked(self._source.open(run), int(self._size), 1, self._join)

    def cardinality(self) -> int:
        """The source's cardinality divided by the batch size."""
        return _divided(self._source, self._size, False)


def _divided(source: Stage, size: Any, drop: bool) -> int:
    there, number = source.cardinality(), known(size)
    if there < 0:
        return there
    if number is None:
        return UNKNOWN
    return there // number if drop else -(-there // number)


class Rebatched(Stage):
    """Batches of other sizes."""

    def __init__(self, source: Stage, sizes: Any, drop_remainder: bool) -> None:
        numbers = np.asarray(array_of_tensor(convert_to_tensor(sizes, None, np.int64))).ravel()
        self._sizes = tuple(int(n) for n in numbers)
        if not self._sizes or min(self._sizes) < 0 or not any(self._sizes):
            raise InvalidArgumentError(
                f"rebatch: sizes in batch_size must be at least 0, and not all 0, got {sizes}"
            )
        self._drop = bool(drop_remainder)
        self._source = source
        self._row_spec = without_batch_axis(source.spec, "rebatch")
        super().__init__(with_batch_axis(self._row_spec, self._known_size()))

    def _known_size(self) -> int | None:
        """The size if all batches have the same one, else None."""
        size = self._sizes[0]
        if len(set(self._sizes)) > 1:
            return None
        if self._drop:
            return size
        parts = structure.flatten(self._source.spec)
        given = [composites.first_size(p) for p in parts if not isinstance(p, NoneTensorSpec)]
        return size if all(n is not None and n % size == 0 for n in given) else None

    @raising
    def elements(self, run: Run) -> Iterator[Any]:
        """Batches whose sizes cycle through the list."""
        if not composites.holds_tensors_only(self._source.spec):
            yield from self._batches_of_rows(run)
            return
        blocks = Guarded(map(_same_length, self._source.open(run)))
        sizes = itertools.cycle(self._sizes)
        wanted = next(sizes)
        waiting: list[Columns] = []
        have = 0
        for block in blocks:
            if type(block) is Failure:
                yield block
                continue
            start, length = 0, len(block[0])
            while have + length - start >= wanted:
                stop = start + wanted - have
                waiting.append(tuple([column[start:stop] for column in block]))
                yield _joined(waiting)
                waiting, have, start = [], 0, stop
                wanted = next(sizes)
            if start < length:
                waiting.append(tuple([column[start:] for column in block]))
                have += length - start
        if waiting and not self._drop:
            yield _joined(waiting)

    def _batches_of_rows(self, run: Run) -> Iterator[Element]:
        """Like `elements`, row by row, for elements that hold ragged or sparse tensors."""
        spec = self._source.spec
        rows = Chained(
            lambda element: composites.rows(element, spec, "rebatch"), self._source.open(run)
        )
        for size in itertools.cycle(self._sizes):
            if not size:
                raise InvalidArgumentError("rebatch: a batch of no rows must be one of tensors")
            batch = list(itertools.islice(rows, size))
            if len(batch) == size or (batch and not self._drop):
                yield composites.joined(batch, self._row_spec, "rebatch")
            if len(batch) < size:
                return
