"""Where an array's numbers begin, in a tenth of the time that NumPy takes to say it.

The first field of an array, behind what every object of CPython begins with, is the address of its
numbers: NumPy's C interface has had it there since its first version. It is read there if it is so
here, which is tried once.

Source:
    NumPy, `PyArrayObject_fields` (ndarraytypes.h).
"""

from __future__ import annotations

import ctypes
import sys
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Array

# What every object begins with: its count of references and its type.
_HEADER = object.__basicsize__
_at = ctypes.c_size_t.from_address


def _read(array: Array) -> int:
    # Of arrays alone: a scalar of NumPy is another kind of object.
    return _at(id(array) + _HEADER).value


def _asked(array: Array) -> int:
    return int(array.ctypes.data)


def _chosen() -> Callable[[Array], int]:
    if sys.implementation.name != "cpython":
        return _asked
    whole = np.arange(12.0).reshape(3, 4)
    probes = (whole, whole[1:], whole[::-1, 2:], whole.T, np.array(1.0))
    return _read if all(_read(one) == _asked(one) for one in probes) else _asked


address_of: Callable[[Array], int] = _chosen()
