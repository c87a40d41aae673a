import math

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pinnace.framework.dtypes import as_dtype
from pinnace.framework.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    UnimplementedError,
)
from pinnace.serving.http.json_arrays import Array, decode_array, encode_array, may_hold_words
from pinnace.serving.http.json_text import Json, parse_json
from unit.serving.numpy_models import JSON_DTYPES

NUMBERS = [name for name in JSON_DTYPES if name != "string"]
shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)


def decode_text(text: bytes, dtype: str) -> Array:
    return decode_array(parse_json(text), as_dtype(dtype), may_hold_words(text))


@pytest.mark.parametrize("dtype", NUMBERS)
@given(data=st.data())
def test_decode_inverts_encode(dtype: str, data: st.DataObject) -> None:
    x = data.draw(hnp.arrays(dtype, shapes))
    y = decode_text(encode_array(x), dtype)
    assert y.dtype == x.dtype
    if 0 not in x.shape:  # JSON has no sizes after an empty axis
        np.testing.assert_array_equal(y, x)


@given(
    st.lists(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=2, max_size=2))
)
def test_decode_inverts_encode_for_text(texts: list[list[str]]) -> None:
    x = np.empty((len(texts), 2), dtype=object)
    x[:] = [[text.encode() for text in row] for row in texts] or x
    y = decode_text(encode_array(x), "string")
    assert y.dtype == object
    assert y.tolist() == x.tolist()


@given(st.lists(st.binary()))
def test_decode_inverts_encode_for_bytes(values: list[bytes]) -> None:
    x = np.empty(len(values), dtype=object)
    x[:] = values
    text = encode_array(x, "image_bytes")
    assert all(set(item) == {"b64"} for item in orjson.loads(text))
    assert decode_text(text, "string").tolist() == values


scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**33), 2**33)
    | st.floats()
    | st.text(max_size=2)
    | st.fixed_dictionaries({"b64": st.text("ABc=", max_size=4)})
)
nests = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3), max_leaves=8)


@pytest.mark.parametrize("dtype", JSON_DTYPES)
@given(value=nests)
def test_the_fast_way_answers_as_the_exact_way(dtype: str, value: Json) -> None:
    text = orjson.dumps(value)

    def answer(has_words: bool) -> object:
        try:
            array = decode_array([value], as_dtype(dtype), has_words)
        except InvalidArgumentError:
            return "error"
        return array.shape, array.tolist()

    def exact(item: Json) -> object:
        try:
            return decode_exactly(item, dtype)
        except InvalidArgumentError:
            return "error"

    expected = repr(exact([value]))
    assert repr(answer(may_hold_words(b"[" + text + b"]"))) == expected
    assert repr(answer(has_words=True)) == expected


def decode_exactly(value: Json, dtype: str) -> object:
    """Elements one by one, as scalars, which have no fast path."""

    def shape_of(item: Json) -> tuple[int, ...]:
        if not isinstance(item, list):
            return ()
        inner = {shape_of(each) for each in item}
        if len(inner) > 1:
            raise InvalidArgumentError("ragged")
        return (len(item), *next(iter(inner), ()))

    def leaves(item: Json) -> list[object]:
        if isinstance(item, list):
            return [leaf for each in item for leaf in leaves(each)]
        return [decode_array(item, as_dtype(dtype))[()]]

    shape = shape_of(value)
    array = np.empty(math.prod(shape), as_dtype(dtype).numpy)
    array[:] = leaves(value)
    return shape, array.reshape(shape).tolist()


