"""Scalar steps as source: one expression each, and its preconditions.

Results are those of the plan bit for bit: each op rounds to its dtype, and nothing is contracted.
If the plan would raise an error, or its result is undefined by the processor, the source refuses.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pinnace.engine.codegen import forms
from pinnace.graph.graph import constant_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value
    from pinnace.ops.opdef import Division

SCALARS = {
    "float32": "np.float32",
    "float64": "np.float64",
    "int8": "np.int8",
    "int16": "np.int16",
    "int32": "np.int32",
    "int64": "np.int64",
    "uint8": "np.uint8",
    "uint16": "np.uint16",
    "uint32": "np.uint32",
    "uint64": "np.uint64",
    "bool": "bool",
}
# Functions that a table has (`function_numbers`), and conversions.
FUNCTIONS = frozenset(
    {"abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "copysign", "cos"}
    | {"cosh", "erf", "erfc", "exp", "expm1", "floor", "fmod", "log", "log1p", "max", "min"}
    | {"rint", "sin", "sinh", "sqrt", "tan", "tanh", "trunc"}
)
_CALLS = re.compile(r"([a-z_A-Z]\w*)\(")
# Identities on integers, without a conversion to float64 and back.
_ROUNDINGS = re.compile(r"\b(?:ceil|floor|rint)\(")


class Expression(NamedTuple):
    """A step as an expression.

    Attributes:
        text: the result, in its dtype.
        refusals: conditions, each of which leaves the step to the plan.
    """

    text: str
    refusals: tuple[str, ...] = ()


def is_scalar(value: Value) -> bool:
    """Whether a value is one number of a dtype that the source supports."""
    return value.shape.rank == 0 and value.dtype.name in SCALARS


def literal(array: Array, dtype: str) -> str | None:
    """A scalar as a literal; None if it has none.

    Python's digits of a float64 are exact, and so are those of a float32 written as a float64. An
    integer literal is an int64, or, beyond its range, a uint64.
    """
    kind = SCALARS.get(dtype)
    if kind is None or np.ndim(array):
        return None
    value = np.asarray(array).item()
    if not np.isfinite(array):
        return f"{kind}({'np.nan' if np.isnan(array) else '-np.inf' if value < 0 else 'np.inf'})"
    return f"{kind}({value!r})"


def expression(
    node: Node, names: Sequence[str | None], functions: Collection[str]
) -> Expression | None:
    """A scalar step as an expression; None if there is none.

    Args:
        node: the step.
        names: names of its inputs, None for one that is not a scalar.
        functions: names of functions that it may call, besides conversions.
    """
    if len(node.outputs) != 1 or not is_scalar(node.outputs[0]) or not all(names):
        return None
    return of_each(node, [name or "" for name in names], functions)


def of_each(node: Node, given: Sequence[str], functions: Collection[str]) -> Expression | None:
    """The scalar expression of an elementwise step; None if there is none.

    Args:
        node: the step, with one output of a supported dtype.
        given: names of the numbers, one per input.
        functions: names of functions that it may call, besides conversions.
    """
    if node.op.stateful:
        return None
    if node.op.name == "Cast":
        return _cast(node, given[0])
    form, refusals = _form(node, given)
    called = {*_CALLS.findall(form)} - {"T", "maximum", "minimum", "int", *_KINDS}
    if not form or not called <= {*functions}:
        return None
    kind = node.outputs[0].dtype
    own = SCALARS[kind.name]
    form = re.sub(r"\bT\(", f"{own}(", form)
    return Expression(f"{own}({form})", refusals)


def _form(node: Node, given: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The expression of a step, empty if there is none, and its refusals."""
    name = node.op.name
    if node.op.divides is not None:
        return _division(node, node.op.divides, *given)
    if name == "LeftShift":
        return _left_shift(node, *given), ()
    if name == "RightShift":
        return _right_shift(node, *given), ()
    if name == "DivNoNan":
        return f"(T(0) if {given[1]} == T(0) else {given[0]} / {given[1]})", ()
    if name == "Sigmoid":
        return f"T(1) / (T(1) + exp(-{given[0]}))", ()
    if name == "Select":
        return "({1} if {0} else {2})".format(*given), ()
    form = node.op.fuse
    if form is None:
        return "", ()
    if node.outputs[0].dtype.is_integer:
        form = _ROUNDINGS.sub("(", form)
    return forms.written(node, given, form), ()


