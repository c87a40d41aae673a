"""`@takes_composites`: rules for ragged or sparse arguments of functions of tensors.

An elementwise op needs no declaration: `execute` applies it to the values. A function that inspects
its arguments before it runs an op, or for which rows matter, declares here what it does.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

from pinnace import late
from pinnace.framework import tracebacks
from pinnace.framework.composite import CompositeTensor
from pinnace.framework.tensor import Tensor
from pinnace.framework.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Callable

    F = TypeVar("F", bound=Callable[..., Any])


# The function itself handles composite arguments.
ITSELF = "itself"


class Composites(NamedTuple):
    """A function's rule for composite arguments; see `takes_composites`."""

    ragged: str
    sparse: str
    values: int
    keeps_zero: bool


def takes_composites(
    *, ragged: str = "", sparse: str = "", values: int = 0, keeps_zero: bool = False
) -> Callable[[F], F]:
    """A decorator: the function looks for composite arguments first.

    Args:
        ragged: "module:function" of `ops.composites.ragged` that takes the same arguments, called
            if one of them is ragged.
        sparse: likewise of `ops.composites.sparse`, if one is sparse and none ragged; or `ITSELF`.
        values: instead of `ragged`: so many leading arguments are taken element by element, so that
            the function of their values is meant.
        keeps_zero: the function maps 0 to 0, so that one of the values of a sparse tensor is meant.
    """
    composites = Composites(ragged, sparse, values, keeps_zero)

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def taking(*args: Any, **kwargs: Any) -> Any:
            try:
                for x in args:
                    if type(x) in _WHOLE:
                        continue
                    if isinstance(x, CompositeTensor) or (
                        type(x) in _LISTS and any(isinstance(y, CompositeTensor) for y in x)
                    ):
                        return late.call_on_composites(function, composites, args, kwargs)
                for x in kwargs.values():
                    if isinstance(x, CompositeTensor) or (
                        type(x) in _LISTS and any(isinstance(y, CompositeTensor) for y in x)
                    ):
                        return late.call_on_composites(function, composites, args, kwargs)
                return function(*args, **kwargs)
            except Exception as error:
                tracebacks.cut(error)
                raise

        return taking  # type: ignore[return-value] # of the same parameters

    return decorate


_LISTS = frozenset({list, tuple})
# Types of the usual arguments, which are known not to be composite.
_WHOLE = frozenset({Tensor, Variable, float, int, type(None)})


def refuse(name: str, kind: str) -> NoReturn:
    """Raise an error: an op or function does not accept composite values.

    Raises:
        ValueError: always.
    """
    if kind == "sparse":
        remedy = "sparse.to_dense(x), sparse.map_values(function, x), or a function of `sparse`"
        what = "a SparseTensor"
    else:
        remedy = "x.to_tensor(), or ragged.map_flat_values(function, x)"
        what = "a RaggedTensor"
    raise ValueError(f"{name} does not take {what}\n  Try: {remedy}")
