"""Compares two results of one call, and describes the difference.

Tolerances: each side's result may be off by the `ulps` and `slack` of its case
(tests/support/opcase.py), so the two may differ by twice as much. Sums of products in another order
differ by a few units of the largest term: gradients, which are such sums, get a multiple of their
largest element. In narrow types, TensorFlow rounds after every step in some ops and only at the end
in others, and some of its approximations are coarse; a result as close to the float64 result as
TensorFlow's own is right (the float64 result is also TensorFlow's, from another call of the same
case).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from oracle.coarse import coarse
from oracle.deviations import SINGLE
from support.opcase import is_float

if TYPE_CHECKING:
    from collections.abc import Callable

    from oracle.coverage import Closest
    from oracle.finer import Finer
    from support.opcase import OpCase

# Classes that TensorFlow's Python code raises where its kernels raise InvalidArgumentError.
INVALID = frozenset({"InvalidArgumentError", "ValueError", "TypeError"})
# Units of the dtype's epsilon, relative to the largest element of a gradient.
GRADIENT_UNITS = 64
# Absolute error of any gradient in units of epsilon: 1 - y² near 1, times a cotangent of up to 2.
LEAST_UNITS = 8
# From this fraction of the tolerance on, more exact results are computed, so that the report of
# close comparisons contains the deciding values.
CLOSE = 0.2


def failed(answer: Any) -> bool:
    """Whether the result is an error."""
    return isinstance(answer, dict) and "error" in answer


def has_no_kernel(answer: Any) -> bool:
    """Whether TensorFlow has no CPU kernel for these types: then there is nothing to compare."""
    if not failed(answer):
        return False
    message = answer["message"]
    return (
        (answer["error"] == "NotFoundError" and "Could not find" in message)
        or "No OpKernel was registered" in message
        or "not in the list of allowed values" in message
        or answer["error"] == "UnimplementedError"
        # From its kernel library, on processors that lack a narrow type.
        or "could not create a " in message
    )


def errors_differ(theirs: dict[str, Any], ours: dict[str, Any]) -> str:
    """How two errors differ; empty if their class is the same."""
    a, b = theirs["error"], ours["error"]
    if a == b or (a in INVALID and b in INVALID):
        return ""
    return (
        f"TensorFlow raises {a}: {theirs['message'][:300]}\n  we raise {b}: {ours['message'][:300]}"
    )


def values_differ(
    case: OpCase,
    theirs: list[Any],
    ours: list[Any],
    finer: Finer,
    closest: Closest | None,
) -> str:
    """How two lists of outputs differ; empty if they agree."""
    if len(theirs) != len(ours):
        return f"{len(theirs)} outputs there, {len(ours)} here"
    for index, (a, b) in enumerate(zip(theirs, ours, strict=True)):
        truth = _truth(case.op, finer, "values", index)
        near = closest and closest.of(case.op, "values")
        problem = array_differs(a, b, 2 * case.ulps, 2 * case.slack, truth, near)
        if problem:
            return f"output {index}: {problem}"
    return ""


def comparable(op: str, theirs: list[Any], ours: list[Any]) -> tuple[list[Any], list[Any]]:
    """Both results in a comparable form; None stays None."""
    if op in SINGLE:
        return _singles(theirs), _singles(ours)
    if op == "Eig" and len(ours) > 1 and _shapes(theirs) == _shapes(ours):
        # An eigenvector has an arbitrary phase: ours is rotated to theirs.
        phases = (theirs[1] * ours[1].conj()).sum(-2, keepdims=True)
        sizes = np.abs(phases)
        turned = ours[1] * np.where(sizes > 0, phases / np.where(sizes > 0, sizes, 1), 1)
        return theirs, [ours[0], turned.astype(ours[1].dtype), *ours[2:]]
    return theirs, ours


def _singles(arrays: list[Any]) -> list[Any]:
    doubles = [x is not None and x.dtype == np.float64 for x in arrays]
    return [
        x.astype(np.float32) if double else x for x, double in zip(arrays, doubles, strict=True)
    ]


def _shapes(arrays: list[Any]) -> list[tuple[int, ...]]:
    return [x.shape for x in arrays]


def gradients_differ(
    case: OpCase,
    theirs: Any,
    ours: Any,
    finer: Finer,
    outputs: list[Any],
    closest: Closest | None,
) -> str:
    """How two lists of gradients differ, None being no gradient; `outputs` are the op's."""
    # A gradient is no more exact than the dtype of the output that it comes from.
    coarsest = max((_eps(y.dtype) for y in outputs), default=0.0)
    for index, (a, b) in enumerate(zip(theirs, ours, strict=True)):
        if a is None and b is None:
            continue
        if a is None or b is None:
            some = a if b is None else b
            if not np.any(some):
                continue
            have, none = ("TensorFlow", "we") if b is None else ("we", "TensorFlow")
            return f"input {index}: {have} have a gradient, {none} none"
        coarser = max(coarsest / (_eps(a.dtype) or 1.0), 1.0)
        scale = _scale(a) * GRADIENT_UNITS * case.smooth * coarser
        truth = _truth(case.op, finer, "gradients", index)
        slack = 2 * case.slack + scale + LEAST_UNITS
        near = closest and closest.of(case.op, f"gradient of input {index}")
        problem = array_differs(a, b, 2 * case.ulps, slack, truth, near)
        if problem:
            return f"gradient of input {index}: {problem}"
    return ""


