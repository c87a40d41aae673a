"""Sends requests with KServe's own clients: REST v1 and v2, gRPC."""

import asyncio
import json
import sys

import numpy as np
from kserve import InferenceGRPCClient, InferenceRESTClient, InferInput, InferRequest
from kserve.inference_client import RESTConfig

http_url, grpc_url = sys.argv[1:3]
X = np.float32([[1, 2], [3, 4]])
answers: dict[str, object] = {}


def request(is_binary: bool) -> InferRequest:
    tensor = InferInput("x", [2, 2], "FP32")
    tensor.set_data_from_numpy(X, binary_data=is_binary)
    return InferRequest(model_name="m", infer_inputs=[tensor])


async def ask() -> None:
    base = f"http://{http_url}"
    v1 = InferenceRESTClient(RESTConfig(protocol="v1"))
    found = await v1.infer(base, {"instances": X.tolist()}, model_name="m")
    answers["v1 infer"] = found["predictions"]
    answers["v1 live"] = await v1.is_server_live(base)
    answers["v1 model ready"] = await v1.is_model_ready(base, "m")
    v2 = InferenceRESTClient(RESTConfig(protocol="v2"))
    answers["v2 live"] = await v2.is_server_live(base)
    answers["v2 ready"] = await v2.is_server_ready(base)
    answers["v2 model ready"] = await v2.is_model_ready(base, "m")
    for is_binary in (False, True):
        found = await v2.infer(base, request(is_binary), model_name="m")
        name = "v2 binary" if is_binary else "v2 infer"
        answers[name] = found.outputs[0].as_numpy().tolist()
    grpc = InferenceGRPCClient(grpc_url)
    answers["grpc live"] = await grpc.is_server_live()
    answers["grpc ready"] = await grpc.is_server_ready()
    answers["grpc model ready"] = await grpc.is_model_ready("m")
    found = await grpc.infer(request(True))
    answers["grpc infer"] = found.outputs[0].as_numpy().tolist()


asyncio.run(ask())
print(json.dumps(answers))
