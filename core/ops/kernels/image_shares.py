"""Images of a batch, shared among threads that run compiled code."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.ops.kernels import pieces, team
from pinnace.ops.kernels.addresses import address_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.ops.kernels.precision import Array

# Numbers from which waking threads pays off; the same if calls are dispatched without Python, and
# pieces per thread there: a late thread finds others done.
_SHARED, _OFFERED = 1 << 18, 1 << 17
_PIECES = 2


def share_images(count: int, size: int, work: Callable[[int, int], object]) -> None:
    """work(start, stop) for all images, by several threads if they are large.

    Args:
        count: number of images.
        size: numbers of all of them.
        work: makes the images from `start` to `stop`.
    """
    pieces = min(count, team.members()) if size >= _SHARED else 1
    step = max(1, -(-count // pieces))

    def part(piece: int) -> None:
        work(piece * step, min(count, (piece + 1) * step))

    team.share(max(1, -(-count // step)), part)


def share_calls(
    kernel: Callable[..., Any], count: int, size: int, arguments: tuple[Array | int, ...]
) -> None:
    """kernel(start, stop, *arguments) for all images, by several threads if they are large.

    Args:
        kernel: machine code that makes the images from `start` to `stop`.
        count: number of images.
        size: numbers of all of them.
        arguments: arrays, C-contiguous, and numbers.
    """
    threads = min(count, team.size()) if size >= _OFFERED else 1
    if threads < 2:
        kernel(0, count, *arguments)
    elif not pieces.can_offer(kernel):
        share_images(count, size, lambda start, stop: kernel(start, stop, *arguments))
    else:
        given = tuple(
            [one if isinstance(one, int) else (one.shape, one.dtype) for one in arguments]
        )
        job, indices = _calls(kernel, count, threads, given)
        addresses = [address_of(one) for one in arguments if not isinstance(one, int)]
        job.run(zip(indices, addresses, strict=True), wakes=size >= _SHARED)


@functools.lru_cache(maxsize=256)
def _calls(
    kernel: Callable[..., Any],
    count: int,
    threads: int,
    given: tuple[tuple[tuple[int, ...], np.dtype[Any]] | int, ...],
) -> tuple[pieces.Job, list[int]]:
    """The calls for all images, and the indices in them of arrays' addresses.

    Args:
        kernel: the machine code.
        count: number of images.
        threads: number of threads, at most.
        given: the shape and dtype of each array, and each number.
    """
    arguments = [one if isinstance(one, int) else np.empty(*one) for one in given]
    call, at = pieces.call_of(kernel, (0, count, *arguments))
    step = -(-count // (threads * _PIECES))
    changes = [
        pieces.Change(False, at[0], step=step),
        pieces.Change(False, at[1], step, step, most=count),
    ]
    job = pieces.Job(call, -(-count // step), changes, threads)
    indices = [
        job.of_call(at[2 + n]) for n, one in enumerate(arguments) if isinstance(one, np.ndarray)
    ]
    return job, indices


def readable(*arrays: Array) -> bool:
    """Whether compiled code can read these arrays in place."""
    return all(a.dtype == np.float32 and a.flags.c_contiguous and a.flags.aligned for a in arrays)