def _eps(dtype: Any) -> float:
    real = np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype
    return float(ml_dtypes.finfo(real).eps) if is_float(np.empty(0, real)) else 0.0


def _scale(x: Any) -> float:
    with np.errstate(all="ignore"):
        wide = np.abs(x.astype(np.complex128))
    finite = wide[np.isfinite(wide)]
    return float(finite.max()) if finite.size else 0.0


@dataclass(frozen=True)
class Truth:
    """Knowledge about the right numbers.

    Args:
        exact: computes them in float64; None if the op does not support it.
        known: TensorFlow's known error, relative to a number or to 1 (coarse.py).
        unsure: computes the error that the condition of the inputs may cause.
    """

    exact: Callable[[], Any]
    known: float
    unsure: Callable[[], float]


NOTHING_KNOWN = Truth(lambda: None, 0.0, lambda: 0.0)


def _truth(op: str, finer: Finer, part: str, index: int) -> Truth:
    def exact() -> Any:
        found = finer.exact(part)
        return None if found is None else found[index]

    return Truth(exact, getattr(coarse(op), part), lambda: finer.unsure(part, index))


def array_differs(
    theirs: Any,
    ours: Any,
    ulps: float,
    slack: float,
    truth: Truth | None = None,
    near: Callable[[str, float, str], None] | None = None,
) -> str:
    """How two arrays differ; empty if they agree within the tolerance.

    Args:
        theirs: TensorFlow's array.
        ours: our array.
        ulps: units in the last place of a number.
        slack: units of the dtype's epsilon.
        truth: knowledge about the right array.
        near: called with the dtype, the largest used fraction of the tolerance, and its location.
    """
    if theirs.dtype != ours.dtype:
        return f"dtype {theirs.dtype} there, {ours.dtype} here"
    if theirs.shape != ours.shape:
        return f"shape {list(theirs.shape)} there, {list(ours.shape)} here"
    if theirs.dtype.kind == "c":
        for part in ("real", "imag"):
            # Both parts are sums of the same products, so one tolerance applies to both.
            one, other = getattr(theirs, part), getattr(ours, part)
            wider = slack + ulps * _scale(theirs)
            parts = truth and Truth(lambda: None, truth.known, truth.unsure)
            problem = array_differs(one, other, ulps, wider, parts, near)
            if problem:
                return f"{part}: {problem}"
        return ""
    if not is_float(theirs):
        bad = np.asarray(theirs != ours)
        return _first(bad, theirs, ours) if bad.any() else ""
    if not theirs.size:
        return ""
    with np.errstate(invalid="ignore"):  # values that TensorFlow left uninitialised may be NaN
        a, b = theirs.astype(np.float64), ours.astype(np.float64)
    parts = _parts(a, b, theirs.dtype, ulps, slack, truth or NOTHING_KNOWN)
    # NaN: no comparison was close.
    bad = ~(parts <= 1)
    if not bad.any() and near is not None:
        worst = np.unravel_index(parts.argmax(), parts.shape)
        where = f"{a[worst].item()!r} there, {b[worst].item()!r} here"
        near(theirs.dtype.name, float(parts[worst]), where)
    return _first(bad, a, b) if bad.any() else ""


