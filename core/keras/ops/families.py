"""Builders of operations that are one function behind a rule: `unary`, `binary`, `reducer`.

A builder takes the operation's name first: `sin = unary("sin", …)`. The name of the class in Keras
follows from it: `logical_and` is `LogicalAnd`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from pinnace.keras.ops.operation import F, operation
from pinnace.keras.ops.promotion import (
    as_bool,
    bools,
    float_pair,
    floating,
    measured,
    pair,
    summable,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Tensor

# The settings of a reduction.
AXES = ("axis", "keepdims")
_OPERANDS = """Args:
    x1: [...], {} or a Python number.
    x2: [...], broadcastable to `x1`; both are promoted to one dtype as Keras does.

Returns:
    The broadcast shape, {}."""
_BOOLS = """Args:
    x1: [...], cast to bool.
    x2: [...], broadcastable to `x1`, cast to bool.

Returns:
    The broadcast shape, bool."""
_REDUCED = """Args:
    x: [...]{}.
    axis: an axis or several; all if None.
    keepdims: reduced axes stay, with size 1.

Returns:
    [...] without the reduced axes{}."""
# The same for the operations that find places, and for those that accumulate.
PLACES = """Args:
    x: [...], a real number type.
    axis: an axis; the flat tensor if None.
    keepdims: the axis stays, with size 1.

Returns:
    [...] without `axis`, int32; the first of equal elements."""
CUMULATIVE = """Args:
    x: [...], a number type.
    axis: an axis; the flat tensor if None.
    dtype: to cast to before; bools are int32.

Returns:
    The shape of `x`, or as many elements in one axis."""


class Rule(NamedTuple):
    """What the operations of a family do with their arguments first.

    Attributes:
        promote: takes the arguments, gives the tensors.
        takes: what the docstrings say after their first line.
    """

    promote: Callable[..., Any]
    takes: str


def _unchanged(x: Any) -> Any:
    return x


PAIR = Rule(pair, _OPERANDS.format("a number type", "the common dtype"))
FLOATS = Rule(
    float_pair, _OPERANDS.format("a number type", "the common dtype; a float type for integers")
)
REALS = Rule(pair, _OPERANDS.format("a real number type", "the common dtype"))
MEASURED = Rule(measured, _OPERANDS.format("a real number type", "a float type"))
COMPARED = Rule(pair, _OPERANDS.format("a number type", "bool"))
BOOLS = Rule(bools, _BOOLS)
SUMS = Rule(summable, _REDUCED.format("; small integers are widened as in Keras", ""))
MEANS = Rule(floating, _REDUCED.format("; integers become floats", ", a float type"))
EXTREMES = Rule(_unchanged, _REDUCED.format(", a real number type", ", dtype of `x`"))
TRUTHS = Rule(as_bool, _REDUCED.format(", cast to bool", ", bool"))


class Unary(Protocol):
    """A function of one tensor."""

    def __call__(self, x: Any) -> Tensor:
        """The result."""


class Binary(Protocol):
    """A function of two tensors."""

    def __call__(self, x1: Any, x2: Any) -> Tensor:
        """The result."""


class Reduction(Protocol):
    """A function of a tensor that removes axes."""

    def __call__(self, x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
        """The result."""


def unary(
    name: str,
    function: Callable[[Any], Tensor],
    doc: str,
    promote: Callable[[Any], Any] | None = floating,
    **options: str,
) -> Unary:
    """The operation `function(promote(x))`.

    Args:
        name: its name.
        function: takes the promoted tensor.
        doc: its docstring.
        promote: None if `function` takes the argument as it is.
        options: `module` of the class in Keras, "numpy" by default, and `sparse`; see `operation`.
    """

    def of_one(x: Any) -> Tensor:
        return function(x) if promote is None else function(promote(x))

    return _operation(of_one, name, doc, **options)


def binary(
    name: str,
    function: Callable[[Any, Any], Tensor],
    doc: str,
    rule: Rule = PAIR,
    **options: str,
) -> Binary:
    """The operation `function(*rule.promote(x1, x2))`; see `unary`."""
    promote = rule.promote

    def of_two(x1: Any, x2: Any) -> Tensor:
        return function(*promote(x1, x2))

    return _operation(of_two, name, doc, takes=rule.takes, **options)


def reducer(
    name: str, function: Callable[..., Tensor], doc: str, rule: Rule, **options: str
) -> Reduction:
    """The operation `function(rule.promote(x), axis, keepdims)`; see `unary`."""
    promote = rule.promote

    def of_axes(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
        return function(promote(x), list(axis) if isinstance(axis, tuple) else axis, keepdims)

    return _operation(of_axes, name, doc, *AXES, takes=rule.takes, **options)


def _operation(
    function: F, name: str, doc: str, *settings: str, module: str = "numpy", **options: str
) -> F:
    made: Any = function
    made.__name__ = made.__qualname__ = name
    made.__doc__ = doc
    # As of a `def` in the module that calls the builder: pickles and configurations name it.
    made.__module__ = sys._getframe(2).f_globals["__name__"]
    keras_name = "".join(map(str.capitalize, name.split("_")))
    return operation(module, keras_name, *settings, **options)(function)
