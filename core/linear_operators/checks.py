"""Assertions about entries, real or complex."""

from __future__ import annotations

from typing import Any

from pinnace.ops.control import assertions
from pinnace.ops.math import complexes, polar


def assert_no_zeros(x: Any, message: str) -> None:
    """Check that no element is 0.

    Raises:
        InvalidArgumentError: one is; inside `function` when the graph runs.
    """
    assertions.assert_positive(polar.abs(x), message)


def assert_real(x: Any, message: str) -> None:
    """Check that no imaginary part differs from 0.

    Raises:
        InvalidArgumentError: one does; inside `function` when the graph runs.
    """
    if x.dtype.is_complex:
        assertions.assert_equal(complexes.imag(x), 0, message)
