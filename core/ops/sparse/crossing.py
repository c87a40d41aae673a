"""Combinations of the values in each row: SparseCross, SparseCrossV2, SparseCrossHashed.

Columns are the sparse inputs first, then the others; the values of the last change fastest.
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import DType, int64, string
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.kernels.fingerprints import farm64, joined_hash, sip64
from pinnace.ops.memory import LIST, NUMBER, claim
from pinnace.ops.memory import joined as joined_texts
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Array
    from pinnace.ops.opdef import InferCall

Arrays = tuple["Array", ...]
_MASK = (1 << 64) - 1
_LARGEST = (1 << 63) - 1

_INPUTS = "indices: N*int64, values: (sparse_types), shapes: N*int64, dense_inputs: (dense_types)"
_LISTS = {"sparse_types": attr("list(type)"), "dense_types": attr("list(type)")}


def _columns(who: str, indices: Arrays, values: Arrays, shapes: Arrays, dense: Arrays) -> Any:
    """The rows of each column as lists.

    Returns:
        How many rows there are, and the columns.
    """
    if not len(indices) == len(values) == len(shapes):
        raise InvalidArgumentError(
            f"{who}: indices, values and shapes must be of equal number, got {len(indices)}, "
            f"{len(values)} and {len(shapes)}"
        )
    for at, (places, found, shape) in enumerate(zip(indices, values, shapes, strict=True)):
        if (
            places.ndim != 2
            or places.shape[1] != 2
            or found.shape != (len(places),)
            or shape.shape != (2,)
        ):
            raise InvalidArgumentError(
                f"{who}: sparse inputs must be matrices: indices [n, 2], values [n] and a shape "
                f"[2], got {list(places.shape)}, {list(found.shape)} and {list(shape.shape)} for "
                f"input {at}"
            )
    if any(one.ndim != 2 for one in dense):
        raise InvalidArgumentError(
            f"{who}: dense_inputs must be matrices, got shapes {[list(x.shape) for x in dense]}"
        )
    counts = [int(shape[0]) for shape in shapes] + [len(one) for one in dense]
    rows = counts[0] if counts else 0
    if any(count != rows for count in counts):
        raise InvalidArgumentError(
            f"{who}: all inputs must have the same number of rows, got {counts}"
        )
    if rows < 0:
        raise InvalidArgumentError(f"{who}: shapes must not be negative, got {rows} rows")
    columns = [_rows_of(who, *one, rows) for one in zip(indices, values, strict=True)]
    return rows, columns + [one.tolist() for one in dense]


def _rows_of(who: str, places: Array, values: Array, rows: int) -> list[list[Any]]:
    owners = places[:, 0].tolist()
    if owners != sorted(owners) or (owners and not 0 <= owners[0] <= owners[-1] < rows):
        raise InvalidArgumentError(
            f"{who}: the rows of indices must be in order and below {rows}, got {owners}"
        )
    claim(rows * LIST)
    found: list[list[Any]] = [[] for _ in range(rows)]
    for row, value in zip(owners, values.tolist(), strict=True):
        found[row].append(value)
    return found


def _crossed(
    rows: int, columns: Sequence[Any], join: Callable[[tuple[Any, ...]], Any], dtype: DType
) -> tuple[Array, Array, Array]:
    found: list[Any] = []
    places: list[tuple[int, int]] = []
    for row in range(rows):
        # The value, its place, and the two numbers of the place.
        claim(math.prod(len(column[row]) for column in columns) * 4 * NUMBER)
        # TensorFlow: without columns each row would have one empty combination; rows are counted by
        # columns.
        for at, choice in enumerate(product(*(column[row] for column in columns))):
            found.append(join(choice))
            places.append((row, at))
    values = np.empty(len(found), dtype.numpy)
    values[:] = found
    widest = max((at + 1 for _, at in places), default=0)
    return (np.array(places, np.int64).reshape(-1, 2), values, np.array([rows, widest], np.int64))


def _text(item: Any) -> bytes:
    return item if isinstance(item, bytes) else str(item).encode()


def _below(total: int, buckets: int) -> int:
    # TensorFlow: without buckets, the remainder by the largest int64 avoids negative numbers.
    return total % (buckets if buckets > 0 else _LARGEST)


def _infer(call: InferCall) -> tuple[Shape, ...]:
    for argument, rank in ((0, 2), (1, 1), (2, 1), (3, 2)):
        for spec in call.specs(argument):
            if spec.shape.rank not in {None, rank}:
                call.fail(f"{call.op.inputs[argument].name} must have rank {rank}")
    return Shape([None, 2]), Shape([None]), Shape([2])


def _cross_kernel(
    indices: Arrays,
    values: Arrays,
    shapes: Arrays,
    dense_inputs: Arrays,
    *,
    hashed_output: bool,  # noqa: ARG001 - implied by out_type, which decides in TensorFlow
    num_buckets: int,
    hash_key: int,
    out_type: DType,
    internal_type: DType,
) -> tuple[Array, Array, Array]:
    who = "SparseCross"
    if num_buckets < 0:
        raise InvalidArgumentError(f"{who}: num_buckets must not be negative, got {num_buckets}")
    given = [*values, *dense_inputs]
    if internal_type is string and any(one.dtype != object for one in given):
        raise InvalidArgumentError(f"{who}: internal_type string is for inputs of strings alone")
    rows, columns = _columns(who, indices, values, shapes, dense_inputs)

    def hashed(choice: tuple[Any, ...]) -> int:
        total = hash_key & _MASK
        for item in choice:
            number = farm64(item) if isinstance(item, bytes) else int(item)
            total = joined_hash(total, number & _MASK)
        return _below(total, num_buckets)

    def joined(choice: tuple[Any, ...]) -> bytes:
        return joined_texts(b"_X_", [*map(_text, choice)])

    return _crossed(rows, columns, hashed if out_type is int64 else joined, out_type)


SPARSE_CROSS = define(
    name="SparseCross",
    signature=f"{_INPUTS} -> output_indices: int64, output_values: out_type, output_shape: int64",
    types={"out_type": frozenset({int64, string}), "internal_type": frozenset({int64, string})},
    attrs={
        **_LISTS,
        "hashed_output": attr("bool"),
        "num_buckets": attr("int"),
        "hash_key": attr("int"),
    },
    infer=_infer,
    kernel=_cross_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def _cross_v2_kernel(
    indices: Arrays, values: Arrays, shapes: Arrays, dense_inputs: Arrays, sep: Array
) -> tuple[Array, Array, Array]:
    who = "SparseCrossV2"
    if sep.ndim:
        raise InvalidArgumentError(f"{who}: sep must be a scalar, got shape {list(sep.shape)}")
    rows, columns = _columns(who, indices, values, shapes, dense_inputs)
    between = bytes(sep[()])
    return _crossed(rows, columns, lambda choice: between.join(map(_text, choice)), string)


SPARSE_CROSS_V2 = define(
    name="SparseCrossV2",
    signature=(
        f"{_INPUTS}, sep: string -> "
        "output_indices: int64, output_values: string, output_shape: int64"
    ),
    attrs=_LISTS,
    infer=_infer,
    kernel=_cross_v2_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def _cross_hashed_kernel(
    indices: Arrays,
    values: Arrays,
    shapes: Arrays,
    dense_inputs: Arrays,
    num_buckets: Array,
    strong_hash: Array,
    salt: Array,
) -> tuple[Array, Array, Array]:
    who = "SparseCrossHashed"
    if num_buckets.ndim or strong_hash.ndim or salt.shape != (2,):
        raise InvalidArgumentError(
            f"{who}: num_buckets and strong_hash must be scalars and salt of shape [2], got shapes "
            f"{list(num_buckets.shape)}, {list(strong_hash.shape)} and {list(salt.shape)}"
        )
    rows, columns = _columns(who, indices, values, shapes, dense_inputs)
    key = (int(salt[0]) & _MASK, int(salt[1]) & _MASK)
    strong, sparse, buckets = bool(strong_hash), len(indices), int(num_buckets)

    def number(column: int, item: Any) -> int:
        if isinstance(item, bytes):
            return int(sip64(item, key) if strong else farm64(item))
        # TensorFlow hashes the first four bytes of an integer, but takes integers of dense inputs
        # unhashed. (With the strong hash, its process crashes at these; here they are hashed like
        # sparse ones.)
        if not strong and column >= sparse:
            return int(item) & _MASK
        data = (int(item) & 0xFFFFFFFF).to_bytes(4, "little")
        return int(sip64(data, key) if strong else farm64(data))

    def hashed(choice: tuple[Any, ...]) -> int:
        if not choice:
            return 0
        total = number(0, choice[0])
        for column, item in enumerate(choice[1:], 1):
            total = joined_hash(total, number(column, item))
        return _below(total, buckets)

    return _crossed(rows, columns, hashed, int64)


SPARSE_CROSS_HASHED = define(
    name="SparseCrossHashed",
    signature=(
        f"{_INPUTS}, num_buckets: int64, strong_hash: bool, salt: int64 -> "
        "output_indices: int64, output_values: int64, output_shape: int64"
    ),
    attrs=_LISTS,
    infer=_infer,
    kernel=_cross_hashed_kernel,
    gradient=NOT_DIFFERENTIABLE,
)
