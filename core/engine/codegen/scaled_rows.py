"""Rows multiplied by one row: the channel scaling of squeeze-and-excite blocks.

Importing this module imports Numba.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from pinnace.engine.codegen.vectors import LANES, VectorWriter, integer

_I64 = ir.IntType(64)
_NAME = "pinnace_scaled_rows"


class _RowWriter(VectorWriter):
    """Generates a loop over rows, by vectors."""

    def write(self, target: Any, source: Any, factors: Any, rows: Any, width: Any) -> None:
        """Generate the body of `scale_rows`."""
        builder = self.builder
        to, given, by = map(self.number_pointer, (target, source, factors))
        before = builder.block
        head, row, done = (builder.append_basic_block(name) for name in ("rows", "row", "all"))
        builder.branch(head)
        builder.position_at_end(head)
        count, at = builder.phi(_I64), builder.phi(_I64)
        count.add_incoming(integer(0), before)
        at.add_incoming(integer(0), before)
        builder.cbranch(builder.icmp_signed("<", count, rows), row, done)
        builder.position_at_end(row)

        def body(column: Any, mask: Any) -> None:
            place = builder.add(at, column)
            factor = self.load(builder.gep(by, [column]), mask)
            value = self.load(builder.gep(given, [place]), mask)
            self.store(builder.fmul(value, factor), builder.gep(to, [place]), mask)

        self.loop(width, body)
        count.add_incoming(builder.add(count, integer(1)), builder.block)
        at.add_incoming(builder.add(at, width), builder.block)
        builder.branch(head)
        builder.position_at_end(done)
        builder.ret_void()


def _scale_rows_type(
    context: Any, target: Any, source: Any, factors: Any, rows: Any, width: Any
) -> Any:
    """Multiply rows at an address by the row of factors at another; the output may be in place."""
    del context

    def generate(compiled: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del signature
        function = builder.module.globals.get(_NAME)
        if function is None:
            kind = ir.FunctionType(ir.VoidType(), [_I64] * 5)
            function = ir.Function(builder.module, kind, _NAME)
            function.linkage = "internal"
            function.attributes.add("noinline")
            inside = ir.IRBuilder(function.append_basic_block("entry"))
            _RowWriter(inside, LANES).write(*function.args)
        builder.call(function, arguments)
        return compiled.get_dummy_value()

    return types.void(target, source, factors, rows, width), generate


scale_rows: Any = intrinsic(_scale_rows_type)
