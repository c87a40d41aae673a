"""Tables from keys to values: HashTableV2, its mutable kin, and the LookupTable ops."""

# ruff: noqa: N803 (kernels take attributes by TensorFlow's names)
from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.asset_path import AssetPath
from pinnace.framework.dtypes import ANY_VALUE
from pinnace.framework.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    PermissionDeniedError,
    UnimplementedError,
)
from pinnace.framework.shapes import Shape, unknown_shape
from pinnace.ops.execute import eager_context
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, AttrDef, InferCall, OpDef, attr
from pinnace.ops.registry import register, scalar
from pinnace.ops.state.text_lines import LINE_NUMBER, WHOLE_LINE, read_columns
from pinnace.ops.state.variables import resource_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array
    from pinnace.ops.running import RunContext

__all__: list[str] = []

# The suffixes of the keys under which checkpoints keep a table, as TensorFlow has them.
KEYS = "-keys"
VALUES = "-values"


class Table:
    """A dictionary behind a handle.

    Args:
        key_dtype: of the keys, which are scalars.
        value_dtype: of the values.
        value_shape: of one value.
        mutable: whether entries may come and go; if not, it is filled once.
        reserved: keys that it may not hold, with what they are called.
        name: for errors.
    """

    def __init__(
        self,
        key_dtype: DType,
        value_dtype: DType,
        value_shape: Sequence[int] = (),
        *,
        mutable: bool = True,
        reserved: dict[Any, str] | None = None,
        name: str = "table",
    ) -> None:
        self.key_dtype = key_dtype
        self.value_dtype = value_dtype
        self.value_shape = tuple(value_shape)
        self.mutable = mutable
        self.name = name
        self._reserved = reserved or {}
        self._entries: dict[Any, Any] = {}
        # Whether checkpoints keep the entries.
        self.stored = True
        self._filled = mutable
        self._lock = threading.Lock()

    @property
    def is_dense(self) -> bool:
        """Whether some keys mark empty places, as in MutableDenseHashTableV2."""
        return bool(self._reserved)

    @property
    def is_initialized(self) -> bool:
        """Whether it may be looked up."""
        return self._filled

    def __repr__(self) -> str:
        return (
            f"<Table {self.name!r} {self.key_dtype.name} -> "
            f"{self.value_dtype.name}{list(self.value_shape)}>"
        )

    # Reading.

    def find(self, op: str, keys: Array, default: Array) -> Array:
        """The values of keys, the default for those that are not there.

        Args:
            op: who asks, for errors.
            keys: any shape.
            default: a value, or one per key.
        """
        shape = (*keys.shape, *self.value_shape)
        each = default.shape == shape and default.shape != self.value_shape
        if not each and default.shape != self.value_shape:
            self._fail(
                op,
                f"default_value must have the shape of a value, {list(self.value_shape)}, got "
                f"{list(default.shape)}",
            )
        wanted = keys.reshape(-1).tolist()
        self._check_keys(op, wanted)
        with self._lock:
            self._require_filled(op)
            if self.value_shape or each:
                rows = self._rows(wanted, default, each)
            else:
                get, other = self._entries.get, default.reshape(-1).tolist()[0]
                rows = _array([get(key, other) for key in wanted], self.value_dtype)
        return rows.reshape(shape)

    def _rows(self, wanted: list[Any], default: Array, each: bool) -> Array:
        defaults = default.reshape(len(wanted), *self.value_shape) if each else None
        out = np.empty((len(wanted), *self.value_shape), self.value_dtype.numpy)
        for place, key in enumerate(wanted):
            found = self._entries.get(key, _MISSING)
            if found is not _MISSING:
                out[place] = found
            else:
                out[place] = default if defaults is None else defaults[place]
        return out

    def __len__(self) -> int:
        return len(self._entries)

    def export(self, op: str) -> tuple[Array, Array]:
        """Keys and values, in the order in which they came."""
        with self._lock:
            self._require_filled(op)
            entries = list(self._entries.items())
        values = np.empty((len(entries), *self.value_shape), self.value_dtype.numpy)
        for place, (_, value) in enumerate(entries):
            values[place] = value
        return _array([key for key, _ in entries], self.key_dtype), values

    # Writing.

    def fill(self, op: str, keys: Array, values: Array) -> None:
        """Give a table its entries, once; again only if they are the same.

        Raises:
            InvalidArgumentError: a key comes twice, with different values.
            FailedPreconditionError: it holds other entries already.
        """
        found: dict[Any, Any] = {}
        for key, value in self._pairs(op, keys, values):
            known = found.setdefault(key, value)
            if known is not value and not _same(known, value):
                self._fail(op, f"key {key!r} has two values, {known!r} and {value!r}")
        with self._lock:
            if self._filled and not _equal(self._entries, found):
                message = f"{op}: table {self.name!r} is initialised already, with other entries"
                raise FailedPreconditionError(message)
            self._entries = found
            self._filled = True

    def replace(self, op: str, keys: Array, values: Array) -> None:
        """These entries in the place of all others; the reserved keys among them are left out."""
        if not self.mutable:
            self.fill(op, keys, values)
            return
        found = {
            key: value
            for key, value in self._pairs(op, keys, values, reserved=True)
            if key not in self._reserved
        }
        with self._lock:
            self._entries = found

    def insert(self, op: str, keys: Array, values: Array) -> None:
        """Add entries; of those with one key the last stays."""
        self._require_mutable(op)
        found = dict(self._pairs(op, keys, values))
        with self._lock:
            self._entries.update(found)

    def remove(self, op: str, keys: Array) -> None:
        """Drop the entries of these keys, as far as they are there."""
        self._require_mutable(op)
        wanted = keys.reshape(-1).tolist()
        self._check_keys(op, wanted)
        with self._lock:
            for key in wanted:
                self._entries.pop(key, None)

    def stored_values(self) -> dict[str, Array]:
        """What a checkpoint keeps of it, by suffixes; nothing of a table that is filled once."""
        if not self.mutable or not self.stored:
            return {}
        keys, values = self.export("save")
        return {KEYS: keys, VALUES: values}

    def restore_values(self, values: dict[str, Array]) -> None:
        """Take what `stored_values` gave.

        Raises:
            InvalidArgumentError: it is that of another kind of table.
        """
        if self.mutable and KEYS in values and VALUES in values:
            keys = np.asarray(values[KEYS])
            for array, dtype in ((keys, self.key_dtype), (values[VALUES], self.value_dtype)):
                if array.dtype != dtype.numpy:
                    self._fail("restore", f"stored entries are {array.dtype}, not {dtype.name}")
            self.replace("restore", keys, np.asarray(values[VALUES]))

    def _pairs(
        self, op: str, keys: Array, values: Array, *, reserved: bool = False
    ) -> list[tuple[Any, Any]]:
        expected = (*keys.shape, *self.value_shape)
        if values.shape != expected:
            self._fail(
                op,
                f"values must have shape {list(expected)}, that of the keys and of a value, got "
                f"{list(values.shape)}",
            )
        names = keys.reshape(-1).tolist()
        if not reserved:
            self._check_keys(op, names)
        if not self.value_shape:
            return list(zip(names, values.reshape(-1).tolist(), strict=True))
        rows = values.reshape(len(names), *self.value_shape).copy()
        return list(zip(names, rows, strict=True))

    def _check_keys(self, op: str, keys: list[Any]) -> None:
        for key, what in self._reserved.items():
            if key in keys:
                self._fail(op, f"{key!r} is the {what}, which cannot be a key")

    def _require_filled(self, op: str) -> None:
        if not self._filled:
            message = f"{op}: table {self.name!r} is not initialised: it has no entries yet"
            raise FailedPreconditionError(message)

    def _require_mutable(self, op: str) -> None:
        if not self.mutable:
            message = f"{op}: table {self.name!r} is static: its entries cannot change"
            raise UnimplementedError(message)

    def _fail(self, op: str, problem: str) -> NoReturn:
        message = f"{op}: {problem}\n  {self!r}"
        raise InvalidArgumentError(message)

    def check_types(self, op: str, key_dtype: DType, value_dtype: DType | None = None) -> None:
        """Hold that a call means the table's types.

        Raises:
            InvalidArgumentError: it does not.
        """
        if key_dtype is not self.key_dtype:
            self._fail(op, f"keys must be {self.key_dtype.name}, got {key_dtype.name}")
        if value_dtype is not None and value_dtype is not self.value_dtype:
            self._fail(op, f"values must be {self.value_dtype.name}, got {value_dtype.name}")


