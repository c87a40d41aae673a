"""Encoding and decoding of dtypes, shapes, tensors and attributes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType
from pinnace.framework.errors import InvalidArgumentError, OpError, UnimplementedError
from pinnace.framework.shapes import Shape
from pinnace.graph.codec.attrs import decode_attr, encode_attr
from pinnace.graph.codec.dtypes import decode_dtype, encode_dtype
from pinnace.graph.codec.shapes import decode_shape, encode_shape
from pinnace.graph.codec.tensors import decode_tensor, encode_tensor
from pinnace.graph.graph import FunctionRef, GraphBuilder
from pinnace.proto.attr_value_pb2 import AttrValue
from pinnace.proto.tensor_pb2 import TensorProto, TensorShapeProto

ALL = sorted(dtypes.ANY, key=lambda dtype: dtype.enum)
STORED = [dtype for dtype in ALL if dtype.name not in ("resource", "variant")]
SIZES = st.lists(st.none() | st.integers(0, 2**40), max_size=5)
SHAPES = st.none() | SIZES.filter(
    lambda sizes: np.prod([n or 1 for n in sizes], dtype=object) < 2**62
)


def ref(name: str, where: str) -> FunctionRef:
    del where
    return FunctionRef(name, GRAPH)


GRAPH = GraphBuilder("f").finish()


@st.composite
def arrays(draw: st.DrawFn) -> tuple[Any, DType]:
    dtype = draw(st.sampled_from(STORED))
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    size = int(np.prod(shape))
    if dtype is dtypes.string:
        array = np.empty(size, object)
        array[:] = draw(st.lists(st.binary(max_size=5), min_size=size, max_size=size))
    elif draw(st.booleans()):
        array = np.full(size, draw(st.integers(0, 1))).astype(dtype.numpy)
    else:
        values = draw(st.lists(st.integers(0, 7), min_size=size, max_size=size))
        array = np.array(values, np.int64).astype(dtype.numpy)
    return array.reshape(shape), dtype


@pytest.mark.parametrize("dtype", ALL, ids=lambda dtype: dtype.name)
def test_a_dtype_comes_back(dtype: DType) -> None:
    assert decode_dtype(encode_dtype(dtype)) is dtype
    assert decode_dtype(encode_dtype(dtype) + 100) is dtype


@pytest.mark.parametrize("number", [0, -1, 34, 100, 1 << 40])
def test_a_number_that_is_no_dtype_is_refused(number: int) -> None:
    with pytest.raises(InvalidArgumentError, match=f"here: {number} is no dtype"):
        decode_dtype(number, "here")


@given(SHAPES)
def test_a_shape_comes_back(sizes: list[int | None] | None) -> None:
    shape = Shape(sizes)
    assert decode_shape(encode_shape(shape)).dims == shape.dims


def test_an_unknown_axis_is_minus_one_and_an_unknown_rank_a_flag() -> None:
    assert encode_shape(Shape([None, 2])).dim[0].size == -1
    assert encode_shape(Shape(None)) == TensorShapeProto(unknown_rank=True)


@pytest.mark.parametrize("sizes", [[-2], [1, -7], [2**40, 2**40], [1] * 300])
def test_a_shape_that_no_tensor_has_is_refused(sizes: list[int]) -> None:
    message = TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in sizes])
    with pytest.raises(InvalidArgumentError, match="here"):
        decode_shape(message, "here")


@given(arrays())
def test_a_tensor_comes_back(case: tuple[Any, DType]) -> None:
    array, dtype = case
    message = TensorProto.FromString(encode_tensor(array, dtype).SerializeToString())
    back = decode_tensor(message)
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    assert back.tolist() == array.tolist()
    assert not back.flags.writeable


@pytest.mark.parametrize("name", ["float32", "float64", "float16", "bfloat16", "complex64"])
def test_special_values_keep_their_bits(name: str) -> None:
    kind = dtypes.as_dtype(name).numpy
    array = np.array([np.inf, -np.inf, np.nan, -0.0, 1e-40]).astype(kind)
    for part in (array, array[3], array[2:3], array[:0]):
        back = decode_tensor(encode_tensor(part))
        assert back.tobytes() == part.tobytes()


def test_one_value_everywhere_is_written_once() -> None:
    message = encode_tensor(np.zeros((300, 20), np.float32))
    assert list(message.float_val) == [0.0]
    assert not message.tensor_content


def test_a_short_list_repeats_its_last_value() -> None:
    message = TensorProto(dtype=3, tensor_shape=encode_shape(Shape([2, 3])), int_val=[1, 2])
    assert decode_tensor(message).tolist() == [[1, 2, 2], [2, 2, 2]]


@pytest.mark.parametrize("dtype", STORED, ids=lambda dtype: dtype.name)
def test_no_values_are_zeros(dtype: DType) -> None:
    message = TensorProto(dtype=dtype.enum, tensor_shape=encode_shape(Shape([2])))
    zero = b"" if dtype is dtypes.string else np.zeros((), dtype.numpy)
    assert decode_tensor(message).tolist() == [zero, zero]


def test_half_precision_is_a_bit_pattern() -> None:
    message = TensorProto(dtype=19, half_val=[0x3C00])
    assert decode_tensor(message) == np.float16(1)
    message = TensorProto(dtype=14, half_val=[0x3F80])
    assert float(decode_tensor(message)) == 1.0


def test_a_large_fill_takes_no_memory() -> None:
    message = TensorProto(
        dtype=1, tensor_shape=encode_shape(Shape([1 << 14, 1 << 14])), float_val=[3]
    )
    assert decode_tensor(message).strides == (0, 0)


@pytest.mark.parametrize(
    "message",
    [
        TensorProto(dtype=1, tensor_shape=encode_shape(Shape([1 << 40]))),
        TensorProto(dtype=1, tensor_shape=encode_shape(Shape([0, 1 << 62]))),
        TensorProto(dtype=1, tensor_shape=encode_shape(Shape([None]))),
        TensorProto(dtype=1, tensor_shape=encode_shape(Shape(None))),
        TensorProto(dtype=1, tensor_shape=encode_shape(Shape([3])), tensor_content=b"12345"),
        TensorProto(dtype=1, tensor_shape=encode_shape(Shape([1])), float_val=[1, 2]),
        TensorProto(dtype=8, scomplex_val=[1]),
        TensorProto(dtype=99),
        TensorProto(dtype=1, tensor_shape=encode_shape(Shape([1] * 100)), float_val=[1]),
    ],
    ids=[
        "large",
        "large empty",
        "open axis",
        "open rank",
        "bytes",
        "many",
        "half",
        "dtype",
        "axes",
    ],
)
def test_a_tensor_that_cannot_be_is_refused(message: TensorProto) -> None:
    with pytest.raises(InvalidArgumentError, match="here"):
        decode_tensor(message, "here")


@pytest.mark.parametrize("dtype", [dtypes.resource, dtypes.variant], ids=lambda d: d.name)
def test_a_handle_is_not_stored(dtype: DType) -> None:
    with pytest.raises(UnimplementedError, match=f"here: a {dtype.name} tensor"):
        decode_tensor(TensorProto(dtype=dtype.enum), "here")
    with pytest.raises(UnimplementedError):
        encode_tensor(np.empty((), object), dtype)


ONE = {
    "int": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32, allow_nan=False),
    "bool": st.booleans(),
    "string": st.text(st.characters(codec="utf-8"), max_size=5) | st.just(b"\xff\xfe"),
    "type": st.sampled_from(ALL),
    "shape": SHAPES.map(Shape),
    "func": st.just(FunctionRef("f", GRAPH)),
}
ATTRS = st.sampled_from(sorted(ONE)).flatmap(
    lambda kind: (
        st.tuples(st.just(kind), ONE[kind])
        | st.tuples(st.just(f"list({kind})"), st.lists(ONE[kind], max_size=3).map(tuple))
    )
)


@given(ATTRS)
def test_an_attribute_comes_back(case: tuple[str, Any]) -> None:
    kind, value = case
    message = AttrValue.FromString(encode_attr(value, kind).SerializeToString())
    assert decode_attr(message, kind, "here", ref) == value


@given(ATTRS)
def test_an_attribute_tells_its_kind(case: tuple[str, Any]) -> None:
    kind, value = case
    if value != ():
        assert encode_attr(value) == encode_attr(value, kind)
    assert decode_attr(encode_attr(value, kind), "", "here", ref) == value


@given(ATTRS, st.sampled_from(sorted(ONE)))
def test_an_attribute_of_another_kind_is_refused(case: tuple[str, Any], kind: str) -> None:
    if case[0] != kind:
        with pytest.raises(InvalidArgumentError, match="here must be"):
            decode_attr(encode_attr(case[1], case[0]), kind, "here", ref)


def test_false_and_the_empty_list_are_written() -> None:
    assert encode_attr(False).SerializeToString() == bytes.fromhex("2800")
    assert encode_attr((), "list(int)").SerializeToString() == bytes.fromhex("0a00")
    assert decode_attr(AttrValue(), "list(int)", "here", ref) == ()


@given(st.binary(max_size=60))
def test_garbage_is_a_value_or_one_error(data: bytes) -> None:
    for kind in (TensorProto, AttrValue):
        try:
            message = kind.FromString(data)
        except Exception:
            continue
        try:
            if isinstance(message, TensorProto):
                decode_tensor(message, "here")
            else:
                decode_attr(message, "", "here", ref)
        except OpError as error:
            assert "here" in str(error)  # noqa: PT017 (a value is fine too)
