"""Whether requested machine code is there, waited for where a tier wants it before the call."""

from __future__ import annotations

from typing import Protocol

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


def is_tried(kernel: Requested, *, wait: bool) -> bool:
    """Whether the compiler is through with a kernel: then its function is there, or never will be.

    Args:
        kernel: what was requested.
        wait: do not answer before.
    """
    if wait:
        return kernel.done.wait(_LONGEST_S)
    return kernel.done.is_set()
