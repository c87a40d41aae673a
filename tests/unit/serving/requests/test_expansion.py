"""Limits of the memory of small requests: each kind of body that expands."""

import asyncio
import gc
import gzip
import io
import json
import threading
import time
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError
from pinnace.graph.codec.tensors import encode_tensor, list_tensor
from pinnace.proto import inference_service_pb2 as v2
from pinnace.proto.inference_pb2 import ClassificationRequest, ExamplesRequest
from pinnace.proto.predict_pb2 import PredictRequest, PredictResponse
from pinnace.proto.tensor_pb2 import TensorProto
from pinnace.serving import acceleration
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.errors import RequestTooLargeError
from pinnace.serving.http.infer import Infer
from pinnace.serving.http.json_arrays import encode_array
from pinnace.serving.http.json_examples import read_examples
from pinnace.serving.http.json_predict import JsonPredict
from pinnace.serving.http.json_text import parse_json
from pinnace.serving.http.npy import read_npy
from pinnace.serving.memory import kept_for_requests
from pinnace.serving.messages.examples import Classify
from pinnace.serving.messages.fields import check_fields, parse
from pinnace.serving.messages.model_infer import Infer as GrpcInfer
from pinnace.serving.messages.prediction import Predict
from pinnace.serving.models.loaded_model import LoadedModel
from pinnace.serving.models.servable import Servable
from pinnace.serving.requests.datatypes import checked_shape
from pinnace.serving.requests.expansion import MOST_BYTES
from pinnace.serving.running.threads import quick_turns
from unit.serving.memory_server import Server, running
from unit.serving.numpy_models import echo, every_kind, write_version

MODEL = Servable(
    "m", 1, LoadedModel({"serving_default": echo("float32"), "text": echo("string", "text")})
)


def filled(kind: int, shape: list[int], **values: object) -> PredictRequest:
    tensor = TensorProto(dtype=kind, **values)  # type: ignore[arg-type]
    for size in shape:
        tensor.tensor_shape.dim.add(size=size)
    request = PredictRequest()
    request.model_spec.name = "m"
    request.inputs["x"].CopyFrom(tensor)
    return request


HUGE = {
    "floats": filled(1, [2**28], float_val=[1.0]),
    "no value": filled(1, [2**28]),
    "several": filled(1, [2**28], float_val=[1.0, 2.0]),
    "many axes": filled(1, [2**7] * 4, float_val=[1.0]),
    "strings": filled(7, [2**28], string_val=[b"x"]),
    "long strings": filled(7, [2**14], string_val=[b"x" * 2**12]),
}


@pytest.mark.parametrize("name", HUGE)
def test_a_value_does_not_fill_more_than_a_request_may_take(name: str) -> None:
    request = HUGE[name]
    if "string" in name:
        request.model_spec.signature_name = "text"
    tracemalloc.start()
    try:
        with pytest.raises(RequestTooLargeError, match="a request of this size may take"):
            Predict(request).decode(MODEL, b"", {})
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "shape",
    [[2**62, 4], [2**62, 0], [2**40, 2**40], [-1, -4], [-(2**63)], [1] * 40, [1] * 100_000],
    ids=str,
)
@pytest.mark.parametrize("content", [b"", b"\0" * 16])
def test_a_shape_that_overflows_is_an_invalid_argument(shape: list[int], content: bytes) -> None:
    request = filled(1, shape, tensor_content=content)
    with pytest.raises((InvalidArgumentError, RequestTooLargeError)):
        Predict(request).decode(MODEL, b"", {})
    raw = v2.ModelInferRequest(model_name="m", raw_input_contents=[content])
    raw.inputs.add(name="x", datatype="FP32", shape=shape)
    with pytest.raises(InvalidArgumentError):
        GrpcInfer(raw).decode(MODEL, b"", {})
    tensor = {"name": "x", "datatype": "FP32", "shape": shape, "data": []}
    with pytest.raises(InvalidArgumentError):
        Infer().decode(MODEL, json.dumps({"inputs": [tensor]}).encode(), {})
    file = io.BytesIO()
    header = {"descr": "<f4", "fortran_order": False, "shape": tuple(shape)}
    try:
        np.lib.format.write_array_header_2_0(file, header)  # type: ignore[arg-type]
    except ValueError:
        return
    with pytest.raises(InvalidArgumentError):
        read_npy(file.getvalue() + content, dtypes.float32)


