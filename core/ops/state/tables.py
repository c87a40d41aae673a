"""Tables from keys to values: HashTableV2, mutable tables, and LookupTable ops."""

# ruff: noqa: N803 (kernels take attributes by TensorFlow's names)
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.asset_path import AssetPath
from pinnace.framework.dtypes import ANY_VALUE
from pinnace.framework.errors import InvalidArgumentError, PermissionDeniedError, UnimplementedError
from pinnace.framework.shapes import Shape, unknown_shape
from pinnace.ops.execute import eager_context
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, NOT_DIFFERENTIABLE, AttrDef, InferCall, attr
from pinnace.ops.registry import define, scalar
from pinnace.ops.shared_resources import shared
from pinnace.ops.state.table_state import Table
from pinnace.ops.state.text_lines import LINE_NUMBER, WHOLE_LINE, read_columns
from pinnace.ops.state.variables import resource_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array
    from pinnace.ops.opdef import OpDef
    from pinnace.ops.running import RunContext


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
        raise UnimplementedError(
            f"{op}: only scalar keys are supported, got empty_key of shape {list(empty_key.shape)}"
        )
    empty, deleted = empty_key.reshape(-1).tolist()[0], deleted_key.reshape(-1).tolist()[0]
    if empty == deleted:
        raise InvalidArgumentError(
            f"{op}: empty_key and deleted_key must differ, both are {empty!r}"
        )
    reserved = {empty: "empty_key", deleted: "deleted_key"}
    return Table(
        key_dtype, value_dtype, value_shape, reserved=reserved, name="MutableDenseHashTable"
    )


def table_of(op: str, handle: Array) -> Table:
    """The table of a handle.

    Raises:
        InvalidArgumentError: the handle is not that of a table.
    """
    found = resource_of(handle)
    if not isinstance(found, Table):
        raise InvalidArgumentError(
            f"{op}: table_handle must be the handle of a table, got that of {found!r}"
        )
    return found


_NAMING: dict[str, AttrDef] = {
    "container": attr("string", default=""),
    "shared_name": attr("string", default=""),
    "use_node_name_sharing": attr("bool", default=False),
}

_ENTRY_TYPES = {"key_dtype": ANY_VALUE, "value_dtype": ANY_VALUE}


def _handle(table: Table) -> Array:
    array = np.empty((), object)
    array[()] = table
    return array


def _kept(op: str, made: Table, ctx: RunContext, container: str, shared_name: str | bytes) -> Array:
    """The handle of a table; one with a shared name is the same in all of a run.

    A table created eagerly is kept alive only by its handle.
    """
    if not shared_name or ctx is eager_context():
        return _handle(made)
    made.name = str(shared_name)
    table = shared(ctx, "table", container, shared_name, lambda: made)
    if (table.key_dtype, table.value_dtype, table.mutable) != (
        made.key_dtype,
        made.value_dtype,
        made.mutable,
    ):
        raise InvalidArgumentError(
            f"{op}: shared_name {shared_name!r} is that of another table\n  {table!r}"
        )
    return _handle(table)


def _hash_table_kernel(
    *, container: str, shared_name: str, key_dtype: DType, value_dtype: DType, ctx: RunContext
) -> Array:
    made = Table(key_dtype, value_dtype, mutable=False, name="hash_table")
    return _kept("HashTableV2", made, ctx, container, shared_name)


HASH_TABLE = define(
    name="HashTableV2",
    signature="-> table_handle: resource",
    types=_ENTRY_TYPES,
    attrs=_NAMING,
    infer=scalar,
    kernel=_hash_table_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="read",
)


def _mutable_kernel(
    *, container: str, shared_name: str, key_dtype: DType, value_dtype: DType, ctx: RunContext
) -> Array:
    made = Table(key_dtype, value_dtype, name="MutableHashTable")
    return _kept("MutableHashTableV2", made, ctx, container, shared_name)


MUTABLE_HASH_TABLE = define(
    name="MutableHashTableV2",
    signature="-> table_handle: resource",
    types=_ENTRY_TYPES,
    attrs=_NAMING,
    infer=scalar,
    kernel=_mutable_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="read",
)


def _sizes(shape: Shape) -> tuple[int, ...]:
    if not shape.is_fully_defined():
        raise InvalidArgumentError(f"value_shape must be fully known, got {shape.text}")
    return tuple(int(size) for size in shape.as_list() if size is not None)


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


MUTABLE_HASH_TABLE_OF_TENSORS = define(
    name="MutableHashTableOfTensorsV2",
    signature="-> table_handle: resource",
    types=_ENTRY_TYPES,
    attrs={**_NAMING, "value_shape": attr("shape", default=Shape(()))},
    infer=scalar,
    kernel=_mutable_of_tensors_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="read",
)


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


