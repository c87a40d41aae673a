"""Example messages as tensors: ParseExample, ParseExampleV2, ParseSingleExample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops import batch_rules
from pinnace.ops.batch_rules import BatchCall, BatchRule
from pinnace.ops.kernels import example_columns
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, InferCall, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array

__all__: list[str] = []

_KINDS = {
    dtypes.string: (example_columns.BYTES, "bytes_list", "string"),
    dtypes.float32: (example_columns.FLOATS, "float_list", "float"),
    dtypes.int64: (example_columns.INTS, "int64_list", "int64"),
}
_NAMES = {0: "nothing", 1: "string", 2: "float", 3: "int64"}


class _Dense:
    """A feature that becomes one dense tensor.

    Args:
        key: key of the feature.
        dtype: dtype of its values.
        shape: shape of one value; a first axis of unknown size makes values of different lengths.
        default: the value if the feature is missing; empty if it is required.
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
        """The values of a record without the feature."""
        if self.variable:
            return np.zeros(0, self.dtype.numpy)
        if not self.has_default:
            raise InvalidArgumentError(
                f"parse_example: feature {self.name} ({self.word}) has no default and "
                f"is not in record {record}"
            )
        return (
            np.broadcast_to(self.default.reshape(-1), (self.count,))
            if self.default.size == 1
            else self.default.reshape(-1)
        )

    @property
    def name(self) -> str:
        """The key, for messages."""
        return repr(self.key.decode("utf-8", "replace"))

    def check(self, kind: int, count: int, record: int) -> None:
        """Check that values of this kind and number are allowed."""
        if kind != self.kind:
            raise InvalidArgumentError(
                f"parse_example: feature {self.name} must hold {self.word}, "
                f"record {record} holds {_NAMES.get(kind, '?')}"
            )
        if count % self.count if self.variable else count != self.count:
            wanted = f"a multiple of {self.count}" if self.variable else str(self.count)
            raise InvalidArgumentError(
                f"parse_example: feature {self.name} of shape {list(self.inner)} needs {wanted} "
                f"values, record {record} has {count}"
            )


