"""A fill pattern for uninitialised memory, so that reads of it become visible."""

from __future__ import annotations

from typing import Any

import numpy as np

_BYTE = 0xAA


def fill(array: Any) -> None:
    """Fill with NaN (floats), 0xAA bytes (integers) or True; objects are unchanged."""
    kind = array.dtype.kind
    if kind in "fc" or array.dtype.name == "bfloat16":
        array.fill(np.nan)
    elif kind in "iu":
        array.fill(np.frombuffer(bytes([_BYTE] * array.itemsize), array.dtype)[0])
    elif kind == "b":
        array.fill(True)
