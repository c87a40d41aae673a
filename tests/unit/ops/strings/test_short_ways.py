"""Faster ways for plain strings give what the general ways give: values are TensorFlow's."""

import random
import zlib
from typing import Any

import numpy as np
import pytest

import pinnace as pn
from pinnace.ops.strings import patterns

_TEXTS = [b"", b"Hello, World!", b"h\xc3\xa9llo", b"\xff\xfea\xc3"]


def _many(count: int = 4000) -> list[bytes]:
    """Texts of 0 to 200 bytes: any bytes, printable ones, UTF-8, and UTF-8 with an invalid end."""
    draw = random.Random(1)
    scripts = [(1, 0x80), (0x80, 0x800), (0x800, 0xD800), (0x10000, 0x110000)]
    ends = [b"\xff", b"\xe2\x82", b"\xed\xa0\x80", b"\x00", b"", b"\xf4\x90\x80\x80", b"\xc0\x80"]
    texts = []
    for kind in range(count):
        size = draw.choice([draw.randrange(8), draw.randrange(40), draw.randrange(201)])
        if kind % 4 == 0:
            texts.append(draw.randbytes(size))
        elif kind % 4 == 1:
            texts.append(bytes(draw.randrange(32, 127) for _ in range(size)))
        elif kind % 4 == 2:
            letters = [chr(draw.randrange(*draw.choice(scripts))) for _ in range(size // 4)]
            texts.append("".join(letters).encode())
        else:
            letters = [chr(draw.randrange(97, 260)) for _ in range(size // 2)]
            texts.append("".join(letters).encode() + draw.choice(ends))
    return texts


def _checksum(x: Any) -> int:
    """Of numbers as int64, of strings one after another with their lengths."""
    found = np.asarray(x)
    if found.dtype == object:
        flat = found.reshape(-1).tolist()
        return zlib.crc32(b"".join(flat)) ^ zlib.crc32(np.array([*map(len, flat)], "<i8").tobytes())
    return zlib.crc32(found.astype("<i8").tobytes())


def test_buckets_of_many() -> None:
    """TensorFlow 2.21's: this test with `tensorflow` for `pinnace` printed these checksums."""
    texts, buckets = _many(), 2**62 + 1
    found = pn.strings.to_hash_bucket_fast(texts, buckets)
    assert _checksum(found) == 513999466
    assert (
        _checksum(pn.strings.to_hash_bucket_strong(texts, buckets, [-5, 2**63 - 1])) == 3974374566
    )
    assert _checksum(pn.strings.to_hash_bucket(texts, buckets)) == 2107323721
    prints = pn.raw_ops.Fingerprint(data=texts, method="farmhash64")
    assert _checksum(prints) == 1760360263
    pairs = pn.raw_ops.Fingerprint(data=pn.reshape(texts, [-1, 2]), method="farmhash64")
    assert _checksum(pairs) == 2808119761
    one_by_one = [pn.strings.to_hash_bucket_fast(text, buckets).numpy() for text in texts[:200]]
    assert one_by_one == found.numpy().tolist()[:200]


@pytest.mark.parametrize(
    ("texts", "sums"),
    [
        pytest.param(
            _many(), (2221080610, 1167669381, 3670030962, 3573668715, 3487967493), id="some invalid"
        ),
        pytest.param(
            _many()[1::4] + _many()[2::4],
            (1870660531, 2107218287, 3051733681, 3468138013, 1761725380),
            id="valid",
        ),
    ],
)
def test_characters_of_many(texts: list[bytes], sums: tuple[int, ...]) -> None:
    """The checksums are TensorFlow 2.21's, of the same calls."""
    points, starts = pn.strings.unicode_decode_with_offsets(texts, "UTF-8")
    letters = pn.strings.unicode_split(texts, "UTF-8")
    whole = pn.strings.unicode_encode(points, "UTF-16-BE")
    found = (points.row_splits, points.flat_values, starts.flat_values, letters.flat_values, whole)
    assert tuple(map(_checksum, found)) == sums


def test_a_character_does_not_go_on_in_the_next_text() -> None:
    points = pn.strings.unicode_decode([b"\xc3", b"\xa9", b"", b"a"], "UTF-8")
    assert points.to_list() == [[0xFFFD], [0xFFFD], [], [97]]


def test_texts_of_many_numbers() -> None:
    """The checksums are TensorFlow 2.21's, of the same calls."""
    draw = random.Random(5)
    integers = [draw.randrange(-(2**63), 2**63) >> draw.randrange(64) for _ in range(3000)]
    floats = [draw.gauss(0, 1) * 10.0 ** draw.randrange(-20, 20) for _ in range(3000)]
    floats += [float("inf"), float("-inf"), float("nan"), -0.0]
    texts = [
        pn.strings.as_string(pn.constant(integers, pn.int64)),
        pn.strings.as_string(pn.constant(integers, pn.int64), width=12, fill="0"),
        pn.strings.as_string(pn.constant(floats, pn.float64)),
        pn.strings.as_string(pn.constant(floats, pn.float32), width=9, fill="-", precision=3),
        pn.strings.as_string(pn.constant(floats, pn.float32), shortest=True),
    ]
    assert [_checksum(x) for x in texts] == [26989009, 1261765392, 1603568097, 985472813, 369837292]


def test_texts_that_c_does_not_fill() -> None:
    # Source: TensorFlow 2.21.
    values = pn.constant([1.5, float("-inf"), float("nan")])
    found = pn.strings.as_string(values, width=9, fill="0")
    assert found.numpy().tolist() == [b"01.500000", b"     -inf", b"      nan"]
    found = pn.strings.as_string(pn.cast(values[:2], "complex64"), width=5, precision=1, fill="0")
    assert found.numpy().tolist() == [b"(001.5,000.0)", b"( -inf,000.0)"]
    assert pn.strings.as_string(pn.constant([7], pn.uint8), fill="+").numpy() == [b"7"]


@pytest.mark.parametrize(
    ("pattern", "matches", "checksum"),
    [
        ("[A-Z].*[0-9]", 50, 458980576),
        ("^[a-z]+$", 1435, 2528386443),
        (r"\d+-\d+", 1, 3202611875),
        (r"\w+@\w+\.com", 1, 2460740404),
        (r"\s*\w+\s*", 2395, 2703171450),
        (".", 666, 4248969269),
        ("a*b*c+", 249, 2521756955),
        ("[^a-z]*", 1322, 221451835),
        ("", 710, 2011177520),
        ("a.c", 26, 836507327),
        (r"[\]\-]+", 19, 1765775172),
        ("a\tb", 0, 3885511521),
        (".*b.*", 1168, 282498481),
    ],
)
def test_full_matches_of_many(pattern: str, matches: int, checksum: int) -> None:
    """How many match, and a checksum of which: TensorFlow 2.21's, of the same call."""
    draw = random.Random(9)
    letters = "abcdxyzABZ019 -@._$^]é\n\t\0ß&~|\\\x7f"
    texts: list[str | bytes] = [
        "ab@cd.com",
        "1-2",
        "12-345x",
        "Ab9",
        "aab",
        "a\nc",
        "\n\n",
        b"\xffb9",
    ]
    for _ in range(4000):
        few, size = letters[: draw.choice([3, 12, 40])], draw.choice([0, 1, 2, 3, 5, 8])
        texts.append("".join(draw.choice(few) for _ in range(size)))
    found = pn.strings.regex_full_match(texts, pattern).numpy()
    assert (found.sum(), zlib.crc32(found.tobytes())) == (matches, checksum)


def test_expressions_that_python_would_try_quadratically_often_are_left_to_re2() -> None:
    for pattern in (b"a*a*b", b".*.*b", b"a?a?b", b"[a-c]+b*c+", b"a*b?a+c"):
        assert patterns._pythons("", pattern) is None


def test_all_but_a_set_leaves_invalid_utf8() -> None:
    found = pn.strings.regex_replace(_TEXTS, "[^a-z]", "_")
    assert found.numpy().tolist() == [b"", b"_ello___orld_", b"h_llo", b"\xff\xfea\xc3"]


@pytest.mark.parametrize(
    ("pattern", "rewrite", "wanted"),
    [
        ("[0-9]+", "#", [b"a#b#", b"", b"<br />", b"#\xc3\xa9#", b"\\"]),
        (r"\d+", r"\\", [b"a\\b\\", b"", b"<br />", b"\\\xc3\xa9\\", b"\\"]),
        ("<br />", " ", [b"a12b3", b"", b" ", b"5\xc3\xa966", b"\\"]),
        (r"\\+", "", [b"a12b3", b"", b"<br />", b"5\xc3\xa966", b""]),
        ("[0-9]+", "--", [b"a--b--", b"", b"<br />", b"--\xc3\xa9--", b"\\"]),
        (r"\d+", r"<\0>", [b"a<12>b<3>", b"", b"<br />", b"<5>\xc3\xa9<66>", b"\\"]),
    ],
)
def test_matches_in_many_texts_are_replaced(
    pattern: str, rewrite: str, wanted: list[bytes]
) -> None:
    texts = [b"a12b3", b"", b"<br />", b"5\xc3\xa966", b"\\"]
    found = pn.strings.regex_replace(texts * 60, pattern, rewrite)
    assert found.numpy().tolist() == wanted * 60
    one = pn.strings.regex_replace([b"1 22 3"] * 300, r"\d+", "", replace_global=False)
    assert one.numpy().tolist() == [b" 22 3"] * 300


def test_searches_that_python_would_begin_again_for_each_place_are_left_to_re2() -> None:
    for pattern in (b"a+b", b"a*", b"^a", b"a$", b"a?", b"ab+"):
        assert patterns._few_atoms("", pattern) is None


def test_parts_by_code_point() -> None:
    found = pn.strings.substr(_TEXTS[1:3], [1, -4], [3, 2], "UTF8_CHAR")
    assert found.numpy().tolist() == [b"ell", b"\xc3\xa9l"]


@pytest.mark.parametrize("text", ["", "1_0", "--1", "1 2", "2147483648"])
def test_no_numbers(text: str) -> None:
    with pytest.raises(pn.errors.InvalidArgumentError):
        pn.strings.to_number(["1", text], pn.int32)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64"])
def test_unique_at_the_ends_of_a_type(dtype: str) -> None:
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    y, idx = pn.unique(pn.constant(np.array([most, most - 1, most], dtype)))
    assert (y.numpy().tolist(), idx.numpy().tolist()) == ([most, most - 1], [0, 1, 0])
    y, idx = pn.unique(pn.constant(np.array([most, least, most], dtype)))
    assert (y.numpy().tolist(), idx.numpy().tolist()) == ([most, least], [0, 1, 0])
