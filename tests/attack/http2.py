"""HTTP/2 frames, written byte by byte, for a client that breaks the rules."""

from __future__ import annotations

import asyncio
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS, PING, GO_AWAY, WINDOW, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, END_HEADERS = 1, 4


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """One frame."""
    return (
        struct.pack(">I", len(payload))[1:]
        + bytes([kind, flags])
        + struct.pack(">I", stream)
        + payload
    )


def _length(size: int) -> bytes:
    """An HPACK length: a prefix of seven bits, and continuation bytes."""
    if size < 127:
        return bytes([size])
    found, size = b"\x7f", size - 127
    while size > 127:
        found, size = found + bytes([size & 127 | 128]), size >> 7
    return found + bytes([size])


def header(name: bytes, value: bytes) -> bytes:
    """An HPACK header that is not added to the dynamic table."""
    return b"\0" + _length(len(name)) + name + _length(len(value)) + value


def call(path: str, *more: tuple[bytes, bytes]) -> bytes:
    """The headers of a gRPC call."""
    pairs = (
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":path", path.encode()),
        (b":authority", b"a"),
        (b"te", b"trailers"),
        (b"content-type", b"application/grpc"),
        *more,
    )
    return b"".join(header(name, value) for name, value in pairs)


def message(size: int) -> bytes:
    """The prefix of a gRPC message of this size."""
    return b"\0" + struct.pack(">I", size)


async def opened(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection after the exchange of settings, with large receive windows."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(PREFACE + frame(SETTINGS, 0, 0))
    return reader, writer


async def next_frame(reader: asyncio.StreamReader) -> tuple[int, int, int, bytes]:
    """Kind, flags, stream and payload of the next frame."""
    head = await reader.readexactly(9)
    payload = await reader.readexactly(int.from_bytes(head[:3], "big"))
    return head[3], head[4], int.from_bytes(head[5:9], "big") & 0x7FFFFFFF, payload
