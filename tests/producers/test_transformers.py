"""What models of transformers answer: TensorFlow's words and numbers, here and from ONNX."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import pinnace as tf
from pinnace.deploy import onnx

pytestmark = pytest.mark.producers

CORPUS = Path(os.environ.get("PINNACE_TRANSFORMERS", "nowhere"))
NAMES = sorted(path.parent.name for path in CORPUS.glob("*/io.npz")) if CORPUS.is_dir() else []


def arrays_of(name: str) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Signature -> inputs and answers."""
    found: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
    with np.load(CORPUS / name / "io.npz") as arrays:
        for key, value in arrays.items():
            signature, side, argument = key.split("/")
            pair = found.setdefault(signature, ({}, {}))
            pair[side == "out"][argument] = value
    return found


# Whose seed is drawn from a state in each call, which an ONNX model does not have.
REFUSED = {("whisper", "sampled_all"): "RandomUniformInt"}
SIGNATURES = [(name, signature) for name in NAMES for signature in arrays_of(name)]


def check(found: Any, wanted: dict[str, Any]) -> None:
    assert found.keys() == wanted.keys()
    for key, value in wanted.items():
        y = np.asarray(found[key])
        assert y.dtype == value.dtype, key
        if value.dtype.kind == "f":
            np.testing.assert_allclose(y, value, rtol=1e-4, atol=1e-5, err_msg=key)
        else:  # words: all the same, drawn ones too
            np.testing.assert_array_equal(y, value, err_msg=key)


def test_the_corpus_is_there() -> None:
    assert len(NAMES) >= 13, f"{CORPUS} has {NAMES}; `make producers` writes it"


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
    onnx.export(CORPUS / name / "model", path, signature=signature)
    given, wanted = arrays_of(name)[signature]
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_outputs()]
    check(dict(zip(names, session.run(None, given), strict=True)), wanted)
