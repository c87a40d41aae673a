"""Recurrent layers and models that Keras and this library both build."""

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
STEPS = 3

# Each takes `keras.layers` and returns a layer for float32[3, 6, 4].
LAYERS: dict[str, Callable[[Any], Any]] = {
    "simple": lambda k: k.SimpleRNN(5),
    "simple_sequences": lambda k: k.SimpleRNN(5, "relu", use_bias=False, return_sequences=True),
    "simple_dropout": lambda k: k.SimpleRNN(5, dropout=0.3, recurrent_dropout=0.4, seed=5),
    "lstm": lambda k: k.LSTM(5),
    "lstm_states": lambda k: k.LSTM(5, return_sequences=True, return_state=True),
    "lstm_backwards": lambda k: k.LSTM(5, return_sequences=True, go_backwards=True),
    "lstm_options": lambda k: k.LSTM(
        5,
        activation="softsign",
        recurrent_activation="hard_sigmoid",
        use_bias=False,
        unit_forget_bias=False,
        unroll=True,
    ),
    "lstm_dropout": lambda k: k.LSTM(5, dropout=0.3, seed=5, return_sequences=True),
    "lstm_both_dropouts": lambda k: k.LSTM(5, dropout=0.3, recurrent_dropout=0.4, seed=5),
    "lstm_masked": lambda k: k.LSTM(5, return_sequences=True, return_state=True),
    "lstm_masked_backwards": lambda k: k.LSTM(5, return_sequences=True, go_backwards=True),
    "lstm_masked_last": lambda k: k.LSTM(5),
    "rnn_masked_zeros": lambda k: k.RNN(
        k.LSTMCell(5), return_sequences=True, zero_output_for_mask=True
    ),
    "rnn_masked_last_zeros": lambda k: k.RNN(k.GRUCell(5), zero_output_for_mask=True),
    "gru": lambda k: k.GRU(5, return_sequences=True, return_state=True),
    "gru_before": lambda k: k.GRU(5, reset_after=False),
    "gru_without_bias": lambda k: k.GRU(5, use_bias=False, go_backwards=True),
    "gru_dropout": lambda k: k.GRU(5, dropout=0.3, seed=5),
    "gru_both_dropouts": lambda k: k.GRU(5, dropout=0.3, recurrent_dropout=0.4, seed=5),
    "gru_before_dropouts": lambda k: k.GRU(
        5, dropout=0.3, recurrent_dropout=0.4, seed=5, reset_after=False
    ),
    "gru_masked": lambda k: k.GRU(5, return_sequences=True, unroll=True),
    "stacked": lambda k: k.RNN(
        [k.LSTMCell(5), k.GRUCell(3), k.SimpleRNNCell(2)], return_sequences=True, return_state=True
    ),
    "stacked_masked": lambda k: k.RNN([k.GRUCell(5), k.LSTMCell(3)]),
    "stacked_dropout": lambda k: k.RNN(
        [
            k.GRUCell(5, dropout=0.2, seed=1),
            k.LSTMCell(3, dropout=0.3, recurrent_dropout=0.1, seed=2),
        ]
    ),
    "bidirectional": lambda k: k.Bidirectional(k.LSTM(5, return_sequences=True)),
    "bidirectional_sum": lambda k: k.Bidirectional(k.GRU(5), merge_mode="sum"),
    "bidirectional_mul": lambda k: k.Bidirectional(k.SimpleRNN(5), merge_mode="mul"),
    "bidirectional_ave_masked": lambda k: k.Bidirectional(
        k.LSTM(5, return_sequences=True), merge_mode="ave"
    ),
    "bidirectional_none": lambda k: k.Bidirectional(
        k.GRU(5, return_state=True, return_sequences=True), merge_mode=None
    ),
    "bidirectional_states": lambda k: k.Bidirectional(k.LSTM(5, return_state=True)),
    "bidirectional_two": lambda k: k.Bidirectional(
        k.LSTM(5), backward_layer=k.GRU(4, go_backwards=True)
    ),
    "time_distributed": lambda k: k.TimeDistributed(k.Dense(3, "tanh")),
    "masking": lambda k: k.Masking(0.5),
}


def sequences(name: str) -> tuple[Array, Array | None, bool]:
    """Inputs, mask and `training` of a case."""
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    x = generator.standard_normal((3, 6, 4)).astype(np.float32)
    mask = None
    if "masked" in name:
        mask = generator.random((3, 6)) < 0.6
        mask[0] = [True, True, True, True, False, False]
        mask[1] = [False, False, True, False, True, True]
    if name == "masking":
        x[0, 2:4] = 0.5
    return x, mask, "dropout" in name


def embedded(keras: Any) -> Any:
    """Ids, with 0 as padding, through two layers that skip it."""
    return keras.Sequential(
        [
            keras.Input((6,), dtype="int32"),
            keras.layers.Embedding(10, 4, mask_zero=True),
            keras.layers.Bidirectional(keras.layers.LSTM(3, return_sequences=True)),
            keras.layers.GRU(4),
            keras.layers.Dense(3, "softmax"),
        ]
    )


def tagged(keras: Any) -> Any:
    """A class per step: losses and metrics skip masked steps."""
    inputs = keras.Input((6,), dtype="int32")
    x = keras.layers.Embedding(10, 4, mask_zero=True)(inputs)
    x = keras.layers.Dropout(0.0)(x)
    x = keras.layers.LSTM(5, return_sequences=True)(x)
    x = keras.layers.LayerNormalization()(x)
    return keras.Model(inputs, keras.layers.TimeDistributed(keras.layers.Dense(3, "softmax"))(x))


def merged(keras: Any) -> Any:
    """Masks through merge layers and pooling."""
    inputs = keras.Input((6,), dtype="int32")
    x = keras.layers.Embedding(10, 4, mask_zero=True)(inputs)
    left = keras.layers.Dense(4, "relu")(x)
    x = keras.layers.Add()([x, left])
    x = keras.layers.Concatenate()([x, left])
    x = keras.layers.GlobalAveragePooling1D()(x)
    return keras.Model(inputs, keras.layers.Dense(3, "softmax")(x))


MODELS: dict[str, Callable[[Any], Any]] = {
    "embedded": embedded,
    "tagged": tagged,
    "merged": merged,
}


def trained(model: Any, name: str) -> dict[str, Array]:
    """Initial weights, losses and metrics of some steps, final weights, predictions."""
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    x = generator.integers(1, 10, (STEPS, 8, 6)).astype(np.int32)
    for row in x.reshape(-1, 6):
        row[generator.integers(2, 7) :] = 0
    y = generator.integers(0, 3, (STEPS, 8, 6) if name == "tagged" else (STEPS, 8))
    weight = generator.uniform(0.5, 2, y.shape).astype(np.float32)
    found = {f"initial_{i}": value for i, value in enumerate(model.get_weights())}
    model.compile(
        "sgd",
        "sparse_categorical_crossentropy",
        metrics=["accuracy"],
        weighted_metrics=["sparse_categorical_crossentropy"],
    )
    losses = []
    for step in range(STEPS):
        weights = {} if step == 0 else {"sample_weight": weight[step]}
        logs = model.train_on_batch(x[step], y[step], return_dict=True, **weights)
        model.reset_metrics()
        losses.append([float(logs[key]) for key in sorted(logs)])
    found["losses"] = np.array(losses)
    for i, value in enumerate(model.get_weights()):
        found[f"final_{i}"] = value
    found["predicted"] = np.asarray(model.predict(x[0], verbose=0))
    return found
