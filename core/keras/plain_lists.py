"""Lists of Python numbers, which stand for one array rather than for a structure."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnace.framework import structure


def is_numbers(value: Any) -> bool:
    """Whether it is a list or tuple, nested or not, of numbers only."""
    if not isinstance(value, (list, tuple)):
        return False
    leaves = structure.flatten(value)
    return bool(leaves) and all(isinstance(leaf, (bool, int, float, np.generic)) for leaf in leaves)
