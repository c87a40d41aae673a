"""The Open Inference Protocol's infer over HTTP; most bodies are bytes after a known header.

Clients that send binary tensors repeat the same JSON before them: the parsed JSON, and the facts
derived from it for a version, are cached with the version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework import dtypes
from pinnace.serving.http.infer import (
    LENGTH_HEADER,
    MAX_LENGTH_DIGITS,
    Encoder,
    Infer,
    Question,
    read_arrays,
    read_question,
)
from pinnace.serving.http.json_text import parse_json
from pinnace.serving.requests.wires import Decoded
from pinnace.serving.running.packed_rows import PackedRows, kind_of

if TYPE_CHECKING:
    from pinnace.serving.models.servable import Servable
    from pinnace.serving.requests.request import RequestHeaders
    from pinnace.serving.running.packed_rows import RowKind

_MAX_HEADER_BYTES = 4096


class RowsInfer(Infer):
    """`POST …/infer`, for the application."""

    def decode(self, servable: Servable, body: bytes, headers: RequestHeaders) -> Decoded:
        """Decode the feeds and options of the request body.

        Raises:
            InvalidArgumentError: the body is invalid; the message says where.
        """
        return HotInfer(headers, self.api).decode(servable, body, headers)


class HotInfer(Infer):
    """The same for one header block, parsed once.

    Args:
        headers: the block's headers.
        api: its name in metrics.
    """

    def __init__(self, headers: RequestHeaders, api: str = Infer.api) -> None:
        self.api = api
        text = headers.get(LENGTH_HEADER, b"")
        is_length = text.isdigit() and len(text) <= MAX_LENGTH_DIGITS
        self._size = int(text) if is_length else 0

    def decode(
        self, servable: Servable, body: bytes, headers: RequestHeaders, begin: int = 0
    ) -> Decoded:
        """Decode the feeds and options of the request body.

        Raises:
            InvalidArgumentError: the body is invalid; the message says where.
        """
        size = self._size
        stop = begin + size
        header = body[begin:stop]
        known: _Remembered | None = servable.remembered.get(header)
        if known is None:
            if not size or stop > len(body):
                return super().decode(servable, body[begin:], headers)
            known = _understand(servable, header)
        # A view: a batch copies all bodies when it is joined, without further copies.
        raw = memoryview(body)[stop:]
        encode = known.encode
        if len(raw) == known.raw_bytes:
            feeds = PackedRows(known.kind, raw, known.rows)
            return Decoded(known.signature_name, feeds, encode, encode)
        arrays = read_arrays(known.question, raw)
        sequence = known.question.sequence
        return Decoded(known.signature_name, arrays, encode, sequence=sequence)


class _Remembered:
    """A parsed request header, with its preparation for one version of a model.

    Args:
        servable: the version.
        question: the question in the header.

    Attributes:
        kind: the kind of the rows, if they are its only input and need no checks.
        rows: the number of rows, if there is a kind.
        raw_bytes: the bytes of all rows; -1 without a kind.
        encode: encodes the replies.
    """

    __slots__ = ("encode", "kind", "question", "raw_bytes", "rows", "signature_name")

    kind: RowKind
    rows: int

    def __init__(self, servable: Servable, question: Question) -> None:
        self.question = question
        self.signature_name = question.signature_name
        self.raw_bytes = -1
        signature = servable.signature(question.signature_name)
        self.encode = Encoder(servable, question)
        if len(question.inputs) != 1 or question.sequence is not None:
            return
        (tensor,) = question.inputs
        # Bytes of bools are checked, and strings have different lengths.
        if tensor.size is None or not tensor.shape or tensor.dtype in (dtypes.bool, dtypes.string):
            return
        kind = kind_of(signature, tensor.name, np.dtype(tensor.dtype.numpy), tensor.shape[1:])
        rows = tensor.shape[0]
        if kind is None or not rows or tensor.size != rows * kind.row_bytes:
            return
        self.kind, self.rows, self.raw_bytes = kind, rows, tensor.size


def _understand(servable: Servable, header: bytes) -> _Remembered:
    question = read_question(parse_json(header))
    found = _Remembered(servable, question)
    if (
        len(header) < _MAX_HEADER_BYTES
        and question.id is None
        and question.sequence is None
        and all(tensor.size is not None for tensor in question.inputs)
    ):
        servable.remember(header, found)
    return found
