"""The cases of TensorFlow Serving's own protocol tests, as requests.

Its tests call functions of the server in C++; here each of their cases is a request that a client
could send, with the expected response or part of an error. Source of the facts: tensorflow_serving
at 9d981c5c: util/json_tensor_test.cc, model_servers/http_rest_api_handler_test.cc, and
servables/tensorflow/{predict_util,
multi_inference,classification_service,regression_service}_test.cc.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import pinnace as tf

PREDICT, CLASSIFY, REGRESS = ":predict", ":classify", ":regress"
NAN, INF = math.nan, math.inf


@dataclass(frozen=True)
class Rest:
    """An HTTP request.

    Attributes:
        name: name of the case.
        body: text, or a value to serialise as JSON.
        expected: the response; text is a part of an error's message.
        status: status of the response.
        path: path after the model's.
        method: HTTP method.
    """

    name: str
    body: Any
    expected: Any
    status: int = 200
    path: str = PREDICT
    method: str = "POST"


@dataclass(frozen=True)
class Grpc:
    """A gRPC call.

    Attributes:
        name: name of the case.
        call: method of the service.
        request: keyword arguments of the function that makes the message, see the runner.
        expected: the runner's form of the response, or a part of an error's message.
        status: status of the call.
    """

    name: str
    call: str
    request: dict[str, Any]
    expected: Any
    status: str = "OK"


def model() -> tuple[tf.Module, dict[str, Any]]:
    """The signatures of the cases: echoes of each type, and TensorFlow Serving's example."""
    module = tf.Module()
    signatures: dict[str, Any] = {}

    def add(name: str, function: Any, **specs: tf.TensorSpec) -> None:
        signatures[name] = tf.function(function, input_signature=list(specs.values()))
        setattr(module, f"f_{name}", signatures[name])

    def spec(name: str, dtype: Any, shape: Any = None) -> tf.TensorSpec:
        return tf.TensorSpec(shape, dtype, name=name)

    for name, dtype in (("int", tf.int32), ("float", tf.float32), ("double", tf.float64)):
        add(name, lambda x: {"y": tf.identity(x)}, x=spec("x", dtype))
    add("str", lambda x: {"y": tf.identity(x)}, x=spec("x", tf.string))
    add("bytes", lambda x: {"y_bytes": tf.identity(x)}, x=spec("x", tf.string))
    add("complex", lambda x: {"y": tf.complex(x, x)}, x=spec("x", tf.float32))
    add("scalar", lambda x: {"y": tf.reduce_sum(x)}, x=spec("x", tf.float32, [None]))
    add(
        "batches",
        lambda x: {"a": tf.identity(x), "b": tf.concat([x, x], 0)},
        x=spec("x", tf.float32, [None]),
    )
    add(
        "many",
        lambda i, s, f, d: {
            "int_tensor": tf.identity(i),
            "str_tensor": tf.identity(s),
            "float_tensor": tf.identity(f),
            "dbl_tensor": tf.identity(d),
        },
        i=spec("int_tensor", tf.int32),
        s=spec("str_tensor", tf.string),
        f=spec("float_tensor", tf.float32),
        d=spec("dbl_tensor", tf.float64),
    )
    add(
        "two",
        lambda i, s: {"int_tensor": tf.identity(i), "str_tensor": tf.identity(s)},
        i=spec("int_tensor", tf.int32),
        s=spec("str_tensor", tf.string),
    )
    add("serving_default", lambda x: {"y": x / 2 + 2}, x=spec("x", tf.float32, [None, 1]))
    features = {"x": tf.io.FixedLenFeature([1], tf.float32)}

    def parsed(inputs: tf.Tensor) -> tf.Tensor:
        return tf.io.parse_example(inputs, features)["x"] / 2 + 2

    examples = spec("inputs", tf.string, [None])
    add("regress_x_to_y", lambda inputs: {"outputs": parsed(inputs)}, inputs=examples)
    add("classify_x_to_y", lambda inputs: {"scores": parsed(inputs)}, inputs=examples)
    return module, signatures


def _ints(value: Any, signature: str = "int", **more: Any) -> dict[str, Any]:
    return {"signature_name": signature, "instances": value, **more}


