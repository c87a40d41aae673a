"""Layers of feature columns: DenseFeatures and SequenceFeatures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Self, Unpack

from pinnace.feature_column.column import (
    DenseColumn,
    FeatureColumn,
    SequenceDenseColumn,
    sorted_columns,
)
from pinnace.feature_column.embeddings import SharedEmbeddingColumn, TruncatedNormal
from pinnace.feature_column.serialization import (
    deserialize_feature_column,
    serialize_feature_column,
)
from pinnace.feature_column.transformation import FeatureTransformationCache
from pinnace.framework.autotrackable import AutoTrackable
from pinnace.keras import initializers
from pinnace.keras.layer import Layer, LayerOptions
from pinnace.keras.layer_part import LayerPart
from pinnace.keras.registry import (
    deserialize_keras_object,
    get_registered_object,
    serialize_keras_object,
)
from pinnace.ops.array import joining, reshaping, shapes
from pinnace.ops.composites.checks import require_equal

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Tensor
    from pinnace.framework.variable import Variable

# Characters that are not allowed in a name scope.
_NO_SCOPE = re.compile(r"[^A-Za-z0-9_.\-]")


class _LayerState(LayerPart):
    """A layer's state manager: variables become its weights, tables its children."""

    _owner: ColumnsLayer

    def __init__(self, layer: Layer) -> None:
        super().__init__(layer)
        self._variables: dict[tuple[FeatureColumn, str], Variable] = {}
        self._tables: dict[tuple[FeatureColumn, str], Any] = {}

    def create_variable(
        self,
        feature_column: FeatureColumn,
        name: str,
        shape: Any,
        dtype: Any = None,
        trainable: bool = True,
        use_resource: bool = True,
        initializer: Callable[..., Any] | None = None,
    ) -> Variable:
        del use_resource  # every variable has one
        layer = self._owner
        made = layer.add_weight(
            # The name in Keras 2, and that of the child in checkpoints.
            name=f"{_NO_SCOPE.sub('_', feature_column.name)}/{name}",
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            trainable=trainable and layer.trainable,
        )
        self._variables[feature_column, name] = made
        return made

    def get_variable(self, feature_column: FeatureColumn, name: str) -> Variable:
        return self._variables[feature_column, name]

    def add_resource(self, feature_column: FeatureColumn, name: str, resource: Any) -> None:
        self._tables[feature_column, name] = resource
        self._owner.tables.append(resource)

    def has_resource(self, feature_column: FeatureColumn, name: str) -> bool:
        return (feature_column, name) in self._tables

    def get_resource(self, feature_column: FeatureColumn, name: str) -> Any:
        return self._tables[feature_column, name]


class _Tables(AutoTrackable):
    """The lookup tables of columns, saved with the layer."""

    def __init__(self) -> None:
        self._count = 0

    def append(self, table: Any) -> None:
        setattr(self, f"table_{self._count}", table)
        self._count += 1


class ColumnsLayer(Layer):
    """The base class of layers with feature columns.

    Args:
        feature_columns: one or more columns, of names of their own.
        expected: the class that they must have.
        **options: see Layer.
    """

    def __init__(
        self, feature_columns: Any, expected: type[Any], **options: Unpack[LayerOptions]
    ) -> None:
        super().__init__(**options)
        columns = tuple(sorted_columns(feature_columns))
        for column in columns:
            if not isinstance(column, expected):
                raise ValueError(  # noqa: TRY004 (TensorFlow's class)
                    f"Items of feature_columns must be a {expected.__name__}. You can wrap a "
                    "categorical column with an embedding_column or indicator_column. "
                    f"Given: {column}"
                )
        self.feature_columns = columns
        self._state = _LayerState(self)
        self.tables = _Tables()
        self._shared = [
            column.shared_embedding_column_creator
            for column in columns
            if isinstance(column, SharedEmbeddingColumn)
        ]

    def build(self, x: Any) -> None:
        """Create the columns' variables.

        Args:
            x: specs by feature key; not looked at.
        """
        del x
        for column in self.feature_columns:
            column.create_state(self._state)
        for shared in self._shared:
            shared.embedding_weights  # noqa: B018 (it is made when it is asked for)

    def _cache(self, features: Any) -> FeatureTransformationCache:
        if not isinstance(features, dict):
            raise ValueError(  # noqa: TRY004 (Keras' class)
                f"{type(self).__name__}: We expected a dictionary here. Instead we got: "
                f"{type(features).__name__}"
            )
        return FeatureTransformationCache(features)

    def get_config(self) -> dict[str, Any]:
        """The columns in Keras 2's form, and the layer's own arguments."""
        columns = [serialize_feature_column(column, _encoded) for column in self.feature_columns]
        own = {"name": self.name, "trainable": self.trainable, "dtype": self.dtype_policy.name}
        return {**own, "feature_columns": columns}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """The layer of a configuration, of Keras 2 too.

        Args:
            config: the result of `get_config`.
        """
        given = {key: value for key, value in config.items() if key != "partitioner"}
        columns = [deserialize_feature_column(c, _decoded) for c in given.pop("feature_columns")]
        return cls(feature_columns=columns, **given)


