"""Cases of core/ops/strings/encoding.py."""

import struct

import numpy as np
from hypothesis import strategies as st

from cases.strings.joining import Array, array_of, arrays_of, each
from pinnace.framework import dtypes
from support.opcase import OpCase

LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def encode(item: bytes) -> bytes:
    """RFC 4648, section 5, six bits at a time."""
    bits = "".join(f"{byte:08b}" for byte in item)
    groups = [bits[i : i + 6].ljust(6, "0") for i in range(0, len(bits), 6)]
    return bytes(LETTERS[int(group, 2)] for group in groups)


def decode(text: bytes) -> bytes:
    bits = "".join(f"{LETTERS.index(letter):06b}" for letter in text.rstrip(b"="))
    return bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits) - 7, 8))


def raw(x: Array) -> Array:
    return np.array([struct.unpack("<3h", item) for item in x], np.int16).reshape(-1, 3)


BYTES = st.binary(max_size=6)
RAW = st.lists(st.binary(min_size=6, max_size=6), min_size=1, max_size=3)

CASES = [
    OpCase("EncodeBase64", arrays_of(BYTES), each(encode)),
    OpCase("DecodeBase64", arrays_of(BYTES.map(encode)), each(decode)),
    OpCase(
        "DecodeRaw",
        RAW.map(lambda items: (array_of(items, (len(items),)),)),
        raw,
        attrs={"out_type": dtypes.int16},
    ),
]
