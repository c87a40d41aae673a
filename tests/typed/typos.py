"""Slips that a type checker must report: exactly the lines with the word "slip"."""

import numpy as np

import pinnace as tf


@tf.function
def scaled(x: tf.Tensor, by: int = 2) -> tf.Tensor:
    """x times a number."""
    return x * by


class Scale(tf.Module):
    """The same function as a method."""

    @tf.function
    def scaled(self, x: tf.Tensor) -> tf.Tensor:
        """x twice."""
        return x * 2


x, y = np.ones((4, 3), np.float32), np.ones((4, 1), np.float32)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
model.fit(x, y, epochs=1)
scaled(tf.constant(1.0), by=3)
Scale().scaled(tf.constant(1.0))

tf.nothing  # slip
tf.constnat(1.0)  # slip
tf.keras.layers.Denze(3)  # slip
tf.keras.layers.Dense(3, unitz=3)  # slip
tf.keras.optimizer.Adam(0.1)  # slip
tf.data.Datasets.range(3)  # slip
tf.saved_model.lode("folder")  # slip
tf.io.read_fil("file")  # slip
tf.strings.splitt("a b")  # slip
tf.config.threading.set_threads(1)  # slip
model.fit(x, y, epoch=1)  # slip
model.compile(optimiser="adam")  # slip
scaled(tf.constant(1.0), bye=3)  # slip
Scale().scaled(tf.constant(1.0), 3)  # slip
scaled(tf.constant(1.0)).nump()  # slip
