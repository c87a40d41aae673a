"""tokenizer.py gives the results of the model's own part, and refuses invalid documents."""

import functools
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.deploy.onnx.flow.cutting import Cut, cut_off
from pinnace.deploy.program.sources import find_program
from pinnace.deploy.tokenizer import tokenizer
from pinnace.deploy.tokenizer.tokenizer import Tokenizer, TokenizerError, farm64, sip64
from pinnace.framework.errors import OpError
from pinnace.framework.specs import TensorSpec
from pinnace.ops.kernels import fingerprints
from unit.deploy.tokenizer.programs import PROGRAMS, RISING, WORDS, traced

ROOT = Path(__file__).parents[4]
# Natural texts, generated texts, and invalid UTF-8.
_NO_LETTER = re.compile(
    b"\xe0[\x80-\x9f]|\xed[\xa0-\xbf]|\xf0[\x80-\x8f]|\xf4[\x90-\xbf]|[\xf5-\xf7]"
)
TEXTS = st.one_of(
    st.lists(st.sampled_from([*WORDS, " ", ",", "\t", "THE", "!", "7", "\0"]), max_size=6)
    .map("".join)
    .map(str.encode),
    st.text(max_size=12).map(str.encode),
    # TensorFlow's expressions take these as one character: overlong forms, or half a surrogate
    # pair. The document's sets do not.
    st.binary(max_size=8).filter(lambda one: not _NO_LETTER.search(one)),
)


@functools.cache
def cut(name: str) -> Cut:
    return cut_off(find_program(traced(name), "serving_default"), 18, None)


def document(**more: Any) -> dict[str, Any]:
    """A document that computes the lengths of texts, with changes."""
    return json.loads(cut("parts").text) | more


@pytest.mark.parametrize("name", PROGRAMS)
@given(texts=st.lists(TEXTS, max_size=5))
def test_numbers_are_those_of_the_graph(name: str, texts: list[bytes]) -> None:
    found = cut(name)
    x = np.empty(len(texts), object)
    x[:] = texts
    reference = Tokenizer(json.loads(found.text))
    try:
        wanted = found.front.run([x])
    except OpError:
        with pytest.raises(TokenizerError):
            reference(x=texts)
        return
    numbers = reference(x=texts)
    for array, (name, tensor) in zip(wanted, numbers.items(), strict=True):
        assert tensor.dtype == str(array.dtype), name
        assert tensor.shape == array.shape, name
        assert tensor.data == array.reshape(-1).tolist(), name


@given(data=st.binary(max_size=200), low=st.integers(0, 2**64 - 1), high=st.integers(-9, 9))
def test_hashes_are_those_of_the_ops(data: bytes, low: int, high: int) -> None:
    assert farm64(data) == fingerprints.farm64(data)
    assert sip64(data, low, high) == fingerprints.sip64(data, (low, high % (1 << 64)))


def test_texts_may_be_lists_arrays_and_bytes() -> None:
    reference = Tokenizer(json.loads(cut("tables").text))
    wanted = reference(x=["the", "größer"])
    assert reference(x=[b"the", "größer".encode()]) == wanted
    assert reference(x=np.array(["the", "größer"])) == wanted
    assert wanted["x_ids"].tolist() == [-1, 1 << 60]


def test_rows_come_as_lists() -> None:
    @tf.function
    def looked_up(x: Any) -> Any:
        words = tf.strings.split(tf.strings.lower(x))
        return words.with_flat_values(RISING.lookup(words.flat_values)).to_tensor(0)

    spec = TensorSpec([None], "string", name="x")
    program = find_program(looked_up.get_concrete_function(spec), "serving_default")
    reference = Tokenizer(json.loads(cut_off(program, 18, None).text))
    assert reference(x=["a THE", "", "größer zebra a"])["x_ids"].tolist() == [
        [2, 3, 0],
        [0, 0, 0],
        [4, 1, 2],
    ]
    assert reference(x=[])["x_ids"].shape == (0, 0)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"version": 2}, "not a file of pinnace.tokenizer, version 1"),
        ({"format": "other"}, "not a file of pinnace.tokenizer"),
        ({"steps": [{"op": "import", "in": [], "out": []}]}, "there is no step 'import'"),
        ({"steps": [{"op": "__class__", "in": [], "out": []}]}, "there is no step"),
    ],
)
def test_other_files_are_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(TokenizerError, match=message):
        Tokenizer(document(**changed))


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"y": ["a"]}, r"inputs must be \['x'\], got \['y'\]"),
        ({"x": "a"}, r"must have shape \[None\], got \[\]"),
        ({"x": [["a"]]}, r"must have shape \[None\], got \[1, 1\]"),
        ({"x": ["a", ["b"]]}, "must be string"),
        ({"x": [["a"], "b"]}, "rows must have one length"),
        ({"x": [1]}, "must be string"),
    ],
)
def test_other_inputs_are_refused(inputs: dict[str, Any], message: str) -> None:
    with pytest.raises(TokenizerError, match=message):
        Tokenizer(document())(**inputs)


def test_a_size_that_is_wrong_takes_no_memory() -> None:
    @tf.function
    def padded(x: Any) -> Any:
        count = tf.strings.to_number(x, "int64")
        return tf.fill(tf.stack([count, count]), 0)

    spec = TensorSpec([], "string", name="x")
    program = find_program(padded.get_concrete_function(spec), "serving_default")
    found = json.loads(cut_off(program, 18, None).text)
    # When the model is cut, ONNX does the padding; here it is a step.
    (number,) = (step["out"][0] for step in found["steps"])
    found["steps"] += [
        {"op": "pack", "in": [number, number], "out": ["sizes"], "axis": 0},
        {"op": "fill", "in": ["sizes", number], "out": ["full"]},
    ]
    assert Tokenizer(found)(x="9")["x_ids"].data == [9]
    with pytest.raises(TokenizerError, match="too large"):
        Tokenizer(found)(x="999999999")


def steps_of(text: str) -> set[str]:
    return {step["op"] for step in json.loads(text)["steps"]}


def test_every_step_is_tried_told_and_done_in_both_languages() -> None:
    every = {*tokenizer._STEPS, "lookup"}
    assert set().union(*(steps_of(cut(name).text) for name in PROGRAMS)) == every
    page = (ROOT / "docs" / "tokenizer.md").read_text()
    script = Path(tokenizer.__file__).with_name("tokenizer.js").read_text()
    for step in every:
        assert f"`{step}`" in page, step
        assert re.search(rf"(?m)^ +{step}[:,]", script), step


def test_the_page_shows_a_file_that_runs() -> None:
    page = (ROOT / "docs" / "tokenizer.md").read_text()
    shown = json.loads(page.split("```json")[1].split("```")[0])
    assert Tokenizer(shown)(text=["THE", "cat", "dog"])["text_ids"].data == [2, 3, 1]
