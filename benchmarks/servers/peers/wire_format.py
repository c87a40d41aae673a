"""Protobuf's bytes, written by hand: what a benchmark's client and its bare peer send."""


def varint(number: int) -> bytes:
    """An integer."""
    found = b""
    while number > 127:
        found += bytes([number & 127 | 128])
        number >>= 7
    return found + bytes([number])


def field(number: int, data: bytes) -> bytes:
    """A field with a length."""
    return varint(number << 3 | 2) + varint(len(data)) + data
