"""Weights in half precision, and in 8 bits with float32 between operators."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from pinnace.deploy.lite.ir.model import Operator, Quantization, Tensor
from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape

if TYPE_CHECKING:
    from pinnace.deploy.lite.ir.model import Model, Subgraph
    from pinnace.framework.tensor import Array

# Fewer numbers than this cost more as an operator than they save.
_LEAST_HALF = 128
# TFLiteConverter's own limit.
_LEAST_BYTE = 1024
# Operator -> the input with the weights, and the axis of the output's channels.
CHANNELS = {
    "CONV_2D": (1, 0),
    "DEPTHWISE_CONV_2D": (1, 3),
    "FULLY_CONNECTED": (1, 0),
    "TRANSPOSE_CONV": (1, 0),
}
# Those whose kernels take weights of 8 bits beside numbers of float32.
_HYBRID = {"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"}
LSTM = "UNIDIRECTIONAL_SEQUENCE_LSTM"
# The places of its weights, of which all have one element type.
GATES = range(1, 9)
_MOST = 127


def halve(model: Model) -> dict[str, tuple[str, int]]:
    """Weights in float16, widened where they are used; what stayed float32, and why."""
    stayed: Counter[tuple[str, str]] = Counter()
    for subgraph in model.subgraphs():
        widened: dict[int, Tensor] = {}
        added: list[Operator] = []
        for operator in subgraph.operators:
            for place, x in enumerate(operator.inputs):
                if x is None or x.data is None or x.dtype is not dtypes.float32:
                    continue
                if x.data.size < _LEAST_HALF:
                    continue
                if id(x) not in widened:
                    with np.errstate(over="ignore"):
                        narrow = x.data.astype(np.float16)
                    if not np.isfinite(narrow).all():
                        stayed[operator.kind, "weights that float16 cannot hold"] += 1
                        continue
                    half = Tensor(f"{x.name}/float16", dtypes.float16, x.shape, narrow)
                    wide = Tensor(x.name, dtypes.float32, x.shape)
                    added.append(Operator("DEQUANTIZE", [half], [wide], {}, operator.origin))
                    widened[id(x)] = wide
                operator.inputs[place] = widened[id(x)]
        subgraph.operators = [*added, *subgraph.operators]
    return {kind: (reason, n) for (kind, reason), n in stayed.items()}


def by_channel(data: Array, axis: int | None) -> tuple[Array, Quantization]:
    """Weights in 8 bits, zero standing for zero.

    Args:
        data: the weights.
        axis: of which each place has a scale of its own; None for one scale.
    """
    others = tuple(i for i in range(data.ndim) if i != axis)
    largest = np.max(np.abs(data), axis=others if axis is not None else None)
    scales = np.asarray(np.where(largest > 0, largest / _MOST, 1.0), np.float32).reshape(-1)
    form = [1] * data.ndim
    if axis is not None:
        form[axis] = len(scales)
    levels = np.rint(data / scales.reshape(form)).clip(-_MOST, _MOST).astype(np.int8)
    numbers = tuple(float(scale) for scale in scales)
    return levels, Quantization(numbers, (0,) * len(numbers), axis or 0)


def narrow(model: Model) -> dict[str, tuple[str, int]]:
    """Weights in 8 bits where kernels take them so; what stayed float32, and why."""
    stayed: Counter[tuple[str, str]] = Counter()
    for subgraph in model.subgraphs():
        known: dict[int, Tensor] = {}
        for operator in list(subgraph.operators):
            if operator.kind == "GATHER":
                _rows(subgraph, operator)
                continue
            if operator.kind in _HYBRID:
                reason = _channels(operator, known)
            elif operator.kind == LSTM:
                reason = _gates(operator)
            else:
                reason = "its kernel takes no weights of 8 bits" if _has_weights(operator) else ""
            if reason:
                stayed[operator.kind, reason] += 1
    return {kind: (reason, n) for (kind, reason), n in stayed.items()}


def _has_weights(operator: Operator) -> bool:
    return any(
        x is not None
        and x.data is not None
        and x.dtype is dtypes.float32
        and x.data.size >= _LEAST_BYTE
        for x in operator.inputs
    )


def _channels(operator: Operator, known: dict[int, Tensor]) -> str:
    """Weights with a scale for each output channel; why not, if they stay float32."""
    place, axis = CHANNELS[operator.kind]
    x = operator.inputs[place]
    if x is None or x.data is None or x.dtype is not dtypes.float32:
        return ""
    if x.data.size < _LEAST_BYTE:
        return f"fewer than {_LEAST_BYTE} weights"
    if id(x) not in known:
        levels, how = by_channel(x.data, axis)
        known[id(x)] = Tensor(x.name, dtypes.int8, x.shape, levels, how)
    operator.inputs[place] = known[id(x)]
    if operator.kind == "FULLY_CONNECTED":
        operator.options["asymmetric_quantize_inputs"] = True
    return ""


def _rows(subgraph: Subgraph, operator: Operator) -> None:
    """Of a table, rows in 8 bits, widened once they are taken."""
    x, made = operator.inputs[0], operator.outputs[0]
    if x is None or x.data is None or x.dtype is not dtypes.float32 or x.data.size < _LEAST_BYTE:
        return
    levels, how = by_channel(x.data, None)
    operator.inputs[0] = Tensor(x.name, dtypes.int8, x.shape, levels, how)
    rows = Tensor(f"{made.name}/int8", dtypes.int8, Shape(made.shape), None, how)
    operator.outputs[0] = rows
    place = subgraph.operators.index(operator) + 1
    subgraph.operators.insert(place, Operator("DEQUANTIZE", [rows], [made], {}, operator.origin))


def _gates(operator: Operator) -> str:
    """The weights of an LSTM, with one scale for each gate; why not, if they stay float32."""
    weights = [x for place in GATES if (x := operator.inputs[place]) is not None]
    if any(x.data is None or x.dtype is not dtypes.float32 for x in weights):
        return "its weights are computed"
    if all(x.data is None or x.data.size < _LEAST_BYTE for x in weights):
        return f"fewer than {_LEAST_BYTE} weights in each of its gates"
    for place in GATES:
        x = operator.inputs[place]
        if x is not None and x.data is not None:
            levels, how = by_channel(x.data, None)
            operator.inputs[place] = Tensor(x.name, dtypes.int8, x.shape, levels, how)
    operator.options["asymmetric_quantize_inputs"] = True
    return ""
