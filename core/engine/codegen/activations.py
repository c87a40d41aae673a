"""Activations in the epilogue of a product: rectifiers, and functions of the exponential.

Rectifiers are a few instructions on each vector of a tile. SiLU, the sigmoid, tanh and GELU are
some thirty to fifty, and a tile has 28 vectors: they are a loop over memory, in one function for
all tiles of a kernel. A tile stores its sums for it and loads the results; that memory stays in the
L1 cache.

Importing this module imports Numba.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba import types

from pinnace.engine.codegen.intrinsics import call_own, generated
from pinnace.engine.codegen.mathematics import EXP_SERIES, LN2, LOG2_E, WHOLE
from pinnace.engine.codegen.vectors import LANES, VectorWriter, integer
from pinnace.ops.kernels.special_functions import ERFCX32

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_I16, _I32, _I64 = ir.IntType(16), ir.IntType(32), ir.IntType(64)
# Bits of a tile's mode, after those of `vectors`: clamp sums to at least 0, or to 0 and 6; multiply
# each by its hard sigmoid; or one of five curves. At most one is set, except that CLIP modifies
# RECTIFY, and SIXTHS modifies GATE: it divides by 6 instead of multiplying by the nearest float32
# to 1/6.
RECTIFY, CLIP, GATE, SILU, SIGMOID, TANH, SIXTHS = 4, 8, 16, 32, 64, 128, 256
GELU, GELU_BY_TANH = 1024, 2048
_CURVES = SILU | SIGMOID | TANH | GELU | GELU_BY_TANH
# The approximation of GELU: x (1 + tanh(_SLOPE (x + _CUBIC x³))) / 2.
_SLOPE, _CUBIC = 0.7978845608028654, 0.044715
# Beyond this, exp(-x²) is 0; the mask of a float32's sign, exponent and first 11 bits.
_FARTHEST, _COARSE = 10.2, -4096
# From here on the exponential underflows to 0.
_MOST = 88.0
_SIGN = -(1 << 31)
# Processors with 64-byte registers have an instruction for approximate inverses of 14 bits.
_INVERSE = "llvm.x86.avx512.rcp14.ps.512"
_INVERSE_LANES = 16


class CurveWriter(VectorWriter):
    """Generates the curves of one vector."""

    def constant(self, number: Any) -> Any:
        """A vector with one float32 in all lanes."""
        return ir.Constant(self.vector, [float(np.float32(number))] * self.lanes)

    def _fma(self, a: Any, b: Any, c: Any) -> Any:
        name = f"llvm.fma.v{self.lanes}f32"
        return self.builder.call(self.function(name, self.vector, [self.vector] * 3), [a, b, c])

    def _series(self, x: Any, coefficients: Sequence[Any]) -> Any:
        """A polynomial; the highest power's coefficient comes first."""
        first, *rest = coefficients
        value = self.constant(first)
        for one in rest:
            value = self._fma(value, x, self.constant(one))
        return value

    def _bits(self, x: Any) -> Any:
        return self.builder.bitcast(x, ir.VectorType(_I32, self.lanes))

    def _sign(self, x: Any) -> Any:
        """The sign bits of a vector."""
        signs = ir.Constant(ir.VectorType(_I32, self.lanes), [_SIGN] * self.lanes)
        return self.builder.and_(self._bits(x), signs)

    def _size(self, x: Any) -> Any:
        return self.builder.call(
            self.function(f"llvm.fabs.v{self.lanes}f32", self.vector, [self.vector]), [x]
        )

    def _fall(self, x: Any) -> tuple[Any, Any]:
        """e⁻ˣ of numbers that are at least 0, as (1 - part) * power.

        A small part keeps its precision; the power is 0 where the result would be subnormal.
        """
        builder = self.builder
        most = self.constant(_MOST)
        x = builder.select(builder.fcmp_ordered(">", x, most), most, x)
        shifted = self._fma(x, self.constant(-LOG2_E), self.constant(WHOLE))
        n = builder.fsub(shifted, self.constant(WHOLE))
        for part in LN2:
            x = self._fma(n, self.constant(part), x)
        signs = (-1, 1, -1, 1, -1)
        series = [sign * one for sign, one in zip(signs, EXP_SERIES, strict=True)]
        part = builder.fmul(self._series(x, (*series, 1.0)), x)
        places = ir.Constant(ir.VectorType(_I32, self.lanes), [23] * self.lanes)
        power = builder.bitcast(builder.shl(self._bits(shifted), places), self.vector)
        return part, power

    def _divided(self, a: Any, b: Any) -> Any:
        """a / b, for b between 1 and 2."""
        builder = self.builder
        if self.lanes != LANES or LANES != _INVERSE_LANES:
            return builder.fdiv(a, b)
        # A division would take as long as everything else.
        rough = builder.call(
            self.function(_INVERSE, self.vector, [self.vector, self.vector, _I16]),
            [b, self.constant(0), ir.Constant(_I16, -1)],
        )
        rest = self._fma(builder.fneg(b), rough, self.constant(1))
        return builder.fmul(a, self._fma(rough, rest, rough))

    def sigmoid(self, x: Any) -> Any:
        """1 / (1 + e⁻ˣ), by an exponential that cannot overflow."""
        builder, one = self.builder, self.constant(1)
        part, power = self._fall(self._size(x))
        small = self._fma(builder.fneg(part), power, power)
        is_below = builder.fcmp_ordered("<", x, self.constant(0))
        return self._divided(builder.select(is_below, small, one), builder.fadd(one, small))

    def silu(self, x: Any) -> Any:
        """x times its sigmoid."""
        return self.builder.fmul(x, self.sigmoid(x))

    def tanh(self, x: Any) -> Any:
        """The hyperbolic tangent: (1 - e) / (1 + e) with e = e⁻²ˣ."""
        builder = self.builder
        size = self._size(x)
        part, power = self._fall(builder.fadd(size, size))
        less = self._fma(part, power, builder.fsub(self.constant(1), power))
        value = self._divided(less, builder.fsub(self.constant(2), less))
        value = self._size(value)  # NaN has a sign too
        return builder.bitcast(builder.or_(self._bits(value), self._sign(x)), self.vector)

    def erfc(self, x: Any) -> Any:
        """Like `mathematics.erfc`: within 16 ulp; subnormal results are 0."""
        builder, one, two = self.builder, self.constant(1), self.constant(2)
        size, most = self._size(x), self.constant(_FARTHEST)
        size = builder.select(builder.fcmp_ordered(">", size, most), most, size)
        ahead = builder.fadd(size, two)
        behind = self._fma(size, two, one)
        # One division for both: (size - 2) / (size + 2), and 1 / (1 + 2 size).
        part = builder.fdiv(one, builder.fmul(ahead, behind))
        place = builder.fmul(builder.fsub(size, two), builder.fmul(behind, part))
        scaled = builder.fmul(self._series(place, tuple(ERFCX32)), builder.fmul(ahead, part))
        # The square in two parts: that of the first 12 bits is exact, the rest is below 0.06.
        kept = ir.Constant(ir.VectorType(_I32, self.lanes), [_COARSE] * self.lanes)
        coarse = builder.bitcast(builder.and_(self._bits(size), kept), self.vector)
        rest = builder.fmul(builder.fsub(coarse, size), builder.fadd(coarse, size))
        near = self._series(rest, (1 / 24, 1 / 6, 0.5, 1.0, 1.0))
        fall, power = self._fall(builder.fmul(coarse, coarse))
        small = self._fma(builder.fneg(fall), power, power)
        tail = builder.fmul(scaled, builder.fmul(small, near))
        is_below = builder.fcmp_ordered("<", x, self.constant(0))
        return builder.select(is_below, builder.fsub(two, tail), tail)

    def gelu(self, x: Any) -> Any:
        """x erfc(-x / √2) / 2."""
        builder = self.builder
        value = self.erfc(builder.fmul(x, self.constant(-math.sqrt(0.5))))
        return builder.fmul(builder.fmul(x, self.constant(0.5)), value)

    def gelu_by_tanh(self, x: Any) -> Any:
        """The approximation of GELU by tanh."""
        builder, one = self.builder, self.constant(1)
        cubic = self._fma(builder.fmul(x, x), self.constant(_CUBIC), one)
        inner = builder.fmul(builder.fmul(x, self.constant(_SLOPE)), cubic)
        half = builder.fmul(x, self.constant(0.5))
        return builder.fmul(half, builder.fadd(one, self.tanh(inner)))

    def write(self, target: Any, source: Any, count: Any, mode: Any) -> None:
        """Generate the body of `activate`."""
        builder = self.builder
        to, given = self.number_pointer(target), self.number_pointer(source)

        def loop(curve: Callable[[Any], Any]) -> Callable[[], list[Any]]:
            def body(at: Any, mask: Any) -> None:
                value = self.load(builder.gep(given, [at]), mask)
                self.store(curve(value), builder.gep(to, [at]), mask)

            def written() -> list[Any]:
                self.loop(count, body)
                return []

            return written

        # The last one is tested first.
        curves = {
            SIGMOID: self.sigmoid,
            GELU_BY_TANH: self.gelu_by_tanh,
            GELU: self.gelu,
            SILU: self.silu,
        }
        chosen = loop(self.tanh)
        for bit, curve in curves.items():
            chosen = partial(self.either, mode, bit, loop(curve), chosen)
        chosen()
        builder.ret_void()


