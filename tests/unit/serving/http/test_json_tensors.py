import contextlib
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.specs import TensorSpec
from pinnace.serving.http.json_arrays import Array
from pinnace.serving.http.json_tensors import Form, decode_feeds, encode_outputs, parse_predict

ONE = {"x": TensorSpec(None, "float32")}
TEXT = {"x": TensorSpec(None, "string")}
TWO = {"a": TensorSpec(None, "float32"), "b": TensorSpec(None, "int32")}


def feeds(body: object, inputs: dict[str, TensorSpec]) -> dict[str, Array]:
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    return decode_feeds(parse_predict(text), inputs)


def shapes(body: object, inputs: dict[str, TensorSpec]) -> dict[str, tuple[int, ...]]:
    return {name: array.shape for name, array in feeds(body, inputs).items()}


@given(hnp.arrays("float32", hnp.array_shapes(min_dims=1, max_dims=4, max_side=3)))
def test_rows_and_columns_say_the_same(x: Array) -> None:
    text = encode_outputs({"x": x}, Form.ROW).replace(b"predictions", b"instances")
    column = encode_outputs({"x": x}, Form.COLUMN).replace(b"outputs", b"inputs")
    named = json.dumps(
        {"instances": [{"x": row} for row in json.loads(text)["instances"]]}
    ).encode()
    for body in (text, column, named):
        found = feeds(body, ONE)["x"]
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, x)


@pytest.mark.parametrize(
    ("body", "inputs", "expected"),
    [
        ({"instances": [1, 2, 3]}, ONE, {"x": (3,)}),
        ({"instances": [[1, 2]]}, ONE, {"x": (1, 2)}),
        ({"instances": [{"x": 1}, {"x": 2}]}, ONE, {"x": (2,)}),
        ({"instances": [{"a": [1], "b": 2}] * 4}, TWO, {"a": (4, 1), "b": (4,)}),
        ({"instances": [{"b64": "YQ=="}, "b"]}, TEXT, {"x": (2,)}),
        ({"instances": [{"x": {"b64": "YQ=="}}]}, TEXT, {"x": (1,)}),
        ({"inputs": 1}, ONE, {"x": ()}),
        ({"inputs": [1]}, ONE, {"x": (1,)}),
        ({"inputs": []}, ONE, {"x": (0,)}),
        ({"inputs": [[], []]}, ONE, {"x": (2, 0)}),
        ({"inputs": {"b64": "YQ=="}}, TEXT, {"x": ()}),
        ({"inputs": {"x": [1]}}, ONE, {"x": (1,)}),
        ({"inputs": {"x": [1], "more": "ignored"}}, ONE, {"x": (1,)}),
        ({"inputs": {"a": [[1]], "b": 2}}, TWO, {"a": (1, 1), "b": ()}),
        ({"instances": [1], "extra": True}, ONE, {"x": (1,)}),
        (b'{"instances": [1], "instances": [1, 2]}', ONE, {"x": (1,)}),
        (b'{"inputs": 1, "inputs": [1, 2]}', ONE, {"x": ()}),
        (b'{"instances": [1, NaN]} trailing', ONE, {"x": (2,)}),
    ],
)
def test_both_forms_are_understood(
    body: object, inputs: dict[str, TensorSpec], expected: dict[str, tuple[int, ...]]
) -> None:
    assert shapes(body, inputs) == expected


