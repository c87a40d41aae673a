"""Sizes that are multiples of nothing: images, widths, steps, heads and batches."""

from typing import Any

from zoo.network import Network, Training, classes, floats

ODD = (3, 31)


def odd_cnn(tf: Any) -> Any:
    """Images of 61×47; 7, 13 and 29 channels; windows of 5, 3 and 2."""
    layers = tf.keras.layers
    x = inputs = tf.keras.Input((61, 47, 3), name="x")
    x = layers.Conv2D(7, 5, strides=(3, 2), activation="relu")(x)
    x = layers.BatchNormalization()(layers.Conv2D(13, 3, padding="same")(x))
    x = layers.DepthwiseConv2D(3, padding="same")(layers.MaxPooling2D(3, strides=2)(x))
    x = layers.Conv2D(29, 2, activation="elu")(x)
    return tf.keras.Model(inputs, layers.Dense(11)(layers.Flatten()(x)))


def odd_mlp(tf: Any) -> Any:
    """783-511-77-3."""
    layers = tf.keras.layers
    x = inputs = tf.keras.Input((783,), name="x")
    for width in (511, 77):
        x = layers.Dense(width, activation="relu")(x)
    return tf.keras.Model(inputs, layers.Dense(3)(x))


def odd_lstm(tf: Any) -> Any:
    """LSTM(37) over 23 steps of 5 features."""
    layers = tf.keras.layers
    inputs = tf.keras.Input((23, 5), name="x")
    return tf.keras.Model(inputs, layers.Dense(7)(layers.LSTM(37)(inputs)))


def odd_attention(tf: Any) -> Any:
    """17 steps of 51 features, three heads of 19."""
    layers = tf.keras.layers
    x = inputs = tf.keras.Input((17, 51), name="x")
    for _ in range(2):
        x = layers.LayerNormalization()(x + layers.MultiHeadAttention(3, 19)(x, x))
        x = x + layers.Dense(51)(layers.Dense(101, activation="gelu")(x))
    return tf.keras.Model(inputs, layers.Dense(5)(layers.GlobalAveragePooling1D()(x)))


def _training(number: int) -> Training:
    return Training(targets=classes(number), loss="classes", rows=31)


NETWORKS = {
    "odd_attention": Network(
        title="odd sizes: attention, 17 steps",
        build=odd_attention,
        draw=floats(17, 51),
        training=_training(5),
        batches=ODD,
    ),
    "odd_cnn": Network(
        title="odd sizes: CNN, 61×47",
        build=odd_cnn,
        draw=floats(61, 47, 3),
        training=_training(11),
        batches=ODD,
    ),
    "odd_lstm": Network(
        title="odd sizes: LSTM(37), 23 steps",
        build=odd_lstm,
        draw=floats(23, 5),
        training=_training(7),
        batches=ODD,
    ),
    "odd_mlp": Network(
        title="odd sizes: MLP 783-511-77-3",
        build=odd_mlp,
        draw=floats(783),
        training=_training(3),
        batches=ODD,
    ),
}
