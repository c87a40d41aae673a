"""Anonymous tables: each call creates a new one, which lives as long as its handle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.dtypes import ANY_VALUE
from pinnace.framework.shapes import Shape
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, NOT_DIFFERENTIABLE, attr
from pinnace.ops.registry import define, scalar
from pinnace.ops.state import tables
from pinnace.ops.state.table_state import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array
    from pinnace.ops.opdef import AttrDef, OpDef

__all__: list[str] = []

_TYPES = {"key_dtype": ANY_VALUE, "value_dtype": ANY_VALUE}
_SHAPE = {"value_shape": attr("shape", default=Shape(()))}


def _table_op(
    name: str,
    kernel: Callable[..., Array],
    signature: str = "-> table_handle: resource",
    attrs: dict[str, AttrDef] | None = None,
    gradient: Any = NOT_DIFFERENTIABLE,
) -> OpDef:
    return define(
        name=name,
        signature=signature,
        types=_TYPES,
        attrs=attrs or {},
        infer=scalar,
        kernel=kernel,
        gradient=gradient,
        effect="read",
    )


def _fixed_kernel(*, key_dtype: DType, value_dtype: DType) -> Array:
    return tables._handle(Table(key_dtype, value_dtype, mutable=False, name="hash_table"))


FIXED = _table_op("AnonymousHashTable", _fixed_kernel)


def _mutable_kernel(*, key_dtype: DType, value_dtype: DType) -> Array:
    return tables._handle(Table(key_dtype, value_dtype, name="MutableHashTable"))


MUTABLE = _table_op("AnonymousMutableHashTable", _mutable_kernel)


def _of_tensors_kernel(*, key_dtype: DType, value_dtype: DType, value_shape: Shape) -> Array:
    sizes = tables._sizes(value_shape)
    return tables._handle(Table(key_dtype, value_dtype, sizes, name="MutableHashTable"))


OF_TENSORS = _table_op("AnonymousMutableHashTableOfTensors", _of_tensors_kernel, attrs=_SHAPE)


def _dense_kernel(
    empty_key: Array,
    deleted_key: Array,
    *,
    key_dtype: DType,
    value_dtype: DType,
    value_shape: Shape,
) -> Array:
    sizes = tables._sizes(value_shape)
    made = tables.dense_table(key_dtype, value_dtype, sizes, empty_key, deleted_key)
    return tables._handle(made)


DENSE = _table_op(
    "AnonymousMutableDenseHashTable",
    _dense_kernel,
    "empty_key: key_dtype, deleted_key: key_dtype -> table_handle: resource",
    {
        **_SHAPE,
        "initial_num_buckets": attr("int", default=131072),
        "max_load_factor": attr("float", default=0.8),
    },
    gradient=NO_GRADIENT_DEFINED,  # its inputs may be floats
)
