"""Views of integers at addresses, for the source of kernels.

Importing this module imports Numba.
"""

from __future__ import annotations

from typing import Any

from numba import carray, njit  # type: ignore[attr-defined] # its stubs lack carray

from pinnace.engine.codegen.mathematics import as_integers, as_short_integers


@njit(inline="always")  # type: ignore[misc,unused-ignore] # Numba has no types
def longs(address: Any, count: Any) -> Any:
    """The int64 numbers at an address."""
    return carray(as_integers(address), count)


@njit(inline="always")  # type: ignore[misc,unused-ignore]
def ints(address: Any, count: Any) -> Any:
    """The int32 numbers at an address."""
    return carray(as_short_integers(address), count)
