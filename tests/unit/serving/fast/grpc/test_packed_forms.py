"""Messages recognised by their prefix are read like parsed ones; the same holds for replies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.framework.specs import TensorSpec
from pinnace.graph.codec.tensors import decode_tensor, encode_tensor, list_tensor
from pinnace.proto.inference_service_pb2 import ModelInferRequest
from pinnace.proto.predict_pb2 import PredictRequest
from pinnace.serving.fast.grpc.packed_forms import PackedForms, RowReplies
from pinnace.serving.fast.grpc.packed_requests import infer_reader, predict_reader
from pinnace.serving.messages.fields import which_model, which_version
from pinnace.serving.models.loaded_model import LoadedModel
from pinnace.serving.models.servable import Servable
from pinnace.serving.requests.datatypes import datatype_of, write_tensor
from pinnace.serving.requests.reply import Reply
from pinnace.serving.running.packed_rows import PackedRows
from unit.serving.numpy_models import NumpyModel

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.protobuf.message import Message

    from pinnace.serving.models.tables import Which
    from pinnace.serving.running.signatures import Arrays

DTYPES = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")
READERS = {
    "predict": predict_reader(False),
    "content": predict_reader(True),
    "infer": infer_reader(),
}
AS_BYTES = {
    "predict": ("float32", "float64"),
    "content": ("float32", "float64", "int32", "int64"),
    "infer": DTYPES,
}


def row_model(dtype: str, row: tuple[int, ...]) -> NumpyModel:
    spec = TensorSpec([None, *row], dtype)
    return NumpyModel({"x": spec}, {"y": spec}, lambda feeds: {"y": feeds["x"] * 2}, is_pure=True)


def servable_of(dtype: str, row: tuple[int, ...]) -> Servable:
    model = row_model(dtype, row)
    return Servable("m", 7, LoadedModel({"serving_default": model, "other": model}))


def predict_message(array: npt.NDArray[Any], **more: Any) -> PredictRequest:
    message = PredictRequest(output_filter=more.get("outputs", []))
    spec = message.model_spec
    spec.name, spec.signature_name = "m", more.get("signature", "")
    if "version" in more:
        spec.version.value = more["version"]
    message.inputs["x"].CopyFrom(list_tensor(array))
    if array.dtype != object and not more.get("is_list"):
        empty = list_tensor(array[:0])
        message.inputs["x"].CopyFrom(empty)
        message.inputs["x"].tensor_shape.dim[0].size = len(array)
        message.inputs["x"].tensor_content = array.tobytes()
    return message


def infer_message(array: npt.NDArray[Any], **more: Any) -> ModelInferRequest:
    message = ModelInferRequest(model_name="m", id=more.get("id", ""))
    if "version" in more:
        message.model_version = str(more["version"])
    if more.get("signature"):
        message.parameters["signature_name"].string_param = more["signature"]
    message.inputs.add(name="x", datatype=datatype_of(array), shape=array.shape)
    for name in more.get("outputs", []):
        message.outputs.add(name=name)
    message.raw_input_contents.append(write_tensor(array))
    return message


def numbers(seed: int, shape: tuple[int, ...], dtype: str) -> npt.NDArray[Any]:
    return np.random.default_rng(seed).integers(0, 100, shape).astype(dtype)


@given(
    kind=st.sampled_from(sorted(READERS)),
    dtype=st.sampled_from(DTYPES),
    row=st.lists(st.integers(1, 3), max_size=2).map(tuple),
    rows=st.integers(1, 5),
    more=st.fixed_dictionaries(
        {},
        optional={
            "signature": st.sampled_from(["", "serving_default", "other"]),
            "version": st.just(7),
            "is_list": st.booleans(),
        },
    ),
)
def test_a_known_form_is_decoded_and_answered_as_in_full(
    kind: str, dtype: str, row: tuple[int, ...], rows: int, more: dict[str, Any]
) -> None:
    reader, servable = READERS[kind], servable_of(dtype, row)
    message = infer_message if kind == "infer" else predict_message
    forms = PackedForms(reader)
    known = 0
    for seed in range(3):
        data = message(numbers(seed, (rows, *row), dtype), **more).SerializeToString()
        full = reader.wire(data).decode(servable, data, {})
        form = forms.find(data)
        if form is None:
            continue
        found = form.decode(servable, data, {})
        known += type(found.feeds) is PackedRows
        assert found.signature_name == full.signature_name
        np.testing.assert_array_equal(found.feeds["x"], full.feeds["x"], strict=True)
        outputs = servable.run_now(full.signature_name, full.feeds)
        assert found.encode(outputs).body == full.encode(outputs).body
    # The first is parsed; a list of integers has no raw bytes.
    is_packed = kind == "infer" or not more.get("is_list") or dtype in ("float32", "float64")
    assert known == (2 if is_packed else 0)


@pytest.mark.parametrize("kind", sorted(READERS))
@given(
    data=st.data(),
    dtype=st.sampled_from(DTYPES),
    row=st.lists(st.integers(1, 3), max_size=2).map(tuple),
    rows=st.lists(st.integers(1, 4), min_size=1, max_size=5),
)
def test_replies_of_a_run_are_those_of_each(
    kind: str, data: st.DataObject, dtype: str, row: tuple[int, ...], rows: list[int]
) -> None:
    reader, servable = READERS[kind], servable_of(dtype, row)
    message = infer_message if kind == "infer" else predict_message
    body = message(np.zeros((1, *row), dtype)).SerializeToString()
    encode = reader.wire(body).decode(servable, body, {}).encode
    size = (sum(rows) + data.draw(st.integers(0, 2))) * int(np.prod(row, dtype=int))
    raw = data.draw(st.binary(min_size=size * np.dtype(dtype).itemsize, max_size=size * 8))
    y = np.frombuffer(raw[: size * np.dtype(dtype).itemsize], dtype).reshape(-1, *row)
    found = RowReplies(encode).encode_rows({"y": y}, rows)
    # Lists of integers are written for each request separately.
    assert (found is None) == (dtype not in AS_BYTES[kind])
    begin = 0
    for count, reply in zip(rows, found or [], strict=False):
        part = y[begin : begin + count]
        # A list of Python numbers loses some bits of NaN.
        if part.dtype.kind != "f" or np.isfinite(part).all():
            assert reply.body == encode({"y": part}).body
        begin += count


def whole(kind: str, data: bytes) -> tuple[Which, bytes]:
    """The version that a message names and the bytes of its tensor, by the full parser."""
    if kind == "infer":
        infer = ModelInferRequest.FromString(data)
        return which_version(infer.model_name, infer.model_version), infer.raw_input_contents[0]
    predict = PredictRequest.FromString(data)
    (tensor,) = predict.inputs.values()
    return which_model(predict.model_spec), decode_tensor(tensor).tobytes()


def test_numbers_of_another_list_than_the_last_are_not_taken() -> None:
    """A list of as many bytes, of another dtype, follows that of the tensor's own dtype."""
    request = PredictRequest()
    request.model_spec.name = "m"
    request.inputs["x"].dtype = 1
    request.inputs["x"].tensor_shape.dim.add(size=2)
    request.inputs["x"].float_val.extend([1, 2])
    request.inputs["x"].double_val.append(3)
    assert PackedForms(READERS["predict"]).find(request.SerializeToString()) is None


