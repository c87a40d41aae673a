"""A small plan as one kernel gives the plan's results."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework import config

if TYPE_CHECKING:
    from collections.abc import Callable

RANDOM = np.random.default_rng(0)


def normal(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


@pytest.fixture(autouse=True)
def hot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls use all available machine code."""
    monkeypatch.setattr(config.settings, "tier", "auto")


def flat(results: Any) -> list[Any]:
    return [np.array(one) for one in tf.nest.flatten(results)]


def is_one_kernel(function: Any, *arguments: Any) -> bool:
    """Whether such calls run as one kernel."""
    plan = function.get_concrete_function(*arguments).plan
    prepared = [one for one in plan.tiers._tier.prepared.values() if one is not None]
    return any(one.small is not None for one in prepared)


def warmed(function: Any, *arguments: Any) -> Any:
    for _ in range(4):
        function(*arguments)
    return function


def cell(x: Any, h: Any, c: Any, w: Any, b: Any) -> Any:
    z = tf.nn.bias_add(tf.matmul(tf.concat([x, h], 1), w), b)
    i, f, new, o = tf.split(z, 4, axis=1)
    c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(new)
    return tf.sigmoid(o) * tf.tanh(c), c


def network(x: Any, w: Any, b: Any, scale: Any) -> Any:
    y = tf.nn.relu(tf.matmul(x, w, transpose_b=True) + b)
    z = y * scale - tf.reduce_sum(y, 0, keepdims=True)
    return tf.stack([z, tf.square(y)]), tf.reshape(z, [-1]), x, tf.where(y > 0.5, y, z)


