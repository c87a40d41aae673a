"""Programs and copies with strided values as rows of a network's table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pinnace.engine.networks.layers import Reach, Spread


def spread_row(spread: Spread) -> dict[str, int]:
    """The loops of a layer."""
    images, rows, columns, width = spread.sizes
    return {"IMAGES": images, "ROWS_": rows, "COLUMNS": columns, "WIDTH": width}


def copied_row(spread: Spread) -> dict[str, int]:
    """The columns of a copy, without addresses."""
    (source,) = spread.reaches.values()
    return spread_row(spread) | _steps("X", source) | _steps("Y", spread.out)


def _steps(name: str, reach: Reach) -> dict[str, int]:
    return {f"{name}_IMAGE": reach.image, f"{name}_ROW": reach.row, f"{name}_STEP": reach.step}
