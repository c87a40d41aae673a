"""A bare grpc.aio server on uvloop that answers PredictionService.Predict: ONNX Runtime, no more.

It cuts the one form of request that the benchmark sends without protobuf's help, names no errors
and knows one model: what grpc.aio itself costs, and a model.
"""

import os
from typing import Any

import grpc
import numpy as np
import uvloop
from onnx_model import load
from wire_format import field, varint

RUN = load()
ROW = 784 * 4


def reply(y: np.ndarray) -> bytes:
    """A PredictResponse."""
    shape = field(2, b"".join(field(2, b"\x08" + varint(size)) for size in y.shape))
    tensor = b"\x08\x01" + shape + field(4, y.tobytes())
    return field(1, field(1, b"output_0") + field(2, tensor)) + field(2, field(1, b"a"))


async def predict(data: bytes, _: Any) -> bytes:
    """The tensor's bytes are the last of a request."""
    size = len(data) // ROW * ROW
    return reply(RUN(np.frombuffer(data, np.float32, offset=len(data) - size).reshape(-1, 784)))


async def main() -> None:
    """Serve until somebody ends it."""
    server = grpc.aio.server()
    method = grpc.unary_unary_rpc_method_handler(predict)
    service = "tensorflow.serving.PredictionService"
    handler = grpc.method_handlers_generic_handler(service, {"Predict": method})
    server.add_generic_rpc_handlers((handler,))
    server.add_insecure_port(f"127.0.0.1:{os.environ['PORT']}")
    await server.start()
    await server.wait_for_termination()


uvloop.run(main())
