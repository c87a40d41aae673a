"""Models of strings: cut where the strings become numbers, or refused with a reason."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy.cli.main import main
from pinnace.deploy.onnx import export
from pinnace.deploy.onnx.flow import cutting
from pinnace.deploy.onnx.verification.checking import open_session, run_session
from pinnace.deploy.tokenizer.tokenizer import Tokenizer
from pinnace.framework.errors import InternalError, InvalidArgumentError, UnimplementedError
from pinnace.framework.specs import TensorSpec

GOLDEN = Path(__file__).parents[3] / "golden" / "saved_models"
TEXTS = ["The cat sat, on THE mat!", "", "größer Katze\tcat", "\0 mat"]


def classifier(**options: Any) -> Any:
    """A function of strings that returns two numbers."""
    tf.keras.utils.set_random_seed(3)
    texts = tf.keras.Input((1,), dtype="string", name="text")
    layer = tf.keras.layers.TextVectorization(vocabulary=["the", "cat", "mat"], **options)
    x = layer(texts)
    if layer.output_mode == "int":
        x = tf.keras.layers.Embedding(8, 4)(x)
        x = tf.keras.layers.Lambda(lambda rows: tf.reduce_sum(rows, 1))(x)
    return tf.keras.Model(texts, tf.keras.layers.Dense(2)(x))


def function(body: Any, *specs: TensorSpec) -> Any:
    return tf.function(body).get_concrete_function(*specs)


def numbers(folder: Path, texts: Any, name: str = "text") -> dict[str, Any]:
    """The values that the copied tokenizer computes from texts, in a process without packages."""
    (path,) = folder.glob("*.tokenizer.json")
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(folder / "tokenizer.py"), str(path)],
        input=json.dumps({name: texts}),
        capture_output=True,
        text=True,
        check=True,
    )
    return {
        key: np.array(one["data"], one["dtype"]).reshape(one["shape"])
        for key, one in json.loads(done.stdout).items()
    }


@pytest.mark.parametrize(
    ("options", "border"),
    [
        ({"output_sequence_length": 5}, {"text_ids": "int64[?, 5]"}),
        ({}, {"text_ids": "int64[?, ?]"}),
        ({"split": "character"}, {"text_ids": "int64[?, ?]"}),
        ({"ngrams": 2}, {"text_ids": "int64[?, ?]"}),
        ({"output_mode": "multi_hot"}, {"text_ids": "int64[?, 4]"}),
        ({"output_mode": "count", "ngrams": 2}, {"text_ids": "int64[?, 4]"}),
    ],
    ids=str,
)
def test_copied_files_and_onnx_give_what_the_model_gives(
    tmp_path: Path, options: dict[str, Any], border: dict[str, str]
) -> None:
    model = classifier(**options)
    report = export(model, tmp_path / "model.onnx", cut_strings=True)
    assert {name: spec.text for name, spec in report.inputs.items()} == border
    texts = [[text] for text in TEXTS]
    session = open_session(tmp_path / "model.onnx")
    (found,) = run_session(session, numbers(tmp_path, texts))
    wanted = model(tf.constant(texts)).numpy()
    # Sums of a dozen float32 terms in another order.
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    kinds = {name.split(".", 1)[1] for name in (one.name for one in tmp_path.iterdir())}
    assert kinds == {"onnx", "tokenizer.json", "js", "py"}


def test_a_model_of_tensorflow_keeps_its_ids(tmp_path: Path) -> None:
    export(GOLDEN / "vectorized" / "model", tmp_path / "model.onnx", cut_strings=True)
    recorded = np.load(GOLDEN / "vectorized" / "io.npz")
    texts = [text.decode() for text in recorded["0/serving_default/in/text"].tolist()]
    given = numbers(tmp_path, texts)
    np.testing.assert_array_equal(given["text_ids"], recorded["0/serving_default/out/ids"])


def test_the_file_says_which_tokenizer_it_needs(tmp_path: Path) -> None:
    model = classifier(output_sequence_length=5)
    report = export(model, tmp_path / "text.onnx", cut_strings=True)
    facts = {one.key: one.value for one in report.model.metadata_props}
    assert facts["tokenizer"] == "text.tokenizer.json"
    assert facts["tokenizer_inputs"] == "text: string[?, 1]"
    assert facts["tokenizer_outputs"] == "text_ids: int64[?, 5]"
    content = (tmp_path / "text.tokenizer.json").read_bytes()
    assert facts["tokenizer_sha256"] == cutting.hashlib.sha256(content).hexdigest()
    assert report.tokenizer == json.loads(content)
    again = export(model, tmp_path / "again" / ".." / "text.onnx", cut_strings=True)
    assert (tmp_path / "text.tokenizer.json").read_bytes() == content
    assert again.tokenizer == report.tokenizer


def test_without_the_option_a_refusal_names_it(tmp_path: Path) -> None:
    with pytest.raises(UnimplementedError, match="Try: cut_strings=True") as caught:
        export(classifier(), tmp_path / "model.onnx")
    assert "StaticRegexReplace (1 node)" in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_without_the_option_strings_that_onnx_has_stay(tmp_path: Path) -> None:
    start = tf.lookup.KeyValueTensorInitializer(tf.constant(["a"]), tf.constant([7], "int64"))
    table = tf.lookup.StaticHashTable(start, tf.constant(0, "int64"))
    look = function(lambda x: table.lookup(x), TensorSpec([None], "string", name="x"))
    assert export(look, tmp_path / "whole.onnx").inputs["x"].text == "string[?]"
    cut = export(look, tmp_path / "cut.onnx", cut_strings=True)
    assert {name: spec.text for name, spec in cut.inputs.items()} == {"x_ids": "int64[?]"}


def test_other_inputs_stay(tmp_path: Path) -> None:
    def body(title: Any, price: Any, tags: Any) -> dict[str, Any]:
        lengths = tf.strings.length(title), tf.strings.length(tags)
        y = [tf.cast(length, "float32") * price for length in lengths]
        return {"y": tf.stack(y), "tags": tags, "twice": price * 2}

    specs = [
        TensorSpec([None], "string", name="title"),
        TensorSpec([], "float32", name="price"),
        TensorSpec([None], "string", name="tags"),
    ]
    report = export(function(body, *specs), tmp_path / "model.onnx", cut_strings=True)
    # The tags are passed on, so that the ONNX file has them as well.
    assert set(report.inputs) == {"price", "tags", "title_ids", "tags_ids"}
    titles, tags = ["a", "größe"], ["x", ""]
    given = Tokenizer.load(str(tmp_path / "model.tokenizer.json"))(title=titles, tags=tags)
    feeds = {name: np.array(one.data, one.dtype) for name, one in given.items()}
    feeds |= {"price": np.array(0.5, np.float32), "tags": np.array(tags, object)}
    tags_out, twice, y = run_session(open_session(tmp_path / "model.onnx"), feeds)
    np.testing.assert_array_equal(y, [[0.5, 3.5], [0.5, 0]])
    assert twice == 1
    assert list(tags_out) == tags


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda x: tf.strings.length(tf.strings.regex_replace(x, "(a+)+", "")), "a repeat in a"),
        (
            lambda x: tf.strings.regex_replace(x, "a", ""),
            "its strings are the output 'output_0'",
        ),
        (lambda x: tf.io.decode_base64(x) == "a", "DecodeBase64 .*has no such step"),
        (lambda x: tf.strings.to_number(x, "float64"), "."),
    ],
)
def test_what_a_tokenizer_has_not_is_refused(tmp_path: Path, body: Any, message: str) -> None:
    found = function(body, TensorSpec([None], "string", name="x"))
    if message == ".":  # ONNX has this expression
        with pytest.raises(InvalidArgumentError, match="nothing to cut"):
            export(found, tmp_path / "model.onnx", cut_strings=True)
    else:
        with pytest.raises(UnimplementedError, match=message) as caught:
            export(found, tmp_path / "model.onnx", cut_strings=True)
        assert "node '" in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_every_step_that_is_missing_is_named(tmp_path: Path) -> None:
    def body(x: Any) -> Any:
        plain = tf.io.decode_base64(tf.io.encode_base64(x))
        return tf.strings.length(tf.strings.regex_replace(plain, r"\C", ""))

    found = function(body, TensorSpec([None], "string", name="x"))
    with pytest.raises(UnimplementedError) as caught:
        export(found, tmp_path / "model.onnx", cut_strings=True)
    for op in ("DecodeBase64", "EncodeBase64", "StaticRegexReplace"):
        assert f"{op} (1 node)" in str(caught.value)


def test_a_model_without_strings_has_nothing_to_cut() -> None:
    found = function(lambda x: x + 1, TensorSpec([None], "float32", name="x"))
    with pytest.raises(InvalidArgumentError, match="signatures that take strings; this takes x"):
        export(found, cut_strings=True)


def test_a_tokenizer_that_is_wrong_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = cutting.text_of_document

    def wrong(document: Any) -> str:
        return right(document).replace('"first": 2', '"first": 3')

    monkeypatch.setattr(cutting, "text_of_document", wrong)
    with pytest.raises(InternalError, match="values of 'text_ids' differ from the model's"):
        export(GOLDEN / "vectorized" / "model", tmp_path / "model.onnx", cut_strings=True)
    assert not list(tmp_path.iterdir())


def test_a_sample_is_given_as_texts(tmp_path: Path) -> None:
    def body(x: Any) -> Any:
        return tf.strings.to_number(tf.strings.strip(x), "int64") * 2

    found = function(body, TensorSpec([None], "string", name="x"))
    report = export(found, tmp_path / "model.onnx", cut_strings=True, sample={"x": [" 12 ", "-7"]})
    assert report.batches == 1
    np.testing.assert_array_equal(numbers(tmp_path, [" 5"], "x")["x_ids"], [5])


def test_the_command_says_what_was_cut_off(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, output = str(GOLDEN / "vectorized" / "model"), str(tmp_path / "model.onnx")
    report = tmp_path / "report.md"
    assert main(["export", folder, output, "--cut-strings", "--report", str(report)]) == 0
    printed = capsys.readouterr().out
    assert (
        "model.tokenizer.json: the strings are cut off; it makes text_ids (int64[?, 5])" in printed
    )
    assert "text_ids are made of text" in report.read_text()
    assert main(["export", folder, str(tmp_path / "other.onnx")]) == 1
    assert "--cut-strings" in capsys.readouterr().err
