"""Pieces of SentencePiece models are those of TensorFlow Text: tests/golden/text."""

from __future__ import annotations

import gzip
import itertools
import json
import zipfile
from collections import Counter
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework.errors import InternalError, InvalidArgumentError, OutOfRangeError
from pinnace.proto.piece_model_pb2 import PieceModel
from support.golden import golden

RECORDED: dict[str, Any] = json.loads(gzip.decompress(golden("text/pieces.json.gz").read_bytes()))
MODELS: dict[str, Any] = RECORDED["models"]
ENDS = {"add_bos": False, "add_eos": False, "reverse": False}


def as_bytes(texts: list[str]) -> Any:
    """Recorded strings have one character for each byte."""
    return np.array([one.encode("latin-1") for one in texts], object)


TEXTS = as_bytes(RECORDED["texts"])


def model_of(name: str) -> bytes:
    with zipfile.ZipFile(golden("text/pieces.zip")) as archive:
        return archive.read(name)


def handle_of(name: str) -> Any:
    return tf.raw_ops.SentencepieceOp(model=model_of(name))


def plain(found: Any) -> Any:
    if isinstance(found, (tuple, list)):
        return [plain(one) for one in found]
    values = found.numpy().tolist()
    if not isinstance(values, list):
        return values
    return [one.decode("latin-1") if isinstance(one, bytes) else one for one in values]


def cut(handle: Any, texts: Any, **more: Any) -> Any:
    arguments = {"nbest_size": 0, "alpha": 1.0, **ENDS, **more}
    return plain(
        tf.raw_ops.SentencepieceTokenizeWithOffsetsOp(sp_handle=handle, input=texts, **arguments)
    )


@pytest.mark.parametrize("name", MODELS)
def test_texts_are_cut_and_joined_as_by_tensorflow_text(name: str) -> None:
    handle = handle_of(name)
    for case in MODELS[name]["cuts"]:
        dtype = getattr(tf, case["type"])
        assert cut(handle, TEXTS, out_type=dtype, **case["ends"]) == case["found"], case["ends"]
        arguments = {"sp_handle": handle, "input": TEXTS, "nbest_size": [1] * len(TEXTS)}
        alone = tf.raw_ops.SentencepieceTokenizeOp(
            **arguments, alpha=0.5, **case["ends"], out_type=dtype, Tsplits=tf.int32
        )
        assert plain(alone) == case["found"][:2]
        assert alone[1].dtype == tf.int32
        values, splits = case["found"][:2]
        joined = tf.raw_ops.SentencepieceDetokenizeOp(
            sp_handle=handle,
            input_values=as_bytes(values) if case["type"] == "string" else np.int32(values),
            input_splits=np.array(splits),
            **{**ENDS, "reverse": case["ends"]["reverse"]},
        )
        assert plain(joined) == case["joined"], case["ends"]


@pytest.mark.parametrize("name", MODELS)
def test_pieces_have_the_same_numbers_and_texts(name: str) -> None:
    told, handle = MODELS[name], handle_of(name)
    assert plain(tf.raw_ops.SentencepieceVocabSizeOp(sp_handle=handle)) == len(told["names"])
    every = np.arange(len(told["names"]), dtype=np.int32)
    named = tf.raw_ops.SentencepieceIdToStringOp(sp_handle=handle, input=every)
    assert plain(named) == told["names"]
    asked, splits = as_bytes(told["asked"][0]), np.int32(told["asked"][1])
    numbers = tf.raw_ops.SentencepieceStringToIdOp(sp_handle=handle, input=asked)
    assert plain(numbers) == told["numbers"]
    ids, rows = (np.array(one) for one in told["ids"])
    for values, ends, more, wanted in (
        (asked, splits, {}, told["asked_joined"]),
        (ids.astype(np.int32), rows, {"add_eos": True}, told["joined"]),
    ):
        found = tf.raw_ops.SentencepieceDetokenizeOp(
            sp_handle=handle, input_values=values, input_splits=ends, **{**ENDS, **more}
        )
        assert plain(found) == wanted


@pytest.mark.parametrize("name", [name for name, told in MODELS.items() if "best" in told])
def test_the_best_cuts_are_those_of_tensorflow_text(name: str) -> None:
    handle = handle_of(name)
    for count, wanted in zip((1, 4), MODELS[name]["best"], strict=True):
        assert cut(handle, TEXTS[:12], nbest_size=count, return_nbest=True) == wanted


def drawn(name: str, times: int, **more: Any) -> Counter[tuple[int, ...]]:
    """How often each segmentation of one text is drawn."""
    texts = np.array([b"water of the place"] * times, object)
    values, splits, *_ = cut(handle_of(name), texts, **more)
    rows = itertools.pairwise(splits)
    return Counter(tuple(values[start:end]) for start, end in rows)


def test_cuts_are_drawn_by_their_scores() -> None:
    """Among the best ones, and among all: by exp(alpha · score)."""
    scores = [one.score for one in PieceModel.FromString(model_of("scores")).pieces]
    for count in (3, -1):
        found = drawn("scores", 6000, nbest_size=count, alpha=0.05)
        assert len(found) == 3 if count == 3 else len(found) > 10
        (first, a), (second, b) = found.most_common(2)
        gap = 0.05 * (sum(scores[n] for n in first) - sum(scores[n] for n in second))
        assert np.log(a / b) == pytest.approx(gap, abs=0.15)


