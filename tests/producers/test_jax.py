"""Exports of JAX and of Keras on JAX: their own results, here and from ONNX."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import pinnace as tf
from pinnace.deploy import onnx
from pinnace.saved_model.stablehlo.standalone import function_of

pytestmark = pytest.mark.producers

CORPUS = Path(os.environ.get("PINNACE_JAX", "nowhere"))
NAMES = sorted(path.parent.name for path in CORPUS.glob("*/io.npz")) if CORPUS.is_dir() else []
# Why a model cannot be exported to ONNX: a part of the error message.
REFUSED = {
    "jax_fourier": "differs by",  # an angle of pi becomes -pi if an imaginary part is -0
    "jax_halves": "unsupported type",
    "jax_linear_algebra": "ONNX has no factorization",
    **dict.fromkeys(
        (
            *("jax_generated", "jax_random", "jax_sorted", "jax_special"),
            "jax_whole_numbers",
        ),
        r"Bitcast \(\d+ nodes?\): needs opset 26",
    ),
    "keras_image": "NaN or infinite at other indices",  # for infinite inputs
}


def arrays_of(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    with np.load(CORPUS / name / "io.npz") as arrays:
        content = dict(arrays)
    given = {key[3:]: value for key, value in content.items() if key.startswith("in/")}
    return given, {key[4:]: value for key, value in content.items() if key.startswith("out/")}


def check(found: Any, wanted: dict[str, Any], name: str) -> None:
    loose = 2e-2 if name == "jax_halves" else 1e-4
    assert found.keys() == wanted.keys()
    for key, value in wanted.items():
        y = np.asarray(found[key])
        assert y.dtype == value.dtype, key
        if value.dtype.kind in "fc":
            np.testing.assert_allclose(y, value, rtol=loose, atol=loose / 10, err_msg=key)
        else:
            np.testing.assert_array_equal(y, value, err_msg=key)


def test_the_corpus_is_there() -> None:
    assert len(NAMES) >= 53, f"{CORPUS} has {NAMES}; `make producers` writes it"


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_model_answers_as_its_own_library(name: str, tmp_path: Path) -> None:
    given, wanted = arrays_of(name)
    loaded = tf.saved_model.load(CORPUS / name / "model")
    tf.saved_model.save(loaded, tmp_path / "again", signatures=dict(loaded.signatures))
    for folder in (CORPUS / name / "model", tmp_path / "again"):
        serve = tf.saved_model.load(folder).signatures["serving_default"]
        found = serve(**{key: tf.constant(value) for key, value in given.items()})
        check({key: value.numpy() for key, value in found.items()}, wanted, name)


@pytest.mark.parametrize("file", ["export.bin", "module.mlirbc"])
@pytest.mark.parametrize("name", [one for one in NAMES if one.startswith("jax_")])
def test_a_program_of_jax_export_answers_likewise(name: str, file: str) -> None:
    given, wanted = arrays_of(name)
    function = function_of((CORPUS / name / file).read_bytes())
    arrays = [tf.constant(value) for value in given.values()]
    if len(function.structured_input_signature[0]) < len(
        arrays
    ):  # a module has no unused arguments
        del arrays[1]
    found = function(*arrays).values()
    check({f"y{index}": value.numpy() for index, value in enumerate(found)}, wanted, name)


@pytest.mark.parametrize("name", NAMES)
def test_an_exported_file_answers_likewise(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    if name in REFUSED:
        with pytest.raises(tf.errors.OpError, match=REFUSED[name]):
            onnx.export(CORPUS / name / "model", path)
        return
    onnx.export(CORPUS / name / "model", path)
    given, wanted = arrays_of(name)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    if any(one.name.startswith("state_in_") for one in session.get_inputs()):
        return  # Keras assigns its variables unchanged; the export compared the results
    names = [one.name for one in session.get_outputs()]
    found = dict(zip(names, session.run(None, given), strict=True))
    check({key: found[key] for key in wanted}, wanted, name)
