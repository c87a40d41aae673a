"""Small products of two tensors, and small transposes, as rows of the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.engine.networks.layers import Pairs


def pairs_row(pairs: Pairs) -> dict[str, int]:
    """The columns of a product, without addresses; it is done by one thread."""
    images, rows, inner, columns = pairs.sizes
    return {
        "IMAGES": images,
        "ROWS_": rows,
        "LENGTH": inner,
        "COLUMNS": columns,
        "X_IMAGE": rows * inner,
        "X_ROW": pairs.x[0],
        "X_STEP": pairs.x[1],
        "Z_IMAGE": inner * columns,
        "Z_ROW": pairs.z[0],
        "Z_STEP": pairs.z[1],
        "PIECES": 1,
    }


def turned_row(loops: Sequence[tuple[int, int]]) -> dict[str, int]:
    """The columns of a transpose, without addresses; it is done by one thread.

    Args:
        loops: see `Layer.loops`: at most three, and one of contiguous numbers.
    """
    *outer, last = loops
    width = last[0] if last[1] == 1 else 1
    outer = outer if last[1] == 1 else [*outer, last]
    images, rows, columns = [(1, 0)] * (3 - len(outer)) + outer
    return {
        "IMAGES": images[0],
        "ROWS_": rows[0],
        "COLUMNS": columns[0],
        "X_IMAGE": images[1],
        "X_ROW": rows[1],
        "X_STEP": columns[1],
        "Y_IMAGE": rows[0] * columns[0] * width,
        "Y_ROW": columns[0] * width,
        "Y_STEP": width,
        "WIDTH": width,
        "PIECES": 1,
    }
