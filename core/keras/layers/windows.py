"""Common parts of layers with windows: sizes per axis, layouts, paddings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

Sizes: TypeAlias = int | Sequence[int]
_LETTERS = {1: "W", 2: "HW", 3: "DHW"}


def per_axis(who: str, name: str, value: Any, rank: int, least: int = 1) -> tuple[int, ...]:
    """A size per spatial axis: one for all, or one each.

    Raises:
        ValueError: wrong number of sizes, or one below `least`.
    """
    sizes = (value,) * rank if isinstance(value, int) else tuple(value)
    if len(sizes) != rank or any(not isinstance(n, int) or n < least for n in sizes):
        wrong = {n for n in sizes if not isinstance(n, int) or n < least}
        values = f", including values {wrong} that do not satisfy `value > {least - 1}`"
        raise ValueError(
            f"{who}: The `{name}` argument must be a tuple of {rank} integers. Received "
            f"{name}={value!r}{values if wrong else ''}"
            f"\n  Try: an integer of at least {least}, or {rank} of them"
        )
    return sizes


def checked_padding(who: str, padding: Any, allowed: Sequence[str] = ("valid", "same")) -> str:
    """`padding` in lower case.

    Raises:
        ValueError: the padding is none of `allowed`.
    """
    found = str(padding).lower()
    if found not in allowed:
        raise ValueError(f"{who}: padding must be {' or '.join(allowed)}, got {padding!r}")
    return found


def op_format(data_format: str, rank: int) -> str:
    """The ops' name of a data format: NHWC, NCW, …."""
    letters = _LETTERS[rank]
    return f"N{letters}C" if data_format == "channels_last" else f"NC{letters}"


def channel_axis(data_format: str) -> int:
    """The axis of the channels."""
    return -1 if data_format == "channels_last" else 1


def on_all_axes(sizes: Sequence[int], data_format: str) -> list[int]:
    """Sizes of the spatial axes, 1 for batch and channels."""
    return [1, *sizes, 1] if data_format == "channels_last" else [1, 1, *sizes]
