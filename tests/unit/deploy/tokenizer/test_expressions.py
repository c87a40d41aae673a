"""Regular expressions: the op's matches, or a refusal that says what is different."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.deploy.tokenizer.errors import UnsupportedError
from pinnace.deploy.tokenizer.expressions import parse
from pinnace.deploy.tokenizer.sets import category, complement, union
from pinnace.deploy.tokenizer.tokenizer import Tokenizer, bytes_of, expression
from pinnace.ops.strings.patterns import compiled

LETTERS = ["a", "b", "ab", "é", ".", r"\n", r"\x41", r"\.", r"\Qa.b\E"]
SETS = ["[ab]", "[^a]", "[a-c1]", r"[\w-]", "[[:upper:]]", "[^[:space:]]", r"\d", r"\W", r"\pL"]
ATOMS = st.sampled_from([*LETTERS, *SETS, r"\s", "^", "$", r"\b", "()"])
COUNTS = st.sampled_from(["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,3}?", "{2,}"])


def _wider(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.tuples(inner, inner).map("|".join),
        st.tuples(inner, COUNTS).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
        inner.map("({})".format),
        st.tuples(ATOMS, COUNTS).map("".join),
    )


PATTERNS = st.recursive(ATOMS, _wider, max_leaves=8)
TEXTS = st.text("abcé1A .-\n😀", max_size=12)


def replaced(pattern: str, text: str, rewrite: str) -> bytes:
    """The op's result."""
    found = tf.strings.regex_replace(np.array([text.encode()], object), pattern, rewrite).numpy()
    return bytes(found[0])


def run(op: str, attrs: dict[str, object], text: bytes) -> object:
    """A step's result."""
    step = {"op": op, "in": ["x"], "out": ["y"], **attrs}
    spec = {"dtype": "string", "shape": [None]}
    document = {
        "format": "pinnace.tokenizer",
        "version": 1,
        "inputs": {"x": spec},
        "outputs": {"y": {**spec, "value": "y"}},
        "constants": {},
        "tables": {},
        "steps": [step],
    }
    return Tokenizer(document)(x=[text])["y"].data[0]


@given(pattern=PATTERNS, text=TEXTS)
def test_a_tree_matches_what_the_expression_does(pattern: str, text: str) -> None:
    try:
        tree = parse(pattern, {1})
    except UnsupportedError:
        assume(False)
    rewrite: list[object] = ["<", 0, ">"]
    told = r"<\0>"
    if "(" in pattern.replace("(?:", "").replace(r"\Q", ""):
        rewrite, told = [*rewrite, 1], told + r"\1"
    attrs = {"expression": tree, "rewrite": rewrite, "all": True}
    assert run("replace", attrs, text.encode()) == replaced(pattern, text, told)
    whole = compiled("x", pattern).fullmatch(text) is not None
    assert run("match", {"expression": tree}, text.encode()) is whole


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (r"(a+)+$", "a repeat in a repeat"),
        (r"(?:a|ab)*c", "branches in a repeat that begin alike"),
        (r"(?:a?)*", "a repeat of what may be empty"),
        (r"\bx\b|\C", r"\\C"),
        (r"a\B", r"\\B, which RE2 finds inside of letters"),
        (r"(?U)a+", "the flag U"),
        (r"a(?i)b", "flags that are set in the middle"),
        (r"(?i)é", "letters other than ASCII"),
        (r"a**", "a repeat of a repeat"),
        (r"a{1001}", "the repeat"),
        (r"(?=a)", r"\(\?="),
        (r"\pX", "no general category"),
        (r"\p{Greek}", "no general category"),
        (r"(a)\1", r"\\1"),
        (r"[b-a]", "backwards"),
        (r"[a", r"a \[ without \]"),
        (r"(a", r"a \( without \)"),
        (r"a)", r"a \) without \("),
        (r"*a", "nothing before it"),
        ("(" * 60 + ")" * 60, "in each other"),
        ("a" * 10_001, "more than 10000"),
    ],
)
def test_what_engines_do_otherwise_is_refused(pattern: str, reason: str) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        parse(pattern)


def test_a_group_in_a_repeat_is_refused_only_if_somebody_asks_for_it() -> None:
    assert parse("(?:(a)|b)*") == parse("[ab]*")
    with pytest.raises(UnsupportedError, match="a group in a repeat"):
        parse("(?:(a)|b)*", {1})


@given(text=st.binary(max_size=8))
def test_bytes_that_are_no_text_match_nothing(text: bytes) -> None:
    tree = parse(r"[^\x00-\x7f]")
    attrs = {"expression": tree, "rewrite": ["?"], "all": True}
    found = np.asarray(tf.strings.regex_replace(np.array([text], object), r"[^\x00-\x7f]", "?"))
    assert run("replace", attrs, text) == found[0]


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 40)), max_size=6))
def test_sets_are_sorted_and_apart(pairs: list[tuple[int, int]]) -> None:
    ranges = [[low, low + more] for low, more in pairs]
    members = {code for low, high in ranges for code in range(low, high + 1)}
    joined = union(ranges)
    assert {code for low, high in joined for code in range(low, high + 1)} == members
    assert all(a[1] + 1 < b[0] for a, b in itertools.pairwise(joined))
    assert complement(complement(joined)) == joined
    assert all(not any(a <= c <= b for a, b in complement(joined)) for c in members)


def test_categories_are_those_of_unicode() -> None:
    upper = category("Lu")
    assert upper is not None
    assert upper[0] == [ord("A"), ord("Z")]
    assert category("Xx") is None
    assert re.fullmatch(expression({"set": upper}), "Ä")


def test_text_is_written_so_that_nothing_is_read_as_a_sign() -> None:
    for code in (*range(128), 0xE9, 0x1F600):
        assert re.fullmatch(expression({"text": chr(code)}), chr(code))
        assert re.fullmatch(expression({"set": [[code, code]]}), chr(code))
    assert bytes_of("\udcff") == b"\xff"
