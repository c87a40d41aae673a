"""Fusion of factors, sums and activations into the operator before them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.deploy.lite.ir.kinds import ACTIVATIONS
from pinnace.deploy.lite.ir.model import Scaled, Tensor
from pinnace.deploy.lite.passes.cleaning import without_dead, without_idle
from pinnace.deploy.lite.passes.padding import without_padding
from pinnace.deploy.lite.passes.scaled_inputs import without_scaling
from pinnace.deploy.lite.passes.uses import Uses
from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape

if TYPE_CHECKING:
    from pinnace.deploy.lite.ir.model import Model, Operator, Subgraph
    from pinnace.framework.tensor import Array

# Operator -> the axis of its weights that holds the output channels.
_WEIGHED = {"CONV_2D": 0, "DEPTHWISE_CONV_2D": 3, "FULLY_CONNECTED": 0, "TRANSPOSE_CONV": 0}
_WEIGHTS = {"TRANSPOSE_CONV": 1}
_BIAS = {"TRANSPOSE_CONV": 3}
_ACTIVE = {*_WEIGHED, "ADD", "SUB", "MUL", "DIV", "AVERAGE_POOL_2D", "MAX_POOL_2D", "CONV_3D"}
_FUSED = {"RELU": "RELU", "RELU6": "RELU6"}
_ACTIVATION = "fused_activation_function"


def improve(model: Model) -> None:
    """Apply all passes to a model, so that fewer operators compute the same results."""
    for subgraph in model.subgraphs():
        without_dead(subgraph)
        _clips(subgraph)
        while without_idle(subgraph):
            without_dead(subgraph)
        _dilations(subgraph)
        without_padding(subgraph)
        _unflatten(subgraph)
        _affine(subgraph)
        without_scaling(subgraph)
        _activations(subgraph)
        without_dead(subgraph)


def _clips(subgraph: Subgraph) -> None:
    """Replace MAXIMUM(MINIMUM(x, 6), 0) by RELU6, and MAXIMUM(x, 0) by RELU."""
    uses = Uses(subgraph)
    for operator in list(subgraph.operators):
        if operator.kind != "MAXIMUM" or operator.outputs[0].dtype is not dtypes.float32:
            continue
        x, bound = _with_number(operator)
        if x is None or bound != 0.0 or x.shape != operator.outputs[0].shape:
            continue
        before = uses.maker(x)
        kind = "RELU"
        if before is not None and before.kind in {"MINIMUM", "RELU6"}:
            source, most = _with_number(before)
            if before.kind == "MINIMUM" and most == 6.0 and source is not None:
                kind, x = "RELU6", source
        operator.kind, operator.inputs, operator.options = kind, [x], {}
    without_dead(subgraph)
    uses = Uses(subgraph)
    for operator in list(subgraph.operators):
        x = operator.inputs[0] if operator.inputs else None
        before = uses.maker(x)
        if operator.kind == "RELU6" and before is not None and before.kind == "RELU":
            operator.inputs = [before.inputs[0]]
    without_dead(subgraph)


def _with_number(operator: Operator) -> tuple[Tensor | None, float | None]:
    """The tensor and the scalar of a binary operator."""
    for x, y in (operator.inputs, operator.inputs[::-1]) if len(operator.inputs) == 2 else ():
        if x is not None and y is not None and y.data is not None and y.data.size == 1:
            return x, float(y.data.reshape(-1)[0])
    return None, None


def _dilations(subgraph: Subgraph) -> None:
    """Replace SPACE_TO_BATCH_ND, convolution, BATCH_TO_SPACE_ND by one dilated convolution."""
    uses = Uses(subgraph)
    for operator in list(subgraph.operators):
        if operator.kind not in {"CONV_2D", "DEPTHWISE_CONV_2D"}:
            continue
        before, after = uses.maker(operator.inputs[0]), uses.only_taker(operator.outputs[0])
        if before is None or after is None or not _is_dilation(uses, operator, before, after):
            continue
        block, pads, crops = before.inputs[1], before.inputs[2], after.inputs[2]
        if block is None or pads is None or crops is None or crops.data is None:
            continue
        source = before.inputs[0]
        if source is None or block.data is None or pads.data is None:
            continue
        is_same = bool(pads.data.any())
        rates = [int(n) for n in block.data]
        if is_same and not _is_padding_of(operator, rates, pads.data, crops.data):
            continue
        operator.inputs[0] = source
        operator.options |= {
            "padding": 0 if is_same else 1,
            "dilation_h_factor": rates[0],
            "dilation_w_factor": rates[1],
        }
        uses.take_over(operator, after)
        uses.takers.setdefault(id(source), []).append(operator)
    without_dead(subgraph)


def _is_dilation(uses: Uses, operator: Operator, before: Operator, after: Operator) -> bool:
    if before.kind != "SPACE_TO_BATCH_ND" or after.kind != "BATCH_TO_SPACE_ND":
        return False
    first, last = before.inputs[1], after.inputs[1]
    if first is None or last is None or first.data is None or last.data is None:
        return False
    options = operator.options
    is_plain = all(
        options.get(name, 1) == 1
        for name in ("stride_h", "stride_w", "dilation_h_factor", "dilation_w_factor", "padding")
    )
    is_square = first.data.size == 2 and np.array_equal(first.data, last.data)
    return is_plain and is_square and uses.is_inner(before.outputs[0])


def _is_padding_of(operator: Operator, rates: list[int], pads: Array, crops: Array) -> bool:
    """Whether the padding is that of SAME, and any other padding is cropped again."""
    weights = operator.inputs[1]
    if weights is None:
        return False
    sizes = [weights.shape[1], weights.shape[2]]
    for size, rate, pair, crop in zip(sizes, rates, pads, crops, strict=True):
        if size is None:
            return False
        total = (size - 1) * rate
        if int(pair[0]) != total // 2 or int(pair.sum() - crop.sum()) != total or crop[0]:
            return False
    return True


def _unflatten(subgraph: Subgraph) -> None:
    """Replace RESHAPE, FULLY_CONNECTED, RESHAPE by one FULLY_CONNECTED of higher rank."""
    uses = Uses(subgraph)
    for operator in list(subgraph.operators):
        if operator.kind != "FULLY_CONNECTED" or operator.options.get("keep_num_dims"):
            continue
        before, after = uses.maker(operator.inputs[0]), _behind(uses, operator)
        if before is None or before.kind != "RESHAPE" or after is None:
            continue
        source, made = before.inputs[0], after.outputs[0]
        if source is None or source.rank is None or source.rank < 3 or made.rank != source.rank:
            continue
        weights = operator.inputs[1]
        if weights is None or source.shape[-1] != weights.shape[1]:
            continue
        fronts = zip(list(source.shape)[:-1], list(made.shape)[:-1], strict=True)
        unknown = list(source.shape).count(None)
        if any(a != b for a, b in fronts) or unknown > 1 or made.shape[-1] != weights.shape[0]:
            continue
        operator.inputs[0] = source
        operator.options["keep_num_dims"] = True
        shape = made.shape
        chain = [operator]
        while chain[-1] is not after:
            chain.append(uses.takers[id(chain[-1].outputs[0])][0])
        for one in chain[:-1]:
            one.outputs[0].shape = shape
        uses.take_over(chain[-2], after)
        uses.takers.setdefault(id(source), []).append(operator)
    without_dead(subgraph)


def _behind(uses: Uses, operator: Operator) -> Operator | None:
    """The RESHAPE behind a product, its bias and its activation."""
    here = uses.only_taker(operator.outputs[0])
    for _ in range(2):
        if here is None or here.kind == "RESHAPE":
            break
        if here.kind in {"ADD", "MUL"}:
            number = next((x for x in here.inputs if x is not None and x.data is not None), None)
            if number is None or (number.rank or 0) > 1:
                return None
        elif here.kind not in {"RELU", "RELU6"}:
            return None
        here = uses.only_taker(here.outputs[0])
    return here if here is not None and here.kind == "RESHAPE" else None


def _affine(subgraph: Subgraph) -> None:
    """Merge factors into weights, and sums into biases."""
    uses = Uses(subgraph)
    for operator in list(subgraph.operators):
        if operator.kind not in _WEIGHED or operator.options.get(_ACTIVATION):
            continue
        while _absorbed(uses, operator):
            pass


def _absorbed(uses: Uses, operator: Operator) -> bool:
    """Merge the operator's user if it multiplies or adds one number per channel."""
    made = operator.outputs[0]
    after = uses.only_taker(made)
    if after is None or after.kind not in {"ADD", "SUB", "MUL", "DIV"}:
        return False
    place, where = _WEIGHTS.get(operator.kind, 1), _BIAS.get(operator.kind, 2)
    weights = operator.inputs[place]
    bias = operator.inputs[where] if len(operator.inputs) > where else None
    if weights is None or not weights.is_constant or weights.dtype is not dtypes.float32:
        return False
    if (bias is not None and bias.data is None) or after.options.get(_ACTIVATION):
        return False
    axis = _WEIGHED[operator.kind]
    channels = weights.shape[axis] or 0
    before = np.zeros(channels) if bias is None else np.asarray(bias.data, np.float64)
    found = _factor_and_bias(after, made, before)
    if found is None:
        return False
    factor, b = found
    if (factor != 1).any():
        form = [1] * (weights.rank or 0)
        form[axis] = channels
        operator.inputs[place] = Scaled(weights, factor.reshape(form))
    name = f"{after.origin}/bias"
    made_bias = Tensor(name, dtypes.float32, Shape([channels]), b.astype(np.float32))
    operator.inputs = [*operator.inputs[:where], made_bias]
    uses.take_over(operator, after)
    return True


