"""The Open Inference Protocol's infer over HTTP, as a wire: JSON, raw tensors, and both at once.

Source: docs/reference/serving_api.md 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError
from pinnace.serving.errors import in_triton_words
from pinnace.serving.http.json_arrays import decode_array, encode_array
from pinnace.serving.http.json_pieces import drop_items
from pinnace.serving.http.json_text import parse_json
from pinnace.serving.http.replies import JSON, refusal
from pinnace.serving.requests.datatypes import (
    checked_shape,
    count,
    datatype_of,
    dtype_named,
    long_tensor,
    read_tensor,
    write_tensor,
)
from pinnace.serving.requests.expansion import check_reply, joined
from pinnace.serving.requests.infer_parameters import (
    RequestedOutput,
    asked_sequence,
    asked_signature,
    requested_output,
)
from pinnace.serving.requests.regions import place_of, read_places, regions
from pinnace.serving.requests.reply import Reply
from pinnace.serving.requests.wires import Decoded
from pinnace.serving.running.signatures import DEFAULT_SIGNATURE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.serving.models.servable import Servable
    from pinnace.serving.requests.long_values import Long
    from pinnace.serving.requests.regions import TensorInRegion
    from pinnace.serving.requests.reply import ReplyHeaders
    from pinnace.serving.running.sequences import Mark
    from pinnace.serving.running.signatures import Array, Arrays, Runnable

LENGTH_HEADER = b"inference-header-content-length"

_BINARY: tuple[bytes, bytes] = (b"content-type", b"application/octet-stream")
_NOT_IN_JSON = (dtypes.float16, dtypes.bfloat16)
_MAX_HEADS = 64
_LONG_HEADER_BYTES = 2**16  # of JSON: reading it would keep the event loop from its work
MAX_LENGTH_DIGITS = 15


@dataclass(frozen=True, slots=True)
class _Input:
    name: str
    dtype: DType
    shape: tuple[int, ...]
    size: int | None  # bytes after the header; None if the values are in `data` or in memory
    data: Any
    place: TensorInRegion | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A request without the bytes of its tensors.

    Attributes:
        id: the request's id, which is returned.
        signature_name: the signature to run.
        inputs: the inputs, in the order of their bytes.
        outputs: the requested outputs; None for all.
        is_binary: whether outputs are sent as bytes by default.
        sequence: the request's position in a sequence; None if it is in none.
    """

    id: str | None
    signature_name: str
    inputs: tuple[_Input, ...]
    outputs: tuple[RequestedOutput, ...] | None
    is_binary: bool
    sequence: Mark | None = None


class Infer:
    """`POST …/infer`."""

    api = "infer"
    entrypoint = "REST"

    def decode(self, servable: Servable, body: bytes, headers: Mapping[bytes, bytes]) -> Decoded:
        """The feeds and options of the request body.

        Raises:
            InvalidArgumentError: it cannot be understood; the message says where.
        """
        text = headers.get(LENGTH_HEADER)
        if text is None:
            document = parse_json(body)
            try:
                question = read_question(document)
                arrays = read_arrays(question, memoryview(b""))
                return _decoded(question, arrays, Encoder(servable, question))
            finally:
                drop_items(document)
        size = header_length(text, len(body))
        if not size:
            return _decode_raw(servable, body)
        question = read_question(parse_json(body[:size]))
        encode = Encoder(servable, question)
        arrays = read_arrays(question, memoryview(body)[size:])
        return _decoded(question, arrays, encode)

    def is_quick(
        self, _: Servable, body: bytes, headers: Mapping[bytes, bytes], begin: int
    ) -> bool:
        """Whether the tensors are binary after a short header, and none has strings."""
        text = headers.get(LENGTH_HEADER, b"")
        if not text.isdigit() or len(text) > MAX_LENGTH_DIGITS:
            return False
        size = int(text)
        if size > _LONG_HEADER_BYTES:
            return False
        return body.find(b"BYTES", begin, begin + size) < 0

    def refuse(self, error: BaseException) -> Reply:
        """`{"error": message}`."""
        return refusal(in_triton_words(error))


