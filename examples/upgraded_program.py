"""A program of TensorFlow 1 is upgraded, and then runs here.

    python examples/upgraded_program.py

The program below is as one wrote it for TensorFlow 1.15 in eager mode. It is written into a folder
of its own, `pinnace upgrade --module pinnace` rewrites it, and Python runs what came out.
"""

from __future__ import annotations

import argparse
import difflib
import subprocess
import sys
import tempfile
from pathlib import Path

OLD = '''\
"""Learns which of two clouds a point is of."""
import tensorflow as tf

tf.enable_eager_execution()
tf.logging.set_verbosity(tf.logging.INFO)
tf.set_random_seed(1)


def clouds(count):
    points = tf.concat([tf.random_normal([count, 2], mean=-1.0),
                        tf.random_normal([count, 2], mean=1.0)], 0)
    labels = tf.concat([tf.zeros([count, 1]), tf.ones([count, 1])], 0)
    return points, labels


def main(argv):
    steps = int(argv[1])
    points, labels = clouds(200)
    weights = tf.Variable(tf.truncated_normal([2, 1], stddev=0.1, seed=2))
    bias = tf.Variable(tf.zeros_initializer()([1]))
    batches = tf.data.Dataset.from_tensor_slices((points, labels)).shuffle(400, seed=3)
    batches = batches.repeat().batch(32).make_one_shot_iterator()
    for step in range(steps):
        x, y = batches.get_next()
        rate = tf.train.exponential_decay(0.5, step, 20, 0.9)
        with tf.GradientTape() as tape:
            logits = tf.nn.xw_plus_b(tf.nn.dropout(x, keep_prob=0.9), weights, bias)
            loss = tf.losses.sigmoid_cross_entropy(y, logits)
        for variable, slope in zip([weights, bias], tape.gradient(loss, [weights, bias])):
            tf.assign_sub(variable, rate() * slope)  # downhill
        tf.logging.log_every_n(tf.logging.INFO, "step %d: loss %.3f", 20, step, loss.numpy())
    right = tf.equal(tf.to_float(tf.matmul(points, weights) + bias > 0), labels)
    share = tf.reduce_mean(tf.to_float(right), reduction_indices=[0, 1])
    print("right: %.0f %%" % (100 * share.numpy()))
    assert share.numpy() > 0.8


if __name__ == "__main__":
    tf.app.run(main)
'''


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        old, new = Path(folder) / "old.py", Path(folder) / "new.py"
        old.write_text(OLD)
        upgrade = [sys.executable, "-m", "pinnace.tools.compatibility.tf_upgrade_v2"]
        flags = ["--infile", "old.py", "--outfile", "new.py", "--module", "pinnace"]
        subprocess.run([*upgrade, *flags], cwd=folder, check=True)
        after = new.read_text()
        for line in difflib.unified_diff(OLD.splitlines(), after.splitlines(), lineterm="", n=0):
            if line.startswith("+") and not line.startswith("+++"):
                print(line)
        done = subprocess.run([sys.executable, "new.py", str(options.steps)], cwd=folder)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
