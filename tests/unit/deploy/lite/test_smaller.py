"""Quantised files: smaller, close to float32, with the requested input and output types."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

import pinnace as tf
from pinnace.deploy.lite import export
from pinnace.deploy.lite.verification.interpreting import WAYS, Interpreter
from pinnace.framework.errors import InvalidArgumentError, NotFoundError
from unit.deploy.lite.test_models import GOLDEN

pytest.importorskip("ai_edge_litert")


def pictures() -> np.ndarray:
    return load_digits().images.astype(np.float32)[:320, ..., np.newaxis]


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classifier of digits, so that the effect of fewer bits shows in real predictions."""
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            tf.keras.Input((8, 8, 1), name="image"),
            layers.Rescaling(1 / 16),
            layers.Conv2D(16, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(160, activation="relu"),
            layers.Dense(10, activation="softmax"),
        ]
    )
    tf.keras.utils.set_random_seed(1)
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    known = load_digits()
    found = model.fit(
        known.images[..., np.newaxis].astype(np.float32), known.target, epochs=12, verbose=0
    )
    assert found.history["accuracy"][-1] > 0.97
    folder = tmp_path_factory.mktemp("digits")
    model.export(folder, verbose=False)
    return folder


@pytest.fixture(scope="module")
def answers(digits: Path) -> np.ndarray:
    report = export(digits, verify=False)
    assert report.content is not None
    return Interpreter(report.content).run({"image": pictures()})["output_0"]


@pytest.mark.parametrize(
    ("options", "share", "most"),
    [
        ({"float16": True}, 0.55, 1e-3),
        ({"int8": True}, 0.32, 2e-2),
        ({"int8_static": "pictures"}, 0.32, 6e-2),
        ({"int16_static": "pictures"}, 0.32, 1e-2),
    ],
    ids=["float16", "int8", "int8_static", "int16_static"],
)
def test_a_smaller_file_answers_alike(
    options: dict[str, object], share: float, most: float, digits: Path, answers: np.ndarray
) -> None:
    options = {
        key: {"image": pictures()[:128]} if given == "pictures" else given
        for key, given in options.items()
    }
    report = export(digits, **options)  # type: ignore[arg-type]
    assert report.precision is not None
    assert report.content is not None
    assert report.file_bytes < share * report.precision.bytes_before
    for way in WAYS:
        found = Interpreter(report.content, way).run({"image": pictures()})["output_0"]
        assert np.max(np.abs(found - answers)) < most * 5
        agree = np.mean(np.argmax(found, -1) == np.argmax(answers, -1))
        assert agree >= 0.99, way


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16"])
def test_inputs_and_outputs_of_whole_numbers(kind: str, digits: Path, answers: np.ndarray) -> None:
    width = "int16_static" if kind == "int16" else "int8_static"
    given: dict[str, Any] = {width: {"image": pictures()[:128]}}
    report = export(digits, **given, input_type=kind, output_type=kind)
    assert report.content is not None
    from ai_edge_litert.interpreter import Interpreter as Theirs

    inner = Theirs(model_content=report.content)
    (asked,), (told,) = inner.get_input_details(), inner.get_output_details()
    assert asked["dtype"] == told["dtype"] == np.dtype(kind)
    scale, zero = asked["quantization"]
    levels = np.clip(np.rint(pictures() / scale) + zero, *_limits(kind)).astype(kind)
    found = Interpreter(report.content).run({"image": levels})["output_0"]
    agree = np.mean(np.argmax(found, -1) == np.argmax(answers, -1))
    assert agree >= 0.99


def _limits(kind: str) -> tuple[int, int]:
    info = np.iinfo(kind)
    return int(info.min), int(info.max)


def test_the_same_examples_give_the_same_bytes(digits: Path) -> None:
    given = {"image": pictures()[:64]}
    first, second = (export(digits, int8_static=given).content for _ in range(2))
    assert first == second


def test_loops_and_attention_keep_their_answers() -> None:
    for name in ("keras_gru", "keras_transformer"):
        for options in ({"float16": True}, {"int8": True}):
            report = export(GOLDEN / name / "model", **options)  # type: ignore[arg-type]
            assert report.precision is not None
            assert report.precision.largest_relative < 0.05


def test_a_recurrent_layer_that_stays_float32_is_told() -> None:
    model = GOLDEN / "keras_lstm" / "model"
    rows = np.random.default_rng(0).standard_normal((20, 7, 5)).astype(np.float32)
    report = export(model, verify=False, int8_static={"seq": rows})
    assert report.precision is not None
    told = "loops and branches, including recurrent layers, are not quantised"
    assert report.precision.stayed["WHILE"] == (told, 2)


def test_examples_that_do_not_fit_are_refused(digits: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="must have the inputs"):
        export(digits, int8_static={"picture": pictures()})
    with pytest.raises(NotFoundError, match="no calibration file"):
        export(digits, int8_static="nowhere.npz")
    with pytest.raises(InvalidArgumentError, match="needs int8_static"):
        export(digits, input_type="int8")
    with pytest.raises(InvalidArgumentError, match="needs int16_static"):
        export(digits, int8_static={"image": pictures()}, input_type="int16")
    with pytest.raises(InvalidArgumentError, match="must be float32, int8, uint8 or int16"):
        export(digits, int16_static={"image": pictures()}, input_type="int32")
    with pytest.raises(InvalidArgumentError, match="one precision, got int8_static and int16"):
        export(digits, int8_static={}, int16_static={})
    with pytest.raises(InvalidArgumentError, match="one precision"):
        export(digits, float16=True, int8=True)


def test_what_a_loop_does_not_compute_has_no_range() -> None:
    """LiteRT leaves the memory of unused outputs of a loop uninitialised."""
    rows = np.random.default_rng(0).standard_normal((20, 7, 5)).astype(np.float32)
    for _ in range(12):
        for size in (100, 1000, 10_000, 100_000):
            np.full(size, np.nan, np.float32)  # in memory that is freed again
        report = export(GOLDEN / "keras_lstm" / "model", verify=False, int8_static={"seq": rows})
        assert report.precision is not None
