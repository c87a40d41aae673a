"""The Open Inference Protocol's ModelInfer over gRPC, as a wire: one object for each request.

Source: docs/reference/serving_api.md 5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.graph.codec.tensors import listed
from pinnace.proto.inference_service_pb2 import ModelInferResponse
from pinnace.serving.messages.fields import refusal
from pinnace.serving.requests.datatypes import (
    MAX_RANK,
    SLICE,
    checked_shape,
    count,
    datatype_of,
    dtype_named,
    read_tensor,
    write_tensor,
)
from pinnace.serving.requests.expansion import check_reply
from pinnace.serving.requests.reply import Reply
from pinnace.serving.requests.wires import Decoded
from pinnace.serving.running.signatures import DEFAULT_SIGNATURE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.framework.dtypes import DType
    from pinnace.proto.inference_service_pb2 import InferTensorContents, ModelInferRequest
    from pinnace.serving.models.servable import Servable
    from pinnace.serving.running.signatures import Array, Arrays


_FIELDS: dict[DType, str] = {
    dtypes.bool: "bool_contents",
    dtypes.int8: "int_contents",
    dtypes.int16: "int_contents",
    dtypes.int32: "int_contents",
    dtypes.int64: "int64_contents",
    dtypes.uint8: "uint_contents",
    dtypes.uint16: "uint_contents",
    dtypes.uint32: "uint_contents",
    dtypes.uint64: "uint64_contents",
    dtypes.float32: "fp32_contents",
    dtypes.float64: "fp64_contents",
    dtypes.string: "bytes_contents",
}


class Infer:
    """One ModelInferRequest.

    Args:
        message: the request.
    """

    api = "infer"
    entrypoint = "GRPC"

    def __init__(self, message: ModelInferRequest) -> None:
        self._message = message

    def decode(self, servable: Servable, _: bytes, __: Mapping[bytes, bytes]) -> Decoded:
        """The request that the message holds.

        Raises:
            InvalidArgumentError: it cannot be understood; the message says where.
        """
        message = self._message
        name = DEFAULT_SIGNATURE
        if "signature_name" in message.parameters:
            name = message.parameters["signature_name"].string_param
        signature = servable.signature(name)
        outputs = [output.name for output in message.outputs] or list(signature.outputs)
        for output in outputs:
            if output not in signature.outputs:
                known = ", ".join(sorted(signature.outputs))
                raise InvalidArgumentError(f"there is no output '{output}'; there are {known}")
        if len(set(outputs)) < len(outputs):  # each is written as often as it is asked
            raise InvalidArgumentError("an output is asked twice")
        is_raw = bool(message.raw_input_contents)
        return Decoded(name, self._feeds(), _Inferred(servable, message.id, outputs, is_raw))

    def is_quick(self, _: Servable, __: bytes, ___: Mapping[bytes, bytes], ____: int) -> bool:
        """Whether the tensors are bytes, and none of them is of strings."""
        message = self._message
        if len(message.raw_input_contents) != len(message.inputs):
            return False
        return all(tensor.datatype != "BYTES" for tensor in message.inputs)

    def refuse(self, error: BaseException) -> Reply:
        """Status and message."""
        return refusal(error)

    def _feeds(self) -> dict[str, Array]:
        message = self._message
        raws = message.raw_input_contents
        if raws and len(raws) != len(message.inputs):
            raise InvalidArgumentError(
                f"raw_input_contents has {len(raws)} entries for {len(message.inputs)} inputs: "
                "either every input is raw or none"
            )
        feeds: dict[str, Array] = {}
        for i, tensor in enumerate(message.inputs):
            if tensor.name in feeds:
                raise InvalidArgumentError(f"input '{tensor.name}' is given twice")
            dtype = dtype_named(tensor.datatype)
            shape = checked_shape(tensor.name, list(tensor.shape[: MAX_RANK + 1]))
            if raws:
                if tensor.HasField("contents"):
                    raise InvalidArgumentError(
                        f"input '{tensor.name}' has contents beside raw_input_contents"
                    )
                feeds[tensor.name] = read_tensor(tensor.name, dtype, shape, memoryview(raws[i]))
            else:
                feeds[tensor.name] = _typed(tensor.name, dtype, shape, tensor.contents)
        return feeds


class _Inferred:
    """Outputs as a ModelInferResponse. It holds neither the request nor the version.

    Args:
        servable: that answers.
        request_id: given back.
        wanted: names of the outputs.
        is_raw: write bytes, not lists of values.
    """

    __slots__ = ("_id", "_is_raw", "_name", "_version", "wanted")

    def __init__(
        self, servable: Servable, request_id: str, wanted: list[str], is_raw: bool
    ) -> None:
        self._name = servable.name
        self._version = str(servable.version)
        self._id = request_id
        self._is_raw = is_raw
        self.wanted = wanted

    def __call__(self, results: Arrays) -> Reply:
        """The response."""
        response = ModelInferResponse(
            model_name=self._name, model_version=self._version, id=self._id
        )
        for output in self.wanted:
            array = np.asarray(results[output])
            tensor = response.outputs.add(
                name=output, datatype=datatype_of(array), shape=array.shape
            )
            if self._is_raw or (array.dtype.itemsize == 2 and array.dtype.kind in "fV"):
                response.raw_output_contents.append(write_tensor(array))
            else:
                _fill(tensor.contents, array)
        if response.raw_output_contents and len(response.raw_output_contents) < len(self.wanted):
            raise UnimplementedError(
                "16-bit floats only travel raw: send raw_input_contents to get all outputs raw"
            )
        return Reply(response.SerializeToString(), 0)


def _typed(name: str, dtype: DType, shape: tuple[int, ...], contents: InferTensorContents) -> Array:
    field = _FIELDS.get(dtype)
    if field is None:
        raise InvalidArgumentError(f"input '{name}': {dtype.name} only travels raw")
    values = getattr(contents, field)
    if len(values) != count(shape):
        raise InvalidArgumentError(
            f"input '{name}' of shape {list(shape)} takes {count(shape)} values in {field}, "
            f"got {len(values)}"
        )
    if dtype.is_integer:
        wide = listed(values, np.uint64 if dtype is dtypes.uint64 else np.int64)
        limits = np.iinfo(dtype.numpy)
        if wide.size and (wide.min() < limits.min or wide.max() > limits.max):
            raise InvalidArgumentError(
                f"input '{name}' must be from {limits.min} to {limits.max} for {dtype.name}"
            )
        return wide.astype(dtype.numpy).reshape(shape)
    return listed(values, dtype.numpy).reshape(shape)


def _fill(contents: InferTensorContents, array: Array) -> None:
    dtype = dtypes.string if array.dtype == object else dtypes.as_dtype(array.dtype)
    field = getattr(contents, _FIELDS[dtype])
    check_reply(array.nbytes if array.dtype.kind == "f" else array.size)
    flat = array.ravel()
    for begin in range(0, flat.size, SLICE):
        values = flat[begin : begin + SLICE].tolist()
        if dtype is dtypes.string:
            values = [item if isinstance(item, bytes) else str(item).encode() for item in values]
        field.extend(values)
