"""The features of a batch, and the transformed columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.feature_column.column import FeatureColumn
from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.ops.array import casting, gathering, joining, reshaping, selecting, shapes
from pinnace.ops.composites.ragged.tensor import RaggedTensor
from pinnace.ops.composites.sparse import functions as sparse
from pinnace.ops.composites.sparse.tensor import SparseTensor
from pinnace.ops.math import arithmetic, comparison, division, reduction, rounding, segments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.feature_column.column import StateManager
    from pinnace.framework.tensor import Tensor


class FeatureTransformationCache:
    """A batch's cache: each feature is converted, and each column computed, once.

    Args:
        features: tensors, SparseTensors and RaggedTensors by feature key; a column may be a key
            too, in place of what it would compute.
    """

    def __init__(self, features: Mapping[Any, Any]) -> None:
        self._features = dict(features)
        self._computed: dict[Any, Any] = {}

    def get(self, key: Any, state_manager: StateManager | None, training: Any = None) -> Any:
        """The value of a feature or of a column.

        Args:
            key: a feature key or a column.
            state_manager: holds the columns' variables and tables.
            training: not used: no column looks at it.

        Returns:
            For a feature a tensor, SparseTensor, or the like; an axis of size 1 is appended to rank
            1. For a column, the result of its `transform_feature`.

        Raises:
            ValueError: the features lack it, or it is a scalar.
            TypeError: neither a key nor a column.
        """
        del training
        if key not in self._computed:
            self._computed[key] = self._value(key, state_manager)
        return self._computed[key]

    def _value(self, key: Any, state_manager: StateManager | None) -> Any:
        if key in self._features:
            return _at_least_a_matrix(key, self._features[key])
        if isinstance(key, str):
            raise ValueError(  # noqa: TRY004 (TensorFlow's class)
                f"Feature {key} is not in features dictionary.\n"
                f"  it has {', '.join(sorted(map(str, self._features)))}"
            )
        if not isinstance(key, FeatureColumn):
            raise TypeError(f'"key" must be either a "str" or "FeatureColumn". Provided: {key!r}')
        return key.transform_feature(self, state_manager)


def _at_least_a_matrix(key: Any, value: Any) -> Any:
    if isinstance(value, RaggedTensor):
        value = value.to_sparse()
    if not isinstance(value, SparseTensor):
        is_sparse = isinstance(value, tuple) and hasattr(value, "dense_shape")
        value = SparseTensor.from_value(value) if is_sparse else convert_to_tensor(value)
    rank = value.shape.rank
    if rank is None:
        raise ValueError(
            f"Feature (key: {key}) must have a known rank. Given: {value}\n"
            "  Try: set_shape, or tf.ensure_shape"
        )
    if rank == 0:
        raise ValueError(f"Feature (key: {key}) cannot have rank 0. Given: {value}")
    if rank > 1:
        return value
    if isinstance(value, SparseTensor):
        return sparse.expand_dims(value, -1)
    return reshaping.expand_dims(value, -1)


def without_ignored(value: Any, ignored: Any = None) -> SparseTensor:
    """A tensor as a sparse one, without missing values.

    Args:
        value: a SparseTensor, which is given back as it is, or a tensor.
        ignored: the value of missing entries; if None, "" among strings, -1 among integers, 0 among
            floats.
    """
    if isinstance(value, SparseTensor):
        return value
    x = convert_to_tensor(value)
    if ignored is None:
        ignored = "" if x.dtype is dtypes.string else -1 if x.dtype.is_integer else 0
    if x.dtype is not dtypes.string:
        # Converted as in C: -1 becomes the largest value of an unsigned dtype.
        ignored = np.asarray(ignored).astype(x.dtype.numpy)
    places = selecting.where(comparison.not_equal(x, convert_to_tensor(ignored, x.dtype)))
    sizes = shapes.shape(x, out_type=dtypes.int64)
    return SparseTensor(places, gathering.gather_nd(x, places), sizes)


def sequence_lengths(x: SparseTensor, elements: int = 1) -> Tensor:
    """The length of each row's sequence, [b], int64: up to its last value.

    Args:
        x: [b, t, ...].
        elements: how many values of the second axis are one step; a last step may be short.
    """
    rows, ends = x.indices[:, 0], arithmetic.add(x.indices[:, 1], np.int64(1))
    # The lowest integer where a row has no values.
    last = segments.unsorted_segment_max(ends, rows, x.dense_shape[0])
    values = arithmetic.maximum(last, np.int64(0))
    if elements == 1:
        return values
    steps = division.divide(values, np.int64(elements))
    return casting.cast(rounding.ceil(steps), dtypes.int64)


def as_steps(x: SparseTensor) -> SparseTensor:
    """[b, t, ...] as [b, t, n]: the values of a step along one axis, which is added if missing."""
    step = reduction.reduce_prod(x.dense_shape[2:], keepdims=True)
    return sparse.reshape(x, joining.concat([x.dense_shape[:2], step], 0))
