"""custom_gradient of a function whose arguments are named in the call."""

import numpy as np
import pytest

import pinnace as tf


@tf.custom_gradient
def scaled(x, y, power=1.0, *, flag=None, mode="a"):
    """x * y with the derivatives 10 dy and 20 dy."""
    del flag, mode

    def grad(dy):
        return 10.0 * dy, 20.0 * dy

    return x * y**power, grad


@tf.custom_gradient
def alone(x, scale=2.0, name=None):
    del name

    def grad(dy):
        return 7.0 * dy

    return x * scale, grad


X, Y = 3.0, 5.0
CALLS = {
    "by position": lambda x, y: scaled(x, y),
    "the last by name": lambda x, y: scaled(x, y=y),
    "all by name": lambda x, y: scaled(x=x, y=y),
    "in another order": lambda x, y: scaled(y=y, x=x),
    "with a text": lambda x, y: scaled(x=x, y=y, mode="b"),
    "with a bool": lambda x, y: scaled(x, y=y, flag=tf.constant(True)),
    "all, with a bool": lambda x, y: scaled(flag=tf.constant(True), y=y, x=x),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("variables", [False, True])
def test_named_arguments_have_the_gradients_of_their_parameters(call, traced, variables):
    made = tf.Variable if variables else tf.constant
    x, y = made(X), made(Y)

    def gradients():
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            z = CALLS[call](x, y)
        return tape.gradient(z, [x, y])

    found = tf.function(gradients)() if traced else gradients()
    np.testing.assert_array_equal(found, [10.0, 20.0])


@pytest.mark.parametrize("traced", [False, True])
def test_options_by_name_have_no_gradient(traced):
    x = tf.constant(X)

    def gradient():
        with tf.GradientTape() as tape:
            tape.watch(x)
            z = alone(x=x, scale=4.0, name="z") + alone(x, scale=4.0)
        return z, tape.gradient(z, x)

    value, found = (tf.function(gradient) if traced else gradient)()
    np.testing.assert_array_equal([value, found], [24.0, 14.0])


def test_a_number_by_name_beside_a_tensor_takes_its_place_in_the_gradients():
    y = tf.constant(Y)
    with tf.GradientTape() as tape:
        tape.watch(y)
        z = scaled(x=3.0, y=y)
    assert float(tape.gradient(z, y)) == 20.0


def test_structures_and_arrays_by_name():
    @tf.custom_gradient
    def pair(parts, weights):
        def grad(dy):
            return {"a": 2.0 * dy, "b": 3.0 * dy}, 4.0 * dy

        return (parts["a"] + parts["b"]) * weights, grad

    a, b = tf.constant([1.0]), tf.constant([2.0])
    with tf.GradientTape() as tape:
        tape.watch([a, b])
        z = pair(weights=np.float32([2.0]), parts={"a": a, "b": b})
    np.testing.assert_array_equal(tape.gradient(z, [a, b]), [[2.0], [3.0]])


def test_second_derivatives_and_nested_tapes():
    @tf.custom_gradient
    def cube(x):
        return x**3, lambda dy: dy * 3.0 * x**2

    x = tf.constant(2.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = cube(x=x)
        first = inner.gradient(y, x)
    np.testing.assert_allclose([first, outer.gradient(first, x)], [12.0, 12.0])


@pytest.mark.parametrize("traced", [False, True])
def test_variables_that_are_read_have_theirs_too(traced):
    v = tf.Variable(4.0)

    @tf.custom_gradient
    def read(x, offset=0.0):
        def grad(dy, variables=None):
            assert [variable is v for variable in variables] == [True]
            return 5.0 * dy, [6.0 * dy]

        return x * v + offset, grad

    x = tf.constant(2.0)

    def gradients():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = read(offset=1.0, x=x)
        return tape.gradient(y, [x, v])

    np.testing.assert_array_equal((tf.function(gradients) if traced else gradients)(), [5.0, 6.0])


def test_a_layer_that_calls_it_by_name_is_trained():
    class Reversed(tf.keras.layers.Layer):
        def build(self, input_shape):
            self.w = self.add_weight(shape=(input_shape[-1], 1), initializer="ones")

        def call(self, x):
            return turned(x=x @ self.w)

    @tf.custom_gradient
    def turned(x):
        return tf.identity(x), lambda dy: -dy

    model = tf.keras.Sequential([tf.keras.Input((2,)), Reversed()])
    model.compile(tf.keras.optimizers.SGD(0.5), lambda _y, p: p)
    model.fit(np.ones((4, 2)), np.zeros((4, 1)), verbose=0)
    np.testing.assert_allclose(model.get_weights()[0], 1.5)


def test_the_wrong_number_of_gradients_is_an_error():
    @tf.custom_gradient
    def wrong(x, y):
        return x * y, lambda dy: (dy, dy, dy)

    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        z = wrong(x=x, y=x)
    with pytest.raises(ValueError, match="must give 2 gradients, gave 3"):
        tape.gradient(z, x)
