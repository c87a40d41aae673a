"""Writes results.npz beside it: the calls of calls.py by TensorFlow, with gradients.

Run with a Python that has tensorflow-cpu 2.21: python tests/golden/math/make.py
"""

import operator
import os
import sys
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent)]

from calls import CALLS, Call, seed_of  # noqa: E402 - the path is set above

from support.golden import record  # noqa: E402 - the path is set above

DIFFERENTIABLE = ("float32", "float64", "complex128")


def tensor(value: Any) -> Any:
    if isinstance(value, list) and any(isinstance(part, np.ndarray) for part in value):
        return [tensor(part) for part in value]
    return tf.constant(value) if isinstance(value, np.ndarray) else value


def results(call: Call) -> dict[str, Any]:
    args = [tensor(value) for value in call.args]
    options = {name: tensor(value) for name, value in call.options.items()}
    with tf.GradientTape(persistent=True) as tape:
        for index in call.sources:
            tape.watch(args[index])
        outputs = tf.nest.flatten(operator.attrgetter(call.name)(tf)(*args, **options))
    found = {f"y{n}": y.numpy() for n, y in enumerate(outputs)}
    ys = [y for y in outputs if y.dtype.name in DIFFERENTIABLE]
    seeds = [tf.constant(seed_of(y.shape).astype(y.dtype.name)) for y in ys]
    for index in call.sources:
        dx = tape.gradient(ys, args[index], seeds)
        if dx is not None:
            found[f"d{index}"] = dx.numpy()
    return found


np.savez_compressed(
    HERE / "results.npz",
    **{f"{n}/{key}": array for n, call in enumerate(CALLS) for key, array in results(call).items()},
)
record("math/results.npz", script="math/make.py", made_with=f"tensorflow {tf.__version__}")
