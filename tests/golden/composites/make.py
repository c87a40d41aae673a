"""Writes results.json and examples.json beside it, by TensorFlow: see calls.py and examples.py.

Run with a Python that has tensorflow-cpu 2.21: python tests/golden/composites/make.py
"""

import json
import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent)]

from calls import CALLS, environment, plain  # noqa: E402 - the path is set above

from examples import answers  # noqa: E402 - the path is set above
from support.golden import record  # noqa: E402 - the path is set above

MADE_WITH = f"tensorflow {tf.__version__}"
names = environment(tf)
results = {text: plain(eval(text, names)) for text in CALLS}
for name, data in (("results", results), ("examples", answers(tf, tf.train, plain))):
    (HERE / f"{name}.json").write_text(json.dumps(data, indent=0) + "\n")
    record(f"composites/{name}.json", script="composites/make.py", made_with=MADE_WITH)
