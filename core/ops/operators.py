"""The operators of tensors and variables: `x + y` is `add(x, y)`.

The functions are bound here, all of them, to the class that declares them. Methods that call them
would take a tenth of the time of a small sum, so each is the function itself, or one that differs
from it only in what it does with an error.
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
    """Whether both are true, of bools; the bits that both have, of integers."""
    x, y = arithmetic.as_pair(x, y)
    return logic.logical_and(x, y) if x.dtype.is_bool else bits.bitwise_and(x, y)


@takes_composites(values=2)
def or_(x: TensorLike, y: TensorLike) -> Tensor:
    """Whether one is true, of bools; the bits that one has, of integers."""
    x, y = arithmetic.as_pair(x, y)
    return logic.logical_or(x, y) if x.dtype.is_bool else bits.bitwise_or(x, y)


@takes_composites(values=2)
def xor(x: TensorLike, y: TensorLike) -> Tensor:
    """Whether just one is true, of bools; the bits that just one has, of integers."""
    x, y = arithmetic.as_pair(x, y)
    return logic.logical_xor(x, y) if x.dtype.is_bool else bits.bitwise_xor(x, y)


@takes_composites(values=1)
def invert(x: TensorLike) -> Tensor:
    """The other truth, of bools; the other bits, of integers."""
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
    """The function of y and x: what y's operator does with x in front of it."""

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
    """An operator; if it cannot take y, then what y's class itself makes of `x operator y`.

    Args:
        name: of the operator, without underscores.
        entry: what tensors are given to.
        function: the public function, if that is another: it is asked too, for programs may have
            said what it does with their types (`dispatch_for_api`).

    Source:
        TensorFlow (math_ops.py): an operator that cannot convert y asks y's reflected one.
    """
    reflected = f"__r{name}__"
    # TensorFlow: run at once, these two take a variable of another dtype for an operand of theirs.
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


# No program says what functions do with these.
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
# Where a function only passes its operands on to the op's entry, operators call that.
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
    # x @ y of tensors alone: to look for composites takes a tenth of the time of a small product.
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
