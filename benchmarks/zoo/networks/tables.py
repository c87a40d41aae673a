"""Rows of tables: dense layers, embeddings of categories, preprocessing of columns."""

from typing import Any

import numpy as np

from zoo.network import Network, Training, classes, floats, numbers, yes_no

CATEGORIES, NUMERIC = (1000, 500, 200, 50, 20, 10), 13


def _columns(tf: Any) -> tuple[Any, Any]:
    numeric = tf.keras.Input((NUMERIC,), name="numeric")
    return numeric, tf.keras.Input((len(CATEGORIES),), dtype="int32", name="categories")


def _embedded(tf: Any, categories: Any, width: int) -> list[Any]:
    layers = tf.keras.layers
    return [
        layers.Embedding(size, width)(categories[:, column])
        for column, size in enumerate(CATEGORIES)
    ]


def wide_and_deep(tf: Any) -> Any:
    """A linear part over all columns, and dense layers over embeddings."""
    layers = tf.keras.layers
    numeric, categories = _columns(tf)
    wide = layers.Concatenate()([numeric, *_embedded(tf, categories, 1)])
    deep = layers.Concatenate()([numeric, *_embedded(tf, categories, 16)])
    for width in (128, 64, 32):
        deep = layers.Dense(width, activation="relu")(deep)
    logit = layers.Add()([layers.Dense(1)(wide), layers.Dense(1)(deep)])
    return tf.keras.Model({"numeric": numeric, "categories": categories}, logit)


def dlrm(tf: Any) -> Any:
    """Inner products of all pairs of embeddings, and dense layers before and behind."""
    layers, ops = tf.keras.layers, tf.keras.ops
    numeric, categories = _columns(tf)
    bottom = layers.Dense(16, activation="relu")(layers.Dense(64, activation="relu")(numeric))
    parts = [bottom, *_embedded(tf, categories, 16)]
    stacked = ops.stack(parts, axis=1)
    pairs = layers.Flatten()(layers.Dot(axes=(2, 2))([stacked, stacked]))
    x = layers.Concatenate()([bottom, pairs])
    for width in (64, 32):
        x = layers.Dense(width, activation="relu")(x)
    model_inputs = {"numeric": numeric, "categories": categories}
    return tf.keras.Model(model_inputs, layers.Dense(1)(x))


def deep_cross(tf: Any) -> Any:
    """Three cross layers beside dense ones."""
    layers = tf.keras.layers
    numeric, categories = _columns(tf)
    first = layers.Concatenate()([numeric, *_embedded(tf, categories, 8)])
    x = deep = first
    for _ in range(3):
        x = layers.Add()([layers.Multiply()([first, layers.Dense(first.shape[-1])(x)]), x])
        deep = layers.Dense(64, activation="relu")(deep)
    logit = layers.Dense(1)(layers.Concatenate()([x, deep]))
    return tf.keras.Model({"numeric": numeric, "categories": categories}, logit)


def two_towers(tf: Any) -> Any:
    """Users and items as unit vectors; their inner product."""
    layers = tf.keras.layers
    towers = []
    inputs = {}
    for name, size in (("user", 5000), ("item", 3000)):
        inputs[name] = tf.keras.Input((), dtype="int32", name=name)
        x = layers.Dense(64, activation="relu")(layers.Embedding(size, 32)(inputs[name]))
        towers.append(layers.UnitNormalization()(layers.Dense(32)(x)))
    return tf.keras.Model(inputs, layers.Dot(axes=1)(towers))


