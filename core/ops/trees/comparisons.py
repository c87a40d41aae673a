"""Conditions on numbers as one comparison each, `number >= threshold`.

Missing numbers are replaced beforehand by numbers that take the same branch. A column is prepared
once for each form in which it is compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.ops.trees.nodes import MISSING, Nodes

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array

# Forms of a prepared column: the number itself; with infinity for missing values, which meets any
# threshold; 1 if missing, else 0.
_ITSELF, _AT_LEAST, _IS_MISSING = range(3)
# Forms from here on: the bit of a category in a word of 32, whose first is 32 * (form - WORDS).
WORDS = 3


class Comparisons:
    """Nodes of kinds HIGHER and MISSING as comparisons, each [nodes].

    Args:
        nodes: nodes of a forest.
        chosen: indices of the chosen ones.

    Attributes:
        column: the column of each number.
        form: the form of the column, which defines what replaces a missing number.
        threshold: float32.
    """

    def __init__(self, nodes: Nodes, chosen: Array) -> None:
        leads, threshold = nodes.missing[chosen], nodes.threshold[chosen]
        # No number is at least NaN.
        never = (nodes.kind[chosen] == MISSING) | np.isnan(threshold)
        self.column = nodes.column[chosen].astype(np.int64)
        self.form = np.where(leads, np.where(never, _IS_MISSING, _AT_LEAST), _ITSELF)
        instead = np.where(leads, 0.5, np.nan)
        self.threshold: Array = np.where(never, instead, threshold).astype(np.float32)


def unique_sources(column: Array, form: Array) -> tuple[Array, Array]:
    """The distinct pairs of column and form, int32 [pairs * 2], and the index of each pair."""
    found, numbers = np.unique(np.stack([column, form], axis=1), axis=0, return_inverse=True)
    return found.astype(np.int32).reshape(-1), np.asarray(numbers.reshape(-1))
