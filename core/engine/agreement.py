"""Whether compiled code agrees with the plan on the same inputs.

Both compute in the same dtype, but not in the same order: compiled code contracts `a * b + c`, sums
in another order, and evaluates exp, tanh and erf by other polynomials, each within 16 units in the
last place (ulps). A region has some dozen such steps, so an element may differ by

    512 eps (|reference| + m),    m the largest finite magnitude in its row

that is, 512 ulps of itself and, since a cancelling sum keeps the error of its terms, of its row
(6e-5 for float32: three of the seven digits). NaN agrees with NaN, an infinity with itself or with
a value that rounds to it. Anything but floats must be equal.

Ill-conditioned steps (the norm of a row of nearly equal numbers, a diverging loop) exceed this
bound and are still right. So before a difference counts, the plan runs on inputs that are changed
by one ulp: 64 times the change of its own results is allowed as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.ops.state.list_values import TensorList

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array

ULPS = 512
_MOVES = 64


def difference(
    references: Sequence[Any], found: Sequence[Any], moved: Sequence[Any] | None = None
) -> str | None:
    """The first result that does not agree, described for the log; None if all do.

    Args:
        references: the plan's results.
        found: the results of compiled code.
        moved: the plan's results for inputs that are changed by one ulp.
    """
    if len(references) != len(found):
        return f"{len(found)} results instead of {len(references)}"
    for number, (wanted, got) in enumerate(zip(references, found, strict=True)):
        text = _difference(wanted, got, None if moved is None else moved[number])
        if text is not None:
            return f"result {number}: {text}"
    return None


def bit_difference(references: Sequence[Any], found: Sequence[Any]) -> str | None:
    """The first scalar that differs bit for bit (NaN equals NaN), described; None if all agree."""
    for number, (wanted, got) in enumerate(zip(references, found, strict=True)):
        wanted, got = np.asarray(wanted), np.asarray(got)
        if wanted.dtype.kind == "O" or (wanted != wanted and got != got):
            continue
        if wanted.dtype != got.dtype or wanted.tobytes() != got.tobytes():
            return f"result {number}: {got} instead of {wanted}"
    return None


def disturbed(arrays: Sequence[Any]) -> list[Any]:
    """The arrays, each float one ulp up or down; the same changes for the same shapes."""
    random = np.random.default_rng(0)
    found = []
    for array in arrays:
        if isinstance(array, (np.ndarray, np.floating)) and array.dtype.kind == "f":
            up = random.random(np.shape(array)) < 0.5
            edge = np.where(up, np.inf, -np.inf).astype(array.dtype)
            found.append(np.nextafter(array, edge).astype(array.dtype))
        else:
            found.append(array)
    return found


def _difference(wanted: Any, got: Any, moved: Any) -> str | None:
    wanted, got = np.asarray(wanted), np.asarray(got)
    if wanted.shape != got.shape or wanted.dtype != got.dtype:
        return f"{got.dtype}{list(got.shape)} instead of {wanted.dtype}{list(wanted.shape)}"
    if wanted.dtype.kind == "O":
        return _difference_of_objects(wanted, got, moved)
    if wanted.dtype.kind not in "fc":
        if moved is not None and np.array_equal(np.asarray(moved), wanted) is False:
            return None  # a decision that an ulp changes
        wrong = wanted != got
    else:
        wrong = _exceeding(wanted, got, None if moved is None else np.asarray(moved))
    count = int(np.count_nonzero(wrong))
    if not count:
        return None
    place = tuple(int(n) for n in np.argwhere(wrong)[0]) if wanted.ndim else ()
    return (
        f"{count} of {wanted.size} numbers, first at {list(place)}: "
        f"{got[place]} instead of {wanted[place]}"
    )


def _difference_of_objects(wanted: Array, got: Array, moved: Any) -> str | None:
    first, second = (array[()] if not array.ndim else None for array in (wanted, got))
    if isinstance(first, TensorList) and isinstance(second, TensorList):
        if first.length != second.length:
            return f"a list of {second.length} instead of {first.length}"
        here, there = first.snapshot(), second.snapshot()
        if here.keys() != there.keys():
            return f"a list with {len(there)} elements set instead of {len(here)}"
        third = None if moved is None else np.asarray(moved)[()].snapshot()
        places = sorted(here)
        others = None
        if third is not None:
            if third.keys() != here.keys():
                return None
            others = [third[place] for place in places]
        return difference([here[n] for n in places], [there[n] for n in places], others)
    if any(a is not b and a != b for a, b in zip(wanted.flat, got.flat, strict=True)):
        return "other objects"
    return None


def _exceeding(wanted: Array, got: Array, moved: Array | None) -> Array:
    """A mask of the numbers that differ by more than the tolerance."""
    with np.errstate(all="ignore"):
        kind = np.finfo(wanted.dtype)
        apart = np.abs(np.subtract(got, wanted))
        size = np.abs(wanted)
        finite = np.isfinite(size)
        whole = bool(finite.all())
        rows = size if whole else np.where(finite, size, size.dtype.type(0))
        axis = -1 if size.ndim else None
        largest = rows.max(axis=axis, keepdims=True, initial=0) if size.ndim else rows
        # Both are halved before they are added: either may be the largest finite number.
        allowed = (rows * 0.5 + largest * 0.5) * (2 * ULPS * kind.eps) + kind.tiny
        if moved is not None and moved.shape == wanted.shape:
            shift = np.abs(np.subtract(moved, wanted))
            steady = np.isfinite(shift)
            shift = np.where(steady, shift, shift.dtype.type(0))
            allowed = allowed + shift.max(initial=0) * _MOVES
        wrong: Array = ~(apart <= allowed)
        if not wrong.any():
            return wrong
        wrong &= ~((wanted == got) | (np.isnan(wanted) & np.isnan(got)))
        # Near the largest finite number, only one of the two may have overflowed to infinity.
        edge = float(kind.max) * (1 - ULPS * float(kind.eps))
        near = (
            (size >= edge)
            & (np.abs(got) >= edge)
            & (np.signbit(wanted.real) == np.signbit(got.real))
        )
        wrong &= ~near
        if moved is not None and moved.shape == wanted.shape:
            wrong &= np.isnan(moved) == np.isnan(wanted)
    return wrong