@pytest.mark.parametrize("kind", sorted(READERS))
def test_much_before_the_numbers_is_not_read_on_the_event_loop(kind: str) -> None:
    read = []

    def note(data: bytes, begin: int, number: int) -> Any:
        read.append(len(data))
        return READERS[kind].read(data, begin, number)

    x = np.zeros((1, 3), np.float32)
    predict, infer = predict_message(x), infer_message(x)
    for _ in range(5000):
        predict.inputs["x"].tensor_shape.dim.add()
    infer.inputs[0].shape.extend([1] * 10_000)
    data = (infer if kind == "infer" else predict).SerializeToString()
    assert PackedForms(READERS[kind]._replace(read=note)).find(data) is None
    assert not read


@given(
    kind=st.sampled_from(sorted(READERS)),
    at=st.integers(0, 200),
    value=st.integers(0, 255),
    more=st.fixed_dictionaries(
        {}, optional={"outputs": st.just(["y"]), "signature": st.just("other")}
    ),
)
def test_other_messages_of_the_same_length_are_not_mistaken(
    kind: str, at: int, value: int, more: dict[str, Any]
) -> None:
    """With any byte of a known message changed, the result is still the message's content."""
    reader = READERS[kind]
    message: Callable[..., Message] = infer_message if kind == "infer" else predict_message
    forms = PackedForms(reader)
    data = bytearray(message(numbers(1, (2, 3), "float32"), **more).SerializeToString())
    forms.find(bytes(data))
    data[at % len(data)] = value
    form = forms.find(bytes(data))
    if form is not None:
        which, raw = whole(kind, bytes(data))
        assert form.which == which
        assert bytes(data) == form.head + raw
        fresh = PackedForms(reader).find(bytes(data))
        assert fresh is not None
        assert fresh.head == form.head


