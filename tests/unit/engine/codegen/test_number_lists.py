"""Machine code parses numbers like a parser of doubles, or refuses."""

import json
import random
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.engine.codegen import kernels, number_lists

Read = Callable[[bytes], "tuple[np.ndarray[Any, Any], list[int]] | None"]


@pytest.fixture(scope="module")
def read() -> Read:
    function = kernels.function(number_lists.NAME)

    def reads(text: bytes) -> tuple[np.ndarray[Any, Any], list[int]] | None:
        """The numbers of a text that starts after a bracket; rows, width and end."""
        # The bytes around the text would change the result if they were read.
        whole = b"7" * 40 + text + b"7" * 40
        numbers, found = np.empty(len(text) + 1, np.float32), np.zeros(3, np.int64)
        view = np.frombuffer(whole, np.uint8)[40:-40]
        count = function(view, 0, numbers, found)
        return None if count < 0 else (numbers[:count].copy(), found.tolist())

    return reads


def bits(values: Any) -> list[int]:
    with np.errstate(over="ignore"):
        narrow = np.array(values, np.float64).astype(np.float32)
    return narrow.reshape(-1).view(np.uint32).tolist()  # type: ignore[no-any-return]


FLOAT32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
NUMBERS = st.one_of(
    FLOAT32.map(repr),
    FLOAT32.map(lambda x: str(np.float32(x))),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(-1e6, 1e6).map(repr),
    st.integers(-(10**19), 10**19).map(str),
    st.integers(-300, 300).map(str),
    st.builds("{:.{}f}".format, st.floats(-1e3, 1e3), st.integers(0, 26)),
    st.builds("{:.{}e}".format, st.floats(-1e12, 1e12), st.integers(0, 20)),
    st.sampled_from(["-0", "-0.0", "0", "0.0", "1E5", "2e+3", "-0e0", "16777217", "1e22", "1e-22"]),
)
COMMAS = st.sampled_from([",", ", ", " ,\t", ",\r\n  "])


@given(st.lists(NUMBERS, min_size=1, max_size=30), st.integers(1, 4), COMMAS, st.booleans())
def test_every_bit_is_that_of_a_parser_of_doubles(
    read: Read, texts: list[str], rows: int, comma: str, is_nested: bool
) -> None:
    row = comma.join(texts)
    text = comma.join([f"[{row}]"] * rows) if is_nested else row
    found = read(f"{text}] rest".encode())
    if found is None:
        return
    expected = json.loads(f"[{text}]")
    assert found[0].view(np.uint32).tolist() == bits(expected)
    assert (
        found[1] == [rows, len(texts), len(text) + 1]
        if is_nested
        else [
            len(texts),
            -1,
            len(text) + 1,
        ]
    )


def test_what_programs_write_is_read(read: Read) -> None:
    """Floats as written by Python, NumPy and browsers, and pixels."""
    drawn = random.Random(0)
    values = [drawn.uniform(-1, 1) * 10 ** drawn.randint(-25, 6) for _ in range(500)]
    values = [struct.unpack("f", struct.pack("f", value))[0] for value in values]
    shorter = [str(np.float32(value)) for value in values]
    for texts in ([repr(value) for value in values], shorter, [str(i) for i in range(256)]):
        found = read((", ".join(texts) + "]").encode())
        assert found is not None
        assert found[0].view(np.uint32).tolist() == bits([float(text) for text in texts])


def test_a_double_near_the_middle_between_two_floats_is_left_to_others(read: Read) -> None:
    """There, double rounding may give another float than one rounding: 1 + 2**-24 is a midpoint."""
    assert read(b"1.00000005960464477539]") is None
    assert read(b"0.99999997019767761]") is None
    found = read(b"1.000000059604648]")
    assert found is not None
    assert found[0][0] == np.nextafter(np.float32(1), np.float32(2))


NO_ROWS = [
    *("", "]", "1", "1,", "1,]", ",1]", "1 2]", "01]", "-]", "+1]", ".5]", "1.]", "1.e5]", "1e]"),
    *("1e+]", "1e1000]", "0x1]", "NaN]", "Infinity]", "true]", "null]", '"1"]', "{}]", "1}"),
    *("[]]", "[1]", "[1],]", "[1][2]]", "[1] 2]", "[1,2],[3]]", "[1],2]", "1,[2]]", "[[1]]]"),
    *("1,2,3", "[1,2", "00.5]", "1_0]", "1.5.5]", "--1]", "0.5", "[0.5", "1e5", "-", "- 1]"),
    *("123456789012345678901]", "0.1234567890123456789012345]", "1\x0b,2]", "1\xa0,2]", "\uff11]"),
]


@pytest.mark.parametrize("text", NO_ROWS)
def test_what_is_no_row_of_numbers_is_not_read(read: Read, text: str) -> None:
    assert read(text.encode()) is None
    # With enough bytes left, many digits are parsed at once.
    many = "0.25, " * 20
    behind = f"[{many}" + text[1:] if text.startswith("[") else many + text
    assert read(behind.encode()) is None


@given(st.text(alphabet='0123456789.,-+eE[] \n"x', max_size=60))
def test_what_is_read_is_json(read: Read, text: str) -> None:
    found = read(text.encode())
    if found is not None:
        numbers, (rows, width, end) = found
        value = json.loads("[" + text[:end])
        assert numbers.view(np.uint32).tolist() == bits(value)
        assert np.shape(value) == ((rows,) if width < 0 else (rows, width))


def test_there_may_be_more_numbers_than_room() -> None:
    function = kernels.function(number_lists.NAME)
    text = np.frombuffer(b"1,2,3,4]", np.uint8)
    found = np.zeros(3, np.int64)
    assert function(text, 0, np.empty(4, np.float32), found) == 4
    assert function(text, 0, np.empty(3, np.float32), found) == -1
