"""cuDNN's recurrent layers with packed weights as LSTM, GRU and RNN, layer by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.deploy.onnx.converters.registry import converts
from pinnace.framework import dtypes
from pinnace.ops.nn.packed_rnn import GATES, Layout

if TYPE_CHECKING:
    from pinnace.deploy.onnx.converters.node_view import NodeView
    from pinnace.deploy.onnx.ir.builder import GraphBuilder
    from pinnace.deploy.onnx.ir.graph import Value

# Mode -> operator, and the indices of its gates in the packed weights.
_KINDS = {
    "lstm": ("LSTM", [0, 3, 1, 2]),
    "gru": ("GRU", [1, 0, 2]),
    "rnn_tanh": ("RNN", [0]),
    "rnn_relu": ("RNN", [0]),
}


@converts("CudnnRNN", "CudnnRNNV2", constants=("params",))
def layers(
    g: GraphBuilder, call: NodeView, x: Value, hidden: Value, cell: Value, params: Value
) -> tuple[Value, ...]:
    """A node per layer, for both directions."""
    del params
    found = _layers(g, call, x, hidden, cell, None)
    return *found, *_nothing(g, call)


@converts("CudnnRNNV3", constants=("params",))
def layers_of_lengths(
    g: GraphBuilder,
    call: NodeView,
    x: Value,
    hidden: Value,
    cell: Value,
    params: Value,
    lengths: Value,
) -> tuple[Value, ...]:
    """`CudnnRNN` with a length for each row."""
    del params
    if call.attr("num_proj"):
        call.fail("num_proj must be 0")
    if not call.attr("time_major"):
        x, hidden, cell = (_turned(g, one) for one in (x, hidden, cell))
    found = _layers(g, call, x, hidden, cell, lengths)
    if not call.attr("time_major"):
        found = tuple(_turned(g, one) for one in found)
    return *found, *_nothing(g, call)


def _turned(g: GraphBuilder, x: Value) -> Value:
    return g.transpose(x, [1, 0, 2]) if x.rank == 3 else x


def _nothing(g: GraphBuilder, call: NodeView) -> list[Value]:
    kept = [g.constant(np.zeros(0, call.output_spec(0).dtype.numpy))]
    return kept if call.output_count == 4 else [*kept, g.constant(np.zeros(0, np.int8))]


def _layers(
    g: GraphBuilder, call: NodeView, x: Value, hidden: Value, cell: Value, lengths: Value | None
) -> tuple[Value, ...]:
    mode = str(call.attr("rnn_mode"))
    if call.attr("input_mode") == "skip_input":
        call.fail("input_mode must be 'linear_input'")
    if call.attr("is_training") and call.attr("dropout"):
        call.fail("its dropout for training draws random numbers")
    directions = 2 if call.attr("direction") == "bidirectional" else 1
    every, units, inputs = hidden.shape[0], hidden.shape[2], x.shape[2]
    if every is None or units is None or inputs is None:
        call.fail("the numbers of layers, units and inputs must be known")
    layout = Layout(mode, every // directions, directions, units, inputs)
    # ONNX Runtime has no recurrent kernels for 16-bit floats.
    dtype, wide = x.dtype, dtypes.float32 if x.dtype.size == 2 else x.dtype
    x, hidden, cell = (g.cast(one, wide) for one in (x, hidden, cell))
    params = call.needed(3, "params").astype(wide.numpy)
    kind, order = _KINDS[mode]
    matrices, biases = layout.unpacked(params)
    count, last = GATES[mode], []
    for layer in range(layout.layers):
        start, end = layer * directions, (layer + 1) * directions
        tables: list[list[np.ndarray]] = [[], [], []]
        for at in range(start, end):
            own, bias = (part[2 * count * at : 2 * count * (at + 1)] for part in (matrices, biases))
            for table, part in ((0, own[:count]), (1, own[count:])):
                tables[table].append(np.concatenate([part[gate] for gate in order]))
            both = [half[gate] for half in (bias[:count], bias[count:]) for gate in order]
            tables[2].append(np.concatenate(both))
        weights = [g.constant(np.stack(table)) for table in tables]
        rows = None if lengths is None else g.cast(lengths, dtypes.int32)
        states = [g.slice(hidden, 0, start, end)]
        if mode == "lstm":
            states.append(g.slice(cell, 0, start, end))
        y, *ends = g.ops(
            kind,
            1 + len(states),
            x,
            *weights,
            rows,
            *states,
            hidden_size=units,
            direction="bidirectional" if directions == 2 else "forward",
            linear_before_reset=1 if mode == "gru" else None,
            activations=["Relu"] * directions if mode == "rnn_relu" else None,
        )
        # [time, directions, batch, units] → [time, batch, directions units].
        joined = g.transpose(y, [0, 2, 1, 3])
        x = g.reshape(joined, g.joined(g.shape_of(joined, 0, 2), g.ints(directions * units)))
        if rows is not None:
            # For a row of length 0, ONNX Runtime returns zeros instead of the initial state.
            none = g.unsqueeze(g.binary("Equal", rows, 0), 0, 2)
            ends = [g.where(none, *pair) for pair in zip(states, ends, strict=True)]
        last.append(ends)
    ends = [g.concat([one[index] for one in last], 0) for index in range(len(last[0]))]
    if mode != "lstm":
        ends.append(g.op("Sub", cell, cell))
    return tuple(g.cast(one, dtype) for one in (x, *ends))
