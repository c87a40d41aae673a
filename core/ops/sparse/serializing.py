"""Sparse tensors as strings: SerializeSparse, SerializeManySparse, and deserialization.

A sparse tensor becomes three elements: its indices, its values and its dense shape. As strings
these are messages TensorProto; as variants they are the arrays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import ANY_VALUE, DType, int64, string, variant
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.io import raw
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, NOT_DIFFERENTIABLE, typed
from pinnace.ops.registry import define
from pinnace.ops.sparse.places import check_inside, check_parts, rank_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array
    from pinnace.ops.opdef import InferCall

_FORMS = typed(frozenset({string, variant}), default=string)

_INPUTS = "sparse_indices: int64, sparse_values: T, sparse_shape: int64"
_OUTPUTS = "sparse_indices: int64, sparse_values: dtype, sparse_shape: int64"


@dataclass(frozen=True, slots=True, eq=False)
class _Boxed:
    """The content of one variant; NumPy would unpack a bare array."""

    array: Array


def _elements(parts: Sequence[tuple[Array, DType]], form: DType) -> list[Any]:
    if form is variant:
        return [_Boxed(array) for array, _ in parts]
    return [raw.packed(array, dtype) for array, dtype in parts]


def _serialize_kernel(
    sparse_indices: Array,
    sparse_values: Array,
    sparse_shape: Array,
    *,
    T: DType,  # noqa: N803 (the attribute's name)
    out_type: DType,
) -> Array:
    check_parts("SerializeSparse", sparse_indices, sparse_values, np.maximum(sparse_shape, 0))
    out = np.empty(3, object)
    out[:] = _elements(
        [(sparse_indices, int64), (sparse_values, T), (sparse_shape, int64)], out_type
    )
    return out


def _infer_serialize(call: InferCall) -> Shape:
    rank_of(call, 2)
    return Shape([3])


SERIALIZE_SPARSE = define(
    name="SerializeSparse",
    signature=f"{_INPUTS} -> serialized_sparse: out_type",
    types={"T": ANY_VALUE, "out_type": _FORMS},
    infer=_infer_serialize,
    kernel=_serialize_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _serialize_many_kernel(
    sparse_indices: Array,
    sparse_values: Array,
    sparse_shape: Array,
    *,
    T: DType,  # noqa: N803 (the attribute's name)
    out_type: DType,
) -> Array:
    who = "SerializeManySparse"
    check_parts(who, sparse_indices, sparse_values, sparse_shape)
    check_inside(who, sparse_indices, sparse_shape.tolist())
    if len(sparse_shape) < 2:
        raise InvalidArgumentError(
            f"{who}: a sparse tensor of two axes or more is needed, got {sparse_shape.tolist()}"
        )
    rows, shape = int(sparse_shape[0]), sparse_shape[1:]
    order = np.argsort(sparse_indices[:, 0], kind="stable")
    owners = sparse_indices[order, 0]
    ends = np.searchsorted(owners, np.arange(rows + 1))
    out = np.empty((rows, 3), object)
    for row in range(rows):
        chosen = order[ends[row] : ends[row + 1]]
        out[row] = _elements(
            [(sparse_indices[chosen, 1:], int64), (sparse_values[chosen], T), (shape, int64)],
            out_type,
        )
    return out


def _infer_serialize_many(call: InferCall) -> Shape:
    rank_of(call, 2)
    sizes = call.constant(2)
    return Shape([None if sizes is None or not len(sizes) else int(sizes[0]), 3])


SERIALIZE_MANY_SPARSE = define(
    name="SerializeManySparse",
    signature=f"{_INPUTS} -> serialized_sparse: out_type",
    types={"T": ANY_VALUE, "out_type": _FORMS},
    infer=_infer_serialize_many,
    kernel=_serialize_many_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _part(who: str, element: Any, dtype: DType) -> Array:
    if isinstance(element, _Boxed):
        if element.array.dtype != dtype.numpy:
            raise InvalidArgumentError(
                f"{who}: the tensor within must be {dtype.name}, got {element.array.dtype}"
            )
        return element.array
    try:
        return raw.unpacked(element, dtype)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(
            f"{who}: an element is no part of a serialized sparse tensor: {error}"
        ) from None


def _deserialized(who: str, elements: Array, dtype: DType) -> tuple[Array, Array, Array]:
    if not elements.ndim or elements.shape[-1] != 3:
        raise InvalidArgumentError(
            f"{who}: serialized_sparse must have a last axis of size 3, got shape "
            f"{list(elements.shape)}"
        )
    outer = elements.shape[:-1]
    if not math.prod(outer):
        raise InvalidArgumentError(
            f"{who}: there must be a serialized tensor, got shape {list(elements.shape)}"
        )
    places: list[Array] = []
    values: list[Array] = []
    shapes: list[Array] = []
    for at, three in zip(np.ndindex(outer), elements.reshape(-1, 3), strict=True):
        indices = _part(who, three[0], int64)
        found = _part(who, three[1], dtype)
        shape = _part(who, three[2], int64)
        check_parts(who, indices, found, np.maximum(shape, 0))
        if shapes and len(shapes[0]) != len(shape):
            raise InvalidArgumentError(
                f"{who}: all tensors must have the same rank, got {len(shapes[0])} and {len(shape)}"
            )
        before = np.broadcast_to(np.array(at, np.int64), (len(indices), len(outer)))
        places.append(np.concatenate([before, indices], 1))
        values.append(found)
        shapes.append(shape)
    return (
        np.concatenate(places),
        np.concatenate(values),
        np.concatenate([np.array(outer, np.int64), np.max(shapes, axis=0)]),
    )


def _infer_deserialize(call: InferCall) -> tuple[Shape, ...]:
    shape = call.spec(0).shape
    if shape.rank == 0 or (shape.rank and shape[-1] not in {None, 3}):
        call.fail("serialized_sparse must have a last axis of size 3")
    return Shape([None, None]), Shape([None]), Shape([None])


def _deserialize_kernel(serialized_sparse: Array, *, dtype: DType) -> tuple[Array, ...]:
    return _deserialized("DeserializeSparse", np.asarray(serialized_sparse, object), dtype)


DESERIALIZE_SPARSE = define(
    name="DeserializeSparse",
    signature=f"serialized_sparse: Tserialized -> {_OUTPUTS}",
    types={"Tserialized": _FORMS, "dtype": ANY_VALUE},
    infer=_infer_deserialize,
    kernel=_deserialize_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _deserialize_many_kernel(serialized_sparse: Array, *, dtype: DType) -> tuple[Array, ...]:
    return _deserialized("DeserializeManySparse", np.asarray(serialized_sparse, object), dtype)


DESERIALIZE_MANY_SPARSE = define(
    name="DeserializeManySparse",
    signature=f"serialized_sparse: string -> {_OUTPUTS}",
    types={"dtype": ANY_VALUE},
    infer=_infer_deserialize,
    kernel=_deserialize_many_kernel,
    gradient=NOT_DIFFERENTIABLE,
)