@generated(types.void, "target source count mode")
def activate(builder: Any, *given: Any) -> None:
    """Apply a curve to `count` numbers at an address, in place or to another address.

    The mode selects SiLU, the sigmoid or tanh, each within 4 ulp; GELU, within 8 ulp for an x / √2
    rounded to float32; or its approximation by tanh, within 4 ulp of x. Subnormal results are 0.
    """
    _call_curve(builder, LANES, given)


def _call_curve(builder: Any, lanes: int, given: Sequence[Any]) -> None:
    """Call `activate`, for vectors of `lanes` numbers."""
    name = f"pinnace_curve_{lanes}"
    call_own(builder, name, given, lambda inside, *own: CurveWriter(inside, lanes).write(*own))


class ActivationWriter(VectorWriter):
    """Generates the epilogue of complete sums."""

    def activated(self, sums: list[Any], mode: Any) -> list[Any]:
        """The sums with the mode's activation; NaN is kept."""

        def rectified() -> list[Any]:
            return self.either(mode, RECTIFY, lambda: self._rectified(sums, mode), lambda: sums)

        def gated() -> list[Any]:
            return self.either(mode, GATE, lambda: self._gated(sums, mode), rectified)

        return self.either(mode, _CURVES, lambda: self._curved(sums, mode), gated)

    def _rectified(self, sums: list[Any], mode: Any) -> list[Any]:
        builder = self.builder
        zero, six = (ir.Constant(self.vector, [bound] * self.lanes) for bound in (0.0, 6.0))
        at_least = [
            builder.select(builder.fcmp_ordered("<", value, zero), zero, value) for value in sums
        ]

        def below() -> list[Any]:
            return [
                builder.select(builder.fcmp_ordered(">", value, six), six, value)
                for value in at_least
            ]

        return self.either(mode, CLIP, below, lambda: at_least)

    def _gated(self, sums: list[Any], mode: Any) -> list[Any]:
        builder = self.builder
        zero, six, three, sixth = (
            ir.Constant(self.vector, [number] * self.lanes)
            for number in (0.0, 6.0, 3.0, float(np.float32(1 / 6)))
        )
        # The remainder is divided as well, otherwise all quotients would be biased in one
        # direction.
        divides = builder.icmp_signed("!=", builder.and_(mode, integer(SIXTHS)), integer(0))
        again = builder.select(divides, sixth, zero)
        fma = self.function(f"llvm.fma.v{self.lanes}f32", self.vector, [self.vector] * 3)
        found = []
        for value in sums:
            part = builder.fadd(value, three)
            part = builder.select(builder.fcmp_ordered("<", part, zero), zero, part)
            part = builder.select(builder.fcmp_ordered(">", part, six), six, part)
            gate = builder.fmul(part, sixth)
            left = builder.call(fma, [builder.fneg(gate), six, part])
            found.append(builder.fmul(value, builder.call(fma, [left, again, gate])))
        return found

    def _curved(self, sums: list[Any], mode: Any) -> list[Any]:
        builder = self.builder
        with builder.goto_entry_block():
            room = builder.alloca(self.vector, len(sums))
        # The stack's own alignment: more would take a register from the tile.
        room.align = 16
        first = builder.bitcast(room, ir.FloatType().as_pointer())
        places = [builder.gep(first, [integer(i * self.lanes)]) for i in range(len(sums))]
        for value, place in zip(sums, places, strict=True):
            self.store(value, place, None)
        address = builder.ptrtoint(room, _I64)
        given = [address, address, integer(len(sums) * self.lanes), mode]
        _call_curve(builder, self.lanes, given)
        return [self.load(place, None) for place in places]