_MISSING = object()


def _array(items: list[Any], dtype: DType) -> Array:
    if not dtype.numpy.hasobject:
        return np.array(items, dtype.numpy)
    out = np.empty(len(items), object)
    out[:] = items
    return out


def _same(a: Any, b: Any) -> bool:
    return bool(np.array_equal(a, b))


def _equal(a: dict[Any, Any], b: dict[Any, Any]) -> bool:
    return len(a) == len(b) and all(key in b and _same(value, b[key]) for key, value in a.items())


# Making tables.


def _handle(table: Table) -> Array:
    array = np.empty((), object)
    array[()] = table
    return array


def _kept(op: str, made: Table, ctx: RunContext, container: str, shared_name: str | bytes) -> Array:
    """The handle of a table; one with a shared name is the same in all of a run.

    What is made eagerly is kept by whoever holds its handle, and by nobody else.
    """
    if not shared_name or ctx is eager_context():
        return _handle(made)
    made.name = str(shared_name)
    table = ctx.stream(("table", container, shared_name), lambda: made)
    if (table.key_dtype, table.value_dtype, table.mutable) != (
        made.key_dtype,
        made.value_dtype,
        made.mutable,
    ):
        message = f"{op}: shared_name {shared_name!r} is that of another table\n  {table!r}"
        raise InvalidArgumentError(message)
    return _handle(table)


