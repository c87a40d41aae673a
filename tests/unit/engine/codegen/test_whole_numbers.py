"""Small plans of features: integers, bools, one-hot codes and lookups in one kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import pinnace as tf
from pinnace.engine.codegen import small_plans
from pinnace.framework import config, errors

if TYPE_CHECKING:
    from collections.abc import Callable

RANDOM = np.random.default_rng(0)
HEIGHT = 7
KINDS = {"int32": np.int32, "int64": np.int64}
TABLE = RANDOM.standard_normal((HEIGHT, 5)).astype(np.float32)
WEIGHTS = RANDOM.standard_normal((5, 3)).astype(np.float32)


def kernel_of(function: Any, *arguments: Any) -> Callable[..., Any]:
    """Calls of the plan's kernel, which is made for these arguments."""
    concrete = function.get_concrete_function(*arguments)
    plan = concrete.plan
    captured = concrete._captured_arrays
    small = small_plans.small_plan_of(plan, [*(one._array for one in arguments), *captured])
    assert small is not None

    def call(*given: Any) -> Any:
        return small.run([*map(np.asarray, given), *captured], None)

    call.plan = plan  # type: ignore[attr-defined]  # a plan has its tables, not they it
    return call


def masked_mean(ids: Any, x: Any) -> Any:
    """Keras's graph of an embedding with `mask_zero` and a pooling."""
    held = tf.where(ids < 0, ids + HEIGHT, ids)
    rows = tf.gather(tf.constant(TABLE), held)
    mask = tf.not_equal(ids, 0)
    kept = tf.where(mask[..., None], rows, 0.0)
    total = tf.reduce_sum(tf.cast(mask, tf.float32)[..., None], 1)
    return tf.reduce_sum(kept, 1) / total + x, mask, held


@pytest.fixture(scope="module", params=sorted(KINDS))
def pooled(request: pytest.FixtureRequest) -> Any:
    kind = KINDS[request.param]
    ids = tf.constant(RANDOM.integers(-HEIGHT, HEIGHT, (1, 6)).astype(kind))
    return kind, kernel_of(tf.function(masked_mean), ids, tf.constant(TABLE[:1]))


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ids=arrays.arrays(np.int64, (1, 6), elements=st.integers(-HEIGHT, HEIGHT - 1)))
def test_rows_are_looked_up_and_masked(pooled: Any, ids: Any) -> None:
    kind, kernel = pooled
    ids = ids.astype(kind)
    found, mask, held = kernel(ids, TABLE[:1])
    wanted_mask = ids != 0
    np.testing.assert_array_equal(mask, wanted_mask)
    np.testing.assert_array_equal(held, np.where(ids < 0, ids + HEIGHT, ids))
    assert held.dtype == kind
    rows = np.where(wanted_mask[..., None], TABLE[ids], 0).astype(np.float64)
    with np.errstate(all="ignore"):
        wanted = rows.sum(1) / wanted_mask.sum(1) + TABLE[:1]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_a_text_of_80_codes_is_one_table() -> None:
    ids = RANDOM.integers(-HEIGHT, HEIGHT, (1, 80)).astype(np.int32)
    call = kernel_of(tf.function(masked_mean), tf.constant(ids), tf.constant(TABLE[:1]))
    mean, mask, held = call(ids, TABLE[:1])
    rows = np.where((ids != 0)[..., None], TABLE[ids].astype(np.float64), 0).sum(1)
    np.testing.assert_allclose(mean, rows / (ids != 0).sum() + TABLE[:1], rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(mask, ids != 0)
    np.testing.assert_array_equal(held, ids % HEIGHT)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_number_that_names_no_row_is_told_by_the_plan(kind: str) -> None:
    ids = tf.constant(np.arange(6).reshape(1, 6).astype(KINDS[kind]))
    kernel = kernel_of(tf.function(masked_mean), ids, tf.constant(TABLE[:1]))
    for wrong in (HEIGHT, -HEIGHT - 1, 2**31 - 1):
        with pytest.raises(errors.InvalidArgumentError, match=r"[Ii]ndices|index"):
            kernel(np.full((1, 6), wrong, KINDS[kind]), TABLE[:1])


def codes(x: Any, n: Any) -> Any:
    """Bucketised numbers and integers as one-hot codes that are multiplied."""
    buckets = tf.raw_ops.Bucketize(input=x, boundaries=[-1.0, 0.0, 0.0, 2.5])
    one = tf.one_hot(n, 3, on_value=2, off_value=-1, dtype=n.dtype)
    joined = tf.concat([tf.one_hot(buckets, 2), tf.cast(one, tf.float32)], 1)
    return tf.matmul(joined, tf.constant(WEIGHTS)), buckets, one


@pytest.fixture(scope="module", params=sorted(KINDS))
def coded(request: pytest.FixtureRequest) -> Any:
    kind = KINDS[request.param]
    given = tf.constant(np.zeros(4, np.float32)), tf.constant(np.zeros(4, kind))
    return kind, kernel_of(tf.function(codes), *given)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    x=arrays.arrays(np.float32, 4, elements=st.floats(width=32, allow_subnormal=False)),
    n=arrays.arrays(np.int64, 4, elements=st.integers(-(2**31), 2**31 - 1) | st.integers(-1, 4)),
)
def test_codes_and_buckets(coded: Any, x: Any, n: Any) -> None:
    kind, kernel = coded
    n = n.astype(kind)
    found, buckets, one = kernel(x, n)
    wanted = np.searchsorted(np.array([-1.0, 0.0, 0.0, 2.5], np.float32), x, side="right")
    np.testing.assert_array_equal(buckets, wanted)
    assert buckets.dtype == np.int32
    places = np.where(np.arange(3) == n[:, None], 2, -1)
    np.testing.assert_array_equal(one, places)
    assert one.dtype == kind
    first = (np.arange(2) == wanted[:, None]).astype(np.float64)
    np.testing.assert_allclose(
        found, np.concatenate([first, places], 1) @ WEIGHTS, rtol=1e-5, atol=1e-5
    )


