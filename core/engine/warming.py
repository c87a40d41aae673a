"""Machine code made ahead of its use, so that a later process finds it in the cache folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pinnace.engine.build import plan_of
from pinnace.engine.codegen import compiler, general, kept
from pinnace.engine.waiting import is_kept, is_tried
from pinnace.framework.context import compiling
from pinnace.framework.errors import FailedPreconditionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pinnace.graph.graph import Graph

# Calls after which a function is as compiled as it gets: trials and contests, the latter twice.
_MOST_CALLS = 96


class Warmed(NamedTuple):
    """A kernel that is ready for later processes.

    Attributes:
        name: of a general kernel; "model" for one of a plan's own.
        is_new: whether it was compiled now; it lay in the cache folder otherwise.
        seconds: to compile or to load it.
        bytes: of its machine code on disk.
        error: what Numba said if it refused it.
    """

    name: str
    is_new: bool
    seconds: float
    bytes: int
    error: str | None


def check() -> None:
    """See to it that machine code can be made and kept.

    Raises:
        FailedPreconditionError: Numba is missing, or the cache folder cannot be written to.
    """
    why = compiler.missing()
    if why is not None:
        raise FailedPreconditionError(f"nothing can be compiled: {why}\n  Try: pip install numba")
    folder: Path | None = kept.refused()
    if folder is not None:
        where = f"in {folder}" if folder.parts else "anywhere: PINNACE_CACHE is empty"
        raise FailedPreconditionError(
            f"machine code cannot be kept {where}; the folder must be the user's own, and writable "
            "by nobody else\n  Try: PINNACE_CACHE=FOLDER"
        )


def general_names() -> list[str]:
    """The kernels that are the same for every program."""
    return list(general.every())


def make_general(name: str) -> None:
    """Ask for one of those, and wait until it is made."""
    is_tried(compiler.request(general.text(name)), wait=True)


def settle(graph: Graph, run: Callable[[], object]) -> Iterator[int]:
    """Call a function until its plan is as compiled as it gets, each kernel being waited for.

    Args:
        graph: that it runs.
        run: calls it, with the same shapes each time.

    Yields:
        How many calls there were so far.
    """
    for number in range(1, _MOST_CALLS + 1):
        with compiling(True):
            run()
        yield number
        if plan_of(graph).tiers.is_settled():
            return


def report() -> list[Warmed]:
    """What was made or loaded in this process; what is being made or kept is waited for."""
    names = {text: name for name, text in general.every().items()}
    return [
        Warmed(
            names.get(kernel.text, "model"),
            kernel.is_new,
            kernel.seconds,
            kernel.bytes,
            compiler.errors.get(kernel.text),
        )
        for kernel in compiler.requested()
        if is_tried(kernel, wait=True) and is_kept(kernel)
    ]


def texts() -> list[str]:
    """The texts of all kernels that were asked for in this process, and not refused by Numba."""
    return [
        kernel.text
        for kernel in compiler.requested()
        if is_tried(kernel, wait=True) and kernel.text not in compiler.errors
    ]
