"""Whether requested machine code is there, waited for where a tier wants it before the call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

# Seconds to wait for one kernel at most: a compiler that was lost in a fork must not be waited for
# for ever. The longest kernels take ten.
_LONGEST_S = 120.0


class Done(Protocol):
    """An event, or several as one."""

    def is_set(self) -> bool:
        """Whether no more is being made."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for that; whether it came."""


class Requested(Protocol):
    """A function that is perhaps being made."""

    @property
    def done(self) -> Done:
        """Where to ask."""

    @property
    def function(self) -> object:
        """The function; None until it is made, and if it cannot be."""


class Kept(Protocol):
    """A function that is perhaps being written to the cache folder."""

    @property
    def kept(self) -> Done:
        """Where to ask."""


class Kernels:
    """Kernels that are needed together, as one."""

    def __init__(self, kernels: Sequence[Requested]) -> None:
        self._kernels = kernels

    @property
    def done(self) -> Kernels:
        """The event that says whether all were tried."""
        return self

    def is_set(self) -> bool:
        """Whether all were tried."""
        return all(kernel.done.is_set() for kernel in self._kernels)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all were tried, for each so many seconds at most; whether they were."""
        return all(kernel.done.wait(timeout) for kernel in self._kernels)

    @property
    def function(self) -> object:
        """True if all are there, else None."""
        return all(kernel.function is not None for kernel in self._kernels) or None


def is_tried(kernel: Requested, *, wait: bool) -> bool:
    """Whether the compiler is through with a kernel: then its function is there, or never will be.

    Args:
        kernel: what was requested.
        wait: do not answer before.
    """
    if wait:
        return kernel.done.wait(_LONGEST_S)
    return kernel.done.is_set()


def is_kept(kernel: Kept) -> bool:
    """Wait until a kernel lies in the cache folder, or is known not to; whether that came."""
    return kernel.kept.wait(_LONGEST_S)
