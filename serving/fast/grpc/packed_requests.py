"""PredictRequests and ModelInferRequests of one tensor of numbers, for `packed_forms`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from google.protobuf.message import DecodeError

from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError
from pinnace.proto.inference_service_pb2 import ModelInferRequest
from pinnace.proto.predict_pb2 import PredictRequest
from pinnace.serving.fast.grpc.packed_forms import PackedForms, Reader, Reading, taker
from pinnace.serving.messages.fields import which_model, which_version
from pinnace.serving.messages.model_infer import Infer, refuse_infer
from pinnace.serving.messages.prediction import Predict
from pinnace.serving.requests.datatypes import BY_NAME, MAX_RANK

if TYPE_CHECKING:
    from pinnace.framework.dtypes import DType
    from pinnace.serving.grpc.methods import Take
    from pinnace.serving.requests.exchange import Exchange

# The paths of fields to the numbers of a request, where they are its last bytes.
_PREDICT_TAILS = frozenset({(2, 2, 4), (2, 2, 5), (2, 2, 6)})
_INFER_TAILS = frozenset({(7,)})
# Lists that are stored as the bytes of their numbers, with the numbers of their fields.
_LISTS = {dtypes.float32: (5, "float_val"), dtypes.float64: (6, "double_val")}
_BY_ENUM = {dtype.enum: dtype for dtype in BY_NAME.values()}


def takers(exchange: Exchange) -> dict[str, Take]:
    """Return the functions that answer such messages without a task, by the path of their method.

    Args:
        exchange: the exchange that answers.
    """
    return {
        path: taker(exchange, PackedForms(reader))
        for path, reader in (
            (
                "/tensorflow.serving.PredictionService/Predict",
                predict_reader(exchange.settings.tensor_content),
            ),
            ("/inference.GRPCInferenceService/ModelInfer", infer_reader()),
        )
    }


def predict_reader(as_content: bool) -> Reader:
    """Return the parser of PredictRequests.

    Args:
        as_content: whether to answer with raw bytes instead of lists of values.
    """

    def wire(data: bytes) -> Predict:
        return Predict(PredictRequest.FromString(data), as_content)

    return Reader(_read_predict, _PREDICT_TAILS, wire, Predict.api)


def infer_reader() -> Reader:
    """Return the parser of ModelInferRequests."""

    def wire(data: bytes) -> Infer:
        return Infer(ModelInferRequest.FromString(data))

    return Reader(_read_infer, _INFER_TAILS, wire, Infer.api, refuse_infer)


def _read_predict(data: bytes, begin: int, number: int) -> Reading | None:
    message = PredictRequest()
    try:
        message.ParseFromString(data)
        which = which_model(message.model_spec)
    except (DecodeError, InvalidArgumentError):
        return None
    if len(message.inputs) != 1:
        return None
    ((name, tensor),) = message.inputs.items()
    dtype = _BY_ENUM.get(tensor.dtype)
    if len(tensor.tensor_shape.dim) > MAX_RANK:
        return None
    shape = tuple([dim.size for dim in tensor.tensor_shape.dim])
    raw = tensor.tensor_content
    if dtype in _LISTS and not raw:
        field, values = _LISTS[dtype]
        raw = data[begin:]  # creating its list takes time
        if number != field or len(getattr(tensor, values)) * dtype.numpy.itemsize != len(raw):
            return None
    if tensor.tensor_shape.unknown_rank:
        return None
    rest = (message.model_spec.signature_name, tuple(message.output_filter))
    return _reading(which, rest, name, dtype, shape, raw)


def _read_infer(data: bytes, _: int, __: int) -> Reading | None:
    message = ModelInferRequest()
    try:
        message.ParseFromString(data)
        which = which_version(message.model_name, message.model_version)
    except (DecodeError, InvalidArgumentError):
        return None
    # Clients that number their requests never send the same message again.
    if message.id or len(message.inputs) != 1 or len(message.raw_input_contents) != 1:
        return None
    tensor = message.inputs[0]
    if tensor.HasField("contents") or len(tensor.shape) > MAX_RANK:
        return None
    signature = None
    if "signature_name" in message.parameters:
        signature = message.parameters["signature_name"].string_param
    rest = (signature, tuple([output.name for output in message.outputs]))
    dtype = BY_NAME.get(tensor.datatype)
    raw = message.raw_input_contents[0]
    return _reading(which, rest, tensor.name, dtype, tuple(tensor.shape), raw)


def _reading(
    which: Any, rest: object, name: str, dtype: DType | None, shape: tuple[int, ...], raw: bytes
) -> Reading | None:
    """Return the reading, if the bytes are exactly the numbers of the shape."""
    if dtype is None or dtype is dtypes.string or not shape or min(shape) < 0:
        return None
    kind = np.dtype(dtype.numpy)
    if kind.kind not in "fiu":
        return None
    needed = kind.itemsize
    for size in shape:
        needed *= size
    return Reading(which, rest, name, kind, shape, raw) if needed == len(raw) else None
