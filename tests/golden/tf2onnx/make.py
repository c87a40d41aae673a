"""Writes answers.npz beside it: TensorFlow's results for the cases of tests/peers/tf2onnx.py.

Run with a Python that has tensorflow 2.21.
"""

import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

from peers.tf2onnx import KINDS, key  # noqa: E402 - the path is set above
from support.golden import record  # noqa: E402

answers = {}
for kind, cases in KINDS.items():
    for name, case in cases.items():
        for number, feed in enumerate(case.feeds):
            found = case.function(tf, *map(tf.constant, feed))
            for place, value in enumerate(tf.nest.flatten(found)):
                answers[key(kind, name, number, place)] = value.numpy()
np.savez_compressed(HERE / "answers.npz", **answers)
record("tf2onnx/answers.npz", script="tf2onnx/make.py", made_with=f"tensorflow {tf.__version__}")