def _encoded(value: Any) -> Any:
    """The configuration of an initializer or function; the default one is named as in Keras."""
    if isinstance(value, TruncatedNormal):
        value = initializers.TruncatedNormal(0.0, value.stddev)
    return serialize_keras_object(value)


def _decoded(value: Any) -> Any:
    """The initializer or function of a configuration; Keras 2 stored functions by name alone."""
    if not isinstance(value, str):
        return deserialize_keras_object(value)
    found = get_registered_object(value)
    if found is None:
        raise ValueError(
            f"feature column: there is no function {value!r}\n"
            "  Try: custom_objects, or @register_keras_serializable()"
        )
    return found


class DenseFeatures(ColumnsLayer):
    """Dense feature columns as one tensor: [b, numbers], float32.

    Args:
        feature_columns: dense columns, such as `numeric_column`, `embedding_column`,
            `indicator_column`; those of categories must be wrapped.
        **options: see Layer.

    Shapes:
        A dict of features → [b, n]: the columns by their names.

    Raises:
        ValueError: a column that is not dense, or two of one name.

    Source:
        Keras 2 `DenseFeatures`.
    """

    # A Sequential model that begins with it takes a dict of features.
    takes_features = True

    def __init__(self, feature_columns: Any, **options: Unpack[LayerOptions]) -> None:
        super().__init__(feature_columns, DenseColumn, **options)

    def __call__(self, features: Any, cols_to_output_tensors: Any = None, **options: Any) -> Any:
        """The columns' concatenated output, and each column's output if requested.

        Args:
            features: tensors, SparseTensors and RaggedTensors by feature key.
            cols_to_output_tensors: a dict that is filled with the numbers of each column.
            **options: `training`, which no column looks at.
        """
        found = super().__call__(features, **options)
        if cols_to_output_tensors is not None:
            parts = joining.split(found, self._sizes(), axis=1)
            cols_to_output_tensors.update(zip(self.feature_columns, parts, strict=True))
        return found

    def call(self, features: Any, training: Any = None) -> Tensor:
        """The columns' concatenated output.

        Args:
            features: tensors, SparseTensors and RaggedTensors by feature key.
            training: not used: no column looks at it.
        """
        del training
        cache = self._cache(features)
        found = []
        for column, size in zip(self.feature_columns, self._sizes(), strict=True):
            x = column.get_dense_tensor(cache, self._state)
            found.append(reshaping.reshape(x, joining.stack([shapes.shape(x)[0], size])))
        return joining.concat(found, 1)

    def _sizes(self) -> list[int]:
        return [int(c.variable_shape.num_elements() or 0) for c in self.feature_columns]

    def compute_output_shape(self, features_shape: Any) -> Any:
        """[b, n]."""
        rows = next(iter(features_shape.values()))[0] if features_shape else None
        return (rows, sum(self._sizes()))


class SequenceFeatures(ColumnsLayer):
    """Sequence feature columns as one tensor, [b, t, numbers], and the lengths, [b].

    Args:
        feature_columns: columns of sequences: `sequence_numeric_column`, or an embedding or
            indicator column of a `sequence_categorical_column_with_*`.
        **options: see Layer.

    Shapes:
        A dict of features → [b, steps, numbers], and lengths [b].

    Raises:
        ValueError: a column that has no sequences, or two of one name.

    Source:
        Keras 2 `SequenceFeatures`.
    """

    def __init__(self, feature_columns: Any, **options: Unpack[LayerOptions]) -> None:
        super().__init__(feature_columns, SequenceDenseColumn, **options)

    def call(self, features: Any, training: Any = None) -> tuple[Tensor, Tensor]:
        """The columns' concatenated output, and the lengths of the sequences.

        Args:
            features: SparseTensors and RaggedTensors by feature key.
            training: not used: no column looks at it.

        Raises:
            InvalidArgumentError: the features have sequences of other lengths.
        """
        del training
        cache = self._cache(features)
        found, lengths = [], []
        for column in self.feature_columns:
            x, length = column.get_sequence_dense_tensor(cache, self._state)
            size = int(column.variable_shape.num_elements() or 0)
            sizes = shapes.shape(x)
            found.append(reshaping.reshape(x, joining.stack([sizes[0], sizes[1], size])))
            lengths.append(length)
        for column, length in zip(self.feature_columns[1:], lengths[1:], strict=True):
            require_equal(
                length,
                lengths[0],
                f"SequenceFeatures: lengths of {column.name} and {self.feature_columns[0].name}",
            )
        return joining.concat(found, 2), lengths[0]
