"""The operators of tensors and variables: `x + y` is `add(x, y)`.

The functions are bound here, all of them, to the class that declares them. Methods that call them
would take a tenth of the time of a small sum, so each operator is the function itself, or one that
differs from it only in its error handling.
"""

from __future__ import annotations

import contextlib
import inspect
from typing import TYPE_CHECKING, Any

from pinnace.framework import tracebacks
from pinnace.framework.context import state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.tensor import Operands, SymbolicTensor, Tensor, TensorLike
from pinnace.ops.array import joining, slicing
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.math import (
    arithmetic,
    bits,
    comparison,
    division,
    exponents,
    logic,
    polar,
    products,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@takes_composites(values=2)
def and_(x: TensorLike, y: TensorLike) -> Tensor:
    """The conjunction of bools, or of integers' bits."""
    x, y = arithmetic.as_pair(x, y)
    return logic.logical_and(x, y) if x.dtype.is_bool else bits.bitwise_and(x, y)


@takes_composites(values=2)
def or_(x: TensorLike, y: TensorLike) -> Tensor:
    """The disjunction of bools, or of integers' bits."""
    x, y = arithmetic.as_pair(x, y)
    return logic.logical_or(x, y) if x.dtype.is_bool else bits.bitwise_or(x, y)


@takes_composites(values=2)
def xor(x: TensorLike, y: TensorLike) -> Tensor:
    """The exclusive or of bools, or of integers' bits."""
    x, y = arithmetic.as_pair(x, y)
    return logic.logical_xor(x, y) if x.dtype.is_bool else bits.bitwise_xor(x, y)


@takes_composites(values=1)
def invert(x: TensorLike) -> Tensor:
    """The negation of bools, or of integers' bits."""
    x = convert_to_tensor(x)
    return logic.logical_not(x) if x.dtype.is_bool else bits.invert(x)


def _positive(x: Operands) -> Tensor:
    return arithmetic.add(x, 0)


def _equal(x: Operands, y: object) -> Tensor | bool:
    return comparison.same(x, y) if y is not None else False


def _not_equal(x: Operands, y: object) -> Tensor | bool:
    return comparison.differs(x, y) if y is not None else True


def _rows(x: SymbolicTensor) -> Iterator[Tensor]:
    if x.shape.rank and x.shape[0] is not None:
        return iter(joining.unstack(x))
    x._refuse("iterating over", "map_fn, while_loop, or a first axis of known size")
    return None


def _reflected(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The function with swapped arguments, for reflected operators."""

    def reflected(y: Any, x: Any) -> Any:
        try:
            return function(x, y)
        except Exception as error:
            tracebacks.cut(error)
            raise

    return reflected


def _giving_way(
    name: str, entry: Callable[[Any, Any], Any], function: Callable[[Any, Any], Any] | None = None
) -> Callable[[Any, Any], Any]:
    """An operator that, if it cannot take y, falls back to y's reflected operator.

    Args:
        name: name of the operator, without underscores.
        entry: the op's eager entry, which takes tensors.
        function: the public function, if that is another: it is asked too, for programs may have
            said what it does with their types (`dispatch_for_api`).

    Source:
        TensorFlow (math_ops.py): an operator that cannot convert y asks y's reflected one.
    """
    reflected = f"__r{name}__"
    # TensorFlow: when executing eagerly, these two accept a variable of another dtype on the right.
    keeps_variables = name in {"add", "matmul"}

    def operator(x: Any, y: Any) -> Any:
        try:
            return entry(x, y)
        except Exception as error:
            if isinstance(error, (TypeError, ValueError)):
                answer = otherwise(x, y)
                if answer is not NotImplemented:
                    return answer
            tracebacks.cut(error)
            raise

    def otherwise(x: Any, y: Any) -> Any:
        with contextlib.suppress(TypeError, ValueError):
            if function is not None and not isinstance(y, _PLAIN):
                return function(x, y)
        theirs = getattr(type(y), reflected, None)
        if theirs is None or theirs is getattr(Operands, reflected):
            return NotImplemented
        if keeps_variables and isinstance(y, Operands) and state.tracer is None:
            return NotImplemented
        with contextlib.suppress(TypeError, ValueError):
            return theirs(y, x)
        return NotImplemented

    return operator


# Operands of types without dispatch handlers.
_PLAIN = (Tensor, int, float, complex, str, bytes, list, tuple)
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": arithmetic.add,
    "and": and_,
    "floordiv": division.floordiv,
    "mod": division.floormod,
    "mul": arithmetic.multiply,
    "or": or_,
    "pow": exponents.pow,
    "sub": arithmetic.subtract,
    "truediv": division.truediv,
    "xor": xor,
}
# Operators call the op's entry directly if the function only passes its operands on.
_ENTRIES: dict[str, Callable[[Any, Any], Any]] = {
    "floordiv": division.FLOOR_DIV.entry,
    "mod": division.FLOOR_MOD.entry,
    "mul": arithmetic.MUL.entry,
    "pow": exponents.POW.entry,
    "sub": arithmetic.SUB.entry,
}
_OTHERS: dict[str, Callable[..., Any]] = {
    "abs": polar.abs,
    "eq": _equal,
    "ge": comparison.greater_equal,
    "getitem": slicing.getitem,
    "gt": comparison.greater,
    "invert": invert,
    "le": comparison.less_equal,
    "lt": comparison.less,
    # For two tensors, the check for composite operands would take a tenth of a small product's
    # time.
    "matmul": _giving_way("matmul", inspect.unwrap(products.matmul)),
    "ne": _not_equal,
    "neg": arithmetic.negative,
    "pos": _positive,
    "rmatmul": _reflected(products.matmul),
}

for _name, _function in _BINARY.items():
    _asked = (_ENTRIES[_name], _function) if _name in _ENTRIES else (_function,)
    setattr(Operands, f"__{_name}__", _giving_way(_name, *_asked))
    setattr(Operands, f"__r{_name}__", _reflected(_asked[0]))
for _name, _function in _OTHERS.items():
    setattr(Operands, f"__{_name}__", _function)
SymbolicTensor.__iter__ = _rows  # type: ignore[method-assign,assignment]
