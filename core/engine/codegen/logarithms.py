"""Logarithms of vectors: log(x), and log(1 + x) that is precise near 0.

Importing this module imports Numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from pinnace.engine.codegen.activations import CurveWriter
from pinnace.engine.codegen.intrinsics import call_own, generated
from pinnace.engine.codegen.mathematics import LN2
from pinnace.engine.codegen.vectors import LANES

_I32 = ir.IntType(32)
# log(1 + r) = r - r² / 2 + r³ p(r) between √½ and √2: p, fitted by weighted least squares until the
# relative error was even (0.013 units of 2**-24).
_SERIES = (
    *(0.06746633350849152, -0.11675649136304855, 0.11888164281845093, -0.1240558922290802),
    *(0.14219552278518677, -0.1666799634695053, 0.2000211924314499, -0.25000008940696716),
    0.3333331346511841,
)
# The bits of √½; those of a fraction.
_HALF_ROOT, _FRACTION = 0x3F3504F3, 0x7FFFFF
# Below the first, numbers are subnormal; multiplied by the second, they are not.
_SMALLEST, _SCALE, _SCALE_POWER = 2.0**-126, 2.0**23, 23.0


class LogWriter(CurveWriter):
    """Generates logarithms of one vector."""

    def log(self, x: Any) -> Any:
        """The natural logarithm, within 2 ulp: -inf of 0, NaN of numbers below."""
        builder, kind = self.builder, ir.VectorType(_I32, self.lanes)
        infinity, zero = self.constant(np.inf), self.constant(0)
        is_subnormal = builder.fcmp_ordered("<", x, self.constant(_SMALLEST))
        scaled = builder.fmul(x, self.constant(_SCALE))
        bits = self._bits(builder.select(is_subnormal, scaled, x))
        begin = ir.Constant(kind, [_HALF_ROOT] * self.lanes)
        above = builder.sub(bits, begin)
        power = builder.sitofp(
            builder.ashr(above, ir.Constant(kind, [23] * self.lanes)), self.vector
        )
        less = builder.fsub(power, self.constant(_SCALE_POWER))
        power = builder.select(is_subnormal, less, power)
        fraction = builder.and_(above, ir.Constant(kind, [_FRACTION] * self.lanes))
        number = builder.bitcast(builder.add(fraction, begin), self.vector)
        r = builder.fsub(number, self.constant(1))
        square = builder.fmul(r, r)
        value = builder.fmul(builder.fmul(self._series(r, _SERIES), r), square)
        value = self._fma(power, self.constant(LN2[1]), value)
        value = self._fma(square, self.constant(-0.5), value)
        value = self._fma(power, self.constant(LN2[0]), builder.fadd(r, value))
        # Of infinity and NaN: the same; of 0: -inf; below: NaN.
        is_number = builder.fcmp_ordered("<", x, infinity)
        value = builder.select(is_number, value, x)
        is_positive = builder.fcmp_unordered(">", x, zero)
        is_zero = builder.fcmp_ordered("==", x, zero)
        outside = builder.select(is_zero, self.constant(-np.inf), self.constant(np.nan))
        return builder.select(is_positive, value, outside)

    def log1p(self, x: Any) -> Any:
        """log(1 + x), within 3 ulp; for small x, too."""
        builder, one = self.builder, self.constant(1)
        near = builder.fadd(one, x)
        value = self.log(near)
        # What rounding 1 + x lost, as a share of it.
        lost = builder.fsub(x, builder.fsub(near, one))
        mended = builder.fadd(value, builder.fdiv(lost, near))
        is_inside = builder.and_(
            builder.fcmp_ordered(">", near, self.constant(0)),
            builder.fcmp_ordered("<", near, self.constant(np.inf)),
        )
        # 1 + x is 1: the result is x, with its sign.
        is_small = builder.fcmp_ordered("==", near, one)
        return builder.select(is_small, x, builder.select(is_inside, mended, value))

    def write(self, target: Any, source: Any, count: Any, adds: Any) -> None:
        """Generate the body of `logarithm`."""
        builder = self.builder
        to, given = self.number_pointer(target), self.number_pointer(source)

        def body(at: Any, mask: Any) -> None:
            value = self.load(builder.gep(given, [at]), mask)
            (made,) = self.either(adds, 1, lambda: [self.log1p(value)], lambda: [self.log(value)])
            self.store(made, builder.gep(to, [at]), mask)

        self.loop(count, body)
        builder.ret_void()


@generated(types.void, "target source count adds")
def logarithm(builder: Any, *given: Any) -> None:
    """log(x), or log(1 + x) if `adds` is 1, of `count` numbers, in place or to another address."""
    call_own(
        builder,
        "pinnace_logarithm",
        given,
        lambda inside, *own: LogWriter(inside, LANES).write(*own),
    )
