"""String ops against Python's functions, published vectors and TensorFlow's documentation."""

import base64
import random
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.ops import strings
from pinnace.ops.execute import execute
from pinnace.ops.kernels.fingerprints import farm64, sip64
from pinnace.ops.registry import lookup
from pinnace.ops.strings.patterns import compiled


def _op(name: str, *arguments: Any, **attrs: Any) -> Any:
    return execute(lookup(name), *arguments, **attrs)


def _list(x: Any) -> Any:
    return x.numpy().tolist()


# Joining.


def test_join() -> None:
    assert _list(strings.join(["a", ["b", "c"], "d"], "-")) == [b"a-b-d", b"a-c-d"]
    assert strings.join(["a", "b"]).numpy() == b"ab"
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="StringJoin: all inputs must have one"
    ):
        strings.join([["a"], ["b", "c"]])


def test_reduce_join() -> None:
    x = [["a", "b"], ["c", "d"]]
    assert _list(strings.reduce_join(x, 0)) == [b"ac", b"bd"]
    assert _list(strings.reduce_join(x, -1, separator=".")) == [b"a.b", b"c.d"]
    assert _list(strings.reduce_join(x, 0, keepdims=True)) == [[b"ac", b"bd"]]
    assert strings.reduce_join(x, [0, 1]).numpy() == b"acbd"
    assert strings.reduce_join(x, [1, 0]).numpy() == b"abcd"
    assert strings.reduce_join(x).numpy() == b"abcd"
    assert _list(strings.reduce_join(np.empty((2, 0), object), 1)) == [b"", b""]


def test_substr_of_a_negative_length() -> None:
    # For bytes the rest; for characters nothing.
    assert strings.substr("abcd", 1, -2).numpy() == b"bcd"
    assert strings.substr("abcd", -2, -1).numpy() == b"cd"
    assert strings.substr("äbcd", 1, -2, unit="UTF8_CHAR").numpy() == b""


# Patterns: RE2's meaning where Python's differs.


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("a$", "a\n", False),
        (r"a\z", "a", True),
        (r"[[:alpha:]_]+", "ab_", True),
        (r"[[:alpha:]_]+", "ab1", False),
        (r"\d+", "١", False),  # noqa: RUF001 (an Arabic digit: RE2's classes are ASCII)
        (r"\pL+", "ß", True),
        (r"\p{Lu}", "a", False),
        (r"\P{Lu}", "a", True),
        (r"[^\p{Lu}]", "A", False),
        (r".", "ß", True),
        (r"\Qa.b\E", "a.b", True),
        (r"\Qa.b\E", "acb", False),
        (r"a(?i)b", "aB", True),
        (r"\x{41}", "A", True),
        (r"[]a]", "]", True),
        (r"[a[]", "[", True),
        (r"\s", "\v", False),
        (r"(?P<name>x)y", "xy", True),
    ],
)
def test_full_match_means_what_re2_means(pattern: str, text: str, matches: bool) -> None:
    assert bool(strings.regex_full_match(text, pattern)) is matches
    assert bool(strings.regex_full_match(text, tf.constant(pattern))) is matches


@pytest.mark.parametrize(
    ("text", "pattern", "rewrite", "expected"),
    [
        ("abxd", "x*", "-", "-a-b-d-"),  # Python's re.sub gives -a-b--d-
        ("aaa", "a", "b", "bbb"),
        ("john smith", r"(\w+) (\w+)", r"\2, \1", "smith, john"),
        ("abc", "b", r"[\0\\]", "a[b\\]c"),
        ("ßß", "ß", "s", "ss"),
        ("abc", "z", "y", "abc"),
    ],
)
def test_replace(text: str, pattern: str, rewrite: str, expected: str) -> None:
    assert strings.regex_replace(text, pattern, rewrite).numpy().decode() == expected
    moved = strings.regex_replace(text, tf.constant(pattern), rewrite)
    assert moved.numpy().decode() == expected


def test_replace_the_first_only() -> None:
    assert strings.regex_replace("aaa", "a", "b", replace_global=False).numpy() == b"baa"


