"""Registers the precompiled kernels that are stored with a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.engine.ahead import reading
from pinnace.engine.codegen import compiler

if TYPE_CHECKING:
    from pathlib import Path


def offer(model: Path) -> None:
    """Make this process use the kernels stored with a model, if they can be trusted.

    Args:
        model: its original folder, not a copy.
    """
    if reading.load(model):
        compiler.adopt()
