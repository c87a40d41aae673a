"""Mutable tables: MutableHashTable, DenseHashTable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.context import init_scope
from pinnace.framework.convert import convert_to_tensor
from pinnace.lookup.table import LookupTable
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.state import table_state, tables

if TYPE_CHECKING:
    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Tensor, TensorLike


class _Mutable(LookupTable):
    """A table whose entries come and go.

    Args:
        key_dtype: dtype of the keys.
        value_dtype: dtype of the values.
        default_value: for keys that are not there; its shape is that of every value.
        name: its name.
        checkpoint: whether checkpoints and SavedModels keep the entries.
        table: the entries.
    """

    def __init__(
        self,
        key_dtype: DType,
        value_dtype: DType,
        default_value: TensorLike,
        name: str,
        checkpoint: bool,
        table: table_state.Table,
    ) -> None:
        super().__init__(key_dtype, value_dtype, default_value, name, table)
        table.stored = checkpoint

    def lookup(  # type: ignore[override]  # TensorFlow: the name comes third here
        self,
        keys: TensorLike,
        dynamic_default_values: TensorLike | None = None,
        name: str | None = None,
    ) -> Tensor:
        """The values of keys.

        Args:
            keys: [...], the table's key dtype.
            dynamic_default_values: a default value per key; None takes that of the table.
            name: name of the node while tracing.

        Returns:
            [..., *value].

        Raises:
            TypeError: keys of another dtype.
        """
        default = self._default_value
        if dynamic_default_values is not None:
            what = "dynamic_default_values"
            default = self._typed(what, dynamic_default_values, self._value_dtype)
        tensor = self._keys_of(keys)
        found = self._find(tensor, default, name)
        if tensor.shape.rank is not None and found.shape.rank is None:
            found.set_shape(tensor.shape.concatenate(self._default_value.shape))
        return found

    def insert(self, keys: TensorLike, values: TensorLike, name: str | None = None) -> None:
        """Add entries; those of keys that are there already are replaced.

        Raises:
            TypeError: keys or values of another dtype.
            InvalidArgumentError: shapes that do not fit, or a key that the table cannot hold.
        """
        execute(
            tables.LOOKUP_TABLE_INSERT,
            self._handle,
            self._keys_of(keys),
            self._typed("values", values, self._value_dtype),
            name=name,
        )

    def remove(self, keys: TensorLike, name: str | None = None) -> None:
        """Remove the entries of these keys; missing keys are ignored."""
        execute(tables.LOOKUP_TABLE_REMOVE, self._handle, self._keys_of(keys), name=name)


class MutableHashTable(_Mutable):
    """A table whose entries come and go.

    Args:
        key_dtype: dtype of the keys.
        value_dtype: dtype of the values.
        default_value: for keys that are not there; its shape is that of every value.
        name: its name.
        checkpoint: whether checkpoints and SavedModels keep the entries.
        experimental_is_anonymous: accepted for TensorFlow's sake.
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: TensorLike,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        del experimental_is_anonymous
        keys, values = dtypes.as_dtype(key_dtype), dtypes.as_dtype(value_dtype)
        shape = _value_shape(default_value, values)
        made = table_state.Table(keys, values, shape)
        super().__init__(keys, values, default_value, name, checkpoint, made)

    def _create_resource(self) -> Tensor:
        attrs: dict[str, Any] = {
            "key_dtype": self._key_dtype,
            "value_dtype": self._value_dtype,
            "shared_name": self._shared_name,
        }
        if self._default_value.shape.rank == 0:
            return execute_one(tables.MUTABLE_HASH_TABLE, **attrs)
        shape = self._default_value.shape
        return execute_one(tables.MUTABLE_HASH_TABLE_OF_TENSORS, value_shape=shape, **attrs)


class DenseHashTable(_Mutable):
    """A table whose entries come and go, with two keys that it can never hold.

    Args:
        key_dtype: dtype of the keys.
        value_dtype: dtype of the values.
        default_value: for keys that are not there; its shape is that of every value.
        empty_key: a key that it never holds.
        deleted_key: a second key that it never holds.
        initial_num_buckets: written into SavedModels, for TensorFlow.
        name: its name.
        checkpoint: whether checkpoints and SavedModels keep the entries.
        experimental_is_anonymous: accepted for TensorFlow's sake.
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: TensorLike,
        empty_key: TensorLike,
        deleted_key: TensorLike,
        initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        del experimental_is_anonymous
        keys, values = dtypes.as_dtype(key_dtype), dtypes.as_dtype(value_dtype)
        with init_scope():
            self._empty_key = convert_to_tensor(empty_key, keys)
            self._deleted_key = convert_to_tensor(deleted_key, keys)
        made = tables.dense_table(
            keys,
            values,
            _value_shape(default_value, values),
            np.asarray(self._empty_key._array),
            np.asarray(self._deleted_key._array),
        )
        super().__init__(keys, values, default_value, name, checkpoint, made)
        self._initial_num_buckets = initial_num_buckets

    def insert_or_assign(
        self, keys: TensorLike, values: TensorLike, name: str | None = None
    ) -> None:
        """Another name of `insert`."""
        self.insert(keys, values, name)

    def erase(self, keys: TensorLike, name: str | None = None) -> None:
        """Another name of `remove`."""
        self.remove(keys, name)

    def _create_resource(self) -> Tensor:
        attrs: dict[str, Any] = {}
        if self._initial_num_buckets is not None:
            attrs["initial_num_buckets"] = self._initial_num_buckets
        return execute_one(
            tables.MUTABLE_DENSE_HASH_TABLE,
            self._empty_key,
            self._deleted_key,
            value_dtype=self._value_dtype,
            value_shape=self._default_value.shape,
            shared_name=self._shared_name,
            **attrs,
        )


def _value_shape(default_value: TensorLike, dtype: DType) -> tuple[int, ...]:
    with init_scope():
        array = convert_to_tensor(default_value, dtype)._array
    return np.asarray(array).shape
