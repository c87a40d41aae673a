"""TensorFlow Serving's predict over HTTP, where most bodies are rows of numbers.

These are parsed by machine code if available (`number_rows`), or by simdjson into one buffer
(`parsed_rows`); any other body is decoded by the full rules of `json_predict`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.serving.fast.http.infer import RowsInfer
from pinnace.serving.fast.http.number_rows import read_rows
from pinnace.serving.fast.http.parsed_rows import parse_rows
from pinnace.serving.http.json_predict import JsonPredict, encoder_of
from pinnace.serving.http.json_tensors import Form
from pinnace.serving.http.npy import NPY
from pinnace.serving.requests.wires import Decoded

if TYPE_CHECKING:
    from pinnace.serving.models.servable import Servable
    from pinnace.serving.requests.request import RequestHeaders
    from pinnace.serving.running.signatures import Arrays


class RowsPredict(JsonPredict):
    """`POST …:predict`, for the application."""

    def __init__(self) -> None:
        self._infer = RowsInfer()

    def read_json(
        self, servable: Servable, body: bytes, begin: int = 0
    ) -> tuple[str, Arrays, Form]:
        """Return the requested signature, its inputs, and their JSON form.

        Args:
            servable: the version that answers.
            body: bytes that end with the body.
            begin: the offset of the body.
        """
        found = read_rows(servable, body, begin)
        if found is None:
            if begin:
                body = body[begin:]
            found = parse_rows(servable, body)
            if found is None:
                return super().read_json(servable, body)
        return *found, Form.ROW


class HotPredict(RowsPredict):
    """The same for one header block, parsed once.

    Args:
        headers: the block's headers, without `Inference-Header-Content-Length`.
    """

    def __init__(self, headers: RequestHeaders) -> None:
        super().__init__()
        named = headers.get(b"accept", b""), headers.get(b"content-type", b"")
        self._is_plain = not any(NPY in text for text in named)

    def decode(
        self, servable: Servable, body: bytes, headers: RequestHeaders, begin: int = 0
    ) -> Decoded:
        """Decode the feeds and options of the request body.

        Raises:
            InvalidArgumentError: the body is invalid; the message says where.
        """
        if not self._is_plain:
            return super().decode(servable, body[begin:], headers)
        name, feeds, form = self.read_json(servable, body, begin)
        encode = servable.remembered.get(form) or encoder_of(servable, form)
        return Decoded(name, feeds, encode, encode)
