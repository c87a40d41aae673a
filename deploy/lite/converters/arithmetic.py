"""Elementwise arithmetic, comparisons and logic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.deploy.lite.converters.element_types import computed, fitted
from pinnace.deploy.lite.converters.gelu import gelu_of, hard_swish_of
from pinnace.deploy.lite.converters.registry import converts
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from pinnace.deploy.lite.converters.node_view import NodeView
    from pinnace.deploy.lite.ir.builder import GraphBuilder
    from pinnace.deploy.lite.ir.model import Tensor

_BINARY = {
    "AddV2": "ADD",
    "Add": "ADD",
    "Sub": "SUB",
    "Maximum": "MAXIMUM",
    "Minimum": "MINIMUM",
    "FloorDiv": "FLOOR_DIV",
    "FloorMod": "FLOOR_MOD",
    "Pow": "POW",
    "SquaredDifference": "SQUARED_DIFFERENCE",
}
_COMPARISONS = {
    "Equal": "EQUAL",
    "NotEqual": "NOT_EQUAL",
    "Greater": "GREATER",
    "GreaterEqual": "GREATER_EQUAL",
    "Less": "LESS",
    "LessEqual": "LESS_EQUAL",
}


def _binary(op: str, kind: str) -> None:
    @converts(op, to=kind)
    def convert(g: GraphBuilder, call: NodeView, x: Tensor, y: Tensor) -> Tensor:
        if x.dtype is dtypes.string:
            call.fail("LiteRT has no built-in operator that concatenates strings")
        return computed(g, kind, x, y)


def _comparison(op: str, kind: str) -> None:
    @converts(op, to=kind)
    def convert(g: GraphBuilder, call: NodeView, x: Tensor, y: Tensor) -> Tensor:
        del call
        return g.op(kind, *fitted(g, kind, x, y), dtype=dtypes.bool)


for _op, _kind in _BINARY.items():
    _binary(_op, _kind)
for _op, _kind in _COMPARISONS.items():
    _comparison(_op, _kind)


@converts("Mul", to="MUL GELU HARD_SWISH")
def mul(g: GraphBuilder, call: NodeView, x: Tensor, y: Tensor) -> Tensor:
    """MUL, or GELU or HARD_SWISH if the product is the last step of such an activation."""
    found = gelu_of(call.node)
    if found is not None and isinstance(call.values.get(found.x), type(x)):
        return g.op("GELU", call.values[found.x], approximate=found.is_approximate)
    swished = hard_swish_of(call.node)
    if swished is not None:
        return g.op("HARD_SWISH", call.values[swished])
    return computed(g, "MUL", x, y)


@converts("RealDiv", to="DIV")
def real_div(g: GraphBuilder, call: NodeView, x: Tensor, y: Tensor) -> Tensor:
    """DIV, or HARD_SWISH if the quotient is the last step of one."""
    swished = hard_swish_of(call.node)
    if swished is not None:
        return g.op("HARD_SWISH", call.values[swished])
    return computed(g, "DIV", x, y)


@converts("Div", "TruncateDiv", to="DIV")
def div(g: GraphBuilder, call: NodeView, x: Tensor, y: Tensor) -> Tensor:
    """DIV, which rounds integers towards zero."""
    del call
    return computed(g, "DIV", x, y)


@converts("DivNoNan", to="DIV SELECT_V2")
def div_no_nan(g: GraphBuilder, call: NodeView, x: Tensor, y: Tensor) -> Tensor:
    """x / y, and 0 where y is 0."""
    del call
    zero = g.op("EQUAL", y, g.like(y, 0), dtype=dtypes.bool)
    quotient = computed(g, "DIV", x, y)
    return g.op("SELECT_V2", zero, g.like(x, 0), quotient, dtype=x.dtype)


@converts("MulNoNan", to="MUL SELECT_V2")
def mul_no_nan(g: GraphBuilder, call: NodeView, x: Tensor, y: Tensor) -> Tensor:
    """x · y, and 0 where y is 0, even for infinite x."""
    del call
    zero = g.op("EQUAL", y, g.like(y, 0), dtype=dtypes.bool)
    return g.op("SELECT_V2", zero, g.like(x, 0), computed(g, "MUL", x, y), dtype=x.dtype)


@converts("Mod", "TruncateMod", to="DIV MUL SUB")
def truncate_mod(g: GraphBuilder, call: NodeView, x: Tensor, y: Tensor) -> Tensor:
    """The remainder of integer division, with the sign of x."""
    if x.dtype.is_floating:
        call.fail("its operands are floats; LiteRT has the truncated remainder of integers only")
    a, b = fitted(g, "DIV", x, y)
    whole = g.op("MUL", g.op("DIV", a, b), b)
    return g.cast(g.op("SUB", a, whole), x.dtype)


@converts("AddN", to="ADD")
def add_n(g: GraphBuilder, call: NodeView, xs: tuple[Tensor, ...]) -> Tensor:
    """A chain of ADDs."""
    del call
    total = xs[0]
    for x in xs[1:]:
        total = computed(g, "ADD", total, x)
    return total


@converts("Neg", to="NEG")
def neg(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """NEG in a type that its kernel takes."""
    del call
    return computed(g, "NEG", x)


@converts("Square", to="MUL")
def square(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """SQUARE for float32, MUL for other types."""
    del call
    return g.op("SQUARE", x) if x.dtype is dtypes.float32 else computed(g, "MUL", x, x)


@converts("Abs", to="ABS")
def absolute(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """ABS; for int64, MAXIMUM of x and -x."""
    del call
    if x.dtype is dtypes.int64:
        return g.op("MAXIMUM", x, g.op("NEG", x))
    return computed(g, "ABS", x)


@converts("Sign", to="SIGN")
def sign(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """SIGN; int64 is computed in float32."""
    del call
    if x.dtype is dtypes.int64:
        return g.cast(g.op("SIGN", g.cast(x, dtypes.float32)), dtypes.int64)
    return computed(g, "SIGN", x)


@converts("Reciprocal", "Inv", to="DIV")
def reciprocal(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """1 / x."""
    del call
    return computed(g, "DIV", g.like(x, 1), x)


@converts("Xdivy", "Xlogy", "Xlog1py", to="SELECT_V2 DIV LOG MUL")
def zero_times(g: GraphBuilder, call: NodeView, x: Tensor, y: Tensor) -> Tensor:
    """x / y, x log y or x log(1 + y), and 0 where x is 0."""
    name = call.node.op.name
    if name == "Xdivy":
        found = g.op("DIV", x, y)
    else:
        inside = g.op("ADD", y, g.like(y, 1)) if name == "Xlog1py" else y
        found = g.op("MUL", x, g.op("LOG", inside))
    zero = g.op("EQUAL", x, g.like(x, 0), dtype=dtypes.bool)
    return g.op("SELECT_V2", zero, g.like(x, 0), found, dtype=x.dtype)


@converts("ClipByValue", to="MINIMUM MAXIMUM")
def clip_by_value(g: GraphBuilder, call: NodeView, x: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """MINIMUM with the upper bound, then MAXIMUM with the lower one."""
    del call
    return computed(g, "MAXIMUM", computed(g, "MINIMUM", x, high), low)


@converts("LogicalAnd", "LogicalOr", to="LOGICAL_AND LOGICAL_OR")
def logical(g: GraphBuilder, call: NodeView, x: Tensor, y: Tensor) -> Tensor:
    """LOGICAL_AND or LOGICAL_OR."""
    kind = "LOGICAL_AND" if call.node.op.name == "LogicalAnd" else "LOGICAL_OR"
    return g.op(kind, x, y)


@converts("LogicalNot", to="LOGICAL_NOT")
def logical_not(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """LOGICAL_NOT."""
    del call
    return g.op("LOGICAL_NOT", x)


@converts("IsNan", to="NOT_EQUAL")
def is_nan(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """x != x, which is true for NaN only."""
    del call
    return g.op("NOT_EQUAL", x, x, dtype=dtypes.bool)


@converts("IsInf", to="EQUAL")
def is_inf(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """|x| = ∞."""
    del call
    return g.op("EQUAL", g.op("ABS", x), g.like(x, float("inf")), dtype=dtypes.bool)


@converts("IsFinite", to="LESS")
def is_finite(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """|x| < ∞."""
    del call
    return g.op("LESS", g.op("ABS", x), g.like(x, float("inf")), dtype=dtypes.bool)


@converts("ApproximateEqual", to="ABS SUB LESS")
def approximate_equal(g: GraphBuilder, call: NodeView, x: Tensor, y: Tensor) -> Tensor:
    """|x - y| below the tolerance."""
    gap = computed(g, "ABS", computed(g, "SUB", x, y))
    limit = g.like(gap, float(call.attr("tolerance")))
    return g.op("LESS", *fitted(g, "LESS", gap, limit), dtype=dtypes.bool)


@converts("BitwiseXor", to="BITWISE_XOR")
def bitwise_xor(g: GraphBuilder, call: NodeView, x: Tensor, y: Tensor) -> Tensor:
    """BITWISE_XOR for integers of 8 to 32 bits."""
    if x.dtype.size > 4:
        call.fail("LiteRT's kernel of BITWISE_XOR takes no integers of 64 bits")
    return g.op("BITWISE_XOR", x, y)


@converts("RightShift", to="RIGHT_SHIFT")
def right_shift(g: GraphBuilder, call: NodeView, x: Tensor, y: Tensor) -> Tensor:
    """RIGHT_SHIFT for integers of 8 to 32 bits."""
    if x.dtype.size > 4:
        call.fail("LiteRT's kernel of RIGHT_SHIFT takes no integers of 64 bits")
    return g.op("RIGHT_SHIFT", x, y)
