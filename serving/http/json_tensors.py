"""Bodies of TensorFlow Serving's predict ↔ named arrays: the row form and the column form.

Source: TensorFlow Serving, util/json_tensor.cc; docs/reference/serving_api.md 1.2 to 1.4.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import orjson

from pinnace.framework.errors import InvalidArgumentError
from pinnace.serving.http.json_arrays import (
    Array,
    decode_array,
    encode_array,
    is_base64_object,
    may_hold_words,
)
from pinnace.serving.http.json_pieces import pieces_of
from pinnace.serving.http.json_text import (
    dump_excerpt,
    parse_json,
    parse_json_tolerantly,
    type_name,
)
from pinnace.serving.requests.expansion import PIECE_BYTES, joined, pieces_of_bytes
from pinnace.serving.running.signatures import DEFAULT_SIGNATURE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pinnace.framework.specs import TensorSpec
    from pinnace.serving.http.json_text import Json


_KEYS = ("instances", "inputs", "signature_name")
_ESCAPED_KEYS = {
    key: re.compile(
        b'"%b"' % b"".join(rb"(?:%c|\\u00(?i:%02x))" % (letter, letter) for letter in key.encode())
    )
    for key in _KEYS
}


class Form(enum.Enum):
    """The form of tensors in a body.

    Attributes:
        ROW: a list with one entry per example.
        COLUMN: one whole tensor per name.
    """

    ROW = "instances"
    COLUMN = "inputs"

    __hash__ = object.__hash__  # Enum's __hash__ is a Python function, and every request calls it


@dataclass(frozen=True, slots=True)
class PredictCall:
    """A predict body whose tensors are not decoded yet, which needs the signature.

    Attributes:
        signature_name: the signature to run.
        form: the form of the request and of the reply.
        value: the value of `instances` or `inputs`.
        has_words: whether `value` may contain true, false or null.
    """

    signature_name: str
    form: Form
    value: Json
    has_words: bool


def parse_predict(body: bytes) -> PredictCall:
    """Parse the body of a predict request.

    Raises:
        InvalidArgumentError: the body is not a JSON object, or does not have exactly one of
            `instances` and `inputs`.
    """
    document = parse_json(body)
    if isinstance(document, dict) and _repeats_key(body, document):
        document = parse_json_tolerantly(body)  # which uses the first of equal keys
    if not isinstance(document, dict):
        raise InvalidArgumentError(
            f"JSON Value: {dump_excerpt(document)} Type: {type_name(document)} Is not object"
        )
    name = asked_signature(document)
    given = [form for form in Form if form.value in document]
    if not given:
        raise InvalidArgumentError("Missing 'inputs' or 'instances' key")
    if len(given) > 1:
        raise InvalidArgumentError(
            "Not formatted correctly expecting only one of 'inputs' or 'instances' keys to exist"
        )
    return PredictCall(name, given[0], document[given[0].value], may_hold_words(body))


def asked_signature(document: Mapping[str, Json]) -> str:
    """Return the signature name in a body; the default one if it is missing or empty.

    Raises:
        InvalidArgumentError: it is not a string.
    """
    name = document.get("signature_name", "")
    if not isinstance(name, str):
        raise InvalidArgumentError(
            f"JSON Value: {dump_excerpt(name)} not formatted correctly. 'signature_name' key must "
            "be a string value."
        )
    return name or DEFAULT_SIGNATURE


def decode_feeds(call: PredictCall, inputs: Mapping[str, TensorSpec]) -> dict[str, Array]:
    """Return the arrays that a call feeds to a signature; their shapes are not checked.

    Args:
        call: from `parse_predict`.
        inputs: the signature's inputs.

    Raises:
        InvalidArgumentError: a name, type or list is wrong; the message says where.
        UnimplementedError: JSON has no form for the dtype of an input.
    """
    if call.form is Form.ROW:
        return _decode_rows(call.value, inputs, call.has_words)
    return _decode_columns(call.value, inputs, call.has_words)


def encode_outputs(outputs: Mapping[str, Array], form: Form) -> bytes:
    """Return the body of a reply.

    Args:
        outputs: arrays by name; in the row form each [n, ...] with one n.
        form: the request's form.

    Raises:
        InvalidArgumentError: the outputs cannot be written as rows, or at all.
    """
    if form is Form.ROW:
        return _within(b'{"predictions":', _encode_rows(outputs))
    if len(outputs) == 1:
        ((name, array),) = outputs.items()
        return _within(b'{"outputs":', encode_array(array, name))
    named = joined(_join({n: encode_array(a, n) for n, a in outputs.items()}))
    return _within(b'{"outputs":', named)


def encode_joined(
    outputs: Mapping[str, Array], rows: Sequence[int], form: Form
) -> list[bytes] | None:
    """Return the bodies of the replies to several requests whose rows ran together.

    Args:
        outputs: the run's outputs, with the rows of all requests, and perhaps padding.
        rows: the number of rows of each request, in order.
        form: the requests' form.

    Returns:
        The results of `encode_outputs` for each request's rows; None if it must be called for each.
    """
    if len(outputs) != 1:
        return None
    ((name, array),) = outputs.items()
    depth = array.ndim
    if not depth or not array.size or array.dtype.kind not in "fiub":
        return None
    # One text is written much faster than many; its rows are separated by the outer brackets.
    left, right = b"[" * (depth - 1), b"]" * (depth - 1)
    between = right + b"," + left
    texts = encode_array(array, name)[depth:-depth].split(between)
    left = (b'{"predictions":[' if form is Form.ROW else b'{"outputs":[') + left
    right += b"]}"
    bodies = []
    begin = 0
    for count in rows:
        if count == 1:
            bodies.append(left + texts[begin] + right)
        else:
            bodies.append(left + between.join(texts[begin : begin + count]) + right)
        begin += count
    return bodies


def _repeats_key(body: bytes, document: dict[str, Json]) -> bool:
    """Whether a key of the document occurs twice in its text, of which orjson uses the last."""
    # If no string follows the first list, keys can repeat only before it.
    start = body.find(b"[")
    end = start if start >= 0 and body.find(b'"', start) < 0 else len(body)
    if body.find(b"\\u00", 0, end) >= 0:  # an escaped letter of a key
        return any(
            len(_ESCAPED_KEYS[key].findall(body, 0, end)) > 1 for key in _KEYS if key in document
        )
    return any(body.count(f'"{key}"'.encode(), 0, end) > 1 for key in _KEYS if key in document)


def _decode_rows(
    value: Json, inputs: Mapping[str, TensorSpec], has_words: bool
) -> dict[str, Array]:
    if not isinstance(value, list):
        raise InvalidArgumentError(
            f"Expecting 'instances' to be an list/array, got {type_name(value)}"
        )
    if not value:
        raise InvalidArgumentError("No values in 'instances' array")
    named = isinstance(value[0], dict) and not is_base64_object(value[0])
    if not named and len(inputs) != 1:
        raise InvalidArgumentError(
            "instances is a plain list, but expecting list of objects as multiple inputs required "
            f"as per signature: {_names(inputs)}"
        )
    if named:
        rows = [_named_row(row, i, inputs) for i, row in enumerate(value)]
        return {
            name: _decode_batch([row[name] for row in rows], spec, has_words, f" key: {name}")
            for name, spec in inputs.items()
        }
    if any(dict in set(map(type, piece)) for piece in pieces_of(value)):
        _refuse_named_rows(value)
    ((name, spec),) = inputs.items()
    return {name: _decode_batch(value, spec, has_words)}


def _named_row(row: Json, i: int, inputs: Mapping[str, TensorSpec]) -> dict[str, Json]:
    if not isinstance(row, dict) or is_base64_object(row):
        kind = "list" if isinstance(row, list) else "value"
        raise InvalidArgumentError(f"Expecting object but got {kind} at item {i} of input list")
    if row.keys() != inputs.keys():
        raise InvalidArgumentError(
            f"Failed to process element: {i} of 'instances' list. Error: keys must be the inputs "
            f"of the signature, {_names(inputs)}, got {_names(row)}"
        )
    return row


def _refuse_named_rows(rows: list[Json]) -> None:
    """Raise an error for an object among plain values."""
    for i, row in enumerate(rows):
        if isinstance(row, dict) and not is_base64_object(row):
            raise InvalidArgumentError(
                f"Expecting value/list but got object at item {i} of input list"
            )


def _decode_batch(rows: list[Json], spec: TensorSpec, has_words: bool, where: str = "") -> Array:
    """Return [n, ...] of n elements, which must have one shape."""
    try:
        return decode_array(rows, spec.dtype, has_words)
    except InvalidArgumentError as error:
        _find_bad_row(rows, spec, where)
        raise InvalidArgumentError(f"Failed to process 'instances' list. Error: {error}") from None


def _find_bad_row(rows: list[Json], spec: TensorSpec, where: str) -> None:
    """Raise an error for the first element that is invalid, or of another shape than the first."""
    shape: tuple[int, ...] | None = None
    for i, row in enumerate(rows):
        problem = ""
        try:
            found = decode_array(row, spec.dtype).shape
        except InvalidArgumentError as error:
            problem = str(error)
        else:
            shape = found if shape is None else shape
            sizes = int(np.prod(shape)), int(np.prod(found))
            if sizes[0] != sizes[1]:
                problem = f"Expecting tensor size: {sizes[0]} but got: {sizes[1]}"
            elif found != shape:
                problem = f"Expecting shape {list(shape)} but got: {list(found)}"
        if problem:
            raise InvalidArgumentError(
                f"Failed to process element: {i}{where} of 'instances' list. Error: {problem}"
            ) from None


def _decode_columns(
    value: Json, inputs: Mapping[str, TensorSpec], has_words: bool
) -> dict[str, Array]:
    if not isinstance(value, dict) or is_base64_object(value):
        if len(inputs) != 1:
            raise InvalidArgumentError(
                "inputs is a plain value/list, but expecting an object/map of name:value pairs as "
                f"multiple inputs required as per signature: {_names(inputs)}"
            )
        value = dict.fromkeys(inputs, value)
    feeds: dict[str, Array] = {}
    for name, spec in inputs.items():
        if name not in value:
            raise InvalidArgumentError(f"Missing named input: {name} in 'inputs' object.")
        try:
            feeds[name] = decode_array(value[name], spec.dtype, has_words)
        except InvalidArgumentError as error:
            raise InvalidArgumentError(
                f"Failed to process input: {name} of 'inputs' object. Error: {error}"
            ) from None
    return feeds


def _encode_rows(outputs: Mapping[str, Array]) -> bytes:
    size: int | None = None
    for name, array in outputs.items():
        if array.ndim == 0:
            raise InvalidArgumentError(f"Tensor name: {name} has no shape information")
        size = len(array) if size is None else size
        if len(array) != size:
            raise InvalidArgumentError(
                f"Tensor name: {name} has inconsistent batch size: {len(array)} expecting: {size}\n"
                "  Try: the column form, 'inputs' in place of 'instances'"
            )
    if len(outputs) == 1:
        ((name, array),) = outputs.items()
        return encode_array(array, name)
    return joined(_row_texts(outputs, size or 0))


def _row_texts(outputs: Mapping[str, Array], size: int) -> Iterator[bytes | memoryview]:
    yield b"["
    for i in range(size):
        if i:
            yield b","
        yield from _join({name: encode_array(array[i], name) for name, array in outputs.items()})
    yield b"]"


def _join(texts: Mapping[str, bytes]) -> Iterator[bytes | memoryview]:
    before = b"{"
    for name, text in texts.items():
        yield before + orjson.dumps(name) + b":"
        yield from pieces_of_bytes(text)
        before = b","
    yield b"}" if texts else b"{}"


def _within(before: bytes, text: bytes) -> bytes:
    """Yield an object whose one member is this text."""
    if len(text) <= PIECE_BYTES:
        return before + text + b"}"
    return joined(chain((before,), pieces_of_bytes(text), (b"}",)))


def _names(mapping: Mapping[str, object]) -> str:
    return "{" + ",".join(sorted(mapping)) + "}"
