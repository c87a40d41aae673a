"""The job of this process: several processes that train one model together, or one alone.

`distribute/processes.py` sets it when a strategy over several processes is created. Code that
writes files checks it: the first process, the chief, writes for all.
"""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator


class ProcessGroup(Protocol):
    """Processes that do the same steps in the same order."""

    rank: int
    size: int

    def meet(self, what: str, *, or_gone: bool = False) -> None:
        """Wait until all processes have arrived for the same reason.

        With `or_gone`, processes that have ended are not waited for.
        """
        ...

    def agreed(self, value: Any, what: str) -> Any:
        """The chief's value, on every process."""
        ...

    def any(self, flag: bool, what: str) -> bool:
        """Whether the flag is set in any of the processes."""
        ...


class _Present:
    """The job of this process, if any, and the nesting depth of `chief_writes` blocks."""

    job: ProcessGroup | None = None
    depth = 0


_present = _Present()


def enter(job: ProcessGroup) -> None:
    """Declare that this process belongs to a job."""
    _present.job = job


def current() -> ProcessGroup | None:
    """The job of this process; None if it runs alone."""
    return _present.job


def is_chief() -> bool:
    """Whether this process writes files: it runs alone, or is the first one of its job."""
    return _present.job is None or _present.job.rank == 0


def agreed(value: Any, what: str) -> Any:
    """The chief's value; the argument itself if the process is alone.

    Args:
        value: this process's value; any that can be pickled.
        what: for messages: "the seed of a shuffle".
    """
    return value if _present.job is None else _present.job.agreed(value, what)


def any_of(flag: bool, what: str) -> bool:
    """Whether a flag is set in any process of the job.

    Args:
        flag: the flag of this process.
        what: name in messages.
    """
    return flag if _present.job is None else _present.job.any(flag, what)


@contextlib.contextmanager
def chief_writes(what: str) -> Iterator[bool]:
    """A block in which the chief writes files; all processes leave it when they are written.

    Args:
        what: for messages: "saving 'model.keras'".

    Yields:
        Whether this process writes.

    Raises:
        FailedPreconditionError: the other processes do something else meanwhile.
    """
    job = _present.job
    _present.depth += 1
    try:
        yield is_chief()
    finally:
        _present.depth -= 1
    if job is not None and not _present.depth:
        # At the end of a program the chief may go on alone: the other processes may be gone.
        job.meet(what, or_gone=job.rank == 0)


@contextlib.contextmanager
def chief_path(what: str, path: str) -> Iterator[str]:
    """A block in which all processes write a file, but only the chief's is kept.

    For values that need communication between all processes.

    Args:
        what: name in messages.
        path: the path that the chief writes to.

    Yields:
        Where this process writes: the others into a folder that goes away.
    """
    with chief_writes(what) as writes:
        if writes:
            yield path
            return
        with tempfile.TemporaryDirectory(prefix="pinnace-") as folder:
            yield str(Path(folder, Path(path).name))
