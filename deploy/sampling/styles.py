"""Inputs in particular styles, derived from random ones, for models that require them."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product

import numpy as np

from pinnace.framework.tensor import Array

_MIXED = (2, 3)  # the numbers of integer inputs that are combined
_LARGE = 16
_DIGITS = np.array([b"0", b"7", b"12", b"-3"], object)


def in_styles(arrays: Sequence[Array]) -> Iterator[list[Array]]:
    """Yield the inputs with integers that are divisors, sorted, indices, sizes and so on.

    First all inputs in one style; then, for two or three integer inputs, all combinations.
    """
    yield from _alike(arrays)
    whole = [place for place, x in enumerate(arrays) if x.dtype.kind in "iu"]
    if len(whole) not in _MIXED:
        return
    for styles in product(_WHOLE, repeat=len(whole)):
        if len(set(styles)) > 1:
            chosen = dict(zip(whole, styles, strict=True))
            yield [
                chosen[n](x, arrays) if n in chosen else _digits(x) for n, x in enumerate(arrays)
            ]


def _alike(arrays: Sequence[Array]) -> Iterator[list[Array]]:
    for real, whole in product((_as_drawn, _tokens), _WHOLE):
        yield [
            real(x)
            if x.dtype.kind == "f"
            else whole(x, arrays)
            if x.dtype.kind in "iu"
            else _digits(x)
            for x in arrays
        ]


def in_order(arrays: Sequence[Array]) -> list[Array]:
    """The inputs with sorted elements, for models that search in them."""
    return [np.sort(x, -1) if x.ndim and x.dtype.kind in "fiu" else x for x in arrays]


def _as_drawn(x: Array) -> Array:
    return x


def _tokens(x: Array) -> Array:
    """Small positive integers."""
    return np.asarray(np.rint(np.abs(x) * 4 + 1), x.dtype)


def _digits(x: Array) -> Array:
    return np.resize(_DIGITS, x.shape) if x.dtype == object else x


def _divisors(x: Array, arrays: Sequence[Array]) -> Array:
    del arrays
    return np.asarray(x % 7 + 1)


def _ones(x: Array, arrays: Sequence[Array]) -> Array:
    del arrays
    return np.ones_like(x)


def _zeros(x: Array, arrays: Sequence[Array]) -> Array:
    del arrays
    return np.zeros_like(x)


def _ascending(x: Array, arrays: Sequence[Array]) -> Array:
    """Row ids that begin with 0; of a table, each row id greater than the one before."""
    del arrays
    if not x.ndim:
        return np.asarray(x + 1)
    steps = np.arange(x.shape[0], dtype=x.dtype).reshape(-1, *[1] * (x.ndim - 1))
    return np.broadcast_to(steps, x.shape).copy()


def _permutation(x: Array, arrays: Sequence[Array]) -> Array:
    del arrays
    if not x.ndim:
        return np.zeros_like(x)
    size = x.shape[-1]
    return np.broadcast_to(np.arange(size, dtype=x.dtype)[::-1], x.shape).copy()


def _splits(x: Array, arrays: Sequence[Array]) -> Array:
    """Row splits that end with the size of the largest input."""
    most = max((len(other) for other in arrays if other.ndim and other is not x), default=1)
    if x.ndim != 1 or not x.size:
        return np.full_like(x, most)
    return np.linspace(0, most, x.size).astype(x.dtype)


def _inner_splits(x: Array, arrays: Sequence[Array]) -> Array:
    """Row splits that end with the number of rows of the next splits."""
    behind = False
    for other in arrays:
        if behind and other.dtype.kind in "iu" and other.ndim == 1:
            most = other.size - 1
            return np.linspace(0, most, x.size).astype(x.dtype) if x.ndim == 1 else x
        behind = behind or other is x
    return x


def _parts(x: Array, arrays: Sequence[Array]) -> Array:
    """Sizes that add up to the last axis of the largest input."""
    others = [other for other in arrays if other is not x and other.ndim]
    if x.ndim != 1 or not x.size or not others:
        return np.full_like(x, _LARGE)
    whole = max(others, key=lambda other: other.size).shape[-1]
    sizes = np.full_like(x, whole // x.size)
    sizes[-1] += whole % x.size
    return sizes


def _large(x: Array, arrays: Sequence[Array]) -> Array:
    """Sizes larger than all indices."""
    del arrays
    return np.full_like(x, _LARGE)


def _shape(x: Array, arrays: Sequence[Array]) -> Array:
    """The shape of another input, or a different one with the same number of elements."""
    others = [other for other in arrays if other is not x and other.ndim]
    if x.ndim != 1 or not x.size or not others:
        return np.ones_like(x)
    alike = [other for other in others if other.ndim == x.size]
    if alike:
        return np.array(alike[0].shape, x.dtype)
    largest = max(others, key=lambda other: other.size)
    return np.array([*[1] * (x.size - 1), largest.size], x.dtype)


_WHOLE: tuple[Callable[[Array, Sequence[Array]], Array], ...] = (
    _divisors,
    _ones,
    _shape,
    _ascending,
    _permutation,
    _splits,
    _zeros,
    _inner_splits,
    _parts,
    _large,
)
