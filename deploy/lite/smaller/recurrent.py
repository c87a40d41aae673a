"""Quantised LSTM layers: int8 between steps, int16 for the cells, by LiteRT's kernel.

The layer is an operator in a subgraph that IF runs (converters/recurrent.py). The interpreter does
not expose its cells, so their range is computed here from its input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.deploy.lite.ir.model import Operator, Quantization, Subgraph, Tensor
from pinnace.deploy.lite.smaller.weights import GATES, LSTM, by_channel
from pinnace.framework import dtypes
from pinnace.framework.errors import InternalError
from pinnace.framework.shapes import Shape

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.framework.tensor import Array

_BRANCHES = ("then_subgraph_index", "else_subgraph_index")
# Indices of the operator's inputs.
_BIASES = range(12, 16)
_HIDDEN, _CELL = 18, 19
# Indices of IF's inputs, after the condition.
_X, STATES = 1, slice(2, 4)
# The kernel's tanh takes cells whose range is a power of 2 between these.
_LEAST_CELL, _MOST_CELL = 1.0, 64.0


def layer_of(operator: Operator) -> Operator | None:
    """The LSTM that both branches of an IF run."""
    inner = operator.options.get(_BRANCHES[0])
    if not isinstance(inner, Subgraph) or [one.kind for one in inner.operators] != [LSTM]:
        return None
    return inner.operators[0]


def cell_of(layer: Operator) -> Tensor:
    """The cell state of an LSTM."""
    return _at(layer, _CELL)


def _at(layer: Operator, place: int) -> Tensor:
    found = layer.inputs[place]
    if found is None:
        raise InternalError(f"an LSTM of one operator has no input {place}")
    return found


def fills_of(subgraph: Subgraph) -> dict[int, Operator]:
    """id of a tensor of zeros -> the FILL that produces it."""
    return {
        id(one.outputs[0]): one
        for one in subgraph.operators
        if one.kind == "FILL" and one.inputs[1] is not None and _is_zero(one.inputs[1])
    }


def _is_zero(x: Tensor) -> bool:
    return x.data is not None and not np.any(x.data)


def begins_with_zeros(operator: Operator, fills: Mapping[int, Operator]) -> bool:
    """Whether the initial state of an IF's LSTM is zero."""
    return all(x is not None and id(x) in fills for x in operator.inputs[STATES])


def cells(layer: Operator, x: Array) -> tuple[float, float]:
    """The smallest and largest cell value over all steps, from a zero state.

    Args:
        layer: the float32 LSTM.
        x: its input.
    """
    data = [None if one is None else one.data for one in layer.inputs]
    numbers: list[Array] = [np.asarray(array, np.float64) for array in data[1:9] + data[12:16]]
    of_x, of_h, shifts = numbers[:4], numbers[4:8], numbers[8:]
    steps = x if layer.options.get("time_major") else x.swapaxes(0, 1)
    h = np.zeros((steps.shape[1], of_h[0].shape[1]))
    c = np.zeros((steps.shape[1], of_h[0].shape[0]))
    low = high = 0.0
    with np.errstate(over="ignore"):
        for row in steps.astype(np.float64):
            gates = [row @ a.T + h @ b.T + s for a, b, s in zip(of_x, of_h, shifts, strict=True)]
            entry, forget, out = (1 / (1 + np.exp(-gates[i])) for i in (0, 1, 3))
            c = forget * c + entry * np.tanh(gates[2])
            h = out * np.tanh(c)
            low, high = min(low, float(c.min(initial=0))), max(high, float(c.max(initial=0)))
    return low, high


def whole_layer(
    operator: Operator, x: Tensor, made: Quantization, cell_range: tuple[float, float]
) -> tuple[Subgraph, list[Tensor]]:
    """The subgraph of an IF's quantised LSTM, and tensors for its initial state.

    Args:
        operator: the IF.
        x: its quantised input.
        made: the scale of its output.
        cell_range: the range of its cells.
    """
    given, hidden, cell = operator.options[_BRANCHES[0]].inputs
    (layer,) = operator.options[_BRANCHES[0]].operators
    (entry,) = x.quantization.scales if x.quantization else (1.0,)
    size = np.clip(max(-cell_range[0], cell_range[1]), _LEAST_CELL, _MOST_CELL)
    # The kernel shifts bits, so the scale is a power of 2.
    step = Quantization((float(2.0 ** (np.ceil(np.log2(size)) - 15)),), (0,))
    inputs = [
        Tensor(given.name, dtypes.int8, given.shape, None, x.quantization),
        Tensor(hidden.name, dtypes.int8, hidden.shape, None, made, is_state=True),
        Tensor(cell.name, dtypes.int16, cell.shape, None, step, is_state=True),
    ]
    taken = list(layer.inputs)
    taken[0], taken[_HIDDEN], taken[_CELL] = inputs
    scales = []
    for place in GATES:
        weights = _at(layer, place)
        levels, how = by_channel(np.asarray(weights.data), None)
        scales.append(how.scales[0])
        taken[place] = Tensor(weights.name, dtypes.int8, weights.shape, levels, how)
    for place, scale in zip(_BIASES, scales[:4], strict=True):
        shift = _at(layer, place)
        both = scale * entry
        whole = np.rint(np.asarray(shift.data, np.float64) / both)
        ends = np.iinfo(np.int32)
        kept = whole.clip(ends.min, ends.max).astype(np.int32)
        taken[place] = Tensor(
            shift.name, dtypes.int32, shift.shape, kept, Quantization((float(both),), (0,))
        )
    (old,) = layer.outputs
    out = Tensor(old.name, dtypes.int8, old.shape, None, made)
    # Scales of normalised gates, which are unused here, and of the output.
    inside = [Tensor(f"{old.name}/gate", dtypes.float32, Shape([0])) for _ in range(4)]
    inside.append(Tensor(f"{old.name}/hidden", dtypes.int8, Shape([0]), None, made))
    options = {k: v for k, v in layer.options.items() if k != "asymmetric_quantize_inputs"}
    inner = Operator(LSTM, taken, [out], options, layer.origin, inner=inside)
    subgraph = Subgraph(operator.options[_BRANCHES[0]].name, inputs, [out], [inner])
    return subgraph, inputs[1:]


def whole_zeros(fill: Operator, like: Tensor) -> tuple[Operator, Tensor]:
    """The quantised initial state: a FILL and its output."""
    (old,) = fill.outputs
    how = like.quantization
    zero = np.asarray(how.zeros[0] if how else 0, like.dtype.numpy)
    value = Tensor(f"{old.name}/zero", like.dtype, Shape([]), zero, how)
    made = Tensor(f"{old.name}/{like.dtype.name}", like.dtype, old.shape, None, how)
    return Operator("FILL", [fill.inputs[0], value], [made], {}, fill.origin), made