def _hash_table_kernel(
    *, container: str, shared_name: str, key_dtype: DType, value_dtype: DType, ctx: RunContext
) -> Array:
    made = Table(key_dtype, value_dtype, mutable=False, name="hash_table")
    return _kept("HashTableV2", made, ctx, container, shared_name)


def _mutable_kernel(
    *, container: str, shared_name: str, key_dtype: DType, value_dtype: DType, ctx: RunContext
) -> Array:
    made = Table(key_dtype, value_dtype, name="MutableHashTable")
    return _kept("MutableHashTableV2", made, ctx, container, shared_name)


def _mutable_of_tensors_kernel(
    *,
    container: str,
    shared_name: str,
    key_dtype: DType,
    value_dtype: DType,
    value_shape: Shape,
    ctx: RunContext,
) -> Array:
    made = Table(key_dtype, value_dtype, _sizes(value_shape), name="MutableHashTable")
    return _kept("MutableHashTableOfTensorsV2", made, ctx, container, shared_name)


def _dense_kernel(
    empty_key: Array,
    deleted_key: Array,
    *,
    container: str,
    shared_name: str,
    key_dtype: DType,
    value_dtype: DType,
    value_shape: Shape,
    ctx: RunContext,
) -> Array:
    made = dense_table(key_dtype, value_dtype, _sizes(value_shape), empty_key, deleted_key)
    return _kept("MutableDenseHashTableV2", made, ctx, container, shared_name)