def test_bytes_that_are_no_text_survive() -> None:
    assert strings.regex_replace(b"\xff-a", "a", "b").numpy() == b"\xff-b"


@given(st.text("ab\n^$.", max_size=8))
def test_plain_expressions_are_pythons(text: str) -> None:
    for pattern in ("a+b?", "(a|b)*", "[^a]", "^a.b"):
        expected = re.sub(pattern, "<>", text, flags=re.ASCII)
        if pattern != "(a|b)*":
            assert strings.regex_replace(text, pattern, "<>").numpy().decode() == expected
        whole = re.fullmatch(pattern, text) is not None
        assert bool(strings.regex_full_match(text, pattern)) is whole


@pytest.mark.parametrize("pattern", ["(", "[a", r"a\8", r"(?=a)", r"\p{Nobody}", "[[:nothing:]]"])
def test_no_expression(pattern: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid pattern"):
        compiled("RegexFullMatch", pattern)


@pytest.mark.parametrize(
    ("text", "pattern", "rewrite", "expected"),
    [
        # Results of TensorFlow 2.21.
        (b"\xff-a\xc3", "", "-", b"-\xff---a-\xc3-"),
        ("ßa€".encode(), "", "-", "-ß-a-€-".encode()),
        (b"\xf5\x80\x80\x80", "", "-", b"-\xf5-\x80-\x80-\x80-"),
        (b"\xed\xa0\x80x", "", "-", b"-\xed\xa0\x80-x-"),
        (b"\xe2\x82", "x*", "-", b"-\xe2-\x82-"),
        (b"\xff\xffa", "[^a]", "-", b"\xff\xffa"),
        (b"caab", "(?U)a+", "x", b"cxxb"),
    ],
)
def test_empty_matches_and_bytes_that_are_no_text(
    text: bytes, pattern: str, rewrite: str, expected: bytes
) -> None:
    assert strings.regex_replace(text, pattern, rewrite).numpy() == expected


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(a*)*b", r"(?:a+){1,9}$", r"\s+$"])
def test_expressions_that_others_try_exponentially_often_end(pattern: str) -> None:
    # With backtracking this would take longer than the age of the universe.
    text = b"a" * 40_000 + b" " * 40_000 + b"!"
    assert not bool(strings.regex_full_match(text, pattern))
    assert strings.regex_replace(text, pattern, "-").numpy() == text


SETS = st.one_of(
    st.sampled_from(
        ["[a-c]", "[ab-]", r"[\d]", r"[\]\-a]", "[!-/]", r"[\s\w]", "[a]", "[]a]", "[^a]"]
    ),
    st.text("ab-^]\\ds", min_size=1, max_size=5).map(lambda inner: f"[{inner}]"),
)


@given(
    st.lists(st.binary(max_size=6) | st.text("ab-1 ]ß", max_size=6).map(str.encode), max_size=3),
    SETS,
    st.sampled_from(["", "-", "<>", "a", "ß", "\\\\"]),
)
def test_a_set_of_characters_is_replaced_as_by_a_group_of_it(
    items: list[bytes], pattern: str, rewrite: str
) -> None:
    """One has a fast path, the other goes from match to match."""
    x = np.array([*items, b""], object)
    try:
        expected = _list(strings.regex_replace(x, f"({pattern})", rewrite))
    except tf.errors.InvalidArgumentError:
        with pytest.raises(tf.errors.InvalidArgumentError):
            strings.regex_replace(x, pattern, rewrite)
    else:
        assert _list(strings.regex_replace(x, pattern, rewrite)) == expected


def test_expressions_of_requests_do_not_pile_up() -> None:
    for number in range(200):
        strings.regex_full_match("a", f"a{number}")
    assert compiled.cache_info().currsize <= compiled.cache_info().maxsize <= 64


def test_a_rewrite_names_groups_that_there_are() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="names group 2, pattern has 1"):
        strings.regex_replace("a", "(a)", r"\2")


# Conversion.


