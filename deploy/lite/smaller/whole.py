"""Quantisation of weights and activations, with ranges from examples."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pinnace.deploy.lite.ir.model import Operator, Quantization, Subgraph, Tensor
from pinnace.deploy.lite.smaller.kernels import EIGHT
from pinnace.deploy.lite.smaller.recurrent import (
    STATES,
    begins_with_zeros,
    cell_of,
    fills_of,
    layer_of,
    whole_layer,
    whole_zeros,
)
from pinnace.deploy.lite.smaller.weights import CHANNELS, LSTM, by_channel
from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape

if TYPE_CHECKING:
    from pinnace.deploy.lite.smaller.kernels import Width
    from pinnace.deploy.lite.smaller.ranges import Ranges

_OPTIONAL = {"TRANSPOSE_CONV": 3, "CONV_2D": 2, "DEPTHWISE_CONV_2D": 2, "FULLY_CONNECTED": 2}


@dataclass(slots=True)
class _State:
    """The state of the rewriting of a subgraph.

    Attributes:
        ranges: the tensors' ranges.
        width: the integer type.
        leaders: id of a tensor -> that of another one with the same scale.
        narrow: id of a tensor -> its quantised form.
        stayed: (operator, reason) -> number left in float32.
        operators: the new operators.
        wide: ids of tensors that exist in float32.
        fills: id of a tensor of zeros -> the FILL that produces it.
    """

    ranges: Ranges
    width: Width
    leaders: dict[int, int] = field(default_factory=dict)
    narrow: dict[int, Tensor] = field(default_factory=dict)
    stayed: Counter[tuple[str, str]] = field(default_factory=Counter)
    operators: list[Operator] = field(default_factory=list)
    wide: set[int] = field(default_factory=set)
    fills: dict[int, Operator] = field(default_factory=dict)

    def add(self, operator: Operator) -> None:
        """Add an operator."""
        self.operators.append(operator)
        self.wide.update(id(x) for x in operator.outputs if x.dtype is not self.width.dtype)

    def leader(self, key: int) -> int:
        """The representative of all tensors with the same scale."""
        while self.leaders.get(key, key) != key:
            key = self.leaders[key]
        return key

    def join(self, a: int, b: int) -> None:
        """Give two tensors one scale."""
        first, second = self.leader(a), self.leader(b)
        if first == second:
            return
        self.leaders[second] = first
        low, high = self.ranges[first], self.ranges[second]
        self.ranges[first] = (min(low[0], high[0]), max(low[1], high[1]))

    def how(self, x: Tensor) -> Quantization:
        """The quantisation of a tensor."""
        return self.width.for_range(*self.ranges[self.leader(id(x))])


def quantize(
    subgraph: Subgraph, ranges: Ranges, width: Width, input_type: str, output_type: str
) -> dict[str, tuple[str, int]]:
    """Quantise operators that have kernels; return the reasons and numbers of the others.

    Args:
        subgraph: the subgraph; it is changed in place.
        ranges: the tensors' ranges.
        width: the integer type.
        input_type: the type of float inputs: "float32", that of `width`, or "uint8" for 8 bits.
        output_type: the type of float outputs, from the same choices.
    """
    state = _State(dict(ranges), width, fills=fills_of(subgraph))
    state.wide.update(id(x) for x in subgraph.inputs)
    fit = {id(one): _reason(one, state) for one in subgraph.operators}
    for operator in subgraph.operators:
        if operator.kind in width.same and not fit[id(operator)]:
            moving = [x for x in (*_data(operator), *operator.outputs) if x.data is None]
            for x in moving[1:]:
                state.join(id(moving[0]), id(x))
    # Quantised layers get initial states of their own.
    firsts = {
        id(x)
        for one in subgraph.operators
        if not fit[id(one)] and layer_of(one) is not None
        for x in one.inputs[STATES]
    }
    for operator in subgraph.operators:
        reason = fit[id(operator)]
        if any(id(x) in firsts for x in operator.outputs):
            continue
        if reason:
            if _is_real(operator):
                state.stayed[_name(operator), reason] += 1
            operator.inputs = [_wide(state, x) for x in operator.inputs]
            state.add(operator)
        else:
            _rewrite(state, operator)
    outputs = [_outlet(state, x, output_type) for x in subgraph.outputs]
    subgraph.operators = state.operators
    subgraph.outputs = outputs
    subgraph.inputs = [_inlet(state, subgraph, x, input_type) for x in subgraph.inputs]
    return {kind: (reason, n) for (kind, reason), n in state.stayed.items()}


def _name(operator: Operator) -> str:
    """The operator's name, or that of the recurrent layer that it runs."""
    return operator.kind if layer_of(operator) is None else LSTM


