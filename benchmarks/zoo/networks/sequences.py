"""Networks over steps: recurrent layers, masks, convolutions in time."""

from typing import Any

from zoo.network import Network, Training, classes, floats, ids, numbers, yes_no

SERIES = floats(50, 32)


def gru(tf: Any) -> Any:
    """GRU(64) over 50 steps of 32 features."""
    layers = tf.keras.layers
    inputs = tf.keras.Input((50, 32), name="x")
    return tf.keras.Model(inputs, layers.Dense(10)(layers.GRU(64)(inputs)))


def stacked_lstm(tf: Any) -> Any:
    """Two LSTMs, the first giving its sequence."""
    layers = tf.keras.layers
    inputs = tf.keras.Input((50, 32), name="x")
    x = layers.LSTM(64, return_sequences=True)(inputs)
    return tf.keras.Model(inputs, layers.Dense(10)(layers.LSTM(32)(x)))


def simple_rnn(tf: Any) -> Any:
    """SimpleRNN(64) over 50 steps."""
    layers = tf.keras.layers
    inputs = tf.keras.Input((50, 32), name="x")
    return tf.keras.Model(inputs, layers.Dense(1)(layers.SimpleRNN(64)(inputs)))


def masked_lstm(tf: Any) -> Any:
    """A bidirectional LSTM over padded tokens: the embedding's mask goes along."""
    layers = tf.keras.layers
    inputs = tf.keras.Input((40,), dtype="int32", name="ids")
    x = layers.Embedding(5000, 64, mask_zero=True)(inputs)
    x = layers.Bidirectional(layers.LSTM(32))(x)
    return tf.keras.Model(inputs, layers.Dense(1)(x))


def tagger(tf: Any) -> Any:
    """A bidirectional GRU that names each padded token's class."""
    layers = tf.keras.layers
    inputs = tf.keras.Input((40,), dtype="int32", name="ids")
    x = layers.Embedding(5000, 64, mask_zero=True)(inputs)
    x = layers.Bidirectional(layers.GRU(32, return_sequences=True))(x)
    return tf.keras.Model(inputs, layers.TimeDistributed(layers.Dense(9))(x))


def gap_filler(tf: Any) -> Any:
    """A Masking layer over sensors that were off, and an LSTM."""
    layers = tf.keras.layers
    inputs = tf.keras.Input((48, 8), name="x")
    x = layers.LSTM(48)(layers.Masking(0.0)(inputs))
    return tf.keras.Model(inputs, layers.Dense(4)(x))


def wavenet_like(tf: Any) -> Any:
    """Causal convolutions, dilated by 1 to 32, gated, with skips."""
    layers = tf.keras.layers
    inputs = tf.keras.Input((256, 8), name="x")
    x = layers.Conv1D(32, 2, padding="causal")(inputs)
    skips = []
    for power in range(6):
        gates = [
            layers.Conv1D(32, 2, padding="causal", dilation_rate=2**power, activation=kind)(x)
            for kind in ("tanh", "sigmoid")
        ]
        y = layers.Conv1D(32, 1)(layers.Multiply()(gates))
        skips.append(y)
        x = layers.Add()([x, y])
    x = layers.Conv1D(32, 1, activation="relu")(layers.ReLU()(layers.Add()(skips)))
    return tf.keras.Model(inputs, layers.Conv1D(8, 1)(x))


def tcn(tf: Any) -> Any:
    """A temporal convolutional network: residual blocks of causal dilated convolutions."""
    layers = tf.keras.layers
    x = inputs = tf.keras.Input((128, 16), name="x")
    x = layers.Conv1D(48, 1)(x)
    for rate in (1, 2, 4, 8):
        y = x
        for _ in range(2):
            y = layers.Conv1D(48, 3, padding="causal", dilation_rate=rate)(y)
            y = layers.ReLU()(layers.LayerNormalization()(y))
        x = layers.Add()([x, y])
    return tf.keras.Model(inputs, layers.Dense(4)(layers.GlobalMaxPooling1D()(x)))


def heartbeat(tf: Any) -> Any:
    """Convolutions in time, pooled, as for heartbeats."""
    layers = tf.keras.layers
    x = inputs = tf.keras.Input((187, 1), name="x")
    for width in (32, 64, 96):
        x = layers.Conv1D(width, 5, padding="same", use_bias=False)(x)
        x = layers.MaxPooling1D(2)(layers.ReLU()(layers.BatchNormalization()(x)))
    x = layers.Dense(32, activation="relu")(layers.GlobalAveragePooling1D()(x))
    return tf.keras.Model(inputs, layers.Dense(5)(x))


