"""Random words, max pooling and its gradients in machine code are equal bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pinnace.engine.codegen import kernels as general_kernels
from pinnace.engine.codegen import streams
from pinnace.ops.kernels import image_shares, philox, pooling

WORD = st.integers(0, 2**64 - 1)


@pytest.fixture(scope="module")
def kernels() -> dict[str, Any]:
    return {name: general_kernels.function(name) for name in streams.TEXTS}


@given(WORD, st.one_of(WORD, st.integers(2**64 - 40, 2**64 - 1)), WORD, st.integers(15, 60))
def test_words_are_those_of_the_definition(
    kernels: dict[str, Any], key: int, low: int, high: int, blocks: int
) -> None:
    out = np.empty((blocks, 4), np.uint32)
    kernels["philox"](np.uint64(key), np.uint64(low), np.uint64(high), out)
    start = philox.KeyCounter(key, high << 64 | low)
    # In Python's integers, as in the paper.
    assert out.tolist() == [list(philox._block(start.skip(n))) for n in range(blocks)]


@given(
    st.integers(1, 3),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(1, 4), st.integers(1, 4)),
    st.integers(1, 20),
    st.integers(0, 2**32 - 1),
)
def test_a_gradient_goes_to_the_first_maximum(
    kernels: dict[str, Any],
    count: int,
    window: tuple[int, int],
    sizes: tuple[int, int],
    channels: int,
    seed: int,
) -> None:
    random = np.random.default_rng(seed)
    (down, along), (rows, columns) = window, sizes
    # Few distinct numbers, so that ties are common.
    x = random.integers(0, 3, (count, rows * down, columns * along, channels)).astype(np.float32)
    dy = random.standard_normal((count, rows, columns, channels)).astype(np.float32)
    dy[random.random(dy.shape) < 0.1] = np.inf
    y = x.reshape(count, rows, down, columns, along, channels).max((2, 4))
    found = np.empty_like(x)
    kernels["maxima"](0, count, 0, down, along, x, y, dy, found)
    wanted = np.zeros_like(x)
    for place in np.ndindex(y.shape):
        n, i, j, c = place
        part = x[n, i * down : (i + 1) * down, j * along : (j + 1) * along, c]
        a, b = divmod(int(part.argmax()), along)
        wanted[n, i * down + a, j * along + b, c] = dy[place]
    np.testing.assert_array_equal(found, wanted)
    by_numpy = pooling.max_pool_gradient(x, y, dy, window, window, ((0, 0), (0, 0)))
    np.testing.assert_array_equal(by_numpy, wanted)


@given(
    st.integers(0, 4),
    st.tuples(*[st.integers(1, 4)] * 4),
    st.tuples(st.integers(4, 9), st.integers(4, 9)),
    st.tuples(*[st.tuples(st.integers(0, 2), st.integers(0, 2))] * 2),
    st.sampled_from([8, 9, 16, 35]),
    st.sampled_from([0.0, 0.3, 0.9]),
    st.integers(0, 2**32 - 1),
)
def test_a_window_gives_its_largest(
    kernels: dict[str, Any],
    count: int,
    window: tuple[int, int, int, int],
    sizes: tuple[int, int],
    pads: tuple[tuple[int, int], tuple[int, int]],
    channels: int,
    special: float,
    seed: int,
) -> None:
    random = np.random.default_rng(seed)
    x = random.standard_normal((count, *sizes, channels)).astype(np.float32)
    odd = np.array([np.nan, np.inf, -np.inf, 1e-40, -1e-40, 3e38, -3e38, 0.0], np.float32)
    x = np.where(random.random(x.shape) < special, random.choice(odd, x.shape), x)
    arguments = (x, window[:2], window[2:], pads)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(image_shares, "_SHARED", 1)
        patch.setattr(image_shares.team, "members", lambda: 3)
        patch.setattr(pooling.compiled, "made", lambda _: None)
        wanted = pooling.max_pool(*arguments)
        asked: list[str] = []
        patch.setattr(pooling.compiled, "made", lambda name: asked.append(name) or kernels[name])
        found = pooling.max_pool(*arguments)
    assert asked == ["peaks"]
    assert found.dtype == wanted.dtype
    # In helper threads denormal numbers are zeros, and none is larger than another.
    tiny = float(np.finfo(np.float32).tiny)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=tiny)


@given(
    st.integers(0, 4),
    st.tuples(*[st.integers(1, 4)] * 4),
    st.tuples(st.integers(4, 9), st.integers(4, 9)),
    st.tuples(*[st.tuples(st.integers(0, 2), st.integers(0, 2))] * 2),
    st.integers(1, 20),
    st.booleans(),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
@example(1, (2, 1, 2, 1), (4, 4), ((1, 0), (0, 0)), 2, False, False, 1)
@example(2, (2, 2, 2, 2), (6, 8), ((1, 1), (1, 1)), 3, False, True, 3)
def test_a_gradient_of_windows_anywhere(
    kernels: dict[str, Any],
    count: int,
    window: tuple[int, int, int, int],
    sizes: tuple[int, int],
    pads: tuple[tuple[int, int], tuple[int, int]],
    channels: int,
    is_given: bool,
    rectified: bool,
    seed: int,
) -> None:
    """Windows overlap, skip pixels, or reach beyond the image; sums have NumPy's order."""
    random = np.random.default_rng(seed)
    x = random.integers(-1, 3, (count, *sizes, channels)).astype(np.float32)
    if seed % 4 == 0 and x.size:
        x[random.random(x.shape) < 0.02] = np.nan  # those use the walk over each window
    y = pooling.max_pool(x, window[:2], window[2:], pads)
    if is_given:  # passed by a user: not the maxima of these images
        y = random.integers(-1, 3, y.shape).astype(np.float32)
    dy = random.standard_normal(y.shape).astype(np.float32)
    dy[random.random(dy.shape) < 0.1] = np.inf
    arguments = (x, y, dy, window[:2], window[2:], pads)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(image_shares, "_SHARED", 1)
        patch.setattr(image_shares.team, "members", lambda: 3)
        patch.setattr(pooling.compiled, "made", lambda _: None)
        wanted = pooling.max_pool_gradient(*arguments)
        if rectified:
            wanted = np.where(x > 0, wanted, np.float32(0))
        patch.setattr(pooling.compiled, "made", kernels.__getitem__)
        out = np.full_like(x, np.nan) if seed % 2 else None
        found = pooling.max_pool_gradient(*arguments, "first", rectified, out)
    assert out is None or found is out
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_images_are_shared_among_threads(
    count: int, kernels: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(count)
    x = random.integers(0, 3, (count, 6, 4, 5)).astype(np.float32)
    y = x.reshape(count, 3, 2, 2, 2, 5).max((2, 4))
    dy = random.standard_normal(y.shape).astype(np.float32)
    arguments = (x, y, dy, (2, 2), (2, 2), ((0, 0), (0, 0)))
    wanted = pooling.max_pool_gradient(*arguments)
    asked: list[str] = []
    monkeypatch.setattr(image_shares, "_SHARED", 1)
    monkeypatch.setattr(image_shares.team, "members", lambda: 3)
    monkeypatch.setattr(pooling.compiled, "made", lambda name: asked.append(name) or kernels[name])
    np.testing.assert_array_equal(pooling.max_pool_gradient(*arguments), wanted)
    assert asked == ["maxima"]
