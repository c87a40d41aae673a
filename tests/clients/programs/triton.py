"""Sends requests with Triton's own clients: HTTP and gRPC, blocking and asyncio."""

import asyncio
import json
import queue
import sys

import numpy as np
import tritonclient.grpc as grpc
import tritonclient.grpc.aio as grpc_aio
import tritonclient.http as http
import tritonclient.http.aio as http_aio
import tritonclient.utils.shared_memory as shm
from tritonclient.utils import InferenceServerException

http_url, grpc_url = sys.argv[1:3]
X = np.float32([[1, 2], [3, 4]])
answers: dict[str, object] = {}


def tensors(kind, *given):
    inputs = []
    for name, array, datatype in given:
        tensor = kind.InferInput(name, list(array.shape), datatype)
        tensor.set_data_from_numpy(array)
        inputs.append(tensor)
    return inputs


def status(call):
    try:
        call()
    except InferenceServerException as error:
        return str(error.status()), error.message()
    return "none", ""


def sequences(kind, client):
    """The sums of two interleaved sequences, and the error after their end."""
    found = []
    for place, number in enumerate((1, 2, 4, 8)):
        for key, sign in ((7, 1), ("seven", -1)):
            x = tensors(kind, ("x", np.float32([sign * number]), "FP32"))
            marks = {"sequence_start": place == 0, "sequence_end": place == 3}
            parameters = {"signature_name": "sum"}
            answer = client.infer("m", x, sequence_id=key, parameters=parameters, **marks)
            found.append(answer.as_numpy("total").tolist())
    x = tensors(kind, ("x", np.float32([1]), "FP32"))
    parameters = {"signature_name": "sum"}
    _, said = status(lambda: client.infer("m", x, sequence_id=7, parameters=parameters))
    return found, "must specify the START flag" in said


def common(kind, client, name):
    answers[f"{name} live"] = client.is_server_live()
    answers[f"{name} ready"] = client.is_server_ready()
    answers[f"{name} model ready"] = client.is_model_ready("m")
    answers[f"{name} other ready"] = client.is_model_ready("none")
    x = tensors(kind, ("x", X, "FP32"))
    answers[f"{name} infer"] = client.infer("m", x).as_numpy("y").tolist()
    answers[f"{name} version"] = client.infer("m", x, model_version="3").as_numpy("y").tolist()
    text = np.array([b"ab", "é".encode(), b""], dtype=object)
    found = client.infer(
        "m", tensors(kind, ("text", text, "BYTES")), parameters={"signature_name": "upper"}
    )
    answers[f"{name} text"] = [item.decode() for item in found.as_numpy("upper").tolist()]
    answers[f"{name} length"] = found.as_numpy("length").tolist()
    two = tensors(kind, ("a", np.int64([1, 2**40]), "INT64"), ("b", np.float16([1, 3]), "FP16"))
    found = client.infer("m", two, parameters={"signature_name": "both"}, request_id="5")
    answers[f"{name} both"] = [found.as_numpy(n).tolist() for n in ("double", "half")]
    answers[f"{name} sequences"] = sequences(kind, client)
    answers[f"{name} unknown"] = status(lambda: client.infer("none", x))
    wrong = tensors(kind, ("x", np.float32([1]), "FP32"))
    answers[f"{name} wrong"] = status(lambda: client.infer("m", wrong))


with http.InferenceServerClient(http_url) as client:
    common(http, client, "http")
    answers["http metadata"] = client.get_model_metadata("m")
    answers["http index"] = client.get_model_repository_index()
    x = tensors(http, ("x", X, "FP32"))
    for algorithm in ("gzip", "deflate"):
        found = client.infer("m", x, request_compression_algorithm=algorithm)
        answers[f"http {algorithm}"] = found.as_numpy("y").tolist()
    plain = http.InferInput("x", [2, 2], "FP32")
    plain.set_data_from_numpy(X, binary_data=False)
    outputs = [http.InferRequestedOutput("y", binary_data=False)]
    answers["http json"] = client.infer("m", [plain], outputs=outputs).as_numpy("y").tolist()
    answers["http config"] = client.get_model_config("m")
    answers["http statistics"] = client.get_inference_statistics("m")
    answers["http override"] = status(lambda: client.load_model("m", config="{}"))
    best = [http.InferRequestedOutput("y", binary_data=True, class_count=1)]
    found = client.infer("m", x, outputs=best).as_numpy("y")
    answers["http classes"] = [item.decode() for item in found.ravel().tolist()]
