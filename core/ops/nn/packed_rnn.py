"""Recurrent layers with one vector of weights: CudnnRNN, and packing of the vector.

TensorFlow has them for GPUs only; graphs created there run on the CPU here. The vector contains
first all matrices, then all biases. Matrices are ordered by layer, then direction (forward first),
then the inputs' matrices of all gates before the states', each [units, inputs] row by row; biases
likewise, two of [units] per gate. The gates of an LSTM are in the order i, f, c, o, those of a GRU
r, z, n.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinnace.framework.dtypes import FLOATS, INDEX, DType
from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.framework.shapes import Shape
from pinnace.ops import registry
from pinnace.ops.array import constants
from pinnace.ops.execute import execute
from pinnace.ops.kernels.cells import lstm_step, sigmoid
from pinnace.ops.kernels.precision import computed_in
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, AttrDef, InferCall, OpDef, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pinnace.framework.tensor import Array, Tensor
    from pinnace.ops.opdef import OpCall

__all__: list[str] = []

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
_DIRECTIONS = {"unidirectional": 1, "bidirectional": 2}
# The maximal product of layers, units and inputs, beyond the size of any file.
_MOST = 2**40


class Layout(NamedTuple):
    """The sections of a weight vector.

    Args:
        mode: mode of the cells: rnn_relu, rnn_tanh, lstm or gru.
        layers: how many there are, one on the other.
        directions: 1, or 2 for forward and backward.
        units: number of units in each direction of a layer.
        inputs: inputs of the first layer.
    """

    mode: str
    layers: int
    directions: int
    units: int
    inputs: int

    def matrices(self) -> Iterator[tuple[int, int]]:
        """The shapes of the matrices in order."""
        gates = GATES[self.mode]
        for layer in range(self.layers):
            width = self.inputs if layer == 0 else self.units * self.directions
            for _ in range(self.directions):
                yield from [(self.units, width)] * gates
                yield from [(self.units, self.units)] * gates

    @property
    def biases(self) -> int:
        """The number of biases, [units] each."""
        return 2 * GATES[self.mode] * self.layers * self.directions

    @property
    def size(self) -> int:
        """The length of the vector."""
        gates, across = GATES[self.mode], self.units * self.directions
        first = self.directions * gates * self.units * (self.inputs + self.units)
        other = self.directions * gates * self.units * (across + self.units)
        return first + (self.layers - 1) * other + self.biases * self.units

    def unpacked(self, params: Array) -> tuple[list[Array], list[Array]]:
        """The matrices and the biases, views of the vector."""
        shapes = [*self.matrices(), *[(self.units,)] * self.biases]
        ends = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes)]).tolist()
        parts = [
            params[start:end].reshape(shape)
            for (start, end), shape in zip(pairwise(ends), shapes, strict=True)
        ]
        cut = len(parts) - self.biases
        return parts[:cut], parts[cut:]


CELLS: dict[str, AttrDef] = {
    "rnn_mode": attr("string", default="lstm", allowed=tuple(GATES)),
    "input_mode": attr(
        "string", default="linear_input", allowed=("linear_input", "skip_input", "auto_select")
    ),
    "direction": attr("string", default="unidirectional", allowed=tuple(_DIRECTIONS)),
    "dropout": attr("float", default=0.0),
    "seed": attr("int", default=0),
    "seed2": attr("int", default=0),
}
PROJECTED = {**CELLS, "num_proj": attr("int", default=0)}
_STATES = "input: T, input_h: T, input_c: T, params: T"
_OUTPUTS = "output: T, output_h: T, output_c: T, reserve_space: T"
_TRAINING = {"is_training": attr("bool", default=True)}


class Direction(NamedTuple):
    """The weights of one direction of a layer: [gates units, …], inputs' before states'."""

    inputs: Array
    states: Array
    input_bias: Array
    state_bias: Array


def _directions(layout: Layout, params: Array) -> list[Direction]:
    gates = GATES[layout.mode]
    matrices, biases = layout.unpacked(params)
    found = []
    for start in range(0, len(matrices), 2 * gates):
        middle, end = start + gates, start + 2 * gates
        found.append(
            Direction(
                *(np.concatenate(part) for part in (matrices[start:middle], matrices[middle:end])),
                *(np.concatenate(part) for part in (biases[start:middle], biases[middle:end])),
            )
        )
    return found


def _step(mode: str, ahead: Array, h: Array, c: Array, own: Direction) -> tuple[Array, Array]:
    """The next hidden and cell state; `ahead` is the inputs' contribution to the gates."""
    recurrent = h @ own.states.T + own.state_bias
    if mode == "gru":
        reset, update, new = np.split(ahead, 3, -1)
        of_reset, of_update, of_new = np.split(recurrent, 3, -1)
        candidate = np.tanh(new + sigmoid(reset + of_reset) * of_new)
        kept = sigmoid(update + of_update)
        return (1 - kept) * candidate + kept * h, c
    total = ahead + recurrent
    if mode == "lstm":
        sums = dict(zip("ifco", np.split(total, 4, -1), strict=True))
        gates = lstm_step(sums, c, None, 0.0)
        return gates.hidden, gates.state
    return np.maximum(total, 0) if mode == "rnn_relu" else np.tanh(total), c


