"""Cases of core/ops/image/patches.py: window by window."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from support.drawing import random_arrays
from support.opcase import OpCase

Array = npt.NDArray[Any]


def place(size: int, window: int, stride: int, rate: int, padding: str) -> tuple[int, int]:
    """The number of windows, and the start of the first one."""
    reach = (window - 1) * rate + 1
    if padding == "VALID":
        return len(range(0, size - reach + 1, stride)), 0
    count = len(range(0, size, stride))
    return count, -(max((count - 1) * stride + reach - size, 0) // 2)


def windows(
    x: Array, sizes: Sequence[int], strides: Sequence[int], rates: Sequence[int], padding: str
) -> Array:
    found = [place(*n, padding) for n in zip(x.shape[1:-1], sizes, strides, rates, strict=True)]
    counts = [count for count, _ in found]
    out = np.zeros((x.shape[0], *counts, *sizes, x.shape[-1]))
    for at in itertools.product(*map(range, counts), *map(range, sizes)):
        half = len(counts)
        inside = [found[i][1] + at[i] * strides[i] + at[half + i] * rates[i] for i in range(half)]
        if all(0 <= p < n for p, n in zip(inside, x.shape[1:-1], strict=True)):
            out[(slice(None), *at)] = x[(slice(None), *inside)]
    return (
        out.reshape(x.shape[0], *counts, -1)
        if out.size
        else out.reshape(x.shape[0], *counts, int(np.prod(sizes)) * x.shape[-1])
    )


def case(
    op: str, sizes: Sequence[int], strides: Sequence[int], rates: Sequence[int], padding: str
) -> OpCase:
    def build(rng: np.random.Generator) -> tuple[Array, ...]:
        low = [(k - 1) * r + 1 for k, r in zip(sizes, rates, strict=True)]
        inner = [int(n + rng.integers(0, 4)) for n in low]
        return (rng.standard_normal((int(rng.integers(1, 3)), *inner, 2)),)

    attrs: dict[str, Any] = {
        "ksizes": (1, *sizes, 1),
        "strides": (1, *strides, 1),
        "padding": padding,
    }
    if op == "ExtractImagePatches":
        attrs["rates"] = (1, *rates, 1)
    # The gradient is a convolution, which cannot have strides and rates at once.
    both = max(strides) > 1 and max(rates) > 1
    return OpCase(
        op,
        random_arrays(build),
        lambda x: windows(x, sizes, strides, rates, padding),
        attrs=attrs,
        differentiable=() if both else None,
    )


CASES = [
    case("ExtractImagePatches", size, stride, rate, padding)
    for padding in ("SAME", "VALID")
    for size, stride, rate in (
        ((2, 3), (1, 2), (1, 1)),
        ((3, 2), (1, 1), (2, 1)),
        ((2, 2), (3, 1), (2, 2)),
    )
] + [
    case("ExtractVolumePatches", (2, 1, 2), (1, 2, 1), (1, 1, 1), padding)
    for padding in ("SAME", "VALID")
]