_MANY = [
    {
        "int_tensor": [[1, 2], [3, 4], [5, 6]],
        "str_tensor": ["foo", "bar"],
        "float_tensor": [1.0, NAN],
        "dbl_tensor": [NAN],
    },
    {
        "int_tensor": [[7, 8], [9, 0], [1, 2]],
        "str_tensor": ["baz", "bat"],
        "float_tensor": [2.0, INF],
        "dbl_tensor": [2.0],
    },
]
_TWO = {"int_tensor": [[1, 2], [3, 4], [5, 6]], "str_tensor": ["foo", "bar"]}
_HELLO, _WORLD = {"b64": "aGVsbG8="}, {"b64": "d29ybGQ="}
_MOST = float(np.finfo(np.float64).max)

JSON_TENSORS = [
    Rest("one tensor", _ints([[1, 2], [3, 4]]), {"predictions": [[1, 2], [3, 4]]}),
    Rest(
        "nested in what is ignored",
        '{"signature_name":"int","instances":[1],"nested":' + "[" * 500000 + "]" * 500000 + "}",
        {"predictions": [1]},
    ),
    Rest(
        "nested name of a signature",
        '{"signature_name":' + "[" * 500000 + "]" * 500000 + "}",
        "key must be a string value",
        400,
    ),
    *(
        Rest(
            f"integers among {kind}s",
            _ints([1, 2.0, 3, 5.003, 0.007, 0.0], kind),
            {"predictions": [1, 2, 3, 5.003, 0.007, 0]},
        )
        for kind in ("float", "double")
    ),
    Rest("loss of precision", _ints([1435774380], "float"), {"predictions": [1435774464.0]}),
    Rest("the same as decimal", _ints([1435774380.0], "float"), {"predictions": [1435774464.0]}),
    Rest("above the largest float", _ints([_MOST, -_MOST], "float"), {"predictions": [INF, -INF]}),
    Rest(
        "below the smallest float", _ints([2.3e-308, -2.3e-308], "float"), {"predictions": [0, 0]}
    ),
    Rest(
        "bytes behind the end",
        '{"signature_name":"int","instances":[[1,2]]}X',
        {"predictions": [[1, 2]]},
    ),
    Rest("base64", _ints([_HELLO, _WORLD], "bytes"), {"predictions": [_HELLO, _WORLD]}),
    Rest(
        "base64 in lists",
        _ints([[_HELLO], [_WORLD]], "bytes"),
        {"predictions": [[_HELLO], [_WORLD]]},
    ),
    Rest(
        "base64 by name",
        _ints([{"x": [[_HELLO], [_WORLD]]}], "bytes"),
        {"predictions": [[[_HELLO], [_WORLD]]]},
    ),
    Rest("several tensors", _ints(_MANY, "many"), {"predictions": _MANY}),
    Rest(
        "a column by name",
        {"signature_name": "int", "inputs": {"x": [[[1, 2], [3, 4]]]}},
        {"outputs": [[[1, 2], [3, 4]]]},
    ),
    Rest("a column", {"signature_name": "int", "inputs": [[[1, 2]]]}, {"outputs": [[[1, 2]]]}),
    Rest(
        "several columns",
        {"signature_name": "two", "inputs": {"int_tensor": [[[1, 2]]], "str_tensor": _HELLO}},
        {"outputs": {"int_tensor": [[[1, 2]]], "str_tensor": "hello"}},
    ),
    Rest("an empty document", "", "document is empty", 400),
    Rest("a number as signature", _ints([[1, 2]], 5), "must be a string value", 400),  # type: ignore[arg-type]
    Rest("rows and columns", _ints([[1]], inputs=[[1]]), "Not formatted correctly", 400),
    Rest("another size", _ints([[1, 2], [3, 4], [5, 6, 7]]), "Expecting tensor size", 400),
    Rest("another shape", _ints([[1, 2], [3, 4], [[5, 6]]]), "Expecting shape", 400),
    Rest("a list after a number", _ints([1, [1]]), "Expecting shape", 400),
    Rest("text for numbers", _ints([[1, 2], ["a", "b"]]), "not of expected type", 400),
    Rest(
        "another shape by name",
        _ints([_TWO, {**_TWO, "int_tensor": [[[7, 8], [9, 0], [1, 2]]]}], "two"),
        "Expecting shape",
        400,
    ),
    Rest(
        "another size by name",
        _ints([{**_TWO, "int_tensor": [[7, 8]]}, _TWO], "two"),
        "Expecting tensor size",
        400,
    ),
    Rest(
        "the words for it",
        _ints([_TWO, [1, 20], _TWO], "two"),
        "Expecting object but got list",
        400,
    ),
    Rest(
        "an object among lists",
        _ints([["baz", "bar"], {"x": ["baz", "bat"]}], "str"),
        "Expecting value/list but got object",
        400,
    ),
    Rest("a plain list for two inputs", _ints([1, 2], "two"), "instances", 400),
    Rest("a missing key", _ints([{"int_tensor": [1]}], "two"), "instances", 400),
    Rest(
        "numbers that are none",
        _ints([NAN, INF, 3, -INF], "float"),
        {"predictions": [NAN, INF, 3, -INF]},
    ),
    Rest(
        "digits of floats",
        _ints([9000000.0, 999999.0, 0.5, 0.0003, 0.00003, 555557.5], "float"),
        {"predictions": [9e6, 999999.0, 0.5, 0.0003, 3e-05, 555557.5]},
    ),
    Rest("a type without JSON", _ints([1.0], "complex"), "tensor type: complex64", 400),
    Rest("no batch axis", _ints([1.0], "scalar"), "no shape information", 400),
    Rest(
        "bytes of an output",
        _ints([["hello", "world"], ["tf", "serving"]], "bytes"),
        {"predictions": [[_HELLO, _WORLD], [{"b64": "dGY="}, {"b64": "c2VydmluZw=="}]]},
    ),
    Rest("a list of numbers", _ints([1, 2, 3, 4, 5]), {"predictions": [1, 2, 3, 4, 5]}),
    Rest("a number as column", {"signature_name": "int", "inputs": 5}, {"outputs": 5}),
    Rest("a batch of none", {"signature_name": "int", "inputs": []}, {"outputs": []}),
    Rest(
        "base64 as column",
        {"signature_name": "bytes", "inputs": [_HELLO, _WORLD]},
        {"outputs": [_HELLO, _WORLD]},
    ),
    Rest(
        "doubles that are none",
        _ints([[NAN, 2.5], [-INF, INF]], "double"),
        {"predictions": [[NAN, 2.5], [-INF, INF]]},
    ),
    Rest("two batch sizes", _ints([1.0], "batches"), "inconsistent batch size", 400),
]


