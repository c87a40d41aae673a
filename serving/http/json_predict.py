"""TensorFlow Serving's predict as a wire: in JSON, as .npy files, and with tensors as bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework.errors import InvalidArgumentError
from pinnace.serving.http.infer import LENGTH_HEADER, Infer
from pinnace.serving.http.json_pieces import drop_items
from pinnace.serving.http.json_tensors import (
    Form,
    decode_feeds,
    encode_joined,
    encode_outputs,
    parse_predict,
)
from pinnace.serving.http.npy import NPY, npy_encoder, read_npy
from pinnace.serving.http.replies import JSON, refusal
from pinnace.serving.requests.reply import Reply
from pinnace.serving.requests.wires import Decoded
from pinnace.serving.running.signatures import DEFAULT_SIGNATURE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.serving.http.json_arrays import Array
    from pinnace.serving.models.servable import Servable
    from pinnace.serving.running.signatures import Arrays


class JsonPredict:
    """`POST …:predict`."""

    api = "predict"
    entrypoint = "REST"

    def __init__(self) -> None:
        self._infer = Infer()

    def decode(self, servable: Servable, body: bytes, headers: Mapping[bytes, bytes]) -> Decoded:
        """The parsed request body: JSON, an .npy file, or JSON followed by binary tensors.

        Raises:
            InvalidArgumentError: it cannot be understood; the message says where.
        """
        if LENGTH_HEADER in headers:  # the Open Inference Protocol's binary form
            return self._infer.decode(servable, body, headers)
        feeds: Arrays
        if NPY in headers.get(b"content-type", b""):
            name, feeds, form = *_decode_npy(servable, body, headers), Form.COLUMN
        else:
            name, feeds, form = self.read_json(servable, body)
        if NPY in headers.get(b"accept", b""):
            output = _npy_output(servable, name, headers)
            if output is not None:
                return Decoded(name, feeds, npy_encoder(output, str(servable.version).encode()))
        encode = encoder_of(servable, form)
        return Decoded(name, feeds, encode, encode)

    def read_json(self, servable: Servable, body: bytes) -> tuple[str, Arrays, Form]:
        """The requested signature, its inputs, and their JSON form."""
        call = parse_predict(body)
        name = call.signature_name
        try:
            return name, decode_feeds(call, servable.signature(name).inputs), call.form
        finally:
            drop_items(call.value)

    def is_quick(
        self, servable: Servable, body: bytes, headers: Mapping[bytes, bytes], begin: int
    ) -> bool:
        """Whether the tensors are binary after a short header."""
        return LENGTH_HEADER in headers and self._infer.is_quick(servable, body, headers, begin)

    def refuse(self, error: BaseException) -> Reply:
        """`{"error": message}`."""
        return refusal(error)


def encoder_of(servable: Servable, form: Form) -> Encoder:
    """The function that encodes a version's replies to requests of a form."""
    encode: Encoder | None = servable.remembered.get(form)
    if encode is None:
        encode = Encoder(form, str(servable.version).encode())
        servable.remember(form, encode)
    return encode


def _decode_npy(
    servable: Servable, body: bytes, headers: Mapping[bytes, bytes]
) -> tuple[str, dict[str, Array]]:
    """Decode an .npy file: the signature named by `X-Signature-Name`, and its one input."""
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
    """The output that an .npy file can hold; None if there are several and JSON is accepted."""
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


class Encoder:
    """Encodes outputs as the reply to a request.

    Args:
        form: the request's form.
        version: the version that answers.
    """

    __slots__ = ("_form", "_headers")

    def __init__(self, form: Form, version: bytes) -> None:
        self._form = form
        self._headers = (JSON, (b"x-model-version", version))

    def __call__(self, outputs: Arrays) -> Reply:
        """Return the reply."""
        return Reply(encode_outputs(outputs, self._form), 200, self._headers)

    def encode_rows(self, outputs: Arrays, rows: Sequence[int]) -> list[Reply] | None:
        """Return the replies to requests whose rows ran together, or None."""
        bodies = encode_joined(outputs, rows, self._form)
        headers = self._headers
        return None if bodies is None else [Reply(body, 200, headers) for body in bodies]
