"""Recurrent layers beyond Keras's recorded results: formulas, states, custom cells, loops."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import pinnace as tf
from pinnace import keras
from pinnace.keras import layers
from support.check_layer import check_layer
from support.fresh_process import run_fresh

F = NDArray[np.float64]


def sigmoid(x: F) -> F:
    return 1 / (1 + np.exp(-x))


def lstm(x: F, kernel: F, recurrent: F, bias: F) -> F:
    """The last output, by the formula."""
    h = c = np.zeros((len(x), len(recurrent)))
    for t in range(x.shape[1]):
        i, f, g, o = np.split(x[:, t] @ kernel + h @ recurrent + bias, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
    return h


def gru(x: F, kernel: F, recurrent: F, bias: F) -> F:
    """All outputs, by the formula with the reset gate after the product."""
    h = np.zeros((len(x), len(recurrent)))
    found = []
    for t in range(x.shape[1]):
        x_z, x_r, x_h = np.split(x[:, t] @ kernel + bias[0], 3, axis=1)
        h_z, h_r, h_h = np.split(h @ recurrent + bias[1], 3, axis=1)
        z = sigmoid(x_z + h_z)
        h = z * h + (1 - z) * np.tanh(x_h + sigmoid(x_r + h_r) * h_h)
        found.append(h)
    return np.stack(found, 1)


def simple(x: F, kernel: F, recurrent: F, bias: F) -> F:
    h = np.zeros((len(x), len(recurrent)))
    for t in range(x.shape[1]):
        h = np.tanh(x[:, t] @ kernel + h @ recurrent + bias)
    return h


def test_lstm() -> None:
    weights = {"kernel": [4, 12], "recurrent_kernel": [3, 12], "bias": [12]}
    check_layer(layers.LSTM(3), "float32[?, 5, 4]", reference=lstm)
    layer = layers.LSTM(3, name="one")
    layer.build((None, None, 4))
    found = {v.path.removeprefix("one/lstm_cell/"): list(v.shape) for v in layer.weights}
    assert found == weights


def test_gru() -> None:
    check_layer(layers.GRU(3, return_sequences=True), "float32[?, ?, 4]", reference=gru)


def test_simple_rnn() -> None:
    check_layer(layers.SimpleRNN(3), "float32[2, 4, 3]", reference=simple)


@pytest.mark.parametrize(
    "make",
    [
        lambda: layers.GRU(3, reset_after=False, return_state=True),
        lambda: layers.LSTM(3, unroll=True, go_backwards=True, return_sequences=True),
        lambda: layers.RNN([layers.LSTMCell(3), layers.GRUCell(2)], return_state=True),
        lambda: layers.Bidirectional(layers.LSTM(2, return_sequences=True), merge_mode="mul"),
        lambda: layers.Bidirectional(layers.GRU(2, return_state=True), merge_mode=None),
        lambda: layers.TimeDistributed(layers.Dense(3, "tanh")),
        lambda: layers.TimeDistributed(layers.BatchNormalization()),
    ],
    ids=["gru", "lstm", "stacked", "bidirectional", "both", "dense", "normalization"],
)
def test_every_layer_holds_what_layers_must(make: Any) -> None:
    check_layer(make(), "float32[?, 4, 3]")


@pytest.mark.parametrize("make", [layers.SimpleRNNCell, layers.LSTMCell, layers.GRUCell])
def test_a_cell_by_itself_is_a_step_of_its_layer(make: Any) -> None:
    x = np.random.default_rng(1).standard_normal((2, 3, 4)).astype(np.float32)
    layer = layers.RNN(make(5), return_state=True)
    whole = layer(x)
    states = layer.cell.get_initial_state(batch_size=2)
    for t in range(3):
        output, states = layer.cell(tf.constant(x[:, t]), states)
    np.testing.assert_allclose(output, whole[0], rtol=1e-6, atol=1e-6)
    for one, other in zip(states, whole[1:], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


class DynamicRNN(keras.Model):
    """The loop of the TensorFlow 2 guide."""

    def __init__(self, rnn_cell: Any) -> None:
        super().__init__(self)
        self.cell = rnn_cell

    def call(self, input_data: Any) -> Any:
        input_data = tf.transpose(input_data, [1, 0, 2])
        outputs = tf.TensorArray(tf.float32, input_data.shape[0])
        state = self.cell.zero_state(input_data.shape[1], dtype=tf.float32)
        for i in tf.range(input_data.shape[0]):
            output, state = self.cell(input_data[i], state)
            outputs = outputs.write(i, output)
        return tf.transpose(outputs.stack(), [1, 0, 2]), state


@pytest.mark.parametrize("make", [layers.SimpleRNNCell, layers.LSTMCell, layers.GRUCell])
def test_the_guides_dynamic_rnn(make: Any) -> None:
    x = np.random.default_rng(1).standard_normal((2, 6, 4)).astype(np.float32)
    cell = make(3)
    model = DynamicRNN(cell)
    eager, state = model(tf.constant(x))
    wanted = layers.RNN(cell, return_sequences=True, return_state=True)(x)
    np.testing.assert_allclose(eager, wanted[0], rtol=1e-6, atol=1e-6)
    traced, last = tf.function(model)(tf.constant(x))
    np.testing.assert_allclose(traced, wanted[0], rtol=1e-6, atol=1e-6)
    for one, other, expected in zip(state, last, wanted[1:], strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(other, expected, rtol=1e-6, atol=1e-6)


def test_a_batch_size_that_nobody_knows_is_asked_for() -> None:
    with pytest.raises(ValueError, match="batch_size must be known"):
        layers.LSTMCell(3).zero_state(None, tf.float32)


class Decaying(layers.Layer):
    """A custom cell: decaying sums."""

    state_size = 4

    def build(self, input_shape: Any) -> None:
        self.rate = self.add_weight(shape=(input_shape[-1],), initializer="ones", name="rate")

    def call(self, inputs: Any, states: Any) -> Any:
        new = 0.5 * states[0] + inputs * self.rate
        return new * 2, [new]


class Counting:
    """A custom cell that is not a layer."""

    state_size = 1
    output_size = 1

    def call(self, inputs: Any, states: Any) -> Any:
        count = states[0] + tf.reduce_sum(inputs, 1, keepdims=True)
        return count, [count]


def test_cells_of_users() -> None:
    x = np.random.default_rng(1).standard_normal((2, 6, 4)).astype(np.float32)
    sums = np.zeros((2, 4))
    for t in range(6):
        sums = 0.5 * sums + x[:, t]
    layer = layers.RNN(Decaying(), return_state=True, name="fading")
    output, state = layer(x)
    np.testing.assert_allclose(output, 2 * sums, rtol=1e-5)
    np.testing.assert_allclose(state, sums, rtol=1e-5)
    assert [v.path for v in layer.weights] == ["fading/decaying/rate"]
    traced = tf.function(layer, reduce_retracing=True)
    for length in (6, 5, 4):
        wanted = layer(x[:, :length])
        np.testing.assert_allclose(traced(tf.constant(x[:, :length]))[0], wanted[0], rtol=1e-6)
    counted = layers.RNN(Counting(), return_sequences=True)(x)
    np.testing.assert_allclose(counted[..., 0], np.cumsum(x.sum(-1), 1), rtol=1e-5, atol=1e-6)


def test_a_functional_model_with_states_between_layers() -> None:
    """Encoder and decoder: the final states of one are the initial ones of the other."""
    keras.utils.set_random_seed(2)
    sources, targets = keras.Input((None, 3)), keras.Input((None, 2))
    _, *states = layers.LSTM(4, return_state=True)(sources)
    decoded = layers.LSTM(4, return_sequences=True)(targets, initial_state=states)
    model = keras.Model([sources, targets], layers.Dense(1)(decoded))
    assert model.output_shape == (None, None, 1)
    generator = np.random.default_rng(0)
    x = generator.standard_normal((8, 5, 3)).astype(np.float32)
    y = generator.standard_normal((8, 6, 2)).astype(np.float32)
    truth = np.cumsum(y.sum(-1, keepdims=True), 1) + x.sum((1, 2))[:, None, None]
    model.compile("adam", "mse")
    before = model.evaluate([x, y], truth, verbose=0)
    model.fit([x, y], truth, epochs=20, verbose=0)
    assert model.evaluate([x, y], truth, verbose=0) < before
    copy = keras.models.clone_model(model)
    copy.set_weights(model.get_weights())
    np.testing.assert_allclose(copy([x, y]), model([x, y]), rtol=1e-6)


def test_stateful_layers_go_on_where_they_were() -> None:
    x = np.random.default_rng(1).standard_normal((2, 6, 4)).astype(np.float32)
    layer = layers.GRU(3, stateful=True)
    whole = layer(x).numpy()
    layer.reset_states()
    layer(x[:, :2])
    np.testing.assert_allclose(layer(x[:, 2:]), whole, rtol=1e-6)
    layer.reset_state()
    call = tf.function(lambda x: layer(x))
    call(tf.constant(x[:, :3]))
    # Tables sum in another order than eager ops.
    np.testing.assert_allclose(call(tf.constant(x[:, 3:])), whole, rtol=1e-6, atol=1e-6)
    assert len(layer.weights) == 3
    with pytest.raises(ValueError, match="batches of 2"):
        layer(x[:1])
    layer.reset_states([np.ones((2, 3), np.float32)])
    np.testing.assert_array_equal(layer.states[0].numpy(), np.ones((2, 3)))
    with pytest.raises(AttributeError, match="stateful"):
        layers.GRU(3).reset_states()
    with pytest.raises(ValueError, match="batch size must be known"):
        keras.Sequential([keras.Input((None, 3)), layers.LSTM(2, stateful=True)])


def test_a_stateful_model_is_saved_with_its_states(tmp_path: Any) -> None:
    x = np.random.default_rng(1).standard_normal((2, 6, 4)).astype(np.float32)
    model = keras.Sequential([keras.Input(batch_shape=(2, 3, 4)), layers.LSTM(3, stateful=True)])
    model(x[:, :3])
    tf.saved_model.save(model, str(tmp_path / "model"))
    wanted = model(x[:, 3:]).numpy()
    served = tf.saved_model.load(str(tmp_path / "model")).signatures["serving_default"]
    (name,) = served.structured_input_signature[1]
    (found,) = served(**{name: tf.constant(x[:, 3:])}).values()
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)


def test_dropout_drops_the_same_in_all_steps_and_nothing_in_use() -> None:
    x = np.ones((4, 7, 6), np.float32)
    cell = layers.SimpleRNNCell(
        6, "linear", kernel_initializer="identity", recurrent_initializer="zeros", dropout=0.5
    )
    layer = layers.RNN(cell, return_sequences=True)
    for call in (layer, tf.function(layer)):
        y = np.asarray(call(tf.constant(x), training=True))
        assert set(np.unique(y)) == {0.0, 2.0}
        assert (y == y[:, :1]).all()
        assert not np.array_equal(y, call(tf.constant(x), training=True))
        np.testing.assert_array_equal(call(tf.constant(x), training=False), x)


def test_a_cell_keeps_its_dropout_until_it_is_told_otherwise() -> None:
    cell = layers.LSTMCell(6, dropout=0.5)
    x, states = tf.ones((4, 5)), cell.zero_state(4, tf.float32)
    first = cell(x, states, training=True)[0].numpy()
    np.testing.assert_array_equal(cell(x, states, training=True)[0], first)
    cell.reset_dropout_mask()
    assert not np.array_equal(cell(x, states, training=True)[0], first)
    # Random tensors of a graph do not leak out of it.
    tf.function(lambda: cell(x, states, training=True)[0])()
    cell(x, states, training=True)


@pytest.mark.parametrize("make", [layers.SimpleRNN, layers.LSTM, layers.GRU])
def test_gradients_of_graph_and_python_are_the_same(make: Any) -> None:
    x = tf.constant(np.random.default_rng(1).standard_normal((3, 5, 4)).astype(np.float32))
    mask = tf.constant(np.random.default_rng(2).random((3, 5)) < 0.7)
    layer = make(3, return_sequences=True)
    layer(x)

    def gradients(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(layer(x, mask=mask) ** 2)
        return tape.gradient(loss, [x, *layer.trainable_variables])

    for one, other in zip(tf.function(gradients)(x), gradients(x), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_the_work_grows_with_the_steps_and_no_faster() -> None:
    """Nodes of the gradient's tape double with the steps; a graph's stay constant."""
    layer = layers.LSTM(2)
    sizes = []
    for length in (4, 8, 16):
        x = tf.constant(np.ones((1, length, 3), np.float32))
        layer(x)
        concrete = tf.function(lambda x: layer(x)).get_concrete_function(x)
        sizes.append(len(concrete.graph.nodes))
    assert sizes[0] == sizes[1] == sizes[2]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: layers.LSTM(0), "units must be a positive integer"),
        (lambda: layers.GRU(3, dropout=1.5), "dropout must be from 0 to 1"),
        (lambda: layers.RNN(3), "cell must have 'call'"),
        (lambda: layers.Bidirectional(layers.LSTM(3), merge_mode="max"), "merge_mode"),
        (lambda: layers.Bidirectional(layers.LSTM(3), backward_layer=layers.LSTM(3)), "opposite"),
        (lambda: layers.TimeDistributed(3), "a valid Keras layer"),
        (lambda: layers.LSTM(3)(tf.zeros((2, 0, 3))), "at least one step"),
        (lambda: layers.LSTM(3)(tf.zeros((2, 3))), r"\[batch, steps, features\]"),
        (
            lambda: keras.Sequential(
                [keras.Input((None, 3)), layers.LSTM(2, unroll=True)]
            )._default_signatures(),
            "unrolled",
        ),
    ],
)
def test_mistakes_are_told(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_a_saved_recurrent_model_computes_the_same_in_a_fresh_process(tmp_path: Any) -> None:
    x = np.random.default_rng(1).standard_normal((2, 6, 4)).astype(np.float32)
    model = keras.Sequential(
        [
            keras.Input((None, 4)),
            layers.Bidirectional(layers.LSTM(3, return_sequences=True)),
            layers.GRU(3),
        ]
    )
    wanted = model(x).numpy()
    model.save(tmp_path / "model")
    np.save(tmp_path / "x.npy", x)
    run_fresh(
        "import sys, numpy as np, pinnace as tf\n"
        "folder = sys.argv[1]\n"
        "served = tf.saved_model.load(folder + '/model').signatures['serving_default']\n"
        "(name,) = served.structured_input_signature[1]\n"
        "(y,) = served(**{name: tf.constant(np.load(folder + '/x.npy'))}).values()\n"
        "np.save(folder + '/y.npy', y.numpy())\n",
        str(tmp_path),
    )
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), wanted, rtol=1e-6)


def test_a_known_number_of_steps_stays_known() -> None:
    x = layers.Bidirectional(layers.LSTM(3, return_sequences=True))(keras.Input((6, 4)))
    assert x.shape == (None, 6, 6)
    call = tf.function(layers.GRU(3, return_sequences=True))
    concrete = call.get_concrete_function(tf.TensorSpec([None, 6, 4]))
    assert concrete.structured_outputs.shape.as_list() == [None, 6, 3]
