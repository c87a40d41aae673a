"""Fourier transforms: DFT along each axis in turn."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts_pairs
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.complex_pairs import Pair, part_type, stacked, unstacked
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes

_AXIS_IS_INPUT = 20  # the first opset in which DFT's axis is an input
_KINDS = ("", "2D", "3D")
_COMPLEX = tuple(f"{way}FFT{kind}" for way in ("", "I") for kind in _KINDS)
_FROM_REAL = tuple(f"RFFT{kind}" for kind in _KINDS)
_TO_REAL = tuple(f"IRFFT{kind}" for kind in _KINDS)


def _axes(call: NodeView, rank: int) -> list[int]:
    name = call.node.op.name
    if name.endswith("ND"):
        return [int(axis) % rank for axis in call.needed(2, "axes").reshape(-1)]
    count = {"2D": 2, "3D": 3}.get(name[-2:], 1)
    return list(range(rank - count, rank))


@converts_pairs("FFTND", "IFFTND", always=True, constants=("axes",))
@converts_pairs(*_COMPLEX, always=True)
def complex_transform(
    g: GraphBuilder,
    call: NodeView,
    z: Pair,
    lengths: Value | None = None,
    axes: Value | None = None,
) -> Pair:
    """DFT along every axis."""
    del axes
    chosen = _axes(call, z.real.rank)
    x = stacked(g, z)
    if lengths is not None:
        for place, axis in enumerate(chosen):
            x = _fitted(g, x, axis, _entry(g, lengths, place))
    inverse = call.node.op.name.startswith("I")
    for axis in chosen:
        x = _transformed(g, x, axis, inverse=inverse)
    return unstacked(g, x)


@converts_pairs("RFFTND", always=True, constants=("axes",))
@converts_pairs(*_FROM_REAL, always=True)
def from_real(
    g: GraphBuilder, call: NodeView, x: Value, lengths: Value, axes: Value | None = None
) -> Pair:
    """Half the DFT of a real signal along the last axis, then the DFT along the others."""
    del axes
    chosen = _axes(call, x.rank)
    wide = g.unsqueeze(g.cast(x, part_type(call.output_spec().dtype)), x.rank)
    for place, axis in enumerate(chosen):
        wide = _fitted(g, wide, axis, _entry(g, lengths, place))
    made = _transformed(g, wide, chosen[-1], onesided=True)
    for axis in chosen[:-1]:
        made = _transformed(g, made, axis)
    return unstacked(g, made)


@converts_pairs("IRFFTND", always=True, constants=("axes",))
@converts_pairs(*_TO_REAL, always=True)
def to_real(
    g: GraphBuilder, call: NodeView, z: Pair, lengths: Value, axes: Value | None = None
) -> Value:
    """The missing frequencies are mirrored from the given ones, then the inverse DFT."""
    del axes
    chosen = _axes(call, z.real.rank)
    x, last = stacked(g, z), chosen[-1]
    for place, axis in enumerate(chosen[:-1]):
        x = _fitted(g, x, axis, _entry(g, lengths, place))
    for axis in chosen[:-1]:
        x = _transformed(g, x, axis, inverse=True)
    length = _entry(g, lengths, len(chosen) - 1)
    half = g.op("Add", g.op("Div", length, g.ints(2)), g.ints(1))
    kept = _fitted(g, x, last, half)
    # Frequencies length - k, for k from 1 to (length - 1) // 2, are the conjugates of k.
    count = g.op("Div", g.op("Sub", length, g.ints(1)), g.ints(2))
    there = g.slice(kept, last, 1, g.op("Add", count, g.ints(1)))
    ends = -1, -(1 << 63)
    mirrored = unstacked(g, g.slice(there, last, *ends, -1))
    turned = stacked(g, Pair(mirrored.real, g.op("Neg", mirrored.imaginary)))
    whole = g.concat([kept, turned], last)
    made = unstacked(g, _transformed(g, whole, last, inverse=True)).real
    return g.cast(made, call.output_spec().dtype)


def _entry(g: GraphBuilder, lengths: Value, place: int) -> Value:
    """One of the lengths, as a vector of one element."""
    return g.op("Slice", g.as_int64(lengths), g.ints(place), g.ints(place + 1))


def _fitted(g: GraphBuilder, x: Value, axis: int, length: Value) -> Value:
    """`x` cropped or padded with zeros along an axis."""
    size = x.size(axis)
    known = None if length.array is None else int(length.array[0])
    if size is not None and size == known:
        return x
    if size is None or known is None or known < size:
        x = g.slice(x, axis, 0, length)
    if size is None or known is None or known > size:
        room = g.op("Max", g.op("Sub", length, g.size_of(x, axis)), g.ints(0))
        before = g.ints(*[0] * (x.rank + axis))
        behind = [g.ints(*[0] * (x.rank - axis - 1))]
        x = g.op("Pad", x, g.joined(before, room, *behind))
    return x


def _transformed(
    g: GraphBuilder, x: Value, axis: int, *, inverse: bool = False, onesided: bool = False
) -> Value:
    """DFT along an axis of [..., 1 or 2]."""
    attrs = {"inverse": int(inverse) or None, "onesided": int(onesided) or None}
    # The operator takes the first axis as the batch.
    first = axis == 0
    wide = g.unsqueeze(x, 0) if first else x
    size = x.size(axis)
    if size is None or size & (size - 1):
        # Unless the length is a power of two, ONNX Runtime's float32 has only five digits.
        wide = g.cast(wide, dtypes.float64)
    place = axis + first
    if g.opset >= _AXIS_IS_INPUT:
        made = g.op("DFT", wide, None, g.index(place), **attrs)
    else:
        made = g.op("DFT", wide, axis=place, **attrs)
    made = g.cast(made, x.dtype)
    return g.squeeze(made, 0) if first else made
