"""Custom steps, as in Keras' guides: metrics, weights, and layers built late."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pinnace as tf

keras = tf.keras
RNG = np.random.default_rng(3)
X = RNG.normal(size=(13, 3)).astype(np.float32)
Y = (RNG.random((13, 1)) > 0.4).astype(np.float32)
WEIGHTS = (RNG.random(13) * (RNG.random(13) > 0.5)).astype(np.float32)


class Guided(keras.Model):
    """The `train_step` of Keras' guide "Customizing what happens in `fit()`"."""

    def train_step(self, data: Any) -> dict[str, Any]:
        x, y, sample_weight = data
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.compute_loss(y=y, y_pred=y_pred, sample_weight=sample_weight)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply(gradients, self.trainable_variables)
        for metric in self.metrics:
            if metric.name == "loss":
                metric.update_state(loss)
            else:
                metric.update_state(y, y_pred, sample_weight=sample_weight)
        return {metric.name: metric.result() for metric in self.metrics}


def distance(y: Any, y_pred: Any) -> Any:
    return tf.abs(y - y_pred)


def guided(**metrics: Any) -> Any:
    x = keras.Input((3,))
    y = keras.layers.Dense(1, "sigmoid", kernel_initializer="ones")(x)
    model = Guided(x, y)
    model.compile(keras.optimizers.SGD(0.0), "binary_crossentropy", **metrics)
    return model


def ends(history: Any) -> dict[str, float]:
    return {name: values[-1] for name, values in history.history.items()}


OUTPUT = 1 / (1 + np.exp(-X.astype(np.float64).sum(1, keepdims=True)))
RIGHT = ((OUTPUT > 0.5) == (Y > 0.5)).astype(np.float64).ravel()
APART = np.abs(Y - OUTPUT).ravel()


@pytest.mark.parametrize(
    ("metrics", "name", "values"),
    [(["accuracy"], "accuracy", RIGHT), ([distance], "distance", APART)],
)
def test_sample_weights_are_kept_from_metrics_that_are_not_weighted(
    metrics: Any, name: str, values: Any
) -> None:
    for kind, wanted in (
        ("metrics", values.mean()),
        ("weighted_metrics", np.average(values, weights=WEIGHTS)),
    ):
        history = guided(**{kind: metrics}).fit(
            X, Y, sample_weight=WEIGHTS, batch_size=5, verbose=0
        )
        assert ends(history)[name] == pytest.approx(wanted, rel=1e-5)


def test_the_metrics_of_a_model_are_the_loss_and_those_of_compile_as_one() -> None:
    model = guided(metrics=["accuracy"], weighted_metrics=["mse"])
    assert model.metrics_names == ["loss", "compile_metrics"]
    model.fit(X, Y, sample_weight=WEIGHTS, verbose=0)
    together = model.metrics[1]
    assert [metric.name for metric in together.metrics] == ["accuracy", "mse"]
    assert set(together.result()) == {"accuracy", "mse"}
    together.reset_state()
    assert all(float(value) == 0 for value in together.result().values())
    assert guided().metrics_names == ["loss"]


def test_metrics_that_are_attributes_come_after_those_of_compile() -> None:
    class Counting(keras.Model):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.steps = keras.metrics.Sum(name="steps")

        def train_step(self, data: Any) -> dict[str, Any]:
            self.steps.update_state(1.0)
            return super().train_step(data)

    x = keras.Input((3,))
    model = Counting(x, keras.layers.Dense(1)(x))
    model.compile("sgd", "mse", metrics=["mae"])
    assert model.metrics_names == ["loss", "compile_metrics", "steps"]
    assert ends(model.fit(X, Y, batch_size=5, verbose=0))["steps"] == 3


class Coder(keras.Model):
    """A model without `call`: two models that only the step uses, as in Keras' VAE example."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = keras.Sequential([keras.layers.Dense(2, kernel_initializer="ones")])
        self.decoder = keras.Sequential([keras.layers.Dense(3, kernel_initializer="ones")])
        self.error = keras.metrics.Mean(name="loss")

    @property
    def metrics(self) -> list[Any]:
        return [self.error]

    def train_step(self, data: Any) -> dict[str, Any]:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.decoder(self.encoder(data)) - data))
        gradients = tape.gradient(loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_weights, strict=True))
        self.error.update_state(loss)
        return {"loss": self.error.result()}


@pytest.mark.parametrize("run_eagerly", [False, True])
@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_models_that_only_the_step_calls_train(optimizer: str, run_eagerly: bool) -> None:
    model = Coder()
    model.compile(optimizer, run_eagerly=run_eagerly)
    history = model.fit(X, epochs=3, verbose=0, shuffle=False).history["loss"]
    # Kernels of ones and no bias: every number of the output is twice the sum of a row.
    first = np.mean((2 * X.astype(np.float64).sum(1, keepdims=True) - X) ** 2)
    assert history[0] == pytest.approx(first, rel=1e-5)
    assert history[2] < history[1] < history[0]
    slots = {"adam": 2, "sgd": 0}[optimizer]
    assert len(model.optimizer.variables) == 2 + slots * len(model.trainable_variables)


def test_a_layer_that_only_the_step_calls_is_trained_beside_those_of_call() -> None:
    class Aided(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.main = keras.layers.Dense(1)
            self.aid = keras.layers.Dense(1)

        def call(self, x: Any) -> Any:
            return self.main(x)

        def train_step(self, data: Any) -> dict[str, Any]:
            x, y = data
            with tf.GradientTape() as tape:
                loss = self.compute_loss(x, y, self(x)) + tf.reduce_mean(self.aid(x) ** 2)
            variables = self.trainable_weights
            self.optimizer.apply(tape.gradient(loss, variables), variables)
            return {"loss": loss}

    model = Aided()
    model.compile("adam", "mse")
    before = model.fit(X, Y, verbose=0).history["loss"][0]
    assert model.fit(X, Y, epochs=20, verbose=0).history["loss"][-1] < before
    assert len(model.optimizer.variables) == 2 + 2 * 4


def test_outputs_in_a_list_are_named_after_their_layers() -> None:
    x = keras.Input((3,))
    outputs = [keras.layers.Dense(1, name=name)(x) for name in ("left", "right")]
    model = keras.Model(x, outputs)
    model.compile("sgd", {"left": "mse", "right": "mae"}, metrics={"right": ["mse"]})
    found = model.evaluate(X, [Y, Y], verbose=0, return_dict=True)
    assert set(found) == {"loss", "left_loss", "right_loss", "right_mse"}
    assert model.evaluate(X, [Y, Y], verbose=0) == [
        found[name] for name in ("loss", "left_loss", "right_loss", "right_mse")
    ]