@pytest.mark.parametrize(
    ("value", "options", "expected"),
    [
        (np.int32([-3, 42]), {}, [b"-3", b"42"]),
        (np.int64([7]), {"width": 3, "fill": "0"}, [b"007"]),
        (np.int32([7]), {"width": 3}, [b"  7"]),
        (np.int32([7]), {"width": 3, "fill": "-"}, [b"7  "]),
        (np.float32([3.1415926]), {}, [b"3.141593"]),
        (np.float64([3.1415926, np.inf]), {"precision": 2}, [b"3.14", b"inf"]),
        (np.float32([1234.5]), {"scientific": True}, [b"1.234500e+03"]),
        (np.float32([0.5]), {"shortest": True}, [b"0.5"]),
        (np.bool_([True, False]), {}, [b"true", b"false"]),
        (np.complex64([1 + 2j]), {"shortest": True}, [b"(1,2)"]),
    ],
)
def test_as_string(value: Any, options: dict[str, Any], expected: list[bytes]) -> None:
    assert _list(strings.as_string(value, **options)) == expected


def test_as_string_refuses_formats_that_the_dtype_lacks() -> None:
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="precision not supported for datatype int32"
    ):
        strings.as_string(1, precision=2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="fill must be"):
        strings.as_string(1, fill="*")


@given(st.lists(st.integers(-(2**31), 2**31 - 1)))
def test_integers_survive_both_ways(numbers: list[int]) -> None:
    x = np.array(numbers, np.int32)
    np.testing.assert_array_equal(strings.to_number(strings.as_string(x), tf.int32).numpy(), x)


@given(st.lists(st.floats(allow_nan=False)))
def test_floats_are_read_in_full(numbers: list[float]) -> None:
    texts = np.array([repr(x).encode() for x in numbers], object)
    np.testing.assert_array_equal(strings.to_number(texts, tf.float64).numpy(), numbers)


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("1_0", "float32"),
        ("", "int32"),
        ("1.5", "int32"),
        ("3000000000", "int32"),
        ("a", "float64"),
    ],
)
def test_no_number(text: str, dtype: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"number of type {dtype}, got"):
        strings.to_number(text, tf.as_dtype(dtype) if hasattr(tf, "as_dtype") else dtype)


def test_letters() -> None:
    assert _list(strings.lower(["ABC", "Ä"])) == [b"abc", "Ä".encode()]
    assert strings.lower("Ä", "utf-8").numpy() == "ä".encode()
    assert strings.upper("aä").numpy() == "Aä".encode()
    assert strings.upper("aä", "utf-8").numpy() == "AÄ".encode()
    assert _list(strings.strip([" \t a b\n"])) == [b"a b"]
    assert _list(strings.length(["aä", ""])) == [3, 0]
    assert _list(strings.length(["aä", ""], "UTF8_CHAR")) == [2, 0]


def test_substr() -> None:
    assert _list(strings.substr([["ten", "eleven"]], 1, 3)) == [[b"en", b"lev"]]
    assert _list(strings.substr(["hello"], -3, 2)) == [b"ll"]
    assert _list(strings.substr(["thirteen"], [1, 2], [2, 9])) == [b"hi", b"irteen"]
    assert _list(strings.substr(["aäö"], 1, 1, "UTF8_CHAR")) == ["ä".encode()]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"pos 2 out of range .* index 1"):
        strings.substr(["abc", "a"], 2, 1)


@given(st.lists(st.binary()), st.booleans())
def test_base64(items: list[bytes], pad: bool) -> None:
    x = np.array([*items, b""], object)
    encoded = strings.encode_base64(x, pad)
    for item, text in zip(x, _list(encoded), strict=True):
        expected = base64.urlsafe_b64encode(item)
        assert text == (expected if pad else expected.rstrip(b"="))
    assert _list(strings.decode_base64(encoded)) == list(x)


@pytest.mark.parametrize("text", ["a+b=", "a", "a b="])
def test_no_base64(text: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="DecodeBase64"):
        strings.decode_base64(text)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("little", [True, False])
def test_decode_raw(dtype: str, little: bool) -> None:
    x = np.arange(6).reshape(2, 3).astype(dtype)
    rows = [row.astype(x.dtype.newbyteorder("<" if little else ">")).tobytes() for row in x]
    found = strings.decode_raw(rows, dtype, little_endian=little)
    np.testing.assert_array_equal(found.numpy(), x)


