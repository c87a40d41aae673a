"""Machine code that replaces a kernel's NumPy code, if it is available.

It is in the installed library, and used from the first call on. Without a library for this machine,
the engine compiles it (`engine.codegen`), in the background and once per machine: it is
requested only after its work has taken as much time as a plan needs to be compiled, so that short
programs never import the compiler.
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

# Seconds spent in kernels with machine code, after which it is requested.
_HOT_S = 0.25
# Seconds to wait for one kernel at most, where it is waited for.
_LONGEST_S = 120.0


class Requested(Protocol):
    """A function that is perhaps being made."""

    @property
    def done(self) -> threading.Event:
        """Set when nothing is being compiled any more."""

    @property
    def function(self) -> Callable[..., Any] | None:
        """None until it is compiled."""


_requested: dict[str, Requested] = {}
# Those that no library has.
_absent: set[str] = set()
_spent = 0.0


def made(name: str) -> Callable[..., Any] | None:
    """The kernel, if it is there and settings allow it; made once that would pay.

    In the tier `compiled`, or inside `jit_compile`, it is requested at once and waited for.
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
    """After a fork: pending requests are made again."""
    for name in [name for name, kernel in _requested.items() if kernel.function is None]:
        del _requested[name]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


class _Watch:
    """The time inside counts towards requesting machine code."""

    def __init__(self) -> None:
        self._local = threading.local()

    def __enter__(self) -> None:
        self._local.began = perf_counter()

    def __exit__(self, *raised: object) -> None:
        global _spent
        _spent += perf_counter() - self._local.began


watched = _Watch()
