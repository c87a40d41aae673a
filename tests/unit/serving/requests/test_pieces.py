"""A message parsed in pieces equals the message of protobuf's own parser."""

import random
from typing import Any

import pytest
from google.protobuf.message import DecodeError, Message
from hypothesis import given
from hypothesis import strategies as st

from pinnace.proto.inference_pb2 import ClassificationRequest
from pinnace.proto.inference_service_pb2 import ModelInferRequest
from pinnace.proto.predict_pb2 import PredictRequest
from pinnace.serving.messages import pieces, wire_format
from pinnace.serving.messages.counting import has_few_messages
from pinnace.serving.messages.fields import parse
from pinnace.serving.messages.pieces import merge
from pinnace.storage.varints import varint


def predict_request(draw: random.Random) -> PredictRequest:
    message = PredictRequest()
    message.model_spec.name = draw.choice(["", "m", "m" * 60])
    message.model_spec.version.value = draw.choice([0, 3, -1])
    for key in draw.sample(["", "x", "y" * 50, "ä"], draw.randrange(4)):
        tensor = message.inputs[key]
        tensor.dtype = draw.randrange(12)
        for _ in range(draw.randrange(4)):
            tensor.tensor_shape.dim.add(size=draw.choice([-1, 0, 3, 2**40]), name="n" * 20)
        many = draw.randrange(60)
        tensor.float_val.extend([draw.random() for _ in range(many)])
        tensor.int64_val.extend([draw.choice([0, 5, -1, 2**62]) for _ in range(many)])
        tensor.bool_val.extend([True, False] * (many // 4))
        tensor.double_val.extend([draw.random()] * (many // 2))
        tensor.string_val.extend([b"t" * draw.choice([0, 0, 1, 31, 32, 300]) for _ in range(many)])
        tensor.tensor_content = b"c" * draw.choice([0, 500])
        if draw.random() < 0.3:
            inner = tensor.variant_val.add(type_name="v" * 40)
            inner.tensors.add(dtype=1).float_val.extend([1.0] * many)
    message.output_filter.extend(["o" * draw.randrange(40) for _ in range(draw.randrange(30))])
    return message


def infer_request(draw: random.Random) -> ModelInferRequest:
    message = ModelInferRequest(model_name="m", id="i" * draw.randrange(80))
    for _ in range(draw.randrange(4)):
        one = message.inputs.add(name="x" * 30, datatype="FP32")
        one.shape.extend([draw.choice([1, 2**40, -7]) for _ in range(draw.randrange(40))])
        one.contents.fp32_contents.extend([draw.random()] * draw.randrange(40))
        one.contents.uint64_contents.extend([2**63] * draw.randrange(40))
        one.contents.bytes_contents.extend([b"b" * draw.randrange(40)] * draw.randrange(40))
        one.parameters["p"].string_param = "s" * draw.randrange(40)
        one.parameters["q" * 40].int64_param = 7
    message.raw_input_contents.extend([b"r" * draw.randrange(90)] * draw.randrange(3))
    return message


def classification(draw: random.Random) -> ClassificationRequest:
    message = ClassificationRequest()
    for _ in range(draw.randrange(6)):
        features = message.input.example_list.examples.add().features
        for key in draw.sample(["a", "b" * 40, "c"], draw.randrange(4)):
            feature = features.feature[key]
            draw.choice(
                [
                    lambda f=feature: f.bytes_list.value.extend([b"x" * 9] * 20),
                    lambda f=feature: f.float_list.value.extend([0.5] * 20),
                    lambda f=feature: f.int64_list.value.extend([-1, 300] * 9),
                ]
            )()
    return message


KINDS: Any = [predict_request, infer_request, classification]


@pytest.fixture(scope="module", autouse=True)
def small_pieces() -> Any:
    """Split wherever it is possible."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "_PIECE_BYTES", 16)
        patch.setattr(wire_format, "_MOST", 3)
        wire_format._run.cache_clear()
        yield
    wire_format._run.cache_clear()


def read(kind: type[Message], data: bytes, way: Any) -> Message | None:
    message = kind()
    try:
        way(message, data)
    except DecodeError:
        return None
    return message


@given(st.sampled_from(KINDS), st.integers(0, 2**32), st.booleans())
def test_whole_messages(make: Any, seed: int, twice: bool) -> None:
    message = make(random.Random(seed))
    data = message.SerializeToString()
    if twice:  # map entries with the same keys, messages that are merged
        data += make(random.Random(seed + 1)).SerializeToString()
    found = read(type(message), data, merge)
    wanted = read(type(message), data, lambda m, d: m.MergeFromString(d))
    assert wanted is not None
    assert found == wanted


@given(st.sampled_from(KINDS), st.integers(0, 2**32))
def test_damaged_messages(make: Any, seed: int) -> None:
    draw = random.Random(seed)
    message = make(draw)
    data = bytearray(message.SerializeToString() or b"\0")
    for _ in range(draw.randrange(1, 4)):
        at = draw.randrange(len(data))
        match draw.randrange(4):
            case 0:
                data[at] = draw.randrange(256)
            case 1:
                del data[at : at + draw.randrange(1, 20)]
            case 2:
                data[at:at] = draw.randbytes(draw.randrange(1, 9))
            case 3:
                data[at:at] = data[at : at + draw.randrange(1, 40)]
        data = data or bytearray(b"\0")
    found = read(type(message), bytes(data), merge)
    wanted = read(type(message), bytes(data), lambda m, d: m.MergeFromString(d))
    assert found == wanted


@pytest.mark.parametrize("size", [0, 1, 31, 32, 127, 128])
def test_runs_end_where_their_fields_do(size: int) -> None:
    field = b"\x42" + varint(size) + b"\x42" * size
    data = field * 3 + b"\x08\x07"
    end = wire_format.end_of_run(data, 0, len(data))
    assert end == (3 * len(field) if size < 32 else 0)
    if size < 32:
        assert wire_format.end_of_run(data, 0, 3 * len(field) - 1) == 2 * len(field)
    assert wire_format.end_of_run(data, 3 * len(field), len(data)) == 3 * len(field)


@pytest.mark.parametrize("most", [0, 7, 8, 9, 10])
def test_messages_are_counted_behind_runs_of_texts(most: int) -> None:
    message = PredictRequest()
    tensor = message.inputs["x"]
    tensor.string_val.extend([b"", b"a"] * 200)
    for _ in range(7):
        tensor.resource_handle_val.add()
    data = message.SerializeToString()
    assert has_few_messages(data, PredictRequest, most) == (most >= 9)  # an entry, and its tensor


def test_a_request_is_read_so() -> None:
    message = predict_request(random.Random(3))
    message.inputs["long"].string_val.extend([b"", b"text"] * 50_000)
    message.inputs["long"].int_val.extend(range(50_000))
    assert parse(PredictRequest, message.SerializeToString()) == message
