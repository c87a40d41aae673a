"""Threefry against the published vectors."""

import numpy as np
import pytest

from pinnace.ops.kernels.threefry import threefry2x32, words


@pytest.mark.parametrize(
    ("key", "counter", "expected"),
    [  # Random123 1.14, tests/kat_vectors, threefry2x32 20
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_published_vectors(
    key: tuple[int, int], counter: tuple[int, int], expected: tuple[int, int]
) -> None:
    a, b = threefry2x32(key, np.array([counter[0]], np.uint32), np.array([counter[1]], np.uint32))
    assert (int(a[0]), int(b[0])) == expected
    assert words(key, counter[1] << 32 | counter[0], 2).tolist() == list(expected)


def test_any_part_of_a_stream_is_that_part() -> None:
    start = 2**32 - 5  # the low word overflows
    whole = words((3, 4), start, 41)
    np.testing.assert_array_equal(whole[14:], words((3, 4), start + 7, 27))