class Parser:
    """Records to arrays, feature by feature.

    Args:
        records: serialized Example messages.
        wanted: key and dtype of every feature that will be asked for.
    """

    def __init__(self, records: Sequence[bytes], wanted: Iterable[tuple[Any, DType]]) -> None:
        self._records = records
        self._messages: dict[int, Any] = {}
        kinds = {_key(key): _KINDS[dtype][0] for key, dtype in wanted}
        self._kinds = kinds
        self._reader = example_columns.Reader(records, kinds)

    def _message(self, record: int) -> Any:
        found = self._messages.get(record)
        if found is None:
            # Only odd records come this way, and `import pinnace` does without protobuf.
            from google.protobuf.message import DecodeError

            from pinnace.proto.example_pb2 import Example

            try:
                found = Example.FromString(self._records[record]).features.feature
            except DecodeError:
                raise InvalidArgumentError(
                    f"parse_example: record {record} is no Example"
                ) from None
            self._messages[record] = found
        return found

    def values(self, key: bytes, record: int) -> tuple[int, Any]:
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
        return _FIELDS[which], getattr(feature, which).value

    def _column(
        self, key: bytes, dtype: DType
    ) -> tuple[example_columns.Column, dict[int, tuple[int, Any]]]:
        """The values parsed column-wise; and kind and values of the records parsed one by one."""
        if self._kinds[key] == _KINDS[dtype][0]:
            column, rest = self._reader.columns[key], self._reader.rest
        else:  # the key was also requested with another dtype
            none = np.zeros(0, np.int64)
            column = example_columns.Column(none, np.zeros(0, dtype.numpy), none)
            rest = list(range(len(self._records)))
        return column, {record: self.values(key, record) for record in rest}

    def dense(self, want: _Dense) -> Array:
        """One array [records, ...]."""
        column, rest = self._column(want.key, want.dtype)
        count = len(self._records)
        rows, lengths = column.rows, column.lengths
        wrong = lengths % want.count != 0 if want.variable else lengths != want.count
        if wrong.any():
            first = int(rows[wrong].min())
            want.check(want.kind, int(lengths[rows == first][0]), first)
        if not want.variable and len(rows) == count and (rows[1:] > rows[:-1]).all():
            return column.values.reshape(count, *want.inner)
        single: dict[int, Array] = {}
        for record, (kind, values) in rest.items():
            if kind:
                want.check(kind, len(values), record)
                single[record] = _array(values, want.dtype)
        here = np.zeros(count, bool)
        here[rows] = True
        for record in np.flatnonzero(~here).tolist():
            if record not in single:
                single[record] = want.missing(record)
        if not want.variable:
            out = np.empty((count, want.count), want.dtype.numpy)
            out[rows] = column.values.reshape(-1, want.count)
        else:
            length = max(
                int(lengths.max(initial=0)), max((len(one) for one in single.values()), default=0)
            )
            empty = want.default.reshape(-1)[0] if want.has_default else _ZERO[want.dtype]
            out = np.full((count, length), empty, want.dtype.numpy)
            out[np.repeat(rows, lengths), _within(lengths)] = column.values
        for record, values in single.items():
            out[record, : len(values)] = values
        return (
            out.reshape(count, out.shape[1] // want.count, *want.inner)
            if (want.variable)
            else out.reshape(count, *want.inner)
        )

    def ragged(self, key: Any, dtype: DType) -> tuple[Array, Array]:
        """All values of a feature, and the number in each record."""
        name = _key(key)
        kind, _, word = _KINDS[dtype]
        column, rest = self._column(name, dtype)
        lengths = np.zeros(len(self._records), np.int64)
        lengths[column.rows] = column.lengths
        for record, (found, some) in rest.items():
            if found and found != kind:
                raise InvalidArgumentError(
                    f"parse_example: feature {name.decode('utf-8', 'replace')!r} must hold {word}, "
                    f"record {record} holds {_NAMES[found]}"
                )
            lengths[record] = len(some)
        starts = np.cumsum(lengths) - lengths
        out = np.empty(int(lengths.sum()), dtype.numpy)
        out[np.repeat(starts[column.rows], column.lengths) + _within(column.lengths)] = (
            column.values
        )
        for record, (_, some) in rest.items():
            if len(some):
                out[starts[record] : starts[record] + len(some)] = _array(some, dtype)
        return out, lengths


_FIELDS = {"bytes_list": 1, "float_list": 2, "int64_list": 3}
_ZERO: dict[DType, Any] = {dtypes.string: b"", dtypes.float32: 0.0, dtypes.int64: 0}


def _key(key: Any) -> bytes:
    return key if isinstance(key, bytes) else str(key).encode()


def _within(lengths: Array) -> Array:
    """0, 1, ... for each length, one after the other."""
    starts = np.cumsum(lengths) - lengths
    places: Array = np.arange(int(lengths.sum())) - np.repeat(starts, lengths)
    return places


def _array(values: Any, dtype: DType) -> Array:
    if dtype is dtypes.string:
        out = np.empty(len(values), object)
        out[:] = list(values)
        return out
    return np.array(values, dtype.numpy)


def _outputs(
    messages: Sequence[bytes],
    single: bool,
    dense: Sequence[_Dense],
    sparse: Sequence[tuple[Any, DType]],
    ragged: Sequence[tuple[Any, DType, DType]],
) -> tuple[Array, ...]:
    """The flat outputs of ParseExampleV2; with `single`, for one scalar record."""
    wanted = [(feature.key, feature.dtype) for feature in dense]
    parser = Parser(messages, [*wanted, *sparse, *[(key, dtype) for key, dtype, _ in ragged]])
    records = len(messages)
    found = [parser.ragged(key, dtype) for key, dtype in sparse]
    indices, values, shapes = [], [], []
    for flat, lengths in found:
        columns = _within(lengths)
        if single:
            indices.append(columns.reshape(-1, 1).astype(np.int64))
            shapes.append(np.array([len(flat)], np.int64))
        else:
            rows = np.repeat(np.arange(records), lengths)
            indices.append(np.stack([rows, columns], 1).astype(np.int64))
            shapes.append(np.array([records, lengths.max(initial=0)], np.int64))
        values.append(flat)
    arrays = [parser.dense(feature) for feature in dense]
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
    found = [_Dense(*one) for one in zip(keys, kinds, shapes, defaults, strict=True)]
    for feature, shape in zip(found, shapes, strict=True):
        given = feature.default.shape
        if feature.has_default and not feature.variable and not shape.is_compatible_with(given):
            raise InvalidArgumentError(
                f"parse_example: the default of feature {feature.name} must have its shape "
                f"{shape.text} or be empty, got {list(given)}"
            )
    return found


def _strings(array: Array) -> list[bytes]:
    found: list[bytes] = np.asarray(array, object).ravel().tolist()
    return found


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


def _parse_v1_kernel(
    serialized: Array,
    names: Array,
    sparse_keys: tuple[Array, ...],
    dense_keys: tuple[Array, ...],
    dense_defaults: tuple[Array, ...],
    *,
    sparse_types: tuple[DType, ...],
    Tdense: tuple[DType, ...],  # noqa: N803 (the attribute's name)
    dense_shapes: tuple[Shape, ...],
) -> tuple[Array, ...]:
    del names
    return _outputs(
        _strings(serialized),
        False,
        _dense_of(_keys(dense_keys), Tdense, dense_shapes, dense_defaults),
        list(zip(_keys(sparse_keys), sparse_types, strict=True)),
        [],
    )


def _keys(arrays: Sequence[Array]) -> list[bytes]:
    """The keys, given as one tensor each."""
    return [key for array in arrays for key in _strings(array)]


def _infer_parse_v1(call: InferCall) -> tuple[Shape, ...]:
    shape = call.spec(0).shape
    if shape.rank not in {1, None}:
        call.fail("serialized must be a vector")
    if len(call.attrs["dense_shapes"]) != len(call.attrs["Tdense"]):
        call.fail("one dense shape is required for each dense type")
    front = Shape((None,)) if shape.rank is None else shape
    return _infer_shapes(call, 1, front, len(call.attrs["sparse_types"]))


PARSE_EXAMPLE = define(
    name="ParseExample",
    signature=(
        "serialized: string, names: string, sparse_keys: Nsparse*string, "
        "dense_keys: Ndense*string, dense_defaults: (Tdense) -> "
        "sparse_indices: Nsparse*int64, sparse_values: (sparse_types), "
        "sparse_shapes: Nsparse*int64, dense_values: (Tdense)"
    ),
    attrs={
        "sparse_types": attr("list(type)"),
        "Tdense": attr("list(type)"),
        "dense_shapes": attr("list(shape)"),
    },
    infer=_infer_parse_v1,
    kernel=_parse_v1_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


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
        records,
        np.ndim(serialized) == 0,
        _dense_of(_strings(dense_keys), Tdense, dense_shapes, dense_defaults),
        list(zip(_strings(sparse_keys), sparse_types, strict=True)),
        list(zip(_strings(ragged_keys), ragged_value_types, ragged_split_types, strict=True)),
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


def _parse_rows(call: BatchCall) -> Sequence[Any]:
    attrs = call.attrs
    if attrs["num_sparse"] or attrs["ragged_value_types"]:
        call.refuse("gives sparse or ragged features")
    if call.rank(0) or not all(shape.is_fully_defined() for shape in attrs["dense_shapes"]):
        call.refuse("takes more than one message, or has features of unknown size")
    return batch_rules.AS_IT_IS.apply(call)


PARSE_EXAMPLE_V2 = define(
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
    gradient=NO_GRADIENT_DEFINED,
    batch=BatchRule(_parse_rows, exact=True),
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
        _strings(serialized),
        True,
        _dense_of(dense_keys, Tdense, dense_shapes, dense_defaults),
        list(zip(sparse_keys, sparse_types, strict=True)),
        [],
    )


def _infer_single(call: InferCall) -> tuple[Shape, ...]:
    if call.spec(0).shape.rank not in {0, None}:
        call.fail("serialized must be a scalar")
    return _infer_shapes(call, 0, Shape(()), int(call.attrs["num_sparse"]))


PARSE_SINGLE_EXAMPLE = define(
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
    gradient=NO_GRADIENT_DEFINED,
)
