"""TensorArray and the underlying lists: eager = traced, lists are values, with gradients."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pinnace as tf
from pinnace.framework.shapes import Shape
from pinnace.ops.composites.tensor_array import TensorArray
from pinnace.ops.state.list_values import TensorList


def _all_methods(x: Any) -> Any:
    array = TensorArray(tf.float64, 4, clear_after_read=False)
    for i in range(4):
        array = array.write(i, x[i] * float(i + 1))
    rows = TensorArray(tf.float64, 4, clear_after_read=False).unstack(x)
    pieces = TensorArray(tf.float64, 2, infer_shape=False).split(x * 2.0, [1, 3])
    placed = TensorArray(tf.float64, 4).scatter([2, 0, 3, 1], x)
    return (
        array.stack() * rows.gather([3, 2, 1, 0])
        + pieces.concat()
        + placed.stack() * rows.read(1)
        + tf.cast(array.size(), tf.float64)
    )


def test_traced_is_eager_with_gradients() -> None:
    x = tf.constant(np.random.default_rng(1).standard_normal((4, 3)))
    found = []
    for f in (_all_methods, tf.function(_all_methods)):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(f(x) ** 2)
            dx = tape.gradient(y, x)
            z = tf.reduce_sum(dx * dx)
        found.append((y.numpy(), dx.numpy(), outer.gradient(z, x).numpy()))
    for eager, traced in zip(*found, strict=True):
        np.testing.assert_allclose(traced, eager, rtol=1e-9)


def test_what_was_never_written_is_zero() -> None:
    for wrap in (lambda f: f, tf.function):
        f = wrap(lambda x: TensorArray(tf.float32, 3, element_shape=[2]).write(1, x).stack())
        np.testing.assert_array_equal(f(tf.ones([2])).numpy(), [[0, 0], [1, 1], [0, 0]])


def test_a_dynamic_array_grows() -> None:
    for wrap in (lambda f: f, tf.function):

        def f(x: tf.Tensor) -> tf.Tensor:
            array = TensorArray(tf.float32, 0, dynamic_size=True)
            for i in range(5):
                array = array.write(i, x)
            return array.stack()

        assert wrap(f)(tf.constant(2.0)).shape == (5,)


def test_reading_twice_what_was_cleared_is_an_error() -> None:
    array = TensorArray(tf.float32, 1).write(0, 1.0)
    array.read(0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="clear_after_read=False"):
        array.read(0)


def test_errors_name_the_method_and_the_range() -> None:
    with pytest.raises(
        tf.errors.OutOfRangeError, match=r"TensorArray.write: index must be in \[0, 2\), got 5"
    ):
        TensorArray(tf.float32, 2).write(5, 1.0)
    with pytest.raises((TypeError, ValueError), match=r"TensorArray\.write: elements are float32"):
        TensorArray(tf.float32, 2).write(0, tf.constant(1))
    with pytest.raises(ValueError, match=r"an element must have shape \[2\], got \[3\]"):
        TensorArray(tf.float32, 2).write(0, [1.0, 2.0]).write(1, [1.0, 2.0, 3.0])
    f = tf.function(lambda i: TensorArray(tf.float32, 2).write(i, 1.0).stack())
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"index must be in \[0, 2\), got 7"):
        f(tf.constant(7))


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_every_version_of_a_list_keeps_its_value(data: st.DataObject) -> None:
    versions: list[tuple[TensorList, dict[int, Any], int]] = [
        (TensorList(tf.float32, Shape(()), 3, {}), {}, 3)
    ]
    for step in range(data.draw(st.integers(1, 40))):
        value, items, length = versions[data.draw(st.integers(0, len(versions) - 1))]
        item = np.float32(step)
        index = data.draw(st.integers(0, length))
        longer = max(length, index + 1)
        versions.append((value.changed({index: item}, longer), {**items, index: item}, longer))
        seen, expected, count = versions[data.draw(st.integers(0, len(versions) - 1))]
        assert seen.snapshot() == expected
        assert seen.length == count


def test_threads_share_versions_of_one_list() -> None:
    root = TensorList(tf.float32, Shape(()), 4, {})
    failed = []

    def work(mark: int) -> None:
        value = root
        for step in range(300):
            value = value.changed({step % 4: mark * 1000 + step}, 4)  # type: ignore[dict-item]
            if value.get(step % 4) != mark * 1000 + step or root.get(0) is not None:
                failed.append((mark, step))

    threads = [threading.Thread(target=work, args=(mark,)) for mark in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_a_plan_keeps_nothing_from_one_run_to_the_next() -> None:
    f = tf.function(lambda x: TensorArray(tf.float32, 3).write(0, x).write(2, x).stack())
    first = f(tf.constant(1.0))
    second = f(tf.constant(2.0))
    np.testing.assert_array_equal(first.numpy(), [1, 0, 1])
    np.testing.assert_array_equal(second.numpy(), [2, 0, 2])
