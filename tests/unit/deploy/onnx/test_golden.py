"""SavedModels that TensorFlow wrote: ONNX Runtime gives TensorFlow's results."""

import functools
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pinnace.deploy.onnx import ExportReport, export
from pinnace.deploy.onnx.verification.checking import open_session, run_session, str_of
from pinnace.framework.errors import UnimplementedError
from unit.deploy.onnx.one_op import Array

GOLDEN = Path(__file__).parents[3] / "golden" / "saved_models"
# Model, signature -> the most transposes.
EXPORTED = {
    ("autograph_flow", "branches"): 0,
    ("autograph_flow", "loops"): 0,
    ("detection", "serving_default"): 2,
    ("dtypes", "floats"): 0,
    ("dtypes", "ints"): 0,
    ("keras_cnn", "serving_default"): 2,
    ("keras_gru", "serving_default"): 6,  # two directions, one with a mask
    ("keras_lstm", "serving_default"): 2,
    ("keras_mlp", "serving_default"): 0,
    ("keras_separable", "serving_default"): 2,
    ("keras_transformer", "serving_default"): 8,  # those of attention itself
    ("multi_io", "serving_default"): 0,
    ("poly_module", "serving_default"): 0,
    ("several_signatures", "a"): 0,
    ("several_signatures", "b"): 0,
    ("v1_recurrent", "serving_default"): 2,
}
REFUSED = {
    ("dtypes", "strings"): "StringLength .* ONNX has no operator that looks into strings",
    (
        "lookup_assets",
        "serving_default",
    ): "StringLength .* ONNX has no operator that looks into strings",
}


@functools.cache
def exported(model: str, signature: str) -> ExportReport:
    return export(GOLDEN / model / "model", signature=signature)


def recorded(model: str, signature: str) -> list[tuple[dict[str, Array], dict[str, Array]]]:
    """Inputs and outputs, in TensorFlow's order."""
    cases: dict[str, tuple[dict[str, Array], dict[str, Array]]] = {}
    with np.load(GOLDEN / model / "io.npz") as archive:
        for key in archive.files:
            ordinal, which, side, name = key.split("/", 3)
            if which == signature:
                case = cases.setdefault(ordinal, ({}, {}))
                case[side == "out"][name.partition(":")[0]] = restored(name, archive[key])
    return [cases[ordinal] for ordinal in sorted(cases)]


def restored(name: str, array: Array) -> Array:
    if name.endswith(":bfloat16"):
        return array.view(ml_dtypes.bfloat16)
    return array.astype(object) if array.dtype.kind == "S" else array


@pytest.mark.parametrize(("model", "signature"), EXPORTED)
def test_onnx_runtime_gives_what_tensorflow_gave(model: str, signature: str) -> None:
    report = exported(model, signature)
    session = open_session(report.model.SerializeToString())
    cases = recorded(model, signature)
    assert cases
    for inputs, outputs in cases:
        results = dict(zip(report.outputs, run_session(session, inputs), strict=True))
        for name, wanted in outputs.items():
            compare(results[report.output_names.get(name, name)], wanted)


def compare(got: Any, wanted: Array) -> None:
    assert got.shape == wanted.shape
    if wanted.dtype == object:
        assert [str_of(s) for s in got.reshape(-1)] == [str_of(s) for s in wanted.reshape(-1)]
        return
    assert got.dtype == wanted.dtype
    narrow = wanted.dtype.itemsize == 2 and wanted.dtype.kind not in "iu"
    rtol = 1e-2 if narrow else 1e-5 if wanted.dtype.kind == "f" else 0
    np.testing.assert_allclose(
        got.astype(np.float64), wanted.astype(np.float64), rtol=rtol, atol=rtol
    )


@pytest.mark.parametrize(("model", "signature"), EXPORTED)
def test_few_transpositions_are_left(model: str, signature: str) -> None:
    assert exported(model, signature).transposes <= EXPORTED[model, signature]


@pytest.mark.parametrize(("model", "signature"), REFUSED)
def test_what_cannot_be_written_is_refused(model: str, signature: str) -> None:
    with pytest.raises(UnimplementedError, match=REFUSED[model, signature]):
        export(GOLDEN / model / "model", signature=signature)


def test_an_old_dilated_convolution_is_one_operator() -> None:
    counts = exported("keras_separable", "serving_default").op_counts
    assert counts["Conv"] + counts["ConvTranspose"] == 7
    assert counts["Resize"] == 2


def test_a_recurrent_layer_is_one_operator() -> None:
    counts = exported("keras_lstm", "serving_default").op_counts
    assert counts["LSTM"] == 2
    assert "Loop" not in counts
    counts = exported("keras_gru", "serving_default").op_counts
    assert {kind: counts.get(kind, 0) for kind in ("GRU", "RNN", "Loop")} == {
        "GRU": 2,
        "RNN": 1,
        "Loop": 0,
    }


@pytest.mark.parametrize(("model", "signature"), [("counter", "update"), ("trainer", "step")])
def test_what_is_assigned_goes_in_and_comes_out(model: str, signature: str) -> None:
    # A training step: gradients, an optimizer, random numbers with a changing seed.
    found = export(GOLDEN / model / "model", signature=signature)
    kept = [name for name in found.inputs if name.startswith("state_in_")]
    left = [name for name in found.outputs if name.startswith("state_out_")]
    assert len(kept) == len(left) >= 3
    assert found.batches >= 2
