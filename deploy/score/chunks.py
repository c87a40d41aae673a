"""Chunks of rows from a file, some hundreds at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

# The column of a file whose rows are unnamed values.
UNNAMED = ""


@dataclass(slots=True)
class Chunk:
    """Consecutive rows of a file.

    Attributes:
        first: index of the first row in the file.
        count: the number of rows.
        columns: columns for inputs by name: an array whose first axis is the rows, or a list of
            Python values.
        kept: columns that are copied to the results: the same, or Arrow columns.
        bad: index in the chunk -> why the row could not be read.
        textual: whether strings represent numbers and JSON, as in CSV.
    """

    first: int
    count: int
    columns: dict[str, Any]
    kept: dict[str, Any]
    bad: dict[int, str] = field(default_factory=dict)
    textual: bool = False


def taken(values: Any, places: Sequence[int]) -> Any:
    """Some rows of a column of the types in `Chunk.kept`."""
    if isinstance(values, list):
        return [values[place] for place in places]
    if isinstance(values, np.ndarray):
        return values[list(places)]
    return values.take(list(places))
