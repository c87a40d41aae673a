"""Smaller variants: their size, their precision, and their reports."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.deploy.cli.main import main
from pinnace.deploy.onnx import export
from pinnace.deploy.onnx.derived import artifacts
from pinnace.deploy.onnx.derived.accuracy import measure
from pinnace.deploy.onnx.derived.variants import Mobile
from pinnace.deploy.onnx.verification.checking import open_session, run_session
from pinnace.deploy.program.sources import find_program
from pinnace.deploy.sampling.calibration import calibration_feeds, held_out
from pinnace.framework.errors import (
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
)

GOLDEN = Path(__file__).parents[3] / "golden" / "saved_models"
RNG = np.random.default_rng(7)


@pytest.fixture(autouse=True)
def same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seed each test, independent of the others."""
    monkeypatch.setitem(globals(), "RNG", np.random.default_rng(7))


FORMS: dict[str, dict[str, Any]] = {
    "float16": {"float16": True},
    "int8": {"int8": True},
    "int8_static": {},
}


class Dense(tf.Module):
    """A model wide enough that 8 bits show in the file's size."""

    def __init__(self, scale: float = 0.1) -> None:
        super().__init__()
        self.w = tf.Variable(RNG.normal(0, scale, (64, 128)).astype("f"))
        self.v = tf.Variable(RNG.normal(0, scale, (128, 10)).astype("f"))

    @tf.function(input_signature=[tf.TensorSpec([None, 64], tf.float32, name="x")])
    def serve(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": tf.matmul(tf.nn.relu(tf.matmul(x, self.w)), self.v)}


def examples(rows: int) -> dict[str, np.ndarray]:
    return {"x": RNG.standard_normal((rows, 64)).astype("f")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dense") / "1"
    model = Dense()
    tf.saved_model.save(model, str(path), signatures=model.serve)
    return path


def options(kind: str) -> dict[str, Any]:
    return FORMS[kind] or {"int8_static": examples(100)}


# Tolerances relative to the largest output: 11 bits; 8 bits (7 for weights) of two products.
@pytest.mark.parametrize(
    ("kind", "size", "relative"),
    [("float16", 0.6, 4e-3), ("int8", 0.4, 0.05), ("int8_static", 0.4, 0.1)],
)
def test_it_is_smaller_and_close(folder: Path, kind: str, size: float, relative: float) -> None:
    report = export(folder, **options(kind))
    variant = report.variant
    assert variant is not None
    assert variant.kind == kind
    assert variant.file_bytes == report.file_bytes < size * variant.float32_bytes
    assert 0 < variant.outputs["y"].relative < relative
    assert variant.outputs["y"].largest > 0
    assert report.largest_relative is not None
    assert report.largest_relative < 1e-5  # the precision of float32's comparison


@pytest.mark.parametrize("kind", FORMS)
def test_the_report_says_what_a_reader_measures(folder: Path, kind: str) -> None:
    x = RNG.standard_normal((16, 64)).astype("f")
    chosen = options(kind)
    if kind == "int8_static":  # the fifth run is held out
        chosen = {"int8_static": {"x": np.concatenate([*[x[:16]] * 4, x])}}
    report = export(folder, sample={"x": x}, **chosen)
    assert report.variant is not None
    (exact,) = run_session(open_session(export(folder).model.SerializeToString()), {"x": x})
    (small,) = run_session(open_session(report.model.SerializeToString()), {"x": x})
    found = report.variant.outputs["y"]
    gap = np.abs(exact.astype("d") - small)
    np.testing.assert_allclose(found.largest, gap.max(), rtol=1e-9)
    np.testing.assert_allclose(found.mean, gap.mean(), rtol=1e-9)
    sqnr = 10 * np.log10(np.sum(exact.astype("d") ** 2) / np.sum(gap**2))
    np.testing.assert_allclose(found.sqnr, sqnr, rtol=1e-9)
    assert found.top1 == np.mean(exact.argmax(-1) == small.argmax(-1))


@pytest.mark.parametrize("kind", FORMS)
def test_it_is_valid_keeps_its_border_and_its_metadata(folder: Path, kind: str) -> None:
    plain, small = export(folder).model, export(folder, **options(kind)).model
    domains = {one.domain for one in small.opset_import}
    assert domains <= {"", "com.microsoft"}
    if domains == {""}:
        onnx.checker.check_model(small, full_check=True)
    for side in ("input", "output"):
        assert [
            (one.name, one.type.tensor_type.elem_type) for one in getattr(small.graph, side)
        ] == [(one.name, one.type.tensor_type.elem_type) for one in getattr(plain.graph, side)]
    facts = {one.key: one.value for one in small.metadata_props}
    assert facts.pop("variant") == kind
    assert facts == {one.key: one.value for one in plain.metadata_props}
    assert small.ir_version == plain.ir_version


@pytest.mark.parametrize("kind", FORMS)
def test_the_bytes_are_the_same_every_time(folder: Path, tmp_path: Path, kind: str) -> None:
    chosen = options(kind)
    for name in ("a.onnx", "b.onnx"):
        export(folder, tmp_path / name, **chosen)
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize(
    ("model", "name", "shape"),
    [("keras_cnn", "image", (24, 16, 16, 3)), ("keras_lstm", "seq", (24, 6, 5))],
)
def test_golden_networks_have_every_form(
    model: str, name: str, shape: tuple[int, ...], kind: str
) -> None:
    array = RNG.standard_normal(shape).astype("f")
    report = export(GOLDEN / model / "model", **(FORMS[kind] or {"int8_static": {name: array}}))
    assert report.variant is not None
    # int8 has 256 steps for the range of a few noisy rows: some per cent per layer. A wrong
    # quantisation is off by as much as the outputs are large.
    assert all(one.relative < 0.3 for one in report.variant.outputs.values())


def test_one_precision_at_a_time(folder: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="one precision, got float16 and int8"):
        export(folder, float16=True, int8=True)


def test_what_has_no_weights_is_refused(tmp_path: Path) -> None:
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    def double(x: tf.Tensor) -> tf.Tensor:
        return x + x

    path = tmp_path / "m.onnx"
    with pytest.raises(InvalidArgumentError, match="int8 changes nothing"):
        export(double.get_concrete_function(), path, int8=True)
    assert not path.exists()


def test_float16_that_overflows_is_refused(tmp_path: Path) -> None:
    model = Dense(1000.0)
    concrete = model.serve.get_concrete_function()
    with pytest.raises(FailedPreconditionError, match="beyond ±65504, the largest of float16"):
        export(concrete, tmp_path / "m.onnx", float16=True)
    assert not (tmp_path / "m.onnx").exists()


def test_values_inside_that_float16_cannot_hold_are_named() -> None:
    model = Dense(1000.0)
    concrete = tf.function(lambda x: tf.math.tanh(tf.sqrt(tf.abs(model.serve(x)["y"])) * 1e-4))
    spec = tf.TensorSpec([None, 64], tf.float32, name="x")
    variant = export(concrete.get_concrete_function(spec), float16=True).variant
    assert variant is not None
    assert (
        "intermediate values are infinite on processors that compute in float16" in variant.notes[0]
    )
    tame = Dense()
    assert export(tame.serve.get_concrete_function(), float16=True).variant.notes == ()


def test_weights_that_float16_cuts_are_counted() -> None:
    class Cut(tf.Module):
        w = tf.constant(np.array([[1e6, -1e9, 1.0]], "f"))

        @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, name="x")])
        def serve(self, x: tf.Tensor) -> tf.Tensor:
            return tf.nn.softmax(x + self.w)

    model = Cut()
    variant = export(model.serve.get_concrete_function(), float16=True).variant
    assert variant is not None
    assert re.search(r"2 weights beyond ±65504", " ".join(variant.notes))
    assert any("weights beyond" in line for line in variant.lines())


