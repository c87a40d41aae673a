"""Recurrent cells and layers as ops: BlockLSTM, LSTMBlockCell, GRUBlockCell, and gradients.

The gates of an LSTM are the columns of `w` in the order i, c, f, o; in version 2 i, f, c, o.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.array import constants
from pinnace.ops.execute import execute
from pinnace.ops.kernels.cells import Gates, GruGates, Peepholes, lstm_step, lstm_step_back, sigmoid
from pinnace.ops.kernels.precision import computed_in
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, InferCall, OpCall, OpDef, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Array, Tensor

__all__: list[str] = []

ORDERS = {"BlockLSTM": "icfo", "LSTMBlockCell": "icfo", "BlockLSTMV2": "ifco"}
_TYPES = frozenset({dtypes.float16, dtypes.float32})
_WEIGHTS = "w: T, wci: T, wcf: T, wco: T, b: T"
_GATES = "i: T, cs: T, f: T, o: T, ci: T, co: T, h: T"

_LAYER_INPUTS = f"seq_len_max: int64, x: T, cs_prev: T, h_prev: T, {_WEIGHTS}"
_LAYER_GRADIENTS = (
    "x_grad: T, cs_prev_grad: T, h_prev_grad: T, w_grad: T, "
    "wci_grad: T, wcf_grad: T, wco_grad: T, b_grad: T"
)
_PEEPHOLE = attr("bool", default=False)

_GRU_INPUTS = "x: T, h_prev: T, w_ru: T, w_c: T, b_ru: T, b_c: T"


def _wide(*arrays: Array) -> tuple[Array, ...]:
    return tuple(x.astype(computed_in(x.dtype), copy=False) for x in arrays)


def _peepholes(
    name: str, state: Array, weights: tuple[Array, Array, Array], use: bool
) -> Peepholes | None:
    units = state.shape[-1]
    # Whole layers check the peepholes even if they are unused, like TensorFlow's.
    fits = not (use or name.startswith("Block")) or all(w.shape == (units,) for w in weights)
    _require(name, fits, f"wci, wcf and wco must have shape [{units}]", *weights)
    wci, wcf, wco = weights
    return Peepholes(*_wide(wci, wcf, wco)) if use else None


def _require(name: str, holds: bool, rule: str, *arrays: Array) -> None:
    if not holds:
        found = ", ".join(str(list(x.shape)) for x in arrays)
        raise InvalidArgumentError(f"{name}: {rule}, got {found}")


def _require_weights(name: str, x: Array, state: Array, hidden: Array, w: Array, b: Array) -> None:
    batch, units = len(x), state.shape[-1]
    _require(
        name,
        state.shape == hidden.shape == (batch, units),
        "cs_prev and h_prev must have shape [batch, units]",
        state,
        hidden,
    )
    rows = x.shape[-1] + units
    _require(
        name,
        w.shape == (rows, 4 * units) and b.shape == (4 * units,),
        f"w must have shape [{rows}, {4 * units}] and b [{4 * units}]",
        w,
        b,
    )


def _sums(order: str, total: Array, forget_bias: float) -> dict[str, Array]:
    parts = dict(zip(order, np.split(total, 4, axis=-1), strict=True))
    if forget_bias:
        parts["f"] = parts["f"] + np.asarray(forget_bias, total.dtype)
    return parts


def _layer(name: str) -> Callable[..., tuple[Array, ...]]:
    def kernel(
        seq_len_max: Array,
        x: Array,
        cs_prev: Array,
        h_prev: Array,
        w: Array,
        wci: Array,
        wcf: Array,
        wco: Array,
        b: Array,
        *,
        cell_clip: float,
        use_peephole: bool,
        forget_bias: float = 0.0,
    ) -> tuple[Array, ...]:
        peepholes = _peepholes(name, cs_prev, (wci, wcf, wco), use_peephole)
        steps = int(seq_len_max.reshape(-1)[0])
        _require(name, x.ndim == 3, "x must have shape [time, batch, inputs]", x)
        _require_steps(name, steps, x)
        batch, inputs = x.shape[1:]
        # An empty array instead of x[0]: the sequence may have no steps.
        _require_weights(name, np.empty((batch, inputs), x.dtype), cs_prev, h_prev, w, b)
        units = cs_prev.shape[1]
        weights, biases, state, hidden = _wide(w, b, cs_prev, h_prev)
        # The inputs' part of all steps is computed beforehand.
        (wide,) = _wide(x[:steps])
        ahead = wide.reshape(-1, inputs) @ weights[:inputs] + biases
        ahead = ahead.reshape(steps, batch, 4 * units)
        out = tuple(np.zeros((len(x), batch, units), x.dtype) for _ in Gates._fields)
        for step in range(steps):
            sums = _sums(ORDERS[name], ahead[step] + hidden @ weights[inputs:], forget_bias)
            gates = lstm_step(sums, state, peepholes, cell_clip)
            for place, part in zip(out, gates, strict=True):
                place[step] = part
            state, hidden = _wide(out[1][step], out[6][step])
        return out

    return kernel


def _require_steps(name: str, steps: int, x: Array) -> None:
    if not 0 <= steps <= len(x):
        raise InvalidArgumentError(f"{name}: seq_len_max must be in [0, {len(x)}], got {steps}")


def _ranked(call: InferCall, index: int, rank: int) -> Shape:
    """The shape of an input, which must have this rank."""
    shape = call.spec(index).shape
    if shape.rank not in {None, rank}:
        call.fail(f"{call.op.inputs[index].name} must have {rank} axes, got {shape.rank}")
    return Shape([None] * rank) if shape.rank is None else shape


def _infer_lstm(call: InferCall) -> tuple[Shape, ...]:
    """Infer the outputs; a layer's inputs begin with length and x, a cell's with x."""
    layered = len(call.inputs) == 9
    first = 1 if layered else 0
    if layered:
        _ranked(call, 0, 0)
    x = _ranked(call, first, 3 if layered else 2)
    state = _ranked(call, first + 1, 2)
    for index in range(first + 2, first + 8):
        _ranked(call, index, 2 if index < first + 4 else 1)
    units, four = state[1], _ranked(call, first + 7, 1)[0]
    if units is None and four is not None:
        units = four // 4
    return (x[:-1].concatenate([units]),) * 7


def _gradients_by_gate(order: str, sums: dict[str, Array]) -> Array:
    return np.concatenate([sums[gate] for gate in order], -1)


def _peephole_gradients(
    sums: dict[str, Array], before: Array, after: Array, use: bool
) -> tuple[Array, ...]:
    if not use:
        return (np.zeros(before.shape[-1], before.dtype),) * 3
    axes = tuple(range(before.ndim - 1))
    pairs = ((sums["i"], before), (sums["f"], before), (sums["o"], after))
    return tuple((gradient * state).sum(axes) for gradient, state in pairs)


def _layer_back(name: str) -> Callable[..., tuple[Array, ...]]:
    order = ORDERS[name]

    def kernel(
        seq_len_max: Array,
        x: Array,
        cs_prev: Array,
        h_prev: Array,
        w: Array,
        wci: Array,
        wcf: Array,
        wco: Array,
        b: Array,
        *rest: Array,
        use_peephole: bool,
    ) -> tuple[Array, ...]:
        steps, inputs = int(seq_len_max.reshape(-1)[0]), x.shape[-1]
        _require_weights(name, np.empty(x.shape[1:], x.dtype), cs_prev, h_prev, w, b)
        whole = (*x.shape[:2], cs_prev.shape[1])
        _require(name, all(p.shape == whole for p in rest), f"gates must have shape {whole}", *rest)
        _require_steps(name, steps, x)
        kept = _wide(*(part[:steps] for part in rest))
        gates, (d_states, d_hiddens) = kept[:7], kept[7:]
        (first, start, weights, signal) = _wide(cs_prev, h_prev, w, x[:steps])
        peepholes = _peepholes(name, cs_prev, (wci, wcf, wco), use_peephole)
        before = np.concatenate([first[None], gates[1]])[:steps]
        hidden = np.concatenate([start[None], gates[6]])[:steps]
        d_state, d_hidden = np.zeros_like(first), np.zeros_like(start)
        sums = np.zeros((*whole[:2], 4 * whole[2]), first.dtype)[:steps]
        for t in reversed(range(steps)):
            now = Gates(*(part[t] for part in gates))
            back = lstm_step_back(
                now, before[t], peepholes, d_states[t] + d_state, d_hiddens[t] + d_hidden
            )
            sums[t] = _gradients_by_gate(order, back.sums)
            d_state, d_hidden = back.state, sums[t] @ weights[inputs:].T
        dx = np.zeros(x.shape, first.dtype)
        dx[:steps] = sums @ weights[:inputs].T
        both = np.concatenate([signal, hidden], -1)
        by_gate = dict(zip(order, np.split(sums, 4, -1), strict=True))
        found = (
            dx,
            d_state,
            d_hidden,
            np.tensordot(both, sums, ((0, 1), (0, 1))),
            *_peephole_gradients(by_gate, before, gates[1], use_peephole),
            sums.sum((0, 1)),
        )
        return tuple(part.astype(x.dtype, copy=False) for part in found)

    return kernel


def _layer_gradient(backward: str) -> Callable[..., tuple[Any, ...]]:
    def gradient(call: OpCall, *dys: Tensor | None) -> tuple[Any, ...]:
        """The gradient from those of `cs` and `h`; others are ignored, as in TensorFlow."""
        given = [
            constants.zeros_like(call.outputs[index]) if dys[index] is None else dys[index]
            for index in (1, 6)
        ]
        op = _BACKWARD[backward]
        peephole = call.attr("use_peephole")
        return None, *execute(op, *call.inputs, *call.outputs, *given, use_peephole=peephole)

    return gradient


def _infer_layer_back(call: InferCall) -> tuple[Shape, ...]:
    _ranked(call, 0, 0)
    for index in range(9, len(call.inputs)):
        _ranked(call, index, 3)
    return tuple(
        _ranked(call, index, rank) for index, rank in enumerate((3, 2, 2, 2, 1, 1, 1, 1), 1)
    )


def _op(name: str, signature: str, infer: Any, kernel: Any, gradient: Any, **attrs: Any) -> OpDef:
    single = name.startswith("GRU")
    return define(
        name=name,
        signature=signature,
        types={"T": frozenset({dtypes.float32}) if single else _TYPES},
        attrs=attrs,
        infer=infer,
        kernel=kernel,
        gradient=gradient,
    )


_BACKWARD = {
    name: _op(
        name,
        f"{_LAYER_INPUTS}, {_GATES}, cs_grad: T, h_grad: T -> {_LAYER_GRADIENTS}",
        _infer_layer_back,
        _layer_back(forward),
        NO_GRADIENT_DEFINED,
        use_peephole=attr("bool"),
    )
    for name, forward in (("BlockLSTMGrad", "BlockLSTM"), ("BlockLSTMGradV2", "BlockLSTMV2"))
}


BLOCK_LSTM = _op(
    "BlockLSTM",
    f"{_LAYER_INPUTS} -> {_GATES}",
    _infer_lstm,
    _layer("BlockLSTM"),
    _layer_gradient("BlockLSTMGrad"),
    forget_bias=attr("float", default=1.0),
    cell_clip=attr("float", default=3.0),
    use_peephole=_PEEPHOLE,
)


BLOCK_LSTM_V2 = _op(
    "BlockLSTMV2",
    f"{_LAYER_INPUTS} -> {_GATES}",
    _infer_lstm,
    _layer("BlockLSTMV2"),
    _layer_gradient("BlockLSTMGradV2"),
    cell_clip=attr("float", default=0.0),
    use_peephole=_PEEPHOLE,
)


def _cell_kernel(
    x: Array,
    cs_prev: Array,
    h_prev: Array,
    w: Array,
    wci: Array,
    wcf: Array,
    wco: Array,
    b: Array,
    *,
    forget_bias: float,
    cell_clip: float,
    use_peephole: bool,
) -> tuple[Array, ...]:
    _require_weights("LSTMBlockCell", x, cs_prev, h_prev, w, b)
    both, state, weights, biases = _wide(np.concatenate([x, h_prev], 1), cs_prev, w, b)
    peepholes = _peepholes("LSTMBlockCell", cs_prev, (wci, wcf, wco), use_peephole)
    sums = _sums("icfo", both @ weights + biases, forget_bias)
    gates = lstm_step(sums, state, peepholes, cell_clip)
    return tuple(part.astype(x.dtype, copy=False) for part in gates)


LSTM_BLOCK_CELL = _op(
    "LSTMBlockCell",
    f"x: T, cs_prev: T, h_prev: T, {_WEIGHTS} -> {_GATES}",
    _infer_lstm,
    _cell_kernel,
    NO_GRADIENT_DEFINED,
    forget_bias=attr("float", default=1.0),
    cell_clip=attr("float", default=3.0),
    use_peephole=_PEEPHOLE,
)


def _cell_back_kernel(
    x: Array,
    cs_prev: Array,
    h_prev: Array,
    w: Array,
    wci: Array,
    wcf: Array,
    wco: Array,
    b: Array,
    i: Array,
    cs: Array,
    f: Array,
    o: Array,
    ci: Array,
    co: Array,
    cs_grad: Array,
    h_grad: Array,
    *,
    use_peephole: bool,
) -> tuple[Array, ...]:
    shapes = {part.shape for part in (cs_prev, i, cs, f, o, ci, co, cs_grad, h_grad)}
    same = len(shapes) == 1 and len(x) == len(cs_prev)
    _require("LSTMBlockCellGrad", same, "states and gates must have one shape", x, cs_prev)
    _require_weights("LSTMBlockCellGrad", x, cs_prev, h_prev, w, b)
    peepholes = _peepholes("LSTMBlockCellGrad", cs_prev, (wci, wcf, wco), use_peephole)
    gates = Gates(*_wide(i, cs, f, o, ci, co, co))
    state, d_state, d_hidden = _wide(cs_prev, cs_grad, h_grad)
    back = lstm_step_back(gates, state, peepholes, d_state, d_hidden)
    found = (
        back.state,
        _gradients_by_gate("icfo", back.sums),
        *_peephole_gradients(back.sums, state, gates.state, use_peephole),
    )
    return tuple(part.astype(cs_prev.dtype, copy=False) for part in found)


def _infer_cell_back(call: InferCall) -> tuple[Shape, ...]:
    x, state = _ranked(call, 0, 2), _ranked(call, 1, 2)
    state = Shape([x[0] if state[0] is None else state[0], state[1]])
    for index in range(len(call.inputs)):
        _ranked(call, index, 1 if 4 <= index < 8 else 2)
    units = Shape([state[1]])
    four = _ranked(call, 3, 2)[1] if state[1] is None else 4 * state[1]
    return state, Shape([state[0], four]), units, units, units


LSTM_BLOCK_CELL_GRAD = _op(
    "LSTMBlockCellGrad",
    f"x: T, cs_prev: T, h_prev: T, {_WEIGHTS}, i: T, cs: T, f: T, o: T, ci: T, co: T, "
    "cs_grad: T, h_grad: T -> cs_prev_grad: T, dicfo: T, wci_grad: T, wcf_grad: T, wco_grad: T",
    _infer_cell_back,
    _cell_back_kernel,
    NO_GRADIENT_DEFINED,
    use_peephole=attr("bool"),
)


def _gru_kernel(
    x: Array, h_prev: Array, w_ru: Array, w_c: Array, b_ru: Array, b_c: Array
) -> tuple[Array, ...]:
    units, rows = h_prev.shape[-1], x.shape[-1] + h_prev.shape[-1]
    fits = w_ru.shape == (rows, 2 * units) and w_c.shape == (rows, units)
    fits = fits and b_ru.shape == (2 * units,) and b_c.shape == (units,) and len(x) == len(h_prev)
    rule = f"weights must have shapes [{rows}, {2 * units}], [{rows}, {units}] and biases must fit"
    _require("GRUBlockCell", fits, rule, w_ru, w_c, b_ru, b_c)
    both = sigmoid(np.concatenate([x, h_prev], 1) @ w_ru + b_ru)
    reset, update = both[:, :units], both[:, units:]
    candidate = np.tanh(np.concatenate([x, h_prev * reset], 1) @ w_c + b_c)
    hidden = (1 - update) * candidate + update * h_prev
    return GruGates(reset, update, candidate, hidden)


def _infer_gru(call: InferCall) -> tuple[Shape, ...]:
    for index in range(2, 6):
        _ranked(call, index, 1 if index > 3 else 2)
    return (Shape([_ranked(call, 0, 2)[0], _ranked(call, 1, 2)[1]]),) * 4


GRU_BLOCK_CELL = _op(
    "GRUBlockCell",
    f"{_GRU_INPUTS} -> r: T, u: T, c: T, h: T",
    _infer_gru,
    _gru_kernel,
    NO_GRADIENT_DEFINED,
)


def _gru_back_kernel(
    x: Array,
    h_prev: Array,
    w_ru: Array,
    w_c: Array,
    b_ru: Array,  # noqa: ARG001 (the protocol)
    b_c: Array,  # noqa: ARG001
    r: Array,
    u: Array,
    c: Array,
    d_h: Array,
) -> tuple[Array, ...]:
    inputs, units = x.shape[-1], h_prev.shape[-1]
    shapes = {part.shape for part in (h_prev, r, u, c, d_h)}
    rows = inputs + units
    fits = len(shapes) == 1 and w_ru.shape == (rows, 2 * units) and w_c.shape == (rows, units)
    _require("GRUBlockCellGrad", fits, "gates and weights must fit", h_prev, r, u, c, d_h)
    d_candidate = d_h * (1 - u) * (1 - np.square(c))
    d_update = d_h * (h_prev - c) * u * (1 - u)
    along_c = d_candidate @ w_c.T
    d_kept = along_c[:, inputs:]
    d_reset = d_kept * h_prev * r * (1 - r)
    gates = np.concatenate([d_reset, d_update], 1)
    along_ru = gates @ w_ru.T
    dx = along_ru[:, :inputs] + along_c[:, :inputs]
    d_hidden = along_ru[:, inputs:] + d_kept * r + d_h * u
    return dx, d_hidden, d_candidate, gates


def _infer_gru_back(call: InferCall) -> tuple[Shape, ...]:
    x, h = _ranked(call, 0, 2), _ranked(call, 1, 2)
    for index in range(2, len(call.inputs)):
        _ranked(call, index, 1 if index in {4, 5} else 2)
    h = Shape([x[0] if h[0] is None else h[0], h[1]])
    double = _ranked(call, 2, 2)[1] if h[1] is None else 2 * h[1]
    return x, h, h, Shape([h[0], double])


GRU_BLOCK_CELL_GRAD = _op(
    "GRUBlockCellGrad",
    f"{_GRU_INPUTS}, r: T, u: T, c: T, d_h: T -> d_x: T, d_h_prev: T, d_c_bar: T, d_r_bar_u_bar: T",
    _infer_gru_back,
    _gru_back_kernel,
    NO_GRADIENT_DEFINED,
)
