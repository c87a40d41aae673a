"""LSTM layers as one operator: the results are the layer's, in every run."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace
from pinnace import keras
from pinnace.deploy import lite
from pinnace.deploy.lite import export
from pinnace.deploy.lite.verification.interpreting import WAYS, Interpreter
from pinnace.framework.errors import InvalidArgumentError

pytest.importorskip("ai_edge_litert")

LSTM = "UNIDIRECTIONAL_SEQUENCE_LSTM"
layers = keras.layers


def rows(*sizes: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(sizes).astype(np.float32)


def model_of(*made: Any, sizes: tuple[int | None, ...] = (6, 3)) -> Any:
    keras.utils.set_random_seed(1)
    given = value = keras.Input(sizes)
    for layer in made:
        value = layer(value)
    return keras.Model(given, value)


def check(model: Any, count: int, *arrays: Any) -> lite.LiteReport:
    """Check the number of LSTMs, that there is no loop, and the results of several runs."""
    report = export(model, fused_lstm=True)
    assert report.op_counts.get(LSTM, 0) == count
    assert "WHILE" not in report.op_counts
    assert not report.loops
    assert report.content is not None
    right = np.asarray(model(list(arrays) if len(arrays) > 1 else arrays[0]))
    feeds = dict(zip(report.inputs, arrays, strict=True))
    for way in WAYS:
        interpreter = Interpreter(report.content, way)
        for _ in range(3):
            (found,) = interpreter.run(feeds).values()
            np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-6)
    return report


@pytest.mark.parametrize("units", [1, 4, 37])
@pytest.mark.parametrize("returns", [True, False])
@pytest.mark.parametrize("backwards", [True, False])
def test_a_layer(units: int, returns: bool, backwards: bool) -> None:
    layer = layers.LSTM(units, return_sequences=returns, go_backwards=backwards)
    check(model_of(layer), 1, rows(2, 6, 3))


@pytest.mark.parametrize(("batch", "steps"), [(1, 1), (1, 9), (5, 1), (3, 4)])
def test_any_number_of_examples_and_steps(batch: int, steps: int) -> None:
    model = model_of(layers.LSTM(4, return_sequences=True), sizes=(None, 3))
    check(model, 1, rows(batch, steps, 3))


def test_a_batch_that_is_fixed() -> None:
    model = model_of(layers.LSTM(4))
    report = export(model, shapes={"inputs": [2, 6, 3]}, fused_lstm=True)
    assert report.op_counts[LSTM] == 1
    assert "SHAPE" not in report.op_counts


def test_layers_on_each_other_in_both_directions() -> None:
    both = layers.Bidirectional(layers.LSTM(4, return_sequences=True))
    check(model_of(both, layers.LSTM(2)), 3, rows(2, 6, 3))


def test_cells_on_each_other_in_one_loop() -> None:
    cells = [layers.LSTMCell(3), layers.LSTMCell(5)]
    check(model_of(layers.RNN(cells, return_sequences=True)), 2, rows(2, 6, 3))


def test_without_bias_and_with_dropout_that_drops_nothing() -> None:
    check(model_of(layers.LSTM(4, use_bias=False, dropout=0.5)), 1, rows(2, 6, 3))


def test_a_first_state_that_is_given(tmp_path: Path) -> None:
    given = [keras.Input((6, 3)), keras.Input((4,)), keras.Input((4,))]
    out = layers.LSTM(4, return_sequences=True)(given[0], initial_state=given[1:])
    model = keras.Model(given, out)
    arrays = [rows(2, 6, 3), rows(2, 4, seed=1), rows(2, 4, seed=2)]
    report = check(model, 1, *arrays)
    assert report.content is not None
    (tmp_path / "given.tflite").write_bytes(report.content)
    function = lite.load(tmp_path / "given.tflite")["serving_default"]
    feeds = dict(zip(report.inputs, arrays, strict=True))
    found = np.asarray(next(iter(function(**feeds).values())))
    np.testing.assert_allclose(found, np.asarray(model(arrays)), rtol=1e-5, atol=1e-6)


def test_the_state_of_a_run_is_forgotten_even_if_it_is_no_number() -> None:
    model = model_of(layers.LSTM(4))
    report = export(model, fused_lstm=True)
    assert report.content is not None
    x = rows(2, 6, 3)
    for way in WAYS:
        interpreter = Interpreter(report.content, way)
        (broken,) = interpreter.run({"inputs": np.full_like(x, np.nan)}).values()
        assert np.isnan(broken).all()
        (found,) = interpreter.run({"inputs": x}).values()
        np.testing.assert_allclose(found, np.asarray(model(x)), rtol=1e-5, atol=1e-6)


def test_a_layer_in_a_loop_of_another_kind() -> None:
    layer = layers.LSTM(4)
    layer.build((None, 6, 3))

    @pinnace.function(input_signature=[pinnace.TensorSpec([3, 2, 6, 3], pinnace.float32)])
    def each(x: Any) -> Any:
        return pinnace.map_fn(layer, x, fn_output_signature=pinnace.TensorSpec([2, 4]))

    report = export(each.get_concrete_function(), fused_lstm=True)
    assert (report.op_counts[LSTM], report.op_counts["WHILE"]) == (1, 1)


REFUSED = {
    "its activations are relu and sigmoid": lambda x: layers.LSTM(4, activation="relu")(x),
    "its activations are tanh and hardsigmoid": lambda x: layers.LSTM(
        4, recurrent_activation="hard_sigmoid"
    )(x),
    "it has a mask": lambda x: layers.LSTM(4)(layers.Masking()(x)),
    "the state of its cells after the last step": lambda x: layers.LSTM(4, return_state=True)(x),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_the_operator_is_not_stays_a_loop_and_is_told(reason: str) -> None:
    given = keras.Input((6, 3))
    report = export(keras.Model(given, REFUSED[reason](given)), fused_lstm=True)
    assert LSTM not in report.op_counts
    assert report.op_counts["WHILE"] == 1
    (told,) = report.loops.values()
    assert told.startswith(reason)
    assert any("is a loop, not one operator" in line for line in report.lines())


def test_other_recurrent_layers_stay_loops() -> None:
    for layer in (layers.GRU(4), layers.SimpleRNN(4)):
        report = export(model_of(layer), fused_lstm=True)
        assert report.op_counts["WHILE"] == 1
        assert not report.loops


@pytest.mark.parametrize(("kind", "most"), [("int8", 0.02), ("float16", 0.002)])
def test_weights_of_fewer_bits(kind: str, most: float) -> None:
    model = model_of(layers.LSTM(40, return_sequences=True), layers.LSTM(8))
    report = export(model, fused_lstm=True, **{kind: True})
    assert report.precision is not None
    assert report.precision.bytes_before > 1.5 * report.file_bytes
    assert 0 < report.precision.largest_relative < most
    assert report.op_counts[LSTM] == 2


def test_a_few_weights_stay_as_they_are() -> None:
    report = export(model_of(layers.LSTM(4)), int8=True, fused_lstm=True)
    assert report.precision is not None
    assert report.precision.stayed[LSTM] == ("fewer than 1024 weights in each of its gates", 1)


def bounded(*sizes: int, seed: int = 0) -> Any:
    return np.clip(rows(*sizes, seed=seed), -1.5, 1.5)


WHOLE = {
    "sequences": lambda: model_of(layers.LSTM(8, return_sequences=True)),
    "last": lambda: model_of(layers.LSTM(5)),
    "backwards": lambda: model_of(layers.LSTM(4, go_backwards=True), layers.Dense(3)),
    "both ways and on each other": lambda: model_of(
        layers.Bidirectional(layers.LSTM(4, return_sequences=True)), layers.LSTM(6)
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_layer_of_whole_numbers(name: str, tmp_path: Path) -> None:
    model = WHOLE[name]()
    # One example repeated, so that those held out have the ranges of the others.
    given = np.repeat(bounded(1, 6, 3), 10, 0)
    report = export(model, int8_static={"inputs": given}, fused_lstm=True)
    assert report.content is not None
    assert report.precision is not None
    assert not report.precision.stayed
    assert report.precision.largest_relative < 0.04
    first = Interpreter(report.content).run({"inputs": given[:3]})
    (tmp_path / "whole.tflite").write_bytes(report.content)
    read = lite.load(tmp_path / "whole.tflite")["serving_default"]
    (ours,) = read(inputs=pinnace.constant(given[:3])).values()
    for way in WAYS:
        interpreter = Interpreter(report.content, way)
        for _ in range(2):
            (found,) = interpreter.run({"inputs": given[:3]}).values()
            np.testing.assert_allclose(found, *first.values(), rtol=1e-6)
    # Two steps of 8 bits of the largest: errors of stacked layers add up.
    np.testing.assert_allclose(np.asarray(ours), found, atol=2 * np.abs(found).max() / 127)


def test_what_of_whole_numbers_is_not_written() -> None:
    given = [keras.Input((6, 3)), keras.Input((4,)), keras.Input((4,))]
    model = keras.Model(given, layers.LSTM(4)(given[0], initial_state=given[1:]))
    names = list(export(model, verify=False).inputs)
    examples = [bounded(10, 6, 3), bounded(10, 4), bounded(10, 4)]
    report = export(model, int8_static=dict(zip(names, examples, strict=True)), fused_lstm=True)
    assert report.precision is not None
    assert report.precision.stayed[LSTM] == ("its initial state is not zero", 1)
    one = model_of(layers.LSTM(4))
    report = export(one, int16_static={"inputs": bounded(10, 6, 3)}, fused_lstm=True)
    assert report.precision is not None
    assert report.precision.stayed[LSTM] == ("it is not written in 16 bits", 1)


def test_without_being_asked_for_it_is_a_loop_that_everything_loads() -> None:
    report = export(model_of(layers.LSTM(4)))
    assert (LSTM in report.op_counts, report.op_counts["WHILE"]) == (False, 1)
    assert not report.loops


def test_a_page_has_no_fused_lstm(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"LiteRT\.js loads no operators"):
        export(model_of(layers.LSTM(4)), web=tmp_path / "page", fused_lstm=True)
