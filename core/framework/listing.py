"""The first names of a possibly long list, for messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection


def first_of(names: Collection[str], most: int) -> str:
    """The first names separated by commas, followed by dots if there are more.

    Args:
        names: in their order.
        most: how many are named.
    """
    return ", ".join(list(names)[:most]) + " ..." * (len(names) > most)
