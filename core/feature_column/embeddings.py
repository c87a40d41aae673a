"""Categories as vectors: counts, or rows of a trainable table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.checkpoint.reader import load_variable
from pinnace.feature_column.categorical import SequenceCategoricalColumn, WeightedCategoricalColumn
from pinnace.feature_column.column import (
    CategoricalColumn,
    DenseColumn,
    PaddedSequences,
    SequenceDenseColumn,
)
from pinnace.feature_column.transformation import sequence_lengths
from pinnace.framework import dtypes
from pinnace.framework.context import init_scope
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.module import Module
from pinnace.framework.shapes import TensorShape
from pinnace.framework.variable import Variable
from pinnace.ops import random
from pinnace.ops.array import casting, indicators, joining, reshaping, scattering, selecting
from pinnace.ops.composites.embedding import embedding_lookup_sparse, safe_embedding_lookup_sparse
from pinnace.ops.composites.sparse import functions as sparse
from pinnace.ops.math import comparison, logic, reduction

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.feature_column.column import IdWeights, StateManager
    from pinnace.feature_column.transformation import FeatureTransformationCache
    from pinnace.framework.tensor import Tensor

_MATRIX = 2


class _OfCategories(DenseColumn, SequenceDenseColumn):
    """A dense column made from a categorical one, for rows of a batch or steps of sequences."""

    categorical_column: CategoricalColumn
    _suffix = ""

    @property
    def name(self) -> str:
        """The categorical column's name with a suffix."""
        return f"{self.categorical_column.name}{self._suffix}"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The parsing spec of the categorical column."""
        return self.categorical_column.parse_example_spec

    @property
    def parents(self) -> list[Any]:
        """The categorical column."""
        return [self.categorical_column]

    def _dense(self, transformation_cache: Any, state_manager: Any) -> Tensor:
        raise NotImplementedError

    def get_dense_tensor(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> Tensor:
        """The rows of a batch.

        Raises:
            ValueError: the categories are sequences.
        """
        if isinstance(self.categorical_column, SequenceCategoricalColumn):
            raise ValueError(  # noqa: TRY004 (TensorFlow's class)
                f"{self._kind}: {self.name}. categorical_column must not be of type "
                "SequenceCategoricalColumn\n  Try: a non-sequence categorical_column_with_* with "
                "DenseFeatures, or SequenceFeatures in place of it"
            )
        return self._dense(transformation_cache, state_manager)

    def get_sequence_dense_tensor(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> PaddedSequences:
        """The rows of each step, and the lengths of the sequences.

        Raises:
            ValueError: the categories are no sequences.
        """
        if not isinstance(self.categorical_column, SequenceCategoricalColumn):
            raise ValueError(  # noqa: TRY004 (TensorFlow's class)
                f"{self._kind}: {self.name}. categorical_column must be of type "
                "SequenceCategoricalColumn to use SequenceFeatures. Given (type "
                f"{type(self.categorical_column).__name__})\n"
                "  Try: one of sequence_categorical_column_with_*"
            )
        pair = self.categorical_column.get_sparse_tensors(transformation_cache, state_manager)
        dense = self._dense(transformation_cache, state_manager)
        return PaddedSequences(dense, sequence_lengths(pair.id_tensor))

    @property
    def _kind(self) -> str:
        return f"In {self._suffix.removeprefix('_')}_column"


@dataclass(frozen=True)
class IndicatorColumn(_OfCategories):
    """The number of occurrences of each category; see `indicator_column`."""

    categorical_column: CategoricalColumn
    _suffix = "_indicator"

    @property
    def variable_shape(self) -> TensorShape:
        """[1, ids]."""
        return TensorShape([1, self.categorical_column.num_buckets])

    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> Tensor:
        """[..., ids]: the count of each id in a row, or the sum of its weights."""
        pair = self.categorical_column.get_sparse_tensors(transformation_cache, state_manager)
        size = self.categorical_column.num_buckets
        if pair.weight_tensor is not None:
            return _weight_sums(pair, size)
        ids = sparse.to_dense(pair.id_tensor, -1)
        rows = indicators.one_hot(ids, size, dtype=dtypes.float32)
        return reduction.reduce_sum(rows, -2)

    def _dense(self, transformation_cache: Any, state_manager: Any) -> Tensor:
        return transformation_cache.get(self, state_manager)  # type: ignore[no-any-return]


def _weight_sums(pair: IdWeights, size: int) -> Tensor:
    ids, weights = pair.id_tensor, pair.weight_tensor
    assert weights is not None  # noqa: S101 (for the type checker)
    values = casting.cast(ids.values, dtypes.int64)
    inside = logic.logical_and(
        comparison.greater_equal(values, np.int64(0)), comparison.less(values, np.int64(size))
    )
    # Ids out of range are no categories: they become id 0 with weight 0.
    known = selecting.where(inside, values, np.int64(0))
    counted = selecting.where(inside, weights.values, casting.cast(0, weights.dtype))
    places = joining.concat([ids.indices[:, :-1], reshaping.expand_dims(known, 1)], 1)
    shape = joining.concat([ids.dense_shape[:-1], np.array([size], np.int64)], 0)
    return scattering.scatter_nd(places, counted, shape)


def indicator_column(categorical_column: CategoricalColumn) -> IndicatorColumn:
    """A dense column of the number of occurrences of each category in an example: multi-hot.

    Args:
        categorical_column: the categories.

    Raises:
        ValueError: unknown column.
    """
    if not isinstance(categorical_column, CategoricalColumn):
        raise ValueError(  # noqa: TRY004 (TensorFlow's class)
            f"Unsupported input type. Input must be a CategoricalColumn. Given: "
            f"{categorical_column!r}"
        )
    return IndicatorColumn(categorical_column)


@dataclass(frozen=True)
class TruncatedNormal:
    """An initializer: normal numbers around 0, none further off than two deviations.

    Attributes:
        stddev: the deviation.
    """

    stddev: float

    def __call__(self, shape: Any, dtype: Any = dtypes.float32, **_: Any) -> Tensor:
        """The numbers.

        Args:
            shape: shape of the result.
            dtype: dtype of the result.
        """
        return random.truncated_normal(shape, 0.0, self.stddev, dtype)


def _checked(
    dimension: int | None,
    initializer: Any,
    ckpt_to_load_from: str | None,
    tensor_name_in_ckpt: str | None,
    name: str,
) -> Callable[..., Any]:
    """The initializer of a table, or the default one."""
    if dimension is None or dimension < 1:
        raise ValueError(f"Invalid dimension {dimension}.")
    if (ckpt_to_load_from is None) != (tensor_name_in_ckpt is None):
        raise ValueError(
            "Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them."
        )
    if initializer is not None and not callable(initializer):
        raise ValueError(
            f"initializer must be callable if specified. Embedding of column_name: {name}"
        )
    return initializer or TruncatedNormal(1 / math.sqrt(dimension))


def _started(
    initializer: Callable[..., Any], checkpoint: str | None, tensor: str | None
) -> Callable[..., Any]:
    """The initial value of a table, from a checkpoint if one is given."""
    if checkpoint is None or tensor is None:
        return initializer

    def stored(shape: Any, dtype: Any = dtypes.float32, **_: Any) -> Tensor:
        found = np.asarray(load_variable(checkpoint, tensor))
        if found.shape != tuple(shape):
            raise ValueError(
                f"tensor {tensor!r} of checkpoint {checkpoint} has shape {list(found.shape)}, the "
                f"embedding needs {list(shape)}"
            )
        return casting.cast(convert_to_tensor(found), dtype)

    return stored


def _looked_up(column: Any, weights: Any, pair: IdWeights) -> Tensor:
    ids = pair.id_tensor
    safe = column.use_safe_embedding_lookup or ids.shape.rank is None or ids.shape.rank > _MATRIX
    if safe:
        return safe_embedding_lookup_sparse(
            weights, ids, pair.weight_tensor, column.combiner, max_norm=column.max_norm
        )
    return embedding_lookup_sparse(
        weights, ids, pair.weight_tensor, column.combiner, column.max_norm
    )


@dataclass(frozen=True)
class EmbeddingColumn(_OfCategories):
    """Rows of a table by category, combined; see `embedding_column`."""

    categorical_column: CategoricalColumn
    dimension: int
    combiner: str
    initializer: Callable[..., Any]
    ckpt_to_load_from: str | None
    tensor_name_in_ckpt: str | None
    max_norm: float | None
    trainable: bool
    use_safe_embedding_lookup: bool = True
    _suffix = "_embedding"

    @property
    def variable_shape(self) -> TensorShape:
        """[dimension]."""
        return TensorShape([self.dimension])

    def create_state(self, state_manager: StateManager) -> None:
        """Make the table, [ids, dimension]."""
        state_manager.create_variable(
            self,
            name="embedding_weights",
            shape=(self.categorical_column.num_buckets, self.dimension),
            dtype=dtypes.float32,
            trainable=self.trainable,
            use_resource=True,
            initializer=_started(
                self.initializer, self.ckpt_to_load_from, self.tensor_name_in_ckpt
            ),
        )

    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> Any:
        """The ids of the categorical column."""
        return transformation_cache.get(self.categorical_column, state_manager)

    def _dense(self, transformation_cache: Any, state_manager: Any) -> Tensor:
        pair = self.categorical_column.get_sparse_tensors(transformation_cache, state_manager)
        weights = state_manager.get_variable(self, name="embedding_weights")
        return _looked_up(self, weights, pair)


def embedding_column(
    categorical_column: CategoricalColumn,
    dimension: int,
    combiner: str = "mean",
    initializer: Callable[..., Any] | None = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
    use_safe_embedding_lookup: bool = True,
) -> EmbeddingColumn:
    """A dense column of rows of a table, by categories; the table is trained.

    Args:
        categorical_column: the categories.
        dimension: size of a row, at least 1.
        combiner: "mean", "sqrtn" or "sum": of the rows of one example.
        initializer: initializer of the table; truncated normal with a deviation of 1 /
            sqrt(dimension) if None.
        ckpt_to_load_from: a checkpoint with the table to begin with.
        tensor_name_in_ckpt: its name there.
        max_norm: rows that are longer are scaled down to it.
        trainable: whether training changes the table.
        use_safe_embedding_lookup: whether an example may have no category, or negative ids.

    Raises:
        ValueError: a dimension below 1; a checkpoint without a name, or the reverse; an initializer
            that cannot be called.
    """
    name = getattr(categorical_column, "name", "")
    make = _checked(dimension, initializer, ckpt_to_load_from, tensor_name_in_ckpt, name)
    return EmbeddingColumn(
        categorical_column, dimension, combiner, make, ckpt_to_load_from, tensor_name_in_ckpt,
        max_norm, trainable, use_safe_embedding_lookup,
    )  # fmt: skip


class SharedEmbeddings(Module):
    """The table that several columns share.

    Args:
        shape: [ids, dimension].
        initializer: initializer of the table.
        trainable: whether training changes it.
        name: name of the variable.
    """

    def __init__(
        self, shape: tuple[int, int], initializer: Callable[..., Any], trainable: bool, name: str
    ) -> None:
        super().__init__()
        self._shape, self._initializer = shape, initializer
        self._trainable, self._table_name = trainable, name
        self._table: Variable | None = None

    @property
    def dimension(self) -> int:
        """The size of a row."""
        return self._shape[1]

    @property
    def embedding_weights(self) -> Variable:
        """The table, created on first use."""
        if self._table is None:
            with init_scope():
                self._table = Variable(
                    self._initializer(self._shape, dtypes.float32),
                    trainable=self._trainable,
                    name=self._table_name,
                )
        return self._table


@dataclass(frozen=True)
class SharedEmbeddingColumn(_OfCategories):
    """One of several columns that share a table; see `shared_embeddings`."""

    categorical_column: CategoricalColumn
    shared_embedding_column_creator: SharedEmbeddings
    combiner: str
    max_norm: float | None
    use_safe_embedding_lookup: bool = True
    _suffix = "_shared_embedding"

    @property
    def variable_shape(self) -> TensorShape:
        """[dimension]."""
        return TensorShape([self.shared_embedding_column_creator.dimension])

    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> Any:
        """The ids of the categorical column."""
        return transformation_cache.get(self.categorical_column, state_manager)

    def _dense(self, transformation_cache: Any, state_manager: Any) -> Tensor:
        pair = self.categorical_column.get_sparse_tensors(transformation_cache, state_manager)
        return _looked_up(self, self.shared_embedding_column_creator.embedding_weights, pair)


def shared_embeddings(
    categorical_columns: Sequence[CategoricalColumn],
    dimension: int,
    combiner: str = "mean",
    initializer: Callable[..., Any] | None = None,
    shared_embedding_collection_name: str | None = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
    use_safe_embedding_lookup: bool = True,
) -> list[SharedEmbeddingColumn]:
    """Dense columns that share one table, such as for words of two texts.

    TensorFlow has them in graphs only; here they also work in eager execution.

    Args:
        categorical_columns: categorical columns of one type, with the same number of ids.
        dimension: size of a row, at least 1.
        combiner: "mean", "sqrtn" or "sum": of the rows of one example.
        initializer: initializer of the table; truncated normal with a deviation of 1 /
            sqrt(dimension) if None.
        shared_embedding_collection_name: name of the table; the columns' names joined if None.
        ckpt_to_load_from: a checkpoint with the table to begin with.
        tensor_name_in_ckpt: its name there.
        max_norm: rows that are longer are scaled down to it.
        trainable: whether training changes the table.
        use_safe_embedding_lookup: whether an example may have no category, or negative ids.

    Returns:
        A column for each of the categorical ones, in their order.

    Raises:
        ValueError: columns of several types, or with other numbers of ids; else as
            `embedding_column`.
    """
    make = _checked(dimension, initializer, ckpt_to_load_from, tensor_name_in_ckpt, "shared")
    listed = sorted(categorical_columns, key=lambda column: column.name)
    first = listed[0]
    if not isinstance(first, CategoricalColumn):
        raise ValueError(  # noqa: TRY004 (TensorFlow's class)
            "All categorical_columns must be subclasses of CategoricalColumn. "
            f"Given: {first}, of type: {type(first).__name__}"
        )
    for column in listed[1:]:
        if type(_innermost(column)) is not type(_innermost(first)):
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same type, "
                "or be weighted_categorical_column or sequence column of the same type. Given "
                f"column: {column} does not match given column: {first}"
            )
        if column.num_buckets != first.num_buckets:
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same "
                f"number of buckets. Given column: {first} with buckets: {first.num_buckets} does "
                f"not match column: {column} with buckets: {column.num_buckets}"
            )
    joined = "_".join(column.name for column in listed)
    name = shared_embedding_collection_name or f"{joined}_shared_embedding"
    start = _started(make, ckpt_to_load_from, tensor_name_in_ckpt)
    table = SharedEmbeddings((first.num_buckets, dimension), start, trainable, name)
    return [
        SharedEmbeddingColumn(column, table, combiner, max_norm, use_safe_embedding_lookup)
        for column in categorical_columns
    ]


def _innermost(column: Any) -> Any:
    while isinstance(column, (WeightedCategoricalColumn, SequenceCategoricalColumn)):
        column = column.categorical_column
    return column
