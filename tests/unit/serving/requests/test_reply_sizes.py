"""The limit of replies is checked before they are written; views count by their shapes."""

import asyncio
import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.framework.errors import ResourceExhaustedError
from pinnace.graph.codec.tensors import decode_tensor, encode_tensor, list_tensor
from pinnace.proto import inference_service_pb2 as v2
from pinnace.proto.inference_pb2 import ClassificationResult
from pinnace.proto.predict_pb2 import PredictRequest, PredictResponse
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.http.json_arrays import encode_array
from pinnace.serving.http.json_examples import _classes_text
from pinnace.serving.messages.examples import Classify
from pinnace.serving.messages.model_infer import _Inferred
from pinnace.serving.messages.prediction import _Predicted
from pinnace.serving.models.loading import load_model
from pinnace.serving.models.repository import Repository
from pinnace.serving.observing.metrics import Metrics
from pinnace.serving.requests.datatypes import write_tensor
from pinnace.serving.requests.exchange import Exchange
from pinnace.serving.requests.expansion import ALLOWANCE, NO_LIMIT, raw_bytes
from pinnace.serving.requests.infer_parameters import RequestedOutput
from pinnace.serving.requests.reply import Reply
from support.each import holds_for_each
from unit.serving.http_requests import Way, read_reply, request, serve
from unit.serving.memory_server import running

LARGE = 2_000_000  # numbers; 8 MB of float32
KINDS = ("tile", "broadcast", "repeat", "raw", "mesh", "fill", "words")