def _is_real(operator: Operator) -> bool:
    return any(x is not None and x.dtype is dtypes.float32 for x in operator.outputs)


def _data(operator: Operator) -> list[Tensor]:
    """The float inputs."""
    return [x for x in operator.inputs if x is not None and x.dtype is dtypes.float32]


def _reason(operator: Operator, state: _State) -> str:
    """Why an operator stays float32; "" if it is quantised."""
    kind, width = operator.kind, state.width
    if not _is_real(operator):
        return "its outputs are integers"
    if any(isinstance(option, Subgraph) for option in operator.options.values()):
        layer = layer_of(operator)
        if layer is not None:
            return _about_layer(operator, layer, state)
        return "loops and branches, including recurrent layers, are not quantised"
    if not width.has(kind):
        return f"it has no quantised kernel of {width.bits} bits"
    if any(x.dtype is not dtypes.float32 for x in operator.outputs):
        return "only some of its outputs are floats"
    moving = [x for x in (*_data(operator), *operator.outputs) if x.data is None]
    if any(id(x) not in state.ranges for x in moving):
        return "no example reached it"
    if kind in width.same and (not moving or len(moving) == len(operator.outputs)):
        return "its inputs are all constants"
    return _about_weights(operator, width) if kind in CHANNELS else ""


def _about_layer(operator: Operator, layer: Operator, state: _State) -> str:
    if state.width is not EIGHT:
        return f"it is not written in {state.width.bits} bits"
    if not begins_with_zeros(operator, state.fills):
        return "its initial state is not zero"
    moving = (operator.inputs[1], operator.outputs[0], cell_of(layer))
    return "" if all(id(x) in state.ranges for x in moving) else "no example reached it"


def _about_weights(operator: Operator, width: Width) -> str:
    weights = operator.inputs[CHANNELS[operator.kind][0]]
    if weights is None or weights.data is None:
        return "its weights are computed"
    if operator.kind == "TRANSPOSE_CONV" and _has_activation(operator):
        return f"its kernel of {width.bits} bits has no activation"
    return ""


def _has_activation(operator: Operator) -> bool:
    return bool(operator.options.get("fused_activation_function"))


def _emit(state: _State, kind: str, x: Tensor, y: Tensor) -> Tensor:
    state.add(Operator(kind, [x], [y], {}, x.name))
    return y


def _narrowed(state: _State, x: Tensor) -> Tensor:
    """A tensor, quantised at the scale it shares with others."""
    if id(x) not in state.narrow:
        state.narrow[id(x)] = _emit(state, "QUANTIZE", x, _like(state, x, state.how(x)))
    return state.narrow[id(x)]


def _wide(state: _State, x: Tensor | None) -> Tensor | None:
    """A tensor in float32; a quantised one is dequantised once."""
    if x is None or id(x) not in state.narrow or id(x) in state.wide:
        return x
    _emit(state, "DEQUANTIZE", state.narrow[id(x)], x)
    return x


def _like(state: _State, x: Tensor, how: Quantization, ending: str = "") -> Tensor:
    """A tensor of quantised integers for a float tensor."""
    dtype = state.width.dtype
    return Tensor(f"{x.name}/{ending or dtype.name}", dtype, x.shape, None, how)


def _constant(x: Tensor, how: Quantization, width: Width) -> Tensor:
    return Tensor(x.name, width.dtype, x.shape, width.levels(np.asarray(x.data), how), how)


def _rewrite(state: _State, operator: Operator) -> None:
    """Rewrite an operator to quantised tensors."""
    kind, width = operator.kind, state.width
    made = operator.outputs
    if layer_of(operator) is not None:
        _rewrite_layer(state, operator)
        return
    if kind in CHANNELS:
        inputs = _weighed(state, operator)
        if inputs is None:
            state.stayed[kind, "its bias is too large for its scale"] += 1
            operator.inputs = [_wide(state, x) for x in operator.inputs]
            state.add(operator)
            return
    else:
        inputs = _plain(state, operator)
    outputs = []
    fixed = width.fixed.get(kind)
    for x in made:
        how = state.how(x) if fixed is None else fixed
        outputs.append(_like(state, x, how))
    operator.inputs, operator.outputs = inputs, outputs
    operator.options.pop("asymmetric_quantize_inputs", None)
    if kind in {"ADD", "SUB"}:
        operator.options["pot_scale_int16"] = False
    state.add(operator)
    for x, y in zip(made, outputs, strict=True):
        is_joined = fixed is not None and _is_shared(state, x)
        if is_joined:  # the consumer's scale is shared with other tensors
            again = _like(state, x, state.how(x), "scaled")
            state.narrow[id(x)] = _emit(state, "QUANTIZE", y, again)
        else:
            state.narrow[id(x)] = y


