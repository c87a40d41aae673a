"""Nested messages are counted before they are parsed."""

import sys

import google.protobuf
import numpy as np
import pytest
from google.protobuf.message import DecodeError, Message
from hypothesis import given
from hypothesis import strategies as st

from pinnace.framework.errors import InvalidArgumentError
from pinnace.graph.codec.tensors import decode_tensor
from pinnace.proto.inference_pb2 import (
    ClassificationRequest,
    ExamplesRequest,
    MultiInferenceRequest,
    RegressionResult,
    TasksRequest,
)
from pinnace.proto.inference_service_pb2 import ModelInferRequest
from pinnace.proto.predict_pb2 import PredictRequest
from pinnace.proto.tensor_pb2 import TensorProto
from pinnace.serving.messages.counting import has_few_messages, last_part
from pinnace.serving.messages.examples import encode_regressions, read_input
from pinnace.serving.messages.fields import parse
from pinnace.serving.messages.model_infer import Infer
from pinnace.storage.varints import field_header
from support.fresh_process import run_fresh
from unit.serving.numpy_models import echo

MEGABYTE = 2**20


def field(number: int, data: bytes) -> bytes:
    return field_header(number, len(data)) + data


def many(unit: bytes) -> bytes:
    return unit * ((MEGABYTE - 100) // len(unit))


def tensor(data: bytes) -> bytes:
    return field(2, field(1, b"x") + field(2, data))


# Messages of one megabyte, each with many parts of one kind.
TOO_MANY: dict[str, tuple[type[Message], bytes]] = {
    "axes": (PredictRequest, tensor(field(2, many(b"\x12\0")))),
    "axes behind texts": (PredictRequest, tensor(field(2, b"\x42\0" * 99 + many(b"\x12\0")))),
    "axes behind a group": (
        PredictRequest,
        tensor(field(2, b"\x9b\x06\x9c\x06" + many(b"\x12\0"))),
    ),
    "axes and then no message": (PredictRequest, tensor(field(2, many(b"\x12\0") + b"\xff"))),
    "shapes": (PredictRequest, tensor(many(b"\x12\0"))),
    "values of an entry": (PredictRequest, field(2, many(b"\x12\0"))),
    "handles": (PredictRequest, tensor(many(b"\x72\0"))),
    "handles among texts": (PredictRequest, tensor(many(b"\x42\0\x42\0\x42\0\x72\0"))),
    "types of a handle": (PredictRequest, tensor(field(14, many(b"\x32\0")))),
    "variants": (PredictRequest, tensor(many(b"\x7a\0"))),
    "a long shape": (ModelInferRequest, field(5, field(3, many(b"\1")))),
    "parameters of an input": (ModelInferRequest, field(5, many(b"\x22\0"))),
    "parameters of an output": (ModelInferRequest, field(6, many(b"\x12\0"))),
}


@pytest.mark.parametrize("name", TOO_MANY)
def test_a_message_that_holds_too_many_others_is_not_made(name: str) -> None:
    kind, data = TOO_MANY[name]
    with pytest.raises(InvalidArgumentError, match=r"holds more than 32768|is no"):
        parse(kind, data)


def test_a_message_within_itself_ends() -> None:
    data = b""
    for _ in range(50):  # a variant of tensors of variants of tensors
        data = field(15, field(3, data))
    assert not has_few_messages(tensor(data), PredictRequest, 1000)
    with pytest.raises(InvalidArgumentError, match="holds more than"):
        parse(PredictRequest, tensor(data + field(4, bytes(2**17))))


def test_what_honest_requests_hold_is_read() -> None:
    wide = PredictRequest()
    for i in range(2000):
        value = wide.inputs[f"feature {i}"]
        value.dtype = 7
        for size in (4, 1, 1, 1):
            value.tensor_shape.dim.add(size=size)
        value.string_val.extend([b"one text"] * 4)
    texts = PredictRequest()
    texts.inputs["x"].tensor_shape.dim.add(size=10**5)
    texts.inputs["x"].string_val.extend([b"text"] * 10**5)
    numbers = ModelInferRequest()
    numbers.inputs.add(name="x", shape=[10**5]).contents.int64_contents.extend(range(10**5))
    for message in (wide, texts, numbers):
        assert parse(type(message), message.SerializeToString()) == message


TENSORS = st.builds(
    lambda sizes, texts, numbers: TensorProto(
        tensor_shape={"dim": [{"size": size} for size in sizes]},
        string_val=texts,
        int64_val=numbers,
    ),
    st.lists(st.integers(-1, 2**40), max_size=40),
    st.lists(st.binary(max_size=4), max_size=60),
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=60),
)


@given(st.dictionaries(st.text(max_size=3), TENSORS, max_size=4))
def test_the_count_is_that_of_the_messages(inputs: dict[str, TensorProto]) -> None:
    request = PredictRequest()
    request.model_spec.name = "m"
    for name, value in inputs.items():
        request.inputs[name].CopyFrom(value)
    # An entry, its value, the shape of that, each of its axes.
    count = sum(2 + 1 + len(value.tensor_shape.dim) for value in inputs.values())
    data, kind = request.SerializeToString(), PredictRequest
    assert has_few_messages(data, kind, count)
    assert not count or not has_few_messages(data, kind, count - 1)


