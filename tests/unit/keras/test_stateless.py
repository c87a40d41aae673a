"""StatelessScope: reads and assignments in it, and refusals."""

from typing import Any

import numpy as np
import pytest

import pinnace as tf

keras = tf.keras


@pytest.fixture
def variable() -> tf.Variable:
    """A variable with three rows."""
    return tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


@pytest.mark.parametrize("how", ["update", "add", "sub", "max", "min"])
def test_rows_are_worked_on_as_outside_of_a_scope(variable: tf.Variable, how: str) -> None:
    slices = tf.IndexedSlices(tf.constant([[4.0, 1.0], [0.5, 9.0]]), tf.constant([2, 0]))
    before = variable.numpy()
    with keras.StatelessScope() as scope:
        getattr(variable, f"scatter_{how}")(slices)
        read, rows = variable.numpy(), tf.gather(variable, [2, 0]).numpy()
    np.testing.assert_array_equal(variable.numpy(), before)
    np.testing.assert_array_equal(scope.get_current_value(variable), read)
    getattr(variable, f"scatter_{how}")(slices)
    np.testing.assert_array_equal(variable.numpy(), read)
    np.testing.assert_array_equal(variable.numpy()[[2, 0]], rows)


def test_places_are_read_and_worked_on(variable: tf.Variable) -> None:
    with keras.StatelessScope([(variable, np.ones((3, 2)))]):
        variable.scatter_nd_add([[0, 1], [2, 0]], [5.0, 7.0])
        found = variable.numpy()
        places = tf.gather_nd(variable, [[0, 1], [1, 1]]).numpy()
    np.testing.assert_array_equal(found, [[1, 6], [1, 1], [8, 1]])
    np.testing.assert_array_equal(places, [6, 1])


def test_a_scope_sees_the_one_around_it(variable: tf.Variable) -> None:
    other = tf.Variable(1.0)
    with keras.StatelessScope([(other, 2.0)]):
        with keras.StatelessScope() as inner:
            assert other.numpy() == 2.0
            other.assign(3.0)
        assert other.numpy() == 2.0
    assert inner.get_current_value(other).numpy() == 3.0
    assert inner.get_current_value(variable) is None


def test_a_scope_ends_with_an_error(variable: tf.Variable) -> None:
    scope = keras.StatelessScope([(variable, np.zeros((3, 2)))])
    with pytest.raises(RuntimeError, match="mine"), scope:
        raise RuntimeError("mine")
    assert variable.numpy()[2, 1] == 6.0


def test_gradients_reach_the_values_through_assignments() -> None:
    variable, value = tf.Variable(1.0), tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(value)
        with keras.StatelessScope([(variable, value)]):
            variable.assign_add(variable * 2.0)
            square = variable * variable
    # The derivative of (3 value)² is 18 value.
    assert tape.gradient(square, value).numpy() == pytest.approx(54.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda v: v.scatter_mul(tf.IndexedSlices(tf.ones((1, 2)), tf.constant([0]))),
            "scatter_mul",
        ),
        (lambda v: v[0].assign([1.0, 1.0]), "slice"),
    ],
)
def test_what_values_cannot_do_is_refused(variable: tf.Variable, change: Any, message: str) -> None:
    with keras.StatelessScope(), pytest.raises(NotImplementedError, match=message):
        change(variable)


def test_an_assignment_in_a_traced_branch_is_refused() -> None:
    variable = tf.Variable(1.0)

    @tf.function
    def branches(x: Any) -> Any:
        with keras.StatelessScope() as scope:
            tf.cond(x > 0, lambda: variable.assign(2.0) + 0.0, lambda: variable + 0.0)
        return scope.get_current_value(variable)

    with pytest.raises(NotImplementedError, match="branch"):
        branches(tf.constant(1.0))


def test_a_variable_of_a_strategy_with_one_device() -> None:
    with tf.distribute.OneDeviceStrategy("/cpu:0").scope():
        single = tf.Variable(1.0)
    with keras.StatelessScope([(single, 2.0)]):
        assert float(single) == 2.0


def test_copies_for_replicas_are_refused(variable: tf.Variable) -> None:
    vars(variable)["values"] = (variable, variable)  # as in a MirroredVariable
    with pytest.raises(NotImplementedError, match="copy for each replica"):
        keras.StatelessScope([(variable, variable)])


def test_a_value_of_another_shape_says_both(variable: tf.Variable) -> None:
    with pytest.raises(ValueError, match=r"must have shape \[3, 2\], got \[2\]"):
        keras.StatelessScope([(variable, [1.0, 2.0])])


def test_what_a_symbolic_call_adds_to_the_loss_is_forgotten() -> None:
    layer = keras.layers.Dense(2, activity_regularizer="l1", kernel_initializer="ones")
    model = keras.Sequential([keras.Input((3,)), layer])
    assert model.losses == []
    model(np.ones((4, 3), "float32"))
    # l1: 0.01 times the sum of 4 x 2 outputs of 3, per sample.
    assert [float(x) for x in model.losses] == [pytest.approx(0.01 * 24 / 4)]
    model.compile("sgd", "mse")
    told = model.train_on_batch(np.ones((4, 3), "float32"), np.full((4, 2), 3.0, "float32"))
    assert told == pytest.approx(0.06)
