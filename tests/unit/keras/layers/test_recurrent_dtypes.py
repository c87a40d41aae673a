"""Recurrent layers whose cell has another dtype policy than they have. Numbers: Keras 3.15."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pinnace as tf

L = tf.keras.layers
X = np.linspace(0, 1, 24).reshape(2, 3, 4).astype("float32")
ONES = {"kernel_initializer": "ones", "recurrent_initializer": "ones"}


class Adding(L.Layer):
    def __init__(self, units: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units = self.state_size = units

    def build(self, shape: Any) -> None:
        self.kernel = self.add_weight(shape=(shape[-1], self.units), initializer="ones")

    def call(self, x: Any, states: Any) -> Any:
        found = tf.matmul(x, self.kernel) * 0.3 + states[0]
        return found, [found]


CELLS: dict[str, tuple[Callable[[], Any], float]] = {
    "LSTMCell": (lambda: L.LSTMCell(2, **ONES), 3.71),
    "GRUCell": (lambda: L.GRUCell(2, **ONES), 0.96),
    "stacked": (lambda: [L.LSTMCell(3, **ONES), L.LSTMCell(2, **ONES)], 3.84),
    "own": (lambda: Adding(2), 7.2),
}


@pytest.mark.parametrize("policy", ["mixed_float16", "float16", "float64", "bfloat16"])
@pytest.mark.parametrize("name", CELLS)
def test_outputs_and_states_have_the_layers_dtype(name: str, policy: str) -> None:
    make, total = CELLS[name]
    layer = L.RNN(make(), dtype=policy, return_state=True)
    kind = layer.compute_dtype
    symbolic = layer(tf.keras.Input((3, 4)))
    found = layer(X)
    assert {value.dtype.name for value in tf.nest.flatten(found)} == {kind}
    assert symbolic[0].dtype == kind
    close = 2e-2 if kind == "bfloat16" else 6e-3
    np.testing.assert_allclose(tf.reduce_sum(tf.cast(found[0], "float64")), total, rtol=close)


@pytest.mark.parametrize("policy", ["mixed_float16", "float64"])
def test_a_stateful_layer_keeps_the_cells_dtype(policy: str) -> None:
    layer = L.RNN(Adding(2), dtype=policy, stateful=True)
    first, second = layer(X), layer(X)
    assert second.dtype == layer.compute_dtype
    assert layer.states[0].dtype == "float32"
    np.testing.assert_allclose(tf.cast(second, "float64"), 2 * tf.cast(first, "float64"), rtol=2e-3)


@pytest.mark.parametrize("policy", ["mixed_float16", "float16", "float64"])
def test_bidirectional_merges_in_its_own_dtype(policy: str) -> None:
    layer = L.Bidirectional(L.RNN(L.GRUCell(2, **ONES), dtype=policy), dtype="float32")
    found = layer(X)
    assert found.dtype == "float32"
    assert layer(tf.keras.Input((3, 4))).dtype == "float32"
    np.testing.assert_allclose(tf.reduce_sum(found), 2.01, rtol=6e-3)


def test_such_a_layer_is_trained() -> None:
    layers = [L.RNN(Adding(2), dtype="mixed_float16"), L.Dense(1, dtype="float32")]
    model = tf.keras.Sequential([tf.keras.Input((3, 4)), *layers])
    model.compile(tf.keras.optimizers.SGD(0.001), "mse")
    history = model.fit(X, np.ones((2, 1)), epochs=4, verbose=0).history["loss"]
    assert history[-1] < history[0]