@given(st.binary(max_size=400))
def test_any_bytes_are_counted_or_are_no_message(data: bytes) -> None:
    for kind in (PredictRequest, ModelInferRequest, TasksRequest):
        try:
            few = has_few_messages(data, kind, 10**6)
        except DecodeError:
            with pytest.raises(DecodeError):
                kind.FromString(data)
        else:
            assert few


@given(
    st.lists(st.tuples(st.integers(1, 40), st.binary(max_size=5)), max_size=6), st.integers(1, 3)
)
def test_the_last_part_is_where_the_last_field_begins(
    fields: list[tuple[int, bytes]], depth: int
) -> None:
    data = b"end"
    path: tuple[int, ...] = ()
    for level in range(depth):
        before = b"".join(field(number, value) for number, value in fields)
        data = before + field(level + 2, data)
        path = (level + 2, *path)
    assert last_part(data, {path}) == (path, len(data) - 3)
    assert last_part(data, {(99,)}) == ((), len(data))
    assert last_part(data + b"\x08\x01", {path})[0] == ()


@pytest.mark.parametrize("has_context", [False, True])
def test_examples_stay_bytes(has_context: bool) -> None:
    """The bytes equal those of messages made of Examples."""
    classify, several = ClassificationRequest(), MultiInferenceRequest()
    listed = classify.input.example_list.examples
    if has_context:
        both = classify.input.example_list_with_context
        both.context.features.feature["c"].int64_list.value.append(7)
        listed = both.examples
    for i in range(3):
        listed.add().features.feature["x"].float_list.value.append(i)
    several.input.CopyFrom(classify.input)
    several.tasks.add(method_name="a").model_spec.name = "m"
    context = both.context.SerializeToString() if has_context else b""
    expected = [context + one.SerializeToString() for one in listed]
    asked = parse(ExamplesRequest, classify.SerializeToString())
    assert read_input(asked.input).tolist() == expected
    tasks = parse(TasksRequest, several.SerializeToString())
    assert read_input(tasks.input).tolist() == expected
    assert [task.model_spec.name for task in tasks.tasks] == ["m"]
    assert asked.SerializeToString() == classify.SerializeToString()


@given(
    st.lists(st.floats(width=32) | st.sampled_from([0.0, -0.0]), max_size=20),
    st.sampled_from(["float16", "float32", "float64"]),
)
def test_regressions_are_the_bytes_of_their_message(values: list[float], dtype: str) -> None:
    with np.errstate(over="ignore"):
        array = np.array(values, dtype)
    message = RegressionResult()
    for value in array.astype(np.float32).tolist():
        message.regressions.add(value=value)
    found = RegressionResult.FromString(encode_regressions(array))
    assert encode_regressions(array) == message.SerializeToString()
    assert len(found.regressions) == len(values)


@pytest.mark.parametrize("dtype", ["int64", "int8", "bool", "float32", "float64", "uint64"])
def test_long_lists_of_numbers_are_read_in_pieces(dtype: str) -> None:
    array = (np.arange(100_000) % 120).astype(dtype)
    lists = {"int64": "int64_val", "int8": "int_val", "bool": "bool_val", "uint64": "uint64_val"}
    lists |= {"float32": "float_val", "float64": "double_val"}
    message = TensorProto()
    message.dtype = echo(dtype).inputs["x"].dtype.enum  # type: ignore[assignment]
    message.tensor_shape.dim.add(size=len(array))
    getattr(message, lists[dtype]).extend(array.tolist())
    np.testing.assert_array_equal(decode_tensor(message), array, strict=True)
    typed = {"int64": "int64_contents", "int8": "int_contents", "bool": "bool_contents"}
    typed |= {"float32": "fp32_contents", "float64": "fp64_contents", "uint64": "uint64_contents"}
    names = {"int64": "INT64", "int8": "INT8", "bool": "BOOL", "uint64": "UINT64"}
    names |= {"float32": "FP32", "float64": "FP64"}
    request = ModelInferRequest()
    asked = request.inputs.add(name="x", datatype=names[dtype], shape=[len(array)])
    getattr(asked.contents, typed[dtype]).extend(array.tolist())
    np.testing.assert_array_equal(Infer(request)._feeds()["x"], array, strict=True)


NO_MEMORY = """
import resource
from pinnace.proto.predict_pb2 import PredictRequest
from pinnace.serving.errors import canonical_code
from pinnace.serving.messages.fields import parse
message = PredictRequest()
message.inputs["x"].tensor_content = bytes(60 << 20)
data = message.SerializeToString()
del message
with open("/proc/self/statm") as file:
    most = int(file.read().split()[0]) * resource.getpagesize() + (20 << 20)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
try:
    parse(PredictRequest, data)
except MemoryError as error:
    print(canonical_code(error), error)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a limit of memory")
@pytest.mark.skipif(
    google.protobuf.__version__.startswith("6."), reason="its error has no reason before 7"
)
def test_a_message_for_which_there_is_no_memory_is_not_called_wrong() -> None:
    """The parser has one error class for both."""
    assert (
        run_fresh(NO_MEMORY) == "8 there is not enough memory for the request\n"
    )  # RESOURCE_EXHAUSTED
