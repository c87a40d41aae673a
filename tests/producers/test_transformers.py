"""Models of transformers give TensorFlow's tokens and numbers, here and from ONNX."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import pinnace as tf
from pinnace.deploy import onnx
from support.command_line import pinnace

pytestmark = pytest.mark.producers

CORPUS = Path(os.environ.get("PINNACE_TRANSFORMERS", "nowhere"))
NAMES = sorted(path.parent.name for path in CORPUS.glob("*/io.npz")) if CORPUS.is_dir() else []
FACTS = json.loads((CORPUS / "architectures.json").read_text()) if NAMES else {}


def arrays_of(name: str) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Signature -> inputs and results."""
    found: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
    with np.load(CORPUS / name / "io.npz") as arrays:
        for key, value in arrays.items():
            signature, side, argument = key.split("/")
            pair = found.setdefault(signature, ({}, {}))
            pair[side == "out"][argument] = value
    return found


# Their seed comes from a state in each call, which an ONNX model does not have.
REFUSED = {("whisper", "sampled_all"): "RandomUniformInt"}
# Models that need a sample: one squeezes all axes of size 1, one takes masks that cannot be random.
SAMPLED = {("funnel", "serving_default"), ("wav2vec2_classes", "serving_default")}
SIGNATURES = [(name, signature) for name in NAMES for signature in arrays_of(name)]


def check(found: Any, wanted: dict[str, Any]) -> None:
    assert found.keys() == wanted.keys()
    for key, value in wanted.items():
        y = np.asarray(found[key])
        assert y.dtype == value.dtype, key
        if value.dtype.kind == "f":
            # Sums of float32 in another order: small numbers have the error of the large ones.
            atol = 1e-5 * max(1.0, float(np.abs(value).max(initial=0.0)))
            np.testing.assert_allclose(y, value, rtol=1e-4, atol=atol, err_msg=key)
        else:  # tokens: all equal, sampled ones too
            np.testing.assert_array_equal(y, value, err_msg=key)


def test_the_corpus_is_there() -> None:
    assert FACTS, f"{CORPUS} has {NAMES}; `make producers` writes it"


def test_every_architecture_of_transformers_has_a_model() -> None:
    architectures = FACTS["architectures"]
    assert len(architectures) == 70
    assert not [name for name, models in architectures.items() if not models]
    assert sorted({model for models in architectures.values() for model in models}) == NAMES


# Models of which transformers or TensorFlow cannot write a SavedModel, with its message.
GRAPHS = "does not support Graph mode"  # their `generate` does not run in a function
NOT_WRITTEN = {
    "blip_beams": "too many values to unpack",  # beam search fails in its decoder
    "flaubert_words": GRAPHS,
    "idefics_words": "does not match type int32",
    "led_words": GRAPHS,
    "openai_gpt_words": GRAPHS,
    "rag_served": "Failed to convert elements of (None,)",
    "rag_sequences": "Iterating over a symbolic",
    "rag_words": "Using a symbolic",
    "roformer_words": "is not compatible with `.generate()`",
    "speech_to_text_words": GRAPHS,
    "tapas_answers": "'tfp' is not defined",  # from TensorFlow Probability
    "transfo_xl_words": "The first argument to `Layer.call` must always be passed",
    "xlm_words": GRAPHS,
    "xlnet_words": GRAPHS,
}


def test_what_is_not_written_is_refused_by_transformers() -> None:
    refused = FACTS["refused"]
    assert refused.keys() == NOT_WRITTEN.keys()
    for name, reason in NOT_WRITTEN.items():
        assert reason in refused[name]


@pytest.mark.parametrize("name", NAMES)
def test_every_signature_answers_as_in_tensorflow(name: str, tmp_path: Path) -> None:
    loaded = tf.saved_model.load(CORPUS / name / "model")
    tf.saved_model.save(loaded, tmp_path / "again", signatures=dict(loaded.signatures))
    again = tf.saved_model.load(tmp_path / "again")
    for signature, (given, wanted) in arrays_of(name).items():
        for model in (loaded, again):
            found = model.signatures[signature](
                **{key: tf.constant(value) for key, value in given.items()}
            )
            check({key: value.numpy() for key, value in found.items()}, wanted)


@pytest.mark.parametrize(("name", "signature"), SIGNATURES)
def test_an_exported_file_answers_likewise(name: str, signature: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    if (name, signature) in REFUSED:
        with pytest.raises(tf.errors.OpError, match=REFUSED[name, signature]):
            onnx.export(CORPUS / name / "model", path, signature=signature)
        return
    given, wanted = arrays_of(name)[signature]
    sample = given if (name, signature) in SAMPLED else None
    report = onnx.export(CORPUS / name / "model", path, signature=signature, sample=sample)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    # An output with the name of an input has another name in the file.
    theirs = {after: before for before, after in report.output_names.items()}
    names = [theirs.get(one.name, one.name) for one in session.get_outputs()]
    check(dict(zip(names, session.run(None, given), strict=True)), wanted)


@pytest.mark.parametrize("name", ["bert", "vision_encoder_decoder"])
def test_show_tells_what_a_model_takes(name: str) -> None:
    answer = pinnace("show", CORPUS / name / "model", "--json")
    assert answer.code == 0, answer.err
    told = {one["name"]: one for one in json.loads(answer.out)["signatures"]}
    for signature, (given, wanted) in arrays_of(name).items():
        assert {one["name"] for one in told[signature]["inputs"]} == given.keys()
        assert {one["name"] for one in told[signature]["outputs"]} == wanted.keys()
