"""The requests of the example programs of Triton's Python clients.

Source of the facts: triton-inference-server/client, src/python/examples. Programs that differ in
how their client waits, or is set up, send the same requests.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.proto import inference_service_pb2 as v2

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import httpx
    import numpy.typing as npt

LENGTH = "Inference-Header-Content-Length"
NUMBERS = np.arange(16, dtype=np.int32)[None]
ONES = np.ones_like(NUMBERS)
BY_NAME = {"INT32": np.int32, "INT8": np.int8, "FP32": np.float32}


@dataclass(frozen=True)
class Asking:
    """The interfaces to a server.

    Attributes:
        http: an HTTP client.
        grpc: sends a message to a method of the service; returns the response's bytes.
        stream: sends messages to ModelStreamInfer; returns the responses.
        refused: returns status and text of a failing call.
        memory: creates a shared memory object: its key, and functions that read and write it.
    """

    http: httpx.AsyncClient
    grpc: Callable[[str, Any], Awaitable[bytes]]
    stream: Callable[[list[Any]], Awaitable[list[Any]]]
    refused: Callable[[Awaitable[Any]], Awaitable[tuple[str, str]]]
    memory: Callable[[str, int], tuple[str, Any]]


def raw(array: npt.NDArray[Any]) -> bytes:
    """The bytes of a tensor; strings have a length prefix."""
    if array.dtype != object:
        return array.tobytes()
    return b"".join(struct.pack("<I", len(text)) + text for text in array.flat)


def texts(data: bytes) -> list[bytes]:
    """The strings of a tensor."""
    found = []
    while data:
        (size,) = struct.unpack_from("<I", data)
        found.append(data[4 : 4 + size])
        data = data[4 + size :]
    return found


def strings(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.array([str(n).encode() for n in numbers.flat], object).reshape(numbers.shape)


def sums(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> list[list[int]]:
    """The sum and the difference, which the programs check."""
    return [(a + b).ravel().tolist(), (a - b).ravel().tolist()]


async def http_infer(
    asking: Asking, model: str, inputs: list[dict[str, Any]], outputs: Any, tail: bytes = b""
) -> list[Any]:
    """The numbers of each output, in whichever form the response has them."""
    document = {"inputs": inputs, **({"outputs": outputs} if outputs else {})}
    header = json.dumps(document).encode()
    reply = await asking.http.post(
        f"/v2/models/{model}/infer?test_1=1&test_2=2",
        content=header + tail,
        headers={LENGTH: str(len(header))} if tail else {},
    )
    assert reply.status_code == 200, reply.text
    size = int(reply.headers.get(LENGTH, len(reply.content)))
    rest = reply.content[size:]
    found = []
    for output in json.loads(reply.content[:size])["outputs"]:
        count = output.get("parameters", {}).get("binary_data_size")
        if count is None:
            found.append(output.get("data"))
            continue
        part, rest = rest[:count], rest[count:]
        is_text = output["datatype"] == "BYTES"
        found.append(
            texts(part) if is_text else np.frombuffer(part, BY_NAME[output["datatype"]]).tolist()
        )
    return found


def described(name: str, array: npt.NDArray[Any], data: Any = None, **more: Any) -> dict[str, Any]:
    kind = {np.dtype(object): "BYTES", **{np.dtype(v): k for k, v in BY_NAME.items()}}[array.dtype]
    tensor = {"name": name, "shape": list(array.shape), "datatype": kind}
    return {**tensor, **({} if data is None else {"data": data}), **more}


def sized(array: npt.NDArray[Any]) -> dict[str, Any]:
    return {"parameters": {"binary_data_size": len(raw(array))}}


BOTH_FORMS = [
    {"name": "OUTPUT0", "parameters": {"binary_data": True}},
    {"name": "OUTPUT1", "parameters": {"binary_data": False}},
]


async def http_simple(asking: Asking) -> None:
    inputs = [
        described("INPUT0", NUMBERS, NUMBERS.ravel().tolist()),
        described("INPUT1", ONES, **sized(ONES)),
    ]
    for outputs in (BOTH_FORMS, None):
        assert await http_infer(asking, "simple", inputs, outputs, raw(ONES)) == sums(NUMBERS, ONES)
    stats = (await asking.http.get("/v2/models/simple/stats")).json()["model_stats"]
    assert [row["name"] for row in stats] == ["simple"]
    reply = await asking.http.post("/v2/models/wrong_model_name/infer", json={"inputs": inputs})
    assert "Request for unknown model" in reply.json()["error"]


async def http_strings(asking: Asking) -> None:
    a, b = strings(NUMBERS), strings(ONES)
    inputs = [
        described("INPUT0", a, **sized(a)),
        described("INPUT1", b, [text.decode() for text in b.flat]),
    ]
    found = await http_infer(asking, "simple_string", inputs, BOTH_FORMS, raw(a))
    assert [[int(text) for text in one] for one in found] == sums(NUMBERS, ONES)
    words = np.array([b"ab", "é".encode(), b"a\0b"] + [b"x"] * 13, object).reshape(1, 16)
    given = [described("INPUT0", words, **sized(words))]
    outputs = [{"name": "OUTPUT0", "parameters": {"binary_data": True}}]
    found = await http_infer(asking, "simple_identity", given, outputs, raw(words))
    assert found == [list(words.flat)]


async def http_memory(asking: Asking) -> None:
    await _http_regions(asking, "simple", NUMBERS, ONES)


async def http_memory_strings(asking: Asking) -> None:
    await _http_regions(asking, "simple_string", strings(NUMBERS), strings(ONES))


async def _http_regions(
    asking: Asking, model: str, a: npt.NDArray[Any], b: npt.NDArray[Any]
) -> None:
    system = "/v2/systemsharedmemory"
    for path in (f"{system}/unregister", "/v2/cudasharedmemory/unregister"):
        assert (await asking.http.post(path)).status_code == 200
    size = len(raw(a)) + len(raw(b))
    objects = {}
    for region in ("input_data", "output_data"):
        key, objects[region] = asking.memory(f"{model}_{region}", 512)
        body = {"key": key, "offset": 0, "byte_size": 512}
        reply = await asking.http.post(f"{system}/region/{region}/register", json=body)
        assert reply.status_code == 200, reply.text
    objects["input_data"][:size] = raw(a) + raw(b)
    inputs = [
        described("INPUT0", a, parameters=_at("input_data", len(raw(a)))),
        described("INPUT1", b, parameters=_at("input_data", len(raw(b)), len(raw(a)))),
    ]
    outputs = [
        {"name": "OUTPUT0", "parameters": _at("output_data", 256)},
        {"name": "OUTPUT1", "parameters": _at("output_data", 256, 256)},
    ]
    await http_infer(asking, model, inputs, outputs)
    _check_memory(objects["output_data"], a)
    status = (await asking.http.get(f"{system}/status")).json()
    assert sorted(row["name"] for row in status) == ["input_data", "output_data"]
    assert (await asking.http.post(f"{system}/unregister")).status_code == 200
    assert (await asking.http.get(f"{system}/status")).json() == []


def _at(region: str, size: int, offset: int = 0) -> dict[str, Any]:
    place = {"shared_memory_region": region, "shared_memory_byte_size": size}
    return {**place, "shared_memory_offset": offset} if offset else place


def _check_memory(found: Any, a: npt.NDArray[Any]) -> None:
    for offset, wanted in zip((0, 256), sums(NUMBERS, ONES), strict=True):
        if a.dtype == object:
            data = raw(strings(np.array(wanted)))
            assert found[offset : offset + len(data)] == data
        else:
            assert np.frombuffer(found[offset : offset + 64], np.int32).tolist() == wanted


async def http_health(asking: Asking) -> None:
    for path in ("/v2/health/live?test_1=1", "/v2/health/ready", "/v2/models/simple/ready"):
        assert (await asking.http.get(path)).status_code == 200
    assert (await asking.http.get("/v2/models/simple?test_2=2")).json()["name"] == "simple"
    reply = await asking.http.get("/v2/models/wrong_model_name")
    assert "Request for unknown model" in reply.json()["error"]
    name = (await asking.http.get("/v2")).json()["name"]
    assert name == "triton", f"the server is {name}"


async def http_control(asking: Asking) -> None:
    models = "/v2/repository/models"
    assert (await asking.http.post("/v2/repository/index")).json()
    assert (await asking.http.post(f"{models}/simple/load")).status_code == 200
    override = {"parameters": {"config": '{"max_batch_size":"16"}'}}
    reply = await asking.http.post(f"{models}/simple/load", json=override)
    assert reply.status_code == 200, reply.text


# The model adds one to the first number of a sequence. The inputs of three sequences: their id, the
# first number, and the factor of the others.
VALUES = (11, 7, 5, 3, 2, 0, 1)
SEQUENCES: tuple[tuple[int | str, int, int], ...] = (
    (1000, 0, 1),
    (1001, 100, -1),
    ("c1d9a2f0-2f41-4b6e-9a0c-1f6f6e1d2b11", 20, -1),
)


def _sequence(first: int, sign: int) -> tuple[list[int], list[int]]:
    """The numbers sent in a sequence, and the responses."""
    others = [sign * value for value in VALUES]
    return [first, *others], [first + 1, *others]


async def http_sequence(asking: Asking) -> None:
    for key, first, sign in SEQUENCES:
        numbers, expected = _sequence(first, sign)
        found = []
        for place, number in enumerate(numbers):
            data = np.int32([[number]]).tobytes()
            size = {"binary_data_size": len(data)}
            marks = {"sequence_start": place == 0, "sequence_end": place == len(VALUES)}
            tensor = {"name": "INPUT", "shape": [1, 1], "datatype": "INT32", "parameters": size}
            output = {"name": "OUTPUT", "parameters": {"binary_data": True}}
            document = {
                "inputs": [tensor],
                "outputs": [output],
                "parameters": {"sequence_id": key, **marks},
            }
            head = json.dumps(document).encode()
            reply = await asking.http.post(
                "/v2/models/simple_sequence/infer",
                content=head + data,
                headers={LENGTH: str(len(head))},
            )
            assert reply.status_code == 200, reply.text
            found += np.frombuffer(reply.content[int(reply.headers[LENGTH]) :], np.int32).tolist()
        assert found == expected


def message(model: str, *arrays: npt.NDArray[Any], **more: Any) -> v2.ModelInferRequest:
    """A request with the bytes of some inputs."""
    request = v2.ModelInferRequest(model_name=model, **more)
    for place, array in enumerate(arrays):
        tensor = described(f"INPUT{place}", array)
        request.inputs.add(**tensor)
        request.raw_input_contents.append(raw(array))
    return request


async def grpc_infer(asking: Asking, request: v2.ModelInferRequest) -> list[Any]:
    """The numbers of each output."""
    return _numbers(v2.ModelInferResponse.FromString(await asking.grpc("ModelInfer", request)))


def _numbers(response: v2.ModelInferResponse) -> list[Any]:
    return [
        texts(data)
        if row.datatype == "BYTES"
        else np.frombuffer(data, BY_NAME[row.datatype]).tolist()
        for row, data in zip(response.outputs, response.raw_output_contents, strict=True)
    ]


async def grpc_simple(asking: Asking) -> None:
    request = message("simple", NUMBERS, ONES)
    assert await grpc_infer(asking, request) == sums(NUMBERS, ONES)
    for name in ("OUTPUT0", "OUTPUT1"):
        request.outputs.add(name=name)
    assert await grpc_infer(asking, request) == sums(NUMBERS, ONES)
    asked = v2.ModelStatisticsRequest(name="simple")
    found = v2.ModelStatisticsResponse.FromString(await asking.grpc("ModelStatistics", asked))
    assert len(found.model_stats) == 1
    wrong = message("wrong_model_name", NUMBERS, ONES)
    assert (
        "Request for unknown model" in (await asking.refused(asking.grpc("ModelInfer", wrong)))[1]
    )


async def grpc_strings(asking: Asking) -> None:
    found = await grpc_infer(asking, message("simple_string", strings(NUMBERS), strings(ONES)))
    assert [[int(text) for text in one] for one in found] == sums(NUMBERS, ONES)
    words = np.array([b"", b"\xff\0"] + [b"x"] * 14, object).reshape(1, 16)
    assert await grpc_infer(asking, message("simple_identity", words)) == [list(words.flat)]


def _explicit(model: str, datatype: str, field: str) -> Callable[[Asking], Awaitable[None]]:
    async def ask(asking: Asking) -> None:
        request = v2.ModelInferRequest(model_name=model)
        for name, numbers in (("INPUT0", NUMBERS), ("INPUT1", ONES)):
            tensor = request.inputs.add(name=name, datatype=datatype, shape=[1, 16])
            values = strings(numbers) if datatype == "BYTES" else numbers
            getattr(tensor.contents, field).extend(values.ravel().tolist())
        found = await grpc_infer(asking, request)
        assert [[int(one) for one in row] for row in found] == sums(NUMBERS, ONES)
        request.model_version = "wrong_specification"
        _, said = await asking.refused(asking.grpc("ModelInfer", request))
        wanted = "failed to get model version from specified version string 'wrong_specification'"
        assert wanted in said

    return ask


async def grpc_memory(asking: Asking) -> None:
    await _grpc_regions(asking, "simple", NUMBERS, ONES)


async def grpc_memory_strings(asking: Asking) -> None:
    await _grpc_regions(asking, "simple_string", strings(NUMBERS), strings(ONES))


async def _grpc_regions(
    asking: Asking, model: str, a: npt.NDArray[Any], b: npt.NDArray[Any]
) -> None:
    await asking.grpc("SystemSharedMemoryUnregister", v2.SystemSharedMemoryUnregisterRequest())
    await asking.grpc("CudaSharedMemoryUnregister", v2.SystemSharedMemoryUnregisterRequest())
    objects = {}
    for region in ("input_data", "output_data"):
        key, objects[region] = asking.memory(f"grpc_{model}_{region}", 512)
        wanted = v2.SystemSharedMemoryRegisterRequest(name=region, key=key, byte_size=512)
        await asking.grpc("SystemSharedMemoryRegister", wanted)
    sizes = [len(raw(a)), len(raw(b))]
    objects["input_data"][: sum(sizes)] = raw(a) + raw(b)
    request = v2.ModelInferRequest(model_name=model)
    for name, array, size, offset in zip(
        ("INPUT0", "INPUT1"), (a, b), sizes, (0, sizes[0]), strict=True
    ):
        _put(request.inputs.add(**described(name, array)), "input_data", size, offset)
    for name, offset in (("OUTPUT0", 0), ("OUTPUT1", 256)):
        _put(request.outputs.add(name=name), "output_data", 256, offset)
    await asking.grpc("ModelInfer", request)
    _check_memory(objects["output_data"], a)
    asked = v2.SystemSharedMemoryStatusRequest()
    data = await asking.grpc("SystemSharedMemoryStatus", asked)
    status = v2.SystemSharedMemoryStatusResponse.FromString(data)
    assert sorted(status.regions) == ["input_data", "output_data"]
    await asking.grpc("SystemSharedMemoryUnregister", v2.SystemSharedMemoryUnregisterRequest())


def _put(tensor: Any, region: str, size: int, offset: int) -> None:
    for name, value in _at(region, size, offset).items():
        kind = "string_param" if isinstance(value, str) else "int64_param"
        setattr(tensor.parameters[name], kind, value)


async def grpc_health(asking: Asking) -> None:
    assert v2.ServerLiveResponse.FromString(
        await asking.grpc("ServerLive", v2.ServerLiveRequest())
    ).live
    asked = v2.ModelMetadataRequest(name="wrong_model_name")
    assert (
        "Request for unknown model"
        in (await asking.refused(asking.grpc("ModelMetadata", asked)))[1]
    )
    data = await asking.grpc("ServerMetadata", v2.ServerMetadataRequest())
    name = v2.ServerMetadataResponse.FromString(data).name
    assert name == "triton", f"the server is {name}"


async def grpc_control(asking: Asking) -> None:
    load = v2.RepositoryModelLoadRequest(model_name="simple")
    await asking.grpc("RepositoryModelLoad", load)
    load.parameters["config"].string_param = '{"max_batch_size":"16"}'
    await asking.grpc("RepositoryModelLoad", load)


def _marked(number: int, place: int, key: int | str) -> v2.ModelInferRequest:
    """The request at some position of a sequence."""
    request = v2.ModelInferRequest(model_name="simple_sequence", id=f"{key}_{place}")
    request.inputs.add(name="INPUT", datatype="INT32", shape=[1, 1])
    request.outputs.add(name="OUTPUT")
    request.raw_input_contents.append(np.int32([number]).tobytes())
    kind = "string_param" if isinstance(key, str) else "int64_param"
    setattr(request.parameters["sequence_id"], kind, key)
    request.parameters["sequence_start"].bool_param = place == 0
    request.parameters["sequence_end"].bool_param = place == len(VALUES)
    return request


async def grpc_sequence(asking: Asking) -> None:
    for key, first, sign in SEQUENCES:
        numbers, expected = _sequence(first, sign)
        found = []
        for place, number in enumerate(numbers):
            ((value,),) = await grpc_infer(asking, _marked(number, place, key))
            found.append(value)
        assert found == expected


async def grpc_sequence_stream(asking: Asking) -> None:
    """Two sequences in one stream, one after the other and interleaved."""
    requests: list[v2.ModelInferRequest] = []
    expected: dict[str, int] = {}
    for key, first, sign in SEQUENCES[:2]:
        numbers, wanted = _sequence(first, sign)
        requests += [_marked(number, place, key) for place, number in enumerate(numbers)]
        expected |= {f"{key}_{place}": value for place, value in enumerate(wanted)}
    half = len(requests) // 2
    turns = [one for pair in zip(requests[:half], requests[half:], strict=True) for one in pair]
    for sent in (requests, turns):
        answers = await asking.stream(sent)
        assert [one.error_message for one in answers] == [""] * len(sent)
        found = {one.infer_response.id: _numbers(one.infer_response)[0][0] for one in answers}
        assert found == expected


async def grpc_plain(asking: Asking) -> None:
    """Every method in turn, and an image as bytes."""
    for method, asked in (
        ("ServerLive", v2.ServerLiveRequest()),
        ("ServerReady", v2.ServerReadyRequest()),
        ("ModelReady", v2.ModelReadyRequest(name="picture")),
        ("ServerMetadata", v2.ServerMetadataRequest()),
        ("ModelMetadata", v2.ModelMetadataRequest(name="picture")),
        ("ModelConfig", v2.ModelConfigRequest(name="picture")),
    ):
        await asking.grpc(method, asked)
    request = v2.ModelInferRequest(model_name="picture", id="my request id")
    request.inputs.add(name="data_0", datatype="FP32", shape=[3, 224, 224])
    request.outputs.add(name="fc6_1")
    request.raw_input_contents.append(b"a" * 602112)
    data = await asking.grpc("ModelInfer", request)
    assert v2.ModelInferResponse.FromString(data).id == "my request id"


async def http_pictures(asking: Asking) -> None:
    """An image model, recognised by its metadata and configuration; the top classes by name."""
    metadata = (await asking.http.get("/v2/models/picture")).json()
    config = (await asking.http.get("/v2/models/picture/config")).json()
    assert [len(metadata[kind]) for kind in ("inputs", "outputs")] == [1, 1]
    assert len(config["input"][0]["dims"]) == 3
    rank = len(metadata["inputs"][0]["shape"])
    assert rank == (4 if config["max_batch_size"] > 0 else 3)
    picture = np.zeros((1,) * (rank - 3) + (3, 224, 224), np.float32)
    outputs = [{"name": "fc6_1", "parameters": {"classification": 2, "binary_data": True}}]
    given = [described("data_0", picture, **sized(picture))]
    (found,) = await http_infer(asking, "picture", given, outputs, raw(picture))
    assert [text.split(b":")[1] for text in found] == [b"2", b"1"]


async def grpc_pictures(asking: Asking) -> None:
    data = await asking.grpc("ModelConfig", v2.ModelConfigRequest(name="picture"))
    assert len(v2.ModelConfigResponse.FromString(data).config.input[0].dims) == 3
    request = v2.ModelInferRequest(model_name="picture")
    request.inputs.add(name="data_0", datatype="FP32", shape=[3, 224, 224])
    request.raw_input_contents.append(b"\0" * 602112)
    request.outputs.add(name="fc6_1").parameters["classification"].int64_param = 2
    found = await grpc_infer(asking, request)
    assert [text.split(b":")[1] for text in found[0]] == [b"2", b"1"]
    assert _numbers((await asking.stream([request]))[0].infer_response) == found


async def grows(asking: Asking) -> None:
    words = strings(NUMBERS)
    for _ in range(50):
        assert await grpc_infer(asking, message("simple_identity", words)) == [list(words.flat)]


async def reuses(asking: Asking) -> None:
    await http_memory(asking)
    await http_simple(asking)
    await grpc_memory(asking)
    await grpc_simple(asking)


# A program -> the function with the same requests.
EXAMPLES: dict[str, Callable[[Asking], Awaitable[None]]] = {
    "grpc_client": grpc_plain,
    "grpc_explicit_byte_content_client": _explicit("simple_string", "BYTES", "bytes_contents"),
    "grpc_explicit_int8_content_client": _explicit("simple_int8", "INT8", "int_contents"),
    "grpc_explicit_int_content_client": _explicit("simple", "INT32", "int_contents"),
    "grpc_image_client": grpc_pictures,
    "image_client": http_pictures,
    "memory_growth_test": grows,
    "reuse_infer_objects_client": reuses,
    "simple_grpc_aio_infer_client": grpc_simple,
    "simple_grpc_aio_sequence_stream_infer_client": grpc_sequence_stream,
    "simple_grpc_async_infer_client": grpc_simple,
    "simple_grpc_custom_args_client": grpc_simple,
    "simple_grpc_health_metadata": grpc_health,
    "simple_grpc_infer_client": grpc_simple,
    "simple_grpc_keepalive_client": grpc_simple,
    "simple_grpc_model_control": grpc_control,
    "simple_grpc_sequence_stream_infer_client": grpc_sequence_stream,
    "simple_grpc_sequence_sync_infer_client": grpc_sequence,
    "simple_grpc_shm_client": grpc_memory,
    "simple_grpc_shm_string_client": grpc_memory_strings,
    "simple_grpc_string_infer_client": grpc_strings,
    "simple_http_aio_infer_client": http_simple,
    "simple_http_async_infer_client": http_simple,
    "simple_http_health_metadata": http_health,
    "simple_http_infer_client": http_simple,
    "simple_http_model_control": http_control,
    "simple_http_sequence_sync_infer_client": http_sequence,
    "simple_http_shm_client": http_memory,
    "simple_http_shm_string_client": http_memory_strings,
    "simple_http_string_infer_client": http_strings,
}
_OVERRIDE = "a load that overrides the configuration is refused by name: a model is its folder"
_NAME = "all but the server's name, which is `pinnace`"
DIFFERENT = {
    "simple_grpc_model_control": _OVERRIDE,
    "simple_http_model_control": _OVERRIDE,
    "simple_grpc_health_metadata": _NAME,
    "simple_http_health_metadata": _NAME,
}
# Programs for missing features.
NOT_HERE = {
    "ensemble_image_client": "ensembles: one SavedModel is one model",
    "simple_grpc_cudashm_client": "memory of a GPU",
    "simple_http_cudashm_client": "memory of a GPU",
    "simple_grpc_custom_repeat": "models that answer a request several times",
}