def test_decode_raw_refuses_ragged_bytes() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"one length, got \[1, 2\] bytes"):
        strings.decode_raw(["a", "ab"], tf.uint8)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"4 bytes \(float32\), got 3 bytes"):
        strings.decode_raw("abc", tf.float32)


# Hashing.


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        # TensorFlow, string_to_hash_bucket_op_test.py
        (b"a", 12917804110809363939),
        (b"b", 11795596070477164822),
        (b"c", 11430444447143000872),
        (b"d", 4470636696479570465),
        # BigQuery's documentation of FARM_FINGERPRINT
        (b"1footrue", -1541654101129638711),
        (b"3true", -4880158226897771312),
        (b"2applefalse", 2794438866806483259),
        # Guava's FarmHashFingerprint64: up to 32 bytes, and more than 64
        (b"test", 8581389452482819506),
        (b"test" * 8, -4196240717365766262),
        (b"test" * 64, 3500507768004279527),
        # Airship's tests: up to 64 bytes, and none
        (b"F7479877-4690-4A44-AFC9-8FE987EA512F:some_other_id", 6862335115798125349),
        (b"", 11160318154034397263),
    ],
)
def test_fingerprint(data: bytes, expected: int) -> None:
    assert farm64(data) == expected % 2**64


def test_siphash_of_the_paper() -> None:
    # Aumasson and Bernstein, appendix A.
    key = (0x0706050403020100, 0x0F0E0D0C0B0A0908)
    assert sip64(bytes(range(15)), key) == 0xA129CA6149BE45E5


def test_buckets() -> None:
    assert _list(strings.to_hash_bucket_fast(["a", "b", "c", "d"], 10)) == [9, 2, 2, 5]
    # TensorFlow, string_to_hash_bucket_op_test.py
    assert _list(strings.to_hash_bucket_strong(["a", "b", "c"], 10, [98765, 132])) == [4, 2, 8]
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="num_buckets must be at least 1, got 0"
    ):
        strings.to_hash_bucket_fast("a", 0)


# Splitting.


@given(st.lists(st.text("ab, ", max_size=6), max_size=4), st.sampled_from([",", "", ", "]))
def test_split(texts: list[str], separator: str) -> None:
    x = np.array([text.encode() for text in texts], object)
    indices, values, shape = _op("StringSplitV2", x, separator)
    rows: list[list[bytes]] = [[] for _ in texts]
    for (row, _), value in zip(_list(indices), _list(values), strict=True):
        rows[row].append(value)
    expected = [text.split(separator or None) for text in texts]
    assert [[part.decode() for part in row] for row in rows] == expected
    assert _list(shape) == [len(texts), max(map(len, expected), default=0)]


def test_split_at_most() -> None:
    assert _list(_op("StringSplitV2", ["a,b,c"], ",", maxsplit=1)[1]) == [b"a", b"b,c"]
    assert _list(_op("StringSplitV2", [" a b c"], "", maxsplit=1)[1]) == [b"a", b"b c"]


@given(st.lists(st.text(max_size=5), max_size=3), st.sampled_from(["utf-8", "utf-16-be"]))
def test_unicode_decode(texts: list[str], encoding: str) -> None:
    x = np.array([text.encode(encoding, "surrogatepass") for text in texts], object)
    if any(0xD800 <= ord(char) < 0xE000 for text in texts for char in text):
        return
    splits, points, starts = _op("UnicodeDecodeWithOffsets", x, input_encoding=encoding.upper())
    assert _list(points) == [ord(char) for text in texts for char in text]
    assert _list(splits) == np.cumsum([0, *map(len, texts)]).tolist()
    expected = [len(text[:i].encode(encoding)) for text in texts for i in range(len(text))]
    assert _list(starts) == expected


def test_unicode_decode_of_what_is_none() -> None:
    x = [b"a\xffb\xe2\x82"]
    _, points, starts = _op("UnicodeDecodeWithOffsets", x, input_encoding="UTF-8")
    assert _list(points) == [97, 65533, 98, 65533]
    assert _list(starts) == [0, 1, 2, 3]
    _, points = _op("UnicodeDecode", x, input_encoding="UTF-8", errors="ignore")
    assert _list(points) == [97, 98]
    with pytest.raises(tf.errors.InvalidArgumentError, match="at byte 1"):
        _op("UnicodeDecode", x, input_encoding="UTF-8", errors="strict")


