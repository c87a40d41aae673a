"""Values that are joined and split again: the parts themselves, with the same numbers."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine.passes.fold import fold
from pinnace.engine.passes.inline import inline
from pinnace.engine.passes.shortcuts import shortened
from pinnace.framework.specs import TensorSpec
from pinnace.graph.walk import ordered

CACHE = TensorSpec([2, 3, 5, 4], np.float32, name="cache")
NEW = TensorSpec([3, 1, 4], np.float32, name="new")
RNG = np.random.default_rng(4)


def kinds(function: Any) -> Counter[str]:
    """The remaining ops."""
    graph = shortened(fold(inline(function.graph)))
    return Counter(node.op.name for node in ordered(graph))


def decoded(cache: Any, new: Any) -> Any:
    """As a transformer's decoder keeps keys and values."""
    keys, values = tf.unstack(cache)
    keys, values = tf.concat([keys, new], 1), tf.concat([values, new * 2.0], 1)
    both = tf.stack([keys, values])
    return keys, values, both[:, :, :-1], both[:, :, -1:]


def test_a_cache_that_is_appended_to_is_taken_as_it_was() -> None:
    function = tf.function(decoded).get_concrete_function(CACHE, NEW)
    left = kinds(function)
    # Only the new part's stack remains, and no slice.
    assert left["Pack"] == 1
    assert "StridedSlice" not in left
    cache, new = (RNG.standard_normal(spec.shape).astype("f4") for spec in (CACHE, NEW))
    found = function(tf.constant(cache), tf.constant(new))
    grown = [np.concatenate([cache[i], (1 + i) * new], 1) for i in (0, 1)]
    for one, wanted in zip(found, [*grown, cache, np.stack([new, 2 * new])], strict=True):
        np.testing.assert_array_equal(one.numpy(), wanted)


def test_what_is_given_back_is_nobody_elses() -> None:
    """The shortcut leads to an argument, which is copied when it is returned."""
    function = tf.function(decoded).get_concrete_function(CACHE, NEW)
    cache, new = (RNG.standard_normal(spec.shape).astype("f4") for spec in (CACHE, NEW))
    given = tf.constant(cache)
    _, _, before, _ = function(given, tf.constant(new))
    again = function(tf.constant(cache + 1), tf.constant(new))
    np.testing.assert_array_equal(before.numpy(), cache)
    np.testing.assert_array_equal(again[2].numpy(), cache + 1)
    np.testing.assert_array_equal(given.numpy(), cache)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_a_pack_of_one_is_the_tensor_with_an_axis_more(axis: int) -> None:
    spec = TensorSpec([3, 4], np.float32)
    function = tf.function(lambda x: tf.stack([x], axis)).get_concrete_function(spec)
    assert kinds(function)["Pack"] == 0
    x = RNG.standard_normal((3, 4)).astype("f4")
    np.testing.assert_array_equal(function(tf.constant(x)).numpy(), np.expand_dims(x, axis))


def test_a_pack_of_one_variable_keeps_its_value_as_of_the_call() -> None:
    variable = tf.Variable(np.ones((2, 3), np.float32))

    @tf.function
    def packed() -> Any:
        before = tf.stack([variable])
        variable.assign_add(np.ones((2, 3), np.float32))
        return before, tf.stack([variable])

    first, second = packed()
    packed()
    np.testing.assert_array_equal(first.numpy(), np.ones((1, 2, 3)))
    np.testing.assert_array_equal(second.numpy(), np.full((1, 2, 3), 2))


def test_a_pack_of_one_multiplies_as_a_batch_of_one() -> None:
    table = tf.constant(RNG.standard_normal((7, 4)).astype("f4"))
    spec = TensorSpec([1, None, 4], np.float32)
    function = tf.function(
        lambda x: tf.matmul(x, tf.stack([table]), transpose_b=True)
    ).get_concrete_function(spec)
    x = RNG.standard_normal((1, 3, 4)).astype("f4")
    np.testing.assert_allclose(function(tf.constant(x)).numpy(), x @ table.numpy().T, rtol=1e-5)


# Programs in which nothing or only some steps may be removed: the function, and its NumPy form.


def joined(*parts: Any, axis: int = 1) -> Any:
    return np.concatenate(parts, axis)


