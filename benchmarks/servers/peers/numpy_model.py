"""The model with NumPy alone: the few operations that a perceptron's ONNX file has."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper


def _softmax(x: Any) -> Any:
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "MatMul": np.matmul,
    "Add": np.add,
    "Relu": lambda x: np.maximum(x, 0),
    "Softmax": _softmax,
}


def load() -> Callable[[Any], Any]:
    """The model at MODEL, from [n, 784] to [n, 10]."""
    graph = onnx.load(os.environ["MODEL"]).graph
    weights = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    steps = [(_OPERATIONS[node.op_type], tuple(node.input), node.output[0]) for node in graph.node]
    (given,) = (one.name for one in graph.input if one.name not in weights)
    wanted = graph.output[0].name

    def run(x: Any) -> Any:
        values = {**weights, given: x}
        for operation, inputs, output in steps:
            values[output] = operation(*[values[name] for name in inputs])
        return values[wanted]

    return run
