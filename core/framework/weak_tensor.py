"""Weak tensors: their dtype was inferred from Python numbers, and yields to other dtypes.

Weakness is a class, not a field: tensors are created a million times a second, and only
`experimental.numpy.experimental_enable_numpy_behavior` creates weak ones. Code that ignores
weakness treats them as ordinary tensors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.tensor import SymbolicTensor, Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["WeakSymbolicTensor", "WeakTensor", "is_weak", "weakened"]

# The dtypes of Python numbers, and their promotion.
_WEAK = frozenset({dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64, dtypes.complex128})


class WeakTensor(Tensor):
    """A tensor whose dtype yields to those of other tensors."""

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
    """A symbolic tensor whose dtype yields to those of other tensors."""

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
    """Make a tensor without other references weak: the object itself changes its class.

    So a tape that recorded it still recognises it. A dtype without a counterpart among Python's
    numbers is unchanged.
    """
    if type(x) is Tensor and x.dtype in _WEAK:
        x.__class__ = WeakTensor
    elif type(x) is SymbolicTensor and x.dtype in _WEAK:
        x.__class__ = WeakSymbolicTensor
    return x


def _marked(text: str) -> str:
    return f"{text[:-1]}, weak=True{text[-1]}"