def normalized_mlp(tf: Any) -> Any:
    """Dense layers with batch normalization, as for tables of sensors."""
    layers = tf.keras.layers
    x = inputs = tf.keras.Input((30,), name="x")
    for width in (256, 128, 64):
        x = layers.Dense(width, use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    return tf.keras.Model(inputs, layers.Dense(1)(x))


def selu_network(tf: Any) -> Any:
    """Eight narrow dense layers with SELU."""
    layers = tf.keras.layers
    x = inputs = tf.keras.Input((30,), name="x")
    for _ in range(8):
        x = layers.Dense(64, activation="selu", kernel_initializer="lecun_normal")(x)
    return tf.keras.Model(inputs, layers.Dense(3)(x))


def dense_autoencoder(tf: Any) -> Any:
    """784 numbers to 32 and back."""
    layers = tf.keras.layers
    x = inputs = tf.keras.Input((784,), name="x")
    for width in (256, 64, 32, 64, 256):
        x = layers.Dense(width, activation="elu")(x)
    return tf.keras.Model(inputs, layers.Dense(784, activation="sigmoid")(x))


def dense_classifier(tf: Any) -> Any:
    """784-512-512-10, as everybody's first network."""
    layers = tf.keras.layers
    x = inputs = tf.keras.Input((784,), name="x")
    for _ in range(2):
        x = layers.Dense(512, activation="relu")(x)
    return tf.keras.Model(inputs, layers.Dense(10)(x))


def looked_up(tf: Any) -> Any:
    """Strings and numbers as they come: looked up, cut into ranges, normalized, encoded."""
    layers = tf.keras.layers
    colour = tf.keras.Input((1,), dtype="string", name="colour")
    age = tf.keras.Input((1,), name="age")
    code = tf.keras.Input((1,), dtype="int64", name="code")
    found = [
        layers.StringLookup(vocabulary=["red", "green", "blue"], output_mode="one_hot")(colour),
        layers.Normalization(mean=40.0, variance=200.0)(age),
        layers.CategoryEncoding(6, output_mode="one_hot")(
            layers.Discretization(bin_boundaries=[18.0, 30.0, 45.0, 60.0, 75.0])(age)
        ),
        layers.IntegerLookup(vocabulary=[12, 36, 48, 99], output_mode="one_hot")(code),
    ]
    x = layers.Dense(64, activation="relu")(layers.Concatenate()(found))
    inputs = {"colour": colour, "age": age, "code": code}
    return tf.keras.Model(inputs, layers.Dense(1)(layers.Dense(32, activation="relu")(x)))


def _people(random: Any, rows: int) -> dict[str, np.ndarray]:
    colours = np.array(["red", "green", "blue", "pink"], object)
    return {
        "colour": random.choice(colours, (rows, 1)),
        "age": (random.random((rows, 1)) * 90).astype(np.float32),
        "code": random.choice(np.array([12, 36, 48, 99, 7]), (rows, 1)),
    }


def _rows(random: Any, rows: int) -> dict[str, np.ndarray]:
    columns = [random.integers(0, size, rows) for size in CATEGORIES]
    return {
        "numeric": random.standard_normal((rows, NUMERIC)).astype(np.float32),
        "categories": np.stack(columns, axis=1).astype(np.int32),
    }


def _pairs(random: Any, rows: int) -> dict[str, np.ndarray]:
    sizes = {"user": 5000, "item": 3000}
    return {name: random.integers(0, n, rows).astype(np.int32) for name, n in sizes.items()}


_clicks = Training(targets=yes_no, loss="yes_no", rows=256)
NETWORKS = {
    "deep_cross": Network(title="deep and cross", build=deep_cross, draw=_rows, training=_clicks),
    "dense_classifier": Network(
        title="MLP 784-512-512-10",
        build=dense_classifier,
        draw=floats(784),
        training=Training(targets=classes(10), loss="classes", rows=128),
    ),
    "dense_autoencoder": Network(
        title="dense autoencoder, 784",
        build=dense_autoencoder,
        draw=floats(784),
        training=Training(targets=numbers(784), loss="squares", rows=128),
    ),
    "dlrm": Network(title="DLRM-like, pairs of embeddings", build=dlrm, draw=_rows),
    "looked_up": Network(
        title="strings and numbers looked up, MLP",
        build=looked_up,
        draw=_people,
    ),
    "normalized_mlp": Network(
        title="MLP with batch normalization",
        build=normalized_mlp,
        draw=floats(30),
        training=Training(targets=numbers(1), loss="squares", rows=128),
    ),
    "selu_network": Network(
        title="eight dense layers, SELU",
        build=selu_network,
        draw=floats(30),
        training=Training(targets=classes(3), loss="classes", rows=128),
    ),
    "two_towers": Network(title="two towers of embeddings", build=two_towers, draw=_pairs),
    "wide_and_deep": Network(
        title="wide and deep", build=wide_and_deep, draw=_rows, training=_clicks
    ),
}