class Encoder:
    """Encodes outputs as the reply to a question.

    Args:
        servable: the version that answers.
        question: the question.

    Raises:
        InvalidArgumentError: the question asks for unknown outputs.
    """

    __slots__ = ("_heads", "_name", "_question", "_version", "_wanted")

    def __init__(self, servable: Servable, question: Question) -> None:
        self._name = servable.name
        self._version = str(servable.version)
        self._question = question
        self._wanted = _wanted(servable.signature(question.signature_name), question)
        self._heads: dict[object, tuple[bytes, ReplyHeaders]] = {}

    def __call__(self, outputs: Arrays) -> Reply:
        """Return the reply."""
        tensors = []
        raw: list[Long] = []
        places: dict[str, int] = {}
        for output in self._wanted:
            array = output.of(np.asarray(outputs[output.name]))
            tensors.append((output, array))
            if output.place is not None:
                places[output.name] = len(data := write_tensor(array))
                regions().write(output.name, output.place, data)
            elif output.is_binary:
                raw.append(long_tensor(array))
        check_reply(sum(part.size for part in raw))
        head, headers = self._head(tensors, [part.size for part in raw], places)
        return Reply(joined(chain((head,), *(part.parts for part in raw))), 200, headers)

    def encode_rows(self, outputs: Arrays, rows: Sequence[int]) -> list[Reply] | None:
        """Return the replies to requests with this question, whose rows ran together, or None."""
        if len(self._wanted) != 1 or self._question.id is not None:
            return None
        (output,) = self._wanted
        array = np.asarray(outputs[output.name])
        if not output.is_binary or output.classes or array.dtype == object or not array.size:
            return None
        raw = array.tobytes()
        row_bytes = array.nbytes // len(array)
        size = rows[0]
        if rows.count(size) == len(rows):  # the usual case
            step = size * row_bytes
            head, headers = self._head([(output, array[:size])], [step])
            ends = range(step, (len(rows) + 1) * step, step)
            return [Reply(head + raw[end - step : end], 200, headers) for end in ends]
        heads: dict[int, tuple[bytes, ReplyHeaders]] = {}
        replies = []
        begin = 0
        for size in rows:
            end = begin + size * row_bytes
            known = heads.get(size)
            if known is None:
                known = heads[size] = self._head([(output, array[:size])], [end - begin])
            replies.append(Reply(known[0] + raw[begin:end], 200, known[1]))
            begin = end
        return replies

    def _head(
        self,
        tensors: Sequence[tuple[RequestedOutput, Array]],
        sizes: Sequence[int],
        places: Mapping[str, int] = {},
    ) -> tuple[bytes, ReplyHeaders]:
        """Return the JSON of a reply, and its headers.

        Args:
            tensors: the tensors to send.
            sizes: the sizes in bytes of those that are sent as bytes.
            places: the locations of those in shared memory.
        """
        key = None
        if len(sizes) == len(tensors):
            key = (*((array.dtype, array.shape) for _, array in tensors), *sizes)
            known = self._heads.get(key)
            if known is not None:
                return known
        head = self._write_head(tensors, sizes, places)
        headers: ReplyHeaders = (JSON,)
        if sizes:
            headers = (_BINARY, (LENGTH_HEADER, str(len(head)).encode()))
        headers = (*headers, (b"x-model-version", self._version.encode()))
        if key is not None:
            if len(self._heads) >= _MAX_HEADS:
                self._heads.clear()
            self._heads[key] = head, headers
        return head, headers

    def _write_head(
        self,
        tensors: Sequence[tuple[RequestedOutput, Array]],
        sizes: Sequence[int],
        places: Mapping[str, int],
    ) -> bytes:
        parts = [
            b'{"model_name":',
            orjson.dumps(self._name),
            b',"model_version":',
            orjson.dumps(self._version),
        ]
        if self._question.id is not None:
            parts += [b',"id":', orjson.dumps(self._question.id)]
        parts.append(b',"outputs":[')
        left = iter(sizes)
        for i, (output, array) in enumerate(tensors):
            parts.append(b"," if i else b"")
            parts.append(
                b'{"name":%b,"datatype":"%b","shape":%b'
                % (
                    orjson.dumps(output.name),
                    datatype_of(array).encode(),
                    orjson.dumps(list(array.shape)),
                )
            )
            if output.place is not None:
                told = output.place.parameters(places[output.name])
                parts.append(b',"parameters":%b}' % orjson.dumps(told))
            elif output.is_binary:
                parts.append(b',"parameters":{"binary_data_size":%d}}' % next(left))
            else:
                parts += [b',"data":', _to_json(output.name, array), b"}"]
        parts.append(b"]}")
        return b"".join(parts)


