"""Nested Python values ↔ StructuredValue."""

from __future__ import annotations

import functools
from collections import namedtuple
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from pinnace.framework import structure
from pinnace.framework.composite import (
    CompositeSpec,
    name_in_files,
    registered_name,
    spec_class,
)
from pinnace.framework.dtypes import DType
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec, TypeSpec
from pinnace.framework.tensor import Array, Tensor, wrap
from pinnace.graph.codec.dtypes import decode_dtype
from pinnace.graph.codec.shapes import decode_shape, encode_shape
from pinnace.graph.codec.tensors import decode_tensor, encode_tensor
from pinnace.proto.struct_pb2 import StructuredValue, TensorSpecProto, TypeSpecProto

_INT64 = range(-(1 << 63), 1 << 63)


class NotEncodable(Exception):  # noqa: N818 (an answer; see `encodable`)
    """A value that a SavedModel cannot hold."""


class OpaqueSpec(TypeSpec):
    """The spec of a composite value of an unknown class, as stored.

    A function with such arguments or results can be loaded and saved again, but not called.
    """

    __slots__ = ("message",)

    def __init__(self, message: TypeSpecProto) -> None:
        self.message = message

    @property
    def name(self) -> str:
        """The class of the spec."""
        known = TypeSpecProto.TypeSpecClass.values()
        number = self.message.type_spec_class
        return self.message.type_spec_class_name or (
            TypeSpecProto.TypeSpecClass.Name(number) if number in known else f"class {number}"
        )

    @property
    def tensors(self) -> int:
        """The number of component tensors; 0 if it is not in the file."""
        return max(self.message.num_flat_components, 0)

    @property
    def value_type(self) -> type:
        """Unknown."""
        return object

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Whether it is the same spec."""
        return self == spec_or_value

    def is_subtype_of(self, other: object) -> bool:
        """Whether it is the same spec."""
        return self == other

    def most_specific_common_supertype(self, others: Sequence[object]) -> Self | None:
        """Itself, if all are equal."""
        return self if all(self == other for other in others) else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpaqueSpec) and self.message == other.message

    def __hash__(self) -> int:
        return hash(self.message.SerializeToString(deterministic=True))

    def __repr__(self) -> str:
        return f"<{self.name}>"


def encodable(value: Any) -> bool:
    """Whether a SavedModel can represent the value."""
    try:
        encode_structure(value)
    except NotEncodable:
        return False
    return True


def encode_structure(value: Any) -> StructuredValue:
    """Encode a nested value of None, numbers, strings, tensors, arrays, shapes, dtypes and specs.

    Raises:
        NotEncodable: the value contains anything else.
    """
    message = StructuredValue()
    _fill(message, value)
    return message


def _fill(message: StructuredValue, value: Any) -> None:
    if value is None:
        message.none_value.SetInParent()
    elif isinstance(value, (bool, int, float, str)):
        _fill_scalar(message, value)
    elif isinstance(value, (TensorSpec, CompositeSpec, OpaqueSpec)):
        _fill_spec(message, value)
    elif isinstance(value, Shape):
        message.tensor_shape_value.CopyFrom(encode_shape(value))
    elif isinstance(value, DType):
        message.tensor_dtype_value = value.enum  # type: ignore[assignment]  # the stubs want the enum's own int
    elif isinstance(value, (Tensor, np.ndarray)):
        _fill_tensor(message, value)
    elif isinstance(value, Mapping):
        _fill_mapping(message, value)
    elif isinstance(value, (list, tuple)):
        _fill_sequence(message, value)
    else:
        raise NotEncodable(f"{type(value).__name__} {value!r:.100}")


def _fill_spec(message: StructuredValue, value: TensorSpec | CompositeSpec | OpaqueSpec) -> None:
    if isinstance(value, TensorSpec):
        message.tensor_spec_value.CopyFrom(encode_spec(value))
    elif isinstance(value, OpaqueSpec):
        message.type_spec_value.CopyFrom(value.message)
    else:
        message.type_spec_value.CopyFrom(encode_composite(value))


def _fill_tensor(message: StructuredValue, value: Tensor | Array) -> None:
    if isinstance(value, np.ndarray):
        message.numpy_value.CopyFrom(encode_tensor(value))
    elif type(value) is Tensor:
        message.tensor_value.CopyFrom(encode_tensor(value._array, value.dtype))
    else:
        raise NotEncodable(f"a tensor without a stored value: {value!r:.100}")


def _fill_scalar(message: StructuredValue, value: bool | float | str) -> None:
    if isinstance(value, bool):
        message.bool_value = value
    elif isinstance(value, int):
        if value not in _INT64:
            raise NotEncodable(f"an integer of more than 64 bits: {value}")
        message.int64_value = int(value)
    elif isinstance(value, float):
        message.float64_value = float(value)
    else:
        try:
            message.string_value = str(value)
        except ValueError as error:  # a lone surrogate
            raise NotEncodable(f"text that is not Unicode: {value!r:.100}") from error


def _fill_mapping(message: StructuredValue, value: Mapping[Any, Any]) -> None:
    message.dict_value.SetInParent()
    for key, item in value.items():
        if not isinstance(key, str):
            raise NotEncodable(f"a dict with the key {key!r:.100}")
        _fill(message.dict_value.fields[key], item)


def _fill_sequence(message: StructuredValue, value: Sequence[Any]) -> None:
    fields = getattr(type(value), "_fields", None)
    if isinstance(value, list):
        message.list_value.SetInParent()
        for item in value:
            _fill(message.list_value.values.add(), item)
    elif fields is None:
        message.tuple_value.SetInParent()
        for item in value:
            _fill(message.tuple_value.values.add(), item)
    else:
        message.named_tuple_value.name = type(value).__name__
        for key, item in zip(fields, value, strict=True):
            pair = message.named_tuple_value.values.add(key=key)
            _fill(pair.value, item)


def encode_composite(spec: CompositeSpec) -> TypeSpecProto:
    """The spec of a ragged tensor, sparse tensor, indexed slices or registered extension type."""
    name = name_in_files(type(spec))
    if name is None:
        raise NotEncodable(f"the spec {spec!r:.100}")
    message = TypeSpecProto(
        type_spec_class=name,
        type_spec_class_name=registered_name(type(spec)) or type(spec).__name__,
        num_flat_components=len(structure.flatten(spec, expand_composites=True)),
    )
    _fill(message.type_state, spec._serialize())
    return message


def decode_composite(message: TypeSpecProto, where: str) -> TypeSpec:
    """The inverse of `encode_composite`; an OpaqueSpec for an unknown class.

    Raises:
        InvalidArgumentError: the state is invalid for the class.
    """
    known = TypeSpecProto.TypeSpecClass.values()
    number = message.type_spec_class
    written = message.type_spec_class_name
    kind = (
        spec_class(TypeSpecProto.TypeSpecClass.Name(number), written) if number in known else None
    )
    if kind is None:
        return OpaqueSpec(message)
    state = decode_structure(message.type_state, where)
    if not isinstance(state, (tuple, list)):
        raise InvalidArgumentError(f"{where}: the state of {kind.__name__} must be a tuple")
    try:
        return kind._deserialize(tuple(state))
    except (AttributeError, TypeError, ValueError) as error:
        raise InvalidArgumentError(f"{where}: invalid {kind.__name__}: {error}") from error


def encode_spec(spec: TensorSpec) -> TensorSpecProto:
    """A TensorSpec; no name is written as an empty one."""
    return TensorSpecProto(
        name=spec.name or "",
        shape=encode_shape(spec.shape),
        dtype=spec.dtype.enum,  # type: ignore[arg-type]  # the stubs want the enum's own int
    )


def decode_spec(message: TensorSpecProto, where: str) -> TensorSpec:
    """The inverse of `encode_spec`."""
    return TensorSpec.of(
        decode_shape(message.shape, f"{where}.shape"),
        decode_dtype(message.dtype, f"{where}.dtype"),
        message.name or None,
    )


def decode_structure(message: StructuredValue, where: str) -> Any:
    """The inverse of `encode_structure`.

    Raises:
        InvalidArgumentError: a part of the message is invalid.
    """
    kind = message.WhichOneof("kind")
    if kind in ("bool_value", "int64_value", "float64_value", "string_value"):
        return getattr(message, kind)
    if kind == "none_value":
        return None
    if kind == "tensor_spec_value":
        return decode_spec(message.tensor_spec_value, where)
    if kind == "list_value":
        return [decode_structure(item, where) for item in message.list_value.values]
    if kind == "tuple_value":
        return tuple([decode_structure(item, where) for item in message.tuple_value.values])
    if kind == "dict_value":
        fields = message.dict_value.fields
        return {key: decode_structure(fields[key], where) for key in sorted(fields)}
    if kind == "named_tuple_value":
        return _decode_named_tuple(message, where)
    return _decode_rare(message, kind, where)


def _decode_rare(message: StructuredValue, kind: str | None, where: str) -> Any:
    if kind == "tensor_shape_value":
        return decode_shape(message.tensor_shape_value, where)
    if kind == "tensor_dtype_value":
        return decode_dtype(message.tensor_dtype_value, where)
    if kind == "bounded_tensor_spec_value":
        bounded = message.bounded_tensor_spec_value
        return TensorSpec.of(
            decode_shape(bounded.shape, where),
            decode_dtype(bounded.dtype, where),
            bounded.name or None,
        )
    if kind == "tensor_value":
        tensor = message.tensor_value
        return wrap(decode_tensor(tensor, where), decode_dtype(tensor.dtype, where))
    if kind == "numpy_value":
        return np.array(decode_tensor(message.numpy_value, where))
    if kind == "type_spec_value":
        return decode_composite(message.type_spec_value, where)
    raise InvalidArgumentError(f"{where}: a value has no known kind")


def _decode_named_tuple(message: StructuredValue, where: str) -> Any:
    named = message.named_tuple_value
    names = tuple([pair.key for pair in named.values])
    try:
        kind = _named_tuple(named.name, names)
    except ValueError as error:
        raise InvalidArgumentError(f"{where}: an invalid named tuple: {error}") from error
    return kind(*[decode_structure(pair.value, where) for pair in named.values])


@functools.lru_cache(maxsize=256)
def _named_tuple(name: str, fields: tuple[str, ...]) -> Any:
    # One class per set of names, so that equal structures have one type.
    return namedtuple(name, fields)  # noqa: PYI024 (the fields are only known now)
