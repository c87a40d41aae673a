"""TensorFlow Serving's predict as a wire: in JSON, as .npy files, and with tensors as bytes.

A body of numbers for one float input, which is most of them, goes through simdjson into one buffer;
whatever is not exactly that is decoded by the full rules of `json_tensors`.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError
from pinnace.serving.calls import Reply
from pinnace.serving.handlers import DEFAULT_SIGNATURE
from pinnace.serving.http.infer import INFER, LENGTH_HEADER
from pinnace.serving.http.json_tensors import (
    Form,
    decode_feeds,
    encode_outputs,
    parse_predict,
)
from pinnace.serving.http.npy import NPY, npy_encoder, read_npy
from pinnace.serving.http.replies import JSON, refusal
from pinnace.serving.wires import Decoded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pinnace.serving.http.json_arrays import Array
    from pinnace.serving.servable import Arrays, Servable

try:
    import simdjson
except ImportError:  # no wheel for this platform: the full rules decode everything
    simdjson = None  # type: ignore[assignment]

_FLOATS = (dtypes.float32, dtypes.float64)
_ROW_KEYS = (["instances"], ["instances", "signature_name"], ["signature_name", "instances"])


class JsonPredict:
    """`POST …:predict`."""

    api = "predict"
    entrypoint = "REST"

    def decode(self, servable: Servable, body: bytes, headers: Mapping[bytes, bytes]) -> Decoded:
        """What the body asks: JSON, an .npy file, or JSON with tensors as bytes behind it.

        Raises:
            InvalidArgumentError: it cannot be understood; the message says where.
        """
        if LENGTH_HEADER in headers:  # the Open Inference Protocol's own form, asked and answered
            return INFER.decode(servable, body, headers)
        version = str(servable.version).encode()
        if NPY in headers.get(b"content-type", b""):
            name, feeds, form = *_decode_npy(servable, body, headers), Form.COLUMN
        else:
            fast = _decode_numbers(servable, body)
            if fast is not None:
                name, feeds = fast
                form = Form.ROW
            else:
                call = parse_predict(body)
                name, form = call.signature_name, call.form
                feeds = decode_feeds(call, servable.signature(name).inputs)
        if NPY in headers.get(b"accept", b""):
            output = _npy_output(servable, name, headers)
            if output is not None:
                return Decoded(name, feeds, npy_encoder(output, version))
        return Decoded(name, feeds, _encoder(form, version))

    def refuse(self, error: BaseException) -> Reply:
        """`{"error": message}`."""
        return refusal(error)


PREDICT = JsonPredict()


def _decode_npy(
    servable: Servable, body: bytes, headers: Mapping[bytes, bytes]
) -> tuple[str, dict[str, Array]]:
    """The signature that `X-Signature-Name` says, and its one input."""
    name = headers.get(b"x-signature-name", DEFAULT_SIGNATURE.encode()).decode("utf-8", "replace")
    inputs = servable.signature(name).inputs
    if len(inputs) != 1:
        raise InvalidArgumentError(
            f"An .npy file is one array, but signature '{name}' has the inputs "
            f"{{{', '.join(sorted(inputs))}}}\n  Try: JSON, or /v2/models/{servable.name}/infer"
        )
    ((key, spec),) = inputs.items()
    return name, {key: read_npy(body, spec.dtype)}


def _npy_output(servable: Servable, name: str, headers: Mapping[bytes, bytes]) -> str | None:
    """The output that an .npy file can hold; None if there are several and JSON will do."""
    outputs = servable.signature(name).outputs
    if len(outputs) == 1:
        return next(iter(outputs))
    accepted = headers[b"accept"]
    if b"json" in accepted or b"*/*" in accepted:
        return None
    raise InvalidArgumentError(
        f"An .npy file is one array, but signature '{name}' has the outputs "
        f"{{{', '.join(sorted(outputs))}}}\n  Try: Accept: application/json"
    )


def _encoder(form: Form, version: bytes) -> Callable[[Arrays], Reply]:
    headers = (JSON, (b"x-model-version", version))

    def encode(outputs: Arrays) -> Reply:
        return Reply(encode_outputs(outputs, form), 200, headers)

    return encode


class _Parsers(threading.local):
    """One parser a thread: it reuses its memory."""

    def __init__(self) -> None:
        self.parser: Any = simdjson.Parser()


_PARSERS = None if simdjson is None else _Parsers()


def _decode_numbers(servable: Servable, body: bytes) -> tuple[str, dict[str, Array]] | None:
    """Rows of numbers for one float input; None for anything else, right or wrong."""
    if _PARSERS is None:
        return None
    document = rows = None
    try:
        document = _PARSERS.parser.parse(body)
        keys = list(document.keys())
        if keys not in _ROW_KEYS:
            return None
        name = DEFAULT_SIGNATURE if len(keys) == 1 else document["signature_name"]
        signature = servable.signatures.get(name)
        if signature is None or len(signature.inputs) != 1:
            return None
        ((input_name, spec),) = signature.inputs.items()
        if spec.dtype not in _FLOATS:
            return None
        rows = document["instances"]
        shape = _shape(rows, body)
        if shape is None:
            return None
        array = np.frombuffer(rows.as_buffer(of_type="d"), np.float64).reshape(shape)
    except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError):
        return None
    finally:
        document = rows = None  # the parser frees nothing that is looked at
    with np.errstate(over="ignore"):
        return str(name), {input_name: array.astype(spec.dtype.numpy)}


def _shape(rows: Any, body: bytes) -> tuple[int, ...] | None:
    """The sizes of a list of numbers, or of lists of numbers of one size; None for anything else.

    The brackets are counted, for the parser's buffer does not tell a list from its elements.
    """
    count = len(rows)
    begin = body.find(b"[")
    shape: tuple[int, ...]
    if isinstance(rows[0], float | int):
        shape = (count,)
    else:
        size = len(rows[0])
        shape = (count, size)
        for row in rows:
            begin = body.find(b"[", begin + 1)
            if begin < 0 or len(row) != size:
                return None
    return None if body.find(b"[", begin + 1) >= 0 else shape
