"""Initializers of static tables, from tensors or lines of a file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.asset_path import Asset
from pinnace.framework.autotrackable import AutoTrackable
from pinnace.framework.context import init_scope
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.tensor import SymbolicTensor, Tensor
from pinnace.ops.execute import execute
from pinnace.ops.state import tables
from pinnace.ops.state.text_lines import LINE_NUMBER, WHOLE_LINE

if TYPE_CHECKING:
    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import TensorLike
    from pinnace.lookup.table import LookupTable


class TableInitializer(AutoTrackable):
    """A source of a table's keys and values.

    Args:
        key_dtype: dtype of the keys.
        value_dtype: dtype of the values.
    """

    def __init__(self, key_dtype: Any, value_dtype: Any) -> None:
        self._key_dtype = dtypes.as_dtype(key_dtype)
        self._value_dtype = dtypes.as_dtype(value_dtype)

    @property
    def key_dtype(self) -> DType:
        """The dtype of the keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The dtype of the values."""
        return self._value_dtype

    def initialize(self, table: LookupTable) -> None:
        """Fill a table."""
        raise NotImplementedError

    def _check(self, table: LookupTable) -> None:
        for what in ("key_dtype", "value_dtype"):
            mine, wanted = getattr(self, what), getattr(table, what)
            if mine is not wanted:
                raise TypeError(
                    f"{type(self).__name__}: {what} must be that of the table, {wanted.name}, got "
                    f"{mine.name}"
                )


class KeyValueTensorInitializer(TableInitializer):
    """Entries from two tensors.

    Args:
        keys: [n].
        values: [n].
        key_dtype: dtype of the keys if they are Python values.
        value_dtype: dtype of the values if they are Python values.
        name: not used.
    """

    def __init__(
        self,
        keys: TensorLike,
        values: TensorLike,
        key_dtype: Any = None,
        value_dtype: Any = None,
        name: str | None = None,
    ) -> None:
        del name
        with init_scope():
            self._keys = _entries("keys", keys, key_dtype)
            self._values = _entries("values", values, value_dtype)
        super().__init__(self._keys.dtype, self._values.dtype)

    def initialize(self, table: LookupTable) -> None:
        """Fill a table."""
        self._check(table)
        execute(tables.LOOKUP_TABLE_IMPORT, table.resource_handle, self._keys, self._values)


def _entries(what: str, value: Any, dtype: Any) -> Tensor:
    tensor = convert_to_tensor(value, None if dtype is None else dtypes.as_dtype(dtype))
    if isinstance(tensor, SymbolicTensor):
        raise ValueError(  # noqa: TRY004 (what is wrong is not its Python type)
            f"KeyValueTensorInitializer: {what} must be known when the table is made, "
            f"got {tensor!r}"
        )
    return tensor


class TextFileIndex:
    """The part of a line that is a key or value, besides column indices."""

    WHOLE_LINE = WHOLE_LINE
    LINE_NUMBER = LINE_NUMBER


class TextFileInitializer(TableInitializer):
    """Entries from the lines of a file, which is copied into SavedModels.

    Args:
        filename: the file.
        key_dtype: dtype of the keys.
        key_index: the column with the keys, or a `TextFileIndex`.
        value_dtype: dtype of the values.
        value_index: the column with the values, or a `TextFileIndex`.
        vocab_size: how many lines to read, all if None.
        delimiter: between columns.
        name: not used.
        value_index_offset: added to numbers of lines.

    Raises:
        ValueError: no file name; an index that does not go with its dtype.
    """

    def __init__(
        self,
        filename: Any,
        key_dtype: Any,
        key_index: int,
        value_dtype: Any,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
        value_index_offset: int = 0,
    ) -> None:
        del name
        super().__init__(key_dtype, value_dtype)
        _check_index("key", key_index, self.key_dtype)
        _check_index("value", value_index, self.value_dtype)
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(
                f"TextFileInitializer: vocab_size must be greater than 0, got {vocab_size}"
            )
        self._filename = _asset(filename)
        self._key_index = int(key_index)
        self._value_index = int(value_index)
        self._vocab_size = -1 if vocab_size is None else int(vocab_size)
        self._delimiter = delimiter
        self._offset = int(value_index_offset)

    def initialize(self, table: LookupTable) -> None:
        """Fill a table."""
        self._check(table)
        execute(
            tables.INITIALIZE_TABLE_FROM_TEXT_FILE,
            table.resource_handle,
            self._filename.asset_path,
            key_index=self._key_index,
            value_index=self._value_index,
            vocab_size=self._vocab_size,
            delimiter=self._delimiter,
            offset=self._offset,
        )


def _asset(filename: Any) -> Asset:
    if isinstance(filename, Asset):
        return filename
    if isinstance(filename, Tensor) and not isinstance(filename, SymbolicTensor):
        filename = np.asarray(filename._array)[()]
    if isinstance(filename, (str, bytes, os.PathLike)):
        path = os.fsdecode(filename)
        if path:
            return Asset(path)
    raise ValueError(f"TextFileInitializer: filename must be the name of a file, got {filename!r}")


def _check_index(what: str, index: int, dtype: DType) -> None:
    if index < WHOLE_LINE:
        raise ValueError(f"TextFileInitializer: {what}_index must be at least -2, got {index}")
    if index == LINE_NUMBER and dtype is not dtypes.int64:
        raise ValueError(
            f"TextFileInitializer: {what}s that are line numbers are int64, got {dtype.name}"
        )
    if index == WHOLE_LINE:
        allowed = dtype is dtypes.string or (what == "key" and dtype.is_integer)
        if not allowed:
            kinds = "strings or integers" if what == "key" else "strings"
            raise ValueError(
                f"TextFileInitializer: {what}s that are whole lines are {kinds}, got {dtype.name}"
            )
