"""The peak rates of this machine, measured once per process."""

from __future__ import annotations

import functools
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

# The side of the matrices, and the bytes that are copied: more than caches hold.
_SIDE, _COPIED = 1024, 1 << 26
_ROUNDS = 5


class Peak(NamedTuple):
    """The peak rates of the machine.

    Attributes:
        flops: float32 operations a second, in a product of matrices by BLAS on all its threads.
        bytes: memory bandwidth per second, in a copy by one thread.
    """

    flops: float
    bytes: float

    def least_s(self, flops: int | None, moved: int) -> float:
        """The minimal time in seconds for computing or moving this much, whichever is longer."""
        return max((flops or 0) / self.flops, moved / self.bytes)

    @property
    def text(self) -> str:
        """Both rates as text."""
        return (
            f"{self.flops / 1e9:.0f} GFLOP/s (float32 product of {_SIDE} x {_SIDE} by BLAS), "
            f"{self.bytes / 1e9:.1f} GB/s (copy), measured on this machine"
        )


@functools.cache
def peak() -> Peak:
    """The peak rates, measured on first use in about 0.2 s."""
    a = np.full((_SIDE, _SIDE), 0.5, np.float32)
    b, c = a.copy(), np.empty_like(a)
    source = np.ones(_COPIED // 8)
    target = np.empty_like(source)
    product_s = _least(lambda: np.matmul(a, b, out=c))
    copy_s = _least(lambda: np.copyto(target, source))
    return Peak(2 * _SIDE**3 / product_s, 2 * _COPIED / copy_s)


def _least(work: Callable[[], object]) -> float:
    work()
    times = []
    for _ in range(_ROUNDS):
        begun = perf_counter()
        work()
        times.append(perf_counter() - begun)
    return min(times)
