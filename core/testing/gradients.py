"""Gradients compared with central differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.autodiff.tape import GradientTape
from pinnace.framework.convert import convert_to_tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Array


def compute_gradient(
    f: Callable[..., Any], x: Sequence[Any], delta: float | None = None
) -> tuple[list[Array], list[Array]]:
    """The Jacobians of `f` by its gradients, and by central differences.

    Args:
        f: takes the entries of `x`, gives one tensor.
        x: the arguments, of floating or complex dtypes.
        delta: the step of the differences; 1/1024 by default.

    Returns:
        Two lists with one matrix [size of the result, size of an argument] for each argument;
        complex numbers count as two real ones, as in the matrix of real derivatives.

    Raises:
        ValueError: an argument of another dtype.
    """
    step = 1.0 / 1024 if delta is None else delta
    arguments = [convert_to_tensor(one) for one in x]
    for one in arguments:
        if not (one.dtype.is_floating or one.dtype.is_complex):
            raise ValueError(
                f"compute_gradient: x must be floating or complex, got {one.dtype.name}"
            )
    theirs, numeric = [], []
    for index in range(len(arguments)):
        theirs.append(_analytic(f, arguments, index))
        numeric.append(_numeric(f, arguments, index, step))
    return theirs, numeric


def _reals(array: Array) -> Array:
    """Complex numbers as pairs of reals, flat; real arrays flat."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if flat.dtype.kind != "c":
        return flat
    return flat.view(np.float32 if flat.dtype == np.complex64 else np.float64)


def _analytic(f: Callable[..., Any], x: list[Any], index: int) -> Array:
    with GradientTape(persistent=True) as tape:
        tape.watch(x[index])
        y = f(*x)
    height = _reals(y.numpy()).size
    rows = np.zeros((height, _reals(x[index].numpy()).size), _reals(x[index].numpy()).dtype)
    for row in range(height):
        seed = np.zeros(y.shape.as_list(), y.dtype.numpy)
        _reals(seed)[row] = 1
        found = tape.gradient(y, x[index], output_gradients=seed)
        if found is not None:
            rows[row] = _reals(convert_to_tensor(found).numpy())
    return rows


def _numeric(f: Callable[..., Any], x: list[Any], index: int, step: float) -> Array:
    base = np.array(x[index].numpy())
    columns = []
    for position in range(_reals(base).size):
        ends = []
        for sign in (1, -1):
            moved = base.copy()
            reals = _reals(moved)
            reals[position] += sign * step
            result = f(*x[:index], convert_to_tensor(moved), *x[index + 1 :])
            ends.append(_reals(result.numpy()).astype(np.float64))
        columns.append((ends[0] - ends[1]) / (2 * step))
    dtype = _reals(base).dtype
    if not columns:
        return np.zeros((_reals(f(*x).numpy()).size, 0), dtype)
    return np.array(columns, dtype).T
