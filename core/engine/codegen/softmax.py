"""The softmax of a row of numbers in generated kernels.

Importing this module imports Numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba import types

from pinnace.engine.codegen.activations import CurveWriter
from pinnace.engine.codegen.intrinsics import call_own, generated
from pinnace.engine.codegen.vectors import LANES

if TYPE_CHECKING:
    from collections.abc import Callable

_I32 = ir.IntType(32)


class _SoftmaxWriter(CurveWriter):
    """Generates three loops over a row: its largest number, its exponentials, and their shares."""

    def write_softmax(self, target: Any, source: Any, count: Any) -> None:
        """Generate the body of `softmax`."""
        builder = self.builder
        to, given = self.number_pointer(target), self.number_pointer(source)
        with builder.goto_entry_block():
            found = builder.alloca(self.vector)  # LLVM keeps it in a register

        def largest(at: Any, mask: Any) -> None:
            value = self.load(builder.gep(given, [at]), mask)
            above = self._larger(value, builder.load(found))
            builder.store(above if mask is None else self._where(mask, above, found), found)

        def exponential(at: Any, mask: Any) -> None:
            value = self.load(builder.gep(given, [at]), mask)
            part, power = self._fall(builder.fsub(top, value))
            value = self._fma(builder.fneg(part), power, power)
            self.store(value, builder.gep(to, [at]), mask)
            total = builder.fadd(builder.load(found), value)
            builder.store(total if mask is None else self._where(mask, total, found), found)

        def scaled(at: Any, mask: Any) -> None:
            place = builder.gep(to, [at])
            self.store(builder.fmul(self.load(place, mask), share), place, mask)

        builder.store(self.constant(float("-inf")), found)
        self.loop(count, largest)
        top = self._in_all_lanes(builder.load(found), self._larger)
        builder.store(self.constant(0), found)
        self.loop(count, exponential)
        total = self._in_all_lanes(builder.load(found), builder.fadd)
        share = builder.fdiv(self.constant(1), total)
        self.loop(count, scaled)
        builder.ret_void()

    def _larger(self, a: Any, b: Any) -> Any:
        """The larger, b if either is NaN: the exponential of a NaN is NaN whatever is largest."""
        return self.builder.select(self.builder.fcmp_ordered(">", a, b), a, b)

    def _where(self, mask: Any, value: Any, found: Any) -> Any:
        return self.builder.select(mask, value, self.builder.load(found))

    def _in_all_lanes(self, vector: Any, joined: Callable[[Any, Any], Any]) -> Any:
        """One number from all lanes of a vector, in each of them."""
        half = self.lanes // 2
        while half:
            places = [place ^ half for place in range(self.lanes)]
            order = ir.Constant(ir.VectorType(_I32, self.lanes), places)
            vector = joined(vector, self.builder.shuffle_vector(vector, vector, order))
            half //= 2
        return vector


@generated(types.void, "source target count")
def softmax(builder: Any, source: Any, target: Any, count: Any) -> None:
    """The softmax of `count` numbers at an address, in place or to another address.

    Each exponential is within 3 ulp, and 0 where it would be subnormal.
    """
    given = [target, source, count]
    call_own(
        builder,
        "pinnace_softmax",
        given,
        lambda inside, *own: _SoftmaxWriter(inside, LANES).write_softmax(*own),
    )