def dense_table(
    key_dtype: DType,
    value_dtype: DType,
    value_shape: Sequence[int],
    empty_key: Array,
    deleted_key: Array,
) -> Table:
    """A table as MutableDenseHashTableV2 makes it: two keys cannot be used.

    Raises:
        UnimplementedError: keys that are no scalars.
        InvalidArgumentError: the two keys are the same.
    """
    op = "MutableDenseHashTableV2"
    if empty_key.ndim or deleted_key.ndim:
        message = (
            f"{op}: only scalar keys are supported, got empty_key of shape {list(empty_key.shape)}"
        )
        raise UnimplementedError(message)
    empty, deleted = empty_key.reshape(-1).tolist()[0], deleted_key.reshape(-1).tolist()[0]
    if empty == deleted:
        message = f"{op}: empty_key and deleted_key must differ, both are {empty!r}"
        raise InvalidArgumentError(message)
    reserved = {empty: "empty_key", deleted: "deleted_key"}
    return Table(
        key_dtype, value_dtype, value_shape, reserved=reserved, name="MutableDenseHashTable"
    )


def _sizes(shape: Shape) -> tuple[int, ...]:
    if not shape.is_fully_defined():
        message = f"value_shape must be fully known, got {shape.text}"
        raise InvalidArgumentError(message)
    return tuple(int(size) for size in shape.as_list() if size is not None)


# Using tables.


def table_of(op: str, handle: Array) -> Table:
    """The table that a handle stands for.

    Raises:
        InvalidArgumentError: it stands for something else.
    """
    found = resource_of(handle)
    if not isinstance(found, Table):
        message = f"{op}: table_handle must be the handle of a table, got that of {found!r}"
        raise InvalidArgumentError(message)
    return found


def _find_kernel(
    table_handle: Array, keys: Array, default_value: Array, *, Tin: DType, Tout: DType
) -> Array:
    op = "LookupTableFindV2"
    table = table_of(op, table_handle)
    table.check_types(op, Tin, Tout)
    return table.find(op, keys, default_value)


def _size_kernel(table_handle: Array) -> Array:
    return np.array(len(table_of("LookupTableSizeV2", table_handle)), np.int64)


def _export_kernel(table_handle: Array, *, Tkeys: DType, Tvalues: DType) -> tuple[Array, Array]:
    op = "LookupTableExportV2"
    table = table_of(op, table_handle)
    table.check_types(op, Tkeys, Tvalues)
    return table.export(op)


def _insert_kernel(
    table_handle: Array, keys: Array, values: Array, *, Tin: DType, Tout: DType
) -> None:
    op = "LookupTableInsertV2"
    table = table_of(op, table_handle)
    table.check_types(op, Tin, Tout)
    table.insert(op, keys, values)


def _import_kernel(
    table_handle: Array, keys: Array, values: Array, *, Tin: DType, Tout: DType
) -> None:
    op = "LookupTableImportV2"
    table = table_of(op, table_handle)
    table.check_types(op, Tin, Tout)
    table.replace(op, keys, values)


def _initialize_kernel(
    table_handle: Array, keys: Array, values: Array, *, Tkey: DType, Tval: DType
) -> None:
    op = "InitializeTableV2"
    table = table_of(op, table_handle)
    table.check_types(op, Tkey, Tval)
    table.replace(op, keys, values)


def _remove_kernel(table_handle: Array, keys: Array, *, Tin: DType) -> None:
    op = "LookupTableRemoveV2"
    table = table_of(op, table_handle)
    table.check_types(op, Tin)
    table.remove(op, keys)


_FROM_FILE = "InitializeTableFromTextFileV2"


