"""Conversion of element types."""

import numpy as np

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.deploy.program.sign_bits import is_sign_of_zeros
from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType

# Type -> binary digits of its mantissa.
_DIGITS = {dtypes.float64: 52, dtypes.float32: 23, dtypes.float16: 10, dtypes.bfloat16: 7}


@converts("Cast")
def cast(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """Cast; an intermediate narrow type is kept for its rounding."""
    target = call.dtype("DstT")
    both = x.dtype.is_floating and target.is_floating
    if both and call.attr("Truncate") and _DIGITS[target] < _DIGITS[x.dtype]:
        call.fail("it truncates digits, but ONNX rounds")
    if x.dtype.is_floating and target.is_unsigned:
        # ONNX does not define casts of negative floats to unsigned types: wrap through int64.
        return g.cast(g.cast(x, dtypes.int64), target)
    return g.cast(x, target)


_UNSIGNED = {1: dtypes.uint8, 2: dtypes.uint16, 4: dtypes.uint32, 8: dtypes.uint64}


_BITS_SINCE = 26


@converts("Bitcast", since=_BITS_SINCE, earlier=is_sign_of_zeros)
def bitcast(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """BitCast; types of different width are split or joined, the low bits first."""
    target = call.dtype("type")
    if target.onnx is None:
        call.fail(f"ONNX has no type {target.name}")
    if g.opset < _BITS_SINCE:
        return _sign_of_zeros(g, x, target)
    if x.dtype is target:
        return g.op("Identity", x)
    before, after = (kind.numpy.itemsize for kind in (x.dtype, target))
    bits = _bits(g, x, _UNSIGNED[before])
    if before > after:
        bits = _apart(g, bits, after, before // after)
    elif before < after:
        bits = _together(g, bits, before, after // before)
    return _bits(g, g.cast(bits, _UNSIGNED[after]), target)


def _sign_of_zeros(g: GraphBuilder, x: Value, target: DType) -> Value:
    """The bits of 0 and -0, by the sign of 1 / x; no other bits are used."""
    least = g.constant(np.array(np.iinfo(target.numpy).min, target.numpy))
    negative = g.binary("Less", g.op("Reciprocal", x), 0)
    return g.op("Where", negative, least, g.constant(np.zeros((), target.numpy)))


def _bits(g: GraphBuilder, x: Value, dtype: DType) -> Value:
    return x if x.dtype is dtype else g.op("BitCast", x, to=dtype.onnx)


def _apart(g: GraphBuilder, x: Value, size: int, count: int) -> Value:
    """Each number split into pieces of `size` bytes along a new last axis."""
    wide = g.unsqueeze(g.cast(x, dtypes.uint64), x.rank)
    places = g.constant(np.arange(count, dtype=np.uint64) * np.uint64(8 * size))
    mask = g.constant(np.array((1 << 8 * size) - 1, np.uint64))
    return g.op("BitwiseAnd", g.op("BitShift", wide, places, direction="RIGHT"), mask)


def _together(g: GraphBuilder, x: Value, size: int, count: int) -> Value:
    """The pieces of `size` bytes along the last axis joined to one number."""
    wide = g.cast(x, dtypes.uint64)
    parts = [g.op("Gather", wide, g.index(place), axis=x.rank - 1) for place in range(count)]
    whole = parts[0]
    for place, part in enumerate(parts[1:], 1):
        shift = g.constant(np.array(8 * size * place, np.uint64))
        whole = g.op("BitwiseOr", whole, g.op("BitShift", part, shift, direction="LEFT"))
    return whole


@converts("ToBool")
def to_bool(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """Whether a scalar is not 0, or an array not empty."""
    del call
    if x.rank:
        return g.op("Not", g.binary("Equal", g.op("Size", x), 0))
    if x.dtype.name == "string":
        return g.op("Not", g.op("Equal", x, g.constant(np.array(b"", object))))
    return g.cast(x, dtypes.bool)
