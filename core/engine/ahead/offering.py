"""What a model brings with it: kernels that were compiled ahead, for those who ask for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.engine.ahead import reading
from pinnace.engine.codegen import compiler

if TYPE_CHECKING:
    from pathlib import Path


def offer(model: Path) -> None:
    """Let this process use the kernels beside a model, if there are any that can be trusted.

    Args:
        model: its own folder, not a copy of it.
    """
    if reading.load(model):
        compiler.adopt()
