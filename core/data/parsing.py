"""Example messages to structures of tensors: TensorFlow's `tf.io.parse_example`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import DType, as_dtype
from pinnace.framework.errors import UnimplementedError
from pinnace.framework.shapes import Shape, as_shape
from pinnace.ops.execute import execute
from pinnace.ops.io import examples

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.framework.tensor import Tensor, TensorLike

_TYPES = (dtypes.float32, dtypes.int64, dtypes.string)


class FixedLenFeature(NamedTuple):
    """A feature that has the same number of values in every record.

    Attributes:
        shape: of its values.
        dtype: float32, int64 or string.
        default_value: what stands in where it is missing; None if it must not be.
    """

    shape: Any
    dtype: Any
    default_value: Any = None


class FixedLenSequenceFeature(NamedTuple):
    """A feature with any number of values of one shape; shorter ones are filled up.

    Attributes:
        shape: of one value.
        dtype: float32, int64 or string.
        allow_missing: must be True, as a missing one has no values.
        default_value: what to fill with.
    """

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


class VarLenFeature(NamedTuple):
    """A feature with any number of values, as a SparseTensor."""

    dtype: Any


class RaggedFeature(NamedTuple):
    """A feature with any number of values, as a RaggedTensor.

    Attributes:
        dtype: of its values.
        value_key: its key, if it is not the one in the dictionary.
        partitions: not supported.
        row_splits_dtype: of the row splits.
        validate: accepted.
    """

    dtype: Any
    value_key: Any = None
    partitions: Any = ()
    row_splits_dtype: Any = dtypes.int32
    validate: bool = False


def parse_example(
    serialized: TensorLike,
    features: Mapping[str, Any],
    example_names: Any = None,
    name: str | None = None,
) -> dict[str, Any]:
    """The features of Example messages.

    Args:
        serialized: [n], string; or [], one message.
        features: key -> FixedLenFeature, FixedLenSequenceFeature, VarLenFeature or RaggedFeature.
        example_names: accepted.
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
    del example_names
    if not features:
        raise ValueError("parse_example: features must name at least one feature, got none")
    dense, sparse, ragged = _by_kind(features)
    kinds = tuple(_kind(key, features[key]) for key in dense)
    shapes = tuple(_shape(key, features[key]) for key in dense)
    sparse_kinds = tuple(_kind(key, features[key]) for key in sparse)
    ragged_kinds = tuple(_kind(key, features[key]) for key in ragged)
    splits = tuple(as_dtype(features[key].row_splits_dtype) for key in ragged)
    defaults = [
        _default(key, features[key], kind, shape)
        for key, kind, shape in zip(dense, kinds, shapes, strict=True)
    ]
    outputs = execute(
        examples.PARSE_EXAMPLE_V2,
        serialized,
        _keys(()),
        _keys(sparse),
        _keys(dense),
        _keys([str(features[key].value_key or key) for key in ragged]),
        defaults,
        Tdense=kinds,
        num_sparse=len(sparse),
        sparse_types=sparse_kinds,
        ragged_value_types=ragged_kinds,
        ragged_split_types=splits,
        dense_shapes=shapes,
        name=name,
    )
    indices, values, sizes, found, ragged_values, row_splits = outputs
    parsed: dict[str, Any] = dict(zip(dense, found, strict=True))
    for position, key in enumerate(sparse):
        make = _composite("SparseTensor", key)
        parsed[key] = make(indices[position], values[position], sizes[position])
    single = convert_to_tensor(serialized).shape.rank == 0
    for position, key in enumerate(ragged):
        if single:
            parsed[key] = ragged_values[position]
        else:
            make = _composite("RaggedTensor", key)
            parsed[key] = make.from_row_splits(ragged_values[position], row_splits[position])
    return parsed


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


def _by_kind(features: Mapping[str, Any]) -> tuple[list[str], list[str], list[str]]:
    """The keys of dense, sparse and ragged features, sorted."""
    dense: list[str] = []
    sparse: list[str] = []
    ragged: list[str] = []
    for key in sorted(features):
        feature = features[key]
        if isinstance(feature, (FixedLenFeature, FixedLenSequenceFeature)):
            dense.append(key)
        elif isinstance(feature, VarLenFeature):
            sparse.append(key)
            _composite("SparseTensor", f"VarLenFeature {key!r}")
        elif isinstance(feature, RaggedFeature):
            if feature.partitions:
                raise UnimplementedError(
                    f"parse_example: feature {key!r}: partitions are not supported"
                )
            ragged.append(key)
            _composite("RaggedTensor", f"RaggedFeature {key!r}")
        else:
            raise TypeError(f"parse_example: feature {key!r} cannot be {feature!r}")
    return dense, sparse, ragged


def _keys(keys: Sequence[str]) -> Tensor:
    array = np.empty(len(keys), object)
    array[:] = [key.encode() for key in keys]
    return convert_to_tensor(array, dtypes.string)


def _kind(key: str, feature: Any) -> DType:
    kind = as_dtype(feature.dtype)
    if kind not in _TYPES:
        raise ValueError(
            f"parse_example: feature {key!r} must be float32, int64 or string, got {kind.name}"
        )
    return kind


def _shape(key: str, feature: Any) -> Shape:
    shape = as_shape(feature.shape)
    if not shape.is_fully_defined():
        raise ValueError(
            f"parse_example: the shape of feature {key!r} must be known in full, got {shape.text}"
        )
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
    return value


def _composite(name: str, what: str) -> Any:
    found = getattr(importlib.import_module("pinnace.ops.composites"), name, None)
    if found is None:
        raise UnimplementedError(f"parse_example: {what}: there is no {name} yet")
    return found