def read_arrays(question: Question, raw: memoryview) -> dict[str, Array]:
    """Return the arrays that a request feeds.

    Args:
        question: the request's JSON.
        raw: the bytes of its tensors.

    Raises:
        InvalidArgumentError: a tensor does not match the question.
    """
    arrays: dict[str, Array] = {}
    begin = 0
    there = read_places({t.name: t.place for t in question.inputs if t.place is not None})
    for tensor in question.inputs:
        if tensor.name in arrays:
            raise InvalidArgumentError(f"input '{tensor.name}' is given twice")
        if tensor.place is not None:
            part = there[tensor.name]
            arrays[tensor.name] = read_tensor(tensor.name, tensor.dtype, tensor.shape, part)
            continue
        if tensor.size is None:
            arrays[tensor.name] = _from_json(tensor)
            continue
        end = begin + tensor.size
        if end > len(raw):
            raise InvalidArgumentError(
                f"input '{tensor.name}' has binary_data_size {tensor.size}, "
                f"but {len(raw) - begin} bytes are left"
            )
        part = raw[begin:end]
        arrays[tensor.name] = read_tensor(tensor.name, tensor.dtype, tensor.shape, part)
        begin = end
    if begin != len(raw):
        raise InvalidArgumentError(f"{len(raw) - begin} bytes are left after the last input")
    return arrays


def _decoded(question: Question, arrays: dict[str, Array], encode: Encoder) -> Decoded:
    return Decoded(question.signature_name, arrays, encode, sequence=question.sequence)


def _decode_raw(servable: Servable, body: bytes) -> Decoded:
    """Decode a body that consists of the only input's bytes."""
    inputs = servable.signature(DEFAULT_SIGNATURE).inputs
    if len(inputs) != 1:
        raise InvalidArgumentError(
            "a raw request is for models with one input; "
            f"this one has {{{', '.join(sorted(inputs))}}}"
        )
    ((name, spec),) = inputs.items()
    if spec.dtype is dtypes.string:
        rank = 1 if spec.shape.rank is None else spec.shape.rank
        shape: tuple[int, ...] = (1,) * rank
        array: Array = np.array([body], object).reshape(shape)
    else:
        shape = _raw_shape(name, spec.shape.dims, len(body), np.dtype(spec.dtype.numpy))
        array = read_tensor(name, spec.dtype, shape, memoryview(body))
    question = Question(None, DEFAULT_SIGNATURE, (), None, True)
    return Decoded(DEFAULT_SIGNATURE, {name: array}, Encoder(servable, question))


def header_length(text: bytes, total: int) -> int:
    """Return the length in bytes of a body's JSON.

    Args:
        text: the value of `Inference-Header-Content-Length`.
        total: the body's length in bytes.

    Raises:
        InvalidArgumentError: the text is not a number from 0 to `total`.
    """
    if not text.isdigit() or len(text) > MAX_LENGTH_DIGITS or int(text) > total:
        raise InvalidArgumentError(
            f"Inference-Header-Content-Length must be from 0 to the body's {total} bytes, "
            f"got '{text[:40].decode('latin-1')}'"
        )
    return int(text)


def read_question(document: Any) -> Question:
    """Parse the request in a JSON header.

    Raises:
        InvalidArgumentError: the header is invalid; the message says where.
    """
    if not isinstance(document, dict):
        raise InvalidArgumentError("the request must be a JSON object")
    inputs = document.get("inputs")
    if not isinstance(inputs, list) or not inputs:
        raise InvalidArgumentError("'inputs' must be a list of at least one tensor")
    parameters = _parameters(document, "the request")
    outputs = document.get("outputs")
    if outputs is not None and not isinstance(outputs, list):
        raise InvalidArgumentError("'outputs' must be a list")
    request_id = document.get("id")
    if request_id is not None and not isinstance(request_id, str):
        raise InvalidArgumentError("'id' must be a string")
    signature = asked_signature(parameters)
    is_binary = parameters.get("binary_data_output", False)
    if not isinstance(is_binary, bool):
        raise InvalidArgumentError("parameter 'binary_data_output' must be true or false")
    return Question(
        request_id,
        signature,
        tuple(map(_read_input, inputs)),
        tuple(_read_output(output, is_binary) for output in outputs) if outputs else None,
        is_binary,
        asked_sequence(parameters),
    )


