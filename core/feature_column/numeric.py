"""Numeric columns: plain, bucketized, and sequences."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.feature_column.column import (
    CategoricalColumn,
    DenseColumn,
    IdWeights,
    PaddedSequences,
    SequenceDenseColumn,
    require_string_key,
)
from pinnace.feature_column.transformation import sequence_lengths
from pinnace.framework import dtypes
from pinnace.framework.shapes import TensorShape
from pinnace.ops.array import casting, indicators, joining, reshaping, shapes
from pinnace.ops.composites.parsing import FixedLenFeature, VarLenFeature
from pinnace.ops.composites.sparse import functions as sparse
from pinnace.ops.composites.sparse.tensor import SparseTensor
from pinnace.ops.execute import execute_one
from pinnace.ops.math import arithmetic, counting, ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.feature_column.column import StateManager
    from pinnace.feature_column.transformation import FeatureTransformationCache
    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Tensor

_MATRIX = 2


@dataclass(frozen=True)
class NumericColumn(DenseColumn):
    """Numbers of a fixed shape; see `numeric_column`."""

    key: str
    shape: tuple[int, ...]
    default_value: Any
    dtype: DType
    normalizer_fn: Callable[[Tensor], Any] | None

    @property
    def name(self) -> str:
        """The feature key."""
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """A feature of fixed length."""
        return {self.key: FixedLenFeature(self.shape, self.dtype, self.default_value)}

    @property
    def parents(self) -> list[Any]:
        """The feature key."""
        return [self.key]

    @property
    def variable_shape(self) -> TensorShape:
        """The shape that it was given."""
        return TensorShape(self.shape)

    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> Tensor:
        """The numbers, normalised, as float32."""
        x = transformation_cache.get(self.key, state_manager)
        if isinstance(x, SparseTensor):
            raise ValueError(  # noqa: TRY004 (TensorFlow's class)
                "The corresponding Tensor of numerical column must be a Tensor. SparseTensor is "
                f"not supported. key: {self.key}\n  Try: tf.sparse.to_dense"
            )
        if self.normalizer_fn is not None:
            x = self.normalizer_fn(x)
        return casting.cast(x, dtypes.float32)

    def get_dense_tensor(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> Tensor:
        """The numbers, [b, *shape]."""
        return transformation_cache.get(self, state_manager)  # type: ignore[no-any-return]


def numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: Any = None,
    dtype: Any = dtypes.float32,
    normalizer_fn: Callable[[Tensor], Any] | None = None,
) -> NumericColumn:
    """A column of numbers.

    Args:
        key: key of the feature.
        shape: shape of the numbers of one example: an integer, or several.
        default_value: the value if an example lacks the feature: a number, or numbers of that
            shape; None if none may lack it.
        dtype: dtype of the numbers as they are parsed: integers or floats.
        normalizer_fn: is called with the numbers, [b, *shape], and returns the normalized ones.

    Raises:
        ValueError: a dtype that is no number's; a shape with a size below 1; a default of another
            shape.
        TypeError: a normalizer that cannot be called; a default of another dtype.
    """
    require_string_key(key)
    sizes = _checked_shape(shape, key)
    kind = _number_dtype(dtype, key)
    default = _checked_default(sizes, default_value, kind, key)
    _require_callable(normalizer_fn)
    return NumericColumn(key, sizes, default, kind, normalizer_fn)


def _checked_shape(shape: Any, key: str) -> tuple[int, ...]:
    sizes = tuple(shape) if isinstance(shape, (list, tuple, TensorShape)) else (shape,)
    for size in sizes:
        if not isinstance(size, int):
            raise TypeError(f"shape dimensions must be integer. shape: {shape}, key: {key}")
        if size < 1:
            raise ValueError(f"shape dimensions must be greater than 0. shape: {shape}, key: {key}")
    return sizes


def _number_dtype(dtype: Any, key: str) -> DType:
    kind = dtypes.as_dtype(dtype)
    if not (kind.is_integer or kind.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {kind.name}, key: {key}")
    return kind


def _require_callable(normalizer_fn: Any) -> None:
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn!r}")


def _checked_default(shape: tuple[int, ...], value: Any, dtype: DType, key: str) -> Any:
    """The default as nested tuples of the given shape."""
    if value is None:
        return None
    numbers = np.asarray(value)
    if numbers.dtype.kind not in "iub" and not (numbers.dtype.kind == "f" and dtype.is_floating):
        raise TypeError(
            "default_value must be compatible with dtype. "
            f"default_value: {value}, dtype: {dtype.name}, key: {key}"
        )
    if numbers.ndim == 0:
        numbers = np.full(shape, numbers)
    if numbers.shape != shape:
        raise ValueError(
            "The shape of default_value must be equal to given shape. "
            f"default_value: {value}, shape: {shape}, key: {key}"
        )
    return _as_tuples(numbers.tolist())


def _as_tuples(value: Any) -> Any:
    return tuple(_as_tuples(x) for x in value) if isinstance(value, list) else value


@dataclass(frozen=True)
class BucketizedColumn(DenseColumn, CategoricalColumn):
    """Numbers replaced by their bucket; see `bucketized_column`."""

    source_column: NumericColumn
    boundaries: tuple[float, ...]

    @property
    def name(self) -> str:
        """The numeric column's name and `_bucketized`."""
        return f"{self.source_column.name}_bucketized"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The parsing spec of the numeric column."""
        return self.source_column.parse_example_spec

    @property
    def parents(self) -> list[Any]:
        """The numeric column."""
        return [self.source_column]

    @property
    def variable_shape(self) -> TensorShape:
        """[*source, buckets]."""
        return TensorShape((*self.source_column.shape, len(self.boundaries) + 1))

    @property
    def num_buckets(self) -> int:
        """The number of buckets over all of the source's numbers."""
        return (len(self.boundaries) + 1) * self.source_column.shape[0]

    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> Tensor:
        """The bucket of each number, int32."""
        x = transformation_cache.get(self.source_column, state_manager)
        return execute_one(counting.BUCKETIZE, x, boundaries=self.boundaries)

    def get_dense_tensor(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> Tensor:
        """1 in the bucket of each number, 0 in the others."""
        buckets = transformation_cache.get(self, state_manager)
        return indicators.one_hot(buckets, len(self.boundaries) + 1, dtype=dtypes.float32)

    def get_sparse_tensors(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> IdWeights:
        """The bucket of each number as an id; the second number's ids follow the first's."""
        buckets = transformation_cache.get(self, state_manager)
        size = self.source_column.shape[0]
        ids = arithmetic.add(buckets, np.arange(size, dtype=np.int32) * (len(self.boundaries) + 1))
        rows = casting.cast(shapes.shape(buckets)[0], dtypes.int64)
        count = arithmetic.multiply(rows, np.int64(size))
        places = ranges.range(count)
        indices = joining.stack([places // np.int64(size), places % np.int64(size)], 1)
        shape = joining.stack([rows, np.int64(size)])
        return IdWeights(SparseTensor(indices, reshaping.reshape(ids, [-1]), shape), None)


def bucketized_column(
    source_column: NumericColumn, boundaries: Sequence[float]
) -> BucketizedColumn:
    """A numeric column cut into buckets: `[0., 1.]` makes (-inf, 0), [0, 1) and [1, inf).

    Args:
        source_column: a numeric column of rank 1.
        boundaries: a sorted list or tuple of numbers.

    Raises:
        ValueError: unknown column, no boundaries, or some that do not rise.
    """
    if not isinstance(source_column, NumericColumn):
        raise ValueError(  # noqa: TRY004 (TensorFlow's class)
            "source_column must be a column generated with numeric_column(). "
            f"Given: {source_column}"
        )
    if len(source_column.shape) > 1:
        raise ValueError(f"source_column must be one-dimensional column. Given: {source_column}")
    if not boundaries:
        raise ValueError("boundaries must not be empty.")
    if not isinstance(boundaries, (list, tuple)) or any(
        a >= b for a, b in itertools.pairwise(boundaries)
    ):
        raise ValueError(f"boundaries must be a sorted list. Given: {boundaries}")
    return BucketizedColumn(source_column, tuple(boundaries))


@dataclass(frozen=True)
class SequenceNumericColumn(SequenceDenseColumn):
    """Sequences of numbers; see `sequence_numeric_column`."""

    key: str
    shape: tuple[int, ...]
    default_value: float
    dtype: DType
    normalizer_fn: Callable[[Any], Any] | None

    @property
    def name(self) -> str:
        """The feature key."""
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """A feature of any length."""
        return {self.key: VarLenFeature(self.dtype)}

    @property
    def parents(self) -> list[Any]:
        """The feature key."""
        return [self.key]

    @property
    def variable_shape(self) -> TensorShape:
        """The shape of one step."""
        return TensorShape(self.shape)

    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> Any:
        """The numbers, a SparseTensor, normalised."""
        x = transformation_cache.get(self.key, state_manager)
        return x if self.normalizer_fn is None else self.normalizer_fn(x)

    def get_sequence_dense_tensor(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> PaddedSequences:
        """[b, t, *shape], and the lengths of the sequences."""
        x = transformation_cache.get(self, state_manager)
        if not isinstance(x, SparseTensor):
            raise ValueError(  # noqa: TRY004 (as other columns do)
                f"sequence_numeric_column {self.key}: the feature must be a SparseTensor or a "
                f"RaggedTensor, got {x!r}\n  Try: tf.sparse.from_dense"
            )
        dense = sparse.to_dense(x, self.default_value)
        sizes = joining.concat([shapes.shape(dense)[:1], np.array([-1, *self.shape], np.int32)], 0)
        # For a matrix, the values of a step are concatenated; else they keep their axes.
        elements = int(np.prod(self.shape)) if x.shape.rank == _MATRIX else 1
        return PaddedSequences(reshaping.reshape(dense, sizes), sequence_lengths(x, elements))


def sequence_numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: float = 0.0,
    dtype: Any = dtypes.float32,
    normalizer_fn: Callable[[Any], Any] | None = None,
) -> SequenceNumericColumn:
    """A column of sequences of numbers, for `SequenceFeatures`.

    Args:
        key: key of the feature: a SparseTensor, [b, values] or [b, t, *shape].
        shape: shape of one step.
        default_value: fills up sequences that are shorter than the longest.
        dtype: dtype of the numbers.
        normalizer_fn: is called with the SparseTensor and gives the one that is used.

    Raises:
        ValueError: a dtype that is no number's; a shape with a size below 1.
        TypeError: a normalizer that cannot be called.
    """
    sizes = _checked_shape(shape, key)
    kind = _number_dtype(dtype, key)
    _require_callable(normalizer_fn)
    return SequenceNumericColumn(key, sizes, default_value, kind, normalizer_fn)
