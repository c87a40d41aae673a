"""Rows multiplied by one row: the channel scaling of squeeze-and-excite blocks.

Importing this module imports Numba.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from pinnace.engine.codegen.intrinsics import call_own, generated
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


@generated(types.void, "target source factors rows width")
def scale_rows(builder: Any, *given: Any) -> None:
    """Multiply rows at an address by the row of factors at another; the output may be in place."""
    call_own(builder, _NAME, given, lambda inside, *own: _RowWriter(inside, LANES).write(*own))
