"""Tridiagonal matrices."""

from pinnace.deploy.onnx.converters.math.products import transposed
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("TridiagonalMatMul")
def tridiagonal_mat_mul(
    g: GraphBuilder, call: NodeView, above: Value, main: Value, below: Value, rhs: Value
) -> Value:
    """Each row times its own, the next and the previous one; elements outside are not read."""
    del call
    rank = rhs.rank
    rows = rank - 2

    def beside(diagonal: Value, *, ahead: bool) -> Value:
        """The products with the rows one ahead or one behind."""
        first = g.slice(transposed(g, diagonal), rows, 0 if ahead else 1, -1 if ahead else _END)
        other = g.slice(rhs, rows, 1 if ahead else 0, _END if ahead else -1)
        amounts = [0] * (2 * rank)
        amounts[rows + (rank if ahead else 0)] = 1
        return g.op("Pad", g.op("Mul", first, other), g.ints(*amounts))

    own = g.op("Mul", transposed(g, main), rhs)
    total = g.op("Add", own, beside(above, ahead=True))
    return g.op("Add", total, beside(below, ahead=False))


_END = 2**63 - 1
