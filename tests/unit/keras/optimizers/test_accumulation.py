"""gradient_accumulation_steps: the mean gradient of several calls makes one update."""

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace import keras
from pinnace.keras import optimizers

GRADIENTS = np.array([[1.0, -2.0], [3.0, 0.5], [-1.0, 4.0], [0.25, 8.0], [2.0, 2.0]], np.float32)


def applied(optimizer: Any, gradients: Any, traced: bool) -> list[Any]:
    """The value of a variable after each gradient."""
    variable = tf.Variable([1.0, -1.0])
    optimizer.build([variable])

    def step(gradient: Any) -> None:
        optimizer.apply([gradient], [variable])

    run = tf.function(step) if traced else step
    values = []
    for gradient in gradients:
        run(tf.constant(gradient))
        values.append(variable.numpy())
    return values


@pytest.mark.parametrize("traced", [False, True])
def test_sgd_subtracts_the_mean_of_each_group(traced: bool) -> None:
    optimizer = optimizers.SGD(0.5, gradient_accumulation_steps=2)
    values = applied(optimizer, GRADIENTS, traced)
    first = np.array([1.0, -1.0])
    second = first - 0.5 * (GRADIENTS[0] + GRADIENTS[1]) / 2
    third = second - 0.5 * (GRADIENTS[2] + GRADIENTS[3]) / 2
    for value, wanted in zip(values, [first, second, second, third, third], strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-6)
    # Remaining gradients wait for the next call.
    np.testing.assert_array_equal(optimizer.slot("gradient_accumulator", _only(optimizer)), [2, 2])
    assert optimizer.iterations.numpy() == 2


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("name", ["Adam", "AdamW", "Nadam", "RMSprop", "Lion", "Ftrl", "Adafactor"])
def test_groups_are_steps_with_their_mean(name: str, traced: bool) -> None:
    make = getattr(optimizers, name)
    options: dict[str, Any] = {"clipnorm": 1.5}
    grouped = make(0.25, gradient_accumulation_steps=2, **options)
    found = applied(grouped, GRADIENTS[:4], traced)[1::2]
    means = GRADIENTS[:4].reshape(2, 2, 2).mean(1)
    wanted = applied(make(0.25, **options), means, traced)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_a_schedule_counts_calls() -> None:
    # As in Keras 3.15: the first update is made at call 1, the second at call 3.
    rate = optimizers.schedules.PiecewiseConstantDecay([1], [1.0, 0.125])
    values = applied(optimizers.SGD(rate, gradient_accumulation_steps=2), [[1.0, 1.0]] * 4, False)
    np.testing.assert_allclose([v[0] for v in values], [1.0, 0.0, 0.0, -0.125], rtol=1e-6)


def test_weights_decay_only_where_they_change() -> None:
    optimizer = optimizers.SGD(0.5, weight_decay=0.5, gradient_accumulation_steps=2)
    values = applied(optimizer, np.zeros((4, 2), np.float32), False)
    np.testing.assert_allclose([v[0] for v in values], [1, 0.75, 0.75, 0.5625], rtol=1e-6)


def test_it_stands_in_the_configuration_and_trains_a_model() -> None:
    again = optimizers.Adam.from_config(optimizers.Adam(gradient_accumulation_steps=3).get_config())
    assert again.gradient_accumulation_steps == 3
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, kernel_initializer="ones")])
    model.compile(optimizers.SGD(0.125, gradient_accumulation_steps=2), "mse")
    x, y = np.float32([[1, 2], [3, 4], [0, 1], [1, 0]]), np.zeros((4, 1), np.float32)
    model.fit(x, y, batch_size=2, shuffle=False, verbose=0)
    other = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, kernel_initializer="ones")])
    other.compile(optimizers.SGD(0.125), "mse")
    other.fit(x, y, batch_size=4, shuffle=False, verbose=0)
    np.testing.assert_allclose(model.get_weights()[0], other.get_weights()[0], rtol=1e-6)


@pytest.mark.parametrize("steps", [1, -2, 2.5])
def test_fewer_than_two_steps_are_refused(steps: Any) -> None:
    with pytest.raises(ValueError, match="gradient_accumulation_steps must be an integer of at"):
        optimizers.SGD(gradient_accumulation_steps=steps)


def test_several_replicas_are_refused() -> None:
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    with strategy.scope():
        variable = tf.Variable([1.0])
        optimizer = optimizers.SGD(gradient_accumulation_steps=2)
        optimizer.build([variable])

        def step() -> None:
            optimizer.apply([tf.constant([1.0])], [variable])

        with pytest.raises(NotImplementedError, match="several replicas"):
            strategy.run(step)


# The methods that a custom optimizer calls.


def test_variables_are_made_for_others() -> None:
    optimizer = optimizers.SGD()
    variables = [tf.Variable([1.0, 2.0], name="a"), tf.Variable(3.0, name="b")]
    single = optimizer.add_optimizer_variables(variables, "speed")
    assert [v.shape.as_list() for v in single] == [[2], []]
    ones, zeros = optimizer.add_optimizer_variables(variables, ["x", "y"], ["ones", "zeros"])
    assert [float(np.sum(v)) for v in (*ones, *zeros)] == [2, 1, 0, 0]
    # Keras: the slots of one variable are adjacent.
    assert optimizer.variables[4] is ones[0]
    assert optimizer.variables[5] is zeros[0]
    with pytest.raises(ValueError, match="got 1 for 2 names"):
        optimizer.add_optimizer_variables(variables, ["x", "y"], ["ones"])


def test_assignments_cast_and_take_rows() -> None:
    optimizer, variable = optimizers.SGD(), tf.Variable([1.0, 2.0, 3.0])
    optimizer.assign(variable, tf.constant([4, 5, 6]))
    optimizer.assign_add(variable, np.float64([1, 1, 1]))
    rows = tf.IndexedSlices(tf.constant([2.0, 3.0]), tf.constant([0, 2]), tf.constant([3]))
    optimizer.assign_sub(variable, rows)
    np.testing.assert_array_equal(variable, [3, 6, 4])
    optimizer.assign_add(variable, rows)
    np.testing.assert_array_equal(variable, [5, 6, 7])
    optimizer.assign(variable, rows)
    np.testing.assert_array_equal(variable, [2, 6, 3])


def _only(optimizer: Any) -> Any:
    (target,) = optimizer._targets
    return target
