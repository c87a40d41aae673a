"""Compilation ahead of use, so that later processes find machine code in the cache folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pinnace.engine.build import plan_of
from pinnace.engine.codegen import compiler, general, kept
from pinnace.engine.waiting import is_tried
from pinnace.framework.context import compiling
from pinnace.framework.errors import FailedPreconditionError
from pinnace.framework.extras import install_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pinnace.graph.graph import Graph

# Calls after which a function is fully compiled: trials.
_MOST_CALLS = 16


class Warmed(NamedTuple):
    """A kernel that is ready for later processes.

    Attributes:
        name: of a general kernel; "model" for a kernel of a plan.
        is_new: whether it was compiled now; otherwise it was in the cache folder.
        seconds: to compile or to load it.
        bytes: of its machine code on disk.
        error: Numba's message if it refused it.
    """

    name: str
    is_new: bool
    seconds: float
    bytes: int
    error: str | None


def check() -> None:
    """Check that machine code can be compiled and stored.

    Raises:
        FailedPreconditionError: Numba is missing, or the cache folder cannot be written to.
    """
    why = compiler.missing()
    if why is not None:
        raise FailedPreconditionError(
            f"nothing can be compiled: {why}\n  Try: {install_command('compiler')}"
        )
    folder: Path | None = kept.refused()
    if folder is not None:
        where = f"in {folder}" if folder.parts else "anywhere: PINNACE_CACHE is empty"
        raise FailedPreconditionError(
            f"machine code cannot be kept {where}; the folder must be the user's own, and writable "
            "by nobody else\n  Try: PINNACE_CACHE=FOLDER"
        )


def general_names() -> list[str]:
    """Names of the kernels that are the same for every program."""
    return list(general.every())


def make_general(name: str) -> None:
    """Request one of those, and wait until it is compiled."""
    is_tried(compiler.request(general.text(name)), wait=True)


def settle(graph: Graph, run: Callable[[], object]) -> Iterator[int]:
    """Call a function until its plan is fully compiled, waiting for each kernel.

    Args:
        graph: that it runs.
        run: calls it, with the same shapes each time.

    Yields:
        The number of calls.
    """
    for number in range(1, _MOST_CALLS + 1):
        with compiling(True):
            run()
        yield number
        if plan_of(graph).tiers.is_settled():
            return


def report() -> list[Warmed]:
    """What was compiled or loaded in this process, after waiting for pending kernels."""
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
        if is_tried(kernel, wait=True)
    ]


def texts() -> list[str]:
    """The sources of all kernels requested in this process that Numba accepted."""
    return [
        kernel.text
        for kernel in compiler.requested()
        if is_tried(kernel, wait=True) and kernel.text not in compiler.errors
    ]