def _factor_and_bias(after: Operator, made: Tensor, bias: Array) -> tuple[Array, Array] | None:
    """The factor of the weights and the new bias; None if the operators cannot be merged."""
    numbers = _by_channel(after, made, len(bias))
    is_first = after.inputs[0] is made
    if numbers is None or (after.kind == "DIV" and not is_first):
        return None
    factor = np.ones_like(bias)
    if after.kind in {"MUL", "DIV"}:
        with np.errstate(divide="ignore"):
            factor = numbers if after.kind == "MUL" else 1 / numbers
        bias = bias * factor
    elif after.kind == "ADD":
        bias = bias + numbers
    elif is_first:
        bias = bias - numbers
    else:
        bias, factor = numbers - bias, -factor
    is_finite = np.isfinite(factor).all() and np.isfinite(bias).all()
    return (factor, bias) if is_finite else None


def _by_channel(after: Operator, made: Tensor, channels: int) -> Array | None:
    """The constant operand beside a tensor, as one number per channel."""
    other = after.inputs[1] if after.inputs[0] is made else after.inputs[0]
    if other is None or other.data is None or other is made:
        return None
    if other.data.ndim > (made.rank or 0) or other.data.size not in {1, channels}:
        return None
    if other.data.size > 1 and other.data.shape[-1] != channels:
        return None
    return np.broadcast_to(other.data.reshape(-1).astype(np.float64), [channels])


def _activations(subgraph: Subgraph) -> None:
    """Merge RELU and RELU6 into the operator before them."""
    uses = Uses(subgraph)
    for operator in list(subgraph.operators):
        label = _FUSED.get(operator.kind)
        if label is None:
            continue
        before = uses.maker(operator.inputs[0])
        if before is None or before.kind not in _ACTIVE or before.options.get(_ACTIVATION):
            continue
        if not uses.is_inner(before.outputs[0]) or before.outputs[0].dtype is not dtypes.float32:
            continue
        before.options[_ACTIVATION] = ACTIVATIONS[label]
        uses.take_over(before, operator)
