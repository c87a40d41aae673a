"""The common interface of columns: name, parsing spec, and transformation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.feature_column.transformation import FeatureTransformationCache
    from pinnace.framework.shapes import TensorShape
    from pinnace.framework.tensor import Tensor
    from pinnace.ops.composites.sparse.tensor import SparseTensor


class IdWeights(NamedTuple):
    """The ids of a batch, a SparseTensor, and their weights at the same places; None for ones."""

    id_tensor: SparseTensor
    weight_tensor: SparseTensor | None


class PaddedSequences(NamedTuple):
    """Sequences padded to a common length, [b, t, ...], and their lengths, [b]."""

    dense_tensor: Tensor
    sequence_length: Tensor


class StateManager(Protocol):
    """The owner of columns' variables and tables: usually a layer."""

    def create_variable(
        self,
        feature_column: FeatureColumn,
        name: str,
        shape: Any,
        dtype: Any = None,
        trainable: bool = True,
        use_resource: bool = True,
        initializer: Callable[..., Any] | None = None,
    ) -> Any:
        """A new variable of a column."""

    def get_variable(self, feature_column: FeatureColumn, name: str) -> Any:
        """The variable of this name that `create_variable` made."""

    def add_resource(self, feature_column: FeatureColumn, name: str, resource: Any) -> None:
        """Store a table for a column."""

    def has_resource(self, feature_column: FeatureColumn, name: str) -> bool:
        """Whether `add_resource` stored a table of this name."""

    def get_resource(self, feature_column: FeatureColumn, name: str) -> Any:
        """A resource given to `add_resource`."""


class FeatureColumn(ABC):
    """A column: the features it reads, and its transformation of them.

    Columns are frozen dataclasses: equal ones are one key of a `FeatureTransformationCache`.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """The column's name; variables are named after it, and columns are sorted by it."""

    @property
    @abstractmethod
    def parse_example_spec(self) -> dict[str, Any]:
        """The spec for `tf.io.parse_example`, by feature key."""

    @property
    @abstractmethod
    def parents(self) -> list[Any]:
        """The columns and feature keys from which it is made."""

    @abstractmethod
    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> Any:
        """The transformed features.

        Args:
            transformation_cache: the features, and the columns' results so far.
            state_manager: holds variables and tables.
        """

    def create_state(self, state_manager: StateManager) -> None:  # noqa: B027 (most have no state)
        """Make its variables, once.

        Args:
            state_manager: holds them.
        """


class DenseColumn(FeatureColumn):
    """A column whose values are rows of numbers."""

    @property
    @abstractmethod
    def variable_shape(self) -> TensorShape:
        """The shape of its values, without the batch."""

    @abstractmethod
    def get_dense_tensor(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> Tensor:
        """The column's values for a batch, [b, *variable_shape], float32.

        Args:
            transformation_cache: the features.
            state_manager: holds variables and tables.
        """


class CategoricalColumn(FeatureColumn):
    """A column whose values are ids of categories."""

    IdWeightPair = IdWeights

    @property
    @abstractmethod
    def num_buckets(self) -> int:
        """The number of ids."""

    @abstractmethod
    def get_sparse_tensors(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> IdWeights:
        """The ids of a batch, and their weights.

        Args:
            transformation_cache: the features.
            state_manager: holds variables and tables.
        """


class SequenceDenseColumn(FeatureColumn):
    """A column whose values are sequences of rows of numbers."""

    TensorSequenceLengthPair = PaddedSequences

    @abstractmethod
    def get_sequence_dense_tensor(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> PaddedSequences:
        """The column's sequences for a batch, and their lengths.

        Args:
            transformation_cache: the features.
            state_manager: holds variables and tables.
        """


def sorted_columns(columns: Any) -> list[Any]:
    """Columns as a list, sorted by name.

    Args:
        columns: one or more columns.

    Raises:
        ValueError: there are no columns, two have the same name, or an item is no column.
    """
    if isinstance(columns, FeatureColumn):
        columns = [columns]
    if isinstance(columns, dict):
        raise ValueError("Expected feature_columns to be iterable, found dict.\n  Try: its values")  # noqa: TRY004 (TensorFlow's class)
    found: dict[str, FeatureColumn] = {}
    for column in columns:
        if not isinstance(column, FeatureColumn):
            raise ValueError(  # noqa: TRY004 (TensorFlow's class)
                "Items of feature_columns must be a FeatureColumn. "
                f"Given (type {type(column).__name__}): {column!r}"
            )
        if column.name in found:
            raise ValueError(
                f"Duplicate feature column name found for columns: {column} and "
                f"{found[column.name]}\n  Try: leave one out, or give one of the features "
                "another key in the features dict"
            )
        found[column.name] = column
    if not found:
        raise ValueError("feature_columns must not be empty.")
    return [found[name] for name in sorted(found)]


def require_string_key(key: Any) -> None:
    """Raise unless the feature key is a string.

    Raises:
        ValueError: the key is no string.
    """
    if not isinstance(key, str):
        raise ValueError(  # noqa: TRY004 (TensorFlow's class)
            f"key must be a string. Got: type {type(key).__name__}. Given key: {key!r}"
        )