def _from_file_kernel(
    table_handle: Array,
    filename: Array,
    *,
    key_index: int,
    value_index: int,
    vocab_size: int,
    delimiter: str | bytes,
    offset: int,
) -> None:
    table = table_of(_FROM_FILE, table_handle)
    path = np.asarray(filename, object)[()]
    if not isinstance(path, AssetPath):
        message = (
            f"{_FROM_FILE}: only files that the program names, and assets of a SavedModel, may be "
            f"read; {path!r} is a path that a graph made\n"
            "  Try: tf.saved_model.Asset(path), as tf.lookup.TextFileInitializer does"
        )
        raise PermissionDeniedError(message)
    _check_column(table, "key", key_index, table.key_dtype)
    _check_column(table, "value", value_index, table.value_dtype)
    cut = delimiter.encode() if isinstance(delimiter, str) else delimiter
    keys, values = read_columns(
        path,
        [(key_index, table.key_dtype), (value_index, table.value_dtype)],
        vocab_size,
        cut,
        offset,
    )
    table.replace(_FROM_FILE, keys, values)


def _check_column(table: Table, what: str, index: int, dtype: DType) -> None:
    if index < WHOLE_LINE:
        table._fail(_FROM_FILE, f"{what}_index must be at least -2, got {index}")
    if index == LINE_NUMBER and dtype is not dtypes.int64:
        table._fail(_FROM_FILE, f"{what}s that are line numbers must be int64")
    if (
        index == WHOLE_LINE
        and dtype is not dtypes.string
        and (what == "value" or not dtype.is_integer)
    ):
        more = " or integers" if what == "key" else ""
        table._fail(_FROM_FILE, f"{what}s that are whole lines must be strings{more}")


# Inference.


def _infer_find(call: InferCall) -> Shape:
    _check_handle(call)
    keys, default = call.spec(1).shape, call.spec(2).shape
    if default.rank == 0:
        return keys
    if default.rank is None or keys.rank is None:
        return Shape(None)
    if keys.rank == 0 or not _begins_with(default, keys):
        return keys.concatenate(default)
    # One default per key, or one for all: that depends on the shape of a value.
    return unknown_shape()


def _begins_with(shape: Shape, start: Shape) -> bool:
    if start.rank is None or shape.rank is None or shape.rank < start.rank:
        return False
    return shape[: start.rank].is_compatible_with(start)


def _check_handle(call: InferCall) -> None:
    if call.spec(0).shape.rank not in {0, None}:
        call.fail("table_handle must be a scalar")


def _infer_nothing(call: InferCall) -> tuple[Shape, ...]:
    _check_handle(call)
    return ()


def _infer_export(call: InferCall) -> tuple[Shape, ...]:
    _check_handle(call)
    return Shape([None]), unknown_shape()


def _infer_from_file(call: InferCall) -> tuple[Shape, ...]:
    _check_handle(call)
    if call.spec(1).shape.rank not in {0, None}:
        call.fail("filename must be a scalar")
    return ()


_NAMING: dict[str, AttrDef] = {
    "container": attr("string", default=""),
    "shared_name": attr("string", default=""),
    "use_node_name_sharing": attr("bool", default=False),
}
_ENTRY_TYPES = {"key_dtype": ANY_VALUE, "value_dtype": ANY_VALUE}