with grpc.InferenceServerClient(grpc_url) as client:
    common(grpc, client, "grpc")
    answers["grpc metadata"] = client.get_model_metadata("m", as_json=True)
    answers["grpc index"] = client.get_model_repository_index(as_json=True)
    answers["grpc config"] = client.get_model_config("m", as_json=True)["config"]
    answers["grpc statistics"] = client.get_inference_statistics("m", as_json=True)
    answers["grpc override"] = status(lambda: client.load_model("m", config="{}"))
    best = [grpc.InferRequestedOutput("y", class_count=1)]
    found = client.infer("m", tensors(grpc, ("x", X, "FP32")), outputs=best).as_numpy("y")
    answers["grpc classes"] = [item.decode() for item in found.ravel().tolist()]
    streamed: queue.Queue[object] = queue.Queue()
    client.start_stream(lambda result, error: streamed.put((result, error)))
    for name, k in (("m", 1), ("m", 2), ("none", 3), ("m", 4)):
        client.async_stream_infer(name, tensors(grpc, ("x", X * k, "FP32")), request_id=str(k))
    stream = []
    for _ in range(4):
        result, error = streamed.get(timeout=60)
        if error is not None:
            stream.append(error.message())
        else:
            stream.append([result.get_response().id, result.as_numpy("y")[0, 0].item()])
    client.stop_stream()
    answers["grpc stream"] = stream


async def both():
    async with http_aio.InferenceServerClient(http_url) as client:
        calls = [client.infer("m", tensors(http_aio, ("x", X * k, "FP32"))) for k in range(20)]
        found = [answer.as_numpy("y")[0, 0].item() for answer in await asyncio.gather(*calls)]
        answers["http many"] = found
    async with grpc_aio.InferenceServerClient(grpc_url) as client:
        calls = [client.infer("m", tensors(grpc_aio, ("x", X * k, "FP32"))) for k in range(20)]
        found = [answer.as_numpy("y")[0, 0].item() for answer in await asyncio.gather(*calls)]
        answers["grpc many"] = found


def in_memory(kind, client, name):
    """Numbers in shared memory regions, as in the client's examples."""
    client.unregister_system_shared_memory()
    client.unregister_cuda_shared_memory()
    sizes = {"in": X.nbytes, "out": 256}
    handles = {}
    try:
        for region, count in sizes.items():
            key = f"/pinnace_{name}_{region}"
            handles[region] = shm.create_shared_memory_region(f"{name}_{region}", key, count)
            client.register_system_shared_memory(f"{name}_{region}", key, count)
        shm.set_shared_memory_region(handles["in"], [X])
        given = kind.InferInput("x", [2, 2], "FP32")
        given.set_shared_memory(f"{name}_in", X.nbytes)
        wanted = kind.InferRequestedOutput("y")
        wanted.set_shared_memory(f"{name}_out", 24)
        found = client.infer("m", [given], outputs=[wanted])
        y = shm.get_contents_as_numpy(handles["out"], np.float32, [2, 3])
        answers[f"{name} memory"] = y.tolist()
        answers[f"{name} memory output"] = found.get_output("y") is not None
        wanted.set_shared_memory(f"{name}_out", 8)
        answers[f"{name} memory short"] = status(
            lambda: client.infer("m", [given], outputs=[wanted])
        )
        told = client.get_system_shared_memory_status()
        names = [row["name"] for row in told] if isinstance(told, list) else list(told.regions)
        answers[f"{name} memory status"] = sorted(names)
        client.unregister_system_shared_memory()
        answers[f"{name} memory gone"] = status(lambda: client.infer("m", [given]))
        key = f"/pinnace_{name}_in"
        answers[f"{name} memory long"] = status(
            lambda: client.register_system_shared_memory("long", key, X.nbytes + 2**20)
        )
    finally:
        for handle in handles.values():
            shm.destroy_shared_memory_region(handle)


asyncio.run(both())
with http.InferenceServerClient(http_url) as client:
    in_memory(http, client, "http")
with grpc.InferenceServerClient(grpc_url) as client:
    in_memory(grpc, client, "grpc")
print(json.dumps(answers))
