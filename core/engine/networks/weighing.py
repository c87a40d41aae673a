"""The weights of a network's layers in the kernel's format: scaled, and packed in panels."""

from __future__ import annotations

import math
import threading
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pinnace.engine.networks.folding import filters_of
from pinnace.ops.kernels import weights, winograd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.engine.networks.layers import Layer, Scaling
    from pinnace.engine.networks.steady import Evaluation
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node


# Variables, and the number of assignments to each.
VersionKey: TypeAlias = "tuple[tuple[weakref.ref[Any], int], ...]"


@dataclass(eq=False, slots=True, weakref_slot=True)
class Packed:
    """The weights and bias of one layer, for one version of the variables.

    Attributes:
        node: the layer's node, which keeps the cache's key alive.
        weights: panels of a product, or [taps, channels].
        bias: the initial values of sums.
        transformed: the filters of Winograd's tiles, [panels, 16, channels, 32], if any.
        largest: bits of the largest input for these filters.
        folded: pixels that are folded into channels.
    """

    node: Node
    weights: Array
    bias: Array
    folded: int = 1
    transformed: Array | None = None
    largest: int = 0


# Packed weights are shared by plans for several batch sizes, and kept while in use. A panel of
# depthwise filters has this many channels.
_PANEL = 16
_packed: weakref.WeakValueDictionary[tuple[object, ...], Packed] = weakref.WeakValueDictionary()
_lock = threading.Lock()


def pack(
    layer: Layer, steady: Evaluation, versions: VersionKey, *, is_tiled: bool, folded: int = 1
) -> Packed:
    """The weights of a product.

    Args:
        layer: the layer.
        steady: computes constant values.
        versions: the versions of the network's variables.
        is_tiled: whether to transform filters for Winograd's tiles as well.
        folded: pixels that are folded into channels.
    """
    scalings = tuple(id(value) for one in layer.scalings for value in one.values)
    taps = [phase.taps for phase in layer.phases]
    key = (id(layer.node), scalings, layer.is_transposed, is_tiled, folded, *taps, *versions)
    with _lock:
        found = _packed.get(key)
        if found is None:
            found = _packed[key] = _made(layer, steady, is_tiled, folded)
    return found


def _made(layer: Layer, steady: Evaluation, is_tiled: bool, folded: int) -> Packed:
    assert layer.weights is not None  # noqa: S101 - for mypy: products have weights
    matrix = steady.of(layer.weights)
    if layer.kind == "CHANNELWISE":
        matrix = matrix.reshape(-1, math.prod(matrix.shape[2:]))  # one output per channel
    elif layer.phases:
        rows, columns = layer.phases[0].taps
        taps = matrix[np.ix_(rows, columns)].swapaxes(2, 3)
        matrix = taps.reshape(-1, taps.shape[-1])
    elif layer.flat is not None:
        matrix = matrix.reshape(layer.flat[0].channels, -1)
    else:
        matrix = matrix.T if layer.is_transposed else matrix.reshape(-1, matrix.shape[-1])
    factor, bias = _scale(layer.scalings, steady, matrix.shape[1])
    if factor is not None and (is_tiled or folded > 1):
        matrix, factor = matrix * factor, None
    if folded > 1:
        filters = matrix.reshape(*layer.window.taps, -1, matrix.shape[1])
        matrix = filters_of(filters, layer.window.steps[1], folded)
        matrix, bias = matrix.reshape(-1, matrix.shape[-1]), np.tile(bias, folded)
    # Depthwise filters, [taps, C], are [C / 16, taps, 16], read sequentially.
    width = _PANEL if layer.kind == "CHANNELWISE" else weights.PANEL
    kept = weights.packed(np.asarray(matrix, np.float32), width, factor)
    made = Packed(layer.node, kept, bias, folded)
    if is_tiled:
        filters = matrix.reshape(3, 3, -1, matrix.shape[-1])
        made.transformed = winograd.steady_filters(filters)
        made.largest = winograd.limit_of(filters.shape[2], filters)
    return made


def _scale(
    scalings: Sequence[Scaling], steady: Evaluation, channels: int
) -> tuple[Array | None, Array]:
    """Factor and bias of each channel, computed in float64 and rounded to float32."""
    factor = np.ones(channels)
    bias = np.zeros(channels)
    is_scaled = False
    with np.errstate(all="ignore"):
        for what, values, epsilon in scalings:
            numbers = [steady.of(value).reshape(-1).astype(np.float64) for value in values]
            if what == "add":
                bias = bias + numbers[0]
            elif what == "subtract":
                bias = bias - numbers[0]
            else:
                is_scaled = True
                times, plus = _affine(what, numbers, epsilon)
                factor, bias = factor * times, bias * times + plus
    return (factor.astype(np.float32) if is_scaled else None), bias.astype(np.float32)


def _affine(what: str, numbers: Sequence[Array], epsilon: float) -> tuple[Array, Array]:
    """The factor and offset of an affine step."""
    zero = np.zeros(1)
    if what == "multiply":
        return numbers[0], zero
    if what == "divide":
        return 1 / numbers[0], zero
    if what == "subtract from":
        return -np.ones(1), numbers[0]
    scale, offset, mean, variance = numbers
    times = scale / np.sqrt(variance + epsilon)
    return times, offset - mean * times


def aligned(array: Array) -> Array:
    """The array, aligned to a cache line."""
    if array.ctypes.data % 64 == 0:
        return array
    target = weights.empty(array.shape, array.dtype)
    target[...] = array
    return target
