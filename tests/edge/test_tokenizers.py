"""tokenizer.js and tokenizer.py agree, and ONNX Runtime gives the model's outputs for their ids."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from edge.runtimes import GOLDEN, run_node
from pinnace.deploy.onnx import export
from pinnace.deploy.onnx.flow.cutting import texts_of
from pinnace.deploy.tokenizer.tokenizer import Tokenizer, TokenizerError, text_of
from unit.deploy.tokenizer.programs import PROGRAMS, traced

if TYPE_CHECKING:
    from pathlib import Path

    from edge.runtimes import Edge


def node(folder: Path, feeds: list[Any], *more: object) -> list[dict[str, Any]]:
    (folder / "texts.json").write_text(json.dumps(feeds))
    found: Any = run_node("tokenize.mjs", folder, folder / "texts.json", *more)
    return list(found)


def told(tokenizer: Tokenizer, texts: dict[str, Any]) -> dict[str, Any]:
    return {
        name: {
            "dtype": one.dtype,
            "shape": list(one.shape),
            # Bools are bytes in JavaScript, and 64-bit integers are strings here.
            "data": [str(item) if one.dtype == "int64" else item for item in one.data],
        }
        for name, one in tokenizer(**texts).items()
    }


@pytest.mark.parametrize("name", PROGRAMS)
def test_javascript_does_every_step_as_python_does(name: str, tmp_path: Path) -> None:
    export(traced(name), tmp_path / "model.onnx", cut_strings=True)
    tokenizer = Tokenizer.load(str(tmp_path / "model.tokenizer.json"))
    document = json.loads((tmp_path / "model.tokenizer.json").read_text())
    texts = [text_of(text) for text in texts_of(document).tolist()]
    feeds = [{"x": texts[start : start + 5]} for start in range(0, len(texts), 5)]
    feeds += [{"x": []}, {"x": texts}]
    answered = 0
    for given, found in zip(feeds, node(tmp_path, feeds), strict=True):
        try:
            expected = told(tokenizer, given)
        except TokenizerError:  # a text that is not a number, for a program that expects one
            assert "TokenizerError" in found["error"], given
            continue
        assert found.get("numbers") == expected, given
        answered += 1
    assert answered > len(feeds) // 4


@pytest.mark.parametrize(
    "inputs", [{"y": ["a"]}, {"x": "a"}, {"x": [["a"]]}, {"x": ["a", ["b"]]}, {"x": [1]}]
)
def test_javascript_refuses_what_python_refuses(inputs: Any, tmp_path: Path) -> None:
    export(traced("parts"), tmp_path / "model.onnx", cut_strings=True)
    with pytest.raises(TokenizerError):
        Tokenizer.load(str(tmp_path / "model.tokenizer.json"))(**inputs)
    (found,) = node(tmp_path, [inputs])
    assert "TokenizerError" in found["error"]


def test_a_step_that_differs_is_found(tmp_path: Path) -> None:
    export(traced("hashes"), tmp_path / "model.onnx", cut_strings=True)
    runner = tmp_path / "tokenizer.js"
    runner.write_text(runner.read_text().replace("0x9ae16a3b2f90404fn", "0x9ae16a3b2f90404dn"))
    tokenizer = Tokenizer.load(str(tmp_path / "model.tokenizer.json"))
    (found,) = node(tmp_path, [{"x": ["word"]}])
    assert found["numbers"] != told(tokenizer, {"x": ["word"]})


def test_strings_to_outputs_in_node(edge: Edge, tmp_path: Path) -> None:
    tf.keras.utils.set_random_seed(1)
    texts = tf.keras.Input((1,), dtype="string", name="text")
    words = tf.keras.layers.TextVectorization(
        vocabulary=["good", "bad", "größer"], output_sequence_length=6
    )(texts)
    rows = tf.keras.layers.GRU(5)(tf.keras.layers.Embedding(6, 4)(words))
    model = tf.keras.Model(texts, tf.keras.layers.Dense(3)(rows))
    export(model, tmp_path / "model.onnx", cut_strings=True)
    asked = [["Good, BAD größer\n"], [""], ["\0 good 😀"]]
    arguments = tmp_path / "model.onnx", edge.modules
    (found,) = node(tmp_path, [{"text": asked}], *arguments)
    (output,) = found["outputs"].values()
    got = np.array(output["data"], output["dtype"]).reshape(output["shape"])
    # Sums of a dozen float32 terms in another order.
    np.testing.assert_allclose(got, model(tf.constant(asked)).numpy(), rtol=1e-5, atol=1e-6)


def test_ids_of_a_model_of_tensorflow(edge: Edge, tmp_path: Path) -> None:
    export(GOLDEN / "vectorized" / "model", tmp_path / "model.onnx", cut_strings=True)
    recorded = np.load(GOLDEN / "vectorized" / "io.npz")
    asked = [text.decode() for text in recorded["0/serving_default/in/text"].tolist()]
    (found,) = node(tmp_path, [{"text": asked}], tmp_path / "model.onnx", edge.modules)
    ids = found["outputs"]["ids"]
    got = np.array(ids["data"], np.int64).reshape(ids["shape"])
    np.testing.assert_array_equal(got, recorded["0/serving_default/out/ids"])
