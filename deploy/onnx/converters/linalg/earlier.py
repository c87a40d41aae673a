"""Earlier forms of the ops of diagonals: V1 knows the main one alone, V2 puts them to the left."""

from pinnace.deploy.onnx.converters.linalg import bands
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value

_MAIN = bands.Band(0, 0, "LEFT_LEFT")


@converts("MatrixDiag")
def matrix_diag(g: GraphBuilder, call: NodeView, diagonal: Value) -> Value:
    """A square with the main diagonal, 0 elsewhere."""
    del call
    return bands.made(g, _MAIN, diagonal, -1, -1, g.like(diagonal, 0))


@converts("MatrixDiagV2", constants=("k", "num_rows", "num_cols"))
def matrix_diag_v2(
    g: GraphBuilder,
    call: NodeView,
    diagonal: Value,
    k: Value,
    rows: Value,
    columns: Value,
    padding: Value,
) -> Value:
    """As MatrixDiagV3, aligned to the left."""
    del k, rows, columns
    band = bands.band_of(call, 1, "LEFT_LEFT")
    height, width = call.needed_int(2, "num_rows"), call.needed_int(3, "num_cols")
    return bands.made(g, band, diagonal, height, width, padding)


@converts("MatrixDiagPart")
def matrix_diag_part(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """The main diagonal."""
    del call
    return bands.taken(g, _MAIN, x, g.like(x, 0))


@converts("MatrixDiagPartV2", constants=("k",))
def matrix_diag_part_v2(
    g: GraphBuilder, call: NodeView, x: Value, k: Value, padding: Value
) -> Value:
    """As MatrixDiagPartV3, aligned to the left."""
    del k
    return bands.taken(g, bands.band_of(call, 1, "LEFT_LEFT"), x, padding)


@converts("MatrixSetDiag")
def matrix_set_diag(g: GraphBuilder, call: NodeView, x: Value, diagonal: Value) -> Value:
    """The main diagonal over the matrix."""
    del call
    return bands.put(g, _MAIN, x, diagonal)


@converts("MatrixSetDiagV2", constants=("k",))
def matrix_set_diag_v2(
    g: GraphBuilder, call: NodeView, x: Value, diagonal: Value, k: Value
) -> Value:
    """As MatrixSetDiagV3, aligned to the left."""
    del k
    return bands.put(g, bands.band_of(call, 2, "LEFT_LEFT"), x, diagonal)