def _example_cases(path: str, signature: str) -> list[Rest]:
    cases = [
        ("a number as signature", {"signature_name": 5}, "'signature_name' key must be a string"),
        ("no examples", {}, "'examples' is expected and was not found"),
        ("a null context", {"context": None, "examples": [{}]}, "Example must be JSON object"),
        ("examples that are no list", {"examples": None}, "list/array"),
        ("an empty list", {"examples": []}, "empty array"),
        ("a null example", {"examples": [None]}, "Example must be JSON object"),
        (
            "a null feature",
            {"examples": [{"names": [None]}]},
            "names has element with unexpected JSON type: Null",
        ),
        (
            "mixed kinds",
            {"examples": [{"names": [10, 10.0]}]},
            "feature: names expecting type: int64",
        ),
        (
            "an object",
            {"examples": [{"names": [{"test": 10}]}]},
            "names has element with unexpected JSON type: Object",
        ),
        (
            "a list in a list",
            {"examples": [{"names": [10, [20]]}]},
            "names has element with unexpected JSON type: Array",
        ),
        ("a large integer", {"examples": [{"names": [2**63]}]}, "Only int64_t is supported"),
    ]
    good = [
        ("a number", {"examples": [{"x": 80.0}]}),
        ("a list of one", {"examples": [{"x": [80.0]}]}),
        ("a context", {"context": {"x": 80.0}, "examples": [{}]}),
        ("an example before the context", {"context": {"x": 1.0}, "examples": [{"x": 80.0}]}),
    ]
    answer = {"results": [42.0] if path == REGRESS else [[["", 42.0]]]}
    name = {"signature_name": signature}
    return [
        *(Rest(f"{case}{path}", {**name, **body}, text, 400, path) for case, body, text in cases),
        *(Rest(f"{case}{path}", {**name, **body}, answer, 200, path) for case, body in good),
    ]


EXAMPLES = [
    *_example_cases(CLASSIFY, "classify_x_to_y"),
    *_example_cases(REGRESS, "regress_x_to_y"),
]

