"""Common habits: an array in a list, and data that end before the epochs do."""

import warnings
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace import keras
from pinnace.keras import layers

X = np.arange(12, dtype="float32").reshape(4, 3) / 12
Y = np.ones((4, 2), "float32")


def sequential():
    model = keras.Sequential([keras.Input((3,)), layers.Dense(2, kernel_initializer="ones")])
    model.compile("sgd", "mse")
    return model


def functional():
    given = keras.Input((3,))
    model = keras.Model(given, layers.Dense(2, kernel_initializer="ones")(given))
    model.compile("sgd", "mse")
    return model


def unbuilt():
    model = keras.Sequential([layers.Dense(2, kernel_initializer="ones")])
    model.compile("sgd", "mse")
    return model


USES = {
    "predict": lambda m, wrap: m.predict(wrap(X), verbose=0),
    "fit": lambda m, wrap: m.fit(wrap(X), wrap(Y), verbose=0).history["loss"],
    "fit of x in a list": lambda m, wrap: m.fit(wrap(X), Y, verbose=0).history["loss"],
    "fit of y in a list": lambda m, wrap: m.fit(X, wrap(Y), verbose=0).history["loss"],
    "validation": lambda m, wrap: m.fit(
        wrap(X), wrap(Y), validation_data=(wrap(X), wrap(Y)), verbose=0
    ).history["val_loss"],
    "a part for validation": lambda m, wrap: m.fit(
        wrap(X), wrap(Y), validation_split=0.5, verbose=0
    ).history["val_loss"],
    "sample weights": lambda m, wrap: m.fit(
        wrap(X), wrap(Y), sample_weight=np.arange(4.0), verbose=0
    ).history["loss"],
    "evaluate": lambda m, wrap: m.evaluate(wrap(X), wrap(Y), verbose=0),
    "train_on_batch": lambda m, wrap: m.train_on_batch(wrap(X), wrap(Y)),
    "predict_on_batch": lambda m, wrap: m.predict_on_batch(wrap(X)),
    "a call": lambda m, wrap: m(wrap(X)),
    "a call on a tensor": lambda m, wrap: m(wrap(tf.constant(X)), training=True),
    "a generator": lambda m, wrap: m.fit(iter([(wrap(X), wrap(Y))]), verbose=0).history["loss"],
    "predict after predict": lambda m, wrap: (
        m.predict(X, verbose=0),
        m.predict(wrap(X), verbose=0),
    )[1],
}


@pytest.mark.parametrize("container", [list, tuple])
@pytest.mark.parametrize("make", [sequential, functional, unbuilt])
@pytest.mark.parametrize("use", USES)
def test_an_array_in_a_list_is_the_array(use, make, container):
    if container is tuple and use == "a generator":
        pytest.skip("a tuple is a batch")
    expected = USES[use](make(), lambda x: x)
    np.testing.assert_allclose(USES[use](make(), lambda x: container([x])), expected, rtol=1e-6)


def test_a_sequential_inside_a_model_takes_it_too():
    given = keras.Input((3,))
    model = keras.Model(given, sequential()([given]))
    np.testing.assert_allclose(model(X), sequential()(X))


DATA = tf.data.Dataset.from_tensor_slices((X, Y)).batch(2)
LONG = {
    "fit": lambda m: m.fit(DATA, steps_per_epoch=5, epochs=2, verbose=0).epoch == [0, 1],
    "fit of arrays": lambda m: m.fit(X, Y, steps_per_epoch=5, verbose=0).epoch == [0],
    "fit of a generator": lambda m: (
        m.fit(((X, Y) for _ in range(3)), steps_per_epoch=5, epochs=2, verbose=0).epoch == [0]
    ),
    "a generator of one epoch": lambda m: (
        m.fit(((X, Y) for _ in range(3)), steps_per_epoch=3, epochs=9, verbose=0).epoch == [0]
    ),
    "a generator without steps": lambda m: (
        m.fit(iter([(X, Y)] * 3), epochs=2, verbose=0).epoch == [0]
    ),
    "validation": lambda m: (
        "val_loss" in m.fit(DATA, validation_data=DATA, validation_steps=5, verbose=0).history
    ),
    "evaluate": lambda m: m.evaluate(DATA, steps=5, verbose=0) > 0,
    "predict": lambda m: m.predict(DATA.map(lambda x, _y: x), steps=5, verbose=0).shape == (4, 2),
}


