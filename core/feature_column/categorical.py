"""Categorical columns: hashed, identity, weighted, crossed, and sequences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.feature_column.column import CategoricalColumn, IdWeights, require_string_key
from pinnace.feature_column.transformation import as_steps, without_ignored
from pinnace.framework import dtypes
from pinnace.ops.array import casting, selecting
from pinnace.ops.composites.parsing import VarLenFeature
from pinnace.ops.composites.sparse import crossing
from pinnace.ops.math import comparison, logic
from pinnace.ops.strings import conversion, hashing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.feature_column.column import StateManager
    from pinnace.feature_column.transformation import FeatureTransformationCache
    from pinnace.framework.dtypes import DType
    from pinnace.ops.composites.sparse.tensor import SparseTensor

_LEAST_KEYS = 2


class KeyedCategoricalColumn(CategoricalColumn):
    """A categorical column of one feature; subclasses convert its values to ids."""

    key: str

    @property
    def name(self) -> str:
        """The feature key."""
        return self.key

    @property
    def parents(self) -> list[Any]:
        """The feature key."""
        return [self.key]

    def ids(self, x: SparseTensor, state_manager: StateManager | None) -> SparseTensor:
        """The ids of values.

        Args:
            x: the values of the feature.
            state_manager: holds tables.
        """
        raise NotImplementedError

    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> SparseTensor:
        """The ids, int64; missing values ("", -1) of dense features are omitted."""
        x = transformation_cache.get(self.key, state_manager)
        return self.ids(without_ignored(x), state_manager)

    def get_sparse_tensors(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> IdWeights:
        """The ids, without weights."""
        return IdWeights(transformation_cache.get(self, state_manager), None)


def string_or_int(dtype: Any, prefix: str) -> DType:
    """A dtype that categories may have.

    Raises:
        ValueError: the dtype is neither string nor an integer type.
    """
    kind = dtypes.as_dtype(dtype)
    if kind is not dtypes.string and not kind.is_integer:
        raise ValueError(f"{prefix} dtype must be string or integer. dtype: {kind.name}.")
    return kind


def require_same_kind(column: Any, x: SparseTensor) -> None:
    """Raise unless the values are of the column's kind, strings or integers.

    Raises:
        ValueError: the values are of the other kind.
    """
    string_or_int(x.dtype, f"column_name: {column.key} input_tensor")
    if column.dtype.is_integer != x.dtype.is_integer:
        raise ValueError(
            f"Column dtype and SparseTensors dtype must be compatible. key: {column.key}, "
            f"column dtype: {column.dtype.name}, tensor dtype: {x.dtype.name}"
        )


@dataclass(frozen=True)
class HashedCategoricalColumn(KeyedCategoricalColumn):
    """Categories by hash bucket; see `categorical_column_with_hash_bucket`."""

    key: str
    hash_bucket_size: int
    dtype: DType

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """A feature of any length."""
        return {self.key: VarLenFeature(self.dtype)}

    @property
    def num_buckets(self) -> int:
        """The number of hash buckets."""
        return self.hash_bucket_size

    def ids(self, x: SparseTensor, state_manager: StateManager | None) -> SparseTensor:
        """The hashes of values; integers are hashed as their text."""
        del state_manager
        require_same_kind(self, x)
        text = x.values if self.dtype is dtypes.string else conversion.as_string(x.values)
        return x.with_values(hashing.to_hash_bucket_fast(text, self.hash_bucket_size))


def categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: Any = dtypes.string
) -> HashedCategoricalColumn:
    """A column of categories without a vocabulary: ids are hashes.

    Args:
        key: key of the feature.
        hash_bucket_size: how many ids there are; two categories may share one.
        dtype: string, or an integer's.

    Raises:
        ValueError: fewer than 1 bucket, or another dtype.
    """
    if hash_bucket_size is None:
        raise ValueError(f"hash_bucket_size must be set. key: {key}")
    if hash_bucket_size < 1:
        raise ValueError(
            f"hash_bucket_size must be at least 1. hash_bucket_size: {hash_bucket_size}, key: {key}"
        )
    require_string_key(key)
    kind = string_or_int(dtype, f"column_name: {key}")
    return HashedCategoricalColumn(key, int(hash_bucket_size), kind)


@dataclass(frozen=True)
class IdentityCategoricalColumn(KeyedCategoricalColumn):
    """Categories that are given as ids; see `categorical_column_with_identity`."""

    key: str
    number_buckets: int
    default_value: int | None

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """A feature of any length."""
        return {self.key: VarLenFeature(dtypes.int64)}

    @property
    def num_buckets(self) -> int:
        """The number of ids."""
        return self.number_buckets

    def ids(self, x: SparseTensor, state_manager: StateManager | None) -> SparseTensor:
        """The values; those out of range become the default, if there is one."""
        del state_manager
        if not x.dtype.is_integer:
            raise ValueError(f"Invalid input, not integer. key: {self.key} dtype: {x.dtype.name}")
        values = casting.cast(x.values, dtypes.int64)
        if self.default_value is not None:
            outside = logic.logical_or(
                comparison.less(values, np.int64(0)),
                comparison.greater_equal(values, np.int64(self.number_buckets)),
            )
            values = selecting.where(outside, np.int64(self.default_value), values)
        return x.with_values(values)


def categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> IdentityCategoricalColumn:
    """A column of integers that are ids: 0 to `num_buckets` - 1.

    Args:
        key: key of the feature.
        num_buckets: how many ids there are.
        default_value: the id of values out of range; if None they stay as they are, and whoever
            looks them up fails.

    Raises:
        ValueError: no ids; a default out of range.
    """
    if num_buckets < 1:
        raise ValueError(f"num_buckets {num_buckets} < 1, column_name {key}")
    if default_value is not None and not 0 <= default_value < num_buckets:
        raise ValueError(
            f"default_value {default_value} not in range [0, {num_buckets}), column_name {key}"
        )
    require_string_key(key)
    return IdentityCategoricalColumn(key, int(num_buckets), default_value)


@dataclass(frozen=True)
class WeightedCategoricalColumn(CategoricalColumn):
    """Categories with weights; see `weighted_categorical_column`."""

    categorical_column: CategoricalColumn
    weight_feature_key: str
    dtype: DType

    @property
    def name(self) -> str:
        """The categorical column's name, `_weighted_by_` and the key of the weights."""
        return f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The parsing spec of the categories and the weights."""
        found = dict(self.categorical_column.parse_example_spec)
        if self.weight_feature_key in found:
            raise ValueError(
                f"Parse config {found[self.weight_feature_key]} already exists for "
                f"{self.weight_feature_key}."
            )
        found[self.weight_feature_key] = VarLenFeature(self.dtype)
        return found

    @property
    def parents(self) -> list[Any]:
        """The categorical column, and the key of the weights."""
        return [self.categorical_column, self.weight_feature_key]

    @property
    def num_buckets(self) -> int:
        """The number of ids."""
        return self.categorical_column.num_buckets

    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> tuple[SparseTensor, SparseTensor]:
        """The ids, and their weights as floats; zero weights of dense features are omitted."""
        weights = transformation_cache.get(self.weight_feature_key, state_manager)
        if self.dtype is not weights.dtype:
            raise ValueError(
                f"Bad dtype, expected {self.dtype.name}, but got {weights.dtype.name}. "
                f"key: {self.weight_feature_key}"
            )
        weights = without_ignored(weights, 0)
        if not weights.dtype.is_floating:
            weights = weights.with_values(casting.cast(weights.values, dtypes.float32))
        ids = transformation_cache.get(self.categorical_column, state_manager)
        return without_ignored(ids), weights

    def get_sparse_tensors(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> IdWeights:
        """The ids and their weights."""
        return IdWeights(*transformation_cache.get(self, state_manager))


def weighted_categorical_column(
    categorical_column: CategoricalColumn, weight_feature_key: str, dtype: Any = dtypes.float32
) -> WeightedCategoricalColumn:
    """A categorical column whose categories have weights, in another feature.

    Args:
        categorical_column: the categories.
        weight_feature_key: key of the weights, one for each category, at the same indices.
        dtype: dtype of the weights, integer or float.

    Raises:
        ValueError: unsupported dtype.
    """
    kind = None if dtype is None else dtypes.as_dtype(dtype)
    if kind is None or not (kind.is_integer or kind.is_floating):
        raise ValueError(f"dtype {dtype} is not convertible to float.")
    return WeightedCategoricalColumn(categorical_column, weight_feature_key, kind)


@dataclass(frozen=True)
class CrossedColumn(CategoricalColumn):
    """Combinations of categories by hash; see `crossed_column`."""

    keys: tuple[Any, ...]
    hash_bucket_size: int
    hash_key: int | None

    @property
    def name(self) -> str:
        """The sorted names of the crossed columns, joined by `_X_`."""
        leaves = [key if isinstance(key, str) else key.name for key in self._leaves()]
        return "_X_".join(sorted(leaves))

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The parsing spec of the crossed columns: any number of strings per key."""
        found: dict[str, Any] = {}
        for key in self.keys:
            one = {key: VarLenFeature(dtypes.string)} if isinstance(key, str) else None
            found.update(key.parse_example_spec if one is None else one)
        return found

    @property
    def parents(self) -> list[Any]:
        """The crossed columns."""
        return list(self.keys)

    @property
    def num_buckets(self) -> int:
        """The number of hash buckets."""
        return self.hash_bucket_size

    def _leaves(self) -> list[Any]:
        """The crossed keys and columns, with crossed columns replaced by theirs."""
        found: list[Any] = []
        for key in self.keys:
            found.extend(key._leaves() if isinstance(key, CrossedColumn) else [key])
        return found

    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> SparseTensor:
        """The hash of every combination in a row, int64."""
        found = []
        for key in self._leaves():
            if isinstance(key, str):
                found.append(transformation_cache.get(key, state_manager))
                continue
            pair = key.get_sparse_tensors(transformation_cache, state_manager)
            if pair.weight_tensor is not None:
                raise ValueError(
                    "crossed_column does not support weight_tensor, but the given column "
                    f"populates weight_tensor. Given column: {key.name}"
                )
            found.append(pair.id_tensor)
        return crossing.cross_hashed(found, self.hash_bucket_size, self.hash_key)

    def get_sparse_tensors(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> IdWeights:
        """The hashes, without weights."""
        return IdWeights(transformation_cache.get(self, state_manager), None)


def crossed_column(
    keys: Sequence[Any], hash_bucket_size: int, hash_key: int | None = None
) -> CrossedColumn:
    """A column of the combinations of categories: ids are hashes.

    Args:
        keys: two or more; feature keys of strings or integers, and categorical columns but hashed
            ones.
        hash_bucket_size: how many ids there are.
        hash_key: key of the hash function.

    Raises:
        ValueError: fewer than two keys or 1 bucket; a key that cannot be crossed.
    """
    if not hash_bucket_size or hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be > 1. hash_bucket_size: {hash_bucket_size}")
    if not keys or len(keys) < _LEAST_KEYS:
        raise ValueError(f"keys must be a list with length > 1. Given: {keys}")
    for key in keys:
        if isinstance(key, HashedCategoricalColumn):
            raise ValueError(  # noqa: TRY004 (TensorFlow's class)
                "categorical_column_with_hash_bucket is not supported for crossing. Hashing "
                "before crossing will increase probability of collision. Instead, use the feature "
                f"name as a string. Given: {key}"
            )
        if not isinstance(key, (str, CategoricalColumn)):
            raise ValueError(  # noqa: TRY004 (TensorFlow's class)
                "Unsupported key type. All keys must be either string, or categorical column "
                f"except HashedCategoricalColumn. Given: {key!r}"
            )
    return CrossedColumn(tuple(keys), int(hash_bucket_size), hash_key)


@dataclass(frozen=True)
class SequenceCategoricalColumn(CategoricalColumn):
    """Sequences of categories; see `sequence_categorical_column_with_identity`."""

    categorical_column: CategoricalColumn

    @property
    def name(self) -> str:
        """The categorical column's."""
        return self.categorical_column.name

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The parsing spec of the categorical column."""
        return self.categorical_column.parse_example_spec

    @property
    def parents(self) -> list[Any]:
        """The categorical column."""
        return [self.categorical_column]

    @property
    def num_buckets(self) -> int:
        """The number of ids."""
        return self.categorical_column.num_buckets

    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> Any:
        """The ids of the categorical column."""
        return self.categorical_column.transform_feature(transformation_cache, state_manager)

    def get_sparse_tensors(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> IdWeights:
        """The ids and weights, [b, t, n]."""
        pair = self.categorical_column.get_sparse_tensors(transformation_cache, state_manager)
        weights = pair.weight_tensor
        return IdWeights(as_steps(pair.id_tensor), None if weights is None else as_steps(weights))


def sequence_categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> SequenceCategoricalColumn:
    """A column of sequences of ids, for `SequenceFeatures`; see `categorical_column_with_identity`.

    Args:
        key: key of the feature, [b, t] or [b, t, n].
        num_buckets: how many ids there are.
        default_value: the id of values out of range.
    """
    return SequenceCategoricalColumn(
        categorical_column_with_identity(key, num_buckets, default_value)
    )


def sequence_categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: Any = dtypes.string
) -> SequenceCategoricalColumn:
    """A column of sequences of hashes; see `categorical_column_with_hash_bucket`.

    Args:
        key: key of the feature, [b, t] or [b, t, n].
        hash_bucket_size: how many ids there are.
        dtype: string, or an integer's.
    """
    return SequenceCategoricalColumn(
        categorical_column_with_hash_bucket(key, hash_bucket_size, dtype)
    )
