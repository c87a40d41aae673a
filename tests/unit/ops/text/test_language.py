"""Metrics, trees, states, words and sentences are those of TensorFlow Text: tests/golden/text."""

from __future__ import annotations

import gzip
import json
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework.errors import FailedPreconditionError, InternalError, InvalidArgumentError
from pinnace.ops.text.overlap import common_length
from support.golden import golden

if TYPE_CHECKING:
    from pathlib import Path

RECORDED: dict[str, Any] = json.loads(gzip.decompress(golden("text/language.json.gz").read_bytes()))


def as_bytes(texts: list[str]) -> Any:
    """Recorded strings have one character for each byte."""
    return np.array([one.encode("latin-1") for one in texts], object)


def plain(found: Any) -> Any:
    if isinstance(found, (tuple, list)):
        return [plain(one) for one in found]
    values = found.numpy()
    return texts_of(values if isinstance(values, bytes) else values.tolist())


def texts_of(found: Any) -> Any:
    if isinstance(found, list):
        return [texts_of(one) for one in found]
    return found.decode("latin-1") if isinstance(found, bytes) else found


@pytest.mark.parametrize("case", RECORDED["overlaps"], ids=lambda case: str(case["given"][4]))
def test_overlaps_are_those_of_tensorflow_text(case: dict[str, Any]) -> None:
    first, first_splits, second, second_splits, alpha = case["given"]
    found = tf.raw_ops.RougeL(
        hyp_values=as_bytes(first),
        hyp_splits=np.array(first_splits),
        ref_values=as_bytes(second),
        ref_splits=np.array(second_splits),
        alpha=np.float32(alpha),
    )
    assert plain(found) == case["found"]


def test_the_longest_common_subsequence_of_long_texts() -> None:
    """By the usual dynamic programming."""
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 6, 150).tolist(), rng.integers(0, 6, 170).tolist()
    row = [0] * (len(second) + 1)
    for a in first:
        before = row
        row = [0]
        for place, b in enumerate(second):
            row.append(before[place] + 1 if a == b else max(before[place + 1], row[-1]))
    assert common_length(first, second) == row[-1]


@pytest.mark.parametrize("case", RECORDED["trees"], ids=lambda c: f"{c['dtype']} {c['forest']}")
def test_trees_are_those_of_tensorflow_text(case: dict[str, Any]) -> None:
    scores = np.array(case["scores"])
    if case["dtype"] != "int32":
        scores[scores == -1e300] = -np.inf
    found = tf.raw_ops.MaxSpanningTree(
        num_nodes=np.int32(case["counts"]),
        scores=scores.astype(case["dtype"]),
        forest=case["forest"],
    )
    assert plain(found) == case["found"]


def test_graphs_without_a_tree_are_refused() -> None:
    apart = np.full((1, 2, 2), -np.inf, np.float32)
    apart[0, 0, 0] = apart[0, 1, 1] = 1
    with pytest.raises(FailedPreconditionError, match="Infeasible digraph"):
        tf.raw_ops.MaxSpanningTree(num_nodes=[2], scores=apart)
    found = tf.raw_ops.MaxSpanningTree(num_nodes=[2], scores=apart, forest=True)
    assert plain(found) == [[2.0], [[0, 1]]]
    apart[0, 1, 1] = -np.inf
    with pytest.raises(FailedPreconditionError, match="no arc leads into a node"):
        tf.raw_ops.MaxSpanningTree(num_nodes=[2], scores=apart, forest=True)
    for counts in ([3], [0]):
        with pytest.raises(InvalidArgumentError, match="there have to be 1 to 2"):
            tf.raw_ops.MaxSpanningTree(num_nodes=counts, scores=apart)


def test_sequences_of_states_are_those_of_tensorflow_text() -> None:
    for case in RECORDED["sequences"]:
        given = case["given"]
        allowed = np.array(given["allowed_transitions"], bool)
        sizes = len(given["allowed_transitions"]), len(given["transition_weights"])
        found = tf.raw_ops.ConstrainedSequence(
            scores=np.float32(given["scores"]),
            sequence_lengths=np.array(given["sequence_lengths"]),
            allowed_transitions=np.reshape(allowed, [sizes[0]] * 2),
            transition_weights=np.float32(given["transition_weights"]).reshape([sizes[1]] * 2),
            **case["options"],
            Tsplits=tf.int64,
        )
        assert plain(found) == case["found"], case["options"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"scores": np.zeros(3, np.float32)}, "2 or 3 axes"),
        ({"sequence_lengths": [3]}, "one length each"),
        ({"transition_weights": np.zeros((2, 2), np.float32)}, r"must be \[3, 3\] for 2 states"),
        ({"transition_weights": -np.ones((3, 3), np.float32)}, "must not be negative"),
    ],
)
def test_sequences_that_do_not_fit_are_refused(more: dict[str, Any], message: str) -> None:
    usual = {
        "scores": np.zeros((2, 2), np.float32),
        "sequence_lengths": [2],
        "allowed_transitions": np.zeros((0, 0), bool),
        "transition_weights": np.zeros((0, 0), np.float32),
        "use_viterbi": True,
        "use_log_space": False,
        "use_start_and_end_states": True,
    }
    with pytest.raises(InvalidArgumentError, match=message):
        tf.raw_ops.ConstrainedSequence(**{**usual, **more})