@pytest.mark.parametrize(
    ("text", "dtype", "message"),
    [
        (b'["1.5"]', "float32", 'JSON Value: "1.5" Type: String is not of expected type: float32'),
        (b"[true, 1.5]", "float32", "JSON Value: true Type: True is not of expected type: float32"),
        (b"[1.5, null]", "float64", "JSON Value: null Type: Null is not of expected type: float64"),
        (b"[1, {}]", "float32", "JSON Value: {} Type: Object is not of expected type: float32"),
        (b'[{"b64": "AA=="}]', "int32", "Type: Object is not of expected type: int32"),
        (
            b"[1.0]",
            "int32",
            "JSON Value: 1.0 Type: Number is not of expected type: int32; write it",
        ),
        (b"[1, 2.5]", "int64", "JSON Value: 2.5 Type: Number is not of expected type: int64"),
        (b"[2147483648]", "int32", "JSON Value: 2147483648 .*from -2147483648 to 2147483647"),
        (b"[128]", "int8", "JSON Value: 128 .*from -128 to 127"),
        (b"[-1]", "uint8", "JSON Value: -1 .*from 0 to 255"),
        (b"[-1]", "uint32", "JSON Value: -1 .*from 0 to 4294967295"),
        (b"[-1]", "uint64", "JSON Value: -1 .*from 0 to"),
        (b"[9223372036854775808]", "int64", "JSON Value: 9223372036854775808 "),
        (b"[true]", "int32", "JSON Value: true Type: True is not of expected type: int32"),
        (b"[NaN]", "int32", "Type: Number is not of expected type: int32"),
        (b"[1]", "bool", "JSON Value: 1 Type: Number is not of expected type: bool"),
        (b"[true, 0]", "bool", "JSON Value: 0 Type: Number is not of expected type: bool"),
        (b"[1]", "string", "JSON Value: 1 Type: Number is not of expected type: string"),
        (b'[{"b64": 1}]', "string", "Type: Object is not of expected type: string"),
        (b'[{"b64": "AA==", "x": 1}]', "string", "Type: Object is not of expected type: string"),
        (b'[{"b64": "*"}]', "string", "Unable to base64 decode"),
        (b'[{"b64": "A"}]', "string", "Unable to base64 decode"),
        (b'["\\ud800"]', "string", "half of a surrogate pair"),
        (
            b"[[1, 2], [3]]",
            "float32",
            "Encountered list at unexpected size: 1 at level: 1 expected size: 2",
        ),
        (b"[[1], 2]", "float32", "JSON Value: 2 found at incorrect level: 1 expected level: 2"),
        (b"[1, [2]]", "float32", "Encountered list at unexpected level: 1 expected < 1"),
        (b"[[1], [[2]]]", "float32", "Encountered list at unexpected level: 2 expected < 2"),
        (
            b"[[], [1]]",
            "float32",
            "Encountered list at unexpected size: 1 at level: 1 expected size: 0",
        ),
        (b'[["a"], "b"]', "string", 'JSON Value: "b" found at incorrect level: 1'),
        (b"[" * 33 + b"1" + b"]" * 33, "float32", "more than 32 levels of lists"),
        (b"[" * 90 + b"1" + b"]" * 90, "float32", "more than 32 levels of lists"),
        (b'"a"', "float32", "Type: String is not of expected type: float32"),
    ],
)
def test_what_breaks_a_rule_is_named(text: bytes, dtype: str, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        decode_text(text, dtype)


@pytest.mark.parametrize(
    ("text", "dtype", "expected"),
    [
        (b"[1, 2]", "float32", np.float32([1, 2])),
        (b"[1e300]", "float32", np.float32([np.inf])),
        (b"[NaN, Inf, -Infinity]", "float32", np.float32([np.nan, np.inf, -np.inf])),
        (b"[18446744073709551616]", "float64", np.array([2.0**64])),
        (b"[1, 18446744073709551615]", "uint64", np.array([1, 2**64 - 1], np.uint64)),
        (b"[-9223372036854775808]", "int64", np.array([-(2**63)])),
        (b"[16777217.0]", "float64", np.array([16777217.0])),
        (b"[]", "int32", np.zeros(0, np.int32)),
        (b"[[], []]", "bool", np.zeros((2, 0), np.bool_)),
        (b"[]", "string", np.zeros(0, object)),
        (b"3", "int32", np.int32(3)),
        (b"true", "bool", np.bool_(True)),
        (b'"a"', "string", np.array(b"a", object)),
        (b'{"b64": "YQ"}', "string", np.array(b"a", object)),
        (
            b'[["a\\u0000", {"b64": " /+ 8=\\n"}]]',
            "string",
            np.array([[b"a\0", b"\xff\xef"]], object),
        ),
    ],
)
def test_what_keeps_the_rules_is_read(text: bytes, dtype: str, expected: Array) -> None:
    found = decode_text(text, dtype)
    assert found.dtype == as_dtype(dtype).numpy
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "complex64", "uint16", "qint8", "int4"])
def test_json_has_no_form_for_other_dtypes(dtype: str) -> None:
    with pytest.raises(
        UnimplementedError, match=rf"Conversion of JSON Value: \[1\] to type: {dtype}"
    ):
        decode_array([1], as_dtype(dtype))
    if dtype != "qint8":  # its arrays are int8
        with pytest.raises(
            InvalidArgumentError, match="Failed to write JSON value for tensor type"
        ):
            encode_array(np.zeros(1, as_dtype(dtype).numpy), "y")


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (np.float32(0.1), b"0.1"),
        (np.float32([0.1, 1, 16777216]), b"[0.1,1.0,16777216.0]"),
        (np.array([0.1, 1 / 3]), b"[0.1,0.3333333333333333]"),
        (np.float32([[np.nan, 1], [np.inf, -np.inf]]), b"[[NaN,1.0],[Infinity,-Infinity]]"),
        (np.float64(np.nan), b"NaN"),
        (np.array([True, False]), b"[true,false]"),
        (np.array([2**64 - 1], np.uint64), b"[18446744073709551615]"),
        (np.zeros((0, 2)), b"[]"),
        (np.zeros((2, 0), np.float32), b"[[],[]]"),
        (np.arange(6, dtype=np.int32).reshape(2, 3).T, b"[[0,3],[1,4],[2,5]]"),
        (np.array([1.5], ">f4"), b"[1.5]"),
        (np.array([1, 2], ">i4")[::2], b"[1]"),
        (np.array(b"a", object), b'"a"'),
        (np.array(["\u00e9".encode(), b'"'], object), '["é","\\""]'.encode()),
        (np.array([b"ab", b"c"]), b'["ab","c"]'),
        (np.zeros((1,) * 32, np.int8), b"[" * 32 + b"0" + b"]" * 32),
    ],
)
def test_values_are_written_in_their_shortest_form(x: Array, text: bytes) -> None:
    assert encode_array(x) == text


def test_bytes_that_are_no_text_need_a_name() -> None:
    x = np.array([b"\xff"], object)
    with pytest.raises(
        FailedPreconditionError, match=r"'y' has a string that is not UTF-8.*\n.*y_bytes"
    ):
        encode_array(x, "y")
    assert encode_array(x, "y_bytes") == b'[{"b64":"/w=="}]'


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"instances": [1, 2]}', False),
        (b'{"signature_name": "false", "instances": [1, 2]}', False),
        (b'{"inputs": {"pixels": [1], "u": [2]}}', False),
        (b'{"inputs": {"a": [1], "true": [1]}}', True),
        (b'{"instances": [1, true]}', True),
        (b'{"instances": [1, null]}', True),
        (b'{"instances": [false]}', True),
    ],
)
def test_words_in_lists_are_seen(body: bytes, expected: bool) -> None:
    assert may_hold_words(body) is expected