# Calibrations


@given(rows=st.integers(1, 200))
def test_every_example_is_used_once(rows: int) -> None:
    model = Dense()
    program = find_program(model.serve.get_concrete_function(), "serving_default")
    x = np.arange(rows * 64, dtype="f").reshape(rows, 64)
    feeds = calibration_feeds({"x": x}, program)
    np.testing.assert_array_equal(np.concatenate([one["x"] for one in feeds]), x)
    kept, rest, word = held_out(feeds)
    assert kept
    assert rest
    if word == "held-out":
        found = sorted(float(one["x"][0, 0]) for one in [*kept, *rest])
        assert found == [float(one["x"][0, 0]) for one in feeds]
    else:
        assert len(feeds) == 1


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"z": np.ones((4, 64), "f")}, r"must have the inputs \['x'\], got \['z'\]"),
        ({"x": np.ones((4, 63), "f")}, r"has shape \[4, 63\]; must be"),
        ({"x": np.ones(64, "f")}, r"has shape \[64\]"),
        ({"x": np.array([["a"] * 64])}, "is <U1; must be float32"),
        ({"x": np.ones((0, 64), "f")}, "at least one"),
    ],
)
def test_a_calibration_that_does_not_fit(
    folder: Path, tmp_path: Path, arrays: dict[str, np.ndarray], message: str
) -> None:
    np.savez(tmp_path / "c.npz", **arrays)
    with pytest.raises(InvalidArgumentError, match=message):
        export(folder, int8_static=tmp_path / "c.npz")


