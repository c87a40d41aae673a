"""The additional columns of a convolution of volumes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.engine.networks import fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.engine.networks.layers import Depth


# The columns of `Depth`.
_COLUMNS = ("TAPS_DEEP", "DEEP", "GAP_DEEP", "FRONT", "X_SLICES", "SLICES")


def depth_columns(depth: Depth | None) -> dict[str, int]:
    """The windows along the axis of slices; None: each image is a complete window."""
    return dict(zip(_COLUMNS, depth or (1, 1, 1, 0, 1, 1), strict=True))


def volume_columns(depth: Depth, row: Mapping[str, int]) -> dict[str, int]:
    """The columns that differ from those of a convolution of one slice.

    Args:
        depth: the windows along the axis of slices.
        row: of a convolution of one slice, split for the work of all slices.
    """
    cuts, pieces = row["CUTS"], row["PIECES"]
    # Every slice of the result is one piece, or several.
    by_windows = -(-pieces // (cuts * depth.made))
    return {
        **depth_columns(depth),
        "SECTIONS": row["SECTIONS"] * depth.taps,
        "TERMS": row["TERMS"] * depth.taps,
        "SECTION_DEEP": depth.gap * row["X_IMAGE"],
        "PIECES": cuts * by_windows * depth.made,
    }


# Additional int64 numbers per thread: a row of the table.
SCRATCH = len(fields.NAMES)
