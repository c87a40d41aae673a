"""TensorFlow Serving's PredictRequest over gRPC, as a wire: one object for each request.

Source: TensorFlow Serving, apis/predict.proto;
docs/reference/serving_api.md 2.
"""

from __future__ import annotations

import math
import sys
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.errors import FailedPreconditionError, InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.graph.codec.dtypes import decode_dtype
from pinnace.graph.codec.shapes import encode_shape
from pinnace.graph.codec.tensors import decode_tensor, encode_tensor, list_tensor
from pinnace.proto.predict_pb2 import PredictResponse
from pinnace.proto.tensor_pb2 import TensorProto
from pinnace.serving.messages.fields import refusal
from pinnace.serving.requests.datatypes import MAX_RANK, SLICE
from pinnace.serving.requests.expansion import (
    COPIES,
    PIECE_BYTES,
    check_expansion,
    check_reply,
    joined,
    raw_bytes,
    text_bytes,
)
from pinnace.serving.requests.long_values import Long, as_fields, as_they_lie, as_varints
from pinnace.serving.requests.reply import Reply
from pinnace.serving.requests.wires import Decoded
from pinnace.serving.running.signatures import DEFAULT_SIGNATURE
from pinnace.storage.varints import field_header

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from pinnace.framework.dtypes import DType
    from pinnace.framework.specs import TensorSpec
    from pinnace.proto.inference_pb2 import ModelSpec
    from pinnace.proto.predict_pb2 import PredictRequest
    from pinnace.serving.models.servable import Servable
    from pinnace.serving.running.signatures import Array, Arrays


# Dtypes whose lists have the machine's bytes.
_LISTS: Mapping[DType, str] = (
    {
        dtypes.float32: "float_val",
        dtypes.float64: "double_val",
        dtypes.int32: "int_val",
        dtypes.int64: "int64_val",
    }
    if sys.byteorder == "little"
    else {}
)


# The fields of `TensorProto` for lists whose elements are stored as bytes or as varints; all other
# dtypes use `int_val`.
_FIXED: Mapping[DType, int] = {
    dtypes.float32: 5,
    dtypes.float64: 6,
    dtypes.complex64: 9,
    dtypes.bool: 11,
    dtypes.complex128: 12,
}
_VARYING: Mapping[DType, int] = {
    dtypes.int64: 10,
    dtypes.uint32: 16,
    dtypes.uint64: 17,
    **dict.fromkeys((dtypes.int8, dtypes.int16, dtypes.int32, dtypes.uint8, dtypes.uint16), 7),
    **dict.fromkeys((dtypes.float16, dtypes.bfloat16), 13),
}
_TEXTS = 8
_CONTENT = 4  # the number of `tensor_content`
_MAP_KEY, _MAP_VALUE = 1, 2  # the fields of a map entry


class Predict:
    """One PredictRequest.

    Args:
        message: the request.
        as_content: whether to answer with raw bytes instead of lists of values.
    """

    api = "predict"
    entrypoint = "GRPC"

    def __init__(self, message: PredictRequest, as_content: bool = False) -> None:
        self._message = message
        self._as_content = as_content

    def decode(self, servable: Servable, _: bytes, __: Mapping[bytes, bytes]) -> Decoded:
        """Return the request that the message holds.

        Raises:
            FailedPreconditionError: the signature does not exist.
            InvalidArgumentError: a tensor is invalid, or a requested output does not exist.
        """
        name = signature_name(servable, self._message.model_spec)
        given = self._message.inputs
        inputs = servable.signatures[name].inputs
        definition = servable.model.definitions.get(name)
        defaults = {} if definition is None else definition.defaults
        _check_names(given.keys(), inputs.keys(), defaults.keys())
        feeds = {}
        for key, spec in inputs.items():
            value = given[key] if key in given else defaults[key]
            array = _raw_array(value, spec)
            if array is None:
                _check_filled(value, f"input '{key[:200]}'")
                array = decode_tensor(value, f"input '{key[:200]}'")
            feeds[key] = array
        wanted = self._wanted(servable.signatures[name].outputs)
        return Decoded(name, feeds, _Predicted(servable, name, wanted, self._as_content))

    def is_quick(self, _: Servable, __: bytes, ___: Mapping[bytes, bytes], ____: int) -> bool:
        """Whether the tensors are bytes."""
        return all(tensor.tensor_content for tensor in self._message.inputs.values())

    def refuse(self, error: BaseException) -> Reply:
        """Return the reply for an error."""
        return refusal(error)

    def _wanted(self, outputs: Mapping[str, object]) -> list[str]:
        asked = list(self._message.output_filter)
        for name in asked:
            if name not in outputs:
                raise InvalidArgumentError(
                    f"output tensor alias not found in signature: {name[:200]} Outputs expected "
                    f"to be in the set {{{','.join(sorted(outputs))}}}."
                )
        if len(set(asked)) != len(asked):
            twice = next(name for name in asked if asked.count(name) > 1)
            raise InvalidArgumentError(f"duplicate output tensor alias: {twice[:200]}")
        return asked or list(outputs)


