"""The base class of tables: a handle, lookups, and the functions for saving."""

from __future__ import annotations

import itertools
import uuid
from typing import TYPE_CHECKING, Any

from pinnace.framework.composite import is_composite
from pinnace.framework.context import init_scope
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.resources import TrackableResource
from pinnace.framework.tensor import Operands, Tensor
from pinnace.framework.variable import handle_of
from pinnace.functions.resources import functions_for_saving
from pinnace.ops.execute import execute_all, execute_one
from pinnace.ops.state import table_state, tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import TensorLike

_numbers = itertools.count()


def of_each_key(keys: Any, look: Callable[[Any], Tensor]) -> Any:
    """Look up keys with `look`; results keep the rows or indices of ragged or sparse keys."""
    if not is_composite(keys):
        return look(keys)
    if hasattr(keys, "flat_values"):  # ragged; its class is not imported for tables alone
        return keys.with_flat_values(look(keys.flat_values))
    return keys.with_values(look(keys.values))


class LookupTable(TrackableResource):
    """A table behind a handle.

    Args:
        key_dtype: dtype of the keys.
        value_dtype: dtype of the values.
        default_value: for keys that are not there.
        name: name in error messages.
        table: the entries.
    """

    def __init__(
        self,
        key_dtype: DType,
        value_dtype: DType,
        default_value: TensorLike,
        name: str,
        table: table_state.Table,
    ) -> None:
        self._key_dtype = key_dtype
        self._value_dtype = value_dtype
        with init_scope():
            self._default_value = convert_to_tensor(default_value, value_dtype)
        self._name = name
        # TensorFlow's sessions identify the table by this name; another model may share the
        # session.
        self._shared_name = f"{name}_{uuid.uuid4()}"
        table.name = name
        self._handle = handle_of(table)
        self._saving: dict[str, Any] | None = None

    @property
    def key_dtype(self) -> DType:
        """The dtype of the keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The dtype of the values."""
        return self._value_dtype

    @property
    def default_value(self) -> Tensor:
        """The value of missing keys."""
        return self._default_value

    @property
    def name(self) -> str:
        """The table's name."""
        return self._name

    @property
    def resource_handle(self) -> Tensor:
        """The handle that ops take."""
        return self._handle

    def size(self, name: str | None = None) -> Tensor:
        """The number of entries, int64."""
        return execute_one(tables.LOOKUP_TABLE_SIZE, self._handle, name=name)

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of keys.

        Args:
            keys: [...], the table's key dtype; a tensor, a RaggedTensor or a SparseTensor.
            name: name of the node while tracing.

        Returns:
            [..., *value]; the default value for missing keys. Ragged keys give a RaggedTensor with
            the same rows, sparse ones a SparseTensor with the same indices.

        Raises:
            TypeError: keys of another dtype.

        Source:
            TensorFlow op `LookupTableFindV2`.
        """
        return of_each_key(
            keys, lambda flat: self._find(self._keys_of(flat), self._default_value, name)
        )

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys, [n], and their values."""
        return execute_all(
            tables.LOOKUP_TABLE_EXPORT,
            self._handle,
            Tkeys=self._key_dtype,
            Tvalues=self._value_dtype,
            name=name,
        )

    def _find(self, keys: Tensor, default: Tensor, name: str | None) -> Tensor:
        return execute_one(tables.LOOKUP_TABLE_FIND, self._handle, keys, default, name=name)

    def _keys_of(self, keys: Any) -> Tensor:
        return self._typed("keys", keys, self._key_dtype)

    def _typed(self, what: str, value: Any, dtype: DType) -> Tensor:
        tensor = convert_to_tensor(value, None if isinstance(value, Operands) else dtype)
        if tensor.dtype is not dtype:
            raise TypeError(
                f"table {self._name!r}: {what} must be {dtype.name}, got {tensor.dtype.name}"
            )
        return tensor

    # Saving.

    def _create_resource(self) -> Tensor:
        """The op that makes such a table."""
        raise NotImplementedError

    def _initialize(self) -> None:
        """Fill the table if it is initialized when it is created."""

    def _functions_for_saving(self) -> dict[str, Any]:
        if self._saving is None:
            found = functions_for_saving(self)
            object.__setattr__(self, "_saving", found)
        return dict(self._saving or {})

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} {self._name!r} {self._key_dtype.name} -> "
            f"{self._value_dtype.name}>"
        )
