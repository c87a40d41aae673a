"""Texts parsed in pieces, compared with the same texts parsed as a whole by orjson and json."""

import json
import random
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.framework.errors import InvalidArgumentError
from pinnace.serving.http import json_pieces
from pinnace.serving.http.json_pieces import drop_items, is_long
from pinnace.serving.http.json_text import parse_json, parse_json_tolerantly


@contextmanager
def sizes(small: int, piece: int, block: int) -> Iterator[None]:
    """Texts of at least `small` bytes are parsed in pieces of about `piece` bytes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_pieces, "_SMALL_BYTES", small)
        patch.setattr(json_pieces, "_FEW_TOKENS", -1)
        patch.setattr(json_pieces, "_PIECE_BYTES", piece)
        patch.setattr(json_pieces, "_BLOCK_BYTES", block)
        yield


texts = st.text(st.sampled_from('ab"\\,[]{}: \né😀'), max_size=8)
numbers = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
    max_leaves=40,
)
pieces = st.integers(1, 40)
blocks = st.integers(1, 40)


@given(st.lists(values) | st.dictionaries(texts, values), pieces, blocks, st.booleans())
def test_pieces_say_what_the_whole_says(
    value: object, piece: int, block: int, is_spaced: bool
) -> None:
    text = json.dumps(value, indent=1).encode() if is_spaced else orjson.dumps(value)
    with sizes(-1, piece, block):
        assert is_long(text)
        assert parse_json(text) == parse_json_tolerantly(text) == value
        assert parse_json(b" \n" + text + b" trailing ]}") == value


SLIPS = (b"", b",", b"[", b"]", b"{", b"}", b'"', b"\\", b":", b" ", b"NaN", b"Inf", b"x", b"\xff")


@given(values, pieces, blocks, st.randoms(use_true_random=False))
def test_damaged_texts_are_refused_in_pieces_as_they_are_as_a_whole(
    value: object, piece: int, block: int, draw: random.Random
) -> None:
    damaged = bytearray(orjson.dumps([value, {"a": value}]))
    for _ in range(draw.randint(1, 3)):
        at = draw.randrange(len(damaged))
        damaged[at : at + draw.randint(0, 2)] = draw.choice(SLIPS)
        damaged = damaged or bytearray(b" ")
    text = bytes(damaged)
    whole = read(text)
    with sizes(-1, piece, block):
        in_pieces = read(text)
    if repeats_key(text):  # the parser of the piece determines which one counts
        assert (in_pieces == "refused") == (whole == "refused")
    else:
        assert in_pieces == whole


def read(text: bytes) -> str:
    """The value of a text, with NaN equal to itself."""
    try:
        return json.dumps(parse_json(text), sort_keys=True)
    except InvalidArgumentError:
        return "refused"


def repeats_key(text: bytes) -> bool:
    """Whether an object of a text has a repeated key."""
    found = []

    def look(pairs: list[tuple[str, object]]) -> None:
        found.append(len(dict(pairs)) < len(pairs))

    with suppress(ValueError):
        json.JSONDecoder(object_pairs_hook=look).raw_decode(
            text.decode().replace("Inf", "0").strip()
        )
    return any(found)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"[1, 2, 3,]", "Invalid value. at offset: 9"),
        (b"[1, , 3]", "Invalid value."),
        (b"[,]", "Invalid value. at offset: 1"),
        (b'{"a": [1, 2}', "1 brackets are never closed at offset: 12"),
        (b'{"a": [1, 2}}', "Expecting"),
        (b"[[1, 2, 3][4, 5, 6]]", "Expecting ',' delimiter at offset: 10"),
        (b"[1, 2, 3}", r"Expecting '\]' at offset: 8"),
        (b'[1, 2, "abc]', "Unterminated string"),
        (b"[1, [2, 3]", "1 brackets are never closed at offset: 10"),
        (b"[1, 2, \xff]", r"Invalid UTF-8, .* at offset: 7"),
        (b"[1, 2, 3] \xff", r"Invalid UTF-8, .* at offset: 10"),
        (b"[1, 2, 1e999]", "too big"),
    ],
)
def test_errors_say_where(body: bytes, message: str) -> None:
    with sizes(-1, 1, 4), pytest.raises(InvalidArgumentError, match=message):
        parse_json(body)


def test_of_equal_keys_in_several_pieces_the_first_counts_for_the_tolerant_parser() -> None:
    text = b'{"a": 1, "b": 2, "a": 3, "c": 4, "b": 5}'
    with sizes(-1, 4, 16):
        assert parse_json_tolerantly(text) == {"a": 1, "b": 2, "c": 4}
        assert parse_json(text) == {"a": 3, "b": 5, "c": 4}


def test_other_threads_run_while_a_megabyte_is_read() -> None:
    text = b'{"instances":[' + b",".join([b"{}"] * 340_000) + b"]}"
    turns = 0
    is_over = False

    def count() -> None:
        nonlocal turns
        while not is_over:
            turns += 1
            time.sleep(0)

    other = threading.Thread(target=count)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)  # as in the server
    other.start()
    try:
        before = turns
        value = parse_json(text)
        while_read = turns - before
    finally:
        is_over = True
        other.join()
        sys.setswitchinterval(interval)
    assert value == {"instances": [{}] * 340_000}
    assert while_read > 5  # a single call of orjson would let none run


def test_dropping_empties_long_lists() -> None:
    rows = [[i] for i in range(20_000)]
    value = {"instances": rows, "other": [[1] * 9000, "x"]}
    drop_items(value)  # type: ignore[arg-type]
    assert len(rows) <= json_pieces.PIECE_ITEMS
    assert all(len(part) <= json_pieces.PIECE_ITEMS for part in value["other"])
