"""Predicates on inputs that select the calls of a deviation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from oracle.calls import Call


def complex_input(call: Call) -> bool:
    """Whether some input is complex."""
    return any(x.dtype.kind == "c" for x in call.flat())


def whole_numbers(call: Call) -> bool:
    """Whether the first input has an integer dtype."""
    return call.flat()[0].dtype.kind in "iu"


def unsigned(call: Call) -> bool:
    """Whether the first input has an unsigned dtype."""
    return call.flat()[0].dtype.kind == "u"


def special(call: Call) -> bool:
    """Whether some input is infinite, NaN or near the ends of its type's range."""
    return call.kind == "special"


def wrong(call: Call) -> bool:
    """Whether an input was made invalid."""
    return call.kind == "wrong"


def retyped(call: Call) -> bool:
    """Whether the inputs were converted to another dtype."""
    return call.kind == "dtype"


def empty(call: Call) -> bool:
    """Whether some input has no elements."""
    return any(not x.size for x in call.flat())


def no_axis(call: Call) -> bool:
    """Whether some number of the first input is not an axis of the data format."""
    x, axes = call.flat()[0], len(call.attrs.get("src_format", "NHWC"))
    return bool(((x < -axes) | (x >= axes)).any())


def beyond(call: Call) -> bool:
    """Whether a stride of a convolution of float64 is longer than its window."""
    if all(x.dtype != np.float64 for x in call.flat()):
        return False
    kernel = call.inputs[1]
    window = kernel.shape if kernel.ndim > 1 else tuple(kernel.tolist())
    pairs = zip(call.attrs["strides"][1:-1], window, strict=False)
    return any(stride > size for stride, size in pairs)


def scalar_first(call: Call) -> bool:
    """Whether the first input is a scalar."""
    return call.flat()[0].ndim == 0


def counts(index: int, least: int) -> Callable[[Call], bool]:
    """Whether the list input `index` has fewer tensors than `least`."""
    return lambda call: len(call.inputs[index]) < least


def zeros(call: Call) -> bool:
    """Whether some input has a zero in it."""
    return any((x == 0).any() for x in call.flat())


def unsorted(call: Call) -> bool:
    """Whether some row of the first input is not sorted."""
    x = call.flat()[0]
    return bool((x[..., 1:] < x[..., :-1]).any())


def several_diagonals(call: Call) -> bool:
    """Whether there is more than one diagonal (the second input or the third)."""
    k = call.flat()[2 if call.op.startswith("MatrixSet") else 1]
    return len(set(k.ravel().tolist())) > 1


def dependent_columns(call: Call) -> bool:
    """Whether some matrix of the first input has less than full rank."""
    x = call.flat()[0]
    return bool((np.linalg.matrix_rank(x) < min(x.shape[-2:])).any())


def cut_off(call: Call) -> bool:
    """Whether fft_length truncates the input, or is 1."""
    x, lengths = call.flat()
    wanted = lengths.tolist()
    found = list(x.shape[-len(wanted) :])
    if call.op.startswith("IRFFT") and wanted:  # of the last axis only half is stored
        found[-1] = max(found[-1] - 1, 0) * 2 + 1
    return 1 in wanted or any(n > m for n, m in zip(found, wanted, strict=True))


def beyond_type(call: Call) -> bool:
    """Whether a number is out of the range of the type that it is cast to."""
    x, into = call.flat()[0], call.attrs["DstT"]
    if x.dtype.kind in "iubO" or not into.is_integer:
        return False
    low, high = into.limits
    whole = np.trunc(x.astype(np.complex128).real)
    return bool((np.isnan(whole) | (whole < low) | (whole > high)).any())


def threshold_of_another_type(call: Call) -> bool:
    """Whether SparseAdd's threshold does not have the real type of its values."""
    values, threshold = call.flat()[1], call.flat()[6]
    return bool(threshold.dtype != values.real.dtype)


def rounded_inverse(call: Call) -> bool:
    """Whether some projection has no inverse, or none that is exact in float32."""
    flat = np.asarray(call.flat()[1], np.float32).reshape(-1, 8)
    matrices = np.concatenate([flat, np.ones((len(flat), 1), np.float32)], 1).reshape(-1, 3, 3)
    try:
        inverse = np.linalg.inv(matrices)
    except np.linalg.LinAlgError:
        return True
    found = inverse / inverse[:, 2:, 2:] if inverse[:, 2, 2].all() else inverse * np.nan
    exact = (matrices @ inverse == np.eye(3)).all() and (found * 1024 % 1 == 0).all()
    # Another order of elimination divides by other pivots: with powers of two all are exact.
    return not exact or not (np.frexp(np.abs(matrices[matrices != 0]))[0] == 0.5).all()


def cut_short(call: Call) -> bool:
    """Whether a recurrent layer runs fewer steps than its input has."""
    length, x = call.flat()[:2]
    return x.ndim > 0 and int(length.reshape(-1)[0]) < len(x)
