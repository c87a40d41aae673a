"""The ops of TensorFlow Text give its results, which are in tests/golden/text."""

from __future__ import annotations

import gzip
import json
import unicodedata
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from support.golden import golden

if TYPE_CHECKING:
    from pathlib import Path

RECORDED: dict[str, Any] = json.loads(gzip.decompress(golden("text/text.json.gz").read_bytes()))


def as_bytes(texts: list[str]) -> Any:
    """Recorded strings have one character for each byte."""
    return np.array([one.encode("latin-1") for one in texts], object)


TEXTS = as_bytes(RECORDED["texts"])


def plain(tensor: Any) -> list[Any]:
    values = tensor.numpy().tolist()
    return [one.decode("latin-1") if isinstance(one, bytes) else one for one in values]


@pytest.mark.parametrize("form", RECORDED["normalization"]["forms"])
def test_normal_forms_are_those_of_tensorflow_text(form: str) -> None:
    found = tf.raw_ops.NormalizeUTF8(input=TEXTS, normalization_form=form)
    assert plain(found) == RECORDED["normalization"]["forms"][form]


def test_texts_are_folded_as_by_tensorflow_text() -> None:
    assert plain(tf.raw_ops.CaseFoldUTF8(input=TEXTS)) == RECORDED["normalization"]["folded"]


def test_every_code_point_that_both_know_is_folded_alike() -> None:
    # Python's tables may be of an earlier Unicode version: unassigned characters stay unchanged.
    codes = [
        code for code in range(1, 0x110000) if unicodedata.category(chr(code)) not in {"Cs", "Cn"}
    ]
    given = np.array([chr(code).encode() for code in codes], object)
    found = tf.raw_ops.CaseFoldUTF8(input=given).numpy().tolist()
    other = {
        code: (new.decode(), CHANGED.get(str(code), chr(code)))
        for code, new in zip(codes, found, strict=True)
        if new.decode() != CHANGED.get(str(code), chr(code))
    }
    assert not other


CHANGED: dict[str, str] = RECORDED["normalization"]["changed"]


@pytest.mark.parametrize("case", RECORDED["regex"], ids=lambda case: case["delim"])
def test_texts_are_cut_at_delimiters_as_by_tensorflow_text(case: dict[str, Any]) -> None:
    found = tf.raw_ops.RegexSplitWithOffsets(
        input=TEXTS,
        delim_regex_pattern=case["delim"],
        keep_delim_regex_pattern=case["keep"],
    )
    assert [plain(one) for one in found] == case["found"]


def test_a_delimiter_that_matches_nothing_at_all_is_refused() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="must not match the empty text"):
        tf.raw_ops.RegexSplitWithOffsets(
            input=["ba"], delim_regex_pattern="(a*)", keep_delim_regex_pattern=""
        )


@pytest.mark.parametrize("case", RECORDED["wordpieces"], ids=lambda case: str(case["attrs"])[-40:])
def test_words_are_cut_into_pieces_as_by_tensorflow_text(case: dict[str, Any]) -> None:
    keys = [one.encode() for one in RECORDED["vocabulary"]]
    values = np.arange(len(keys), dtype=np.int64)
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), -1)
    found = tf.raw_ops.WordpieceTokenizeWithOffsets(
        input_values=TEXTS, vocab_lookup_table=table.resource_handle, **case["attrs"]
    )
    assert [plain(one) for one in found] == case["found"]


def test_texts_are_cut_at_white_space_as_by_tensorflow_text() -> None:
    config = RECORDED["whitespace"]["config"].encode("latin-1")
    op = getattr(tf.raw_ops, "TFText>WhitespaceTokenizeWithOffsetsV2")
    found = op(input_values=TEXTS, input_config=np.array(config, object))
    assert [plain(one) for one in found] == RECORDED["whitespace"]["found"]


def test_segments_are_cut_to_fit_as_by_tensorflow_text() -> None:
    for case in RECORDED["trimmed"]:
        given = case["given"]
        arguments = {
            "max_sequence_length": given["max_sequence_length"],
            "input_values": [np.array(one, np.int32) for one in given["input_values"]],
            "input_row_splits": [np.array(one, np.int64) for one in given["input_row_splits"]],
        }
        both = getattr(tf.raw_ops, "TFText>RoundRobinTrim")(**arguments)
        masks = getattr(tf.raw_ops, "TFText>RoundRobinGenerateMasks")(**arguments)
        found = [[plain(one) for one in part] for part in (*both, masks)]
        assert found == case["found"], given


def test_row_splits_beyond_their_values_are_refused() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="row_splits must ascend"):
        getattr(tf.raw_ops, "TFText>RoundRobinTrim")(
            max_sequence_length=3,
            input_values=[np.arange(2)],
            input_row_splits=[np.array([0, 5], np.int64)],
        )


def test_a_tokenizer_that_tensorflow_text_saved_gives_the_same(tmp_path: Path) -> None:
    told = json.loads(golden("text/tokenizer.json").read_text())
    with zipfile.ZipFile(golden("text/tokenizer.zip")) as archive:
        archive.extractall(tmp_path)
    loaded = tf.saved_model.load(str(tmp_path))
    found = loaded.signatures["serving_default"](x=tf.constant(told["asked"]))
    assert {key: value.numpy().tolist() for key, value in found.items()} == told["found"]
