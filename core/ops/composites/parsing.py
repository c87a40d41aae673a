"""Example and SequenceExample messages parsed to structures of tensors: `tf.io.parse_example`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import DType, as_dtype
from pinnace.framework.errors import UnimplementedError
from pinnace.framework.no_effect import ignored
from pinnace.framework.shapes import Shape, as_shape
from pinnace.framework.tensor import is_tensor
from pinnace.ops.array import reshaping
from pinnace.ops.composites.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
    assembled,
    parts_of,
)
from pinnace.ops.composites.ragged.tensor import RaggedTensor
from pinnace.ops.composites.sparse.tensor import SparseTensor
from pinnace.ops.execute import execute
from pinnace.ops.io import examples, sequence_examples

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.framework.tensor import Tensor, TensorLike

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "RaggedFeature",
    "SparseFeature",
    "VarLenFeature",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
]

_TYPES = (dtypes.float32, dtypes.int64, dtypes.string)


class _Wanted:
    """The arguments of the parsing op from which all features can be made.

    Attributes:
        dense: keys of dense features, sorted.
        sparse: (key, dtype) of what is parsed as sparse, once each.
        ragged: (key, dtype, row_splits_dtype) of what is parsed as ragged, once each.
    """

    def __init__(self, features: Mapping[str, Any], who: str) -> None:
        self.features = features
        self.who = who
        self.dense: list[str] = []
        self.sparse: list[tuple[str, DType]] = []
        self.ragged: list[tuple[str, DType, DType]] = []
        for key in sorted(features):
            feature = features[key]
            if isinstance(feature, (FixedLenFeature, FixedLenSequenceFeature)):
                self.dense.append(key)
                continue
            sparse, ragged = parts_of(key, feature, who)
            for name, kind in sparse:
                self._once(self.sparse, (name, _kind(key, kind, who)))
            for name, kind, split in ragged:
                self._once(self.ragged, (name, _kind(key, kind, who), split))

    @staticmethod
    def _once(found: list[Any], entry: Any) -> None:
        if entry not in found:
            found.append(entry)

    @property
    def kinds(self) -> tuple[DType, ...]:
        """The dtypes of the dense features."""
        return tuple(_kind(key, self.features[key].dtype, self.who) for key in self.dense)

    def packed(
        self, dense: Sequence[Any], sparse: Sequence[SparseTensor], ragged: Sequence[Any]
    ) -> dict[str, Any]:
        """All features from the op's results, in the order of the keys."""
        by_dense = dict(zip(self.dense, dense, strict=True))
        by_sparse = dict(zip(self.sparse, sparse, strict=True))
        by_ragged = dict(zip(self.ragged, ragged, strict=True))
        return {
            key: by_dense[key] if key in by_dense else assembled(key, feature, by_sparse, by_ragged)
            for key, feature in self.features.items()
        }


def parse_example(
    serialized: TensorLike,
    features: Mapping[str, Any],
    example_names: Any = None,
    name: str | None = None,
) -> dict[str, Any]:
    """The features of Example messages.

    Args:
        serialized: [n], string; or [], one message.
        features: key -> FixedLenFeature, FixedLenSequenceFeature, VarLenFeature, SparseFeature or
            RaggedFeature.
        example_names: [n], string: names of the messages for errors; accepted.
        name: name of the node while tracing.

    Returns:
        Key -> tensor [n, *shape], SparseTensor or RaggedTensor.

    Raises:
        ValueError: no features, or one that cannot be.
        InvalidArgumentError: a record is no Example, lacks a feature that must be there, or has one
            of another type or number of values.

    Source:
        TensorFlow op `ParseExampleV2` (parsing_ops.cc).
    """
    ignored("parse_example", "errors tell the number of an example", example_names=example_names)
    if not features:
        raise ValueError("parse_example: features must name at least one feature, got none")
    wanted = _Wanted(features, "parse_example")
    message = convert_to_tensor(serialized, dtypes.string)
    shapes = tuple(_shape(key, features[key]) for key in wanted.dense)
    defaults = [
        _default(key, features[key], kind, shape)
        for key, kind, shape in zip(wanted.dense, wanted.kinds, shapes, strict=True)
    ]
    outputs = execute(
        examples.PARSE_EXAMPLE_V2,
        message,
        _keys(()),
        _keys([key for key, _ in wanted.sparse]),
        _keys(wanted.dense),
        _keys([key for key, _, _ in wanted.ragged]),
        defaults,
        Tdense=wanted.kinds,
        num_sparse=len(wanted.sparse),
        sparse_types=tuple(kind for _, kind in wanted.sparse),
        ragged_value_types=tuple(kind for _, kind, _ in wanted.ragged),
        ragged_split_types=tuple(split for _, _, split in wanted.ragged),
        dense_shapes=shapes,
        name=name,
    )
    indices, values, sizes, dense, ragged_values, splits = outputs
    single = message.shape.rank == 0
    return wanted.packed(
        dense,
        [SparseTensor(*parts) for parts in zip(indices, values, sizes, strict=True)],
        _rows(ragged_values, splits, single),
    )


