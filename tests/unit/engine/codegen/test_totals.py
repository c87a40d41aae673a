"""Clusters of training steps: scalars of rows, totals over all rows, masks, repeated values.

Expected results come from formulas in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

import pinnace as tf
from pinnace.engine.codegen import fused, totals
from pinnace.engine.codegen.fused import Fused
from pinnace.ops.kernels import team
from unit.engine.codegen.test_regions import _hot as _hot


def settled(function: Any, *arguments: Any) -> tuple[Any, list[Fused]]:
    """The function's result after its kernels were made, and its compiled regions."""
    for _ in range(8):
        found = function(*arguments)
    plan = function.get_concrete_function(*arguments).plan
    (prepared,) = plan.tiers._tier.prepared.values()
    members = prepared.layout._members.values()
    return found, [region for region in members if isinstance(region, Fused)]


def test_axes_that_are_summed() -> None:
    @tf.function
    def f(x: Any) -> Any:
        every = tf.reduce_sum(x, [0, 1, 2])
        first = tf.reduce_sum(x, 0), tf.reduce_sum(x, [1, 0], keepdims=True)
        others = tf.reduce_sum(x, 1), tf.reduce_sum(x, [0, 2]), tf.reduce_max(x, 0)
        return every, first, others, tf.raw_ops.BiasAddGrad(out_backprop=x)

    graph = f.get_concrete_function(tf.TensorSpec([4, 3, 2], tf.float32)).graph
    nodes = [node for node in graph.nodes if node.op.name in {"Sum", "Max", "BiasAddGrad"}]
    assert [totals.summed_axes(node, (4, 3, 2)) for node in nodes] == [
        *(None, 1, 2, None, None, None),
        2,
    ]


