"""Categories listed in the program or in a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.feature_column.categorical import (
    KeyedCategoricalColumn,
    SequenceCategoricalColumn,
    require_same_kind,
    string_or_int,
)
from pinnace.feature_column.column import require_string_key
from pinnace.framework import dtypes
from pinnace.framework.context import init_scope
from pinnace.lookup.initializers import (
    KeyValueTensorInitializer,
    TextFileIndex,
    TextFileInitializer,
)
from pinnace.lookup.static import StaticHashTable, StaticVocabularyTable
from pinnace.ops.array import casting
from pinnace.ops.composites.parsing import VarLenFeature
from pinnace.ops.io import gfile
from pinnace.storage.record import read_records

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pinnace.feature_column.column import StateManager
    from pinnace.framework.dtypes import DType
    from pinnace.ops.composites.sparse.tensor import SparseTensor

_RECORDS = "tfrecord_gzip"


class _VocabularyColumn(KeyedCategoricalColumn):
    """Ids by look-up in a table, which the state manager owns."""

    dtype: DType
    num_oov_buckets: int
    default_value: int

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """A feature of any length."""
        return {self.key: VarLenFeature(self.dtype)}

    def _entries(self, key_dtype: DType) -> Any:
        """The known keys and their ids, as an initializer."""
        raise NotImplementedError

    def ids(self, x: SparseTensor, state_manager: StateManager | None) -> SparseTensor:
        """The indices of values in the vocabulary."""
        require_same_kind(self, x)
        values, kind = x.values, self.dtype
        if kind.is_integer:
            values, kind = casting.cast(values, dtypes.int64), dtypes.int64
        return x.with_values(self._table(kind, state_manager).lookup(values))

    def _table(self, key_dtype: DType, state_manager: StateManager | None) -> Any:
        name = f"{self.key}_lookup"
        if state_manager is not None and state_manager.has_resource(self, name):
            return state_manager.get_resource(self, name)
        with init_scope():
            entries = self._entries(key_dtype)
            table: Any
            if self.num_oov_buckets:
                table = StaticVocabularyTable(entries, self.num_oov_buckets, name=name)
            else:
                table = StaticHashTable(entries, self.default_value, name=name)
        if state_manager is not None:
            state_manager.add_resource(self, name, table)
        return table


def _places(keys: Iterable[Any], key_dtype: DType) -> KeyValueTensorInitializer:
    listed = list(keys)
    return KeyValueTensorInitializer(listed, np.arange(len(listed)), key_dtype, dtypes.int64)


@dataclass(frozen=True)
class VocabularyListCategoricalColumn(_VocabularyColumn):
    """Categories of a list; see `categorical_column_with_vocabulary_list`."""

    key: str
    vocabulary_list: tuple[Any, ...]
    dtype: DType
    default_value: int
    num_oov_buckets: int

    @property
    def num_buckets(self) -> int:
        """The list's ids and those beyond."""
        return len(self.vocabulary_list) + self.num_oov_buckets

    def _entries(self, key_dtype: DType) -> Any:
        return _places(self.vocabulary_list, key_dtype)


@dataclass(frozen=True)
class VocabularyFileCategoricalColumn(_VocabularyColumn):
    """Categories of a file; see `categorical_column_with_vocabulary_file`."""

    key: str
    vocabulary_file: str
    vocabulary_size: int
    num_oov_buckets: int
    dtype: DType
    default_value: int
    file_format: str | None = None

    @property
    def num_buckets(self) -> int:
        """The file's ids and those beyond."""
        return self.vocabulary_size + self.num_oov_buckets

    def _entries(self, key_dtype: DType) -> Any:
        if self.file_format != _RECORDS:
            return TextFileInitializer(
                self.vocabulary_file,
                key_dtype,
                TextFileIndex.WHOLE_LINE,
                dtypes.int64,
                TextFileIndex.LINE_NUMBER,
                self.vocabulary_size,
            )
        records = list(read_records(self.vocabulary_file, "GZIP"))[: self.vocabulary_size]
        if key_dtype is dtypes.string:
            return _places(records, key_dtype)
        return _places((int(record) for record in records), key_dtype)


def _checked_outside(
    key: str, num_oov_buckets: int | None, default_value: Any, no_default: Any
) -> int:
    """The checked number of ids beyond the vocabulary."""
    if not num_oov_buckets:
        return 0
    if default_value != no_default:
        raise ValueError(f"Can't specify both num_oov_buckets and default_value in {key}.")
    if num_oov_buckets < 0:
        raise ValueError(f"Invalid num_oov_buckets {num_oov_buckets} in {key}.")
    return int(num_oov_buckets)


def categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Sequence[Any],
    dtype: Any = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> VocabularyListCategoricalColumn:
    """A column of categories that are listed: ids are places in the list.

    Args:
        key: key of the feature.
        vocabulary_list: strings or integers, each once.
        dtype: dtype of the feature; that of the list if None.
        default_value: the id of values that are not listed; -1 counts as no value.
        num_oov_buckets: how many ids after the list such values share, by hash, instead.

    Raises:
        ValueError: an empty list, or one with duplicates; dtypes that do not go together; a default
            and buckets.
    """
    if vocabulary_list is None or len(vocabulary_list) < 1:
        raise ValueError(f"vocabulary_list {vocabulary_list} must be non-empty, column_name: {key}")
    if len(set(vocabulary_list)) != len(vocabulary_list):
        raise ValueError(f"Duplicate keys in vocabulary_list {vocabulary_list}, column_name: {key}")
    outside = _checked_outside(key, num_oov_buckets, default_value, -1)
    listed = string_or_int(np.array(vocabulary_list).dtype, f"column_name: {key} vocabulary")
    kind = string_or_int(listed if dtype is None else dtype, f"column_name: {key}")
    if kind.is_integer != listed.is_integer:
        raise ValueError(
            f"dtype {kind.name} and vocabulary dtype {listed.name} do not match, column_name: {key}"
        )
    require_string_key(key)
    return VocabularyListCategoricalColumn(
        key, tuple(vocabulary_list), kind, default_value, outside
    )


def categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    dtype: Any = dtypes.string,
    default_value: int | None = None,
    num_oov_buckets: int = 0,
    file_format: str | None = None,
) -> VocabularyFileCategoricalColumn:
    """A column of categories that a file lists: ids are numbers of lines, from 0.

    Args:
        key: key of the feature.
        vocabulary_file: a file with a category in each line, which SavedModels take along; or a
            TFRecord file, compressed by gzip, with one in each record.
        vocabulary_size: how many there are; all if None.
        dtype: string, or an integer's.
        default_value: the id of values that are not listed; -1, which counts as no value, if None.
        num_oov_buckets: how many ids after the file's such values share, by hash, instead.
        file_format: "tfrecord_gzip" for records; also if the name ends with "tfrecord.gz".

    Raises:
        ValueError: no such file; a size below 1; a default and buckets; another dtype.
    """
    if not vocabulary_file:
        raise ValueError(f"Missing vocabulary_file in {key}.")
    path = str(vocabulary_file)
    if file_format is None and path.endswith("tfrecord.gz"):
        file_format = _RECORDS
    if vocabulary_size is None:
        if not gfile.exists(path):
            raise ValueError(f"vocabulary_file in {key} does not exist: {path}")
        vocabulary_size = _size_of(path, file_format)
    if vocabulary_size < 1:
        raise ValueError(f"Invalid vocabulary_size in {key}: {vocabulary_size}")
    outside = _checked_outside(key, num_oov_buckets, default_value, None)
    kind = string_or_int(dtype, f"column_name: {key}")
    require_string_key(key)
    default = -1 if default_value is None else default_value
    return VocabularyFileCategoricalColumn(
        key, path, int(vocabulary_size), outside, kind, default, file_format
    )


def _size_of(path: str, file_format: str | None) -> int:
    if file_format == _RECORDS:
        return sum(1 for _ in read_records(path, "GZIP"))
    with open(path, "rb") as lines:  # noqa: PTH123 (a path as gfile takes it)
        return sum(1 for _ in lines)


def sequence_categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Sequence[Any],
    dtype: Any = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> SequenceCategoricalColumn:
    """A column of sequences of listed categories, for `SequenceFeatures`.

    Args:
        key: key of the feature, [b, t] or [b, t, n].
        vocabulary_list: strings or integers, each once.
        dtype: dtype of the feature; that of the list if None.
        default_value: the id of values that are not listed.
        num_oov_buckets: how many ids after the list such values share instead.
    """
    return SequenceCategoricalColumn(
        categorical_column_with_vocabulary_list(
            key, vocabulary_list, dtype, default_value, num_oov_buckets
        )
    )


def sequence_categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: Any = dtypes.string,
) -> SequenceCategoricalColumn:
    """A column of sequences of categories that a file lists, for `SequenceFeatures`.

    Args:
        key: key of the feature, [b, t] or [b, t, n].
        vocabulary_file: a file with a category in each line.
        vocabulary_size: how many there are; all if None.
        num_oov_buckets: how many ids after the file's such values share.
        default_value: the id of values that are not listed; -1 if None.
        dtype: string, or an integer's.
    """
    return SequenceCategoricalColumn(
        categorical_column_with_vocabulary_file(
            key, vocabulary_file, vocabulary_size, dtype, default_value, num_oov_buckets
        )
    )
