"""A frozen float32 graph converted to float64: a network's outputs with negligible rounding.

It runs in an environment with TensorFlow, which computes it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework.types_pb2 import DT_DOUBLE, DT_FLOAT
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2


def answers_in_float64(signature: Any, asked: dict[str, Any]) -> dict[str, Any]:
    """The results of a signature with one input and one output in float64.

    Args:
        signature: a signature of a float32 SavedModel that TensorFlow loaded.
        asked: inputs by arbitrary names; the results have the same names.
    """
    frozen = convert_variables_to_constants_v2(signature)
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(widened(frozen.graph.as_graph_def()), name="")
    ways = frozen.outputs[0].name, frozen.inputs[0].name
    with tf.compat.v1.Session(graph=graph) as session:
        return {
            name: session.run(ways[0], {ways[1]: array.astype(np.float64)})
            for name, array in asked.items()
        }


def widened(graph: Any) -> Any:
    """The same graph with float64 in place of float32, in its functions, too."""
    result = tf.compat.v1.GraphDef(versions=graph.versions, library=graph.library)
    for function in result.library.function:
        for argument in (*function.signature.input_arg, *function.signature.output_arg):
            if argument.type == DT_FLOAT:
                argument.type = DT_DOUBLE
        for node in function.node_def:
            assert node.op != "FusedBatchNormV3", f"{node.name} in a function"
            _widen(node)
    for node in graph.node:
        if node.op == "FusedBatchNormV3":
            _add_normalization(result, node)
            continue
        new = result.node.add()
        _widen(new, node)
        if node.op in ("ResizeBilinear", "ResizeBicubic"):  # float32 results for any input
            new.name = f"{node.name}/single"
            cast = result.node.add(op="Cast", name=node.name, input=[new.name])
            cast.attr["SrcT"].type, cast.attr["DstT"].type = DT_FLOAT, DT_DOUBLE
    return result


def _widen(node: Any, original: Any = None) -> None:
    if original is not None:
        node.CopyFrom(original)
    for value in node.attr.values():
        if value.type == DT_FLOAT:
            value.type = DT_DOUBLE
        if value.HasField("tensor") and value.tensor.dtype == DT_FLOAT:
            wide = tf.make_ndarray(value.tensor).astype(np.float64)
            value.tensor.CopyFrom(tf.make_tensor_proto(wide))
        for place, dtype in enumerate(value.list.type):
            if dtype == DT_FLOAT:
                value.list.type[place] = DT_DOUBLE


def _add_normalization(graph: Any, node: Any) -> None:
    """(x - mean) * (1 / sqrt(variance + epsilon) * scale) + offset: the op has no float64."""
    assert not node.attr["is_training"].b, node.name
    assert node.attr["data_format"].s == b"NHWC", node.name
    x, scale, offset, mean, variance = node.input[:5]
    epsilon = graph.node.add(op="Const", name=f"{node.name}/epsilon")
    epsilon.attr["dtype"].type = DT_DOUBLE
    value = tf.make_tensor_proto(np.float64(node.attr["epsilon"].f))
    epsilon.attr["value"].tensor.CopyFrom(value)

    def add(op: str, name: str, *inputs: str) -> str:
        new = graph.node.add(op=op, name=name, input=inputs)
        new.attr["T"].type = DT_DOUBLE
        return name

    shifted = add("AddV2", f"{node.name}/shifted", variance, epsilon.name)
    inverse = add("Rsqrt", f"{node.name}/inverse", shifted)
    factor = add("Mul", f"{node.name}/factor", inverse, scale)
    centred = add("Sub", f"{node.name}/centred", x, mean)
    scaled = add("Mul", f"{node.name}/scaled", centred, factor)
    add("AddV2", node.name, scaled, offset)
