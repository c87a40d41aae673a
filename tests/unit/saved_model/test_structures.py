"""Nested values as messages and back."""

from collections import namedtuple
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.framework import dtypes
from pinnace.framework.containers import DictWrapper, ListWrapper
from pinnace.framework.errors import OpError
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.proto.struct_pb2 import StructuredValue, TypeSpecProto
from pinnace.saved_model.codecs.structures import (
    NotEncodable,
    OpaqueSpec,
    decode_structure,
    encodable,
    encode_structure,
)

Pair = namedtuple("Pair", ["first", "second"])  # noqa: PYI024 (the values may be anything)


def in_order(value: dict[str, Any]) -> dict[str, Any]:
    return dict(sorted(value.items()))


SHAPES = (st.none() | st.lists(st.none() | st.integers(0, 9), max_size=3)).map(Shape)
SPECS = st.builds(
    TensorSpec,
    SHAPES,
    st.sampled_from([dtypes.float32, dtypes.string, dtypes.resource]),
    st.none() | st.text("abc", min_size=1),
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec="utf-8"), max_size=4)
    | st.sampled_from([dtypes.int8, dtypes.bfloat16])
    | SHAPES
    | SPECS
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text("xyz", max_size=2), inner, max_size=3).map(in_order)
        | st.builds(Pair, inner, inner)
    ),
    max_leaves=8,
)


@given(VALUES)
def test_a_value_comes_back(value: Any) -> None:
    message = StructuredValue.FromString(encode_structure(value).SerializeToString())
    back = decode_structure(message, "here")
    assert back == value
    assert repr(back) == repr(value)  # types too: True is not 1


def test_integers_are_zigzag_and_none_is_present() -> None:
    assert encode_structure(-1).SerializeToString() == bytes.fromhex("6001")
    assert encode_structure(None).SerializeToString() == bytes.fromhex("0a00")
    assert encode_structure(()).SerializeToString() == bytes.fromhex("a20300")


def test_tracked_containers_are_written_as_plain_ones() -> None:
    value = DictWrapper({"a": ListWrapper([1, 2])})
    assert decode_structure(encode_structure(value), "here") == {"a": [1, 2]}


@pytest.mark.parametrize(
    "value", [object(), b"bytes", 1 << 70, {1: 2}, [object()], {"a": len}, "\ud800", 1j]
)
def test_what_cannot_be_held_is_told(value: Any) -> None:
    assert not encodable(value)
    with pytest.raises(NotEncodable):
        encode_structure(value)


def test_the_spec_of_an_unknown_class_passes_through() -> None:
    message = StructuredValue(type_spec_value=TypeSpecProto(type_spec_class=10))
    spec = decode_structure(message, "here")
    assert isinstance(spec, OpaqueSpec)
    assert repr(spec) == "<ROW_PARTITION_SPEC>"
    assert encode_structure(spec) == message


@given(st.binary(max_size=60))
def test_garbage_is_a_value_or_one_error(data: bytes) -> None:
    try:
        message = StructuredValue.FromString(data)
    except Exception:
        return
    try:
        decode_structure(message, "here")
    except OpError as error:
        assert "here" in str(error)  # noqa: PT017 (a value is fine too)
