"""Composite elements: batched and unbatched as their component arrays.

Inside a pipeline a composite element is its components, one leaf each: flat values and row splits,
or indices, values and shape. Only code that adds or removes an axis needs to interpret them; for an
extension type its batch encoder does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.data.dataset_spec import DatasetSpec
from pinnace.data.elements import Element, Nest, leaf_array, leaves_of, packed, stacked
from pinnace.data.nothing import NoneTensorSpec
from pinnace.data.stage import Stages
from pinnace.framework import dtypes, structure
from pinnace.framework.composite import CompositeSpec
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Array, wrap
from pinnace.ops.composites.extension.batching import encoder_of
from pinnace.ops.composites.ragged.spec import RaggedTensorSpec
from pinnace.ops.composites.sparse.tensor import SparseTensorSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Components = tuple[Array, ...]


def holds_composites(spec: Nest) -> bool:
    """Whether elements contain composite values."""
    return any(_is_composite(leaf) for leaf in structure.flatten(spec))


def _is_composite(leaf: Any) -> bool:
    return isinstance(leaf, CompositeSpec) and not isinstance(leaf, DatasetSpec)


def holds_tensors_only(spec: Nest) -> bool:
    """Whether each part of an element is a tensor or None."""
    kinds = (TensorSpec, NoneTensorSpec)
    return all(isinstance(leaf, kinds) for leaf in structure.flatten(spec))


def groups_of(spec: Nest) -> list[tuple[Any, slice]]:
    """The parts of an element, each with the slice of its leaves among all leaves."""
    groups = []
    start = 0
    for part in structure.flatten(spec):
        stop = start + len(leaves_of(part))
        groups.append((part, slice(start, stop)))
        start = stop
    return groups


def batched_spec(leaf: Any, size: int | None) -> Any:
    """The spec of batches of a composite part.

    Raises:
        TypeError: such parts cannot be batched.
    """
    front = Shape.of((size,))
    if (encoder := encoder_of(leaf)) is not None:
        return encoder.batch(leaf, size)
    if isinstance(leaf, RaggedTensorSpec):
        rank = leaf.ragged_rank + 1
        return RaggedTensorSpec(front + leaf.shape, leaf.dtype, rank, leaf.row_splits_dtype)
    if isinstance(leaf, SparseTensorSpec):
        return SparseTensorSpec(front + leaf.shape, leaf.dtype)
    raise TypeError(f"batch: elements hold {leaf}, which has no batches")


def row_spec(leaf: Any, who: str) -> Any:
    """The spec of the rows of a composite part."""
    if (encoder := encoder_of(leaf)) is not None:
        try:
            return encoder.unbatch(leaf)
        except ValueError as error:
            raise InvalidArgumentError(f"{who}: {error}") from None
    if not hasattr(leaf, "shape"):
        raise InvalidArgumentError(
            f"{who}: {leaf} has no rows that can be elements\n"
            "  Try: BatchableExtensionType as the base of its values"
        )
    rest = leaf.shape[1:] if leaf.shape.rank else Shape(None)
    if isinstance(leaf, RaggedTensorSpec):
        rank = max(0, leaf.ragged_rank - 1)
        return RaggedTensorSpec(rest, leaf.dtype, rank, leaf.row_splits_dtype)
    if isinstance(leaf, SparseTensorSpec) and leaf.shape.rank != 1:
        return SparseTensorSpec(rest, leaf.dtype)
    raise InvalidArgumentError(f"{who}: {leaf} has no rows that can be elements")


def first_size(part: Any) -> int | None:
    """The size of the first axis of a part of an element, None if unknown."""
    if isinstance(part, NoneTensorSpec):
        return None
    if (encoder := encoder_of(part)) is not None:
        sizes = map(first_size, structure.flatten(encoder.encoding_specs(part)))
        return next((size for size in sizes if size is not None), None)
    size: int | None = part.shape[0] if part.shape.rank else None
    return size


def with_batch_axis(spec: Nest, size: int | None) -> Nest:
    """The spec of batches."""
    return structure.map_structure(lambda leaf: _batched(leaf, size), spec)


def _batched(leaf: Any, size: int | None) -> Any:
    if isinstance(leaf, NoneTensorSpec):
        return leaf
    if isinstance(leaf, DatasetSpec):
        return DatasetSpec(leaf.element_spec, Shape.of((size,)) + leaf.shape)
    if isinstance(leaf, CompositeSpec):
        return batched_spec(leaf, size)
    if not isinstance(leaf, TensorSpec):
        raise TypeError(f"batch: elements hold {leaf}, which has no batches; only tensors have")
    return TensorSpec.of(Shape.of((size,)) + leaf.shape, leaf.dtype)


def without_batch_axis(spec: Nest, who: str) -> Nest:
    """The spec of the rows of an element."""

    def row(leaf: Any) -> Any:
        if _is_composite(leaf):
            return row_spec(leaf, who)
        if isinstance(leaf, NoneTensorSpec):
            return leaf
        if isinstance(leaf, DatasetSpec) and leaf.shape.rank:
            return DatasetSpec(leaf.element_spec, leaf.shape[1:])
        if not isinstance(leaf, TensorSpec) or leaf.shape.rank == 0:
            raise InvalidArgumentError(f"{who}: every component must have a first axis, got {leaf}")
        return TensorSpec.of(leaf.shape[1:] if leaf.shape.rank else Shape(None), leaf.dtype)

    return structure.map_structure(row, spec)


def joined(elements: Sequence[Element], spec: Nest, who: str) -> Element:
    """A batch of elements of `spec`."""
    columns = list(zip(*elements, strict=True))
    out: list[Any] = []
    for number, (part, place) in enumerate(groups_of(spec)):
        if isinstance(part, TensorSpec):
            out.append(stacked(columns[place.start], part, number, who))
            continue
        if isinstance(part, NoneTensorSpec):
            continue
        if isinstance(part, DatasetSpec):
            out.append(Stages(columns[place.start]))
            continue
        if encoder_of(part) is not None:
            out.extend(_joined_encoded([element[place] for element in elements], part, who))
            continue
        values = [
            tuple(np.asarray(leaf_array(leaf)) for leaf in value)
            for value in zip(*columns[place], strict=True)
        ]
        out.extend(_ragged(values) if isinstance(part, RaggedTensorSpec) else _sparse(values))
    return tuple(out)


def _value(spec: Any, leaves: Element) -> Any:
    """The leaves packed as the user's value, for its batch encoder."""
    specs = leaves_of(spec)
    return packed(
        spec,
        [
            wrap(np.asarray(leaf_array(leaf)), one.dtype)
            for leaf, one in zip(leaves, specs, strict=True)
        ],
    )