@pytest.mark.parametrize("kind", [20, 21])
def test_a_handle_in_a_request_is_an_invalid_argument(kind: int) -> None:
    with pytest.raises(InvalidArgumentError, match="a request cannot hold a tensor of"):
        Predict(filled(kind, [1])).decode(MODEL, b"", {})


@given(st.lists(st.integers(0, 2**64), max_size=40))
def test_a_shape_that_is_taken_fits_into_an_array(sizes: list[int]) -> None:
    try:
        shape = checked_shape("x", sizes)
    except InvalidArgumentError:
        return
    if 0 in shape:
        assert np.empty(0, np.complex128).reshape(shape).shape == shape


def test_a_context_does_not_stand_before_too_many_examples() -> None:
    body = {"context": {"a": "x" * 10**5}, "examples": [{}] * 10**4}
    with pytest.raises(RequestTooLargeError, match="context"):
        read_examples(json.dumps(body).encode())
    request = ClassificationRequest()
    both = request.input.example_list_with_context
    both.context.features.feature["a"].bytes_list.value.append(b"x" * 10**5)
    for _ in range(10**4):
        both.examples.add()
    request.model_spec.signature_name = "text"
    asked = ExamplesRequest.FromString(request.SerializeToString())
    with pytest.raises(RequestTooLargeError, match="context"):
        Classify(asked.model_spec, asked.input).decode(MODEL, b"", {})


def test_an_output_is_written_once() -> None:
    tensor = {"name": "x", "datatype": "FP32", "shape": [1], "data": [1]}
    twice = {"inputs": [tensor], "outputs": [{"name": "y"}] * 2}
    with pytest.raises(InvalidArgumentError, match="requested twice"):
        Infer().decode(MODEL, json.dumps(twice).encode(), {})
    message = v2.ModelInferRequest(model_name="m", raw_input_contents=[b"\0" * 4])
    message.inputs.add(name="x", datatype="FP32", shape=[1])
    message.outputs.add(name="y")
    message.outputs.add(name="y")
    with pytest.raises(InvalidArgumentError, match="requested twice"):
        GrpcInfer(message).decode(MODEL, b"", {})


