"""Compiled code that replaces a kernel's NumPy code, if the installation has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace import late
from pinnace.framework import config

if TYPE_CHECKING:
    from collections.abc import Callable


def made(name: str) -> Callable[..., Any] | None:
    """The kernel, if it exists for this machine and the settings allow it."""
    if not config.settings.fusion or config.settings.pinned_tier in {"plan", "eager"}:
        return None
    return late.find_kernel(name)
