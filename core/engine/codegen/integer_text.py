"""Source for integer sums and products that wrap around as the ops do: modulo a power of two.

Numba tells LLVM that signed sums, differences and products never overflow ("nsw"). LLVM then turns
`x + int64.min` into an `or`, and a loop that wraps gives other results than its plan. Unsigned
arithmetic has no such flag, and gives the same bits.
"""

from __future__ import annotations

import ast

from pinnace.framework.parsing import parsed

_WRAPS = (ast.Add, ast.Sub, ast.Mult)


class _Unsigned(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, _WRAPS):
            return node
        node.left, node.right = _call("uint64", node.left), _call("uint64", node.right)
        return _call("int64", node)


def _call(kind: str, argument: ast.expr) -> ast.Call:
    function = ast.Attribute(ast.Name("np", ast.Load()), kind, ast.Load())
    return ast.Call(function, [argument], [])


def wrapping(expression: str) -> str:
    """An integer expression whose sums, differences and products wrap around.

    Args:
        expression: on numbers of one dtype; its value is an int64 with the correct low bits.
    """
    return ast.unparse(_Unsigned().visit(parsed(expression, "eval")))
