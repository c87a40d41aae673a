"""Writes stateful.json beside it: the samples of TensorFlow's gamma and poisson, call by call.

Run with a Python that has tensorflow-cpu 2.21: python tests/golden/distributions/make.py
"""

import json
import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

from support.golden import record  # noqa: E402 - the path is set above

SEED, PARAMETERS = 5, [0.5, 1.0, 2.0, 20.0]
found = []
tf.random.set_seed(SEED)
for seed in (3, None, 3):
    gamma = tf.random.gamma([5], PARAMETERS, seed=seed)
    poisson = tf.random.poisson([5], PARAMETERS, seed=seed)
    found.append(
        {"seed": seed, "gamma": gamma.numpy().tolist(), "poisson": poisson.numpy().tolist()}
    )
content = {"global_seed": SEED, "parameters": PARAMETERS, "calls": found}
(HERE / "stateful.json").write_text(json.dumps(content, indent=1) + "\n")
version = f"tensorflow {tf.__version__}"
record("distributions/stateful.json", script="distributions/make.py", made_with=version)
