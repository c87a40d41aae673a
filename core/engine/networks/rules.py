"""The translation of each op to a layer, or to an epilogue of the one before it.

A rule returns whether it has taken the step; `elementwise` is tried if none did.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pinnace.engine.codegen import equations
from pinnace.engine.codegen.array_steps import flips
from pinnace.engine.codegen.forms import axes_of
from pinnace.engine.codegen.strides import contiguous
from pinnace.engine.networks.attending import read_attention
from pinnace.engine.networks.fields import ACTIVATION, CLIP, PLUS, RECTIFY, REDUCTION
from pinnace.engine.networks.layers import Depth, Image, Layer, Pairs, Scaling
from pinnace.engine.networks.lookups import read_filled, read_lookup
from pinnace.engine.networks.parts import copied, read_joined, read_part, read_split, read_turned
from pinnace.engine.networks.row_programs import read_fused_norm
from pinnace.engine.networks.sampled import read_crop
from pinnace.engine.networks.strided import Strided, lies
from pinnace.engine.networks.windows import (
    kind_of,
    read_convolution,
    read_pool,
    read_transposed_convolution,
)
from pinnace.graph.graph import constant_of
from pinnace.ops.array.gathering import GATHER_V2
from pinnace.ops.array.joining import CONCAT_V2, PACK, SPLIT, SPLIT_V
from pinnace.ops.array.padding import PAD, PAD_V2
from pinnace.ops.array.permutations import TRANSPOSE
from pinnace.ops.array.selecting import SELECT_V2
from pinnace.ops.array.slicing import SLICE, STRIDED_SLICE
from pinnace.ops.math.arithmetic import ADD, ADD_V2, MUL, SUB
from pinnace.ops.math.division import REAL_DIV
from pinnace.ops.math.einstein import EINSUM
from pinnace.ops.math.products import BATCH_MAT_MUL_V2, MAT_MUL
from pinnace.ops.math.reduction import MAX, MEAN, SUM
from pinnace.ops.nn import batch_norm
from pinnace.ops.nn.biases import BIAS_ADD
from pinnace.ops.nn.depthwise import DEPTHWISE_CONV2D
from pinnace.ops.nn.pooling.maxima import MAX_POOL, MAX_POOL_3D
from pinnace.ops.nn.pooling.means import AVG_POOL, AVG_POOL_3D
from pinnace.ops.nn.rectifiers import RELU, RELU6
from pinnace.ops.nn.softmaxes import SOFTMAX
from pinnace.ops.nn.spatial_convolutions import CONV2D, CONV2D_BACKPROP_INPUT, CONV3D
from pinnace.ops.state.scatters import RESOURCE_GATHER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.engine.networks.reading import Reader
    from pinnace.graph.graph import Node, Value

_RECTIFIERS = {RELU: RECTIFY, RELU6: RECTIFY | CLIP}
_SCALINGS = {
    ADD_V2: "add",
    ADD: "add",
    BIAS_ADD: "add",
    SUB: "subtract",
    MUL: "multiply",
    REAL_DIV: "divide",
}
_SUMS = frozenset({ADD_V2, ADD})
# Constants of magnitude below this, or above its inverse, are not folded into weights.
_LEAST_SCALE = 1e-12
# Most multiplications of a product of two tensors, and most numbers of a transposed tensor.
_MOST_MULTIPLICATIONS, _MOST_MOVED = 1 << 15, 1 << 12
# Contiguous numbers from which vectorised reduction is fast; most numbers of a tensor with fewer.
_FEWEST_TOGETHER, _MOST_ALONE = 8, 1 << 14
_REDUCTIONS = {
    MEAN: REDUCTION["MEAN_OF"],
    SUM: REDUCTION["SUM_OF"],
    MAX: REDUCTION["LARGEST_OF"],
}


def _matrix(reader: Reader, place: int, node: Node) -> bool:
    x, weights = node.inputs
    flipped, is_transposed = flips(node)
    if flipped or not reader.is_moving(x) or not reader.is_steady(weights):
        return False
    shape = reader.shape(weights)
    if shape is None or len(shape) != 2:
        return False  # unknown, or batched
    out = node.outputs[0]
    return reader.add(
        Layer("PRODUCT", place, node, out, [x], weights=weights, is_transposed=is_transposed)
    )


def _pad(reader: Reader, _: int, node: Node) -> bool:
    """Merge zero padding into the windows that read it, if nothing else does."""
    x, out = node.inputs[0], node.outputs[0]
    pads = constant_of(node.inputs[1])
    value = constant_of(node.inputs[2]) if len(node.inputs) > 2 else np.float32(0)
    if pads is None or value is None or value != 0 or not reader.is_moving(x):
        return False
    if np.shape(pads) != (4, 2) or pads[0].any() or pads[3].any() or (pads < 0).any():
        return False
    takers = reader.uses.get(out, ())
    if not takers or any(not _reads_windows(reader, at, out) for at in takers):
        return False
    above, below, left, right = (int(pads[axis][side]) for axis in (1, 2) for side in (0, 1))
    reader.padded[out] = (x, (above, below, left, right))
    return True


def _reads_windows(reader: Reader, place: int, value: Value) -> bool:
    """Whether a step will become a layer with windows over this value."""
    if place < 0:
        return False
    node = reader.steps[place].node
    if node.op not in _WINDOWED or node.inputs[0] is not value or node.controls:
        return False
    if node.attrs.get("data_format", "NHWC") != "NHWC":
        return False
    if node.op in {CONV2D, DEPTHWISE_CONV2D}:
        taps, shape = reader.shape(node.inputs[1]), reader.shape(node.inputs[0])
        if taps is None or shape is None or not reader.is_steady(node.inputs[1]):
            return False
        return node.outputs[0] in reader.sizes and kind_of(node, taps, shape[-1]) is not None
    return bool(node.attrs["padding"] == "VALID" and node.attrs["ksize"][3] == 1)


def _goes_into_weights(what: str, value: Value) -> bool:
    """Whether scaling weights by a constant gives the same as scaling the sum.

    Infinities, and numbers near infinity or 0, overflow or underflow at different points; terms of
    both signs divided by 0 would add up to NaN.
    """
    array = constant_of(value)
    if array is None:
        return what != "divide"  # a variable, whose values are not known yet
    size = np.abs(array)
    is_safe = (size > _LEAST_SCALE) & (size < 1 / _LEAST_SCALE)
    return bool(np.all(is_safe if what == "divide" else is_safe | (array == 0)))


def _scaled(reader: Reader, place: int, node: Node) -> bool:
    """Addition or multiplication by one number per channel, merged into the product before it."""
    x, other = node.inputs
    what = _SCALINGS[node.op]
    if node.attrs.get("data_format", "NHWC")[-1] != "C":
        return False
    if reader.is_steady(x) and what != "divide":
        x, other = other, x
        what = "subtract from" if what == "subtract" else what
    layer = reader.producer(x)
    if layer is None or not layer.is_product or layer.added is not None or layer.mode:
        return False
    out = node.outputs[0]
    if reader.sizes[out] != reader.sizes[x] or not reader.is_per_channel(other, x, layer):
        return False
    if not _goes_into_weights(what, other):
        return False
    layer.scalings.append(Scaling(what, (other,)))
    return reader.extend(layer, place, x, out)


def _normalised(reader: Reader, place: int, node: Node) -> bool:
    x, *rest = node.inputs
    layer = reader.producer(x)
    if node.attrs["is_training"] or layer is None or not layer.is_product:
        return False
    if not node.attrs["epsilon"]:
        return False  # it may divide by 0; see `_goes_into_weights`
    if layer.added is not None or layer.mode or node.attrs["data_format"] != "NHWC":
        return False
    if not all(reader.is_per_channel(value, x, layer) for value in rest[:4]):
        return False
    scaling = Scaling("normalise", tuple(rest[:4]), float(node.attrs["epsilon"]))
    layer.scalings.append(scaling)
    return reader.extend(layer, place, x, node.outputs[0])


def _summed(reader: Reader, place: int, node: Node) -> bool:
    """The sum of two tensors after a product: the later product adds the other in its epilogue."""
    out = node.outputs[0]
    if any(not reader.is_moving(v) or reader.sizes[v] != reader.sizes[out] for v in node.inputs):
        return False
    if node.inputs[0] is node.inputs[1]:
        return False
    makers = [(reader.producer(x), x, other) for x, other in (node.inputs, node.inputs[::-1])]
    found = [(layer.place, layer, x, other) for layer, x, other in makers if layer is not None]
    for _, layer, x, other in sorted(found, key=lambda one: -one[0]):
        if not layer.is_product or layer.added is not None or layer.mode:
            continue
        if reader.image(layer.out) != reader.image(out):
            continue  # reshaped
        layer.added, layer.mode = other, PLUS
        return reader.extend(layer, place, x, out)
    return False


def _rectified(reader: Reader, place: int, node: Node) -> bool:
    (x,) = node.inputs
    layer = reader.producer(x)
    if layer is None or not layer.is_product or layer.mode & ACTIVATION:
        return False
    layer.mode |= _RECTIFIERS[node.op]
    return reader.extend(layer, place, x, node.outputs[0])


def _softmax(reader: Reader, place: int, node: Node) -> bool:
    (x,) = node.inputs
    if reader.root(x) not in reader.made or not reader.is_moving(x):
        return False
    return reader.add(Layer("SOFTMAX", place, node, node.outputs[0], [x]))


def _turned(reader: Reader, place: int, node: Node) -> bool:
    """A transpose that only moves axes of size 1 is a view; attention may read others in place."""
    order = constant_of(node.inputs[1])
    if order is not None and np.array_equal(order, range(len(order))):
        return reader.view(node)
    return read_turned(reader, node) or _rearranged(reader, place, node)


def _einstein_matrix(reader: Reader, place: int, node: Node) -> bool:
    """A sum over the last axes of x and the first ones of the weights, as a matrix product."""
    if len(node.inputs) != 2:
        return False
    x, weights = node.inputs
    out = node.outputs[0]
    shape = reader.shape(weights)
    if shape is None or not reader.is_moving(x) or not reader.is_steady(weights):
        return False
    split = equations.matrix_axes(node.attrs["equation"])
    if split is None:
        return False
    inner, width = math.prod(shape[:split]), math.prod(shape[split:])
    rows = math.prod(reader.sizes[out]) // width
    if math.prod(reader.sizes[x]) != rows * inner:
        return False  # a broadcast axis of size 1
    layer = Layer("PRODUCT", place, node, out, [x], weights=weights)
    layer.flat = Image(1, 1, rows, inner), Image(1, 1, rows, width)
    return reader.add(layer)


def _pairs(reader: Reader, place: int, node: Node) -> bool:
    """A small product of two tensors, such as the inner products of embeddings.

    BLAS computes larger ones faster, in the plan.
    """
    if not _are_made(reader, node.inputs):
        return False
    left, right = (reader.sizes[value] for value in node.inputs)
    is_flipped, is_turned = flips(node)
    if len(left) < 2 or left[:-2] != right[:-2]:
        return False  # one is broadcast
    rows, inner = left[-2:][::-1] if is_flipped else left[-2:]
    columns = right[-2] if is_turned else right[-1]
    images = math.prod(left[:-2])
    if images * rows * inner * columns > _MOST_MULTIPLICATIONS:
        return False
    layer = Layer("PAIRS", place, node, node.outputs[0], list(node.inputs))
    x = (1, rows) if is_flipped else (inner, 1)
    z = (1, inner) if is_turned else (columns, 1)
    layer.pairs = Pairs((images, rows, inner, columns), x, z)
    return reader.add(layer)


def _rearranged(reader: Reader, place: int, node: Node) -> bool:
    """A small transpose, as a copy."""
    x, out = node.inputs[0], node.outputs[0]
    order = constant_of(node.inputs[1])
    if order is None or not _are_made(reader, [x]) or math.prod(reader.sizes[x]) > _MOST_MOVED:
        return False
    along = contiguous(reader.sizes[x])
    source = Strided(x, 0, tuple(along[int(axis)] for axis in order))
    spread = copied(reader, out, source, lies(reader, out))
    return spread is not None and reader.add(Layer("COPY", place, node, out, [x], spread=spread))


def _are_made(reader: Reader, values: Sequence[Value]) -> bool:
    """Whether all are available tensors, and at least one is computed by the network."""
    are_there = all(reader.is_moving(value) for value in values)
    return are_there and any(reader.root(value) in reader.made for value in values)


def _reduced(reader: Reader, place: int, node: Node) -> bool:
    """A mean, sum or maximum over inner axes, such as the pixels of an image.

    A mean over all of each image or volume may be the network's first step.
    """
    x, axes = node.inputs
    if not reader.is_moving(x):
        return False
    shape = reader.sizes[x]
    rank, over = len(shape), axes_of(axes, len(shape))
    if not over or over != list(range(over[0], over[-1] + 1)):
        return False
    if over[0] == 0 or over[-1] == rank - 1:
        return False
    layer = Layer("MEAN", place, node, node.outputs[0], [x], mode=_REDUCTIONS[node.op])
    if node.op is MEAN and rank in {4, 5} and len(over) == rank - 2:
        layer.depth = Depth(shape[1], 1, 1, 0, shape[1], 1) if rank == 5 else None
        return reader.add(layer)
    if reader.root(x) not in reader.made:
        return False
    if math.prod(shape[over[-1] + 1 :]) < _FEWEST_TOGETHER and math.prod(shape) > _MOST_ALONE:
        return False
    layer.over = over[0], over[-1] + 1
    return reader.add(layer)


# The rules of each op, tried in order until one takes the step.
RULES: dict[object, tuple[Callable[[Reader, int, Node], bool], ...]] = {
    **dict.fromkeys((CONV2D, CONV3D, DEPTHWISE_CONV2D), (read_convolution,)),
    CONV2D_BACKPROP_INPUT: (read_transposed_convolution,),
    MAT_MUL: (_matrix, _pairs),
    BATCH_MAT_MUL_V2: (_matrix, read_attention, _pairs),
    EINSUM: (_einstein_matrix, read_attention),
    TRANSPOSE: (_turned,),
    **dict.fromkeys((MAX_POOL, MAX_POOL_3D), (partial(read_pool, kind="MAXIMUM"),)),
    **dict.fromkeys((AVG_POOL, AVG_POOL_3D), (partial(read_pool, kind="AVERAGE"),)),
    **dict.fromkeys(_REDUCTIONS, (_reduced,)),
    **dict.fromkeys((PAD, PAD_V2), (_pad,)),
    **dict.fromkeys((CONCAT_V2, PACK), (read_joined,)),
    **dict.fromkeys((STRIDED_SLICE, SLICE), (read_part, read_crop)),
    **dict.fromkeys((SPLIT, SPLIT_V), (read_split,)),
    SOFTMAX: (_softmax,),
    **dict.fromkeys((GATHER_V2, RESOURCE_GATHER), (read_lookup,)),
    SELECT_V2: (read_filled,),
    **dict.fromkeys(_SUMS, (_scaled, _summed)),
    **dict.fromkeys((SUB, MUL, REAL_DIV, BIAS_ADD), (_scaled,)),
    **dict.fromkeys(_RECTIFIERS, (_rectified,)),
    **dict.fromkeys(batch_norm.FORWARD, (read_fused_norm, _normalised)),
}
_WINDOWED = frozenset({CONV2D, DEPTHWISE_CONV2D, MAX_POOL, AVG_POOL})
