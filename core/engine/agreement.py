"""Whether compiled code gives what the plan gives, on the same inputs.

Both compute in the same dtype, but not in the same order: compiled code contracts `a * b + c`, sums
in another order, and its exp, tanh and erf are other polynomials, each within 16 units of the last
place (ulps). A region is some dozen such steps, so an element may be off by

    512 eps (|reference| + m),    m the largest finite magnitude in its row

512 ulps of itself and, since a sum that cancels keeps the error of its terms, of its row (6e-5
for float32: three of the seven digits). NaN agrees with NaN, an infinity with itself or with what
is a rounding away from it. Everything that is no float must be equal.

Steps that are ill conditioned (the norm of a row of nearly equal numbers, a loop that diverges)
exceed that and are right all the same. So before a difference is believed, the plan is asked what
it makes of inputs that are one ulp off: 64 times what its own results move by is allowed as well.
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
    """The first result that does not agree, in words; None if all do.

    Args:
        references: what the plan gave.
        found: what compiled code gave.
        moved: what the plan gives for inputs that are one ulp off.
    """
    if len(references) != len(found):
        return f"{len(found)} results instead of {len(references)}"
    for number, (wanted, got) in enumerate(zip(references, found, strict=True)):
        text = _difference(wanted, got, None if moved is None else moved[number])
        if text is not None:
            return f"result {number}: {text}"
    return None


def bit_difference(references: Sequence[Any], found: Sequence[Any]) -> str | None:
    """The first scalar that is not the same bit for bit, NaN being NaN, in words; or None."""
    for number, (wanted, got) in enumerate(zip(references, found, strict=True)):
        wanted, got = np.asarray(wanted), np.asarray(got)
        if wanted.dtype.kind == "O" or (wanted != wanted and got != got):
            continue
        if wanted.dtype != got.dtype or wanted.tobytes() != got.tobytes():
            return f"result {number}: {got} instead of {wanted}"
    return None


def disturbed(arrays: Sequence[Any]) -> list[Any]:
    """The arrays, each float one ulp up or down; the same ones for the same shapes."""
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
    """Where the numbers differ by more than they may."""
    with np.errstate(all="ignore"):
        kind = np.finfo(wanted.dtype)
        apart = np.abs(np.subtract(got, wanted))
        size = np.abs(wanted)
        finite = np.isfinite(size)
        whole = bool(finite.all())
        rows = size if whole else np.where(finite, size, size.dtype.type(0))
        axis = -1 if size.ndim else None
        largest = rows.max(axis=axis, keepdims=True, initial=0) if size.ndim else rows
        # Halved before they are added: both may be the largest number that there is.
        allowed = (rows * 0.5 + largest * 0.5) * (2 * ULPS * kind.eps) + kind.tiny
        if moved is not None and moved.shape == wanted.shape:
            shift = np.abs(np.subtract(moved, wanted))
            steady = np.isfinite(shift)
            shift = np.where(steady, shift, shift.dtype.type(0))
            allowed = allowed + shift.max(initial=0) * _MOVES
        wrong = ~(apart <= allowed)
        if not wrong.any():
            return wrong  # type: ignore[no-any-return]
        wrong &= ~((wanted == got) | (np.isnan(wanted) & np.isnan(got)))
        # Where one of them has just become infinite.
        edge = float(kind.max) * (1 - ULPS * float(kind.eps))
        near = (
            (size >= edge)
            & (np.abs(got) >= edge)
            & (np.signbit(wanted.real) == np.signbit(got.real))
        )
        wrong &= ~near
        if moved is not None and moved.shape == wanted.shape:
            wrong &= np.isnan(moved) == np.isnan(wanted)
    return wrong  # type: ignore[no-any-return]
