"""Train a RevNet from TFRecords, eagerly or with its three parts as functions.

python examples/revnet/train.py                  # the three parts as functions
python examples/revnet/train.py --nofunctions    # eagerly, line by line
python examples/revnet/train.py --steps=200      # run again: goes on from the checkpoint
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from absl import app, flags, logging
from records import read, write_records

import pinnace as tf
from revnet import Hyperparameters, RevNet

FLAGS = flags.FLAGS
flags.DEFINE_string("folder", None, "Where records and checkpoints are; None: a temporary one.")
flags.DEFINE_integer("steps", 120, "Train until this many steps have been done in all.")
flags.DEFINE_integer("batch_size", 32, "Images in a step.")
flags.DEFINE_bool("functions", True, "Whether the three parts of a step are traced.")
flags.DEFINE_enum("data_format", "channels_last", ["channels_last", "channels_first"], "Axes.")


def apply_gradients(optimizer, gradients, variables, global_step=None):
    optimizer.apply_gradients(zip(gradients, variables, strict=True))
    if global_step is not None:
        global_step.assign_add(1)


def main(_):
    folder = Path(FLAGS.folder or tempfile.mkdtemp(prefix="revnet-"))
    train_file, test_file = write_records(folder)
    tf.random.set_seed(0)

    model = RevNet(Hyperparameters(data_format=FLAGS.data_format))
    learning_rate = tf.Variable(0.05, trainable=False)
    optimizer = tf.keras.optimizers.SGD(learning_rate=learning_rate.value, momentum=0.9)
    global_step = tf.Variable(0, dtype=tf.int64, trainable=False)
    update = apply_gradients
    if FLAGS.functions:
        model.call = tf.function(model.call)
        model.compute_gradients = tf.function(model.compute_gradients)
        update = tf.function(apply_gradients)

    checkpoint = tf.train.Checkpoint(
        model=model, optimizer=optimizer, learning_rate=learning_rate, global_step=global_step
    )
    latest = tf.train.latest_checkpoint(folder)
    if latest is not None:
        # The weights that do not exist yet get their values when they are made.
        checkpoint.restore(latest)
        logging.info("resumed from %s at step %d", latest, int(global_step))

    dataset = read(train_file, FLAGS.batch_size, -1, FLAGS.data_format, shuffle=True)
    start = time.perf_counter()
    for image, label in dataset.take(max(FLAGS.steps - int(global_step), 0)):
        logits, saved_hidden = model(image, training=True)
        grads, loss = model.compute_gradients(saved_hidden, label, training=True)
        update(optimizer, grads, model.trainable_variables, global_step)
        if global_step % 20 == 0:
            right = tf.reduce_mean(tf.cast(tf.argmax(logits, 1) == label, tf.float32))
            logging.info("step %d: loss %.3f, right %.2f", int(global_step), loss, right)
    path = checkpoint.save(folder / "revnet")

    accuracy = tf.keras.metrics.SparseCategoricalAccuracy()
    for image, label in read(test_file, 120, data_format=FLAGS.data_format):
        logits, _ = model(image, training=False)
        accuracy.update_state(label, logits)
    print(f"step {int(global_step)}, {time.perf_counter() - start:.1f} s, {path}")
    print(f"accuracy on 360 images that it has not seen: {float(accuracy.result()):.3f}")


if __name__ == "__main__":
    app.run(main)