def test_a_calibration_that_is_none(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="there is no calibration file"):
        export(folder, int8_static=tmp_path / "none.npz")
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04nothing")
    np.save(tmp_path / "one.npy", np.ones(3))
    for name in ("bad.npz", "one.npy"):
        with pytest.raises(InvalidArgumentError, match=r"cannot be read as \.npz"):
            export(folder, int8_static=tmp_path / name)


def test_measuring_refuses_another_shape(folder: Path) -> None:
    plain = export(folder).model
    other = onnx.ModelProto()
    other.CopyFrom(plain)
    name = other.graph.output[0].name
    other.graph.output[0].name = "sum"
    other.graph.node.add(op_type="ReduceSum", input=[name], output=["sum"])
    del other.graph.output[0].type.tensor_type.shape.dim[:]
    other.graph.output[0].type.tensor_type.ClearField("shape")
    sessions = [open_session(one.SerializeToString()) for one in (plain, other)]
    with pytest.raises(FailedPreconditionError, match="as int8 output 'y' is float32"):
        measure("int8", ["y"], [examples(2)], *sessions)


# .ort and the command


@pytest.mark.parametrize("kind", [None, *FORMS])
def test_ort_gives_the_same(folder: Path, tmp_path: Path, kind: str | None) -> None:
    path = tmp_path / "m.onnx"
    report = export(folder, path, ort=True, **({} if kind is None else options(kind)))
    assert report.ort_path == str(tmp_path / "m.ort")
    x = examples(5)
    (a,) = run_session(open_session(path.read_bytes()), x)
    (b,) = run_session(open_session((tmp_path / "m.ort").read_bytes()), x)
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-5 * np.abs(a).max())
    operators = (tmp_path / "m.required_operators_and_types.config").read_text()
    assert re.match(r"[\w.]+;\d+;", operators)
    assert "/" not in operators


def test_ort_needs_a_path(folder: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="path is None"):
        export(folder, ort=True)


def test_an_ort_file_that_differs_is_not_written(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Dense()
    concrete = tf.function(lambda x: {"y": model.serve(x)["y"] * 2})
    spec = tf.TensorSpec([None, 64], tf.float32, name="x")
    other = export(concrete.get_concrete_function(spec)).model.SerializeToString()
    monkeypatch.setattr(artifacts, "to_mobile", lambda _: Mobile(other, ""))
    with pytest.raises(InternalError, match=r"\.ort file differs"):
        export(folder, tmp_path / "m.onnx", ort=True)
    assert not list(tmp_path.iterdir())


def test_the_command_prints_what_it_costs(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "c.npz", **examples(40))
    arguments = ["export", str(folder), str(tmp_path / "m.onnx"), "--int8-static"]
    assert main([*arguments, "--calibration", str(tmp_path / "c.npz"), "--ort"]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"int8_static: [\d,]+ bytes, \d+% of float32", printed)
    assert re.search(r"y: largest difference \S+ \(\S+% of .* SQNR .* top-1 the same", printed)
    assert "m.ort" in printed
    assert main(arguments) == 1
    assert "belong together" in capsys.readouterr().err


def test_the_report_is_json(folder: Path) -> None:
    found = json.loads(json.dumps(export(folder, float16=True).as_dict(), allow_nan=False))
    assert found["variant"]["kind"] == "float16"
    assert found["variant"]["outputs"]["y"]["sqnr_db"] > 40


def test_a_smaller_form_is_told_with_the_rows_it_was_compared_on(
    folder: Path, tmp_path: Path
) -> None:
    made = tmp_path / "small.onnx"
    report = export(folder, made, float16=True, report=tmp_path / "small.md")
    assert report.variant is not None
    (one,) = report.variant.outputs.values()
    assert one.rows >= 100
    told = (tmp_path / "small.md").read_text()
    assert f"of {one.rows} rows" in told
    assert "As float16 it differs from float32 by" in told
    assert f"of {one.rows} rows" in "\n".join(report.variant.lines())
