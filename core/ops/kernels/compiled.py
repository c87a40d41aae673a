"""Machine code in place of a kernel's NumPy, where it has been made.

It lies in the library of the installation, and is used from the first call on. Where there is no
library for this machine, the engine makes it (`engine.codegen`), in a thread of its own and once
per machine: nothing is asked for then before the work it is for has cost as much time as a plan
must have to be compiled, so that short programs never load the compiler.
"""

from __future__ import annotations

import os
import threading
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

from pinnace import late
from pinnace.framework import config
from pinnace.framework.context import state

if TYPE_CHECKING:
    from collections.abc import Callable

# Seconds spent in kernels that machine code would do, after which it is asked for.
_HOT_S = 0.25
# Seconds to wait for one kernel at most, where it is waited for.
_LONGEST_S = 120.0


class Requested(Protocol):
    """A function that is perhaps being made."""

    @property
    def done(self) -> threading.Event:
        """Set when no more is being made."""

    @property
    def function(self) -> Callable[..., Any] | None:
        """None until it is there."""


_requested: dict[str, Requested] = {}
# Those that no library has.
_absent: set[str] = set()
_spent = 0.0


def made(name: str) -> Callable[..., Any] | None:
    """The kernel, if it is there and settings allow it; made once that would pay.

    Where the tier is `compiled`, or a function is to be, it is asked for at once and waited for.
    """
    forced = config.settings.tier == "compiled"
    if not config.settings.fusion or config.settings.pinned_tier in {"plan", "eager"}:
        return None
    kernel = _requested.get(name)
    if kernel is None:
        makes = _spent >= _HOT_S or forced or state.compiles
        if name in _absent and not makes:
            return None
        kernel = late.request_kernel(name, makes=makes)
        if kernel is None:
            _absent.add(name)
            return None
        _requested[name] = kernel
    if kernel.function is None and (forced or state.compiles):
        kernel.done.wait(_LONGEST_S)
    return kernel.function


def _forget() -> None:
    """After a fork: what had been asked for and was not made is asked for anew."""
    for name in [name for name, kernel in _requested.items() if kernel.function is None]:
        del _requested[name]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


class _Watch:
    """What is done inside is what machine code would do: its time counts towards making it."""

    def __init__(self) -> None:
        self._local = threading.local()

    def __enter__(self) -> None:
        self._local.began = perf_counter()

    def __exit__(self, *raised: object) -> None:
        global _spent
        _spent += perf_counter() - self._local.began


watched = _Watch()