_LARGE = 2**64 - 1
HANDLER = [
    *(
        Rest(f"{method} {path}", "", "Malformed request", 400, path, method)
        for method, path in (
            ("POST", "/../../foo"),
            ("GET", "/debug/model_name"),
            ("GET", PREDICT),
            ("GET", "/version/50:predict"),
            ("POST", "/version/50:regress"),
            ("POST", "/metadata"),
            ("POST", "/label/some_label:regress"),
            ("POST", "/versions/50/labels/some_label:regress"),
            ("POST", "/versions/some_label:regress"),
        )
    ),
    Rest("a large version", "", "Failed to convert version", 400, f"/versions/{_LARGE}:regress"),
    Rest(
        "a version that is not there",
        {"instances": [1]},
        "Servable not found",
        404,
        "/versions/99:predict",
    ),
    Rest("an empty body", "", "JSON Parse error: The document is empty", 400),
    Rest("no JSON", "instances = [1, 2]", "JSON Parse error: Invalid value", 400),
    Rest("another type", {"instances": ["x", "y"]}, "not of expected type: float", 400),
    Rest(
        "a label that is not there",
        {"instances": [1]},
        "Unrecognized servable version label",
        400,
        "/labels/nope:predict",
    ),
    Rest(
        "a number as signature",
        {"signature_name": 100},
        "'signature_name' key must be a string value.",
        400,
    ),
    Rest("an empty signature", {"signature_name": "", "instances": [1.0]}, {"predictions": [2.5]}),
    Rest(
        "rows of rows",
        {"instances": [[1.0, 2.0], [3.0, 4.0]]},
        {"predictions": [[2.5, 3.0], [3.5, 4.0]]},
    ),
    Rest(
        "numbers",
        {"instances": [1.0, 2.0]},
        {"predictions": [2.5, 3.0]},
        200,
        "/versions/123:predict",
    ),
    Rest(
        "by label",
        {"instances": [1.0, 2.0]},
        {"predictions": [2.5, 3.0]},
        200,
        "/labels/good:predict",
    ),
    Rest(
        "by signature",
        {"signature_name": "serving_default", "instances": [3.0, 4.0]},
        {"predictions": [3.5, 4.0]},
        200,
        "/versions/123:predict",
    ),
    Rest(
        "in columns",
        {"signature_name": "serving_default", "inputs": [3.0, 4.0]},
        {"outputs": [3.5, 4.0]},
        200,
        "/versions/123:predict",
    ),
    *(
        Rest(
            f"{verb} {where}",
            {"signature_name": name, "examples": [{"x": 80.0}]},
            answer,
            200,
            where + verb,
        )
        for where in ("", "/versions/123", "/labels/good")
        for verb, name, answer in (
            (REGRESS, "regress_x_to_y", {"results": [42.0]}),
            (CLASSIFY, "classify_x_to_y", {"results": [[["", 42.0]]]}),
        )
    ),
    *(
        Rest(
            f"status {where}",
            "",
            {
                "model_version_status": [
                    {
                        "version": "123",
                        "state": "AVAILABLE",
                        "status": {"error_code": "OK", "error_message": ""},
                    }
                ]
            },
            200,
            where,
            "GET",
        )
        for where in ("", "/versions/123", "/labels/good")
    ),
]

_X = np.float32([[1], [2]])
PREDICT_UTIL = [
    Grpc("values", "Predict", {"inputs": {"x": _X}}, {"y": [[2.5], [3.0]]}),
    Grpc("numbers for rows", "Predict", {"inputs": {"x": np.float32([1, 2])}}, {"y": [2.5, 3.0]}),
    Grpc("one number", "Predict", {"inputs": {"x": np.float32(2)}}, {"y": 3.0}),
    Grpc("a filter", "Predict", {"inputs": {"x": _X}, "outputs": ["y"]}, {"y": [[2.5], [3.0]]}),
    Grpc(
        "no name of a model",
        "Predict",
        {"model": "", "inputs": {"x": _X}},
        "ModelSpec",
        "INVALID_ARGUMENT",
    ),
    Grpc(
        "no such model",
        "Predict",
        {"model": "nope", "inputs": {"x": _X}},
        "Servable not found",
        "NOT_FOUND",
    ),
    Grpc(
        "no such signature",
        "Predict",
        {"signature": "nope", "inputs": {"x": _X}},
        'Serving signature key "nope" not found.',
        "FAILED_PRECONDITION",
    ),
    Grpc("no inputs", "Predict", {"inputs": {}}, "Missing but required: {x}", "INVALID_ARGUMENT"),
    Grpc(
        "keys that are not known",
        "Predict",
        {"inputs": {"x": _X, "unknown_key1": _X, "unknown_key2": _X}},
        "Sent extra: {unknown_key1,unknown_key2}",
        "INVALID_ARGUMENT",
    ),
    Grpc(
        "another key",
        "Predict",
        {"inputs": {"unknown": _X}},
        "input tensor alias not found in signature: unknown",
        "INVALID_ARGUMENT",
    ),
    Grpc(
        "a bool",
        "Predict",
        {"inputs": {"x": np.bool_([True])}},
        "Expects arg[0] to be float but bool is provided",
        "INVALID_ARGUMENT",
    ),
    Grpc(
        "a string",
        "Predict",
        {"inputs": {"x": np.array([b"a"], object)}},
        "to be float but string is provided",
        "INVALID_ARGUMENT",
    ),
    Grpc(
        "an output that is not there",
        "Predict",
        {"inputs": {"x": _X}, "outputs": ["output_filter"]},
        "output tensor alias not found in signature: output_filter",
        "INVALID_ARGUMENT",
    ),
    Grpc(
        "an output twice",
        "Predict",
        {"inputs": {"x": _X}, "outputs": ["y", "y"]},
        "duplicate output tensor alias: y",
        "INVALID_ARGUMENT",
    ),
]