def arithmetic(a: Any, b: Any, x: Any) -> Any:
    """Sums wrap around, divisions round down, and floats become integers and back."""
    total = a * 3 + b - a * b
    rest = tf.math.floormod(a, b) + a // b
    either = tf.logical_and(a > b, tf.logical_not(tf.equal(b, 1)))
    whole = tf.cast(x, a.dtype)
    return total, rest, tf.where(either, tf.minimum(a, b), -a), whole, tf.cast(a, tf.float32) * x


@pytest.fixture(scope="module", params=sorted(KINDS))
def counted(request: pytest.FixtureRequest) -> Any:
    kind = KINDS[request.param]
    given = [tf.constant(np.ones(shape, kind)) for shape in ((2, 3), (1, 3))]
    return kind, kernel_of(tf.function(arithmetic), *given, tf.constant(np.ones((2, 1), "f4")))


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_arithmetic_is_exact(counted: Any, data: Any) -> None:
    kind, kernel = counted
    facts = np.iinfo(kind)
    some = st.integers(-9, 9) | st.sampled_from([int(facts.min), int(facts.max)])
    a = data.draw(arrays.arrays(kind, (2, 3), elements=some))
    b = data.draw(arrays.arrays(kind, (1, 3), elements=some.filter(bool)))
    x = data.draw(arrays.arrays(np.float32, (2, 1), elements=st.floats(-99, 99, width=32)))
    x[abs(x) < np.finfo(np.float32).tiny] = 0
    total, rest, chosen, whole, product = kernel(a, b, x)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(total, a * kind(3) + b - a * b)
        np.testing.assert_array_equal(rest, np.mod(a, b) + np.floor_divide(a, b))
        either = (a > b) & (b != 1)
        np.testing.assert_array_equal(chosen, np.where(either, np.minimum(a, b), -a))
        np.testing.assert_array_equal(whole, x.astype(kind))
        np.testing.assert_array_equal(product, a.astype(np.float32) * x)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_division_by_zero_is_told_by_the_plan(kind: str) -> None:
    ones = [tf.constant(np.ones(shape, KINDS[kind])) for shape in ((2, 3), (1, 3))]
    x = np.ones((2, 1), np.float32)
    kernel = kernel_of(tf.function(arithmetic), *ones, tf.constant(x))
    with pytest.raises(errors.InvalidArgumentError):
        kernel(np.ones((2, 3), KINDS[kind]), np.zeros((1, 3), KINDS[kind]), x)


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("divisors", [(3, 5, 1), (3, 0, 2), (2, 2, 2)])
@pytest.mark.parametrize("name", ["FloorDiv", "FloorMod", "TruncateDiv", "TruncateMod"])
def test_constant_divisors_that_differ(name: str, divisors: tuple[int, ...], kind: str) -> None:
    """A vector of constants is not a single divisor; each may be zero, or -1."""
    divide = getattr(tf.raw_ops, name)
    y = np.array(divisors if kind.startswith("u") else [-divisors[0], *divisors[1:]], KINDS[kind])

    @tf.function
    def divided(x: Any) -> Any:
        z = divide(x=x, y=tf.constant(y)) * tf.constant(3, y.dtype) + x
        return tf.maximum(z, x) - tf.minimum(z, tf.constant(7, y.dtype)), z

    def called(tier: Any) -> Any:
        config.set_tier(tier)
        try:
            return [one.numpy() for one in divided(x)]
        except errors.InvalidArgumentError:
            return None

    saved = config.get_tier()
    try:
        x = tf.constant(np.array([[9, 8, 7], [0, 1, 100]], y.dtype))
        wanted, found = called("plan"), called("compiled")
    finally:
        config.set_tier(saved)
    assert (wanted is None) == (0 in divisors) == (found is None)
    for one, other in zip(wanted or (), found or (), strict=True):
        np.testing.assert_array_equal(one, other)


