"""Steps of optimizers in one pass, by machine code, for float32 arrays that lie in one piece."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.ops.kernels import compiled, recycling, team

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.ops.kernels.precision import Array

# Numbers below which NumPy's passes take less than to enter the kernel; those that a thread is
# worth waking for.
_FEWEST, _SHARED = 1 << 10, 1 << 18


def step(name: str, arrays: Sequence[Array], numbers: Sequence[Any]) -> list[Array] | None:
    """The new values of a variable and its slots; None where NumPy must make them.

    Args:
        name: of a kernel of `engine/codegen/descents.py`.
        arrays: the variable's value, its slots', and the gradient.
        numbers: the scalars of the rule.
    """
    value = arrays[0]
    if value.size < _FEWEST or not all(
        one.dtype == np.float32 and one.shape == value.shape and one.flags.c_contiguous
        for one in arrays
    ):
        return None
    kernel = compiled.made(name)
    if kernel is None:
        return None
    made = [recycling.empty(value.shape, np.float32) for _ in arrays[1:]]
    flat = [one.reshape(-1) for one in (*arrays, *made)]
    scalars = [np.float32(number) for number in numbers]
    size = value.size
    pieces = team.members() if size >= _SHARED else 1
    length = -(-size // (16 * pieces)) * 16

    def work(piece: int) -> None:
        kernel(piece * length, min(size, (piece + 1) * length), *flat, *scalars)

    team.share(pieces, work)
    return made
