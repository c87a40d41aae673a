"""A scalar argument as a NumPy scalar, which is not an array, in every compiled form.

Datasets and kernels return such scalars: `array[3]`, `array.sum()`. The plan's results are
expected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine import rejections
from pinnace.framework import config
from tests.unit.engine.test_tiers import normal

if TYPE_CHECKING:
    from collections.abc import Callable


def window(first: Any, rows: Any, factor: Any) -> Any:
    """As `timeseries_dataset_from_array` computes the indices of a batch."""
    last = tf.minimum(first * 8 + 8, 100)
    return tf.range(8) * 2 + rows * first + last, tf.cast(last, tf.float32) * factor + 1.0


def scaled(first: Any, rows: Any, factor: Any) -> Any:
    large = tf.tile(tf.cast(rows, tf.float32)[:, None], [8, 512])
    return tf.tanh(large * factor + 0.25) * tf.exp(-large * tf.cast(first, tf.float32))


def added(first: Any, rows: Any, factor: Any) -> Any:
    """A loop over scalars."""
    return tf.while_loop(
        lambda i, _: i < first, lambda i, a: (i + 1, a * 0.5 + factor), [first * 0, factor]
    )[1] + tf.cast(rows, tf.float32)


def decayed(first: Any, rows: Any, factor: Any) -> Any:
    """A loop over arrays."""
    x = tf.cast(rows, tf.float32)
    return tf.while_loop(
        lambda i, _: i < first, lambda i, a: (i + 1, tf.tanh(a * factor + x)), [first * 0, x]
    )[1]


def layered(first: Any, rows: Any, factor: Any) -> Any:
    """Products with weights, one of which is scaled by an argument."""
    weights = tf.constant(np.random.default_rng(1).standard_normal((512, 64)), tf.float32)
    large = tf.tile(tf.cast(rows, tf.float32)[:, None], [4, 512]) / 512.0
    x = tf.nn.relu(tf.matmul(large, weights) * factor)
    return tf.matmul(x, weights, transpose_b=True) + tf.cast(first, tf.float32)


PROGRAMS = [window, scaled, added, decayed, layered]


@pytest.mark.parametrize("tier", ["auto", "compiled"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_numbers(program: Callable[..., Any], tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rejections, "_record", rejections._Record())
    function = tf.function(
        program,
        input_signature=[
            tf.TensorSpec([], tf.int32),
            tf.TensorSpec([8], tf.int32),
            tf.TensorSpec([], tf.float32),
        ],
    )
    concrete = function.get_concrete_function()
    captured = concrete._captured_arrays
    plan = concrete.plan
    rows = np.arange(8, dtype=np.int32)
    as_arrays = [np.array(5, np.int32), rows, np.array(0.75, np.float32), *captured]
    as_numbers = [np.int32(5), rows, np.float32(0.75), *captured]
    monkeypatch.setattr(config.settings, "tier", "plan")
    wanted = plan(as_arrays)
    monkeypatch.setattr(config.settings, "tier", tier)
    for number in range(16):
        for given in (as_numbers, as_arrays) if number % 2 else (as_arrays, as_numbers):
            found = plan(given)
            for one, other in zip(found, wanted, strict=True):
                # As in `test_tiers`.
                np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    assert not rejections.rejected()


def test_a_dataset_of_windows_rejects_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rejections, "_record", rejections._Record())
    data = normal(200, 2)
    windows = tf.keras.utils.timeseries_dataset_from_array(
        data, data[:, 0], sequence_length=10, batch_size=8
    )
    for _ in range(4):
        found = list(windows)
    np.testing.assert_array_equal(found[3][0].numpy()[2], data[26:36])
    assert not rejections.rejected()
