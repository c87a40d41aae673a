"""A bare grpc.aio server on uvloop that answers PredictionService.Predict; it names no errors.

WORK=bytes cuts the one form of request that the benchmark sends, without protobuf's help, and asks
ONNX Runtime: what grpc.aio itself costs, and a model. WORK=same does what TensorFlow Serving's
protocol asks for: it reads the message with protobuf, runs the model with NumPy, and writes lists
of values and the version that answered.
"""

import os
from typing import Any

import grpc
import numpy as np
import uvloop
from wire_format import field, varint

ROW = 784 * 4


def cutting() -> Any:
    """The method that knows one request's bytes."""
    from onnx_model import load

    run = load()

    def reply(y: np.ndarray) -> bytes:
        shape = field(2, b"".join(field(2, b"\x08" + varint(size)) for size in y.shape))
        tensor = b"\x08\x01" + shape + field(4, y.tobytes())
        return field(1, field(1, b"output_0") + field(2, tensor)) + field(2, field(1, b"a"))

    async def predict(data: bytes, _: Any) -> bytes:
        """The tensor's bytes are the last of a request."""
        size = len(data) // ROW * ROW
        x = np.frombuffer(data, np.float32, offset=len(data) - size)
        return reply(run(x.reshape(-1, 784)))

    return grpc.unary_unary_rpc_method_handler(predict)


def reading() -> Any:
    """The method that reads and writes messages."""
    from numpy_model import load

    from pinnace.proto.predict_pb2 import PredictRequest, PredictResponse

    run = load()

    async def predict(message: PredictRequest, _: Any) -> PredictResponse:
        ((_name, tensor),) = message.inputs.items()
        shape = [dim.size for dim in tensor.tensor_shape.dim]
        y = run(np.frombuffer(tensor.tensor_content, np.float32).reshape(shape))
        response = PredictResponse()
        output = response.outputs["output_0"]
        output.dtype = 1
        for size in y.shape:
            output.tensor_shape.dim.add(size=size)
        output.float_val.extend(y.ravel().tolist())
        spec = response.model_spec
        spec.name, spec.version.value = message.model_spec.name, 1
        spec.signature_name = "serving_default"
        return response

    return grpc.unary_unary_rpc_method_handler(
        predict, PredictRequest.FromString, PredictResponse.SerializeToString
    )


async def main() -> None:
    """Serve until somebody ends it."""
    server = grpc.aio.server()
    method = {"bytes": cutting, "same": reading}[os.environ["WORK"]]()
    service = "tensorflow.serving.PredictionService"
    handler = grpc.method_handlers_generic_handler(service, {"Predict": method})
    server.add_generic_rpc_handlers((handler,))
    server.add_insecure_port(f"127.0.0.1:{os.environ['PORT']}")
    await server.start()
    await server.wait_for_termination()


uvloop.run(main())