def _arrays(value: Nest) -> Element:
    """The leaves of the result of a batch encoder."""
    return tuple([np.asarray(convert_to_tensor(leaf)._array) for leaf in leaves_of(value)])


def _joined_encoded(values: Sequence[Element], spec: Any, who: str) -> Element:
    """Values of an extension type, as its encoder batches them."""
    encoder = encoder_of(spec)
    encoding = encoder.encoding_specs(spec)
    encoded = [_arrays(encoder.encode(spec, _value(spec, leaves))) for leaves in values]
    together = _value(with_batch_axis(encoding, len(values)), joined(encoded, encoding, who))
    return _arrays(encoder.decode(encoder.batch(spec, len(values)), together))


def _encoded_rows(leaves: Element, spec: Any, who: str) -> Iterator[Element]:
    """The rows of a batch of an extension type."""
    encoder = encoder_of(spec)
    encoding, one = encoder.encoding_specs(spec), row_spec(spec, who)
    encoded = _arrays(encoder.encode(spec, _value(spec, leaves), 1))
    inner = without_batch_axis(encoding, who)
    for row in rows(encoded, encoding, who):
        yield _arrays(encoder.decode(one, _value(inner, row)))


def _ragged(values: Sequence[Components]) -> Components:
    """Flat values and row splits of stacked ragged values."""
    rows = [len(value[1]) - 1 if len(value) > 1 else len(value[0]) for value in values]
    kind = values[0][1].dtype if len(values[0]) > 1 else np.dtype(np.int64)
    nested = [_splits(rows, kind)]
    for level in range(1, len(values[0])):
        lengths = np.concatenate([np.diff(value[level]) for value in values])
        nested.append(_splits(lengths, kind))
    return (np.concatenate([value[0] for value in values]), *nested)


def _splits(lengths: Any, kind: Any) -> Array:
    out = np.zeros(len(lengths) + 1, kind)
    np.cumsum(lengths, out=out[1:])
    return out


def _sparse(values: Sequence[Components]) -> Components:
    """Indices, values and shape of stacked sparse values; sizes are the maxima."""
    ranks = {len(shape) for _, _, shape in values}
    if len(ranks) > 1:
        raise InvalidArgumentError(f"batch: sparse elements must have one rank, got {ranks}")
    numbers = np.repeat(np.arange(len(values)), [len(flat) for _, flat, _ in values])
    indices = np.concatenate([one for one, _, _ in values])
    shape = np.max([shape for _, _, shape in values], axis=0)
    return (
        np.concatenate([numbers[:, np.newaxis], indices], axis=1),
        np.concatenate([flat for _, flat, _ in values]),
        np.concatenate([[len(values)], shape]).astype(np.int64),
    )


