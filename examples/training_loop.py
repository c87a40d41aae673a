"""A training loop over a Dataset, as one function: AutoGraph makes `for` a loop of the graph.

    python examples/training_loop.py

The same is done by `fit`, and by the loop in plain Python; all learn a line of eight numbers.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import pinnace as tf

_random = np.random.default_rng(0)
LINE = _random.standard_normal((8, 1)).astype(np.float32)
X = _random.standard_normal((512, 8)).astype(np.float32)
Y = X @ LINE + 0.5

loss_fn = tf.keras.losses.MeanSquaredError()


def new_model():
    """A line, and what trains it."""
    tf.keras.utils.set_random_seed(0)
    model = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(1)])
    return model, tf.keras.optimizers.SGD(0.05)


def train_in_python(model, dataset, optimizer):
    for x, y in dataset:
        with tf.GradientTape() as tape:
            prediction = model(x, training=True)
            loss = loss_fn(y, prediction)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))


@tf.function
def train(model, dataset, optimizer):
    for x, y in dataset:
        with tf.GradientTape() as tape:
            # training=True is only needed if there are layers with different behavior during
            # training versus inference (e.g. Dropout).
            prediction = model(x, training=True)
            loss = loss_fn(y, prediction)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))


def fit(model, dataset, optimizer):
    model.compile(optimizer=optimizer, loss=loss_fn)
    model.fit(dataset, verbose=0)


def main(epochs=4):
    dataset = tf.data.Dataset.from_tensor_slices((X, Y)).batch(32).repeat(epochs)
    dataset = dataset.prefetch(tf.data.AUTOTUNE)
    weights = {}
    for way in (train_in_python, train, fit):
        model, optimizer = new_model()
        start = time.perf_counter()
        way(model, dataset, optimizer)
        seconds = time.perf_counter() - start
        name = getattr(way, "__name__", "train")
        weights[name] = model.get_weights()
        loss = float(loss_fn(Y, model(X)))
        steps = int(optimizer.iterations)
        print(f"{name:16} {steps} steps, {seconds:.2f} s, loss {loss:.5f}")
    return weights


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=4)
    main(parser.parse_args().epochs)
