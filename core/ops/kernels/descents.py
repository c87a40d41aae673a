"""Optimizer steps in one pass of machine code, for contiguous float32 arrays.

A variable and its slots are updated in place if nobody else holds their values, which is nearly
always so. Otherwise the new value gets new memory, to which the old one is copied piece by piece
just before it is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.ops.kernels import compiled, recycling, team, weights

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.storage import Resource
    from pinnace.ops.kernels.precision import Array

# Numbers below which NumPy is faster than calling the kernel; from which waking a thread pays off;
# and that are copied at once, so that they are still in the cache for the kernel.
_FEWEST, _SHARED, _COPIED = 1 << 5, 1 << 18, 1 << 14


def step(name: str, resources: Sequence[Resource], grad: Array, numbers: Sequence[Any]) -> bool:
    """Replace the values of a variable and its slots; False where NumPy must do it.

    Args:
        name: name of a kernel of `engine/codegen/descents.py`.
        resources: the variable, and its slots.
        grad: the gradient.
        numbers: the scalars of the rule.
    """
    shape = grad.shape
    if grad.size < _FEWEST or not _fits(grad, shape):
        return False
    for one in resources:
        if not _fits(one.read(), shape):
            return False
    kernel = compiled.made(name)
    if kernel is None:
        return False
    taken = [one.take(recycling.is_alone) for one in resources]
    results = [old for old, _ in taken]
    try:
        results = _replaced(kernel, taken, grad, [_number(one) for one in numbers])
    finally:
        for resource, value in zip(resources, results, strict=True):
            resource.give_back(value)
    return True


def _fits(array: Array, shape: tuple[int, ...]) -> bool:
    return array.shape == shape and array.dtype == np.float32 and array.flags.c_contiguous


def _number(number: Any) -> np.float32:
    return number if type(number) is np.float32 else np.float32(number)


def _replaced(
    kernel: Callable[..., Any],
    taken: Sequence[tuple[Array, bool]],
    grad: Array,
    scalars: Sequence[np.float32],
) -> list[Array]:
    """The new values, written over the old ones if possible."""
    made, copied = [], []
    for old, is_alone in taken:
        if is_alone:
            weights.forget(old)
            made.append(old)
        else:
            made.append(recycling.empty(old.shape, np.float32))
            copied.append((made[-1].reshape(-1), old.reshape(-1)))
    flat = [one.reshape(-1) for one in (*made, grad)]
    size = grad.size
    if size < _SHARED and not copied:
        kernel(0, size, *flat, *scalars)
        return made
    pieces = team.members() if size >= _SHARED else 1
    length = -(-size // (16 * pieces)) * 16
    most = _COPIED if copied else length

    def work(piece: int) -> None:
        end = min(size, (piece + 1) * length)
        for start in range(piece * length, end, most):
            stop = min(end, start + most)
            for new, old in copied:
                new[start:stop] = old[start:stop]
            kernel(start, stop, *flat, *scalars)

    team.share(pieces, work)
    return made
