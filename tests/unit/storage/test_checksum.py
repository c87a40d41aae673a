import mmap

import numpy as np
import pytest

from pinnace.storage.checksum import BytesLike, crc32c, mask, masked_crc32c

# RFC 3720, B.4
KNOWN = [
    (bytes(32), 0x8A9136AA),
    (b"\xff" * 32, 0x62A8AB43),
    (bytes(range(32)), 0x46DD794E),
    (b"123456789", 0xE3069283),
    (b"", 0),
]


@pytest.mark.parametrize(("data", "crc"), KNOWN)
def test_crc32c_has_the_published_values(data: bytes, crc: int) -> None:
    assert crc32c(data) == crc


def test_every_kind_of_buffer_has_the_same_checksum() -> None:
    data = b"123456789"
    mapped = mmap.mmap(-1, len(data))
    mapped[:] = data
    kinds: list[BytesLike] = [
        data,
        bytearray(data),
        memoryview(data),
        memoryview(bytearray(data)),
        np.frombuffer(data, np.uint8),
        np.frombuffer(bytearray(data), np.uint8),
        mapped,
    ]
    assert {crc32c(kind) for kind in kinds} == {0xE3069283}


def test_a_checksum_continues() -> None:
    assert crc32c(b"56789", crc32c(b"1234")) == 0xE3069283
    assert crc32c(bytearray(), 7) == 7


def test_the_mask_rotates_and_adds() -> None:
    assert mask(0) == 0xA282EAD8
    assert masked_crc32c(b"") == 0xA282EAD8
    assert mask(0xFFFFFFFF) == 0xA282EAD7