def test_what_is_not_one_tensor_of_numbers_at_the_end_is_read_in_full() -> None:
    x = np.float32([[1, 2, 3]])
    two = predict_message(x)
    two.inputs["y"].CopyFrom(encode_tensor(x))
    wrong_size = predict_message(x)
    wrong_size.inputs["x"].tensor_shape.dim[0].size = 2
    half = predict_message(x.astype(np.float16))
    for message in (
        predict_message(x, outputs=["y"]),  # the filter follows the tensor
        predict_message(np.array([b"a"], object)),
        predict_message(np.array([True])),
        PredictRequest(),
        two,
        wrong_size,
    ):
        assert PackedForms(READERS["predict"]).find(message.SerializeToString()) is None
    assert PackedForms(READERS["predict"]).find(b"\xff\xff") is None
    form = PackedForms(READERS["predict"]).find(half.SerializeToString())
    assert form is None or form.head + half.inputs["x"].tensor_content == half.SerializeToString()
    assert PackedForms(READERS["infer"]).find(infer_message(x, id="7").SerializeToString()) is None
    typed = ModelInferRequest(model_name="m")
    typed.inputs.add(name="x", datatype="FP32", shape=[1]).contents.fp32_contents.append(1)
    assert PackedForms(READERS["infer"]).find(typed.SerializeToString()) is None


def test_forms_that_never_come_again_are_seldom_learned() -> None:
    readings = 0

    def read(data: bytes, begin: int, number: int) -> Any:
        nonlocal readings
        readings += 1
        return READERS["predict"].read(data, begin, number)

    forms = PackedForms(READERS["predict"]._replace(read=read))
    for i in range(2000):
        array = np.zeros((1, 1 + i), np.float32)
        forms.find(predict_message(array, signature=f"s{i}").SerializeToString())
    assert readings <= 3 * (64 + 2000 / 16 + 1)
    assert sum(len(known) for known in forms._forms.values()) <= 256


def test_a_version_that_takes_no_such_rows_reads_in_full() -> None:
    """Another version of the model may have other inputs, so each version has its own state."""
    reader = READERS["predict"]
    data = predict_message(np.float32([[1, 2, 3]])).SerializeToString()
    form = PackedForms(reader).find(data)
    assert form is not None
    fixed = NumpyModel(
        {"x": TensorSpec([1, 3], "float32")},
        {"y": TensorSpec([1, 3], "float32")},
        lambda feeds: {"y": feeds["x"]},
    )
    servable = Servable("m", 8, LoadedModel({"serving_default": fixed}))
    for _ in range(2):
        found = form.decode(servable, data, {})
        assert type(found.feeds) is dict
        np.testing.assert_array_equal(found.feeds["x"], [[1, 2, 3]])


def test_outputs_that_are_no_rows_of_numbers_are_written_each_by_itself() -> None:
    def encode(outputs: Arrays) -> Reply:
        return Reply(outputs["y"].tobytes(), 0)

    assert RowReplies(encode).encode_rows({"y": np.zeros(2, np.float32)}, [1, 1]) is None
    reader, servable = READERS["predict"], servable_of("float32", ())
    data = predict_message(np.zeros(1, np.float32)).SerializeToString()
    replies = RowReplies(reader.wire(data).decode(servable, data, {}).encode)
    for y in (np.array([b"a"], object), np.array([True]), np.zeros((1, 0), np.float32)):
        assert replies.encode_rows({"y": y}, [1]) is None