def _rows(values: Sequence[Any], splits: Sequence[Any], single: bool) -> list[Any]:
    if single:
        return list(values)
    pairs = zip(values, splits, strict=True)
    return [RaggedTensor(flat, rows, internal=True) for flat, rows in pairs]


def parse_single_example(
    serialized: TensorLike,
    features: Mapping[str, Any],
    example_names: Any = None,
    name: str | None = None,
) -> dict[str, Any]:
    """The features of one Example message; see `parse_example`.

    Args:
        serialized: [], string.
        features: key -> feature.
        example_names: accepted.
        name: name of the node while tracing.
    """
    message = convert_to_tensor(serialized)
    if message.shape.rank not in {0, None}:
        raise ValueError(
            f"parse_single_example: serialized must be a scalar, got shape {message.shape.text}\n"
            "  Try: parse_example"
        )
    return parse_example(message, features, example_names, name)


def parse_sequence_example(
    serialized: TensorLike,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_names: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The features of SequenceExample messages.

    Args:
        serialized: [n], string.
        context_features: key -> FixedLenFeature, VarLenFeature, SparseFeature or RaggedFeature of
            a message as a whole.
        sequence_features: key -> FixedLenSequenceFeature, VarLenFeature, SparseFeature or
            RaggedFeature of its steps.
        example_names: accepted.
        name: name of the node while tracing.

    Returns:
        The context features; the sequence features, [n, steps, ...], filled up with zeros where
        they are dense; and key -> [n], the number of steps, for the dense ones.

    Raises:
        ValueError: no features at all, or one that cannot be.
        InvalidArgumentError: a record is no SequenceExample, or lacks what must be there.

    Source:
        TensorFlow op `ParseSequenceExampleV2` (parsing_ops.cc).
    """
    ignored(
        "parse_sequence_example",
        "errors tell the number of an example",
        example_names=example_names,
    )
    message = convert_to_tensor(serialized, dtypes.string)
    return _parse_sequences(message, context_features, sequence_features, name)


def parse_single_sequence_example(
    serialized: TensorLike,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The features of one SequenceExample message; see `parse_sequence_example`.

    Args:
        serialized: [], string.
        context_features: key -> feature of the message as a whole.
        sequence_features: key -> feature of its steps.
        example_name: accepted.
        name: name of the node while tracing.

    Returns:
        The context features, and the sequence features, [steps, ...].
    """
    ignored(
        "parse_single_sequence_example",
        "errors tell the number of an example",
        example_name=example_name,
    )
    message = convert_to_tensor(serialized, dtypes.string)
    if message.shape.rank not in {0, None}:
        raise ValueError(
            "parse_single_sequence_example: serialized must be a scalar, got shape "
            f"{message.shape.text}\n  Try: parse_sequence_example"
        )
    context, sequence, _ = _parse_sequences(message, context_features, sequence_features, name)
    return context, sequence


def _parse_sequences(
    message: Tensor,
    context_features: Mapping[str, Any] | None,
    sequence_features: Mapping[str, Any] | None,
    name: str | None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    who = "parse_sequence_example"
    if not context_features and not sequence_features:
        raise ValueError(f"{who}: at least one feature must be named, got none")
    context = _Wanted(context_features or {}, who)
    lists = _Wanted(sequence_features or {}, who)
    for key in context.dense:
        if not isinstance(context.features[key], FixedLenFeature):
            raise ValueError(f"{who}: context feature {key!r} cannot be a sequence")  # noqa: TRY004 (TensorFlow's class)
    for key, feature in lists.features.items():
        if isinstance(feature, RaggedFeature) and feature.partitions:
            raise UnimplementedError(
                f"{who}: sequence feature {key!r} cannot have partitions: its steps are its rows"
            )
    for key in lists.dense:
        if not isinstance(lists.features[key], FixedLenSequenceFeature):
            raise ValueError(  # noqa: TRY004 (TensorFlow's class)
                f"{who}: sequence feature {key!r} must be a FixedLenSequenceFeature, got "
                f"{lists.features[key]!r}"
            )
    shapes = tuple(_shape(key, context.features[key]) for key in context.dense)
    defaults = [
        _default(key, context.features[key], kind, shape)
        for key, kind, shape in zip(context.dense, context.kinds, shapes, strict=True)
    ]
    outputs = execute(
        sequence_examples.PARSE_SEQUENCE_EXAMPLE_V2,
        message,
        _keys(()),
        _keys([key for key, _ in context.sparse]),
        _keys(context.dense),
        _keys([key for key, _, _ in context.ragged]),
        _keys([key for key, _ in lists.sparse]),
        _keys(lists.dense),
        _keys([key for key, _, _ in lists.ragged]),
        np.array([bool(lists.features[key].allow_missing) for key in lists.dense], bool),
        defaults,
        Tcontext_dense=context.kinds,
        Ncontext_sparse=len(context.sparse),
        context_sparse_types=tuple(kind for _, kind in context.sparse),
        context_ragged_value_types=tuple(kind for _, kind, _ in context.ragged),
        context_ragged_split_types=tuple(split for _, _, split in context.ragged),
        context_dense_shapes=shapes,
        Nfeature_list_sparse=len(lists.sparse),
        Nfeature_list_dense=len(lists.dense),
        feature_list_dense_types=lists.kinds,
        feature_list_sparse_types=tuple(kind for _, kind in lists.sparse),
        feature_list_ragged_value_types=tuple(kind for _, kind, _ in lists.ragged),
        feature_list_ragged_split_types=tuple(split for _, _, split in lists.ragged),
        feature_list_dense_shapes=tuple(
            _whole_shape(key, lists.features[key]) for key in lists.dense
        ),
        name=name,
    )
    single = message.shape.rank == 0
    sparse = [SparseTensor(*parts) for parts in zip(*outputs[0:3], strict=True)]
    found = context.packed(outputs[3], sparse, _rows(outputs[4], outputs[5], single))
    deep_sparse = [SparseTensor(*parts) for parts in zip(*outputs[6:9], strict=True)]
    deep_ragged = []
    for values, outer, inner in zip(*outputs[11:14], strict=True):
        steps = RaggedTensor(values, inner, internal=True)
        deep_ragged.append(steps if single else RaggedTensor(steps, outer, internal=True))
    sequence = lists.packed(outputs[9], deep_sparse, deep_ragged)
    return found, sequence, dict(zip(lists.dense, outputs[10], strict=True))


def _keys(keys: Sequence[str]) -> Tensor:
    array = np.empty(len(keys), object)
    array[:] = [key.encode() if isinstance(key, str) else key for key in keys]
    return convert_to_tensor(array, dtypes.string)


def _kind(key: str, dtype: Any, who: str) -> DType:
    kind = as_dtype(dtype)
    if kind not in _TYPES:
        raise ValueError(
            f"{who}: feature {key!r} must be float32, int64 or string, got {kind.name}"
        )
    return kind


def _whole_shape(key: str, feature: Any) -> Shape:
    shape = as_shape(feature.shape)
    if not shape.is_fully_defined():
        raise ValueError(
            f"parse_example: the shape of feature {key!r} must be known in full, got {shape.text}"
        )
    return shape


def _shape(key: str, feature: Any) -> Shape:
    shape = _whole_shape(key, feature)
    if isinstance(feature, FixedLenSequenceFeature):
        if not feature.allow_missing:
            raise ValueError(
                f"parse_example: FixedLenSequenceFeature {key!r} must have allow_missing=True"
            )
        return Shape((None,)) + shape
    return shape


def _default(key: str, feature: Any, kind: DType, shape: Shape) -> Any:
    empty = np.empty(0, kind.numpy)
    if isinstance(feature, FixedLenSequenceFeature):
        if feature.default_value is None:
            return convert_to_tensor(
                np.full((), b"" if kind is dtypes.string else 0, kind.numpy), kind
            )
        return convert_to_tensor(feature.default_value, kind)
    if feature.default_value is None:
        return convert_to_tensor(empty, kind)
    value = convert_to_tensor(feature.default_value, kind)
    count = shape.num_elements()
    if value.shape.num_elements() not in {1, count}:
        raise ValueError(
            f"parse_example: the default of feature {key!r} must have shape {shape.text}, "
            f"got {value.shape.text}"
        )
    if not is_tensor(feature.default_value) and value.shape.num_elements() == count:
        return reshaping.reshape(value, shape)  # in any shape, like TensorFlow
    return value