def _direction(
    mode: str, x: Array, h: Array, c: Array, lengths: Array, own: Direction, backward: bool
) -> tuple[Array, Array, Array]:
    """Outputs [time, batch, units] and final states; shorter rows keep theirs after their end."""
    ahead = x @ own.inputs.T + own.input_bias
    out = np.zeros((*x.shape[:2], h.shape[-1]), h.dtype)
    for t in reversed(range(len(x))) if backward else range(len(x)):
        there = (t < lengths)[:, None]
        new_h, new_c = _step(mode, ahead[t], h, c, own)
        h, c = np.where(there, new_h, h), np.where(there, new_c, c)
        out[t] = np.where(there, new_h, 0)
    return out, h, c


class Checked(NamedTuple):
    """The inputs of a run of layers, in the dtype of the computation.

    Args:
        layout: layout of the weights.
        x: [time, batch, inputs].
        h: [layers directions, batch, units].
        c: like `h`; zeros for cells that have none.
        weights: weights of each direction of each layer.
        lengths: [batch], the number of steps of each row.
    """

    layout: Layout
    x: Array
    h: Array
    c: Array
    weights: list[Direction]
    lengths: Array


def checked(
    name: str,
    x: Array,
    h: Array,
    c: Array,
    params: Array,
    lengths: Array | None,
    options: dict[str, Any],
) -> Checked:
    """The inputs of an op, if they fit together.

    Raises:
        InvalidArgumentError: the inputs do not fit.
        UnimplementedError: the mode is not supported.
    """
    mode, directions = options["rnn_mode"], _DIRECTIONS[options["direction"]]
    _refuse(name, options)
    layout = Layout(mode, len(h) // directions, directions, h.shape[-1], x.shape[-1])
    batch = x.shape[1]
    require(name, len(h) % directions == 0 and len(h) > 0, "input_h has no whole layers", h)
    require(name, h.shape[1] == batch, f"input_h must be of {batch} rows", h)
    if mode == "lstm":
        require(name, c.shape == h.shape, f"input_c must have shape {list(h.shape)}", c)
    require(name, params.shape == (layout.size,), f"params must be of {layout.size}", params)
    if lengths is None:
        lengths = np.full(batch, len(x))
    fits = lengths.shape == (batch,) and (
        not batch or 0 <= lengths.min() <= lengths.max() <= len(x)
    )
    require(name, fits, f"sequence_lengths must be {batch} numbers up to {len(x)}", lengths)
    wide = computed_in(x.dtype)
    hidden = h.astype(wide, copy=False)
    return Checked(
        layout,
        x.astype(wide, copy=False),
        hidden,
        c.astype(wide, copy=False) if mode == "lstm" else np.zeros_like(hidden),
        _directions(layout, params.astype(wide, copy=False)),
        lengths,
    )


def _run(
    name: str,
    x: Array,
    h: Array,
    c: Array,
    params: Array,
    lengths: Array | None,
    options: dict[str, Any],
) -> tuple[Array, Array, Array]:
    """The outputs and final states for [time, batch, inputs], in the dtype of x."""
    call = checked(name, x, h, c, params, lengths, options)
    dtype, signal, layout = x.dtype, call.x, call.layout
    mode, directions = layout.mode, layout.directions
    last_h, last_c = np.empty_like(call.h), np.empty_like(call.h)
    for layer in range(layout.layers):
        parts = []
        for direction in range(directions):
            at = layer * directions + direction
            part, last_h[at], last_c[at] = _direction(
                mode, signal, call.h[at], call.c[at], call.lengths, call.weights[at], direction == 1
            )
            parts.append(part)
        signal = np.concatenate(parts, -1)
    states = last_c if mode == "lstm" else np.zeros(c.shape, last_c.dtype)
    return signal.astype(dtype), last_h.astype(dtype), states.astype(dtype)


def require(name: str, holds: bool, rule: str, found: Array) -> None:
    """Raise InvalidArgumentError with the rule and the actual shape unless it holds."""
    if not holds:
        raise InvalidArgumentError(f"{name}: {rule}, got shape {list(found.shape)}")


def _refuse(name: str, options: dict[str, Any]) -> None:
    """Raise for modes of these ops that are not supported."""
    if options["input_mode"] == "skip_input":
        raise UnimplementedError(
            f"{name}: input_mode 'skip_input' is not supported; Try: linear_input"
        )
    if options.get("num_proj"):
        raise UnimplementedError(f"{name}: num_proj must be 0, got {options['num_proj']}")
    if options["is_training"] and options["dropout"]:
        raise UnimplementedError(
            f"{name}: dropout between layers is not done while training, got {options['dropout']}\n"
            "  Try: is_training=False, or Dropout between layers of one each"
        )


def _nothing(dtype: np.dtype[Any]) -> tuple[Array, Array]:
    """The empty reserve space, which TensorFlow keeps for the backward pass."""
    return np.zeros(0, dtype), np.zeros(0, np.int8)


def _kernel(version: str) -> Callable[..., tuple[Array, ...]]:
    name = f"CudnnRNN{version}"

    def kernel(
        input: Array,
        input_h: Array,
        input_c: Array,
        params: Array,
        *,
        rnn_mode: str,
        input_mode: str,
        direction: str,
        dropout: float,
        is_training: bool,
    ) -> tuple[Array, ...]:
        options = {
            "rnn_mode": rnn_mode,
            "input_mode": input_mode,
            "direction": direction,
            "dropout": dropout,
            "is_training": is_training,
        }
        found = _run(name, input, input_h, input_c, params, None, options)
        return *found, *_nothing(input.dtype)[: 2 if version else 1]

    return kernel


def _infer(call: InferCall) -> tuple[Shape, ...]:
    x, h, c, params = (call.spec(index).shape for index in range(4))
    for what, shape, rank in (("input", x, 3), ("input_h", h, 3), ("params", params, 1)):
        if shape.rank not in {None, rank}:
            call.fail(f"{what} must have {rank} axes")
    units = h[2] if h.rank == 3 else None
    across = None if units is None else units * _DIRECTIONS[call.attrs["direction"]]
    lead = [None, None] if x.rank is None else [x[0], x[1]]
    out = [Shape([*lead, across]), h, h if call.attrs["rnn_mode"] == "lstm" else c]
    return *out, *[Shape([None])] * (len(call.op.outputs) - 3)


def _layer(name: str, signature: str, kernel: Any, attrs: dict[str, AttrDef]) -> OpDef:
    return define(
        name=name,
        signature=signature,
        types=T,
        attrs=attrs,
        infer=_infer,
        kernel=kernel,
        gradient=_gradient,
        effect="random",
    )


def _gradient(call: OpCall, *dys: Tensor | None) -> tuple[Tensor | None, ...]:
    """The gradient by TensorFlow's op, from saved forward values."""
    back = registry.lookup(call.op.name.replace("RNN", "RNNBackprop"))
    flows = [
        constants.zeros_like(y) if dy is None else dy
        for y, dy in zip(call.outputs[:3], dys[:3], strict=True)
    ]
    attrs = {name: call.attr(name) for name in back.attrs if name != "T"}
    found: tuple[Tensor, ...] = execute(
        back, *call.inputs, *call.outputs[:3], *flows, *call.outputs[3:], **attrs
    )
    # The lengths have no gradient.
    return *found, *[None] * (len(call.inputs) - len(found))


T = {"T": FLOATS}


RNN = _layer("CudnnRNN", f"{_STATES} -> {_OUTPUTS}", _kernel(""), {**CELLS, **_TRAINING})
RNN_V2 = _layer(
    "CudnnRNNV2",
    f"{_STATES} -> {_OUTPUTS}, host_reserved: int8",
    _kernel("V2"),
    {**CELLS, **_TRAINING},
)


def _kernel_v3(
    input: Array,
    input_h: Array,
    input_c: Array,
    params: Array,
    sequence_lengths: Array,
    *,
    rnn_mode: str,
    input_mode: str,
    direction: str,
    dropout: float,
    num_proj: int,
    is_training: bool,
    time_major: bool,
) -> tuple[Array, ...]:
    options = {
        "rnn_mode": rnn_mode,
        "input_mode": input_mode,
        "direction": direction,
        "dropout": dropout,
        "num_proj": num_proj,
        "is_training": is_training,
    }
    given = (input, input_h, input_c)
    # Batches come first everywhere, or nowhere.
    x, h, c = given if time_major else (_turned(one) for one in given)
    found = _run("CudnnRNNV3", x, h, c, params, sequence_lengths, options)
    if not time_major:
        found = tuple(_turned(one) for one in found)  # type: ignore[assignment]  # three of them
    return *found, *_nothing(input.dtype)


def _turned(x: Array) -> Array:
    return x.swapaxes(0, 1) if x.ndim > 1 else x


RNN_V3 = _layer(
    "CudnnRNNV3",
    f"{_STATES}, sequence_lengths: int32 -> {_OUTPUTS}, host_reserved: int8",
    _kernel_v3,
    {**PROJECTED, **_TRAINING, "time_major": attr("bool", default=True)},
)


def _sized(
    num_layers: Array,
    num_units: Array,
    input_size: Array,
    rnn_mode: str,
    input_mode: str,
    direction: str,
    num_proj: int = 0,
) -> Layout:
    sizes = [int(one.reshape(-1)[0]) for one in (num_layers, num_units, input_size)]
    name = "CudnnRNNParams"
    options = {"input_mode": input_mode, "num_proj": num_proj, "is_training": False}
    _refuse(name, options)
    if min(sizes) < 1:
        raise InvalidArgumentError(
            f"{name}: layers, units and inputs must be positive, got {sizes}"
        )
    layout = Layout(rnn_mode, sizes[0], _DIRECTIONS[direction], sizes[1], sizes[2])
    if sizes[0] * sizes[1] * max(sizes[1:]) > _MOST:
        raise InvalidArgumentError(f"{name}: there are no vectors of {layout.size} numbers")
    return layout


def _packing(
    name: str, signature: str, infer: Any, kernel: Any, attrs: dict[str, AttrDef], types: Any = T
) -> OpDef:
    sizes = "num_layers: int32, num_units: int32, input_size: int32"
    return define(
        name=name,
        signature=f"{sizes}{signature}",
        types=types,
        attrs=attrs,
        infer=infer,
        kernel=kernel,
        gradient=NO_GRADIENT_DEFINED,
    )


def _size_kernel(
    num_layers: Array,
    num_units: Array,
    input_size: Array,
    *,
    S: DType,  # noqa: N803 (its name on disk)
    rnn_mode: str,
    input_mode: str,
    direction: str,
    num_proj: int,
) -> Array:
    given = (num_layers, num_units, input_size, rnn_mode, input_mode, direction, num_proj)
    return np.array([_sized(*given).size], S.numpy)


PARAMS_SIZE = _packing(
    "CudnnRNNParamsSize",
    " -> params_size: S",
    lambda _: Shape([1]),
    _size_kernel,
    PROJECTED,
    {**T, "S": INDEX},
)


def _unpack_kernel(
    num_layers: Array,
    num_units: Array,
    input_size: Array,
    params: Array,
    *,
    rnn_mode: str,
    input_mode: str,
    direction: str,
) -> tuple[Array, ...]:
    layout = _sized(num_layers, num_units, input_size, rnn_mode, input_mode, direction)
    require(
        "CudnnRNNParamsToCanonical",
        params.shape == (layout.size,),
        f"params must be of {layout.size}",
        params,
    )
    matrices, biases = layout.unpacked(params)
    return *matrices, *biases


def _infer_unpacked(call: InferCall) -> tuple[Shape, ...]:
    counts: list[int] = [call.attrs[arg.number_attr] for arg in call.op.outputs]
    layers, units, inputs = (call.constant(index) for index in range(3))
    if layers is None or units is None or inputs is None:
        return (Shape([None, None]),) * counts[0] + (Shape([None]),) * counts[1]
    attrs = call.attrs
    layout = _sized(
        layers,
        units,
        inputs,
        attrs["rnn_mode"],
        attrs["input_mode"],
        attrs["direction"],
        attrs.get("num_proj", 0),
    )
    shapes = [*map(Shape, layout.matrices()), *[Shape([layout.units])] * layout.biases]
    if [len(shapes) - layout.biases, layout.biases] != counts:
        call.fail(f"there are {len(shapes) - layout.biases} matrices and {layout.biases} biases")
    return tuple(shapes)


def _list_of(count: str, count_of_biases: str) -> str:
    return f"weights: {count}*T, biases: {count_of_biases}*T"


PARAMS_TO_CANONICAL = _packing(
    "CudnnRNNParamsToCanonical",
    f", params: T -> {_list_of('num_params', 'num_params')}",
    _infer_unpacked,
    _unpack_kernel,
    CELLS,
)


_TWO = _list_of("num_params_weights", "num_params_biases")


PARAMS_TO_CANONICAL_V2 = _packing(
    "CudnnRNNParamsToCanonicalV2",
    f", params: T -> {_TWO}",
    _infer_unpacked,
    _unpack_kernel,
    PROJECTED,
)


def _pack_kernel(
    num_layers: Array,
    num_units: Array,
    input_size: Array,
    weights: tuple[Array, ...],
    biases: tuple[Array, ...],
    *,
    rnn_mode: str,
    input_mode: str,
    direction: str,
) -> Array:
    layout = _sized(num_layers, num_units, input_size, rnn_mode, input_mode, direction)
    name, shapes = "CudnnRNNCanonicalToParams", list(layout.matrices())
    for found, wanted in ((weights, len(shapes)), (biases, layout.biases)):
        if len(found) != wanted:
            raise InvalidArgumentError(f"{name}: there must be {wanted}, got {len(found)}")
    for one, shape in zip(weights, shapes, strict=True):
        require(name, one.shape == shape, f"a matrix must have shape {list(shape)}", one)
    for one in biases:
        require(name, one.shape == (layout.units,), f"biases must be of {layout.units}", one)
    return np.concatenate([part.reshape(-1) for part in (*weights, *biases)])


def _infer_packed(call: InferCall) -> Shape:
    sizes = [spec.shape.num_elements() for index in (3, 4) for spec in call.specs(index)]
    return Shape([None if None in sizes else sum(sizes)])  # type: ignore[arg-type]  # all are known


CANONICAL_TO_PARAMS = _packing(
    "CudnnRNNCanonicalToParams",
    f", {_list_of('num_params', 'num_params')} -> params: T",
    _infer_packed,
    _pack_kernel,
    CELLS,
)
CANONICAL_TO_PARAMS_V2 = _packing(
    "CudnnRNNCanonicalToParamsV2", f", {_TWO} -> params: T", _infer_packed, _pack_kernel, PROJECTED
)
