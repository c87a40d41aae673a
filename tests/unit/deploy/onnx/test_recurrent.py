"""Recurrent layers: one operator each, with any options; otherwise a loop."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pinnace as tf
from pinnace.deploy.onnx import ExportReport, export
from pinnace.keras import layers
from unit.deploy.onnx.one_op import Array, run_model

KINDS = {"LSTM": layers.LSTM, "GRU": layers.GRU, "RNN": layers.SimpleRNN}
every_kind = pytest.mark.parametrize("kind", KINDS)
# Every example exports a model and creates two sessions.
few = settings(max_examples=max(3, settings().max_examples // 10))
UNITS, COLUMNS = 3, 4


def network(*stack: Any, steps: int | None = 5, dtype: str = "float32") -> Any:
    model = tf.keras.Sequential([tf.keras.Input((steps, COLUMNS), dtype=dtype), *stack])
    rng = np.random.default_rng(0)
    for weight in model.weights:
        weight.assign(rng.standard_normal(weight.shape) * 0.5)
    return model


def recurrent(report: ExportReport) -> dict[str, int]:
    names = (*KINDS, "Loop", "Scan")
    return {name: report.op_counts[name] for name in names if name in report.op_counts}


def assert_as_the_model(report: ExportReport, model: Any, *xs: Array) -> None:
    """ONNX Runtime agrees with the eager layers, which run step by step."""
    results = run_model(report, list(xs))
    wanted = model(*[tf.constant(x) for x in xs]) if len(xs) == 1 else model(list(xs))
    wanted = wanted if isinstance(wanted, (list, tuple)) else [wanted]
    for got, right in zip(results, wanted, strict=True):
        np.testing.assert_allclose(got, np.asarray(right), rtol=0, atol=2e-5)


def sequences(seed: int, batch: int, steps: int) -> Array:
    return np.random.default_rng(seed).standard_normal((batch, steps, COLUMNS)).astype("f4")


options = st.fixed_dictionaries(
    {
        "return_sequences": st.booleans(),
        "go_backwards": st.booleans(),
        "use_bias": st.booleans(),
        "activation": st.sampled_from(
            ["tanh", "relu", "sigmoid", "softsign", "softplus", "elu", "hard_sigmoid", "linear"]
        ),
    }
)


@every_kind
@few
@given(given_options=options, data=st.data())
def test_a_layer_is_one_operator(kind: str, given_options: dict[str, Any], data: Any) -> None:
    if kind != "RNN":
        sharp = data.draw(st.sampled_from(["sigmoid", "hard_sigmoid"]), "recurrent activation")
        given_options = {**given_options, "recurrent_activation": sharp}
    if kind == "GRU":
        given_options["reset_after"] = data.draw(st.booleans(), "reset_after")
    steps = data.draw(st.sampled_from([None, 5]), "steps")
    model = network(KINDS[kind](UNITS, **given_options), steps=steps)
    report = export(model)
    linear_gru = kind == "GRU" and given_options["activation"] == "linear"
    assert recurrent(report) == {"Loop": 1} if linear_gru else {kind: 1}
    assert_as_the_model(report, model, sequences(1, 2, 5))


@every_kind
@few
@given(data=st.data())
def test_masks_of_any_form_are_lengths(kind: str, data: Any) -> None:
    mask = data.draw(
        st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=1, max_size=3)
    )
    settings = data.draw(
        st.fixed_dictionaries(
            {
                "return_sequences": st.booleans(),
                "go_backwards": st.booleans(),
                "zero_output_for_mask": st.booleans(),
            }
        )
    )
    model = network(layers.Masking(), KINDS[kind](UNITS, **settings))
    report = export(model)
    assert recurrent(report) == {kind: 1}
    x = sequences(2, len(mask), 5) * np.array(mask)[:, :, None]
    assert_as_the_model(report, model, x.astype("f4"))


@every_kind
@pytest.mark.parametrize("is_masked", [False, True])
@pytest.mark.parametrize("merge", ["concat", "sum", "ave"])
@pytest.mark.parametrize("whole", [False, True])
def test_both_directions_are_one_operator(
    kind: str, is_masked: bool, merge: str, whole: bool
) -> None:
    layer = layers.Bidirectional(KINDS[kind](UNITS, return_sequences=whole), merge_mode=merge)
    model = network(*([layers.Masking()] if is_masked else []), layer)
    report = export(model)
    assert recurrent(report) == {kind: 1}
    x = sequences(3, 3, 5)
    x[0, 3:] = x[1, 1] = x[2] = 0
    assert_as_the_model(report, model, x)


def test_two_directions_beside_each_other_cost_no_more_than_their_order() -> None:
    model = network(layers.Bidirectional(layers.LSTM(UNITS, return_sequences=True)))
    assert export(model).op_counts == {"LSTM": 1, "Reshape": 1, "Transpose": 2}


@every_kind
def test_layers_on_top_of_each_other(kind: str) -> None:
    model = network(KINDS[kind](UNITS, return_sequences=True), KINDS[kind](2))
    report = export(model)
    assert recurrent(report) == {kind: 2}
    assert report.transposes == 1


@every_kind
@pytest.mark.parametrize("is_masked", [False, True])
def test_states_that_are_given(kind: str, is_masked: bool) -> None:
    x = tf.keras.Input((None, COLUMNS))
    count = 2 if kind == "LSTM" else 1
    states = [tf.keras.Input((UNITS,)) for _ in range(count)]
    mask = tf.keras.Input((None,), dtype="bool") if is_masked else None
    layer = KINDS[kind](UNITS, return_sequences=True, return_state=True)
    outputs = layer(x, initial_state=states if count > 1 else states[0], mask=mask)
    rng = np.random.default_rng(4)
    given_arrays = [
        sequences(4, 3, 4),
        *(rng.standard_normal((3, UNITS)).astype("f4") for _ in states),
    ]
    if is_masked:
        given_arrays.append(np.array([[1, 1, 0, 0], [0, 0, 0, 0], [1, 0, 0, 1]], bool))
    model = tf.keras.Model([x, *states, *([mask] if is_masked else [])], outputs)
    report = export(model)
    assert recurrent(report) == {kind: 1}
    assert_as_the_model(report, model, *given_arrays)


@pytest.mark.parametrize("cells", [("LSTM", "LSTM"), ("GRU", "LSTM"), ("RNN", "GRU")])
def test_cells_of_one_loop(cells: tuple[str, ...]) -> None:
    made = {"LSTM": layers.LSTMCell, "GRU": layers.GRUCell, "RNN": layers.SimpleRNNCell}
    model = network(layers.RNN([made[name](UNITS) for name in cells], return_sequences=True))
    report = export(model)
    assert "Loop" not in recurrent(report)
    assert sum(recurrent(report).values()) == 2
    assert_as_the_model(report, model, sequences(5, 2, 5))


def test_a_cell_of_ones_own_stays_a_loop() -> None:
    class Cell(layers.Layer):  # type: ignore[misc, name-defined]
        state_size = UNITS

        def build(self, shape: Any) -> None:
            del shape
            self.w = self.add_weight((COLUMNS, UNITS), name="w")

        def call(self, x: Any, states: Any) -> Any:
            new = tf.sin(x @ self.w) + states[0] * states[0]
            return new, [new]

    model = network(layers.RNN(Cell()))
    assert recurrent(export(model)) == {"Loop": 1}


@every_kind
@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_other_precisions_stay_a_loop(kind: str, dtype: str) -> None:
    # ONNX Runtime has recurrent operators for float32 only.
    layer = KINDS[kind](UNITS, dtype=dtype, recurrent_initializer="glorot_uniform")
    model = network(layer, dtype=dtype)
    assert recurrent(export(model)) == {"Loop": 1}