def test_tables_of_strings_are_looked_up_ahead_of_the_kernel() -> None:
    keys = tf.constant(["red", "green", "blue"])
    initializer = tf.lookup.KeyValueTensorInitializer(keys, tf.constant([0, 1, 2], tf.int64))
    table = tf.lookup.StaticHashTable(initializer, -1)
    weights = RANDOM.standard_normal((4, 3)).astype(np.float32)

    @tf.function
    def score(words: Any, x: Any) -> Any:
        code = tf.one_hot(table.lookup(words), 3)
        y = tf.nn.relu(tf.concat([code, x], 1) @ tf.constant(weights) + 0.5)
        return tf.sigmoid(tf.tanh(y * 2.0) - 1.0), table.lookup(words)

    words = np.array(["blue", "pink", "red"], object)
    x = np.array([[1.0], [2.0], [3.0]], np.float32)
    kernel = kernel_of(score, tf.constant(words), tf.constant(x))
    for order in ([0, 1, 2], [2, 2, 1], [1, 0, 0]):
        given = tf.constant(words[order])._array
        found, numbers = kernel(given, x)
        places = np.array([2, -1, 0])[order]
        np.testing.assert_array_equal(numbers, places)
        code = (np.arange(3) == places[:, None]).astype(np.float64)
        y = np.maximum(np.concatenate([code, x], 1) @ weights + 0.5, 0)
        wanted = 1 / (1 + np.exp(1 - np.tanh(2 * y)))
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_rows_of_a_variable_follow_assignments() -> None:
    table = tf.Variable(TABLE)

    @tf.function
    def look(ids: Any) -> Any:
        rows = tf.gather(table, ids)
        return tf.tanh(tf.matmul(rows, tf.constant(WEIGHTS)) * 2.0) + 1.0

    ids = np.array([6, 0, 3])
    kernel = kernel_of(look, tf.constant(ids))
    for scale in (1.0, -2.0):
        table.assign(TABLE * scale)
        (found,) = kernel(ids)
        wanted = np.tanh(TABLE[ids] * scale @ WEIGHTS * 2) + 1
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