class _Predicted:
    """Encodes outputs as a PredictResponse. It holds neither the request nor the version.

    Args:
        servable: the version that answers.
        signature: the signature that was run.
        wanted: names of the outputs.
        as_content: whether to write raw bytes instead of lists of values.
    """

    __slots__ = ("_as_content", "_name", "_signature", "_version", "wanted")

    def __init__(
        self, servable: Servable, signature: str, wanted: list[str], as_content: bool
    ) -> None:
        self._name = servable.name
        self._version = servable.version
        self._signature = signature
        self._as_content = as_content
        self.wanted = wanted

    def __call__(self, outputs: Arrays) -> Reply:
        """Return the response."""
        response = PredictResponse()
        large: list[Long] = []
        for key in self.wanted:
            entry = _large_entry(key, outputs[key], self._as_content)
            if entry is None:
                _put(response.outputs[key], outputs[key], self._as_content)
            else:
                large.append(entry)
        check_reply(sum(entry.size for entry in large))
        spec = response.model_spec
        spec.name, spec.version.value = self._name, self._version
        spec.signature_name = self._signature
        body = response.SerializeToString()
        if large:
            body = joined(chain((body,), *(entry.parts for entry in large)))
        return Reply(body, 0)


def _check_names(
    given: AbstractSet[str], inputs: AbstractSet[str], defaults: AbstractSet[str]
) -> None:
    """Check that the inputs of a request are those of the signature.

    Args:
        given: the request's inputs.
        inputs: the signature's inputs.
        defaults: those of them that may be left out.

    Raises:
        InvalidArgumentError: an input is missing or unknown.
    """
    extra, missing = given - inputs, inputs - given - defaults
    if len(given) == len(inputs) and extra:
        raise InvalidArgumentError(
            f"input tensor alias not found in signature: {min(extra)[:200]}. Inputs expected to be "
            f"in the set {_set(inputs)}."
        )
    if extra or missing:
        raise InvalidArgumentError(
            f"input size does not match signature: {len(given)}!={len(inputs)} "
            f"len({_set(given)}) != len({_set(inputs)}). Sent extra: {_set(extra)}. "
            f"Missing but required: {_set(missing)}."
        )


def _set(names: AbstractSet[str]) -> str:
    return "{" + ",".join(sorted(names)) + "}"


def _raw_array(message: TensorProto, spec: TensorSpec) -> Array | None:
    """The numbers of most requests: raw bytes in the signature's dtype.

    Returns:
        None if the full rules must decode them, or find the error.
    """
    content = message.tensor_content
    dtype = spec.dtype
    dims = message.tensor_shape.dim
    if not content or message.dtype != dtype.enum or dtype not in _LISTS or len(dims) > MAX_RANK:
        return None
    shape = [dim.size for dim in dims]
    if math.prod(shape) * dtype.numpy.itemsize != len(content) or min(shape, default=0) < 0:
        return None
    return np.frombuffer(content, dtype.numpy).reshape(shape)


