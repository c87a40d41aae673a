"""Checks of image layers' arguments: ranges of factors and of values."""

from __future__ import annotations

from typing import Any

_Range = tuple[float, float]


def checked_factor(
    who: str, name: str, factor: Any, low: float = -1.0, high: float = 1.0
) -> _Range:
    """A factor as a range: two ends, or from -factor (`low` at least) to factor.

    Raises:
        ValueError: an end is below `low` or above `high`, or there are neither one nor two numbers.
    """
    if isinstance(factor, (tuple, list)):
        if len(factor) == 2 and factor[0] <= high and factor[1] >= low:
            least, most = sorted(factor)
            return least, most
    elif isinstance(factor, (int, float)) and low <= factor <= high:
        return max(-abs(factor), low), abs(factor)
    raise ValueError(
        f"{who}: The `{name}` argument should be a number (or a list of two numbers) in the range "
        f"[{low:g}, {high:g}], got {factor!r}"
    )


def checked_ends(who: str, name: str, factor: Any, low: float, high: float) -> _Range:
    """A factor as a range: two ends, or from -factor to factor, all within `low` and `high`.

    Raises:
        ValueError: otherwise.
    """
    ends = factor if isinstance(factor, (tuple, list)) else (factor, factor)
    if len(ends) != 2 or not all(
        isinstance(end, (int, float)) and low <= end <= high for end in ends
    ):
        raise ValueError(
            f"{who}: The `factor` argument should be a number (or a list of two numbers) in the "
            f"range [{low:g}, {high:g}], got {name}={factor!r}"
        )
    if isinstance(factor, (tuple, list)):
        least, most = sorted(factor)
        return least, most
    return -abs(factor), abs(factor)


def checked_range(who: str, value_range: Any) -> list[float]:
    """The ends of a range of values, the lower one first.

    Raises:
        ValueError: not two numbers.
    """
    if not isinstance(value_range, (tuple, list)) or len(value_range) != 2:
        raise ValueError(
            f"{who}: The `value_range` argument should be a list of two numbers, got "
            f"{value_range!r}"
        )
    return sorted(value_range)


def checked_choice(who: str, name: str, given: str, known: tuple[str, ...]) -> str:
    """Check that an option is one of the allowed strings.

    Raises:
        NotImplementedError: the option has another value.
    """
    if given not in known:
        raise NotImplementedError(
            f"{who}: Unknown `{name}` {given!r}: it must be one of {', '.join(known)}"
        )
    return given
