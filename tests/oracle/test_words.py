"""Preprocessing of texts and series, compared with Keras itself."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle import comparing, ours
from oracle.drawing import ASKED, drawn

if TYPE_CHECKING:
    from oracle.peer import Peer

EXAMPLES = ASKED or 20
FLAG = st.integers(0, 1)
# Repeated words, separators, both cases; ß and İ have other lengths in lower case.
TEXTS = st.lists(
    st.lists(st.sampled_from(["a", "b", "the", "The", "cat,", "!", "ß", "İ", "\t", "x-y"])).map(
        " ".join
    ),
    min_size=1,
    max_size=6,
).map(lambda texts: np.array([text.encode() for text in texts], object))


def numbers(*strategies: st.SearchStrategy[int]) -> st.SearchStrategy[Any]:
    return st.tuples(*strategies).map(lambda found: np.array(found, np.int64))


@st.composite
def ragged_words(draw: st.DrawFn) -> list[Any]:
    words = draw(st.lists(st.sampled_from([b"a", b"b", b"cc", b"", b"zz"]), min_size=1, max_size=6))
    ends = sorted(draw(st.lists(st.integers(0, len(words)), min_size=1, max_size=3)))
    splits = np.array([0, *ends, len(words)], np.int64)
    return [np.array(words, object), splits, np.int64(draw(st.integers(0, 2)))]


PROGRAMS: dict[str, Any] = {
    "tokenizer": st.tuples(
        TEXTS,
        st.integers(0, 6).map(np.int64),
        numbers(FLAG, FLAG, FLAG),
        st.integers(0, 3).map(np.int64),
    ),
    "splitting": st.tuples(TEXTS, st.integers(3, 99).map(np.int64)),
    "pairs": st.tuples(
        st.lists(st.integers(0, 11), max_size=12).map(lambda x: np.array(x, np.int64)),
        numbers(st.integers(1, 4), st.integers(0, 2), FLAG, FLAG),
        st.integers(0, 99).map(np.int64),
    ),
    "windows": st.tuples(
        st.integers(4, 30).map(lambda n: np.arange(n * 2.0).reshape(n, 2)),
        numbers(
            st.integers(1, 6),
            st.integers(1, 3),
            st.integers(1, 3),
            st.integers(0, 3),
            st.integers(0, 2),
            FLAG,
            st.integers(1, 7),
        ),
    ),
    "looked_up": ragged_words(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_words_and_series_are_prepared_as_by_keras(name: str, peer: Peer) -> None:
    program = getattr(importlib.import_module("oracle.programs.words"), name)

    @drawn(EXAMPLES)
    @given(inputs=PROGRAMS[name])
    def compare(inputs: Any) -> None:
        peer.send([{"program": ["words", name], "inputs": list(inputs)}])
        here = ours.attempt(ours.run_program, program, list(inputs))
        (theirs,) = peer.receive()
        if comparing.failed(theirs) and comparing.failed(here):
            # Nothing was fitted, or no window fits; an error in the program would have another
            # class.
            assert theirs["error"] == here["error"] == "ValueError", (theirs, here)
            return
        assert not comparing.failed(theirs), theirs
        assert not comparing.failed(here), here
        for a, b in zip(theirs["values"], here[0], strict=True):
            # tfidf has two logarithms and a product: a few units of epsilon.
            problem = comparing.array_differs(a, b, 16, 16)
            assert not problem, problem

    compare()