def test_merges_are_left_out_at_random() -> None:
    assert drawn("merges", 5, nbest_size=-1, alpha=0.0) == drawn("merges", 5)
    found = drawn("merges", 400, nbest_size=-1, alpha=0.5)
    assert len(found) > 20
    (apart,) = drawn("merges", 3, nbest_size=-1, alpha=1.0)
    assert len(apart) == len("▁water▁of▁the▁place")


@pytest.mark.parametrize("name", ["words", "characters", "merges"])
def test_what_a_model_cannot_do_is_refused(name: str) -> None:
    with pytest.raises(InternalError, match="NBestEncode is not available"):
        cut(handle_of(name), TEXTS[:1], nbest_size=2, return_nbest=True)
    if name != "merges":
        with pytest.raises(InternalError, match="SampleEncode is not available"):
            cut(handle_of(name), TEXTS[:1], nbest_size=-1)


def test_arguments_that_do_not_fit_are_refused() -> None:
    handle = handle_of("as_is")
    with pytest.raises(InternalError, match="id for `<s>` is not defined"):
        cut(handle, TEXTS, add_bos=True)
    with pytest.raises(InternalError, match="nbest_size <= 512"):
        cut(handle_of("scores"), TEXTS, nbest_size=513)
    with pytest.raises(InvalidArgumentError, match="nbest_size must be one number, or one for"):
        cut(handle, TEXTS, nbest_size=[1, 2])
    with pytest.raises(InvalidArgumentError, match="at least 1; got 0"):
        cut(handle, TEXTS, return_nbest=True)
    join = tf.raw_ops.SentencepieceDetokenizeOp
    with pytest.raises(OutOfRangeError, match="Invalid id: 4000"):
        join(sp_handle=handle, input_values=[4000], input_splits=[0, 1], **ENDS)
    with pytest.raises(InvalidArgumentError, match="input_splits must ascend"):
        join(sp_handle=handle, input_values=[1], input_splits=[0, 2], **ENDS)
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer([b"a"], np.array([1])), default_value=0
    )
    with pytest.raises(InvalidArgumentError, match="must be the handle of a model"):
        cut(table.resource_handle, TEXTS)


def changed(**fields: Any) -> bytes:
    model = PieceModel.FromString(model_of("as_is"))
    for name, value in fields.items():
        setattr(model.normalizer_spec, name, value)
    return model.SerializeToString()


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (b"", InvalidArgumentError, "Model argument must be specified"),
        (b"\xff\xff", InternalError, "no message of SentencePiece"),
        (PieceModel().SerializeToString() + b"\x12\x00", InternalError, "it has 0 unknown pieces"),
        (changed(precompiled_charsmap=b"\xff\xff\0\0abc"), InternalError, "rules of normalization"),
        (changed(precompiled_charsmap=b"\x04\0\0\0\0\0\0\0"), InternalError, "rules of"),
    ],
)
def test_models_that_are_damaged_are_refused(
    content: bytes, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        tf.raw_ops.SentencepieceOp(model=content)


def test_an_array_of_rules_that_leads_nowhere_changes_nothing() -> None:
    """Indices outside it are not followed."""
    for units in (b"\xff\xff\xff\x7f" * 2, b"\x00\x04\x00\x00" * 8, b"\xff" * 64):
        rules = len(units).to_bytes(4, "little") + units + b"x\0"
        handle = tf.raw_ops.SentencepieceOp(model=changed(precompiled_charsmap=rules))
        assert cut(handle, TEXTS)[1][-1]


def test_a_function_with_a_model_is_saved_and_loaded(tmp_path: Any) -> None:
    class Tokenizer(tf.Module):
        def __init__(self) -> None:
            self.model = model_of("scores")

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="x")])
        def __call__(self, x: Any) -> Any:
            handle = tf.raw_ops.SentencepieceOp(model=self.model)
            ids, splits = tf.raw_ops.SentencepieceTokenizeOp(
                sp_handle=handle, input=x, nbest_size=0, alpha=1.0, **ENDS
            )
            return {"ids": ids, "splits": splits}

    module = Tokenizer()
    tf.saved_model.save(module, str(tmp_path / "m"), signatures=module.__call__)
    loaded = tf.saved_model.load(str(tmp_path / "m")).signatures["serving_default"]
    found = loaded(x=tf.constant(TEXTS))
    wanted = MODELS["scores"]["cuts"][0]["found"]
    assert [plain(found["ids"]), plain(found["splits"])] == wanted[:2]


def test_a_tokenizer_that_tensorflow_text_saved_gives_the_same(tmp_path: Any) -> None:
    """Also when it is saved again here."""
    told = RECORDED["saved"]
    with zipfile.ZipFile(golden("text/piece_tokenizer.zip")) as archive:
        archive.extractall(tmp_path / "theirs")
    loaded = tf.saved_model.load(str(tmp_path / "theirs"))
    signatures = loaded.signatures["serving_default"]
    tf.saved_model.save(loaded, str(tmp_path / "ours"), signatures=signatures)
    for name in ("theirs", "ours"):
        function = tf.saved_model.load(str(tmp_path / name)).signatures["serving_default"]
        found = function(x=tf.constant(told["asked"]))
        assert found["ids"].numpy().tolist() == told["found"]["ids"]
        assert plain(found["back"]) == told["found"]["back"]