@pytest.mark.parametrize("case", RECORDED["labelled"], ids=lambda case: str(case["force"]))
def test_words_by_labels_are_those_of_tensorflow_text(case: dict[str, Any]) -> None:
    texts, labels, splits = case["given"]
    found = tf.raw_ops.SplitMergeTokenizeWithOffsets(
        input_values=as_bytes(texts),
        labels=np.int32(labels),
        row_splits=np.int32(splits),
        force_split_at_break_character=case["force"],
    )
    assert plain(found) == case["found"]


def test_labels_that_are_too_few_are_refused() -> None:
    for labels, splits, message in (
        ([0], [0, 1], "1 labels are too few"),
        ([0, 1], [0, 3], "must ascend within 2 labels"),
        ([0, 1], [0], "Expecting row_splits have 2 elements, got 1"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            tf.raw_ops.SplitMergeTokenizeWithOffsets(
                input_values=["ab"], labels=labels, row_splits=splits
            )


@pytest.mark.parametrize("keeps", [False, True])
def test_words_by_scripts_are_those_of_tensorflow_text(keeps: bool) -> None:
    told = RECORDED["scripts"]
    values = np.int32([code for row in told["rows"] for code in row])
    splits = np.cumsum([0, *map(len, told["rows"])])
    found = tf.raw_ops.UnicodeScriptTokenizeWithOffsets(
        input_values=values, input_splits=splits, keep_whitespace=keeps
    )
    assert plain(found) == told["found"][str(keeps)]


def test_every_code_point_has_the_script_that_it_has_in_tensorflow_text() -> None:
    codes = np.arange(0x110000, dtype=np.int32)
    found = tf.raw_ops.UnicodeScriptTokenizeWithOffsets(
        input_values=codes, input_splits=[0, len(codes)], keep_whitespace=True
    )
    assert plain(found[2]) == RECORDED["scripts"]["starts"]


def fragments(texts: list[list[str]], properties: list[list[int]] | None = None) -> Any:
    flat = [word.encode() for row in texts for word in row]
    told = [0] * len(flat)
    if properties is not None:
        told = [one for row in properties for one in row]
    zeros = np.zeros(len(flat), np.int64)
    return tf.raw_ops.SentenceFragments(
        row_lengths=np.array([len(row) for row in texts]),
        token_start=zeros,
        token_end=zeros,
        token_word=np.array(flat, object),
        token_properties=np.array(told, np.int64),
        input_encoding="UTF-8",
    )


def test_parts_of_sentences_are_those_of_tensorflow_text() -> None:
    told = RECORDED["fragments"]
    assert plain(fragments(told["rows"], told["properties"])) == told["found"]


@pytest.mark.parametrize(
    ("name", "bit", "before", "after"),
    [("ends", 1, ["a"], []), ("closes", 4, ["a", "."], []), ("opens", 8, [], ["a", ".", ")"])],
)
def test_the_same_characters_end_open_and_close(
    name: str, bit: int, before: list[str], after: list[str]
) -> None:
    told = {code for kind in ("ends", "opens", "closes") for code in RECORDED["fragments"][kind]}
    near = {code + step for code in told for step in (-1, 0, 1)}
    every = near | set(range(1, 0x500)) | set(range(1, 0x110000, 61))
    codes = sorted(code for code in every if not 0xD800 <= code < 0xE000)
    found = fragments([[*before, chr(code), *after] for code in codes])
    starts = np.cumsum([0, *found[4].numpy()])[:-1]
    is_so = found[2].numpy()[starts] & bit != 0
    assert [code for code, one in zip(codes, is_so, strict=True) if one] == RECORDED["fragments"][
        name
    ]


def test_words_that_are_none_are_refused() -> None:
    with pytest.raises(InternalError, match="Failed to decode string"):
        fragments([["a", ""]])
    with pytest.raises(InvalidArgumentError, match="row_lengths add up to 2 words"):
        fragments([["a", "b"]], [[0]])


def test_a_model_that_tensorflow_text_saved_gives_the_same(tmp_path: Path) -> None:
    """With the ops that TensorFlow Serving's own test requires."""
    with zipfile.ZipFile(golden("text/language.zip")) as archive:
        archive.extractall(tmp_path)
    signatures = tf.saved_model.load(str(tmp_path)).signatures
    found = signatures["tell"]()
    assert {name: plain(value) for name, value in found.items()} == RECORDED["saved"]
    assert plain(signatures["serving_default"](x=tf.constant([2.0]))["y"]) == [3.0]
