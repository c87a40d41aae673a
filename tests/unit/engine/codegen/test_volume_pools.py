"""Max pooling of volumes and its gradient in machine code, against windows one by one."""

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.engine.codegen import kernels
from pinnace.ops.kernels import image_shares, pooling, volume_pooling
from pinnace.ops.kernels.precision import Array
from pinnace.ops.kernels.windows import window_counts

_ODD = np.array([np.nan, np.inf, -np.inf, 3e38, -3e38, 0.0, -0.0], np.float32)


@pytest.fixture(autouse=True, scope="module")
def asked() -> Iterator[list[str]]:
    """The requested kernels: they exist, and volumes are shared among three threads."""
    names: list[str] = []

    def made(name: str) -> Any:
        names.append(name)
        return kernels.function(name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(image_shares, "_SHARED", 1)
        patch.setattr(image_shares.team, "members", lambda: 3)
        patch.setattr(volume_pooling.compiled, "made", made)
        yield names


class Drawn(NamedTuple):
    x: Array
    ksize: tuple[int, ...]
    strides: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]
    random: np.random.Generator

    @property
    def counts(self) -> tuple[int, ...]:
        return window_counts(self.x.shape[1:-1], self.ksize, self.strides, (1, 1, 1), self.pads)

    def windows(self) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
        """Each window: its position, and the part of a volume that it reads."""
        for place in product(*map(range, self.counts)):
            starts = [
                at * step - before
                for at, step, (before, _) in zip(place, self.strides, self.pads, strict=True)
            ]
            reads = [
                slice(max(0, start), max(0, start + taps))
                for start, taps in zip(starts, self.ksize, strict=True)
            ]
            yield place, tuple(reads)


@st.composite
def volumes(draw: st.DrawFn, *, side_by_side: bool = False) -> Drawn:
    """Volumes with many ties, perhaps with special numbers; slightly padded."""
    ksize, strides, pads, sizes = [], [], [], []
    for _ in range(3):
        taps = draw(st.integers(1, 4))
        ksize.append(taps)
        strides.append(taps if side_by_side else draw(st.integers(1, 4)))
        pads.append((draw(st.integers(0, taps - 1)), draw(st.integers(0, taps - 1))))
        sizes.append(taps + draw(st.integers(0, 5)))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = (draw(st.integers(1, 3)), *sizes, draw(st.sampled_from([1, 2, 3, 8, 9, 17])))
    x = random.integers(-2, 3, shape).astype(np.float32)
    if not side_by_side:
        special = draw(st.sampled_from([0.0, 0.3, 0.9]))
        x = np.where(random.random(shape) < special, random.choice(_ODD, shape), x)
    return Drawn(x, tuple(ksize), tuple(strides), tuple(pads), random)


@given(case=volumes())
def test_a_window_gives_its_largest(case: Drawn, asked: list[str]) -> None:
    asked.clear()
    found = pooling.max_pool(case.x, case.ksize, case.strides, case.pads)
    assert asked == ["volume_peaks"]
    lowest = np.finfo(np.float32).min
    wanted = np.full((len(case.x), *case.counts, case.x.shape[-1]), lowest)
    # NaN never wins, and nothing is below the lowest finite number.
    numbers = np.where(np.isnan(case.x), lowest, case.x)
    for place, reads in case.windows():
        part = numbers[(slice(None), *reads)]
        wanted[(slice(None), *place)] = part.max((1, 2, 3), initial=lowest)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, wanted)


@given(case=volumes(side_by_side=True))
def test_a_gradient_goes_to_every_maximum(case: Drawn, asked: list[str]) -> None:
    shape = (len(case.x), *case.counts, case.x.shape[-1])
    dy = case.random.standard_normal(shape).astype(np.float32)
    dy[case.random.random(shape) < 0.1] = np.inf
    y = pooling.max_pool(case.x, case.ksize, case.strides, case.pads)
    asked.clear()
    found = pooling.max_pool_gradient(
        case.x, y, dy, case.ksize, case.strides, case.pads, ties="every"
    )
    assert asked == ["volume_maxima"]
    wanted = np.zeros_like(case.x)
    for place, reads in case.windows():
        at, window = (slice(None), *place), (slice(None), *reads)
        part = case.x[window]
        largest = part.max((1, 2, 3), keepdims=True, initial=np.finfo(np.float32).min)
        wanted[window] = np.where(part == largest, dy[at][:, None, None, None], 0)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, wanted)
    out = np.full_like(case.x, np.nan)
    arguments = (case.x, y, dy, case.ksize, case.strides, case.pads)
    assert pooling.max_pool_gradient(*arguments, "every", True, out) is out
    np.testing.assert_array_equal(out, np.where(case.x > 0, wanted, 0))


@pytest.mark.parametrize(
    "x",
    [
        np.zeros((1, 4, 4, 4, 2), np.float64),
        np.zeros((1, 2, 4, 4, 4), np.float32).transpose(0, 2, 3, 4, 1),
        np.zeros((0, 4, 4, 4, 2), np.float32),
    ],
)
def test_what_the_kernels_cannot_read_is_left_to_numpy(x: Array, asked: list[str]) -> None:
    asked.clear()
    windows = (2, 2, 2), (2, 2, 2), ((0, 0),) * 3
    y = pooling.max_pool(x, *windows)
    assert y.shape == (len(x), 2, 2, 2, 2)
    dx = pooling.max_pool_gradient(x, y, np.ones_like(y), *windows, ties="every")
    np.testing.assert_array_equal(dx, np.ones_like(x))
    assert asked == []


def test_windows_that_overlap_have_their_gradient_from_numpy(asked: list[str]) -> None:
    x = np.arange(5, dtype=np.float32).reshape(1, 5, 1, 1, 1)
    how = (3, 1, 1), (1, 1, 1), ((0, 0),) * 3
    y = pooling.max_pool(x, *how)
    asked.clear()
    dx = pooling.max_pool_gradient(x, y, np.ones_like(y), *how, ties="every")
    np.testing.assert_array_equal(dx.reshape(-1), [0, 0, 1, 1, 1])
    assert asked == []