@pytest.mark.parametrize("unit", [b"[]", b"{}", b"[[]]"])
def test_json_of_lists_beyond_a_megabyte_is_counted_first(unit: bytes) -> None:
    body = b"[" + b",".join([unit] * (8 * 2**20 // (len(unit) + 1))) + b"]"
    begin = time.perf_counter()
    with pytest.raises(RequestTooLargeError, match="JSON of"):
        parse_json(body)
    assert time.perf_counter() - begin < 1
    assert parse_json(b"[" + b",".join([unit] * 10**5) + b"]")


def test_a_message_of_too_many_fields_is_not_read() -> None:
    with pytest.raises(InvalidArgumentError, match="more than 4096 fields"):
        parse(PredictRequest, b"\x12\x00" * 2**19)
    for data in (b"\xff" * 2**17, b"\x12" + b"\xff" * 2**17, b"\x0b" * 2**17, b"\x0d" * 2**17):
        with pytest.raises(InvalidArgumentError):
            parse(PredictRequest, data)


@given(st.lists(st.binary(max_size=50), max_size=50))
def test_requests_with_few_fields_are_read(names: list[bytes]) -> None:
    request = PredictRequest()
    request.model_spec.name = "m" * 2**17
    for i, name in enumerate(names):
        request.inputs[str(i)].string_val.append(name)
    check_fields(request.SerializeToString(), PredictRequest)
    assert parse(PredictRequest, request.SerializeToString()) == request


@pytest.mark.parametrize("shape", [(200_000,), (3, 100_000), (70_000, 2), (1, 1, 70_000), (2, 0)])
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_a_large_answer_in_pieces_is_the_same_json(shape: tuple[int, ...], dtype: str) -> None:
    array = np.random.default_rng(1).integers(0, 100, shape).astype(dtype)
    assert json.loads(encode_array(array)) == array.tolist()


@pytest.fixture
def small(tmp_path: Path) -> Settings:
    write_version(tmp_path / "m", 7)
    models = (ModelConfig("m", str(tmp_path / "m")),)
    return Settings(models=models, file_system_poll_s=0, max_inflight_bytes=2**24)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_packed_bomb_is_refused(small: Settings, encoding: str) -> None:
    plain = b" " * (MOST_BYTES // 2 + 1)
    body = gzip.compress(plain, 1) if encoding == "gzip" else zlib.compress(plain, 1)
    with running(small, lambda _: every_kind()) as server:
        options = {"content": body, "headers": {"Content-Encoding": encoding}}
        assert server.ask("POST", "/v1/models/m:predict", **options).status_code == 413
        options = {"content": body, "headers": {"Content-Encoding": ",".join([encoding] * 50)}}
        assert server.ask("POST", "/v1/models/m:predict", **options).status_code == 415


def test_what_requests_expand_to_counts_among_the_bytes_that_are_held(small: Settings) -> None:
    # Each takes two thirds of the total limit, and both are slow.
    values = json.dumps({"signature_name": "slow", "inputs": [0] * (small.max_inflight_bytes // 6)})
    with running(small, lambda _: every_kind()) as server:
        options = {"content": values.encode()}
        replies = server.ask_all([("POST", "/v1/models/m:predict", options)] * 3)
        assert sorted({reply.status_code for reply in replies}) == [200, 503]
        assert server.predict({"instances": [1.0]}).status_code == 200
        assert server.app.state.exchange.bytes_in_flight == 0


def test_a_large_body_that_is_read_slowly_keeps_to_the_time_of_its_request(
    small: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered, is_read = threading.Event(), threading.Event()

    class Slow(JsonPredict):
        def read_json(self, *_: object) -> Any:
            answered.wait(10)
            is_read.set()
            raise AssertionError

    monkeypatch.setattr(acceleration, "predict_wire", Slow)
    with running(small, lambda _: every_kind()) as server:
        reply = server.ask(
            "POST",
            "/v1/models/m:predict",
            content=b'{"instances": [' + b"1," * 2**16 + b"1]}",
            headers={"X-Request-Timeout-Ms": "50"},
        )
        assert reply.status_code == 504
        assert not is_read.is_set()  # the reply did not wait for it
        answered.set()
        assert server.app.state.exchange.in_flight == 0


def test_the_loop_goes_on_while_a_megabyte_of_json_is_read(small: Settings) -> None:
    worst = b'{"instances": [' + b",".join([b"[0]"] * (2**18 - 100)) + b"]}"

    async def run(server: Server) -> float:
        longest = last = 0.0
        done = False

        async def watch() -> None:
            nonlocal longest, last
            last = time.perf_counter()
            while not done:
                await asyncio.sleep(0)
                now = time.perf_counter()
                longest, last = max(longest, now - last), now

        transport = httpx.ASGITransport(server.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            await client.post("/v1/models/m:predict", content=b"{}")
            watching = asyncio.create_task(watch())
            begin = time.perf_counter()
            reply = await client.post("/v1/models/m:predict", content=worst)
            assert reply.status_code == 400
            done = True
            await watching
            return longest / (time.perf_counter() - begin)

    with kept_for_requests(), quick_turns(), running(small, lambda _: every_kind()) as server:
        # One call of the parser, which cannot be interrupted, and not all of the work.
        assert min(asyncio.run(run(server)) for _ in range(3)) < 0.6


def test_a_large_request_that_is_refused_leaves_no_cycle_behind(small: Settings) -> None:
    body = json.dumps({"inputs": {"x": ["a"] * 2**16}}).encode()

    async def run(server: Server) -> list[str]:
        transport = httpx.ASGITransport(server.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            await client.post("/v1/models/m:predict", content=body)
            gc.collect()
            gc.disable()
            try:
                reply = await client.post("/v1/models/m:predict", content=body)
                assert reply.status_code == 400
                await asyncio.sleep(0.05)
                gc.set_debug(gc.DEBUG_SAVEALL)
                gc.collect()
                return [type(one).__name__ for one in gc.garbage]
            finally:
                gc.set_debug(0)
                gc.garbage.clear()
                gc.enable()

    with running(small, lambda _: every_kind()) as server:
        left = asyncio.run(run(server))
        assert not {"frame", "traceback", "InvalidArgumentError", "Exchanging"} & set(left)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_a_large_answer_is_the_same_message_as_lists_would_make(dtype: str) -> None:
    array = (np.arange(100_000) * 7 % 1000 - 500).astype(dtype).reshape(1000, 100)
    model = LoadedModel({"serving_default": echo(dtype)})
    request = PredictRequest()
    request.model_spec.name = "m"
    request.inputs["x"].CopyFrom(encode_tensor(array))
    decoded = Predict(request).decode(Servable("m", 1, model), b"", {})
    reply = PredictResponse.FromString(decoded.encode({"y": array}).body)
    assert reply.outputs["y"] == list_tensor(array)
