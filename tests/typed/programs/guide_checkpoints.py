"""Checkpoints: saving, finding, restoring."""

import pinnace as tf

model = tf.keras.Sequential([tf.keras.Input([3]), tf.keras.layers.Dense(2)])
step = tf.Variable(0, dtype=tf.int64)
checkpoint = tf.train.Checkpoint(model=model, step=step)
manager = tf.train.CheckpointManager(checkpoint, "training", max_to_keep=2)
for _ in range(3):
    checkpoint.step.assign_add(1)
    manager.save()
newest = tf.train.latest_checkpoint("training")
assert newest is not None
assert newest == manager.latest_checkpoint == "training/ckpt-3"
step.assign(99)
checkpoint.restore(newest).assert_consumed()
assert int(step) == 3
shapes = dict(tf.train.list_variables(newest))
assert shapes["model/layer_with_weights-0/kernel/.ATTRIBUTES/VARIABLE_VALUE"] == [3, 2]
