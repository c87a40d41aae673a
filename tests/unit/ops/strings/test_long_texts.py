"""Texts of a megabyte take time proportional to their length, with the same results."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.ops import strings
from pinnace.ops.strings import splitting
from pinnace.ops.strings.conversion import to_number
from pinnace.ops.strings.elements import map_numbers
from pinnace.ops.strings.splitting import decoded, parts_of

SPACE = b" \t\n\v\f\r"
PYTHONS = ("utf-8", "utf-16-be", "utf-32-be", "ascii", "latin-1")


def words_one_by_one(text: bytes, most: int) -> list[bytes]:
    """The words between white space, letter by letter; TensorFlow's rule for the rest."""
    parts: list[bytes] = []
    rest = text.lstrip(SPACE)
    while rest:
        end = next((i for i, byte in enumerate(rest) if byte in SPACE), len(rest))
        parts.append(rest[:end])
        rest = rest[end:].lstrip(SPACE)
        if most == len(parts):
            return [*parts, rest]
    return parts


@given(st.text("ab \t\v\n", max_size=12).map(str.encode), st.integers(-1, 5))
def test_words_are_those_between_white_space(text: bytes, most: int) -> None:
    expected = [text] if most == 0 else words_one_by_one(text, most)
    assert parts_of(text, b"", most) == expected


def decoded_one_by_one(
    text: bytes, encoding: str, errors: str, controls: bool
) -> tuple[list[int], list[int]]:
    """One character at a time, or Python's replacement of an invalid byte."""
    points, starts = [], []
    place = 0
    while place < len(text):
        for end in range(place + 1, min(place + 5, len(text) + 1)):
            try:
                point, wrong = ord(text[place:end].decode(encoding)), False
                break
            except UnicodeDecodeError:
                continue
        else:
            try:
                text[place:].decode(encoding)
            except UnicodeDecodeError as error:
                point, wrong, end = 0xFFFD, True, place + error.end
        wrong = wrong or (controls and point < 32)
        if not (wrong and errors == "ignore"):
            points.append(0xFFFD if wrong else point)
            starts.append(place)
        place = end
    return points, starts


@given(
    st.one_of(
        st.binary(max_size=12),
        st.text(max_size=6).map(str.encode),
        st.text(max_size=4).map(lambda text: text.encode("utf-16-be", "surrogatepass")),
        st.text(max_size=4).map(lambda text: text.encode("utf-32-be", "surrogatepass")),
    ),
    st.sampled_from(PYTHONS),
    st.sampled_from(["replace", "ignore"]),
    st.booleans(),
)
def test_decoding_at_once_is_decoding_one_by_one(
    text: bytes, encoding: str, errors: str, controls: bool
) -> None:
    points, starts = decoded(text, encoding, errors, 0xFFFD, controls)
    expected = decoded_one_by_one(text, encoding, errors, controls)
    assert (points.tolist(), starts.tolist()) == expected


class Copied(bytes):
    """Bytes that count how many of them are copied."""

    copied = 0

    def __getitem__(self, key: Any) -> Any:
        found = bytes.__getitem__(self, key)
        if isinstance(found, bytes):
            Copied.copied += len(found)
            return Copied(found)
        return found


LONG = 20_000
CALLS: dict[str, tuple[bytes, Callable[[Any], Any]]] = {
    "split": (b"a " * LONG, lambda x: parts_of(x, b"", -1)),
    "split at most": (b"a " * LONG, lambda x: parts_of(x, b"", LONG // 2)),
    "decode": (b"\xff" * LONG, lambda x: decoded(x, "utf-8", "replace", 0, False)),
    "decode UTF-16": (b"\xd8\x00" * LONG, lambda x: decoded(x, "utf-16-be", "ignore", 0, False)),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_long_text_is_copied_a_few_times_and_not_once_for_each_part(name: str) -> None:
    text, call = CALLS[name]
    Copied.copied = 0
    call(Copied(text))
    assert Copied.copied <= 4 * len(text)


def lines_run(call: Callable[[], Any]) -> int:
    """The number of Python lines that a call runs: work measured without a clock."""
    count = 0

    def trace(*_: Any) -> Any:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
def test_numbers_of_many_texts_are_made_in_pieces(dtype: str) -> None:
    texts = np.array([b"%d" % (i % 1000) for i in range(3 * splitting._PIECE + 7)], object)
    found = map_numbers(int, texts.reshape(1, -1), dtype)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, (np.arange(texts.size) % 1000).reshape(1, -1))


@given(
    text=st.text("aab ,\t\n", max_size=60).map(str.encode),
    separator=st.sampled_from([b"", b",", b"aa", b"ab", b"aba"]),
    size=st.integers(1, 9),
)
def test_a_long_text_is_cut_in_pieces_as_it_is_at_once(
    text: bytes, separator: bytes, size: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(splitting, "_PIECE", size)
        assert parts_of(text, separator, -1) == text.split(separator or None)


def test_parts_of_one_text_look_at_it_once() -> None:
    # One text, many positions: each position alone would count the text's characters again.
    text = np.array("aß".encode() * 500, object)
    places = np.arange(400, dtype=np.int32)

    def work(count: int) -> int:
        few = places[:count]
        return lines_run(lambda: strings.substr(text, few, np.ones_like(few), "UTF8_CHAR"))

    work(10)
    one, all_ = work(100), work(400)
    assert all_ <= 6 * one
    found = strings.substr(text, places, np.ones_like(places), "UTF8_CHAR").numpy()
    assert found[:3].tolist() == [b"a", "ß".encode(), b"a"]


@pytest.mark.parametrize(
    "text", [b"1" * 50_000 + b"x", b"0" * 50_000 + b"x", b"1." + b"1" * 50_000 + b"e"]
)
@pytest.mark.parametrize("kind", ["float32", "int32"])
def test_a_long_number_that_is_none_is_refused_in_a_short_message(text: bytes, kind: str) -> None:
    with pytest.raises(Exception, match="StringToNumber") as caught:
        to_number(np.array(text, object), kind)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(("text", "number"), [(b"0" * 5000 + b"7", 7), (b"-" + b"0" * 9000, 0)])
def test_zeros_in_front_do_not_count(text: bytes, number: int) -> None:
    assert to_number(np.array(text, object), "int64").numpy() == number


def test_a_number_beyond_all_types_is_refused() -> None:
    with pytest.raises(Exception, match="StringToNumber: a string must be a number of type int64"):
        to_number(np.array(b"9" * 10_000, object), "int64")