def _read_input(tensor: Any) -> _Input:
    name = _tensor_name(tensor, "inputs")
    dtype = dtype_named(tensor.get("datatype"))
    shape = checked_shape(name, tensor.get("shape"))
    parameters = _parameters(tensor, f"input '{name}'")
    place = place_of(f"input '{name}'", parameters)
    size = parameters.get("binary_data_size")
    if place is not None:
        if "data" in tensor or size is not None:
            raise InvalidArgumentError(
                f"input '{name}' has values both in shared memory and in the request"
            )
        return _Input(name, dtype, shape, None, None, place)
    if size is None:
        if "data" not in tensor:
            raise InvalidArgumentError(
                f"input '{name}' has neither 'data' nor parameter 'binary_data_size'"
            )
        return _Input(name, dtype, shape, None, tensor["data"])
    if "data" in tensor:
        raise InvalidArgumentError(
            f"input '{name}' has both 'data' and parameter 'binary_data_size'"
        )
    if type(size) is not int or size < 0:
        raise InvalidArgumentError(
            f"binary_data_size of input '{name}' must be a number of bytes, got {str(size)[:40]}"
        )
    return _Input(name, dtype, shape, size, None)


def _read_output(output: Any, is_binary: bool) -> RequestedOutput:
    name = _tensor_name(output, "outputs")
    parameters = _parameters(output, f"output '{name}'")
    return requested_output(name, parameters, is_binary=is_binary)


def _tensor_name(tensor: Any, where: str) -> str:
    if not isinstance(tensor, dict) or not isinstance(tensor.get("name"), str):
        raise InvalidArgumentError(f"each of '{where}' must be an object with a 'name'")
    return str(tensor["name"])


def _parameters(owner: dict[str, Any], whose: str) -> dict[str, Any]:
    parameters = owner.get("parameters")
    if parameters is None:
        return {}
    if not isinstance(parameters, dict):
        raise InvalidArgumentError(f"'parameters' of {whose} must be an object")
    return parameters


def _wanted(signature: Runnable, question: Question) -> tuple[RequestedOutput, ...]:
    if question.outputs is None:
        return tuple(RequestedOutput(name, question.is_binary, 0) for name in signature.outputs)
    # Each output is written once.
    if len({output.name for output in question.outputs}) < len(question.outputs):
        raise InvalidArgumentError("an output is requested twice")
    for output in question.outputs:
        if output.name not in signature.outputs:
            known = ", ".join(sorted(signature.outputs))
            raise InvalidArgumentError(f"there is no output '{output.name}'; there are {known}")
    return question.outputs


def _from_json(tensor: _Input) -> Array:
    if tensor.dtype in _NOT_IN_JSON:
        raise InvalidArgumentError(
            f"input '{tensor.name}': JSON has no form for {tensor.dtype.name}; send it as bytes"
        )
    if tensor.dtype is dtypes.uint16:  # the protocol has it in JSON, unlike TensorFlow Serving
        array = decode_array(tensor.data, dtypes.int32)
        if array.min(initial=0) < 0 or array.max(initial=0) > 65535:
            raise InvalidArgumentError(f"input '{tensor.name}' must be from 0 to 65535")
        array = array.astype(np.uint16)
    else:
        try:
            array = decode_array(tensor.data, tensor.dtype)
        except InvalidArgumentError as error:
            raise InvalidArgumentError(f"input '{tensor.name}': {error}") from None
    is_nested = 1 < array.ndim <= len(tensor.shape)  # deeper lists say nothing about the shape
    if array.size != count(tensor.shape) or (is_nested and array.shape != tensor.shape):
        raise InvalidArgumentError(
            f"input '{tensor.name}' has shape {list(tensor.shape)}, which is "
            f"{count(tensor.shape)} values, but its data is {list(array.shape)}"
        )
    return array.reshape(tensor.shape)


def _to_json(name: str, array: Array) -> bytes:
    flat = array.reshape(-1)
    if flat.dtype == np.uint16:
        flat = flat.astype(np.int32)
    return encode_array(flat, name)


def _raw_shape(
    name: str, dims: Sequence[int | None] | None, size: int, dtype: np.dtype[Any]
) -> tuple[int, ...]:
    """The shape of a raw input: batch size 1, and at most one more open axis."""
    if dims is None:
        raise InvalidArgumentError(
            f"input '{name}' has no known rank: send a header with its shape"
        )
    if not dims:
        return ()
    shape = [1 if dims[0] is None else dims[0], *dims[1:]]
    open_axes = [i for i, dim in enumerate(shape) if dim is None]
    if len(open_axes) > 1:
        raise InvalidArgumentError(
            f"input '{name}' has {len(open_axes)} open axes: send a header with its shape"
        )
    if open_axes:
        rest = count([dim for dim in shape if dim is not None]) * dtype.itemsize
        shape[open_axes[0]] = size // rest if rest else 0
    return tuple(dim for dim in shape if dim is not None)
