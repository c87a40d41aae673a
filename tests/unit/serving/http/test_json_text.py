import contextlib
import math

import orjson
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pinnace.framework.errors import InvalidArgumentError
from pinnace.serving.http.json_text import dump_excerpt, parse_json, parse_json_tolerantly

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner)
    ),
)


@given(json_values)
def test_both_parsers_agree_on_strict_json(value: object) -> None:
    text = orjson.dumps(value)
    assert parse_json(text) == parse_json_tolerantly(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Infinity", math.inf),
        ("-Infinity", -math.inf),
        ("Inf", math.inf),
        ("-Inf", -math.inf),
        ("[1, Inf, -Inf, Infinity]", [1, math.inf, -math.inf, math.inf]),
        ('["Inf", Inf, "a\\"Inf"]', ["Inf", math.inf, 'a"Inf']),
        ("[1] and more", [1]),
        ("[1]\0", [1]),
        (' \n\t{"a": 1}}', {"a": 1}),
        ('{"a": 1, "b": NaN, "a": 2}', None),
        ("[18446744073709551616, NaN]", None),
    ],
)
def test_liberties_are_taken(text: str, value: object) -> None:
    parsed = parse_json(text.encode())
    if value is not None:
        assert parsed == value
    elif isinstance(parsed, dict):
        assert parsed["a"] == 1
        assert math.isnan(float(str(parsed["b"])))
    else:
        assert isinstance(parsed, list)
        assert parsed[0] == 2.0**64


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "JSON Parse error: The document is empty"),
        (b"  \n", "JSON Parse error: The document is empty"),
        (b"{", r"JSON Parse error: .* at offset: 1"),
        (b'{"instances": [1, 2}', r"JSON Parse error: .* at offset: 19"),
        (b'{"instances": [Inf, Inf, }', r"JSON Parse error: .* at offset: 25"),
        (b"[01]", r"JSON Parse error: .* at offset: 2"),
        (b"[1,]", r"JSON Parse error: .* at offset: [23]"),  # 2 from Python 3.13 on
        (b"{'a': 1}", r"JSON Parse error: .* at offset: 1"),
        (b"hello", r"JSON Parse error: .* at offset: 0"),
        (b'["\x01"]', r"JSON Parse error: Invalid control character.* at offset: 2"),
        (b'["\xff"]', r'JSON Parse error: Invalid UTF-8, .*"b64".* at offset: 2'),
        (b"\xef\xbb\xbf[1]", r"JSON Parse error: .* at offset: 0"),
        (b"[1e400]", "JSON Parse error: Number too big to be stored in double: 1e400"),
        (b"[" + b"9" * 400 + b"]", "JSON Parse error: Number too big to be stored in double: 999"),
        (b"[" * 100_000, "JSON Parse error"),
        (b'{"a":' * 100_000, "JSON Parse error"),
        (b"[" * 100_000 + b"}" + b"]" * 99_999, "JSON Parse error: Invalid value"),
        (b"[" * 5000 + b"1 2" + b"]" * 5000, "JSON Parse error: Expecting ',' delimiter"),
        (b'{"a":' * 5000 + b"," + b"}" * 5000, "JSON Parse error: "),
        (b'["a", "' + b"[" * 5000, "JSON Parse error: "),
    ],
)
def test_what_is_not_json_has_an_offset(body: bytes, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        parse_json(body)


def nested(count: int, inside: str) -> str:
    return "[" * count + inside + "]" * count


@pytest.mark.parametrize("before", ["", " " * 70_000, "[1, 2], " * 9000])
@pytest.mark.parametrize(
    "deep",
    [
        nested(200_000, ""),
        nested(2000, "NaN"),
        nested(2000, "[1], [2], {}"),
        nested(1500, nested(1500, "1") + ', "' + "[" * 3000 + '"'),
        '{"a": ' * 2000 + '"}]"' + "}" * 2000,
        '["[[\\"", ' * 2000 + "1" + "]" * 2000,
    ],
)
def test_what_is_nested_deep_stands_in_the_way_of_nothing_else(before: str, deep: str) -> None:
    for parse in (parse_json, parse_json_tolerantly):
        found = parse(
            f'{{"w": [{before}0], "x": [1, 2.5], "deep": {deep}, "y": {{"z": 3}}}}'.encode()
        )
        assert isinstance(found, dict)
        assert found["x"] == [1, 2.5]
        assert found["y"] == {"z": 3}
        inside = found["deep"]
        for _ in range(50):
            assert isinstance(inside, list | dict)
            inside = inside[-1] if isinstance(inside, list) else inside["a"]


@given(st.integers(0, 3), st.lists(st.sampled_from('[]{}",:1n \\'), max_size=40).map("".join))
def test_texts_in_deep_lists_are_refused_as_they_are_alone(lists: int, text: str) -> None:
    def is_json(body: str) -> bool:
        try:
            parse_json(body.encode())
        except InvalidArgumentError:
            return False
        return True

    def is_right(body: str) -> bool:
        try:
            orjson.loads(body)
        except orjson.JSONDecodeError:
            return False
        return True

    # Bytes after the end of a request are ignored.
    assume(not any(is_right(f"[{text[:end]}") for end in range(1, len(text) + 1)))
    assert is_json(nested(1500 + 20 * lists, text)) == is_right(f"[{text}]")


@given(st.binary(max_size=60))
def test_any_bytes_give_a_value_or_one_error(body: bytes) -> None:
    with contextlib.suppress(InvalidArgumentError):
        parse_json(body)


@given(json_values)
def test_an_excerpt_is_short(value: object) -> None:
    assert len(dump_excerpt(value)) <= 256 + 3


def test_an_excerpt_of_a_large_value_looks_at_its_head() -> None:
    excerpt = dump_excerpt([[1.5] * 1000] * 1_000_000)
    assert excerpt.startswith("[[1.5,1.5,")
    assert excerpt.endswith("...")