def speech_commands(tf: Any) -> Any:
    """A spectrogram's convolutions and a GRU over what they find."""
    layers = tf.keras.layers
    x = inputs = tf.keras.Input((98, 40, 1), name="x")
    x = layers.Conv2D(32, (5, 5), strides=(2, 2), activation="relu")(x)
    x = layers.Conv2D(32, (3, 3), strides=(1, 2), activation="relu")(x)
    x = layers.GRU(64)(layers.Reshape((x.shape[1], -1))(x))
    return tf.keras.Model(inputs, layers.Dense(12)(x))


def forecaster(tf: Any) -> Any:
    """An encoder's state starts a decoder over the same future, by attention."""
    layers = tf.keras.layers
    past = tf.keras.Input((36, 12), name="past")
    future = tf.keras.Input((12, 4), name="future")
    kept, *state = layers.LSTM(48, return_sequences=True, return_state=True)(past)
    x = layers.LSTM(48, return_sequences=True)(future, initial_state=state)
    x = layers.Concatenate()([x, layers.Attention()([x, kept])])
    return tf.keras.Model({"past": past, "future": future}, layers.Dense(1)(x))


def series_transformer(tf: Any) -> Any:
    """Attention over 64 steps of a series, pooled."""
    layers = tf.keras.layers
    inputs = tf.keras.Input((64, 8), name="x")
    x = layers.Dense(64)(inputs)
    for _ in range(2):
        y = layers.LayerNormalization(epsilon=1e-6)(x)
        x = x + layers.MultiHeadAttention(4, 16)(y, y)
        y = layers.LayerNormalization(epsilon=1e-6)(x)
        x = x + layers.Conv1D(64, 1)(layers.Conv1D(128, 1, activation="relu")(y))
    return tf.keras.Model(inputs, layers.Dense(2)(layers.GlobalAveragePooling1D()(x)))


def _two_series(random: Any, rows: int) -> dict[str, Any]:
    shapes = {"past": (36, 12), "future": (12, 4)}
    return {k: random.random((rows, *shape)).astype("float32") for k, shape in shapes.items()}


def _gaps(random: Any, rows: int) -> dict[str, Any]:
    x = random.random((rows, 48, 8)) * (random.random((rows, 48, 1)) > 0.3)
    return {"x": x.astype("float32")}


TOKENS = ids(40, 5000, padded=True)
NETWORKS = {
    "bidirectional_lstm": Network(
        title="bidirectional LSTM, masked, 40 tokens",
        build=masked_lstm,
        draw=TOKENS,
        training=Training(targets=yes_no, loss="yes_no"),
    ),
    "forecaster": Network(
        title="LSTM encoder and decoder, attention",
        build=forecaster,
        draw=_two_series,
        training=Training(targets=numbers(12, 1), loss="squares"),
    ),
    "gap_filler": Network(title="LSTM behind Masking, 48 steps", build=gap_filler, draw=_gaps),
    "gru": Network(
        title="GRU(64), 50 steps",
        build=gru,
        draw=SERIES,
        training=Training(targets=classes(10), loss="classes"),
    ),
    "heartbeat": Network(
        title="Conv1D classifier, 187 steps",
        build=heartbeat,
        draw=floats(187, 1),
        training=Training(targets=classes(5), loss="classes"),
    ),
    "series_transformer": Network(
        title="transformer over a series, 64 steps", build=series_transformer, draw=floats(64, 8)
    ),
    "simple_rnn": Network(title="SimpleRNN(64), 50 steps", build=simple_rnn, draw=SERIES),
    "speech_commands": Network(
        title="convolutions and GRU over a spectrogram",
        build=speech_commands,
        draw=floats(98, 40, 1),
    ),
    "stacked_lstm": Network(
        title="two LSTMs, 50 steps",
        build=stacked_lstm,
        draw=SERIES,
        training=Training(targets=classes(10), loss="classes"),
    ),
    "tagger": Network(title="bidirectional GRU tagger, masked", build=tagger, draw=TOKENS),
    "tcn": Network(
        title="causal dilated Conv1D blocks, 128 steps",
        build=tcn,
        draw=floats(128, 16),
        training=Training(targets=classes(4), loss="classes"),
    ),
    "wavenet_like": Network(
        title="WaveNet-like, 256 steps",
        build=wavenet_like,
        draw=floats(256, 8),
        training=Training(targets=classes(8, 256), loss="classes"),
    ),
}
