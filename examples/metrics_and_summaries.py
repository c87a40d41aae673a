"""Metrics add up, summaries are written at once: a training and a test in TensorBoard.

python examples/metrics_and_summaries.py
tensorboard --logdir <the folder it names>
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

import pinnace as tf

loss_fn = tf.keras.losses.MeanSquaredError()


@tf.function
def train_step(model, optimizer, images, labels):
    with tf.GradientTape() as tape:
        loss = loss_fn(labels, model(images, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def train(model, optimizer, dataset, log_freq=10):
    avg_loss = tf.keras.metrics.Mean(name="loss", dtype=tf.float32)
    for images, labels in dataset:
        loss = train_step(model, optimizer, images, labels)
        avg_loss.update_state(loss)
        if tf.equal(optimizer.iterations % log_freq, 0):
            tf.summary.scalar("loss", avg_loss.result(), step=optimizer.iterations)
            avg_loss.reset_states()


def test(model, test_x, test_y, step_num):
    # training=False is only needed if there are layers with different behavior during training
    # versus inference (e.g. Dropout).
    loss = loss_fn(test_y, model(test_x, training=False))
    tf.summary.scalar("loss", loss, step=step_num)


def main(folder=None, steps=100):
    folder = Path(folder or tempfile.mkdtemp(prefix="summaries-"))
    tf.keras.utils.set_random_seed(0)
    random = np.random.default_rng(0)
    x = random.standard_normal((512, 4)).astype(np.float32)
    y = x @ np.array([[1.0], [2.0], [3.0], [4.0]], np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(32).repeat().take(steps)
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.SGD(0.02)

    train_summary_writer = tf.summary.create_file_writer(str(folder / "train"))
    test_summary_writer = tf.summary.create_file_writer(str(folder / "test"))

    with train_summary_writer.as_default():
        train(model, optimizer, dataset)

    with test_summary_writer.as_default():
        test(model, x[:64], y[:64], optimizer.iterations)

    for writer in (train_summary_writer, test_summary_writer):
        writer.close()
    print(f"written: {', '.join(str(p) for p in sorted(folder.glob('*/events*')))}")
    return folder


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder")
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()
    main(options.folder, options.steps)
