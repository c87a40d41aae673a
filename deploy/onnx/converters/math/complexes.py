"""Complex numbers, represented as pairs of values."""

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts_by_parts, converts_pairs, find
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.complex_pairs import Pair, part_type
from pinnace.deploy.onnx.ir.graph import Value

if TYPE_CHECKING:
    from collections.abc import Sequence


@converts_pairs("Complex", always=True)
def complex_of(g: GraphBuilder, call: NodeView, real: Value, imaginary: Value) -> Pair:
    """The real and the imaginary part, broadcast to one shape."""
    del call
    if real.shape.is_fully_defined() and real.shape == imaginary.shape:
        return Pair(real, imaginary)
    wide = g.op("Add", real, _zeros_like(g, imaginary))
    return Pair(wide, g.op("Add", imaginary, _zeros_like(g, real)))


@converts_pairs("Real", always=True)
def real_part(g: GraphBuilder, call: NodeView, z: Pair) -> Value:
    """The real part."""
    return g.cast(z.real, call.dtype("Tout"))


@converts_pairs("Imag", always=True)
def imaginary_part(g: GraphBuilder, call: NodeView, z: Pair) -> Value:
    """The imaginary part."""
    return g.cast(z.imaginary, call.dtype("Tout"))


@converts_pairs("Conj", always=True)
def conjugate(g: GraphBuilder, call: NodeView, z: Pair) -> Pair:
    """The conjugate, with the imaginary part negated."""
    del call
    return Pair(z.real, g.op("Neg", z.imaginary))


@converts_pairs("Mul")
def product(g: GraphBuilder, call: NodeView, a: Pair, b: Pair) -> Pair:
    """The four real products."""
    del call
    return _product(g, a, b)


def _product(g: GraphBuilder, a: Pair, b: Pair) -> Pair:
    real = g.op("Sub", g.op("Mul", a.real, b.real), g.op("Mul", a.imaginary, b.imaginary))
    imaginary = g.op("Add", g.op("Mul", a.real, b.imaginary), g.op("Mul", a.imaginary, b.real))
    return Pair(real, imaginary)


@converts_pairs("Square")
def square(g: GraphBuilder, call: NodeView, z: Pair) -> Pair:
    """z times itself."""
    del call
    return _product(g, z, z)


@converts_pairs("RealDiv", "Div")
def quotient(g: GraphBuilder, call: NodeView, a: Pair, b: Pair) -> Pair:
    """a times the conjugate of b, divided by |b|²."""
    del call
    length = g.op("Add", g.op("Mul", b.real, b.real), g.op("Mul", b.imaginary, b.imaginary))
    above = _product(g, a, Pair(b.real, g.op("Neg", b.imaginary)))
    return Pair(g.op("Div", above.real, length), g.op("Div", above.imaginary, length))


@converts_pairs("Exp")
def exponential(g: GraphBuilder, call: NodeView, z: Pair) -> Pair:
    """exp(x) (cos y + i sin y)."""
    del call
    size = g.op("Exp", z.real)
    parts = [g.op("Mul", size, g.op(name, z.imaginary)) for name in ("Cos", "Sin")]
    return Pair(parts[0], parts[1])


@converts_pairs("Cast")
def cast(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """Real numbers get an imaginary part of 0; a cast to a real type drops it."""
    target = call.dtype("DstT")
    if not target.is_complex:
        return g.cast(x.real, target) if isinstance(x, Pair) else g.cast(x, target)
    kind = part_type(target)
    if isinstance(x, Pair):
        return Pair(g.cast(x.real, kind), g.cast(x.imaginary, kind))
    real = g.cast(x, kind)
    return Pair(real, _zeros_like(g, real))


def _zeros_like(g: GraphBuilder, x: Value) -> Value:
    if x.shape.is_fully_defined():
        return g.constant(np.zeros(x.shape.as_list(), x.dtype.numpy), dtype=x.dtype)
    return g.fill(g.shape_of(x), g.like(x, 0))


@converts_pairs("ZerosLike", "OnesLike")
def filled(g: GraphBuilder, call: NodeView, z: Pair) -> Pair:
    """Zeros or ones in the shape of z."""
    zeros = _zeros_like(g, z.real)
    if call.node.op.name == "ZerosLike":
        return Pair(zeros, zeros)
    return Pair(g.binary("Add", zeros, 1), zeros)


@converts_pairs("Equal", "NotEqual")
def equality(g: GraphBuilder, call: NodeView, a: Pair, b: Pair) -> Value:
    """Whether both parts are equal."""
    same = g.op("And", g.op("Equal", a.real, b.real), g.op("Equal", a.imaginary, b.imaginary))
    return same if call.node.op.name == "Equal" else g.op("Not", same)


@converts_pairs("MatMul", "BatchMatMul", "BatchMatMulV2")
def matrix_product(g: GraphBuilder, call: NodeView, a: Pair, b: Pair) -> Pair:
    """Four real products; the adjoint of a matrix has its imaginary part negated."""
    batched = call.node.op.name != "MatMul"
    names = ("adj_x", "adj_y") if batched else ("transpose_a", "transpose_b")
    a, b = (
        _turned(g, z, batched) if call.attr(name) else z
        for z, name in zip((a, b), names, strict=True)
    )
    parts: Sequence[Any] = [
        g.op("MatMul", x, y) for x in (a.real, a.imaginary) for y in (b.real, b.imaginary)
    ]
    return Pair(g.op("Sub", parts[0], parts[3]), g.op("Add", parts[1], parts[2]))


def _turned(g: GraphBuilder, z: Pair, is_adjoint: bool) -> Pair:
    rank = z.real.rank
    perm = [*range(rank - 2), rank - 1, rank - 2]
    real, imaginary = g.transpose(z.real, perm), g.transpose(z.imaginary, perm)
    return Pair(real, g.op("Neg", imaginary) if is_adjoint else imaginary)


@converts_pairs("Shape", "Size", "Rank", "ShapeN")
def sizes(g: GraphBuilder, call: NodeView, *zs: Any) -> Any:
    """The shape of the real part."""
    found = find(call.node.op.name)
    if found is None:
        call.fail("it has no converter")
    parts = [tuple(p.real for p in z) if isinstance(z, tuple) else z.real for z in zs]
    return found.function(g, call, *parts)


@converts_pairs("ConjugateTranspose")
def adjoint(g: GraphBuilder, call: NodeView, z: Pair, perm: Value) -> Pair:
    """Transpose, with the imaginary part negated."""
    del perm
    order = [int(axis) % z.real.rank for axis in call.needed(1, "perm")]
    parts = [g.transpose(part, order) for part in (z.real, z.imaginary)]
    return Pair(parts[0], g.op("Neg", parts[1]))


converts_by_parts(
    "Add",
    "AddN",
    "AddV2",
    "BroadcastTo",
    "ConcatV2",
    "Cumsum",
    "EnsureShape",
    "ExpandDims",
    "Gather",
    "GatherNd",
    "GatherV2",
    "Identity",
    "IdentityN",
    "MatrixBandPart",
    "Mean",
    "MirrorPad",
    "Neg",
    "Pack",
    "Pad",
    "PreventGradient",
    "Reshape",
    "ReverseSequence",
    "ReverseV2",
    "Roll",
    "ScatterNd",
    "SelectV2",
    "Slice",
    "Snapshot",
    "Split",
    "SplitV",
    "Squeeze",
    "StopGradient",
    "StridedSlice",
    "Sub",
    "Sum",
    "TensorScatterAdd",
    "TensorScatterUpdate",
    "Tile",
    "Transpose",
    "Unpack",
    "UnsortedSegmentSum",
)