def _check_filled(message: TensorProto, where: str) -> None:
    """Check that a tensor may be filled with copies of its last value.

    Raises:
        InvalidArgumentError: it has too many axes, or its dtype has no values.
        RequestTooLargeError: it would be too large.
    """
    dims = message.tensor_shape.dim
    if len(dims) > MAX_RANK:
        raise InvalidArgumentError(f"{where}: a tensor has at most {MAX_RANK} axes")
    dtype = decode_dtype(message.dtype, f"{where}.dtype")
    if dtype in (dtypes.resource, dtypes.variant):
        raise InvalidArgumentError(f"{where}: a request cannot hold a tensor of {dtype.name}")
    texts = message.string_val
    if message.tensor_content and dtype is not dtypes.string:
        return  # checked later: it must have the bytes that the shape needs
    count = math.prod([max(dim.size, 0) for dim in dims])
    size = dtype.numpy.itemsize
    if dtype is dtypes.string:
        size += len(texts[-1]) if texts else 0
    if count * size >= 2**63:
        raise InvalidArgumentError(f"{where}: its shape is larger than any tensor can be")
    # Tensors that are given in full take at most a few times the size of the body.
    check_expansion(COPIES * size * count, f"{where} of {count} elements")


def _large_entry(key: str, array: Array, as_content: bool) -> Long | None:
    """Return a large output as its entry of `PredictResponse.outputs`.

    A message would copy it several times, while other threads wait. Fields of a message may be in
    any order, so the entry follows the rest of the response.

    Returns:
        None if a message is as fast.

    Raises:
        ResourceExhaustedError: the answer would be too long.
    """
    is_text = array.dtype == object
    if sys.byteorder != "little" or not (
        array.size > SLICE or (is_text and text_bytes(array) > PIECE_BYTES)
    ):
        return None
    dtype = dtypes.string if is_text else dtypes.from_numpy(array.dtype)
    check_reply(array.nbytes if dtype in _FIXED or (as_content and not is_text) else array.size)
    if is_text:
        start, values = b"", as_fields(array, _TEXTS)
    else:
        number, values = _values(array, dtype, as_content)
        if not number:
            return None
        start = field_header(number, values.size)
    head = TensorProto(dtype=dtype.enum, tensor_shape=encode_shape(Shape.of(array.shape)))  # type: ignore[arg-type]
    start = head.SerializeToString() + start
    name = key.encode()
    entry = field_header(_MAP_KEY, len(name)) + name
    entry += field_header(_MAP_VALUE, len(start) + values.size) + start
    outputs = PredictResponse.OUTPUTS_FIELD_NUMBER
    whole = field_header(outputs, len(entry) + values.size) + entry
    return Long(len(whole) + values.size, chain((whole,), values.parts))


def _values(array: Array, dtype: DType, as_content: bool) -> tuple[int, Long]:
    """The number of a tensor's value field, and its bytes; 0 if a message must write it."""
    if as_content and dtype in _LISTS:
        return _CONTENT, as_they_lie(array)
    if dtype in _FIXED and not as_content:
        return _FIXED[dtype], as_they_lie(array)
    if dtype not in _VARYING or as_content:
        return 0, Long(0, ())
    return _VARYING[dtype], as_varints(array)


def _put(message: TensorProto, array: Array, as_content: bool) -> None:
    """Write an output as TensorFlow Serving does: as lists of values, or bytes if requested."""
    dtype = None if array.dtype == object else dtypes.from_numpy(array.dtype)
    values = None if dtype is None else _LISTS.get(dtype)
    if dtype is None or values is None:
        message.CopyFrom(encode_tensor(array) if as_content else list_tensor(array))
        return
    message.dtype = dtype.enum  # type: ignore[assignment]  # the stubs want the enum's own int
    message.tensor_shape.SetInParent()
    dims = message.tensor_shape.dim
    for size in array.shape:
        dims.add().size = size
    if as_content:
        message.tensor_content = raw_bytes(array)
        return
    check_reply(array.nbytes if array.dtype.kind == "f" else array.size)
    field = getattr(message, values)
    flat = array.ravel()
    for begin in range(0, flat.size, SLICE):
        field.extend(flat[begin : begin + SLICE].tolist())


def signature_name(servable: Servable, spec: ModelSpec) -> str:
    """Return the signature that a request names.

    Raises:
        FailedPreconditionError: the version has no such signature.
    """
    name = spec.signature_name or DEFAULT_SIGNATURE
    if name not in servable.signatures:
        known = ", ".join(sorted(servable.signatures))
        raise FailedPreconditionError(
            f'Serving signature key "{name[:200]}" not found. There are: {known}'
        )
    return name


def describe(spec: ModelSpec, servable: Servable, name: str) -> None:
    """Set the version and signature that answered in a response."""
    spec.name = servable.name
    spec.version.value = servable.version
    spec.signature_name = name
