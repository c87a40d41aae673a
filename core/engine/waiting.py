"""Whether requested machine code is ready, and waiting for it if the tier requires that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

# Most seconds to wait for one kernel: a compiler thread that a fork has lost would never finish.
# The longest kernels take ten.
_LONGEST_S = 120.0


class Done(Protocol):
    """An event, or several as one."""

    def is_set(self) -> bool:
        """Whether nothing is still being compiled."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for that; whether it happened."""


class Requested(Protocol):
    """A function that may still be compiling."""

    @property
    def done(self) -> Done:
        """The event of its completion."""

    @property
    def function(self) -> object:
        """The function; None until it is compiled, and if it cannot be."""


class Kernels:
    """Kernels that are needed together."""

    def __init__(self, kernels: Sequence[Requested]) -> None:
        self._kernels = kernels

    @property
    def done(self) -> Kernels:
        """Set when the compiler has tried all of them."""
        return self

    def is_set(self) -> bool:
        """Whether the compiler has tried all of them."""
        return all(kernel.done.is_set() for kernel in self._kernels)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all were tried, with a timeout for each; whether they were."""
        return all(kernel.done.wait(timeout) for kernel in self._kernels)

    @property
    def function(self) -> object:
        """True if all are compiled, else None."""
        return all(kernel.function is not None for kernel in self._kernels) or None


def is_tried(kernel: Requested, *, wait: bool) -> bool:
    """Whether the compiler has finished with a kernel, successfully or not.

    Args:
        kernel: what was requested.
        wait: until it has.
    """
    if wait:
        return kernel.done.wait(_LONGEST_S)
    return kernel.done.is_set()
