"""Weights in float16, and in int8 with float32 activations."""

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

# Smaller constants would cost more as an operator than they save.
_LEAST_HALF = 128
# TFLiteConverter's limit.
_LEAST_BYTE = 1024
# Operator -> the index of its weights, and their axis of output channels.
CHANNELS = {
    "CONV_2D": (1, 0),
    "DEPTHWISE_CONV_2D": (1, 3),
    "FULLY_CONNECTED": (1, 0),
    "TRANSPOSE_CONV": (1, 0),
}
# Operators whose kernels take int8 weights with float32 activations.
_HYBRID = {"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"}
LSTM = "UNIDIRECTIONAL_SEQUENCE_LSTM"
# The indices of the LSTM's weights, which share one element type.
GATES = range(1, 9)
_MOST = 127


def halve(model: Model) -> dict[str, tuple[str, int]]:
    """Convert weights to float16; return the reasons and numbers of those left in float32."""
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
    """Symmetric int8 weights.

    Args:
        data: the weights.
        axis: the axis of channels with a scale each; None for one scale.
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
    """Convert weights to int8 where kernels allow it; return reasons and numbers of the others."""
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
    """Quantise weights per output channel; return the reason if they stay float32."""
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
    """Quantise a table to int8; its rows are dequantised after they are gathered."""
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
    """Quantise the weights of an LSTM, a scale per gate; return the reason if they stay float32."""
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