class Much(tf.Module):
    """As many numbers as requested, most of them as a view of one."""

    @tf.function(input_signature=[tf.TensorSpec([1], tf.int32, "n")])
    def tile(self, n: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": tf.tile(n, [n[0]])}

    @tf.function(input_signature=[tf.TensorSpec([1], tf.int32, "n")])
    def broadcast(self, n: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": tf.broadcast_to(tf.cast(n[0], tf.float32), [n[0]])}

    @tf.function(input_signature=[tf.TensorSpec([1], tf.int32, "n")])
    def repeat(self, n: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": tf.repeat(tf.cast(n, tf.float64), n[0])}

    @tf.function(input_signature=[tf.TensorSpec([1], tf.int32, "n")])
    def raw(self, n: tf.Tensor) -> dict[str, tf.Tensor]:
        text = tf.strings.reduce_join(tf.repeat("abcdefgh", n[0]))
        return {"y": tf.io.decode_raw(text, tf.int64)}

    @tf.function(input_signature=[tf.TensorSpec([1], tf.int32, "n")])
    def mesh(self, n: tf.Tensor) -> dict[str, tf.Tensor]:
        a, b = tf.meshgrid(tf.range(n[0] // 1000), tf.range(1000))
        return {"a": a, "b": b}

    @tf.function(input_signature=[tf.TensorSpec([1], tf.int32, "n")])
    def fill(self, n: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": tf.fill([n[0]], 0.1)}

    @tf.function(input_signature=[tf.TensorSpec([1], tf.int32, "n")])
    def words(self, n: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": tf.repeat("a word", n[0])}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sizes") / "m"
    much = Much()
    signatures = {kind: getattr(much, kind) for kind in KINDS}
    tf.saved_model.save(
        much, str(folder / "1"), signatures={**signatures, "serving_default": much.fill}
    )
    return folder


def settings_of(model: Path, **more: Any) -> Settings:
    return Settings(models=(ModelConfig("m", str(model)),), file_system_poll_s=0, **more)


def asked(n: int, kind: str = "fill") -> dict[str, Any]:
    return {"signature_name": kind, "inputs": [n]}


def test_an_answer_above_the_limit_is_refused_by_every_form_of_http(model: Path) -> None:
    with running(settings_of(model, max_reply_bytes=10**6), load_model) as server:
        for kind in KINDS:
            few = server.predict(asked(2000, kind))
            assert few.status_code == 200, few.text
            much = server.predict(asked(LARGE, kind))
            assert much.status_code == 429, (kind, much.text[:100])
            assert "an answer may have 1000000" in much.json()["error"]
            assert "--max_reply_bytes" in much.json()["error"]
        array = np.int32([LARGE]).tobytes()
        header = json.dumps(
            {
                "inputs": [
                    {
                        "name": "n",
                        "datatype": "INT32",
                        "shape": [1],
                        "parameters": {"binary_data_size": 4},
                    }
                ],
                "parameters": {"binary_data_output": True},
            }
        ).encode()
        length = {"Inference-Header-Content-Length": str(len(header))}
        path = "/v2/models/m/infer"
        assert server.ask("POST", path, content=header + array, headers=length).status_code == 429
        text = {"inputs": [{"name": "n", "datatype": "INT32", "shape": [1], "data": [LARGE]}]}
        assert server.ask("POST", path, json=text).status_code == 429
        npy = {"Accept": "application/x-npy"}
        answer = server.ask("POST", "/v1/models/m:predict", json=asked(LARGE), headers=npy)
        assert answer.status_code == 429, answer.text[:100]
        # An output that was not requested is not written.
        one = {
            "inputs": [{"name": "n", "datatype": "INT32", "shape": [1], "data": [40000]}],
            "parameters": {"signature_name": "mesh"},
            "outputs": [{"name": "a"}],
        }
        assert server.ask("POST", path, json=one).status_code == 200


def test_rows_that_run_together_are_refused_one_by_one(model: Path) -> None:
    """On the connection and by the application; replies below the limit are sent."""
    settings = settings_of(model, max_reply_bytes=5000)
    for way in (Way.HOT, Way.PLAIN):
        repository = Repository(settings, load_model)
        repository.start()
        found: list[bytes] = []

        async def ask(port: int, found: list[bytes] = found) -> None:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            for n in (10, 100_000, 20, 900, 5000):
                writer.write(request(json.dumps(asked(n)).encode()))
                found.append(await asyncio.wait_for(read_reply(reader), 10))
            writer.close()

        try:
            serve(settings, repository, way, ask)
        finally:
            repository.close()
        assert [reply[9:12] for reply in found] == [b"200", b"429", b"200", b"200", b"429"]


def test_without_a_limit_a_long_answer_is_whole(model: Path) -> None:
    with running(settings_of(model, max_reply_bytes=0), load_model) as server:
        for kind in ("tile", "broadcast", "fill"):
            found = server.predict(asked(LARGE, kind))
            value = {"tile": LARGE, "broadcast": float(LARGE), "fill": 0.1}[kind]
            assert found.json() == {"outputs": [value] * LARGE}
        mesh = server.predict(asked(100_000, "mesh")).json()["outputs"]
        assert mesh["a"] == [list(range(100))] * 1000
        assert mesh["b"] == [[i] * 100 for i in range(1000)]


def test_views_count_by_their_shape(model: Path) -> None:
    settings = settings_of(model, max_run_bytes=LARGE * 2, max_reply_bytes=0)
    with running(settings, load_model) as server:
        for kind in ("tile", "broadcast", "repeat", "raw", "mesh", "fill"):
            found = server.predict(asked(LARGE, kind))
            assert found.status_code == 429, (kind, found.text[:100])
            assert f"a run may take {LARGE * 2} bytes" in found.json()["error"]
            assert server.predict(asked(2000, kind)).status_code == 200


def test_an_answer_above_the_limit_is_refused_over_grpc(model: Path) -> None:
    grpc = pytest.importorskip("grpc")
    from pinnace.serving.grpc.listening import listening

    settings = settings_of(model, max_reply_bytes=10**6)

    async def ask(repository: Repository, on_core: bool) -> None:
        exchange = Exchange(settings, repository, Metrics(lambda name: name in repository))
        async with (
            listening(exchange, "127.0.0.1:0", on_core=on_core) as port,
            grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
        ):
            predict = channel.unary_unary(
                "/tensorflow.serving.PredictionService/Predict",
                request_serializer=PredictRequest.SerializeToString,
                response_deserializer=PredictResponse.FromString,
            )
            infer = channel.unary_unary(
                "/inference.GRPCInferenceService/ModelInfer",
                request_serializer=v2.ModelInferRequest.SerializeToString,
                response_deserializer=v2.ModelInferResponse.FromString,
            )
            for kind in KINDS:
                for n, is_refused in ((2000, False), (LARGE, True)):
                    message = PredictRequest()
                    message.model_spec.name, message.model_spec.signature_name = "m", kind
                    message.inputs["n"].CopyFrom(encode_tensor(np.int32([n])))
                    asked = v2.ModelInferRequest(model_name="m")
                    asked.parameters["signature_name"].string_param = kind
                    tensor = asked.inputs.add(name="n", datatype="INT32", shape=[1])
                    tensor.contents.int_contents.append(n)
                    for call, text in ((predict, message), (infer, asked)):
                        if not is_refused:
                            await call(text, timeout=60)
                            continue
                        with pytest.raises(grpc.aio.AioRpcError) as caught:
                            await call(text, timeout=60)
                        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
                        assert "an answer may have 1000000" in (caught.value.details() or "")

    for on_core in (True, False):
        repository = Repository(settings, load_model)
        repository.start()
        try:
            asyncio.run(ask(repository, on_core))
        finally:
            repository.close()


@given(
    shape=st.lists(st.integers(0, 60), min_size=1, max_size=4),
    dtype=st.sampled_from(["float32", "float64", "int64", "uint8", "bool", "object"]),
    view=st.sampled_from(["", "transposed", "broadcast", "strided"]),
)
def test_pieces_are_the_whole(shape: list[int], dtype: str, view: str) -> None:
    """Text that is written in pieces equals NumPy's, for any strides of the array."""
    shape = [size * 40 if i == len(shape) - 1 else size for i, size in enumerate(shape)]
    while np.prod(shape) > 10**5:
        shape[int(np.argmax(shape))] //= 2
    rng = np.random.default_rng(len(shape))
    array = (rng.random(shape) * 100).astype("int64" if dtype == "object" else dtype)
    if dtype == "object":
        array = array.astype(str).astype(object)
    if view == "transposed":
        array = array.T
    elif view == "broadcast":
        array = np.broadcast_to(array[..., :1], array.shape)
    elif view == "strided":
        array = array[..., ::2]
    found = json.loads(encode_array(array))
    np.testing.assert_array_equal(np.array(found, array.dtype).reshape(array.shape), array)
    if dtype != "object":
        assert raw_bytes(array) == array.tobytes()


def test_raw_bytes_in_pieces_are_the_arrays() -> None:
    array = np.arange(3 * 2**20, dtype=np.int32).reshape(3, -1)
    for laid_out in (array, array.T, array[:, ::-1], np.broadcast_to(array[:1], (9, 2**20))):
        assert raw_bytes(laid_out) == laid_out.tobytes()


def test_the_limit_is_of_the_thread_that_writes() -> None:
    ALLOWANCE.most_reply = 100
    try:
        with pytest.raises(ResourceExhaustedError, match="an answer may have 100"):
            raw_bytes(np.zeros(26, np.float32))
        assert raw_bytes(np.zeros(25, np.float32)) == bytes(100)
    finally:
        ALLOWANCE.most_reply = NO_LIMIT


INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
NUMBERS = (*INTEGERS, "float16", "float32", "float64", "bool", "complex64", "complex128")


@pytest.mark.parametrize("kind", [*NUMBERS, "bfloat16", "object"])
def test_long_outputs_read_as_the_messages_that_protobuf_writes(kind: str) -> None:
    rng = np.random.default_rng(len(kind))
    if kind in INTEGERS:
        bits = rng.integers(0, 2**63, (3, 40_000)) >> rng.integers(0, 64, (3, 40_000))
        array = (bits * rng.choice([-1, 1], bits.shape)).astype(kind)
        array[0, :4] = [np.iinfo(kind).min, np.iinfo(kind).max, 0, 1]
    elif kind == "object":
        array = np.empty((3, 40_000), object)
        lengths = [0, 1, 127, 128, 20_000, 3 * 2**20]
        array[...] = [b"x" * lengths[i % 5] if i < 600 else b"%d" % i for i in range(40_000)]
        array[1, 7] = b"\xff" * lengths[-1]
    else:
        dtype = tf.bfloat16.as_numpy_dtype if kind == "bfloat16" else kind
        array = (100 * rng.standard_normal((3, 40_000))).astype(dtype)
    views = {
        "itself": array,
        "transposed": array.T,
        "broadcast": np.broadcast_to(array[:1], array.shape),
        "strided": array[:, 1::2][::-1],
    }
    holds_for_each(
        [(name, as_content) for name in views for as_content in (False, True)],
        lambda case: reads_as_the_message(kind, views[case[0]], as_content=case[1]),
    )


def reads_as_the_message(kind: str, array: Any, *, as_content: bool) -> None:
    encode = _Predicted(_Named(), "s", ["y", "small"], as_content)
    response = PredictResponse.FromString(encode({"y": array, "small": np.float32([1, 2])}).body)
    assert response.model_spec.name == "m"
    assert decode_tensor(response.outputs["small"]).tolist() == [1, 2]
    found = decode_tensor(response.outputs["y"])
    assert found.dtype == array.dtype
    assert found.shape == array.shape
    assert np.ascontiguousarray(found).tobytes() == np.ascontiguousarray(array).tobytes() or (
        kind == "object" and (found == array).all()
    )
    # The same bytes as the list of a message that holds all values.
    if not as_content:
        wanted = list_tensor(np.ascontiguousarray(array))
        assert response.outputs["y"].SerializeToString() == wanted.SerializeToString()


@pytest.mark.parametrize("kind", ["int32", "int64", "bool", "object", "float16", "complex128"])
def test_a_long_output_is_refused_before_it_takes_memory(kind: str) -> None:
    """For every wire and any view, the refusal needs no more memory than pieces of the reply."""
    one = np.array([b"abc"], object) if kind == "object" else np.array([100]).astype(kind)
    array = np.broadcast_to(one, (3_000_000,))
    encodes = [
        _Predicted(_Named(), "s", ["y"], as_content=False),
        _Predicted(_Named(), "s", ["y"], as_content=True),
        lambda outputs: Reply(write_tensor(outputs["y"])),
    ]
    if kind in ("int32", "int64", "bool", "object"):
        output = RequestedOutput("y", is_binary=True, classes=0)
        encodes.append(_Inferred(_Named(), "", [output]))
    for encode in encodes:
        ALLOWANCE.most_reply = 2_900_000
        tracemalloc.start()
        try:
            with pytest.raises(ResourceExhaustedError, match="an answer may have 2900000"):
                encode({"y": array})
            assert tracemalloc.get_traced_memory()[1] < 4 * 2**20
        finally:
            tracemalloc.stop()
            ALLOWANCE.most_reply = NO_LIMIT


def test_outputs_together_are_refused_before_any_is_written() -> None:
    arrays = {name: np.zeros(300_000, np.float32) for name in ("a", "b", "c")}
    outputs = [RequestedOutput(name, is_binary=True, classes=0) for name in arrays]
    for encode in (
        _Predicted(_Named(), "s", list(arrays), as_content=False),
        _Inferred(_Named(), "", outputs),
    ):
        ALLOWANCE.most_reply = 3_000_000  # each alone is smaller
        tracemalloc.start()
        try:
            with pytest.raises(ResourceExhaustedError):
                encode(arrays)
            assert tracemalloc.get_traced_memory()[1] < 2**20
        finally:
            tracemalloc.stop()
            ALLOWANCE.most_reply = NO_LIMIT


@pytest.mark.parametrize("with_labels", [False, True])
def test_many_classes_are_refused_before_they_are_pairs(with_labels: bool) -> None:
    """Small examples yield all classes of a model each, over both wires."""
    outputs: dict[str, Any] = {"scores": np.full((2000, 1000), 0.5, np.float32)}
    if with_labels:
        outputs["classes"] = np.broadcast_to(np.array([b"label"], object), (2000, 1000))
    for encode in (Classify._encoded, _classes_text):
        few = {name: array[:3, :5] for name, array in outputs.items()}
        assert encode(few, 3)
        ALLOWANCE.most_reply = 10**7
        tracemalloc.start()
        try:
            with pytest.raises(ResourceExhaustedError, match="an answer may have 10000000"):
                encode(outputs, 2000)
            assert tracemalloc.get_traced_memory()[1] < 4 * 2**20
        finally:
            tracemalloc.stop()
            ALLOWANCE.most_reply = NO_LIMIT


def test_classes_in_pieces_are_the_message() -> None:
    scores = np.float32([[0.25, 0, -1.5], [3e38, 1e-45, 0.1]])
    classes = np.array([[b"a", b"", b"\xc3\xa4"], [b"x" * 200, b"b", b"c"]], object)
    for outputs in (
        {"scores": scores},
        {"classes": classes},
        {"scores": scores, "classes": classes},
    ):
        rows = ClassificationResult.FromString(Classify._encoded(outputs, 2)).classifications
        found = json.loads(_classes_text(outputs, 2))
        for i, (row, pairs) in enumerate(zip(rows, found, strict=True)):
            labels = classes[i].tolist() if "classes" in outputs else [b""] * 3
            wanted = scores[i].tolist() if "scores" in outputs else [0.0] * 3
            assert [one.label.encode() for one in row.classes] == labels
            assert [one.score for one in row.classes] == wanted
            assert [label.encode() for label, _ in pairs] == labels
            assert np.float32([score for _, score in pairs]).tolist() == wanted
    nothing = np.float32([[np.nan, np.inf, -np.inf]])
    assert _classes_text({"scores": nothing}, 1) == b'[[["",NaN],["",Infinity],["",-Infinity]]]'
    assert _classes_text({"scores": np.zeros((2, 0), np.float32)}, 2) == b"[[],[]]"


class _Named:
    """The parts of a version that a reply names."""

    name, version = "m", 3
