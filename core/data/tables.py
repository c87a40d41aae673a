"""Lookup tables with the elements of a dataset as entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinnace.data.elements import leaf_array
from pinnace.data.stage import Run
from pinnace.framework import dtypes
from pinnace.framework.context import init_scope
from pinnace.framework.errors import FailedPreconditionError
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor, wrap
from pinnace.lookup.initializers import TableInitializer
from pinnace.lookup.static import StaticHashTable, StaticVocabularyTable
from pinnace.ops.execute import execute
from pinnace.ops.state import tables
from pinnace.ops.strings import hashing

if TYPE_CHECKING:
    from pinnace.data.dataset import Dataset
    from pinnace.lookup.table import LookupTable


class DatasetInitializer(TableInitializer):
    """Entries from a dataset, which is read when the first table is initialized.

    Args:
        dataset: its elements are (key, value), scalars.

    Raises:
        ValueError: elements of another form.
    """

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        key, value = _pair_of(dataset)
        super().__init__(key.dtype, value.dtype)
        self._entries: tuple[Tensor, Tensor] | None = None

    def initialize(self, table: LookupTable) -> None:
        """Fill a table."""
        self._check(table)
        if self._entries is None:
            with init_scope():
                self._entries = self._read()
        # Imported as tensors: a SavedModel then holds constants and not the dataset.
        execute(tables.LOOKUP_TABLE_IMPORT, table.resource_handle, *self._entries)

    def _read(self) -> tuple[Tensor, Tensor]:
        columns: tuple[list[Any], list[Any]] = ([], [])
        for element in self.dataset.stage.open(Run()):
            for column, leaf in zip(columns, element, strict=True):
                column.append(np.asarray(leaf_array(leaf))[()])
        kinds = (self._key_dtype, self._value_dtype)
        found = [np.array(c, k.numpy) for c, k in zip(columns, kinds, strict=True)]
        return wrap(found[0], kinds[0]), wrap(found[1], kinds[1])


def _pair_of(dataset: Dataset) -> tuple[TensorSpec, TensorSpec]:
    spec = dataset.element_spec
    wanted = (
        "Datasets used to initialize lookup tables must produce elements in the form (key, value), "
        "where the keys and values are scalar tensors. However, the given dataset produces "
    )
    if not isinstance(spec, (tuple, list)) or len(spec) != 2:
        count = len(spec) if isinstance(spec, (tuple, list)) else 1
        raise ValueError(
            f"{wanted}{count} components instead of two (key, value) components: {spec}"
        )
    for what, part in zip(("key", "value"), spec, strict=True):
        if not isinstance(part, TensorSpec):
            raise ValueError(f"{wanted}non-Tensor {what}s: {part}")  # noqa: TRY004 (TensorFlow's)
        if part.shape.rank not in {None, 0}:
            raise ValueError(f"{wanted}non-scalar {what} Tensors of rank {part.shape.rank}")
    return spec[0], spec[1]


class HasherSpec(NamedTuple):
    """The distribution of unknown keys over buckets.

    Attributes:
        hasher: "fasthash" or "stronghash".
        key: two integers, for "stronghash".
    """

    hasher: str
    key: Any = None


FAST_HASH = HasherSpec("fasthash")


class HashedTable(StaticVocabularyTable):
    """Ids for the keys in a dataset; other keys share the ids after those.

    Args:
        initializer: the known keys and their ids.
        num_oov_buckets: how many ids there are for other keys.
        hasher_spec: how other keys are spread.
        lookup_key_dtype: dtype of the keys that are looked up.
        name: its name.
    """

    def __init__(
        self,
        initializer: TableInitializer,
        num_oov_buckets: int,
        hasher_spec: Any,
        lookup_key_dtype: Any,
        name: str | None,
    ) -> None:
        super().__init__(initializer, num_oov_buckets, lookup_key_dtype, name)
        if hasher_spec.hasher not in {"fasthash", "stronghash"}:
            raise ValueError(
                "hasher_spec: the hasher must be fasthash or stronghash, got "
                f"{hasher_spec.hasher!r}"
            )
        self._hasher = hasher_spec

    def _bucket_of(self, text: Tensor, name: str | None) -> Tensor:
        if self._hasher.hasher == "fasthash":
            return super()._bucket_of(text, name)
        return hashing.to_hash_bucket_strong(text, self._buckets, self._hasher.key, name)


def table_from_dataset(
    dataset: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: Any = None,
    default_value: Any = None,
    hasher_spec: Any = FAST_HASH,
    key_dtype: Any = dtypes.string,
    name: str | None = None,
) -> StaticHashTable | HashedTable:
    """A table of the (key, value) elements of a dataset.

    Args:
        dataset: its elements are (key, value), scalars.
        num_oov_buckets: how many ids other keys share, by their hashes; 0 gives them the default.
        vocab_size: how many elements there must be; more are not read.
        default_value: for keys that are not there; -1 if None.
        hasher_spec: how other keys are spread over their ids.
        key_dtype: dtype of the keys that are looked up, where there are buckets.
        name: its name.

    Raises:
        ValueError: elements of another form; a number that cannot be.
        TypeError: `key_dtype` is neither an integer nor a string.
        FailedPreconditionError: the dataset has fewer elements than `vocab_size`.
    """
    value = _pair_of(dataset)[1].dtype
    if default_value is None:
        if not (value.is_integer or value.is_floating):
            raise ValueError(
                "`default_value` must be specified when creating a table from a dataset that "
                f"produces values of type {value.name}."
            )
        default_value = -1
    if num_oov_buckets < 0:
        raise ValueError(
            f"`num_oov_buckets` must be greater than or equal to 0, got {num_oov_buckets}."
        )
    kind = dtypes.as_dtype(key_dtype)
    if not kind.is_integer and kind is not dtypes.string:
        raise TypeError(
            f"`key_dtype` must be either an integer or string type, but got {kind.name}"
        )
    if vocab_size is not None:
        dataset = _limited(dataset, int(vocab_size))
    initializer = DatasetInitializer(dataset)
    if num_oov_buckets:
        return HashedTable(initializer, num_oov_buckets, hasher_spec, kind, name)
    return StaticHashTable(initializer, default_value, name)


def _limited(dataset: Dataset, count: int) -> Dataset:
    if count < 1:
        raise ValueError(f"`vocab_size` must be greater than 0, got {count}.")
    limited = dataset.take(count)
    found = sum(1 for _ in limited.stage.open(Run()))
    if found != count:
        raise FailedPreconditionError(
            f"vocab_size: the dataset must have at least {count} elements, has {found}"
        )
    return limited


def index_table_from_dataset(
    dataset: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: Any = None,
    default_value: Any = -1,
    hasher_spec: Any = FAST_HASH,
    key_dtype: Any = dtypes.string,
    name: str | None = None,
) -> StaticHashTable | HashedTable:
    """A table from the elements of a dataset to their indices, from 0.

    Args:
        dataset: its elements are keys, scalars.
        num_oov_buckets: how many ids other keys share, by their hashes; 0 gives them the default.
        vocab_size: how many elements there must be; more are not read.
        default_value: for keys that are not there.
        hasher_spec: how other keys are spread over their ids.
        key_dtype: dtype of the keys that are looked up, where there are buckets.
        name: its name.

    Raises:
        ValueError: elements of another form; a number that cannot be.
        TypeError: `key_dtype` is neither an integer nor a string.
    """
    pairs = dataset.enumerate().map(lambda number, key: (key, number))
    return table_from_dataset(
        pairs, num_oov_buckets, vocab_size, default_value, hasher_spec, key_dtype, name
    )
