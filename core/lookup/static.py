"""Tables that are filled once: StaticHashTable, StaticVocabularyTable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.autotrackable import AutoTrackable
from pinnace.framework.context import init_scope
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.tensor import Operands, Tensor
from pinnace.lookup.table import LookupTable, of_each_key
from pinnace.ops.array import casting, constants, selecting
from pinnace.ops.execute import execute_one
from pinnace.ops.math import comparison
from pinnace.ops.state import table_state, tables
from pinnace.ops.strings import conversion, hashing

if TYPE_CHECKING:
    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import TensorLike
    from pinnace.lookup.initializers import TableInitializer


class StaticHashTable(LookupTable):
    """A table that is filled once, when it is made.

    Args:
        initializer: the initializer that fills it.
        default_value: for keys that are not there.
        name: its name.
        experimental_is_anonymous: accepted for TensorFlow's sake: no table has a public name here.
    """

    def __init__(
        self,
        initializer: TableInitializer,
        default_value: TensorLike,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        del experimental_is_anonymous
        keys, values = initializer.key_dtype, initializer.value_dtype
        made = table_state.Table(keys, values, mutable=False)
        super().__init__(keys, values, default_value, name or "hash_table", made)
        if self._default_value.shape.rank != 0:
            raise ValueError(
                "StaticHashTable: default_value must be a scalar, got shape "
                f"{self._default_value.shape.text}"
            )
        self._initializer = initializer
        with init_scope():
            self._initialize()

    def _create_resource(self) -> Tensor:
        return execute_one(
            tables.HASH_TABLE,
            key_dtype=self._key_dtype,
            value_dtype=self._value_dtype,
            shared_name=self._shared_name,
        )

    def _initialize(self) -> None:
        self._initializer.initialize(self)


class StaticVocabularyTable(AutoTrackable):
    """Ids of known keys; other keys share further ids, chosen by fingerprint.

    Args:
        initializer: the known keys, strings or int64, and their ids; None knows none.
        num_oov_buckets: how many ids there are for other keys.
        lookup_key_dtype: dtype of the keys that are looked up; that of the initializer if None.
        name: its name.
        experimental_is_anonymous: accepted for TensorFlow's sake.

    Raises:
        ValueError: `num_oov_buckets` is less than 1.
        TypeError: dtypes that do not go together.
    """

    def __init__(
        self,
        initializer: TableInitializer | None,
        num_oov_buckets: int,
        lookup_key_dtype: Any = None,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        del experimental_is_anonymous
        if num_oov_buckets <= 0:
            raise ValueError(
                f"StaticVocabularyTable: num_oov_buckets must be at least 1, got {num_oov_buckets}"
                "\n  Try: StaticHashTable"
            )
        self._table = None
        # TensorFlow: without an initializer, keys are strings regardless of `key_dtype`.
        self._key_dtype: DType = dtypes.string
        if initializer is not None:
            self._key_dtype = _lookup_dtype(initializer, lookup_key_dtype)
            self._table = StaticHashTable(initializer, -1)
        self._buckets = int(num_oov_buckets)
        self._name = name or ("hash_bucket" if self._table is None else self._table.name)

    @property
    def key_dtype(self) -> DType:
        """The dtype of the keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The dtype of the ids: int64."""
        return dtypes.int64

    @property
    def name(self) -> str:
        """The table's name."""
        return self._name

    @property
    def resource_handle(self) -> Tensor | None:
        """The handle of the table of known keys."""
        return None if self._table is None else self._table.resource_handle

    def size(self, name: str | None = None) -> Tensor:
        """The number of ids, int64."""
        if self._table is None:
            return constants.constant(self._buckets, dtypes.int64)
        return self._table.size(name) + constants.constant(self._buckets, dtypes.int64)

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The ids of keys.

        Args:
            keys: [...], a tensor, a RaggedTensor or a SparseTensor.
            name: name of the node while tracing.

        Returns:
            [...], int64, ragged or sparse like the keys; for an unknown key, the number of known
            keys plus the bucket of its fingerprint.

        Raises:
            TypeError: keys of another dtype.
        """
        return of_each_key(keys, lambda flat: self._ids_of(flat, name))

    def _ids_of(self, keys: TensorLike, name: str | None) -> Tensor:
        values = convert_to_tensor(keys, None if isinstance(keys, Operands) else self._key_dtype)
        if values.dtype is not self._key_dtype:
            raise TypeError(
                f"table {self._name!r}: keys must be {self._key_dtype.name}, got "
                f"{values.dtype.name}"
            )
        table = self._table
        if table is not None and table.key_dtype is dtypes.int64:
            values = casting.cast(values, dtypes.int64)
        text = values if values.dtype is dtypes.string else conversion.as_string(values)
        buckets = self._bucket_of(text, name)
        if table is None:
            return buckets
        ids = table.lookup(values)
        known = comparison.not_equal(ids, table.default_value)
        return selecting.where(known, ids, buckets + table.size())

    def _bucket_of(self, text: Tensor, name: str | None) -> Tensor:
        return hashing.to_hash_bucket_fast(text, self._buckets, name)

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)


def _lookup_dtype(initializer: TableInitializer, wanted: Any) -> DType:
    held = initializer.key_dtype
    asked = held if wanted is None else dtypes.as_dtype(wanted)
    if held not in {dtypes.int64, dtypes.string}:
        raise TypeError(
            f"StaticVocabularyTable: known keys must be int64 or string, got {held.name}"
        )
    if asked.is_integer != held.is_integer or not (asked.is_integer or asked is dtypes.string):
        raise TypeError(
            f"StaticVocabularyTable: lookup_key_dtype must go with the known keys, {held.name}, "
            f"got {asked.name}"
        )
    if initializer.value_dtype is not dtypes.int64:
        raise TypeError(
            f"StaticVocabularyTable: ids must be int64, got {initializer.value_dtype.name}"
        )
    return asked