# The conversions in literals of constants.
_KINDS = frozenset(kind.rpartition(".")[2] for kind in SCALARS.values()) | {"uint64", "int64"}


def _cast(node: Node, x: str) -> Expression:
    source, target = node.inputs[0].dtype, node.outputs[0].dtype
    kind = SCALARS[target.name]
    if not source.is_floating or target.is_floating:
        return Expression(f"{kind}({x})")
    if not target.is_integer:
        return Expression(f"{kind}({x} != 0)")
    # The conversion of a float outside an integer's range is undefined.
    facts = np.iinfo(target.numpy)
    low = f"{float(facts.min)!r} <=" if facts.bits == 64 and facts.min else f"{facts.min - 1}.0 <"
    wide = f"np.float64({x})"
    return Expression(f"{kind}({x})", (f"not ({low} {wide} < {float(facts.max + 1)!r})",))


def _division(node: Node, kind: Division, x: str, y: str) -> tuple[str, tuple[str, ...]]:
    """The expression of a quotient or a remainder, and its refusals."""
    dtype = node.inputs[0].dtype
    what, rounding = kind
    if dtype.is_integer:
        known = constant_of(node.inputs[1])
        divisor = None if known is None or np.ndim(known) else int(known)
        refusals = () if divisor else (f"{y} == 0",)
        is_signed = np.iinfo(dtype.numpy).min < 0
        text = _integer_division(kind, x, y, is_signed)
        if is_signed and divisor in {None, -1}:
            # The smallest number divided by -1 overflows; processors trap.
            own = f"-{x}" if what == "quotient" else "T(0)"
            text = f"({own} if {y} == -1 else {text})"
        return text, refusals
    if what == "quotient":
        quotient = f"{x} / {y}"
        rounds = {"exact": "", "floor": "floor", "truncate": "trunc"}[rounding]
        return f"{rounds}({quotient})" if rounds else quotient, ()
    rest = f"fmod({x}, {y})"
    if rounding == "floor":
        # With the sign of the divisor, also for zero; NaN if the divisor is zero.
        zero = f"({rest} if {y} == T(0) else copysign(T(0), {y}))"
        other = f"({rest} + {y} if ({y} < T(0)) != ({rest} < T(0)) else {rest})"
        rest = f"({zero} if {rest} == T(0) else {other})"
    return rest, ()


def _integer_division(kind: Division, x: str, y: str, is_signed: bool) -> str:
    """An integer division whose divisor is neither zero nor -1."""
    quotient, rest = f"({x} // {y})", f"({x} % {y})"
    what, rounding = kind
    if not is_signed or rounding == "floor":
        return quotient if what == "quotient" else rest
    differ = f"{rest} != 0 and ({x} < 0) != ({y} < 0)"
    if what == "quotient":
        return f"({quotient} + 1 if {differ} else {quotient})"
    return f"({rest} - {y} if {differ} else {rest})"


def _left_shift(node: Node, x: str, y: str) -> str:
    return f"np.int64(np.uint64({x}) << np.uint64({_places(node, y)}))"


def _right_shift(node: Node, x: str, y: str) -> str:
    return f"{x} >> {_places(node, y)}"


def _places(node: Node, y: str) -> str:
    """The shift count of a number: clamped to its bits, as in the op's kernel."""
    last = np.iinfo(node.outputs[0].dtype.numpy).bits - 1
    return f"(T(0) if {y} < T(0) else T({last}) if {y} > T({last}) else {y})"
