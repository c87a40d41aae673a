"""Rows as they come out of a file, some hundreds at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

# The column of a file whose rows are values without names.
UNNAMED = ""


@dataclass(slots=True)
class Chunk:
    """Some rows of a file, one after another.

    Attributes:
        first: number of the first one in the file, from 0.
        count: how many.
        columns: what inputs are made of, by name: an array whose first axis is the rows, or a list
            of Python values.
        kept: columns that are carried over, likewise, or columns of Arrow.
        bad: why a row could not be read, by its place in the chunk.
        textual: whether texts stand for numbers and JSON, as in CSV.
    """

    first: int
    count: int
    columns: dict[str, Any]
    kept: dict[str, Any]
    bad: dict[int, str] = field(default_factory=dict)
    textual: bool = False


def taken(values: Any, places: Sequence[int]) -> Any:
    """Those rows of a column, which is as in `Chunk.kept`."""
    if isinstance(values, list):
        return [values[place] for place in places]
    if isinstance(values, np.ndarray):
        return values[list(places)]
    return values.take(list(places))
