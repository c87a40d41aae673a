"""Sums and products of integers as text that overflows as the ops do: modulo a power of two.

Numba tells LLVM that signed sums, differences and products never overflow ("nsw"). LLVM then makes
an `or` of `x + int64.min`, and a loop that wraps ends elsewhere than its plan. Unsigned ones carry
no such promise, and have the same bits.
"""

from __future__ import annotations

import ast

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
    """An expression of integers whose sums, differences and products wrap.

    Args:
        expression: on numbers of one dtype; its value is an int64 with the right lowest bits.
    """
    return ast.unparse(_Unsigned().visit(ast.parse(expression, mode="eval")))