def test_traced_is_eager() -> None:
    @tf.function
    def f(x: Any) -> Any:
        return (
            strings.join([strings.lower(x), strings.as_string(strings.length(x))], ":"),
            strings.regex_replace(x, "A", "b"),
            strings.to_hash_bucket_fast(x, 7),
        )

    rng = random.Random(3)
    x = tf.constant([bytes(rng.choices(b"AbC", k=4)) for _ in range(5)])
    joined, replaced, buckets = f(x)
    assert _list(joined) == [item.lower() + b":4" for item in _list(x)]
    assert _list(replaced) == [item.replace(b"A", b"b") for item in _list(x)]
    assert _list(buckets) == [farm64(item) % 7 for item in _list(x)]


def test_control_characters_are_those_below_the_space() -> None:
    every = bytes(range(128))
    found = tf.strings.unicode_transcode(
        every, "UTF-8", "UTF-8", replacement_char=ord("?"), replace_control_characters=True
    )
    assert found == b"?" * 32 + every[32:]


def test_strict_transcoding_refuses_control_characters_and_strict_decoding_replaces_them() -> None:
    # As in TensorFlow's kernels.
    options: dict[str, Any] = {"errors": "strict", "replace_control_characters": True}
    for text in (b"a\x1fb", b"\x00"):
        with pytest.raises(tf.errors.InvalidArgumentError, match="a control character in"):
            tf.strings.unicode_transcode(text, "UTF-8", "UTF-16-BE", **options)
    assert tf.strings.unicode_transcode(b"a b\x7f", "UTF-8", "UTF-8", **options) == b"a b\x7f"
    found = tf.strings.unicode_decode(b"a\x1fb", "UTF-8", replacement_char=ord("?"), **options)
    assert found.numpy().tolist() == [*b"a?b"]


@pytest.mark.parametrize(
    ("encoding", "controls", "none"),
    [  # as in TensorFlow 2.21, byte by byte
        ("windows-1250", "81 83 88 90 98", ""),
        ("windows-1251", "98", ""),
        ("windows-1252", "81 8d 8f 90 9d", ""),
        ("windows-1253", "81 88 8a 8c 8d 8e 8f 90 98 9a 9c 9d 9e 9f aa", "d2 ff"),
        ("windows-1255", "81 8a 8c 8d 8e 8f 90 9a 9c 9d 9e 9f", "ca d9 da db fb fc ff"),
        ("windows-1257", "81 83 88 8a 8c 90 98 9a 9c 9f", "a1 a5"),
    ],
)
def test_places_that_windows_pages_leave_open_are_as_icu_has_them(
    encoding: str, controls: str, none: str
) -> None:
    one, other = bytes.fromhex(controls), bytes.fromhex(none)
    splits, points, starts = tf.raw_ops.UnicodeDecodeWithOffsets(
        input=[one, other], input_encoding=encoding
    )
    assert splits.numpy().tolist() == [0, len(one), len(one) + len(other)]
    assert points.numpy().tolist() == [*one, *[0xFFFD] * len(other)]
    assert starts.numpy().tolist() == [*range(len(one)), *range(len(other))]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0x10", 16.0),
        (" -0X1.8p1 ", -3.0),
        ("0x.8", 0.5),
        ("+0x1e3", 483.0),
        ("0x1p-3", 0.125),
        ("0x1p2000", np.inf),
        ("-0x1p2000", -np.inf),
        ("0x1p-2000", 0.0),
    ],
)
@pytest.mark.parametrize("dtype", [tf.float32, tf.float64])
def test_hexadecimal_floats_are_numbers(text: str, value: float, dtype: Any) -> None:
    found = strings.to_number(["1", text], dtype)
    assert found.numpy().tolist() == [1.0, value]
    with pytest.raises(ValueError, match="must be a number of type int32"):
        strings.to_number(text, tf.int32)