OTHERS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "a part of a part": (
        lambda x, y: tf.concat([x, y], 1)[:, :3],
        lambda x, y: joined(x, y)[:, :3],
    ),
    "across the joint": (
        lambda x, y: tf.concat([x, y], 1)[:, 4:7],
        lambda x, y: joined(x, y)[:, 4:7],
    ),
    "every second": (
        lambda x, y: tf.concat([x, y], 1)[:, 0:5:2],
        lambda x, y: joined(x, y)[:, 0:5:2],
    ),
    "backwards": (
        lambda x, y: tf.concat([x, y], 1)[:, 4::-1],
        lambda x, y: joined(x, y)[:, 4::-1],
    ),
    "another axis, too": (
        lambda x, y: tf.concat([x, y], 1)[1:, :5],
        lambda x, y: joined(x, y)[1:, :5],
    ),
    "the second part": (
        lambda x, y: tf.concat([x, y, x], 1)[:, 5:10],
        lambda x, y: joined(x, y, x)[:, 5:10],
    ),
    "the last part": (
        lambda x, y: tf.concat([x, y, x * 2.0], 1)[:, -5:],
        lambda x, y: joined(x, y, x * 2)[:, -5:],
    ),
    "one of the stack": (
        lambda x, y: tf.stack([tf.concat([x, y], 0), tf.concat([y, x], 0)])[1:, :3],
        lambda x, y: np.stack([joined(x, y, axis=0), joined(y, x, axis=0)])[1:, :3],
    ),
    "in another order": (
        lambda x, y: tf.stack(tf.unstack(x + y, 3)[::-1]),
        lambda x, y: (x + y)[::-1],
    ),
    "along another axis": (
        lambda x, y: tf.stack(tf.unstack(x + y, 3), 1),
        lambda x, y: (x + y).swapaxes(0, 1),
    ),
    "along the same axis": (
        lambda x, y: tf.stack(tf.unstack(x + y, axis=1), 1),
        lambda x, y: x + y,
    ),
    "not all of them": (
        lambda x, y: tf.stack(tf.unstack(x + y, 3)[:2]),
        lambda x, y: (x + y)[:2],
    ),
    "an axis that goes": (
        lambda x, y: tf.concat([x, y], 1)[:, 5],
        lambda x, y: joined(x, y)[:, 5],
    ),
    "an axis that comes": (
        lambda x, y: tf.concat([x, y], 1)[:, :5, None],
        lambda x, y: joined(x, y)[:, :5, None],
    ),
    "an ellipsis": (
        lambda x, y: tf.concat([x, y], 2)[..., :4],
        lambda x, y: joined(x, y, axis=2)[..., :4],
    ),
    "nothing of it": (
        lambda x, y: tf.concat([x, y], 1)[:, 5:5],
        lambda x, y: joined(x, y)[:, 5:5],
    ),
    "beyond its end": (
        lambda x, y: tf.concat([x, y], 1)[:, 5:99],
        lambda x, y: joined(x, y)[:, 5:99],
    ),
}


@pytest.mark.parametrize("rows", [3, None])
@pytest.mark.parametrize("name", OTHERS)
def test_slices_and_stacks_are_the_same_numbers(name: str, rows: int | None) -> None:
    function, wanted = OTHERS[name]
    spec = TensorSpec([rows, 5, 4], np.float32)
    made = tf.function(function).get_concrete_function(spec, spec)
    x, y = (RNG.standard_normal((3, 5, 4)).astype("f4") for _ in range(2))
    found = made(tf.constant(x), tf.constant(y)).numpy()
    np.testing.assert_array_equal(found, wanted(x, y))


def test_effects_in_between_stay_in_order() -> None:
    log: list[int] = []

    @tf.function
    def program(x: Any) -> Any:
        parts = tf.unstack(x)
        tf.py_function(lambda: log.append(1), [], [])
        whole = tf.stack(parts)
        with tf.control_dependencies([whole]):
            tf.py_function(lambda: log.append(2), [], [])
        return whole

    x = RNG.standard_normal((2, 3)).astype("f4")
    np.testing.assert_array_equal(program(tf.constant(x)).numpy(), x)
    assert log == [1, 2]
