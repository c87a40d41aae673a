"""Summaries for TensorBoard."""

import pathlib

import pinnace as tf

writer = tf.summary.create_file_writer("logs")
with writer.as_default(step=1):
    tf.summary.scalar("loss", 0.5)
    tf.summary.histogram("weights", tf.random.normal([100]))
    tf.summary.image("picture", tf.zeros([1, 8, 8, 3]))


@tf.function
def train_step(step: tf.Tensor) -> tf.Tensor:
    """A scalar for each even step."""
    with writer.as_default(), tf.summary.record_if(step % 2 == 0):
        return tf.summary.scalar("even", tf.cast(step, tf.float32), step=step)


assert [bool(train_step(tf.constant(n, tf.int64))) for n in range(3)] == [True, False, True]
writer.close()
assert len(list(pathlib.Path("logs").iterdir())) == 1
