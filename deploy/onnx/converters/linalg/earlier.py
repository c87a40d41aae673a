"""Earlier versions of diagonal ops: V1 has only the main diagonal, V2 aligns left."""

from pinnace.deploy.onnx.converters.linalg import bands
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("MatrixDiag")
def matrix_diag(g: GraphBuilder, call: NodeView, diagonal: Value) -> Value:
    """A diagonal matrix."""
    del call
    least = g.ints(-1)
    band = bands.main_diagonal(g)
    return bands.made(g, band, diagonal, least, least, g.like(diagonal, 0))


@converts("MatrixDiagV2")
def matrix_diag_v2(
    g: GraphBuilder,
    call: NodeView,
    diagonal: Value,
    k: Value,
    rows: Value,
    columns: Value,
    padding: Value,
) -> Value:
    """MatrixDiagV3 with `align="LEFT_LEFT"`."""
    sizes = bands.told(g, call, 2, rows), bands.told(g, call, 3, columns)
    return bands.made(g, bands.band_of(g, call, 1, k, "LEFT_LEFT"), diagonal, *sizes, padding)


@converts("MatrixDiagPart")
def matrix_diag_part(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """The main diagonal."""
    del call
    return bands.taken(g, bands.main_diagonal(g), x, g.like(x, 0))


@converts("MatrixDiagPartV2")
def matrix_diag_part_v2(
    g: GraphBuilder, call: NodeView, x: Value, k: Value, padding: Value
) -> Value:
    """MatrixDiagPartV3 with `align="LEFT_LEFT"`."""
    return bands.taken(g, bands.band_of(g, call, 1, k, "LEFT_LEFT"), x, padding)


@converts("MatrixSetDiag")
def matrix_set_diag(g: GraphBuilder, call: NodeView, x: Value, diagonal: Value) -> Value:
    """The matrix with its main diagonal replaced."""
    del call
    return bands.put(g, bands.main_diagonal(g), x, diagonal)


@converts("MatrixSetDiagV2")
def matrix_set_diag_v2(
    g: GraphBuilder, call: NodeView, x: Value, diagonal: Value, k: Value
) -> Value:
    """MatrixSetDiagV3 with `align="LEFT_LEFT"`."""
    return bands.put(g, bands.band_of(g, call, 2, k, "LEFT_LEFT"), x, diagonal)
