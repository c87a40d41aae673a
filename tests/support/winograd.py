"""Winograd's tiles for convolutions that are too small to profit from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.ops.kernels import winograd

if TYPE_CHECKING:
    import pytest


def every_small_convolution_by_tiles(patch: pytest.MonkeyPatch) -> None:
    """Compute every convolution with 3×3 windows and stride 1 by tiles."""
    for name in ("_CHANNELS", "_OUTPUTS", "_WORTH_TRANSFORMING"):
        patch.setattr(winograd, name, 1)
    patch.setattr(winograd, "_MOST_RESULTS", 4.0)
