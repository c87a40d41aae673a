"""The Open Inference Protocol's ModelInfer over gRPC, as a wire: one object for each request.

Source: docs/reference/serving_api.md 5.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError
from pinnace.graph.codec.tensors import listed
from pinnace.proto.inference_service_pb2 import ModelInferResponse
from pinnace.serving.errors import in_triton_words
from pinnace.serving.messages.fields import refusal
from pinnace.serving.requests.datatypes import (
    MAX_RANK,
    checked_shape,
    count,
    datatype_of,
    dtype_named,
    long_tensor,
    read_tensor,
    write_tensor,
)
from pinnace.serving.requests.expansion import PIECE_BYTES, check_reply, joined
from pinnace.serving.requests.infer_parameters import (
    RequestedOutput,
    asked_sequence,
    asked_signature,
    requested_output,
)
from pinnace.serving.requests.long_values import Long
from pinnace.serving.requests.regions import place_of, read_places, regions
from pinnace.serving.requests.reply import Reply
from pinnace.serving.requests.wires import Decoded
from pinnace.storage.varints import field_header

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.proto.inference_service_pb2 import (
        InferParameter,
        InferTensorContents,
        ModelInferRequest,
    )
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
        """Return the request that the message holds.

        Raises:
            InvalidArgumentError: it cannot be understood; the message says where.
        """
        message = self._message
        parameters = _parameters(message.parameters)
        name, sequence = asked_signature(parameters), asked_sequence(parameters)
        signature = servable.signature(name)
        asked = [
            requested_output(output.name, _parameters(output.parameters), is_binary=True)
            for output in message.outputs
        ]
        for output in asked:
            if output.name not in signature.outputs:
                known = ", ".join(sorted(signature.outputs))
                raise InvalidArgumentError(f"there is no output '{output.name}'; there are {known}")
        if len({output.name for output in asked}) < len(asked):  # each is written as often
            raise InvalidArgumentError("an output is requested twice")
        wanted = asked or [RequestedOutput(key, True, 0) for key in signature.outputs]
        encode = _Inferred(servable, message.id, wanted)
        return Decoded(name, self._feeds(), encode, sequence=sequence)

    def is_quick(self, _: Servable, __: bytes, ___: Mapping[bytes, bytes], ____: int) -> bool:
        """Whether the tensors are bytes, and none has strings."""
        message = self._message
        if len(message.raw_input_contents) != len(message.inputs):
            return False
        return all(tensor.datatype != "BYTES" for tensor in message.inputs)

    def refuse(self, error: BaseException) -> Reply:
        """Return the reply for an error."""
        return refuse_infer(error)

    def _feeds(self) -> dict[str, Array]:
        message = self._message
        raws = message.raw_input_contents
        places = {
            tensor.name: place
            for tensor in message.inputs
            if tensor.parameters
            and (place := place_of(f"input '{tensor.name}'", _parameters(tensor.parameters)))
        }
        sent = len(message.inputs) - len(places)
        if raws and len(raws) != sent:
            raise InvalidArgumentError(
                f"raw_input_contents has {len(raws)} entries for {sent} inputs: "
                "either every input is raw or none"
            )
        left = iter(raws)
        there = read_places(places)
        feeds: dict[str, Array] = {}
        for tensor in message.inputs:
            if tensor.name in feeds:
                raise InvalidArgumentError(f"input '{tensor.name}' is given twice")
            dtype = dtype_named(tensor.datatype)
            shape = checked_shape(tensor.name, list(tensor.shape[: MAX_RANK + 1]))
            part = there.get(tensor.name)
            if part is None and raws:
                part = memoryview(next(left))
            if part is not None:
                if tensor.HasField("contents"):
                    where = "shared memory" if tensor.name in there else "raw_input_contents"
                    raise InvalidArgumentError(f"input '{tensor.name}' has contents beside {where}")
                feeds[tensor.name] = read_tensor(tensor.name, dtype, shape, part)
            else:
                feeds[tensor.name] = _typed(tensor.name, dtype, shape, tensor.contents)
        return feeds


def refuse_infer(error: BaseException) -> Reply:
    """Return the reply for an error, in the wording of this protocol's clients."""
    return refusal(in_triton_words(error))


class _Inferred:
    """Encodes outputs as a ModelInferResponse with raw contents, as Triton does.

    It holds neither the request nor the version.

    Args:
        servable: the version that answers.
        request_id: the request's id, which is returned.
        outputs: the requested outputs.

    Attributes:
        wanted: names of the outputs, if all are written unchanged; else none.
    """

    __slots__ = ("_id", "_name", "_outputs", "_version", "wanted")

    def __init__(
        self, servable: Servable, request_id: str, outputs: Sequence[RequestedOutput]
    ) -> None:
        self._name = servable.name
        self._version = str(servable.version)
        self._id = request_id
        self._outputs = outputs
        is_plain = not any(output.classes or output.place for output in outputs)
        self.wanted = [output.name for output in outputs] if is_plain else []

    def __call__(self, results: Arrays) -> Reply:
        """Return the response."""
        response = ModelInferResponse(
            model_name=self._name, model_version=self._version, id=self._id
        )
        raws: list[Long] = []
        for output in self._outputs:
            array = output.of(np.asarray(results[output.name]))
            row = response.outputs.add(
                name=output.name, datatype=datatype_of(array), shape=array.shape
            )
            if output.place is None:
                raws.append(long_tensor(array))
                continue
            data = write_tensor(array)
            regions().write(output.name, output.place, data)
            for name, value in output.place.parameters(len(data)).items():
                kind = "string_param" if isinstance(value, str) else "int64_param"
                setattr(row.parameters[name], kind, value)
            raws.append(Long(0, ()))  # an empty entry, since clients count them
        size = sum(raw.size for raw in raws)
        check_reply(size)
        if size <= PIECE_BYTES:
            response.raw_output_contents.extend([b"".join(raw.parts) for raw in raws])
            return Reply(response.SerializeToString(), 0)
        # A message would copy them twice, while other threads wait.
        number = ModelInferResponse.RAW_OUTPUT_CONTENTS_FIELD_NUMBER
        fields = (chain((field_header(number, raw.size),), raw.parts) for raw in raws)
        return Reply(joined(chain((response.SerializeToString(),), *fields)), 0)


def _parameters(message: Mapping[str, InferParameter]) -> dict[str, object]:
    """Parameters as Python values, without those that are unset."""
    found: dict[str, object] = {}
    for name, parameter in message.items():
        kind = parameter.WhichOneof("parameter_choice")
        if kind is not None:
            found[name] = getattr(parameter, kind)
    return found


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
