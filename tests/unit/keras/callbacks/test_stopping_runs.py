"""Stopping a run between batches, by hooks that are attributes. Expectations: Keras 3.15."""

from typing import Any

import numpy as np
import pytest

import pinnace as tf

keras = tf.keras
X = np.arange(10.0)[:, None]


def compiled(**kwargs: Any) -> Any:
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, kernel_initializer="ones")])
    model.compile("sgd", "mse", **kwargs)
    return model


def stopper(model: Any, kind: str, flag: str, after: int) -> tuple[Any, list[int]]:
    told: list[int] = []

    def end(batch: int, logs: Any = None) -> None:
        del logs
        told.append(batch)
        if len(told) == after:
            setattr(model, flag, True)

    callback = keras.callbacks.Callback()
    setattr(callback, f"on_{kind}_batch_end", end)
    return callback, told


@pytest.mark.parametrize("eager", [False, True])
def test_fit_stops_after_the_batch(eager: bool) -> None:
    model = compiled(run_eagerly=eager)
    callback, told = stopper(model, "train", "stop_training", 4)
    found = model.fit(X, X, batch_size=1, epochs=3, verbose=0, callbacks=[callback])
    assert told == [0, 1, 2, 3]
    assert len(found.history["loss"]) == 1


@pytest.mark.parametrize("eager", [False, True])
def test_evaluate_stops_and_the_next_one_does_not(eager: bool) -> None:
    model = compiled(run_eagerly=eager)
    callback, told = stopper(model, "test", "stop_evaluating", 4)
    assert model.evaluate(X, X * 2, 1, verbose=0, callbacks=[callback]) == 3.5
    assert told == [0, 1, 2, 3]
    assert model.evaluate(X, X * 2, 1, verbose=0) == 28.5


@pytest.mark.parametrize("eager", [False, True])
def test_predict_stops_and_the_next_one_does_not(eager: bool) -> None:
    model = compiled(run_eagerly=eager)
    callback, told = stopper(model, "predict", "stop_predicting", 4)
    np.testing.assert_array_equal(model.predict(X, 1, verbose=0, callbacks=[callback]), X[:4])
    assert told == [0, 1, 2, 3]
    assert len(model.predict(X, 1, verbose=0)) == 10


@pytest.mark.parametrize("kind", ["test", "predict"])
def test_an_execution_of_several_steps_is_finished(kind: str) -> None:
    model = compiled(steps_per_execution=3)
    flag = {"test": "stop_evaluating", "predict": "stop_predicting"}[kind]
    callback, told = stopper(model, kind, flag, 2)
    if kind == "test":
        model.evaluate(X, X, 1, verbose=0, callbacks=[callback])
    else:
        model.predict(X, 1, verbose=0, callbacks=[callback])
    assert told == [2, 5]
