"""Padding and dilation in convolutions: the plan gives the same results as the single ops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework.errors import InvalidArgumentError


def ops_of(function: Any, x: Any) -> list[str]:
    concrete = function.get_concrete_function(tf.constant(x))
    return [step.node.op.name for step in concrete.plan.steps]


def check(run: Any, x: Any) -> list[str]:
    """The plan's ops; its result equals the eager one.

    Sums have up to 60 terms around 1, in another order: 60 ulps.
    """
    function = tf.function(run)
    for wanted, found in zip([run(tf.constant(x))], [function(tf.constant(x))], strict=True):
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=0, atol=60 * 2.0**-22)
    return ops_of(function, x)


@pytest.mark.parametrize("seed", range(60))
def test_drawn_convolutions(seed: int) -> None:
    random = np.random.default_rng(seed)
    axes = int(random.integers(1, 3))
    block = [int(n) for n in random.integers(1, 4, axes)]
    taps = [int(n) for n in random.integers(1, 4, axes)]
    sizes = [int(n) for n in random.integers(6, 14, axes)]
    x = random.standard_normal((2, *sizes, 3)).astype(np.float32)
    filters = random.standard_normal((*taps, 3, 5)).astype(np.float32)
    before = random.integers(0, 3, (axes, 2)).tolist()
    # As in TensorFlow: additional zeros so that blocks fit, which are removed again.
    pads = random.integers(0, 3, (axes, 2)).tolist()
    crops = []
    for axis in range(axes):
        whole = sizes[axis] + sum(before[axis]) + sum(pads[axis])
        rest = -whole % block[axis]
        pads[axis][1] += rest
        crops.append([0, rest])
        reach = (taps[axis] - 1) * block[axis] + 1
        if (whole + rest - reach) < rest + 1:
            pytest.skip("nothing is left")  # too small: another seed has one

    def run(x: Any) -> Any:
        x = tf.pad(x, [[0, 0], *before, [0, 0]])
        x = tf.space_to_batch(x, block, pads)
        x = (tf.nn.conv1d if axes == 1 else tf.nn.conv2d)(x, filters, 1, "VALID")
        return tf.batch_to_space(x, block, crops) * 2.0

    ops = check(run, x)
    assert not {"Pad", "SpaceToBatchND", "BatchToSpaceND"} & set(ops)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("depthwise", [False, True])
def test_padding_goes_into_the_window(stride: int, depthwise: bool) -> None:
    random = np.random.default_rng(0)
    x = random.standard_normal((2, 9, 8, 4)).astype(np.float32)
    filters = random.standard_normal((3, 3, 4, 1 if depthwise else 6)).astype(np.float32)

    def run(x: Any) -> Any:
        x = tf.pad(x, [[0, 0], [1, 2], [0, 1], [0, 0]])
        if depthwise:
            return tf.nn.depthwise_conv2d(x, filters, [1, stride, stride, 1], "VALID")
        return tf.nn.conv2d(x, filters, stride, "VALID")

    assert "Pad" not in check(run, x)


@pytest.mark.parametrize("others", ["none", "result", "relu", "valid"])
def test_convolutions_share_what_goes_into_them(others: str) -> None:
    """As with two gates of equal dilation, unless there is another user."""
    random = np.random.default_rng(1)
    x = random.standard_normal((2, 12, 3)).astype(np.float32)
    first, second = random.standard_normal((2, 2, 3, 5)).astype(np.float32)

    def run(x: Any) -> Any:
        padded = tf.pad(x, [[0, 0], [4, 0], [0, 0]])
        blocks = tf.space_to_batch(padded, [4], [[0, 0]])
        expanded = tf.expand_dims(blocks, 1)
        made = []
        for filters in (first, second):
            y = tf.squeeze(tf.nn.conv2d(expanded, filters[None], 1, "VALID"), [1])
            made.append(tf.batch_to_space(y, [4], [[0, 0]]))
        found = tf.tanh(made[0]) * tf.sigmoid(made[1])
        if others == "relu":
            return found + tf.reduce_sum(tf.nn.relu(blocks))
        if others == "valid":  # reads the blocks, and stays unchanged
            return found + tf.reduce_sum(tf.nn.conv2d(expanded, first[None], 1, "SAME"))
        return found + tf.reduce_sum(padded) if others == "result" else found

    ops = check(run, x)
    gone = {"Pad", "SpaceToBatchND", "BatchToSpaceND"} - set(ops)
    wanted = {
        "none": {"Pad", "SpaceToBatchND", "BatchToSpaceND"},
        "result": {"SpaceToBatchND", "BatchToSpaceND"},
        "relu": set(),
        "valid": set(),
    }
    assert gone == wanted[others]


def test_what_others_need_stays() -> None:
    filters = np.ones((3, 3, 2, 2), np.float32)
    x = np.arange(2 * 5 * 5 * 2, dtype=np.float32).reshape(2, 5, 5, 2) / 50

    def padded_twice(x: Any) -> Any:
        y = tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]])
        return tf.nn.conv2d(y, filters, 1, "VALID") + tf.reduce_sum(y)

    def padded_with_ones(x: Any) -> Any:
        y = tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], constant_values=1.0)
        return tf.nn.conv2d(y, filters, 1, "VALID")

    def padded_batch(x: Any) -> Any:
        return tf.nn.conv2d(tf.pad(x, [[1, 0], [1, 1], [1, 1], [0, 0]]), filters, 1, "VALID")

    for run in (padded_twice, padded_with_ones, padded_batch):
        assert {"Pad", "PadV2"} & set(check(run, x))


@pytest.mark.parametrize("seed", range(60))
def test_gradients_of_drawn_convolutions_do_without_zeros(seed: int) -> None:
    """As after ZeroPadding2D, or in a causal Conv1D: neither zeros nor slices are copied."""
    random = np.random.default_rng(seed)
    axes = int(random.integers(1, 3))
    depthwise = axes == 2 and seed % 3 == 0
    taps, steps, gaps = ([int(n) for n in random.integers(1, 4, axes)] for _ in range(3))
    if max(gaps) > 1:
        steps = [1] * axes  # TensorFlow does not support both
    if depthwise:
        steps, gaps = steps[:1] * axes, gaps if max(gaps) == 1 else gaps[:1] * axes
    sizes = [int(n) for n in random.integers(7, 12, axes)]
    before = random.integers(0, 4, (axes, 2)).tolist()
    x = random.standard_normal((2, *sizes, 3)).astype(np.float32)
    filters = random.standard_normal((*taps, 3, 2 if depthwise else 5)).astype(np.float32)

    def run(x: Any) -> Any:
        weights = tf.constant(filters)
        with tf.GradientTape() as tape:
            tape.watch([x, weights])
            y = tf.pad(x * 1.5, [[0, 0], *before, [0, 0]])
            if axes == 1:
                y = tf.nn.conv1d(y, weights, steps[0], "VALID", dilations=gaps[0])
            elif depthwise:
                y = tf.nn.depthwise_conv2d(y, weights, [1, *steps, 1], "VALID", dilations=gaps)
            else:
                y = tf.nn.conv2d(y, weights, steps, "VALID", dilations=gaps)
            total = tf.reduce_sum(tf.tanh(y))
        slopes = tape.gradient(total, [x, weights])
        return tf.concat([tf.reshape(one, [-1]) for one in slopes], 0)

    wanted = run(tf.constant(x))
    # Gradients of filters are sums of up to 300 products around 1, in another order.
    tolerance = 300 * 2.0**-22
    for known in (x.shape, (None, *x.shape[1:]), (None,) * (axes + 1) + (3,)):
        function = tf.function(run, input_signature=[tf.TensorSpec(known)])
        found = function(tf.constant(x))
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=0, atol=tolerance)
        concrete = function.get_concrete_function()
        ops = {step.node.op.name for step in concrete.plan.steps}
        assert not {"Pad", "Slice"} & ops


@pytest.mark.parametrize("kept", ["padded", "whole gradient", "another part"])
def test_gradients_that_need_the_zeros_keep_them(kept: str) -> None:
    random = np.random.default_rng(2)
    x = random.standard_normal((2, 7, 6, 3)).astype(np.float32)
    filters = random.standard_normal((3, 3, 3, 4)).astype(np.float32)

    def run(x: Any) -> Any:
        with tf.GradientTape() as tape:
            padded = tf.pad(x, [[0, 0], [2, 1], [0, 3], [0, 0]])
            tape.watch(padded)
            total = tf.reduce_sum(tf.tanh(tf.nn.conv2d(padded, filters, 1, "VALID")))
        slope = tape.gradient(total, padded)
        if kept == "padded":
            return slope[:, 2:-1, :-3] + tf.reduce_sum(padded)
        if kept == "whole gradient":
            return tf.slice(slope, [0, 2, 0, 0], [2, 7, 6, 3]) + tf.reduce_sum(slope)
        return tf.slice(slope, [0, 2, 0, 1], [2, 7, 6, 2])

    check(run, x)


@pytest.mark.parametrize("kept", ["padded", "shape of the padded", "both"])
def test_shapes_of_padded_images_are_there_for_others(kept: str) -> None:
    random = np.random.default_rng(3)
    x = random.standard_normal((2, 7, 3)).astype(np.float32)
    filters = random.standard_normal((3, 3, 4)).astype(np.float32)

    @tf.function(input_signature=[tf.TensorSpec([None, None, 3])])
    def run(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            padded = tf.pad(x * 2.0, [[0, 0], [2, 1], [0, 0]])
            total = tf.reduce_sum(tf.tanh(tf.nn.conv1d(padded, filters, 1, "VALID")))
        slope = tape.gradient(total, x)
        if kept != "padded":
            slope += tf.cast(tf.reduce_sum(tf.shape(padded)), tf.float32)
        return slope if kept == "shape of the padded" else slope + tf.reduce_max(padded)

    wanted = run.python_function(tf.constant(x))
    np.testing.assert_allclose(run(tf.constant(x)), wanted, rtol=0, atol=60 * 2.0**-22)


def test_sizes_that_blocks_do_not_divide_are_refused_as_before() -> None:
    filters = np.ones((2, 3, 3), np.float32)

    @tf.function(input_signature=[tf.TensorSpec((1, None, 3))])
    def f(x: Any) -> Any:
        x = tf.space_to_batch(x, [2], [[0, 0]])
        return tf.batch_to_space(tf.nn.conv1d(x, filters, 1, "VALID"), [2], [[0, 0]])

    assert f(np.ones((1, 8, 3), np.float32)).shape == (1, 6, 3)
    with pytest.raises(InvalidArgumentError):
        f(np.ones((1, 7, 3), np.float32))
