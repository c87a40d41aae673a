"""make_train_function and related methods, and the older names of losses and metrics."""

from typing import Any

import numpy as np
import pytest

import pinnace as tf

keras = tf.keras
RNG = np.random.default_rng(0)
X = RNG.normal(size=(8, 3)).astype(np.float32)
Y = RNG.normal(size=(8, 1)).astype(np.float32)


def model(kind: Any = keras.Sequential, **options: Any) -> Any:
    made = kind([keras.Input((3,)), keras.layers.Dense(1, kernel_initializer="ones")])
    made.compile(keras.optimizers.SGD(0.1), "mse", metrics=["mae"], **options)
    return made


def batches(size: int = 2) -> list[Any]:
    return [(X[i : i + size], Y[i : i + size]) for i in range(0, 8, size)]


@pytest.mark.parametrize("steps", [1, 3])
def test_train_function_takes_the_next_batches_of_an_iterator(steps: int) -> None:
    made, plain = model(steps_per_execution=steps), model()
    function = made.make_train_function()
    assert made.train_function is function is made.make_train_function()
    assert made.make_train_function(force=True) is not function
    rest = iter(batches())
    logs = function(rest)
    for batch in batches()[:steps]:
        plain.train_on_batch(*batch)
    np.testing.assert_array_equal(made.get_weights()[0], plain.get_weights()[0])
    assert set(logs) == {"loss", "mae"}
    assert len(list(rest)) == 4 - steps
    with pytest.raises(StopIteration):
        function(iter([]))


def test_test_and_predict_functions_do_not_train() -> None:
    made = model()
    before = made.get_weights()[0]
    logs = made.make_test_function()(iter([(X, Y)]))
    np.testing.assert_allclose(logs["loss"], np.mean((X.sum(1, keepdims=True) - Y) ** 2), rtol=1e-5)
    outputs = made.make_predict_function()([(X[:3],), (X[3:],)])
    np.testing.assert_allclose(outputs, X.sum(1, keepdims=True), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(made.get_weights()[0], before)
    made.compile("sgd", "mse")
    assert made.train_function is made.test_function is made.predict_function is None


def test_fit_calls_a_train_function_of_ones_own() -> None:
    calls = []

    class Own(keras.Sequential):
        def make_train_function(self, force: bool = False) -> Any:
            del force

            def function(iterator: Any) -> Any:
                calls.append(1)
                return self.train_step(next(iterator))

            self.train_function = function
            return function

    made, plain = model(Own), model()
    for one in (made, plain):
        one.fit(X, Y, epochs=2, batch_size=4, shuffle=False, verbose=0)
    assert len(calls) == 4
    for ours, theirs in zip(made.get_weights(), plain.get_weights(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


@pytest.mark.filterwarnings("ignore:`model.compiled")
def test_older_train_steps_use_compiled_loss_and_metrics() -> None:
    class Older(keras.Sequential):
        def train_step(self, data: Any) -> Any:
            x, y = data
            with tf.GradientTape() as tape:
                y_pred = self(x, training=True)
                loss = self.compiled_loss(y, y_pred, regularization_losses=self.losses)
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
            self.compiled_metrics.update_state(y, y_pred)
            return {metric.name: metric.result() for metric in self.metrics[1:]}

    made, plain = model(Older), model()
    for one in (made, plain):
        one.fit(X, Y, batch_size=4, shuffle=False, verbose=0)
    np.testing.assert_allclose(made.get_weights()[0], plain.get_weights()[0], rtol=1e-5)
    with pytest.warns(UserWarning, match=r"compiled_loss\(\)` is deprecated"):
        made.compiled_loss(Y, Y)


def test_how_steps_are_joined_is_told_to_have_no_effect() -> None:
    made = model()
    assert (made.unrolled_steps_per_execution, made.distribute_reduction_method) == (1, "auto")
    with pytest.warns(UserWarning, match="unrolled_steps_per_execution has no effect"):
        made.unrolled_steps_per_execution = 4
