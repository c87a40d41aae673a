"""Compressed strings: DecodeCompressed."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from pinnace.framework.errors import DataLossError, InvalidArgumentError, ResourceExhaustedError
from pinnace.ops.execute import execute_one
from pinnace.ops.memory import claim, joined
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, attr
from pinnace.ops.registry import define, same_as_input
from pinnace.ops.strings.elements import map_strings

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__ = ["decode_compressed"]

_WHO = "DecodeCompressed"
# zlib's window bits: 15 for a zlib header, plus 16 for gzip.
_WINDOWS = {"ZLIB": 15, "GZIP": 31}
_MOST = 1 << 31  # maximal size of a decompressed string in bytes
_FIRST = 1 << 16  # size of the first output buffer in bytes


def decode_compressed(
    bytes: TensorLike, compression_type: str = "", name: str | None = None
) -> Tensor:
    """The decompressed content of each string.

    Args:
        bytes: [...], string.
        compression_type: "ZLIB", "GZIP", or "" for strings that stay as they are.
        name: name of the node while tracing.

    Returns:
        [...], string; an empty string stays empty.

    Raises:
        DataLossError: a string is damaged or ends early.
        InvalidArgumentError: unknown compression.
    """
    return execute_one(DECODE_COMPRESSED, bytes, compression_type=compression_type, name=name)


def _inflated(data: bytes, window: int) -> bytes:
    """The content of all members of a gzip stream, or of the one zlib stream."""
    parts: list[bytes] = []
    room = _MOST
    while data:
        inflate = zlib.decompressobj(wbits=window)
        piece = _FIRST
        while not inflate.eof:
            # Accounted for before allocation: a few bytes may expand to any size.
            piece = min(piece, room)
            claim(piece)
            try:
                found = inflate.decompress(data, piece)
            except zlib.error as error:
                raise DataLossError(
                    f"{_WHO}: a string is not compressed that way: {error}"
                ) from None
            parts.append(found)
            room -= len(found)
            if not room:
                raise ResourceExhaustedError(f"{_WHO}: a string expands to more than {_MOST} bytes")
            data = inflate.unconsumed_tail
            if not data and len(found) < piece:
                break
            piece *= 2  # so that the unconsumed input is rarely copied
        if not inflate.eof:
            raise DataLossError(f"{_WHO}: a string ends before its compressed data")
        data = inflate.unused_data if window == _WINDOWS["GZIP"] else b""
    return joined(b"", parts)


def _kernel(bytes: Array, *, compression_type: str) -> Array:
    if not compression_type:
        return bytes
    window = _WINDOWS.get(compression_type)
    if window is None:
        raise InvalidArgumentError(
            f"{_WHO}: compression_type must be 'ZLIB', 'GZIP' or '', got {compression_type!r}"
        )
    return map_strings(lambda item: _inflated(item, window), bytes)


DECODE_COMPRESSED = define(
    name=_WHO,
    signature="bytes: string -> output: string",
    types={},
    attrs={"compression_type": attr("string", default="")},
    infer=same_as_input,
    kernel=_kernel,
    gradient=NOT_DIFFERENTIABLE,
    elementwise=True,
)
