"""Cases of core/ops/image/resizing.py: one output point after the other."""

import math
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

import pinnace.ops.image  # noqa: F401 (registers the ops)
from cases.array.shapes import built, drawn, ints, numbers
from pinnace.framework import dtypes
from support.opcase import OpCase

Array: TypeAlias = npt.NDArray[Any]
# For an output index: the input indices it is computed from, and their weights.
Shares: TypeAlias = Callable[[int, int, int], Iterator[tuple[int, float]]]


def pictures(draw: st.DrawFn) -> tuple[Any, ...]:
    sizes = [draw(st.integers(1, 4)) for _ in range(4)]
    return draw(numbers([1, *sizes[:2], 2])), ints(*sizes[2:])


def place(new: int, size: int, new_size: int, kind: str) -> float:
    if kind == "corners" and new_size > 1:
        return new * (size - 1) / (new_size - 1)
    return (new + 0.5) * size / new_size - 0.5 if kind == "half" else new * size / new_size


def linear(kind: str) -> Shares:
    def shares(new: int, size: int, new_size: int) -> Iterator[tuple[int, float]]:
        where = place(new, size, new_size, kind)
        low = math.floor(where)
        yield min(max(low, 0), size - 1), 1 - (where - low)
        yield min(max(low + 1, 0), size - 1), where - low

    return shares


def nearest(kind: str) -> Shares:
    def shares(new: int, size: int, new_size: int) -> Iterator[tuple[int, float]]:
        where = place(new, size, new_size, kind)
        # With half-pixel centres the middle of the point decides, else its start; with aligned
        # corners it is rounded.
        where += {"half": 0.5, "corners": 0.5, "plain": 0}[kind]
        yield min(max(math.floor(where + 1e-6), 0), size - 1), 1.0

    return shares


def cubic(a: float, kind: str) -> Shares:
    def weight(x: float) -> float:
        if x <= 1:
            return (a + 2) * x**3 - (a + 3) * x**2 + 1
        return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a

    def shares(new: int, size: int, new_size: int) -> Iterator[tuple[int, float]]:
        where = place(new, size, new_size, kind)
        low = math.floor(where + 1e-9)
        # TensorFlow reads the weights from a table of 1024 steps.
        step = round((where - low) * 1024) / 1024
        found = [(low + i, weight(abs(i - step))) for i in range(-1, 3)]
        if kind == "half":
            found = [(i, w) for i, w in found if 0 <= i < size]
            total = sum(w for _, w in found)
            found = [(i, w / total) for i, w in found]
        for i, w in found:
            yield min(max(i, 0), size - 1), w

    return shares


def area(new: int, size: int, new_size: int) -> Iterator[tuple[int, float]]:
    start, end = new * size / new_size, (new + 1) * size / new_size
    for old in range(size):
        yield old, max(min(old + 1, end) - max(old, start), 0) / (end - start)


def lanczos(new: int, size: int, new_size: int) -> Iterator[tuple[int, float]]:
    stretch = max(size / new_size, 1)
    centre = (new + 0.5) * size / new_size
    away = [abs(old + 0.5 - centre) / stretch for old in range(size)]
    weights = [np.sinc(x) * np.sinc(x / 3) if x <= 3 else 0.0 for x in away]
    for old, w in enumerate(weights):
        yield old, w / sum(weights)


def matrix(shares: Shares, size: int, new_size: int) -> Array:
    out = np.zeros((new_size, size))
    for new in range(new_size):
        for old, share in shares(new, size, new_size):
            out[new, old] += share
    return out


def resized(shares: Shares) -> Callable[..., Array]:
    def reference(x: Array, size: Array, *_: Any) -> Array:
        rows, columns = (matrix(shares, n, int(m)) for n, m in zip(x.shape[1:3], size, strict=True))
        n, _, _, c = x.shape
        return built(
            (n, len(rows), len(columns), c), lambda b, i, j, k: rows[i] @ x[b, :, :, k] @ columns[j]
        )

    return reference


def backward(shares: Shares) -> Callable[..., Array]:
    def reference(dy: Array, x: Array) -> Array:
        sizes = x.shape[1:3] if x.ndim == 4 else tuple(x.tolist())
        pairs = zip(sizes, dy.shape[1:3], strict=True)
        rows, columns = (matrix(shares, n, m) for n, m in pairs)
        return np.einsum("nijc,ih,jw->nhwc", dy, rows, columns)

    return reference


def grads(draw: st.DrawFn) -> tuple[Any, ...]:
    x, size = pictures(draw)
    return draw(numbers([1, *size, 2])), x


def nearest_grads(draw: st.DrawFn) -> tuple[Any, ...]:
    dy, x = grads(draw)
    return dy, ints(*x.shape[1:3])


def scaled(draw: st.DrawFn) -> tuple[Any, ...]:
    x, size = pictures(draw)
    scale = size.astype(np.float32) / np.array(x.shape[1:3], np.float32)
    return x, size, scale, np.zeros(2, np.float32)


def scaled_grads(draw: st.DrawFn) -> tuple[Any, ...]:
    x, size, scale, shift = scaled(draw)
    return draw(numbers([1, *size, 2])), x, scale, shift


KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "half": {"half_pixel_centers": True},
    "corners": {"align_corners": True},
}
WEIGHTS = "weights are float32"


def case(op: str, draws: Any, reference: Any, kind: str = "plain", **options: Any) -> OpCase:
    """A case in float32, like the outputs; tests/unit/ops/image tests the gradients."""
    attrs = {**KINDS[kind], **options}
    return OpCase(
        op,
        drawn(draws),
        reference,
        attrs=attrs,
        dtypes=(dtypes.float32,),
        differentiable=(),
        slack=512.0,
        reason=WEIGHTS,
    )


CASES = [
    *(case("ResizeBilinear", pictures, resized(linear(kind)), kind) for kind in KINDS),
    *(case("ResizeNearestNeighbor", pictures, resized(nearest(kind)), kind) for kind in KINDS),
    case("ResizeBicubic", pictures, resized(cubic(-0.75, "plain"))),
    case("ResizeBicubic", pictures, resized(cubic(-0.5, "half")), "half"),
    case("ResizeArea", pictures, resized(area)),
    case("ScaleAndTranslate", scaled, resized(lanczos)),
    *(case("ResizeBilinearGrad", grads, backward(linear(kind)), kind) for kind in KINDS),
    case("ResizeBicubicGrad", grads, backward(cubic(-0.5, "half")), "half"),
    *(
        case("ResizeNearestNeighborGrad", nearest_grads, backward(nearest(kind)), kind)
        for kind in KINDS
    ),
    case("ScaleAndTranslateGrad", scaled_grads, lambda dy, x, *_: backward(lanczos)(dy, x)),
]