MUTABLE_DENSE_HASH_TABLE = define(
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


def _check_handle(call: InferCall) -> None:
    if call.spec(0).shape.rank not in {0, None}:
        call.fail("table_handle must be a scalar")


def _find_kernel(
    table_handle: Array, keys: Array, default_value: Array, *, Tin: DType, Tout: DType
) -> Array:
    op = "LookupTableFindV2"
    table = table_of(op, table_handle)
    table.check_types(op, Tin, Tout)
    return table.find(op, keys, default_value)


def _infer_find(call: InferCall) -> Shape:
    _check_handle(call)
    keys, default = call.spec(1).shape, call.spec(2).shape
    if default.rank == 0:
        return keys
    if default.rank is None or keys.rank is None:
        return Shape(None)
    if keys.rank == 0 or not _begins_with(default, keys):
        return keys.concatenate(default)
    # One default per key, or one for all: the shape of a value decides.
    return unknown_shape()


def _begins_with(shape: Shape, start: Shape) -> bool:
    if start.rank is None or shape.rank is None or shape.rank < start.rank:
        return False
    return shape[: start.rank].is_compatible_with(start)


LOOKUP_TABLE_FIND = define(
    name="LookupTableFindV2",
    signature="table_handle: resource, keys: Tin, default_value: Tout -> values: Tout",
    types={"Tin": ANY_VALUE, "Tout": ANY_VALUE},
    infer=_infer_find,
    kernel=_find_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="read",
)


def _size_kernel(table_handle: Array) -> Array:
    return np.array(len(table_of("LookupTableSizeV2", table_handle)), np.int64)


LOOKUP_TABLE_SIZE = define(
    name="LookupTableSizeV2",
    signature="table_handle: resource -> size: int64",
    infer=scalar,
    kernel=_size_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="read",
)


def _export_kernel(table_handle: Array, *, Tkeys: DType, Tvalues: DType) -> tuple[Array, Array]:
    op = "LookupTableExportV2"
    table = table_of(op, table_handle)
    table.check_types(op, Tkeys, Tvalues)
    return table.export(op)


def _infer_export(call: InferCall) -> tuple[Shape, ...]:
    _check_handle(call)
    return Shape([None]), unknown_shape()


LOOKUP_TABLE_EXPORT = define(
    name="LookupTableExportV2",
    signature="table_handle: resource -> keys: Tkeys, values: Tvalues",
    types={"Tkeys": ANY_VALUE, "Tvalues": ANY_VALUE},
    infer=_infer_export,
    kernel=_export_kernel,
    gradient=NO_GRADIENT_DEFINED,
    effect="read",
)


def _infer_nothing(call: InferCall) -> tuple[Shape, ...]:
    _check_handle(call)
    return ()


def _filling(name: str, method: Callable[[Any, str, Array, Array], None]) -> OpDef:
    def kernel(table_handle: Array, keys: Array, values: Array, *, Tin: DType, Tout: DType) -> None:
        table = table_of(name, table_handle)
        table.check_types(name, Tin, Tout)
        method(table, name, keys, values)

    return define(
        name=name,
        signature="table_handle: resource, keys: Tin, values: Tout ->",
        types={"Tin": ANY_VALUE, "Tout": ANY_VALUE},
        infer=_infer_nothing,
        kernel=kernel,
        gradient=NOT_DIFFERENTIABLE,
        effect="write",
    )


LOOKUP_TABLE_INSERT = _filling("LookupTableInsertV2", Table.insert)
LOOKUP_TABLE_IMPORT = _filling("LookupTableImportV2", Table.replace)


def _remove_kernel(table_handle: Array, keys: Array, *, Tin: DType) -> None:
    op = "LookupTableRemoveV2"
    table = table_of(op, table_handle)
    table.check_types(op, Tin)
    table.remove(op, keys)


LOOKUP_TABLE_REMOVE = define(
    name="LookupTableRemoveV2",
    signature="table_handle: resource, keys: Tin ->",
    types={"Tin": ANY_VALUE},
    infer=_infer_nothing,
    kernel=_remove_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="write",
)


def _initialize_kernel(
    table_handle: Array, keys: Array, values: Array, *, Tkey: DType, Tval: DType
) -> None:
    op = "InitializeTableV2"
    table = table_of(op, table_handle)
    table.check_types(op, Tkey, Tval)
    table.replace(op, keys, values)


INITIALIZE_TABLE = define(
    name="InitializeTableV2",
    signature="table_handle: resource, keys: Tkey, values: Tval ->",
    types={"Tkey": ANY_VALUE, "Tval": ANY_VALUE},
    infer=_infer_nothing,
    kernel=_initialize_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="write",
)


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
        raise PermissionDeniedError(
            f"{_FROM_FILE}: only files that the program names, and assets of a SavedModel, may be "
            f"read; {path!r} is a path that a graph made\n"
            "  Try: tf.saved_model.Asset(path), as tf.lookup.TextFileInitializer does"
        )
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


def _infer_from_file(call: InferCall) -> tuple[Shape, ...]:
    _check_handle(call)
    if call.spec(1).shape.rank not in {0, None}:
        call.fail("filename must be a scalar")
    return ()


INITIALIZE_TABLE_FROM_TEXT_FILE = define(
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
    reaches="files",
    guarded=_from_file_kernel,  # the path cannot come from a graph
)
_MAKERS = (HASH_TABLE, MUTABLE_HASH_TABLE, MUTABLE_HASH_TABLE_OF_TENSORS, MUTABLE_DENSE_HASH_TABLE)
_FILLERS = (INITIALIZE_TABLE, INITIALIZE_TABLE_FROM_TEXT_FILE, LOOKUP_TABLE_IMPORT)
# Names of the ops that make a table, and of those that fill one.
MAKERS = frozenset(op.name for op in _MAKERS)
FILLERS = frozenset(op.name for op in (*_FILLERS, LOOKUP_TABLE_INSERT))