_REG, _CLS = ("regress_x_to_y", "regress"), ("classify_x_to_y", "classify")
OF_EXAMPLES = [
    Grpc("regress", "Regress", {"signature": _REG[0], "x": [80.0]}, [42.0]),
    Grpc("classify", "Classify", {"signature": _CLS[0], "x": [20.0]}, [[["", 12.0]]]),
    *(
        Grpc(f"{call}: {name}", call, request, text, status)
        for call, good in (("Regress", _REG[0]), ("Classify", _CLS[0]))
        for name, request, text, status in (
            ("no model", {"model": "", "x": [1.0]}, "", "INVALID_ARGUMENT"),
            ("another model", {"model": "nope", "x": [1.0]}, "Servable not found", "NOT_FOUND"),
            (
                "no such signature",
                {"signature": "nope", "x": [1.0]},
                "No signature was found with the name: nope",
                "INVALID_ARGUMENT",
            ),
            ("no examples", {"signature": good, "x": []}, "Input is empty", "INVALID_ARGUMENT"),
            ("a signature of tensors", {"signature": "float", "x": [1.0]}, "", "INVALID_ARGUMENT"),
            (
                "two inputs",
                {"signature": "two", "x": [1.0]},
                "Expected one input Tensor.",
                "INVALID_ARGUMENT",
            ),
        )
    ),
    Grpc(
        "regress on scores",
        "Regress",
        {"signature": _CLS[0], "x": [1.0]},
        "No regression outputs",
        "INVALID_ARGUMENT",
    ),
    Grpc(
        "classify on values",
        "Classify",
        {"signature": _REG[0], "x": [1.0]},
        "at least one of",
        "INVALID_ARGUMENT",
    ),
]
MULTI = [
    Grpc("one task", "MultiInference", {"tasks": [_REG], "x": [80.0]}, [[42.0]]),
    Grpc(
        "two tasks",
        "MultiInference",
        {"tasks": [_REG, _CLS], "x": [20.0]},
        [[12.0], [[["", 12.0]]]],
    ),
    *(
        Grpc(name, "MultiInference", {"tasks": tasks, "x": x}, text, status)
        for name, tasks, x, text, status in (
            ("no examples", [_REG], [], "Input is empty", "INVALID_ARGUMENT"),
            ("no signature", [("nope", "regress")], [1.0], "nope", "INVALID_ARGUMENT"),
            (
                "two models",
                [(*_REG, "m"), (*_CLS, "n")],
                [1.0],
                "must access the same model name",
                "INVALID_ARGUMENT",
            ),
            ("no model", [(*_REG, "")], [1.0], "empty model name", "INVALID_ARGUMENT"),
            (
                "twice",
                [_REG, _REG],
                [1.0],
                "Duplicate evaluation of signature: regress_x_to_y",
                "INVALID_ARGUMENT",
            ),
            (
                "a predict signature",
                [("float", "predict")],
                [1.0],
                "Unsupported signature method_name",
                "UNIMPLEMENTED",
            ),
        )
    ),
]

TABLES: dict[str, list[Rest] | list[Grpc]] = {
    "`json_tensor_test.cc`, predict": JSON_TENSORS,
    "`json_tensor_test.cc`, classify and regress": EXAMPLES,
    "`http_rest_api_handler_test.cc`": HANDLER,
    "`predict_util_test.cc`": PREDICT_UTIL,
    "`classification_service_test.cc`, `regression_service_test.cc`": OF_EXAMPLES,
    "`multi_inference_test.cc`": MULTI,
}
# The cases whose responses differ, and why.
DIFFERENT: dict[str, str] = {}
