"""The model as the Python servers run it: ONNX Runtime on one thread."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime


def load() -> Callable[[Any], Any]:
    """The model at MODEL, from [n, 784] to [n, 10]."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    path = os.environ["MODEL"]
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    (name,) = (value.name for value in session.get_inputs())
    return lambda x: session.run(None, {name: np.asarray(x, np.float32)})[0]