def pairs(x: Any, w: Any) -> Any:
    y = tf.matmul(x, w, transpose_a=True)
    return tf.concat([tf.exp(-tf.abs(y)), y], -1), tf.zeros_like(y), tf.split(y * 2.0, [1, 3], -1)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "cell": (cell, ((5, 3), (5, 7), (5, 7), (10, 28), (28,))),
    "one row": (cell, ((1, 3), (1, 1), (1, 1), (4, 4), (4,))),
    "wide": (cell, ((17, 33), (17, 40), (17, 40), (73, 160), (160,))),
    "pairs": (pairs, ((6, 5), (6, 4))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_kernel_computes_what_the_steps_do(name: str) -> None:
    program, shapes = PROGRAMS[name]
    arguments = [tf.constant(normal(*shape)) for shape in shapes]
    function = tf.function(program)
    wanted = flat(program(*arguments))
    warmed(function, *arguments)
    found = flat(function(*arguments))
    assert is_one_kernel(function, *arguments)
    for one, other in zip(found, wanted, strict=True):
        # Sums of up to 73 products, in another order.
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("axes", [[-1], [1, 2], [0, 1, 2], [0, 1]])
def test_sums_of_rows_and_over_them(axes: list[int]) -> None:
    x, w = normal(2, 3, 5), normal(5, 5)

    def program(x: Any, w: Any) -> Any:
        y = tf.reshape(tf.matmul(tf.reshape(x, [6, 5]), w), [2, 3, 5]) * 2.0
        return tf.reduce_sum(y, axes, keepdims=True) + 1.0, tf.reduce_sum(y, axes)

    function = warmed(tf.function(program), tf.constant(x), tf.constant(w))
    assert is_one_kernel(function, tf.constant(x), tf.constant(w))
    wanted = (x.astype(np.float64) @ w * 2).sum(tuple(axes), keepdims=True)
    kept, alone = flat(function(tf.constant(x), tf.constant(w)))
    np.testing.assert_allclose(kept, wanted + 1, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(alone, wanted.squeeze(tuple(axes)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("m", "n"), [(5, 3), (2, 17)])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_other_numbers_transposed_and_rows_reversed_within_others(
    m: int, n: int, dtype: str
) -> None:
    def program(x: Any, k: Any) -> Any:
        chosen = tf.where(tf.transpose(x > 0.0), tf.transpose(x), 2.0)
        steps = tf.transpose(tf.expand_dims(k, -1), [1, 0, 2])
        both = tf.reshape(tf.concat([x, x * 2.0], -1), [m, 2, n])
        return chosen, tf.transpose(k) + 1, steps * 2, tf.reverse(both, [1]) + 1.0

    given = normal(m, n), RANDOM.integers(-9, 9, (m, n)).astype(dtype)
    arguments = [tf.constant(one) for one in given]
    function = warmed(tf.function(program), *arguments)
    assert is_one_kernel(function, *arguments)
    for one, other in zip(flat(function(*arguments)), flat(program(*arguments)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_float64_is_transposed_by_the_plan() -> None:
    x = tf.constant(RANDOM.standard_normal((5, 3)))

    def program(x: Any) -> Any:
        y = tf.transpose(x) * 2.0
        return tf.tanh(y), y + 1.0, tf.transpose(y)

    function = warmed(tf.function(program), x)
    for one, other in zip(flat(function(x)), flat(program(x)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_comparisons_choose_in_a_kernel() -> None:
    arguments = [tf.constant(normal(*shape)) for shape in ((6, 5), (4, 5), (4,), ())]
    function = warmed(tf.function(network), *arguments)
    assert is_one_kernel(function, *arguments)
    for one, other in zip(flat(function(*arguments)), flat(network(*arguments)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_what_has_no_statement_stays_a_plan() -> None:
    x, w = tf.constant(normal(6, 5)), tf.constant(normal(5, 5))

    def sort(x: Any, w: Any) -> Any:
        return tf.tanh(tf.sort(tf.matmul(tf.sort(tf.matmul(x, w) * 2.0), w)))

    function = warmed(tf.function(sort), x, w)
    assert not is_one_kernel(function, x, w)
    np.testing.assert_allclose(function(x, w), sort(x, w), rtol=1e-5, atol=1e-6)


def test_values_that_are_not_numbers_pass_through() -> None:
    x, h, c = normal(5, 3), normal(5, 7), normal(5, 7)
    x[1, 2], c[3, 4], h[2, 2] = np.nan, np.inf, -np.inf
    arguments = [tf.constant(one) for one in (x, h, c, normal(10, 28), normal(28))]
    wanted = flat(tf.function(cell)(*arguments))
    function = warmed(tf.function(cell), *arguments)
    assert is_one_kernel(function, *arguments)
    for one, other in zip(flat(function(*arguments)), wanted, strict=True):
        np.testing.assert_array_equal(np.isnan(one), np.isnan(other))
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_arrays_that_are_not_contiguous() -> None:
    x, w = normal(5, 6), normal(4, 5)
    function = tf.function(pairs)
    given = (tf.constant(normal(6, 5)), tf.constant(normal(6, 4)))
    warmed(function, *given)
    assert is_one_kernel(function, *given)
    turned = (tf.transpose(tf.constant(x)), tf.constant(np.asfortranarray(normal(6, 4))))
    for one, other in zip(flat(function(*turned)), flat(pairs(*turned)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    del w


def test_variables_are_read_at_each_call_and_may_change_their_shape() -> None:
    w = tf.Variable(normal(4, 4), shape=tf.TensorShape(None))

    @tf.function
    def function(x: Any) -> Any:
        return tf.tanh(tf.matmul(x, w) * 2.0 + 1.0) - tf.exp(-tf.matmul(x, w))

    x = tf.constant(normal(3, 4))
    warmed(function, x)
    for columns in (4, 4, 6, 4, 1):
        value = normal(4, columns)
        w.assign(value)
        y = x.numpy() @ value
        np.testing.assert_allclose(
            function(x), np.tanh(y * 2 + 1) - np.exp(-y), rtol=1e-4, atol=1e-5
        )


def test_each_call_sees_what_was_assigned_before_it() -> None:
    w, b = tf.Variable(normal(4, 4)), tf.Variable(normal(4))

    @tf.function
    def f(x: Any) -> Any:
        return tf.nn.relu(tf.nn.relu(x @ w + b) @ w + b), b.read_value()

    x = tf.constant(normal(2, 4))
    warmed(f, x)
    for turn in range(6):
        (w if turn % 2 else b).assign_add(normal(*(w if turn % 2 else b).shape))
        found, bias = f(x)
        rows = [one.numpy() for one in (x, w, b)]
        inner = np.maximum(rows[0] @ rows[1] + rows[2], 0)
        np.testing.assert_allclose(
            found, np.maximum(inner @ rows[1] + rows[2], 0), rtol=1e-4, atol=1e-5
        )
        np.testing.assert_array_equal(bias, rows[2])


def test_a_thread_that_assigns_meanwhile_leaves_whole_values() -> None:
    w = tf.Variable(np.ones((8, 8), np.float32))

    @tf.function
    def f(x: Any) -> Any:
        return tf.nn.relu(tf.nn.relu(x @ w) - 0.0) + tf.reduce_sum(w, 0) * 0.0

    x = tf.constant(np.ones((3, 8), np.float32))
    warmed(f, x)
    is_over = threading.Event()

    def assign() -> None:
        number = 0
        while not is_over.is_set():
            number += 1
            w.assign(np.full((8, 8), number, np.float32))

    thread = threading.Thread(target=assign)
    thread.start()
    try:
        for _ in range(300):
            found = f(x).numpy()
            assert np.isfinite(found).all()
            assert (found == found[0, 0]).all()
    finally:
        is_over.set()
        thread.join()


def test_results_are_new_arrays_and_arguments_stay() -> None:
    arguments = [tf.constant(normal(*shape)) for shape in PROGRAMS["cell"][1]]
    before = flat(arguments)
    function = warmed(tf.function(cell), *arguments)
    first = function(*arguments)
    kept = flat(first)
    for _ in range(3):
        function(*(one + 1.0 for one in arguments))
    for one, other in zip(flat(first), kept, strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(flat(arguments), before, strict=True):
        np.testing.assert_array_equal(one, other)


def test_threads_share_a_kernel() -> None:
    arguments = [tf.constant(normal(*shape)) for shape in PROGRAMS["wide"][1]]
    function = warmed(tf.function(cell), *arguments)
    others = [[one * scale for one in arguments] for scale in (0.5, 1.0, 1.5)]
    wanted = [flat(cell(*one)) for one in others]
    worst: list[float] = []

    def work(index: int) -> None:
        for _ in range(200):
            found = flat(function(*others[index]))
            worst.append(
                max(float(np.abs(a - b).max()) for a, b in zip(found, wanted[index], strict=True))
            )

    threads = [threading.Thread(target=work, args=(index,)) for index in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(worst) == 600
    assert max(worst) < 1e-4


def test_an_empty_batch_stays_a_plan() -> None:
    shapes = ((0, 3), (0, 7), (0, 7), (10, 28), (28,))
    arguments = [tf.constant(normal(*shape)) for shape in shapes]
    function = warmed(tf.function(cell), *arguments)
    assert not is_one_kernel(function, *arguments)
    assert [one.shape for one in flat(function(*arguments))] == [(0, 7), (0, 7)]


def test_effects_keep_a_plan() -> None:
    total = tf.Variable(np.zeros((2, 2), np.float32))

    @tf.function
    def function(x: Any) -> Any:
        y = tf.tanh(x * 2.0) + tf.exp(x)
        total.assign_add(y)
        return y - 1.0

    x = tf.constant(normal(2, 2))
    warmed(function, x)
    assert not is_one_kernel(function, x)
    before = total.numpy()
    y = function(x).numpy() + 1
    np.testing.assert_allclose(total.numpy(), before + y, rtol=1e-5)


@pytest.mark.parametrize("of_result", [False, True])
def test_what_is_checked_still_fails(of_result: bool) -> None:
    w = tf.constant(np.abs(normal(4, 4)))

    def program(x: Any) -> Any:
        y = x
        for _ in range(6):
            y = tf.nn.relu(tf.matmul(y, w) * 0.25 + 0.5) * 0.5
        checked = y if of_result else x
        with tf.control_dependencies([tf.debugging.assert_less(checked, 1e4, "too large")]):
            return tf.identity(y) * 2.0

    x, large = tf.constant(normal(2, 4)), tf.constant(np.full((2, 4), 1e9, np.float32))
    function = warmed(tf.function(program), x)
    assert of_result or is_one_kernel(function, x)
    for _ in range(2):
        with pytest.raises(tf.errors.InvalidArgumentError, match="too large"):
            function(large)
        np.testing.assert_allclose(function(x), program(x), rtol=1e-5)