def rows(element: Element, spec: Nest, who: str) -> Iterator[Element]:
    """The rows of an element of `spec`."""
    parts: list[list[Components]] = []
    for part, place in groups_of(spec):
        if isinstance(part, NoneTensorSpec):
            continue
        if isinstance(part, DatasetSpec):
            parts.append([(stage,) for stage in element[place.start]])
            continue
        leaves = tuple(np.asarray(leaf_array(leaf)) for leaf in element[place])
        if isinstance(part, TensorSpec):
            parts.append([(row,) for row in leaves[0]])
        elif encoder_of(part) is not None:
            parts.append(list(_encoded_rows(element[place], part, who)))
        elif isinstance(part, RaggedTensorSpec):
            parts.append(_ragged_rows(leaves))
        else:
            parts.append(_sparse_rows(leaves))
    if len({len(part) for part in parts}) > 1:
        raise InvalidArgumentError(
            f"{who}: first axes of one element must have one size, got {[len(p) for p in parts]}"
        )
    for row in zip(*parts, strict=True):
        yield tuple([leaf for part in row for leaf in part])


def _ragged_rows(leaves: Components) -> list[Components]:
    flat, *nested = leaves
    if not nested:
        return [(row,) for row in flat]
    found = []
    for row in range(len(nested[0]) - 1):
        start, stop = int(nested[0][row]), int(nested[0][row + 1])
        splits = []
        for level in nested[1:]:
            part = level[start : stop + 1]
            splits.append(part - part[0])
            start, stop = int(part[0]), int(part[-1])
        found.append((flat[start:stop], *splits))
    return found


def _sparse_rows(leaves: Components) -> list[Components]:
    indices, flat, shape = leaves
    order = np.argsort(indices[:, 0], kind="stable")
    indices, flat = indices[order], flat[order]
    edges = np.searchsorted(indices[:, 0], np.arange(int(shape[0]) + 1))
    return [
        (indices[a:b, 1:], flat[a:b], shape[1:])
        for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    ]


# Tensors of different shapes as one ragged or sparse batch.


def ragged_spec(leaf: Any, splits: dtypes.DType) -> Any:
    """The spec of a dense part of an element: ragged if sizes are unknown."""
    if not isinstance(leaf, TensorSpec) or leaf.shape.rank is None or leaf.shape.is_fully_defined():
        return leaf
    unknown = max(axis for axis, size in enumerate(leaf.shape) if size is None)
    return RaggedTensorSpec(leaf.shape, leaf.dtype, unknown, splits)


def ragged_element(splits: dtypes.DType, spec: Nest) -> Callable[[Element], Element]:
    """A function from elements of `spec` to elements of the ragged specs."""
    groups = groups_of(spec)
    kind = splits.numpy

    def convert(element: Element) -> Element:
        out: list[Any] = []
        for part, place in groups:
            made = ragged_spec(part, splits)
            if made is part or not isinstance(made, RaggedTensorSpec):
                out.extend(element[place])
                continue
            array = np.asarray(leaf_array(element[place.start]))
            depth = made.ragged_rank
            nested = [
                _splits([array.shape[level]] * int(np.prod(array.shape[:level], dtype=int)), kind)
                for level in range(1, depth + 1)
            ]
            out.extend((array.reshape(-1, *array.shape[depth + 1 :]), *nested))
        return tuple(out)

    return convert


def sparse_spec(shape: Shape, kind: dtypes.DType) -> SparseTensorSpec:
    """The spec of sparse tensors."""
    return SparseTensorSpec(shape, kind)


def sparse_join(row_shape: Sequence[int | None]) -> Callable[[Sequence[Element]], Element]:
    """A function from dense elements of one component to a sparse batch; all values are kept."""
    wanted = tuple(None if n is None or n == -1 else int(n) for n in row_shape)

    def join(elements: Sequence[Element]) -> Element:
        arrays = [np.asarray(leaf_array(element[0])) for element in elements]
        values = []
        for array in arrays:
            fits = array.ndim == len(wanted) and all(
                limit is None or size <= limit
                for size, limit in zip(array.shape, wanted, strict=True)
            )
            if not fits:
                raise InvalidArgumentError(
                    f"sparse_batch: elements must fit into row_shape {list(wanted)}, "
                    f"one has shape {Shape.of(array.shape).text}"
                )
            indices = np.indices(array.shape).reshape(array.ndim, -1).T
            sizes = [s if w is None else w for s, w in zip(array.shape, wanted, strict=True)]
            values.append((indices, array.reshape(-1), np.array(sizes, np.int64)))
        return _sparse(values)

    return join
