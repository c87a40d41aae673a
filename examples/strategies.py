"""Two replicas on one machine: a loop of one's own, then `fit`, beside the same without replicas.

    python examples/strategies.py

The replicas take turns on the cores of this machine: the numbers are those of two devices, the time
is not.
"""

from __future__ import annotations

import argparse

import numpy as np

import pinnace as tf

BATCH = 64
_random = np.random.default_rng(0)
X = _random.standard_normal((1024, 16)).astype(np.float32)
Y = np.sin(X @ _random.standard_normal((16, 1))).astype(np.float32)


def two_cpus():
    """A strategy with a replica on each half of the CPU."""
    cpu = tf.config.list_physical_devices("CPU")[0]
    halves = [tf.config.LogicalDeviceConfiguration()] * 2
    tf.config.set_logical_device_configuration(cpu, halves)
    return tf.distribute.MirroredStrategy()


def new_model():
    tf.keras.utils.set_random_seed(1)
    return tf.keras.Sequential(
        [
            tf.keras.Input((16,)),
            tf.keras.layers.Dense(32, activation="tanh"),
            tf.keras.layers.Dense(1),
        ]
    )


def own_loop(strategy, epochs):
    """The loss of each epoch, as the tutorial of TensorFlow trains."""
    dataset = tf.data.Dataset.from_tensor_slices((X, Y)).batch(BATCH)
    distributed = strategy.experimental_distribute_dataset(dataset)
    with strategy.scope():
        model = new_model()
        optimizer = tf.keras.optimizers.Adam(0.01)
        loss_of = tf.keras.losses.MeanSquaredError(reduction="none")
        mean = tf.keras.metrics.Mean()

    def step(inputs):
        x, y = inputs
        with tf.GradientTape() as tape:
            losses = loss_of(y, model(x, training=True))
            loss = tf.nn.compute_average_loss(losses, global_batch_size=BATCH)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        mean.update_state(losses)

    @tf.function
    def train_epoch(batches):
        for batch in batches:
            strategy.run(step, args=(batch,))

    found = []
    for _ in range(epochs):
        mean.reset_state()
        train_epoch(distributed)
        found.append(float(mean.result()))
    return found


def fitted(strategy, epochs):
    """The loss of each epoch of `fit`."""
    with strategy.scope():
        model = new_model()
        model.compile(tf.keras.optimizers.Adam(0.01), "mse")
    history = model.fit(X, Y, batch_size=BATCH, epochs=epochs, shuffle=False, verbose=0)
    return history.history["loss"]


def main(epochs):
    two, one = two_cpus(), tf.distribute.OneDeviceStrategy("/CPU:0")
    print(f"replicas: {two.num_replicas_in_sync}, {', '.join(two.extended.worker_devices)}")
    found = {
        "own loop, two replicas": own_loop(two, epochs),
        "own loop, one": own_loop(one, epochs),
        "fit, two replicas": fitted(two, epochs),
        "fit, one": fitted(one, epochs),
    }
    for name, losses in found.items():
        print(f"{name:24}", *(f"{loss:.5f}" for loss in losses))
    expected = found["fit, one"]
    same = all(np.allclose(losses, expected, rtol=1e-3) for losses in found.values())
    print(f"all learned the same: {same}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=4)
    main(parser.parse_args().epochs)