@settings(max_examples=15, deadline=None)
@given(
    rows=st.integers(1, 60),
    middle=st.integers(1, 12),
    width=st.integers(8, 200),
    threads=st.integers(1, 3),
    seed=st.integers(0, 2**32 - 1),
)
def test_gradients_of_a_norm_are_those_of_float64(
    rows: int, middle: int, width: int, threads: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    x, dy = (random.standard_normal((rows, middle, width)).astype(np.float32) for _ in range(2))
    gamma, beta = (random.standard_normal(width).astype(np.float32) for _ in range(2))
    layer = tf.keras.layers.LayerNormalization(epsilon=1e-3)
    layer.build((rows, middle, width))
    layer.set_weights([gamma, beta])

    @tf.function
    def f(x: Any, dy: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = layer(x)
        return y, *tape.gradient(y, [x, *layer.trainable_variables], dy)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fused, "_SHARED", 1)
        patch.setattr(team, "has_idle_core", lambda *_: True)
        patch.setattr(team, "size", lambda: threads)
        found, regions = settled(f, tf.constant(x), tf.constant(dy))
    if rows * middle > 1:
        assert any(region.cluster.totals for region in regions)
    x, dy = x.astype(np.float64), dy.astype(np.float64)
    centred = x - x.mean(-1, keepdims=True)
    inverse = 1 / np.sqrt(np.square(centred).mean(-1, keepdims=True) + 1e-3)
    normed = centred * inverse
    slope = dy * gamma
    mean, along = slope.mean(-1, keepdims=True), (slope * normed).mean(-1, keepdims=True)
    wanted = [
        normed * gamma + beta,
        inverse * (slope - mean - normed * along),
        (dy * normed).sum((0, 1)),
        dy.sum((0, 1)),
    ]
    # Sums of up to 720 numbers around 1, and rows of 8 with a deviation of down to a tenth.
    for got, exact in zip(found, wanted, strict=True):
        scale = np.abs(exact).max() + 1
        np.testing.assert_allclose(got.numpy(), exact, rtol=1e-4, atol=3e-5 * scale)


MASKS = [
    (3, 1, 1, 16),
    (1, 1, 7, 16),
    (7, 16),
    (16,),
    (3, 1, 7, 16),
    (1, 5, 1, 16),
    (3, 5, 7, 16),
    (3, 5, 7, 1),
    (5, 1, 16),
    (3, 1, 7, 1),
]


@pytest.mark.parametrize("shape", MASKS)
def test_masks_of_every_shape_choose(shape: tuple[int, ...]) -> None:
    random = np.random.default_rng(len(shape))
    x, dy = (random.standard_normal((3, 5, 7, 16)).astype(np.float32) for _ in range(2))
    mask = random.random(shape) < 0.7

    @tf.function
    def f(x: Any, mask: Any, dy: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.softmax(tf.where(mask, x * 0.5, -1e9))
        return y, tape.gradient(y, x, dy)

    (y, dx), _ = settled(f, tf.constant(x), tf.constant(mask), tf.constant(dy))
    exact = special.softmax(np.where(mask, x.astype(np.float64) * 0.5, -1e9), axis=-1)
    slope = (dy - (dy * exact).sum(-1, keepdims=True)) * exact
    np.testing.assert_allclose(y.numpy(), exact, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(dx.numpy(), np.where(mask, slope * 0.5, 0), rtol=1e-4, atol=1e-6)


def test_a_mask_that_serves_several_rows_is_read_where_it_lies() -> None:
    x = np.random.default_rng(1).standard_normal((4, 2, 8, 16)).astype(np.float32)
    mask = np.random.default_rng(2).random((4, 1, 1, 32)) < 0.5

    @tf.function
    def f(x: Any, mask: Any) -> Any:
        return tf.matmul(tf.nn.softmax(tf.where(mask, x, -1e9)), tf.eye(16))

    # Every second number of a longer mask: no row of it is contiguous.
    given = tf.constant(mask)[..., ::2]
    found, regions = settled(f, tf.constant(x), given)
    assert len(regions) == 1
    exact = special.softmax(np.where(mask[..., ::2], x.astype(np.float64), -1e9), axis=-1)
    np.testing.assert_allclose(found.numpy(), exact, rtol=1e-5, atol=1e-8)


def test_a_number_that_is_repeated_fills_the_whole_value() -> None:
    @tf.function
    def f(x: Any) -> Any:
        return tf.broadcast_to(x, [8, 4, 32]) / 2.0, tf.broadcast_to(x * 3.0, [8, 4, 32])

    found, _ = settled(f, tf.constant(3.0))
    np.testing.assert_array_equal(found[0].numpy(), np.full((8, 4, 32), 1.5, np.float32))
    np.testing.assert_array_equal(found[1].numpy(), np.full((8, 4, 32), 9, np.float32))


def test_numbers_of_rows_are_given_in_their_own_shape() -> None:
    @tf.function
    def f(x: Any) -> Any:
        top = tf.reduce_max(x, [1, 2], keepdims=True)
        total = tf.reduce_sum(tf.exp(x - top), [1, 2], keepdims=True)
        return tf.exp(x - top) / total, top + tf.math.log(total), top

    x = np.random.default_rng(1).standard_normal((6, 5, 20)).astype(np.float32)
    (shares, logarithm, top), regions = settled(f, tf.constant(x))
    assert len(regions) == 1
    exact = x.astype(np.float64)
    np.testing.assert_array_equal(top.numpy(), x.max((1, 2), keepdims=True))
    wanted = special.logsumexp(exact, axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(logarithm.numpy(), wanted, rtol=1e-5)
    np.testing.assert_allclose(shares.numpy(), np.exp(exact - wanted), rtol=1e-5)


def test_a_total_that_the_same_rows_need_is_made_before_them() -> None:
    @tf.function
    def f(x: Any) -> Any:
        y = x * 2.0 + 1.0
        total = tf.reduce_sum(y, 0)
        return (y - total) * y, total

    x = np.random.default_rng(1).standard_normal((40, 24)).astype(np.float32)
    (z, total), _ = settled(f, tf.constant(x))
    y = x.astype(np.float64) * 2 + 1
    np.testing.assert_allclose(total.numpy(), y.sum(0), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(z.numpy(), (y - y.sum(0)) * y, rtol=1e-4, atol=1e-4)


def test_totals_do_not_depend_on_threads_and_begin_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    @tf.function
    def f(x: Any) -> Any:
        y = tf.tanh(x) * x
        return y, tf.reduce_sum(y, [0, 1]), tf.reduce_sum(x, [0, 1], keepdims=True)

    x = np.random.default_rng(1).standard_normal((50, 40, 32)).astype(np.float32)
    monkeypatch.setattr(fused, "_SHARED", 1)
    monkeypatch.setattr(team, "has_idle_core", lambda *_: True)
    answers = []
    for threads in (1, 2, 3, 2):
        monkeypatch.setattr(team, "size", lambda threads=threads: threads)
        found, regions = settled(f, tf.constant(x))
        (region,) = regions
        assert len(region.cluster.totals) == 2
        answers.append([one.numpy() for one in found])
    for answer in answers[1:]:
        for got, first in zip(answer, answers[0], strict=True):
            np.testing.assert_array_equal(got, first)
    exact = x.astype(np.float64)
    wanted = (np.tanh(exact) * exact).sum((0, 1))
    np.testing.assert_allclose(answers[0][1], wanted, rtol=1e-5)
    assert answers[0][2].shape == (1, 1, 32)
    np.testing.assert_allclose(answers[0][2][0, 0], exact.sum((0, 1)), rtol=1e-4, atol=1e-3)


def test_many_rows_are_summed_in_parts() -> None:
    """In a sequential sum of 200,000 numbers of one sign, the last would lose seven bits."""

    @tf.function
    def f(x: Any) -> Any:
        y = x * x
        return tf.reduce_sum(y, 0), tf.matmul(y, tf.eye(8))

    x = np.random.default_rng(1).random((200_000, 8)).astype(np.float32)
    (total, _), regions = settled(f, tf.constant(x))
    assert any(region.cluster.totals for region in regions)
    exact = np.square(x).astype(np.float64).sum(0)
    np.testing.assert_allclose(total.numpy(), exact, rtol=2e-5)


@settings(max_examples=20, deadline=None)
@given(
    rows=st.integers(2, 300),
    width=st.integers(8, 70),
    threads=st.integers(1, 3),
    seed=st.integers(0, 2**32 - 1),
)
def test_short_rows_are_taken_several_at_once(
    rows: int, width: int, threads: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    x, dy = (random.standard_normal((rows, width)).astype(np.float32) for _ in range(2))
    bias = random.standard_normal(width).astype(np.float32)

    @tf.function
    def f(x: Any, bias: Any, dy: Any) -> Any:
        y = tf.nn.leaky_relu(tf.nn.bias_add(x, bias), 0.3)
        slope = dy * tf.where(x + bias > 0, tf.ones_like(x), 0.3 * tf.ones_like(x))
        return tf.matmul(y, tf.eye(width)), slope * 0.5, tf.reduce_sum(dy * x, 0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fused, "_SHARED", 1)
        patch.setattr(team, "has_idle_core", lambda *_: True)
        patch.setattr(team, "size", lambda: threads)
        found, regions = settled(f, *map(tf.constant, (x, bias, dy)))
    joined = {region.cluster.rows // region._rows for region in regions}
    assert joined == {1} if rows % 2 else max(joined) > 1
    whole = x.astype(np.float64) + bias
    wanted = [
        np.where(whole > 0, whole, 0.3 * whole),
        dy * np.where(whole > 0, 0.5, 0.15),
        (dy.astype(np.float64) * x).sum(0),
    ]
    # Numbers around 1; sums of 300 of their products.
    for got, exact in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got.numpy(), exact, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize(
    "shape", [(3, 5, 4, 8, 2), (2, 3, 3, 8, 4), (2, 3, 3, 2, 8), (2, 3, 5, 4, 1), (4, 9, 16, 3)]
)
def test_factors_of_each_image_and_group_are_rows_however_few_channels(
    shape: tuple[int, ...],
) -> None:
    """As in group normalisation, whose last axis may be too short for a separate row."""
    random = np.random.default_rng(len(shape))
    x = random.standard_normal(shape).astype(np.float32)
    sizes = (shape[0], *[1] * (len(shape) - 3), *shape[-2:])
    if len(shape) == 4:
        sizes = (shape[0], 1, *shape[2:])
    scale, offset = (random.standard_normal(sizes).astype(np.float32) for _ in range(2))

    @tf.function
    def f(x: Any, scale: Any, offset: Any) -> Any:
        return tf.nn.relu(x * scale + offset)

    found, regions = settled(f, *[tf.constant(one) for one in (x, scale, offset)])
    wanted = np.maximum(x.astype(np.float64) * scale + offset, 0)
    # Two roundings of numbers below 16.
    np.testing.assert_allclose(found.numpy(), wanted, rtol=0, atol=4e-6)
    is_long = np.prod(sizes[1:]) >= 8
    assert len(regions) == is_long


@pytest.mark.parametrize(("rows", "width", "threads"), [(7, 9, 1), (300, 64, 2), (1000, 513, 3)])
def test_one_kernel_takes_any_number_of_inputs_results_and_totals(
    rows: int, width: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(rows)
    arrays = [random.standard_normal((rows, width)).astype(np.float32) for _ in range(24)]

    @tf.function
    def f(*arrays: Any) -> Any:
        sums, x = [], arrays[0]
        for array in arrays[1:]:
            x = x * 0.5 + array
            sums.append(x)
        return sums[-1], *sums[:9], *[tf.reduce_sum(one, 0) for one in sums[10:16]]

    monkeypatch.setattr(fused, "_SHARED", 1)
    monkeypatch.setattr(team, "has_idle_core", lambda *_: True)
    monkeypatch.setattr(team, "size", lambda: threads)
    found, regions = settled(f, *map(tf.constant, arrays))
    (region,) = regions
    assert len(region.cluster.inputs) >= len(arrays)
    assert (len(region.cluster.outputs), len(region.cluster.totals)) == (16, 6)
    sums, x = [], arrays[0].astype(np.float64)
    for array in arrays[1:]:
        x = x * 0.5 + array
        sums.append(x)
    wanted = [sums[-1], *sums[:9], *[one.sum(0) for one in sums[10:16]]]
    for got, exact in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got.numpy(), exact, rtol=1e-5, atol=1e-5 * np.sqrt(rows))
