"""Example messages as tensors: ParseExampleV2, ParseSingleExample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from google.protobuf.message import DecodeError

from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.kernels import example_layouts
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, OpDef, attr
from pinnace.ops.registry import register
from pinnace.proto.example_pb2 import Example

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array

__all__: list[str] = []

_KINDS = {
    dtypes.string: (example_layouts.BYTES, "bytes_list", "string"),
    dtypes.float32: (example_layouts.FLOATS, "float_list", "float"),
    dtypes.int64: (example_layouts.INTS, "int64_list", "int64"),
}
_NAMES = {0: "nothing", 1: "string", 2: "float", 3: "int64"}


def _key(key: Any) -> bytes:
    return key if isinstance(key, bytes) else str(key).encode()


class _Dense:
    """A feature that becomes one dense tensor.

    Args:
        key: of the feature.
        dtype: of its values.
        shape: of one value; a first axis of unknown size makes values of different lengths.
        default: what stands in where the feature is missing; empty if it must not be.
    """

    def __init__(self, key: Any, dtype: DType, shape: Shape, default: Array) -> None:
        self.key = _key(key)
        self.dtype = dtype
        self.kind, self.field, self.word = _KINDS[dtype]
        dims = shape.dims or ()
        self.variable = bool(dims) and dims[0] is None
        self.inner = tuple(int(n) for n in dims[1 if self.variable else 0 :] if n is not None)
        self.count = int(np.prod(self.inner, dtype=np.int64)) if self.inner else 1
        self.default = np.asarray(default)
        self.has_default = self.default.size > 0

    def missing(self, record: int) -> Array:
        """The values of a record that has none."""
        if self.variable:
            return np.zeros(0, self.dtype.numpy)
        if not self.has_default:
            raise InvalidArgumentError(
                f"parse_example: feature {self._name} ({self.word}) has no default and "
                f"is not in record {record}"
            )
        return (
            np.broadcast_to(self.default.reshape(-1), (self.count,))
            if self.default.size == 1
            else self.default.reshape(-1)
        )

    @property
    def _name(self) -> str:
        return repr(self.key.decode("utf-8", "replace"))

    def check(self, kind: int, count: int, record: int) -> None:
        """That values of this kind and number fit."""
        if kind != self.kind:
            raise InvalidArgumentError(
                f"parse_example: feature {self._name} must hold {self.word}, "
                f"record {record} holds {_NAMES.get(kind, '?')}"
            )
        if count % self.count if self.variable else count != self.count:
            wanted = f"a multiple of {self.count}" if self.variable else str(self.count)
            raise InvalidArgumentError(
                f"parse_example: feature {self._name} of shape {list(self.inner)} needs {wanted} "
                f"values, record {record} has {count}"
            )


class Parser:
    """Records to arrays, feature by feature."""

    def __init__(self, records: Sequence[bytes]) -> None:
        self._records = records
        self._messages: dict[int, Any] = {}

    def _message(self, record: int) -> Any:
        found = self._messages.get(record)
        if found is None:
            try:
                found = Example.FromString(self._records[record]).features.feature
            except DecodeError:
                raise InvalidArgumentError(
                    f"parse_example: record {record} is no Example"
                ) from None
            self._messages[record] = found
        return found

    def values(self, key: bytes, dtype: DType, record: int) -> tuple[int, Any]:
        """The kind of a record's feature, 0 if it is missing, and its values."""
        features = self._message(record)
        try:
            name = key.decode()
        except UnicodeDecodeError:
            return 0, ()
        if name not in features:
            return 0, ()
        feature = features[name]
        which = feature.WhichOneof("kind")
        if which is None:
            return 0, ()
        kind = {"bytes_list": 1, "float_list": 2, "int64_list": 3}[which]
        del dtype
        return kind, getattr(feature, which).value

    def dense(self, features: Sequence[_Dense]) -> list[Array]:
        """One array [records, ...] per feature."""
        groups, rest = example_layouts.groups_of(self._records)
        return [self._one(feature, groups, rest) for feature in features]

    def _one(
        self, want: _Dense, groups: Sequence[example_layouts.Group], rest: Sequence[int]
    ) -> Array:
        if len(groups) == 1 and not rest:
            return self._shaped(want, [(groups[0].rows, self._cut(want, groups[0]))])
        parts = [(group.rows, self._cut(want, group)) for group in groups]
        for record in rest:
            kind, values = self.values(want.key, want.dtype, record)
            if not kind:
                found = want.missing(record)
            else:
                want.check(kind, len(values), record)
                found = _array(values, want.dtype)
            parts.append((np.array([record]), found[np.newaxis]))
        return self._shaped(want, parts)

    @staticmethod
    def _cut(want: _Dense, group: example_layouts.Group) -> Array:
        """[records of the group, values]."""
        first = int(group.rows[0])
        feature = group.features.get(want.key)
        if feature is None or not feature.kind:
            found = want.missing(first)
            return np.broadcast_to(found, (len(group.rows), len(found)))
        if feature.kind == example_layouts.FLOATS:
            values = group.floats(feature.spans)
        elif feature.kind == example_layouts.INTS:
            values = group.ints(feature.spans)
        else:
            values = group.strings(feature.spans)
        want.check(feature.kind, values.shape[1], first)
        return values

    def _shaped(self, want: _Dense, parts: Sequence[tuple[Array, Array]]) -> Array:
        count = len(self._records)
        if want.variable:
            length = max((values.shape[1] for _, values in parts), default=0)
            empty = want.default.reshape(-1)[0] if want.has_default else _ZERO[want.dtype]
            out = np.full((count, length), empty, want.dtype.numpy)
            for rows, values in parts:
                out[rows, : values.shape[1]] = values
            return out.reshape(count, length // want.count, *want.inner)
        if len(parts) == 1 and len(parts[0][0]) == count:
            return parts[0][1].reshape(count, *want.inner)
        out = np.empty((count, want.count), want.dtype.numpy)
        for rows, values in parts:
            out[rows] = values
        return out.reshape(count, *want.inner)

    def ragged(self, key: Any, dtype: DType) -> tuple[Array, Array]:
        """All values of a feature, and how many each record has."""
        name = _key(key)
        kind, _, word = _KINDS[dtype]
        values: list[Any] = []
        lengths = np.zeros(len(self._records), np.int64)
        for record in range(len(self._records)):
            found, some = self.values(name, dtype, record)
            if found and found != kind:
                raise InvalidArgumentError(
                    f"parse_example: feature {name.decode('utf-8', 'replace')!r} must hold {word}, "
                    f"record {record} holds {_NAMES[found]}"
                )
            values.extend(some)
            lengths[record] = len(some)
        return _array(values, dtype), lengths


_ZERO: dict[DType, Any] = {dtypes.string: b"", dtypes.float32: 0.0, dtypes.int64: 0}


def _array(values: Any, dtype: DType) -> Array:
    if dtype is dtypes.string:
        out = np.empty(len(values), object)
        out[:] = list(values)
        return out
    return np.array(values, dtype.numpy)


def _outputs(
    parser: Parser,
    records: int,
    single: bool,
    dense: Sequence[_Dense],
    sparse: Sequence[tuple[Any, DType]],
    ragged: Sequence[tuple[Any, DType, DType]],
) -> tuple[Array, ...]:
    """The flat outputs of ParseExampleV2; `single`: for one scalar record."""
    found = [parser.ragged(key, dtype) for key, dtype in sparse]
    indices, values, shapes = [], [], []
    for flat, lengths in found:
        columns = np.concatenate([np.arange(n) for n in lengths] or [np.zeros(0, np.int64)])
        if single:
            indices.append(columns.reshape(-1, 1).astype(np.int64))
            shapes.append(np.array([len(flat)], np.int64))
        else:
            rows = np.repeat(np.arange(records), lengths)
            indices.append(np.stack([rows, columns], 1).astype(np.int64))
            shapes.append(np.array([records, lengths.max(initial=0)], np.int64))
        values.append(flat)
    arrays = parser.dense(dense)
    if single:
        arrays = [array[0, ...] for array in arrays]
    ragged_values, splits = [], []
    for key, dtype, split in ragged:
        flat, lengths = parser.ragged(key, dtype)
        ragged_values.append(flat)
        splits.append(
            np.concatenate([[0], np.cumsum(lengths)]).astype(split.numpy)
            if not single
            else np.zeros(0, split.numpy)
        )
    return (*indices, *values, *shapes, *arrays, *ragged_values, *splits)


def _dense_of(
    keys: Sequence[Any], kinds: Sequence[DType], shapes: Sequence[Shape], defaults: Sequence[Array]
) -> list[_Dense]:
    return [_Dense(*one) for one in zip(keys, kinds, shapes, defaults, strict=True)]


def _strings(array: Array) -> list[bytes]:
    found: list[bytes] = np.asarray(array, object).ravel().tolist()
    return found


def _parse_kernel(
    serialized: Array,
    names: Array,
    sparse_keys: Array,
    dense_keys: Array,
    ragged_keys: Array,
    dense_defaults: tuple[Array, ...],
    *,
    Tdense: tuple[DType, ...],  # noqa: N803 (the attribute's name)
    dense_shapes: tuple[Shape, ...],
    sparse_types: tuple[DType, ...],
    ragged_value_types: tuple[DType, ...],
    ragged_split_types: tuple[DType, ...],
) -> tuple[Array, ...]:
    del names
    records = _strings(serialized)
    return _outputs(
        Parser(records),
        len(records),
        np.ndim(serialized) == 0,
        _dense_of(_strings(dense_keys), Tdense, dense_shapes, dense_defaults),
        list(zip(_strings(sparse_keys), sparse_types, strict=True)),
        list(zip(_strings(ragged_keys), ragged_value_types, ragged_split_types, strict=True)),
    )


def _parse_single_kernel(
    serialized: Array,
    dense_defaults: tuple[Array, ...],
    *,
    sparse_keys: tuple[Any, ...],
    dense_keys: tuple[Any, ...],
    sparse_types: tuple[DType, ...],
    Tdense: tuple[DType, ...],  # noqa: N803 (the attribute's name)
    dense_shapes: tuple[Shape, ...],
) -> tuple[Array, ...]:
    return _outputs(
        Parser(_strings(serialized)),
        1,
        True,
        _dense_of(dense_keys, Tdense, dense_shapes, dense_defaults),
        list(zip(sparse_keys, sparse_types, strict=True)),
        [],
    )


def _infer_shapes(
    call: InferCall, rank: int | None, front: Shape, sparse: int
) -> tuple[Shape, ...]:
    attrs = call.attrs
    width = None if rank is None else rank + 1
    dense = [Shape(None) if rank is None else front + shape for shape in attrs["dense_shapes"]]
    return (
        *[Shape((None, width))] * sparse,
        *[Shape((None,))] * sparse,
        *[Shape((width,))] * sparse,
        *dense,
    )


def _infer_parse(call: InferCall) -> tuple[Shape, ...]:
    shape = call.spec(0).shape
    if (shape.rank or 0) > 1:
        call.fail("serialized must be a scalar or a vector")
    if len(call.attrs["dense_shapes"]) != len(call.attrs["Tdense"]):
        call.fail("one dense shape is required for each dense type")
    splits = (
        Shape((None,))
        if shape.rank is None
        else Shape((None,))
        if shape.rank == 0
        else Shape((None if shape[0] is None else shape[0] + 1,))
    )
    return (
        *_infer_shapes(call, shape.rank, shape, int(call.attrs["num_sparse"])),
        *[Shape((None,))] * len(call.attrs["ragged_value_types"]),
        *[splits] * len(call.attrs["ragged_split_types"]),
    )


def _infer_single(call: InferCall) -> tuple[Shape, ...]:
    if call.spec(0).shape.rank not in {0, None}:
        call.fail("serialized must be a scalar")
    return _infer_shapes(call, 0, Shape(()), int(call.attrs["num_sparse"]))


PARSE_EXAMPLE_V2 = register(
    OpDef(
        name="ParseExampleV2",
        signature=(
            "serialized: string, names: string, sparse_keys: string, dense_keys: string, "
            "ragged_keys: string, dense_defaults: (Tdense) -> sparse_indices: num_sparse*int64, "
            "sparse_values: (sparse_types), sparse_shapes: num_sparse*int64, "
            "dense_values: (Tdense), ragged_values: (ragged_value_types), "
            "ragged_row_splits: (ragged_split_types)"
        ),
        attrs={
            "Tdense": attr("list(type)"),
            "num_sparse": attr("int"),
            "sparse_types": attr("list(type)"),
            "ragged_value_types": attr("list(type)"),
            "ragged_split_types": attr("list(type)"),
            "dense_shapes": attr("list(shape)"),
        },
        infer=_infer_parse,
        kernel=_parse_kernel,
        gradient=NOT_DIFFERENTIABLE,
    )
)
PARSE_SINGLE_EXAMPLE = register(
    OpDef(
        name="ParseSingleExample",
        signature=(
            "serialized: string, dense_defaults: (Tdense) -> sparse_indices: num_sparse*int64, "
            "sparse_values: (sparse_types), sparse_shapes: num_sparse*int64, dense_values: (Tdense)"
        ),
        attrs={
            "num_sparse": attr("int"),
            "sparse_keys": attr("list(string)"),
            "dense_keys": attr("list(string)"),
            "sparse_types": attr("list(type)"),
            "Tdense": attr("list(type)"),
            "dense_shapes": attr("list(shape)"),
        },
        infer=_infer_single,
        kernel=_parse_single_kernel,
        gradient=NOT_DIFFERENTIABLE,
    )
)