@pytest.mark.parametrize(
    ("body", "inputs", "message"),
    [
        ([1], ONE, r"JSON Value: \[1\] Type: Array Is not object"),
        (1, ONE, "JSON Value: 1 Type: Number Is not object"),
        ({}, ONE, "^Missing 'inputs' or 'instances' key$"),
        ({"instance": [1]}, ONE, "Missing 'inputs' or 'instances' key"),
        (
            {"instances": [1], "inputs": [1]},
            ONE,
            "Not formatted correctly expecting only one of 'inputs' or 'instances' keys to exist",
        ),
        (
            {"instances": [1], "signature_name": 1},
            ONE,
            "'signature_name' key must be a string value",
        ),
        ({"instances": 1}, ONE, "Expecting 'instances' to be an list/array, got Number"),
        ({"instances": {"x": 1}}, ONE, "Expecting 'instances' to be an list/array, got Object"),
        ({"instances": None}, ONE, "Expecting 'instances' to be an list/array, got Null"),
        ({"instances": []}, ONE, "No values in 'instances' array"),
        (
            {"instances": [1]},
            TWO,
            "instances is a plain list, but expecting list of objects .*{a,b}",
        ),
        (
            {"instances": [{"x": 1}, [1]]},
            ONE,
            "Expecting object but got list at item 1 of input list",
        ),
        (
            {"instances": [{"x": 1}, 2]},
            ONE,
            "Expecting object but got value at item 1 of input list",
        ),
        (
            {"instances": [1, {"x": 1}]},
            ONE,
            "Expecting value/list but got object at item 1 of input",
        ),
        ({"instances": [{"y": 1}]}, ONE, "process element: 0 of 'instances'.*{x}, got {y}"),
        (
            {"instances": [{"x": 1, "y": 1}]},
            ONE,
            "process element: 0 of 'instances'.*{x}, got {x,y}",
        ),
        ({"instances": [{"a": 1, "b": 1}, {"a": 1}]}, TWO, "process element: 1 .*{a,b}, got {a}"),
        (
            {"instances": [[1], [1, 2]]},
            ONE,
            "element: 1 of 'instances' list. Error: Expecting tensor size: 1 but got: 2",
        ),
        ({"instances": [[[1, 2]], [[1], [2]]]}, ONE, r"Expecting shape \[1, 2\] but got: \[2, 1\]"),
        (
            {"instances": [1, [1]]},
            ONE,
            r"element: 1 of 'instances' list. Error: Expecting shape \[\] but got: \[1\]",
        ),
        (
            {"instances": [{"a": 1, "b": 1}, {"a": 1, "b": "x"}]},
            TWO,
            "Failed to process element: 1 key: b of 'instances' list. Error: JSON Value: \"x\" T",
        ),
        (
            {"instances": [[[1], [1, 2]]]},
            ONE,
            "element: 0 .*Encountered list at unexpected size: 2 at level: 1",
        ),
        ({"inputs": [1]}, TWO, "inputs is a plain value/list, but expecting an object"),
        ({"inputs": {"a": 1}}, TWO, "^Missing named input: b in 'inputs' object.$"),
        ({"inputs": {}}, ONE, "Missing named input: x in 'inputs' object."),
        (
            {"inputs": {"x": [[1], 2]}},
            ONE,
            "Failed to process input: x of 'inputs' object. Error: JSON Value",
        ),
        ({"inputs": {"b64": "YQ=="}}, ONE, "Type: Object is not of expected type: float32"),
    ],
)
def test_a_malformed_body_is_refused(
    body: object, inputs: dict[str, TensorSpec], message: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        feeds(body, inputs)


def test_replies_have_the_form_of_the_request() -> None:
    one = {"y": np.float32([[1], [2.5]])}
    two = {**one, "label": np.array([b"a", b"b"], object)}
    assert encode_outputs(one, Form.ROW) == b'{"predictions":[[1.0],[2.5]]}'
    assert encode_outputs(one, Form.COLUMN) == b'{"outputs":[[1.0],[2.5]]}'
    assert json.loads(encode_outputs(two, Form.ROW)) == {
        "predictions": [{"y": [1.0], "label": "a"}, {"y": [2.5], "label": "b"}]
    }
    assert json.loads(encode_outputs(two, Form.COLUMN)) == {
        "outputs": {"y": [[1.0], [2.5]], "label": ["a", "b"]}
    }
    assert encode_outputs({"y": np.float32(3)}, Form.COLUMN) == b'{"outputs":3.0}'
    assert encode_outputs({"y": np.zeros(0), "z": np.zeros(0)}, Form.ROW) == b'{"predictions":[]}'


def test_outputs_without_a_common_batch_are_no_rows() -> None:
    with pytest.raises(InvalidArgumentError, match="Tensor name: y has no shape information"):
        encode_outputs({"y": np.float32(3)}, Form.ROW)
    with pytest.raises(
        InvalidArgumentError, match="Tensor name: z has inconsistent batch size: 3 expecting: 2"
    ):
        encode_outputs({"y": np.zeros(2), "z": np.zeros(3)}, Form.ROW)


@given(st.binary(max_size=80))
def test_any_body_gives_feeds_or_one_error(garbage: bytes) -> None:
    for body in (garbage, b'{"instances":' + garbage + b"}", b'{"inputs":{"x":' + garbage + b"}}"):
        with contextlib.suppress(InvalidArgumentError):
            assert feeds(body, ONE)["x"].dtype == np.float32


@pytest.mark.parametrize("key", ["instances", "inputs"])
def test_a_key_that_is_written_otherwise_is_the_same_key(key: str) -> None:
    """The first of equal keys counts, as in TensorFlow Serving, also with escaped letters."""
    spellings = [
        key,
        key.replace("n", "\\u006e"),
        key.replace("n", "\\u006E", 1),
        "".join(f"\\u{ord(letter):04x}" for letter in key),
    ]
    for first in spellings:
        for second in spellings:
            for between in ("", '"x": "a\\u0041[", '):
                body = f'{{"{first}": [1.0], {between}"{second}": [2.0]}}'.encode()
                assert parse_predict(body).value == [1.0], body
                body = f'{{"{first}": ["\\u0061"], {between}"{second}": ["b"]}}'.encode()
                assert parse_predict(body).value == ["a"], body
    twice = b'{"signature_\\u006eame": "a", "signature_name": "b", "instances": [1]}'
    assert parse_predict(twice).signature_name == "a"
