"""Sizes that many networks compute: padding before a stride of 2, rounded numbers of channels."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pinnace.keras.symbolic import KerasTensor

# Rows above and below, columns left and right.
Padding = tuple[tuple[int, int], tuple[int, int]]


def padding_before(x: KerasTensor, kernel_size: int) -> Padding:
    """x padded so that a convolution with stride 2 and padding `valid` halves its size.

    Args:
        x: [batch, height, width, channels]; sizes that are not known count as odd.
        kernel_size: odd.

    Returns:
        Rows above and below, columns left and right: as ZeroPadding2D takes them.
    """
    half = kernel_size // 2
    before = [half - (1 if x.shape[1] is None else 1 - (x.shape[axis] or 0) % 2) for axis in (1, 2)]
    return (before[0], half), (before[1], half)


def multiple_near(channels: float, divisor: int = 8) -> int:
    """A number of channels rounded to a multiple of `divisor`, to at least 0.9 of the number."""
    found = max(divisor, int(channels + divisor / 2) // divisor * divisor)
    return found + divisor if found < 0.9 * channels else found
