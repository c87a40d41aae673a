"""Exports run in TensorFlow.js itself: whole models, and every op with its cases."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections import defaultdict
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import pinnace as tf
from edge.runtimes import GOLDEN, PROGRAMS, SECONDS, record
from pinnace.deploy import tfjs
from pinnace.deploy.program.sources import find_program
from pinnace.deploy.tfjs import exporting
from pinnace.deploy.tfjs.checks.node import NO_SIZE, read_answer, write_feeds
from pinnace.framework import dtypes
from pinnace.framework.errors import InternalError, OpError, UnimplementedError
from support.opcase import OpCase, all_cases, in_dtype, run
from unit.deploy.onnx.case_runs import structural
from unit.deploy.onnx.one_op import arguments, function_of

MODELS = [
    ("keras_cnn", "serving_default"),
    ("keras_separable", "serving_default"),
    ("keras_mlp", "serving_default"),
    ("keras_lstm", "serving_default"),
    ("keras_gru", "serving_default"),
    ("keras_transformer", "serving_default"),
    ("multi_io", "serving_default"),
    ("several_signatures", "a"),
    ("several_signatures", "describe"),
    ("counter", "update"),
    ("dtypes", "floats"),
    ("halves", "serving_default"),
    ("nested", "serving_default"),
    ("poly_module", "serving_default"),
    ("trainer", "predict"),
    ("autograph_flow", "loops"),
    ("autograph_flow", "branches"),
    ("v1_loops", "serving_default"),
    ("v1_recurrent", "serving_default"),
]
BACKENDS = ("cpu", "wasm")
# Ops for which a backend gives another result, and the reason; each is a fault of TensorFlow.js.
KNOWN: dict[str, str] = {}
_TOLERANCE = 2e-5
_EXAMPLES = int(os.environ.get("EDGE_EXAMPLES") or 3)  # for each op
_CHUNK = 200  # a kernel that fails in WebAssembly makes the following models fail, too


@pytest.fixture(scope="session")
def modules() -> Path:
    """The folder of the packages."""
    found = os.environ.get("PINNACE_EDGE_MODULES")
    if not found:
        pytest.fail("PINNACE_EDGE_MODULES is not set. Try: make edge")
    return Path(found)


@pytest.mark.parametrize(("name", "signature"), MODELS)
def test_it_agrees(modules: Path, tmp_path: Path, name: str, signature: str) -> None:
    source = GOLDEN / name / "model"
    report = tfjs.export(source, tmp_path / "m", signature, runtime=modules)
    assert set(report.checked) == set(BACKENDS)
    assert report.batches > 1
    worst = max((share for _, share in report.differences.values()), default=0.0)
    for backend in BACKENDS:
        record(f"{name}:{signature}", f"tfjs.{backend}", {"ok": True, "relative": worst})


@pytest.mark.parametrize("kind", ["float16", "uint8", "uint16"])
def test_quantised_weights_are_read_as_here(modules: Path, tmp_path: Path, kind: Any) -> None:
    source = GOLDEN / "keras_cnn" / "model"
    report = tfjs.export(source, tmp_path / "m", runtime=modules, quantize=kind)
    assert set(report.checked) == set(BACKENDS)
    assert 0 < max(share for _, share in report.quantized_differences.values()) < 0.05
    assert not (tmp_path / "m" / "exact").exists()


def test_a_wrong_weight_is_found(
    modules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = exporting.write_weights

    def wrong(folder: Path, weights: Any, *rest: Any) -> Any:
        changed = {
            name: value + 0.01 if value.dtype == np.float32 else value
            for name, value in weights.items()
        }
        return write(folder, changed, *rest)

    monkeypatch.setattr(exporting, "write_weights", wrong)
    with pytest.raises(InternalError, match=r"differs by .* in TensorFlow\.js \(cpu\)"):
        tfjs.export(GOLDEN / "keras_mlp" / "model", tmp_path / "m", runtime=modules)
    assert not (tmp_path / "m").exists()


def test_what_a_backend_lacks_is_told(modules: Path, tmp_path: Path) -> None:
    f = tf.function(
        lambda x: tf.abs(tf.signal.fft(tf.cast(x, tf.complex64))),
        input_signature=[tf.TensorSpec([2, 8], name="x")],
    )
    report = tfjs.export(f.get_concrete_function(), tmp_path / "m", runtime=modules)
    assert set(report.checked) == {"cpu"}
    assert set(report.lacking) == {"wasm"}
    assert any("does not run on wasm" in line for line in report.lines())


def test_a_sample_is_what_is_compared(modules: Path, tmp_path: Path) -> None:
    source = GOLDEN / "keras_mlp" / "model"
    sample = {"features": np.ones((5, 8), np.float32)}
    report = tfjs.export(source, tmp_path / "m", runtime=modules, sample=sample)
    assert report.compared == {"sample": 1}


# Every op.


class Written:
    """The models of all cases, and their expected outputs."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.seed = seed
        self.wanted: dict[str, tuple[str, list[str], list[Any]]] = {}
        for case in all_cases():
            self._draw(case)

    def _draw(self, case: OpCase) -> None:
        @seed(self.seed)
        @settings(
            max_examples=_EXAMPLES,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(data=st.data())
        def write(data: st.DataObject) -> None:
            xs, attrs = case.draw(data)
            kinds = [d for d in case.float_dtypes() if d in (dtypes.float32, dtypes.float64)]
            xs = in_dtype(xs, data.draw(st.sampled_from(kinds or list(case.float_dtypes()))))
            # Numbers that float32 cannot represent differ there; empty tensors are not supported.
            xs = tuple(_as_there(x) for x in xs)
            try:
                wanted = run(case, xs, attrs)
            except OpError:
                return
            if any(not np.size(x) for x in (*_flat(xs), *wanted)):
                return
            known = data.draw(st.booleans())
            for constants in (structural(case, xs), set(range(1, len(xs)))):
                self._write(case, xs, attrs, wanted, known, constants)

        write()

    def _write(
        self, case: OpCase, xs: Any, attrs: Any, wanted: Any, known: bool, constants: set[int]
    ) -> None:
        f = function_of(case.op, xs, attrs, sizes_known=known, constants=constants)
        place = self.folder / str(len(self.wanted) // _CHUNK) / str(len(self.wanted))
        place.parent.mkdir(exist_ok=True)
        try:
            tfjs.export(f, place, verify=False)
        except UnimplementedError:
            return
        program = find_program(f, "serving_default")
        write_feeds(place, [dict(zip(program.inputs, arguments(xs, constants), strict=True))])
        parts = [
            part
            for y in map(np.asarray, wanted)
            for part in ((y.real, y.imag) if y.dtype.kind == "c" else (y,))
        ]
        self.wanted[place.name] = (case.op, list(program.outputs), parts)


def _flat(xs: Any) -> list[Any]:
    return [part for x in xs for part in (x if isinstance(x, tuple) else (x,))]


def _as_there(x: Any) -> Any:
    if isinstance(x, tuple):
        return tuple(map(_as_there, x))
    if x.dtype == np.float64:
        return np.where(np.abs(x) < 1e-30, 0.0, x)
    return x


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """All models, written once."""
    number = int(os.environ.get("EDGE_SEED") or secrets.randbelow(1 << 32))
    return Written(tmp_path_factory.mktemp("tfjs_ops"), number)


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_op_is_what_its_kernel_computes(
    written: Written, modules: Path, backend: str
) -> None:
    check = resources.files("pinnace.deploy.tfjs.checks") / "check.mjs"
    wrong: dict[str, list[str]] = defaultdict(list)
    ran = set()
    for chunk in sorted(written.folder.iterdir()):
        for old in chunk.glob("*/outputs.*"):
            old.unlink()
        subprocess.run(
            ["node", PROGRAMS / "tfjs_ops.mjs", str(check), backend, chunk, modules],
            check=True,
            timeout=SECONDS,
        )
        for place in chunk.iterdir():
            op, names, wanted = written.wanted[place.name]
            problem = _problem(place, backend, names, wanted)
            if problem is None:
                ran.add(op)
            elif problem:
                wrong[op].append(problem)
    assert len(ran) > 120
    told = [f"{op}: {problems[0]}" for op, problems in wrong.items() if op not in KNOWN]
    assert not told, "\n".join([*told, f"the same again: make edge EDGE_SEED={written.seed}"])


def _problem(place: Path, backend: str, names: list[str], wanted: list[Any]) -> str | None:
    """The problem; "" if TensorFlow.js itself refuses the op, None if there is none."""
    try:
        answer = read_answer(place, backend)
    except InternalError:
        return ""
    if answer.lacking:
        return ""
    if isinstance(answer.results[0], str):
        is_silent = answer.results[0].startswith(NO_SIZE)
        return f"{place}: {answer.results[0]}" if is_silent else ""
    for name, right in zip(names, wanted, strict=True):
        got = answer.results[0][name]
        if got.shape != right.shape:
            return f"{place}: shape {got.shape} for {right.shape}"
        if right.dtype == object:
            texts = [t if isinstance(t, bytes) else str(t).encode() for t in right.reshape(-1)]
            if texts != list(got.reshape(-1)):
                return f"{place}: other strings"
            continue
        a, b = right.astype(np.float64), got.astype(np.float64)
        finite = np.isfinite(a)
        size = float(np.max(np.abs(a[finite]), initial=0))
        beyond = size > 1e37
        if not beyond and (
            (np.isnan(a) != np.isnan(b)).any() or (np.isinf(a) != np.isinf(b)).any()
        ):
            return f"{place}: {a.reshape(-1)[:4]} became {b.reshape(-1)[:4]}"
        gap = np.abs(a[finite] - b[finite])
        gap = gap[np.isfinite(gap)]
        allowed = 0.0 if right.dtype.kind in "biu" else _TOLERANCE * max(size, 1e-30)
        if gap.size and not beyond and gap.max() > allowed:
            return f"{place}: differs by {gap.max():.3g} of {size:.3g}"
    return None


def test_the_list_of_ops_is_that_of_the_package(modules: Path) -> None:
    tool = Path(__file__).parents[2] / "tools" / "tfjs_ops.mjs"
    found = subprocess.run(
        ["node", tool, modules], check=True, capture_output=True, text=True, timeout=SECONDS
    )
    kept = resources.files("pinnace.deploy.tfjs.facts") / "ops.json"
    assert found.stdout == kept.read_text(), "Try: node tools/tfjs_ops.mjs NODE_MODULES > ops.json"
    assert shutil.which("node")


# Layers models.


def _layers(name: str) -> Any:
    layers = tf.keras.layers
    tf.keras.utils.set_random_seed(2)
    if name == "pictures":
        return tf.keras.Sequential(
            [
                tf.keras.Input([12, 12, 3], name="image"),
                layers.Rescaling(1 / 127.5, offset=-1),
                layers.ZeroPadding2D(1),
                layers.Conv2D(4, 3, strides=2, activation="relu6"),
                layers.BatchNormalization(),
                layers.SeparableConv2D(6, 3, padding="same"),
                layers.LeakyReLU(negative_slope=0.1),
                layers.DepthwiseConv2D(2),
                layers.PReLU(shared_axes=[1, 2]),
                layers.UpSampling2D(2),
                layers.Cropping2D(1),
                layers.Conv2DTranspose(3, 2, strides=2),
                layers.MaxPooling2D(2, padding="same"),
                layers.AveragePooling2D(2),
                layers.GlobalMaxPooling2D(),
                layers.Dense(5, activation="gelu"),
                layers.LayerNormalization(),
                layers.Dense(2, activation="softmax"),
            ]
        )
    ids = tf.keras.Input([9], name="ids", dtype="int32")
    x = layers.Embedding(20, 6, mask_zero=name == "masked")(ids)
    if name == "masked":
        x = layers.LSTM(4)(x)
        return tf.keras.Model(ids, layers.Dense(2)(x))
    x = layers.Bidirectional(layers.LSTM(4, return_sequences=True))(x)
    x = layers.GRU(5, reset_after=False, return_sequences=True)(x)
    y = layers.SimpleRNN(5, go_backwards=True, return_sequences=True)(x)
    x = layers.Concatenate()([layers.Multiply()([x, y]), layers.Average()([x, y])])
    x = layers.TimeDistributed(layers.Dense(4, activation="mish"))(x)
    x = layers.Conv1D(3, 2, activation="selu")(x)
    return tf.keras.Model(ids, [layers.GlobalAveragePooling1D()(x), layers.Flatten()(x)])


@pytest.mark.parametrize("name", ["pictures", "masked", "recurrent"])
def test_layers_agree(modules: Path, tmp_path: Path, name: str) -> None:
    report = tfjs.export_layers(_layers(name), tmp_path / "m", runtime=modules)
    assert "cpu" in report.checked
    assert report.batches > 1


@pytest.mark.parametrize("kind", ["float16", "uint8"])
def test_quantised_layers_are_read_as_here(modules: Path, tmp_path: Path, kind: Any) -> None:
    report = tfjs.export_layers(
        _layers("recurrent"), tmp_path / "m", runtime=modules, quantize=kind
    )
    assert "cpu" in report.checked