HASH_TABLE = register(
    OpDef(
        name="HashTableV2",
        signature="-> table_handle: resource",
        types=_ENTRY_TYPES,
        attrs=_NAMING,
        infer=scalar,
        kernel=_hash_table_kernel,
        gradient=NOT_DIFFERENTIABLE,
        effect="read",
    )
)
MUTABLE_HASH_TABLE = register(
    OpDef(
        name="MutableHashTableV2",
        signature="-> table_handle: resource",
        types=_ENTRY_TYPES,
        attrs=_NAMING,
        infer=scalar,
        kernel=_mutable_kernel,
        gradient=NOT_DIFFERENTIABLE,
        effect="read",
    )
)
MUTABLE_HASH_TABLE_OF_TENSORS = register(
    OpDef(
        name="MutableHashTableOfTensorsV2",
        signature="-> table_handle: resource",
        types=_ENTRY_TYPES,
        attrs={**_NAMING, "value_shape": attr("shape", default=Shape(()))},
        infer=scalar,
        kernel=_mutable_of_tensors_kernel,
        gradient=NOT_DIFFERENTIABLE,
        effect="read",
    )
)
MUTABLE_DENSE_HASH_TABLE = register(
    OpDef(
        name="MutableDenseHashTableV2",
        signature="empty_key: key_dtype, deleted_key: key_dtype -> table_handle: resource",
        types=_ENTRY_TYPES,
        attrs={
            **_NAMING,
            "value_shape": attr("shape", default=Shape(())),
            "initial_num_buckets": attr("int", default=131072),
            "max_load_factor": attr("float", default=0.8),
        },
        infer=scalar,
        kernel=_dense_kernel,
        gradient=NOT_DIFFERENTIABLE,
        effect="read",
    )
)
LOOKUP_TABLE_FIND = register(
    OpDef(
        name="LookupTableFindV2",
        signature="table_handle: resource, keys: Tin, default_value: Tout -> values: Tout",
        types={"Tin": ANY_VALUE, "Tout": ANY_VALUE},
        infer=_infer_find,
        kernel=_find_kernel,
        gradient=NOT_DIFFERENTIABLE,
        effect="read",
    )
)
LOOKUP_TABLE_SIZE = register(
    OpDef(
        name="LookupTableSizeV2",
        signature="table_handle: resource -> size: int64",
        infer=scalar,
        kernel=_size_kernel,
        gradient=NOT_DIFFERENTIABLE,
        effect="read",
    )
)
LOOKUP_TABLE_EXPORT = register(
    OpDef(
        name="LookupTableExportV2",
        signature="table_handle: resource -> keys: Tkeys, values: Tvalues",
        types={"Tkeys": ANY_VALUE, "Tvalues": ANY_VALUE},
        infer=_infer_export,
        kernel=_export_kernel,
        gradient=NOT_DIFFERENTIABLE,
        effect="read",
    )
)
LOOKUP_TABLE_INSERT = register(
    OpDef(
        name="LookupTableInsertV2",
        signature="table_handle: resource, keys: Tin, values: Tout ->",
        types={"Tin": ANY_VALUE, "Tout": ANY_VALUE},
        infer=_infer_nothing,
        kernel=_insert_kernel,
        gradient=NOT_DIFFERENTIABLE,
        effect="write",
    )
)
LOOKUP_TABLE_IMPORT = register(
    OpDef(
        name="LookupTableImportV2",
        signature="table_handle: resource, keys: Tin, values: Tout ->",
        types={"Tin": ANY_VALUE, "Tout": ANY_VALUE},
        infer=_infer_nothing,
        kernel=_import_kernel,
        gradient=NOT_DIFFERENTIABLE,
        effect="write",
    )
)
LOOKUP_TABLE_REMOVE = register(
    OpDef(
        name="LookupTableRemoveV2",
        signature="table_handle: resource, keys: Tin ->",
        types={"Tin": ANY_VALUE},
        infer=_infer_nothing,
        kernel=_remove_kernel,
        gradient=NOT_DIFFERENTIABLE,
        effect="write",
    )
)
INITIALIZE_TABLE = register(
    OpDef(
        name="InitializeTableV2",
        signature="table_handle: resource, keys: Tkey, values: Tval ->",
        types={"Tkey": ANY_VALUE, "Tval": ANY_VALUE},
        infer=_infer_nothing,
        kernel=_initialize_kernel,
        gradient=NOT_DIFFERENTIABLE,
        effect="write",
    )
)
INITIALIZE_TABLE_FROM_TEXT_FILE = register(
    OpDef(
        name="InitializeTableFromTextFileV2",
        signature="table_handle: resource, filename: string ->",
        attrs={
            "key_index": attr("int"),
            "value_index": attr("int"),
            "vocab_size": attr("int", default=-1),
            "delimiter": attr("string", default="\t"),
            "offset": attr("int", default=0),
        },
        infer=_infer_from_file,
        kernel=_from_file_kernel,
        gradient=NOT_DIFFERENTIABLE,
        effect="write",
    )
)