def _plain(state: _State, operator: Operator) -> list[Tensor | None]:
    """The quantised inputs of an operator without weights."""
    width, inputs = state.width, list(operator.inputs)
    for place, x in enumerate(inputs):
        if x is None or x.dtype is not dtypes.float32:
            continue
        if x.data is None:
            inputs[place] = _narrowed(state, x)
        elif operator.kind in width.same:
            inputs[place] = _constant(x, state.how(operator.outputs[0]), width)
        else:
            ends = float(x.data.min(initial=0)), float(x.data.max(initial=0))
            inputs[place] = _constant(x, width.for_range(*ends), width)
    return inputs


def _rewrite_layer(state: _State, operator: Operator) -> None:
    """Rewrite an LSTM with its initial states."""
    layer, x, made = layer_of(operator), operator.inputs[1], operator.outputs[0]
    if layer is None or x is None:
        return
    narrow = _narrowed(state, x)
    ends = state.ranges[id(cell_of(layer))]
    subgraph, states = whole_layer(operator, narrow, state.how(made), ends)
    firsts = []
    for old, like in zip(operator.inputs[STATES], states, strict=True):
        fill, first = whole_zeros(state.fills[id(old)], like)
        state.add(fill)
        firsts.append(first)
    operator.inputs = [operator.inputs[0], narrow, *firsts]
    operator.outputs = [_like(state, made, state.how(made))]
    operator.options = dict.fromkeys(operator.options, subgraph)
    state.add(operator)
    state.narrow[id(made)] = operator.outputs[0]


def _is_shared(state: _State, x: Tensor) -> bool:
    key = state.leader(id(x))
    return key != id(x) or key in state.leaders.values()


def _weighed(state: _State, operator: Operator) -> list[Tensor | None] | None:
    """The quantised inputs of an operator with weights; None if its bias exceeds the range."""
    place, axis = CHANNELS[operator.kind]
    where = _OPTIONAL[operator.kind]
    weights = operator.inputs[place]
    data = operator.inputs[2 if operator.kind == "TRANSPOSE_CONV" else 0]
    if weights is None or weights.data is None or data is None:
        return None
    levels, how = by_channel(weights.data, axis)
    scale = state.how(data).scales[0]
    inputs: list[Tensor | None] = list(operator.inputs)
    bias = operator.inputs[where] if len(inputs) > where else None
    if bias is not None:
        if bias.data is None:
            return None
        steps = np.asarray(how.scales, np.float64) * scale
        whole = np.rint(bias.data / steps)
        if np.abs(whole).max(initial=0) >= state.width.most:
            return None
        kept = Quantization(tuple(float(np.float32(step)) for step in steps), (0,) * len(steps))
        shape = Shape.of(whole.shape)
        dtype = state.width.bias
        inputs[where] = Tensor(bias.name, dtype, shape, whole.astype(dtype.numpy), kept)
    inputs[place] = Tensor(weights.name, dtypes.int8, weights.shape, levels, how)
    inputs[inputs.index(data)] = _narrowed(state, data)
    return inputs


def _outlet(state: _State, x: Tensor, kind: str) -> Tensor:
    """A result of the subgraph in the requested type."""
    if x.dtype is not dtypes.float32:
        return x
    if kind == "float32":
        found = _wide(state, x)
        return x if found is None else found
    y = state.narrow.get(id(x))
    if y is None:
        y = _narrowed(state, x) if id(x) in state.ranges else None
    if y is None or y.quantization is None:
        return x
    if kind == "uint8":
        how = Quantization(y.quantization.scales, (y.quantization.zeros[0] + 128,))
        return _emit(state, "QUANTIZE", y, Tensor(x.name, dtypes.uint8, x.shape, None, how))
    y.name = x.name
    return y


def _inlet(state: _State, subgraph: Subgraph, x: Tensor, kind: str) -> Tensor:
    """An argument of the subgraph in the requested type."""
    y = state.narrow.get(id(x))
    if x.dtype is not dtypes.float32 or kind == "float32" or y is None or y.quantization is None:
        return x
    first = next(
        one for one in subgraph.operators if one.kind == "QUANTIZE" and one.outputs[0] is y
    )
    takers = [one for one in subgraph.operators if x in one.inputs and one is not first]
    how = y.quantization
    if kind == "uint8":
        how = Quantization(how.scales, (how.zeros[0] + 128,))
    dtype = dtypes.uint8 if kind == "uint8" else y.dtype
    given = Tensor(x.name, dtype, x.shape, None, how)
    if kind == "uint8":
        first.inputs = [given]
    else:
        subgraph.operators.remove(first)
        for one in subgraph.operators:
            one.inputs = [given if z is y else z for z in one.inputs]
        y = given
    if takers:  # some users take float32
        subgraph.operators.insert(0, Operator("DEQUANTIZE", [given], [x], {}, x.name))
    return given
