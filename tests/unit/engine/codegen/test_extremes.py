"""Maxima, minima and their gradients in machine code, against the formulas."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.engine.codegen import extremes
from pinnace.engine.codegen import kernels as general_kernels
from pinnace.ops.kernels import compiled, image_shares, team
from pinnace.ops.kernels import extremes as reducing

SEED = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="module")
def kernels() -> dict[str, Any]:
    return {name: general_kernels.function(name) for name in extremes.TEXTS}


def numbers(random: Any, *shape: int) -> Any:
    """Few distinct numbers, so that ties are common; some NaN, some infinite."""
    made = random.integers(-3, 3, shape).astype(np.float32)
    for odd in (np.nan, np.inf, -np.inf):
        made[random.random(shape) < random.choice([0, 0.02])] = odd
    return made


@given(
    outside=st.integers(1, 5),
    along=st.integers(1, 9),
    inside=st.sampled_from([1, 8, 9, 17, 40]),
    rectified=st.booleans(),
    seed=SEED,
)
def test_numbers_that_are_the_limit_share_what_it_is_sent(
    kernels: dict[str, Any], outside: int, along: int, inside: int, rectified: bool, seed: int
) -> None:
    random = np.random.default_rng(seed)
    x = numbers(random, outside, along, inside)
    limits, coming = x.max(1), numbers(random, outside, inside)
    with np.errstate(all="ignore"):
        hits = (x == limits[:, None]).astype(np.float32)
        wanted = hits / hits.sum(1, keepdims=True) * coming[:, None]
    if rectified:
        wanted = np.where(x > 0, wanted, np.float32(0))
    y = np.full(x.size, 7, np.float32)
    sums = np.full(outside * inside if inside > 1 else 0, 7, np.float32)
    flat = [one.reshape(-1) for one in (x, limits, coming)]
    half = outside // 2
    for start, stop in ((0, half), (half, outside)):
        kernels["shared_extremes"](
            start, stop, along * inside, inside, int(rectified), *flat, y, sums
        )
    np.testing.assert_array_equal(y.reshape(x.shape), wanted)
    if sums.size:
        with np.errstate(all="ignore"):
            total = wanted.astype(np.float64).sum(1)
        np.testing.assert_allclose(sums.reshape(total.shape), total, rtol=1e-5, atol=1e-5)


@given(
    shape=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    width=st.integers(8, 40),
    keep=st.booleans(),
    largest=st.booleans(),
    offered=st.booleans(),
    data=st.data(),
    seed=SEED,
)
def test_limits_along_any_axes_are_numpys(
    kernels: dict[str, Any],
    shape: list[int],
    width: int,
    keep: bool,
    largest: bool,
    offered: bool,
    data: st.DataObject,
    seed: int,
) -> None:
    axes = tuple(data.draw(st.lists(st.integers(0, len(shape)), min_size=1, unique=True)))
    x = numbers(np.random.default_rng(seed), *shape, width)
    ufunc = np.maximum if largest else np.minimum
    calls = []

    def counted(*arguments: Any) -> None:
        calls.append(arguments[:2])
        kernels["extremes"](*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reducing, "_FEWEST", 0)
        patch.setattr(image_shares, "_OFFERED", 0)
        patch.setattr(image_shares, "_SHARED", 0)
        patch.setattr(team, "size", lambda: 2)
        kernel = kernels["extremes"] if offered else counted
        patch.setattr(compiled, "made", lambda name: kernel if name == "extremes" else None)
        found = reducing.reduce(ufunc, x, axes, keep)
    np.testing.assert_array_equal(found, ufunc.reduce(x, axis=axes, keepdims=keep))
    lines = reducing.lines_of(x.shape, axes)
    if not offered:
        assert bool(calls) == (lines is not None and lines.inside >= reducing.SHORTEST)


@given(
    shape=st.lists(st.integers(0, 3), min_size=1, max_size=5),
    data=st.data(),
)
def test_lines_are_the_axes_that_lie_together(shape: list[int], data: st.DataObject) -> None:
    axes = data.draw(st.lists(st.integers(0, len(shape) - 1), min_size=1, unique=True))
    lines = reducing.lines_of(tuple(shape), tuple(axes))
    kinds = [axis in axes for axis, size in enumerate(shape) if size != 1]
    changes = sum(one != other for one, other in itertools.pairwise(kinds))
    together = any(kinds) and (changes < 2 or (changes == 2 and not kinds[0])) and 0 not in shape
    assert (lines is not None) == together
    if lines is not None:
        assert lines.along == np.prod([shape[axis] for axis in axes])
        assert lines.outside * lines.along * lines.inside == np.prod(shape)
