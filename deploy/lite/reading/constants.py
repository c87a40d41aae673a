"""Decoding of constants: numbers, packed integers of 2 or 4 bits, strings, sparse tensors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.errors import DataLossError, UnimplementedError
from pinnace.proto.lite_schema import LITE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.deploy.lite.files.parsing import Parsed
    from pinnace.framework.tensor import Array

_FORMATS = LITE.enums["DimensionType"]
# The largest ratio of a dense tensor's size to that of its sparse form.
_MOST_TIMES = 1000
_SLACK = 1 << 16


def decoded(
    raw: memoryview,
    sizes: Sequence[int],
    dtype: dtypes.DType,
    bits: int,
    sparsity: Parsed | None,
    where: str,
) -> Array:
    """Decode a constant.

    Args:
        raw: its bytes.
        sizes: its shape.
        dtype: the element type.
        bits: the size of an element in the file.
        sparsity: the sparse format; None for a dense tensor.
        where: the tensor's name, for errors.

    Raises:
        DataLossError: the bytes do not match the shape.
        UnimplementedError: the constant is a resource.
    """
    if dtype is dtypes.string:
        return _texts(raw, sizes, where)
    if dtype is dtypes.resource:
        raise UnimplementedError(f"{where} is a constant of type resource")
    count = math.prod(sizes)
    if sparsity is not None:
        flat = _unpacked(raw, dtype, bits, 8 * len(raw) // bits)
        return _dense(flat, sizes, sparsity, where)
    if (count * bits + 7) // 8 != len(raw):
        raise DataLossError(
            f"{where} has {len(raw)} bytes, which do not match its shape {list(sizes)} of elements "
            f"of {bits} bits"
        )
    return _unpacked(raw, dtype, bits, count).reshape(sizes)


def _unpacked(raw: memoryview, dtype: dtypes.DType, bits: int, count: int) -> Array:
    if bits >= 8:
        kind = dtype.numpy
        if kind == np.bool_:
            truths: Array = np.frombuffer(raw, np.uint8, count) != 0
            return truths
        return np.frombuffer(raw, kind, count)
    # The first element is in the lowest bits.
    octets = np.frombuffer(raw, np.uint8)
    parts = [(octets >> shift) & ((1 << bits) - 1) for shift in range(0, 8, bits)]
    found = np.stack(parts, axis=-1).reshape(-1)[:count]
    if dtype is dtypes.int8:
        top = 1 << (bits - 1)
        signed: Array = ((found ^ top).astype(np.int8) - np.int8(top)).astype(np.int8)
        return signed
    return found


def _texts(raw: memoryview, sizes: Sequence[int], where: str) -> Array:
    """Decode strings: their number, the offsets of each, and then all bytes."""
    count = int(np.frombuffer(raw, "<i4", 1)[0]) if len(raw) >= 4 else -1
    if count != math.prod(sizes) or 4 * (count + 2) > len(raw):
        raise DataLossError(f"{where}: its strings do not match its shape {list(sizes)}")
    ends = np.frombuffer(raw, "<i4", count + 1, 4).tolist()
    if ends != sorted(ends) or ends[0] < 0 or ends[-1] > len(raw):
        raise DataLossError(f"{where} has strings with offsets outside its data")
    found = np.empty(count, object)
    for index in range(count):
        found[index] = bytes(raw[ends[index] : ends[index + 1]])
    return found.reshape(sizes)


def _dense(values: Array, sizes: Sequence[int], table: Parsed, where: str) -> Array:
    """Expand a sparse tensor; the axes of blocks follow its own."""
    rank = len(sizes)
    order = [int(n) for n in table.list("traversal_order")]
    blocks = [int(n) for n in table.list("block_map")]
    levels: Sequence[Parsed] = table.list("dim_metadata")
    total = rank + len(blocks)
    if sorted(order) != list(range(total)) or len(levels) != total or total > 2 * rank:
        raise DataLossError(f"{where} is sparse, and its traversal order is no permutation")
    if len(set(blocks)) < len(blocks) or not set(blocks) <= set(range(rank)):
        raise DataLossError(f"{where} is sparse, and its block map names axes that do not exist")
    if math.prod(sizes) > _MOST_TIMES * len(values) + _SLACK:
        raise DataLossError(f"{where} has {len(values)} elements for the shape {list(sizes)}")
    places, counts = _places(levels, len(values), where)
    if len(places) != len(values):
        raise DataLossError(f"{where} has {len(values)} elements and {len(places)} indices")
    by_axis = dict(zip(order, range(total), strict=True))
    index = []
    for axis in range(rank):
        at = places[:, by_axis[axis]]
        if axis in blocks:
            inner = by_axis[rank + blocks.index(axis)]
            at = at * counts[inner] + places[:, inner]
        if len(at) and not 0 <= int(at.max(initial=0)) < max(sizes[axis], 1):
            raise DataLossError(f"{where} has an index outside its shape {list(sizes)}")
        index.append(at)
    found = np.zeros(sizes, values.dtype)
    found[tuple(index)] = values
    return found


def _places(levels: Sequence[Parsed], most: int, where: str) -> tuple[Array, list[int]]:
    """The indices of all elements, a column per level, and the size of each level."""
    rows: Any = np.zeros((1, 0), np.int64)
    counts = []
    for level in levels:
        if level["format"] == _FORMATS["DENSE"]:
            size = level["dense_size"]
            if size < 0 or len(rows) * size > max(most, 1):
                raise DataLossError(f"{where} is sparse, and has more indices than elements")
            inner = np.tile(np.arange(size), len(rows))
            rows = np.column_stack([np.repeat(rows, size, axis=0), inner])
            counts.append(size)
            continue
        segments, indices = (_whole(level, name) for name in ("array_segments", "array_indices"))
        lengths = np.diff(segments)
        if (
            len(segments) != len(rows) + 1
            or segments[0] != 0
            or lengths.min(initial=0) < 0
            or segments[-1] != len(indices)
            or len(indices) > max(most, 1)
            or indices.min(initial=0) < 0
        ):
            raise DataLossError(f"{where} is sparse, and its segments are inconsistent")
        rows = np.column_stack([np.repeat(rows, lengths, axis=0), indices])
        counts.append(int(indices.max(initial=0)) + 1)
    return rows, counts


def _whole(level: Parsed, name: str) -> Array:
    table = level[name]
    return np.asarray(() if table is None else table.list("values"), np.int64)
