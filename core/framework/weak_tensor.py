"""Weak tensors: their dtype was inferred of Python's numbers, and gives way to that of others.

Weakness is a class, and not a field: tensors are made a million times a second, and only
`experimental.numpy.experimental_enable_numpy_behavior` makes weak ones. What is not asked about
weakness takes them as the tensors they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.tensor import SymbolicTensor, Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["WeakSymbolicTensor", "WeakTensor", "is_weak", "weakened"]

# The dtypes that Python's numbers have, and become among each other.
_WEAK = frozenset({dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64, dtypes.complex128})


class WeakTensor(Tensor):
    """A tensor whose dtype gives way to that of other tensors."""

    __slots__ = ()

    def __hash__(self) -> int:
        return super().__hash__()

    def __iter__(self) -> Iterator[Tensor]:
        return map(weakened, super().__iter__())

    def __format__(self, spec: str) -> str:
        return f"{super().__format__(spec)} weakly typed"

    def __repr__(self) -> str:
        return _marked(super().__repr__())

    def __str__(self) -> str:
        return _marked(super().__str__())


class WeakSymbolicTensor(SymbolicTensor):
    """A tensor that a graph will compute, whose dtype gives way to that of other tensors."""

    __slots__ = ()

    def __hash__(self) -> int:
        return super().__hash__()

    def __repr__(self) -> str:
        return _marked(super().__repr__())

    def __str__(self) -> str:
        return _marked(super().__str__())


def is_weak(x: object) -> bool:
    """Whether `x` is a weak tensor."""
    return isinstance(x, (WeakTensor, WeakSymbolicTensor))


def weakened(x: Any) -> Any:
    """A tensor that nobody else holds yet, as a weak one: the object itself changes its class.

    So a tape that recorded it knows it still. What no number of Python's becomes stays as it is.
    """
    if type(x) is Tensor and x.dtype in _WEAK:
        x.__class__ = WeakTensor
    elif type(x) is SymbolicTensor and x.dtype in _WEAK:
        x.__class__ = WeakSymbolicTensor
    return x


def _marked(text: str) -> str:
    return f"{text[:-1]}, weak=True{text[-1]}"