@np.errstate(all="ignore")
def _parts(
    a: Any,
    b: Any,
    dtype: Any,
    ulps: float,
    slack: float,
    truth: Truth,
) -> Any:
    """Each difference as a fraction of the tolerance: at most 1 if it is allowed."""
    limits = ml_dtypes.finfo(dtype)
    eps = float(limits.eps)

    def allowed(x: Any, unsure: float) -> Any:
        size = np.where(np.isfinite(x), np.abs(x), 0.0)
        by_type = ulps * np.maximum(size, float(limits.smallest_normal)) * eps + slack * eps
        return np.maximum(by_type, truth.known * np.maximum(size, 1.0)) + unsure

    parts = np.where(_equal(a, b), 0.0, np.abs(a - b) / allowed(a, 0.0))
    if (parts <= CLOSE).all():
        return parts
    unsure = truth.unsure()
    parts = np.where(_equal(a, b), 0.0, np.abs(a - b) / allowed(a, unsure))
    right = truth.exact() if eps > 1e-10 else None
    if right is None:
        return parts
    right = right.astype(np.float64)
    # Beyond the largest number, both infinity and that number are right.
    rounded = right.astype(dtype).astype(np.float64)
    off = np.where(np.isfinite(a), np.abs(a - right), 0.0)
    nearer = np.abs(b - right) / np.maximum(off, allowed(right, unsure))
    nearer = np.where(_equal(b, rounded), 0.0, nearer)
    return np.fmin(parts, nearer)


def _equal(x: Any, y: Any) -> Any:
    """Where numbers are equal, or both are NaN."""
    return (x == y) | (np.isnan(x) & np.isnan(y))


def _first(bad: Any, theirs: Any, ours: Any) -> str:
    place = tuple(int(n) for n in np.argwhere(bad)[0])
    return (
        f"at {list(place)}: {theirs[place]!r} there, {ours[place]!r} here ({int(bad.sum())} such)"
    )


def shapes_differ(theirs: Any, ours: Any, actual: list[Any]) -> str:
    """Where an inferred shape is wrong, or less precise than TensorFlow's."""
    for index, (a, b, y) in enumerate(zip(theirs, ours, actual, strict=True)):
        told = f"output {index}: {_text(b)} here, {_text(a)} there, and it is {list(y.shape)}"
        if b is not None:
            if len(b) != y.ndim:
                return f"wrong shape, {told}"
            if any(n is not None and n != m for n, m in zip(b, y.shape, strict=True)):
                return f"wrong shape, {told}"
        if a is None or not _possible(a, y.shape):
            continue
        if b is None:
            return f"less than TensorFlow knows, {told}"
        if len(a) == len(b) and any(n is not None and m is None for n, m in zip(a, b, strict=True)):
            return f"less than TensorFlow knows, {told}"
    return ""


def _possible(told: Any, actual: tuple[int, ...]) -> bool:
    """Whether TensorFlow's shape inference is right: for some ops it is not."""
    return len(told) == len(actual) and all(
        n in {None, m} for n, m in zip(told, actual, strict=True)
    )


def _text(shape: Any) -> str:
    return "unknown" if shape is None else str(list(shape)).replace("None", "?")