@pytest.mark.parametrize("use", LONG)
def test_data_that_run_out_are_told_and_what_was_done_is_given(use):
    with pytest.warns(UserWarning, match="ran out of data"):
        assert LONG[use](sequential())


def test_the_end_of_training_is_told_to_callbacks_and_epochs_begin_where_they_are_told():
    told = []
    listener = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: told.append((epoch, sorted(logs))),
        on_train_end=lambda _logs: told.append("end"),
    )
    batches = iter([(X, Y)] * 4)
    with pytest.warns(UserWarning, match="ran out of data"):
        sequential().fit(
            batches, steps_per_epoch=2, epochs=9, initial_epoch=3, callbacks=[listener], verbose=0
        )
    assert told == [(3, ["loss"]), (4, ["loss"]), "end"]


def test_data_that_never_gave_a_batch_are_an_error_and_enough_data_are_quiet():
    with pytest.raises(ValueError, match="at least one batch"):
        sequential().fit(iter([]), verbose=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sequential().fit(DATA.repeat(), steps_per_epoch=3, epochs=3, verbose=0)
        sequential().fit(DATA, steps_per_epoch=1, epochs=3, verbose=0)


def test_numbers_of_numpy_say_how_much() -> None:
    def history(integer: Any) -> Any:
        model = keras.Sequential(
            [keras.Input((3,)), keras.layers.Dense(1, kernel_initializer="ones")]
        )
        model.compile(keras.optimizers.SGD(0.1), "mse", steps_per_execution=integer(2))
        x = np.arange(30, dtype=np.float32).reshape(10, 3) / 30
        options = {"batch_size": integer(4), "epochs": integer(4), "initial_epoch": integer(1)}
        options |= {"validation_freq": integer(2), "steps_per_epoch": integer(3)}
        options |= {"validation_batch_size": integer(3), "validation_steps": integer(2)}
        fitted = model.fit(
            x, x[:, :1], shuffle=False, verbose=0, validation_data=(x, x[:, :1]), **options
        )
        found = {"predicted": model.predict(x, batch_size=integer(3), steps=integer(2), verbose=0)}
        return fitted.history | found

    wanted = history(int)
    for integer in (np.int64, np.uint8):
        found = history(integer)
        assert found.keys() == wanted.keys()
        for name, values in wanted.items():
            np.testing.assert_array_equal(found[name], values)


def test_functions_are_called_in_logs_as_keras_calls_them() -> None:
    def MeanTruth(y_true: Any, y_pred: Any) -> Any:  # noqa: N802 (a name that Keras changes)
        del y_pred
        return tf.reduce_mean(y_true, -1)

    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=[lambda y_true, y_pred: y_true - y_pred, MeanTruth])
    x = np.ones((4, 3), np.float32)
    found = model.evaluate(x, x[:, :1], verbose=0, return_dict=True)
    assert set(found) == {"loss", "lambda", "mean_truth"}  # Keras 3.15
    assert found["mean_truth"] == 1.0


@pytest.mark.parametrize("rows", [5, 8, 12, 22])
@pytest.mark.parametrize("method", ["evaluate", "fit", "test_on_batch"])
def test_penalties_of_outputs_are_divided_by_every_batch(rows: int, method: str) -> None:
    """Batches of other sizes than the first are traced with an unknown axis."""
    x = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3) / rows
    model = keras.Sequential(
        [
            keras.Input((3,)),
            keras.layers.Dense(2, kernel_initializer="ones", activity_regularizer="l1"),
            keras.layers.ActivityRegularization(l2=0.5),
        ]
    )
    model.compile(keras.optimizers.SGD(0.0), "mse")
    y = np.tile(x.sum(1, keepdims=True), 2)
    wanted = (0.01 * np.abs(y).sum() + 0.5 * np.square(y).sum()) / rows
    if method == "test_on_batch":
        for size in (8, 3, 5, 8):
            part = slice(0, min(size, rows))
            own = (0.01 * np.abs(y[part]).sum() + 0.5 * np.square(y[part]).sum()) / len(y[part])
            model.reset_metrics()
            found = model.test_on_batch(x[part], y[part])
            np.testing.assert_allclose(found, own, rtol=1e-5)
    elif method == "fit":
        found = model.fit(x, y, batch_size=8, epochs=2, verbose=0).history["loss"]
        np.testing.assert_allclose(found, [wanted] * 2, rtol=1e-5)
    else:
        found = model.evaluate(x, y, batch_size=8, verbose=0)
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
