"""Layers, models, training with `fit` and in a custom loop."""

from typing import Any

import numpy as np

import pinnace as tf

layers = tf.keras.layers


class Scaled(layers.Layer):
    """Its input times a weight for each feature."""

    def build(self, input_shape: Any) -> None:
        self.scale = self.add_weight(shape=[input_shape[-1]], initializer="ones")

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return x * self.scale


class Small(tf.keras.Model):
    """Two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.scaled, self.dense = Scaled(), layers.Dense(1)

    def call(self, x: tf.Tensor, training: bool = False) -> Any:
        return self.dense(self.scaled(x))


tf.keras.utils.set_random_seed(0)
x = np.random.default_rng(0).random((256, 4), np.float32)
y = x.sum(axis=1, keepdims=True)
model = tf.keras.Sequential([tf.keras.Input([4]), layers.Dense(8, "relu"), layers.Dense(1)])
model.compile(optimizer=tf.keras.optimizers.Adam(0.01), loss="mse", metrics=["mae"])
history = model.fit(x, y, epochs=3, batch_size=32, validation_split=0.25, verbose=0)
assert sorted(history.history) == ["loss", "mae", "val_loss", "val_mae"]
assert model.predict(x[:2], verbose=0).shape == (2, 1)
assert int(model.optimizer.iterations) == 18

small = Small()
small.build([None, 4])
optimizer, loss = tf.keras.optimizers.SGD(0.1), tf.keras.losses.MeanSquaredError()
seen = tf.keras.metrics.Mean()


@tf.function
def train_step(inputs: tf.Tensor, targets: tf.Tensor) -> None:
    """One step of gradient descent."""
    with tf.GradientTape() as tape:
        value = loss(targets, small(inputs, training=True))
    gradients = tape.gradient(value, small.trainable_variables)
    optimizer.apply_gradients(zip(gradients, small.trainable_variables, strict=True))
    seen.update_state(value)


for inputs, targets in tf.data.Dataset.from_tensor_slices((x, y)).batch(64):
    train_step(inputs, targets)
assert float(seen.result()) > 0

picture = tf.keras.Input([8, 8, 1], name="picture")
trunk = layers.GlobalAveragePooling2D()(layers.Conv2D(4, 3, activation="relu")(picture))
heads = tf.keras.Model(picture, {"digit": layers.Dense(10)(trunk), "odd": layers.Dense(1)(trunk)})
assert heads(tf.zeros([5, 8, 8, 1]))["digit"].shape == (5, 10)
