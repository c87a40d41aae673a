"""Kernels write all their memory before they read it: filling it with NaN changes no bit."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine.codegen import general, kernels
from pinnace.framework import config
from pinnace.ops.kernels import compiled
from support import numba_kernels
from support.winograd import every_small_convolution_by_tiles
from tests.unit.engine.test_tiers import PROGRAMS
from unit.ops.trees import test_comparisons as trees

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.slow
pytest.importorskip("numba")

_EMPTY = "np.empty("
# Kernels that allocate memory themselves.
NAMES = [name for name in general.names() if _EMPTY in general.text(name)]


def filled(text: str) -> str:
    """The same kernel, with new arrays filled with NaN, or with a number that no step produces."""
    text = re.sub(r"np\.empty\((.+?), np\.float32\)", r"np.full(\1, np.float32(np.nan))", text)
    return re.sub(
        r"np\.empty\((.+?), np\.int64\)", r"np.full(\1, np.int64(-0x5555555555555556))", text
    )


def normal(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def norms() -> Iterator[Any]:
    """Batch norms, before a rectifier and alone, and their gradients."""
    x, scale = tf.constant(normal(0, 9, 7, 7, 33)), tf.constant(normal(1, 33))
    mean, variance = tf.constant(normal(2, 33)), tf.constant(np.abs(normal(3, 33)) + 0.5)
    for is_training in (True, False):
        for rectify in (tf.nn.relu, tf.identity):

            @tf.function
            def norm(x: Any, training: Any = is_training, rectify: Any = rectify) -> Any:
                with tf.GradientTape() as tape:
                    tape.watch([x, scale])
                    found = tf.raw_ops.FusedBatchNormV3(
                        x=x,
                        scale=scale,
                        offset=mean,
                        mean=[] if training else mean,
                        variance=[] if training else variance,
                        is_training=training,
                    )
                    y = rectify(found.y)
                    loss = tf.reduce_sum(y * y - 0.5 * y)
                return y, *tape.gradient(loss, [x, scale])

            yield norm(x)


def limits() -> Iterator[Any]:
    """Gradients of the maximum and the minimum, with ties."""
    x = tf.constant(np.random.default_rng(4).integers(-3, 3, (40, 9, 70)).astype(np.float32))
    for axis in (1, 2):
        for reduce in (tf.reduce_max, tf.reduce_min):

            @tf.function
            def shared(x: Any, reduce: Any = reduce, axis: int = axis) -> Any:
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    y = reduce(tf.nn.relu(x), axis)
                    loss = tf.reduce_sum(y * y - y)
                return y, tape.gradient(loss, x)

            yield shared(x)


def pools() -> Iterator[Any]:
    """Max pooling of images and volumes, adjacent and overlapping windows, with gradients."""
    image, volume = tf.constant(normal(5, 2, 16, 16, 19)), tf.constant(normal(6, 2, 8, 8, 8, 19))
    for size, step in ((2, 2), (3, 2), (3, 1)):
        for pool, x in ((tf.nn.max_pool2d, image), (tf.nn.max_pool3d, volume)):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = pool(x, size, step, "SAME" if size == 3 else "VALID")
                loss = tf.reduce_sum(y * y)
            yield y, tape.gradient(loss, x)


def convolutions() -> Iterator[Any]:
    """Convolutions by Winograd's tiles, with gradients."""
    x, filters = tf.constant(normal(7, 2, 14, 14, 16)), tf.constant(normal(8, 3, 3, 16, 37))
    with tf.GradientTape() as tape:
        tape.watch([x, filters])
        y = tf.nn.conv2d(x, filters, 1, "SAME")
        loss = tf.reduce_sum(y * y)
    yield y, *tape.gradient(loss, [x, filters])


def pictures() -> Iterator[Any]:
    """Pictures made smaller and larger, by each method, of few and many channels."""
    for channels in (1, 3, 19):
        x = tf.constant(normal(11, 2, 23, 17, channels))
        for method in ("bilinear", "bicubic", "lanczos3", "gaussian", "mitchellcubic"):
            for size, antialias in (([9, 31], True), ([40, 12], False)):
                yield tf.image.resize(x, size, method, antialias=antialias)


def forests(sizes: list[int]) -> Iterator[Any]:
    for rows in (1, 9, 64, 65):
        forest = trees.forest_of(sizes, of_categories=0.3)
        yield trees.predicted(forest, trees.numbers(rows))


def statements() -> Iterator[Any]:
    """Small plans and loops; products with more rows than are processed at once."""
    for program, given in DRAWN:
        yield tf.function(program)(*given)
    x, w = tf.constant(normal(9, 37, 21)), tf.constant(normal(10, 21, 21) / 8)
    yield tf.function(lambda x, w: tf.tanh(tf.matmul(tf.tanh(tf.matmul(x, w)) + x, w)))(x, w)


DRAWN = [
    (PROGRAMS[name][0], [tf.constant(one) for one in PROGRAMS[name][1]()])
    for name in ("small", "loop", "recurrence", "turns")
]
OPS: dict[str, Callable[[], Iterator[Any]]] = {
    **dict.fromkeys([name for name in NAMES if name.endswith(("projections", "slopes"))], norms),
    **dict.fromkeys(["normalised", "scaled"], norms),
    "shared_extremes": limits,
    "forest words": functools.partial(forests, [1, 5, 32, 33]),
    "forest steps": functools.partial(forests, [300, 700]),
    "statements": statements,
    **dict.fromkeys(["maxima", "stepped_maxima", "volume_peaks", "volume_maxima"], pools),
    "winograd_filter": convolutions,
    **dict.fromkeys(["resized_linearly", "resampled"], pictures),
}


def test_there_are_ops_for_each_kernel_that_takes_memory() -> None:
    assert set(OPS) == set(NAMES)
    assert all(_EMPTY not in filled(general.text(name)) for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_memory_that_a_kernel_takes_is_written_before_it_is_read(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config.settings, "tier", "compiled")
    every_small_convolution_by_tiles(monkeypatch)
    assert compiled.made(name) is not None
    wanted = [np.array(one) for found in OPS[name]() for one in tf.nest.flatten(found)]
    poisoned, calls = numba_kernels.compiled(filled(general.text(name))), []

    def counted(*given: Any) -> Any:
        calls.append(name)
        return poisoned(*given)

    monkeypatch.setattr(kernels, "_functions", {**kernels._all(), name: counted})
    found = [np.array(one) for made in OPS[name]() for one in tf.nest.flatten(made)]
    assert calls
    for one, other in zip(found, wanted, strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("kind", ["float32", "int64"])
def test_what_is_not_written_would_be_seen(kind: str) -> None:
    text = (
        f"\n@njit([types.{kind}(int64)], cache=True)\ndef kernel(n):\n"
        f"    kept = np.empty(n, np.{kind})\n    return kept[n - 1]\n"
    )
    found = numba_kernels.compiled(filled(text))(1000)
    assert np.isnan(found) if kind == "float32" else found == -0x5555555555555556
