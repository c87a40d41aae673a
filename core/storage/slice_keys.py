"""The slices of a partitioned tensor: their text form, and their keys.

Such a key sorts before every name: a zero, the name with its zeros escaped, the number of axes, and
for each axis the start and the length, in a signed form whose bytes sort as the numbers do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

WHOLE_AXIS = -1

_LONGEST = 10


def parse_slice(text: str) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
    """The shape of a whole tensor, and start and length of the part on each axis.

    Args:
        text: sizes, and then `start,length` or `-` for each axis between colons: `4 3 0,2:-`.

    Raises:
        ValueError: the text has another form, or the slice is out of bounds.
    """
    *sizes, last = text.split()
    shape = tuple(int(size) for size in sizes)
    box = []
    for size, axis in zip(shape, last.split(":"), strict=True):
        start, length = (0, size) if axis == "-" else map(int, axis.split(","))
        if not 0 <= start <= start + length <= size:
            raise ValueError(f"{start} and {length} are no part of {size}")
        box.append((start, length))
    return shape, tuple(box)


def slice_key(name: str, extents: Iterable[tuple[int, int]]) -> bytes:
    """The key of one part.

    Args:
        name: name of the whole tensor.
        extents: (start, length) of each axis; the length is `WHOLE_AXIS` where nothing is cut.
    """
    pairs = list(extents)
    out = bytearray(b"\0")
    out += name.encode().replace(b"\0", b"\0\xff")  # ff is escaped too; UTF-8 has none
    out += b"\0\x01"
    rank = len(pairs)
    width = (rank.bit_length() + 7) // 8
    out += bytes((width,)) + rank.to_bytes(width, "big")
    for start, length in pairs:
        out += _signed(start) + _signed(length)
    return bytes(out)


def _signed(value: int) -> bytes:
    """`value` in one byte for -64 to 63, and one more byte per seven further bits."""
    width = 1 + (value if value >= 0 else ~value).bit_length() // 7
    digits = bytearray(value.to_bytes(_LONGEST, "big", signed=True)[-width:])
    # The leading ones count the bytes; inverted for negative numbers, which sort first.
    header = ((1 << width) - 1) << (16 - width)
    digits[0] ^= header >> 8
    if width > 1:
        digits[1] ^= header & 0xFF
    return bytes(digits)
