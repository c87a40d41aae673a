"""Images of a batch shared among threads that run machine code on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.ops.kernels import team

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.ops.kernels.precision import Array

# Numbers from which threads are worth waking.
_SHARED = 1 << 18


def share_images(count: int, size: int, work: Callable[[int, int], object]) -> None:
    """work(start, stop) for all images, by several threads if they are large.

    Args:
        count: of images.
        size: numbers of all of them.
        work: makes the images from `start` to `stop`.
    """
    pieces = min(count, team.members()) if size >= _SHARED else 1
    step = max(1, -(-count // pieces))

    def part(piece: int) -> None:
        work(piece * step, min(count, (piece + 1) * step))

    team.share(max(1, -(-count // step)), part)


def readable(*arrays: Array) -> bool:
    """Whether machine code may read these numbers as they lie."""
    return all(a.dtype == np.float32 and a.flags.c_contiguous and a.flags.aligned for a in arrays)
