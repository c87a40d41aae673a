"""Keras under a strategy gives the same results as without one, where these should be equal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf

if TYPE_CHECKING:
    from pathlib import Path

keras = tf.keras
RNG = np.random.default_rng(3)
X = RNG.standard_normal((32, 4)).astype(np.float32)
Y = (X @ RNG.standard_normal((4, 2))).astype(np.float32)


@pytest.fixture
def strategy() -> Any:
    return tf.distribute.MirroredStrategy(["/CPU:0", "/CPU:1"])


def model(optimizer: Any) -> Any:
    made = keras.Sequential(
        [
            keras.Input([4]),
            keras.layers.Dense(3, "tanh", kernel_initializer="ones", kernel_regularizer="l2"),
            keras.layers.Dense(2, kernel_initializer="ones"),
        ]
    )
    made.compile(optimizer(), "mse", metrics=["mae"])
    return made


OPTIMIZERS = {
    "momentum": lambda: keras.optimizers.SGD(0.05, momentum=0.9),
    "adam": lambda: keras.optimizers.Adam(0.05),
    "loss scale": lambda: keras.optimizers.LossScaleOptimizer(
        keras.optimizers.SGD(0.05), initial_scale=8.0, dynamic_growth_steps=2
    ),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_on_replicas_is_training_on_the_whole_batch(strategy: Any, name: str) -> None:
    plain = model(OPTIMIZERS[name])
    with strategy.scope():
        mirrored = model(OPTIMIZERS[name])
    assert mirrored.distribute_strategy is strategy
    options = {"batch_size": 8, "epochs": 2, "shuffle": False, "verbose": 0}
    expected, found = (one.fit(X, Y, **options).history for one in (plain, mirrored))
    for key, values in expected.items():
        np.testing.assert_allclose(found[key], values, rtol=1e-5)
    for one, other in zip(mirrored.weights, plain.weights, strict=True):
        for part in one.values:
            np.testing.assert_allclose(part.numpy(), other.numpy(), rtol=1e-5, atol=1e-6)
    assert int(mirrored.optimizer.iterations.numpy()) == 8
    np.testing.assert_allclose(
        mirrored.evaluate(X, Y, verbose=0), plain.evaluate(X, Y, verbose=0), rtol=1e-5
    )
    np.testing.assert_allclose(
        mirrored.predict(X, batch_size=7, verbose=0),
        plain.predict(X, batch_size=7, verbose=0),
        rtol=1e-4,
        atol=1e-6,
    )


def test_a_distributed_dataset_trains_as_the_dataset_does(strategy: Any) -> None:
    rows = tf.data.Dataset.from_tensor_slices((X, Y)).batch(8)
    found = []
    for distributed in (False, True):
        with strategy.scope():
            made = model(OPTIMIZERS["momentum"])
        data = strategy.experimental_distribute_dataset(rows) if distributed else rows
        made.fit(data, epochs=2, steps_per_epoch=4, shuffle=False, verbose=0)
        found.append(made.get_weights())
    for ours, wanted in zip(*found, strict=True):
        # The same sums, in float32.
        np.testing.assert_allclose(ours, wanted, rtol=1e-5, atol=1e-6)


def test_a_gradient_that_is_not_finite_in_one_replica_stops_the_step(strategy: Any) -> None:
    with strategy.scope():
        v = tf.Variable(1.0)
        optimizer = keras.optimizers.LossScaleOptimizer(
            keras.optimizers.SGD(1.0), initial_scale=8.0
        )

    def step(x: Any) -> None:
        optimizer.apply([x], [v])

    def of_replica(values: list[float]) -> Any:
        return strategy.experimental_distribute_values_from_function(
            lambda c: tf.constant(values[c.replica_id_in_sync_group])
        )

    run = tf.function(lambda x: strategy.run(step, args=(x,)))
    run(of_replica([8.0, np.inf]))
    assert (float(v), float(optimizer.dynamic_scale), int(optimizer.iterations)) == (1, 4, 0)
    run(of_replica([8.0, 16.0]))
    assert (float(v), int(optimizer.iterations)) == (1 - 8 / 4 - 16 / 4, 1)


def test_clipping_is_of_each_replicas_gradient(strategy: Any) -> None:
    with strategy.scope():
        v = tf.Variable(0.0)
        optimizer = keras.optimizers.SGD(1.0, clipvalue=1.0)
    strategy.run(lambda: optimizer.apply([tf.constant(5.0)], [v]))
    assert [float(one) for one in v.values] == [-2, -2]


def test_states_of_metrics_are_added(strategy: Any) -> None:
    with strategy.scope():
        mean = keras.metrics.Mean()
    rows = tf.data.Dataset.from_tensor_slices(tf.range(6.0)).batch(5)
    for batch in strategy.experimental_distribute_dataset(rows):
        strategy.run(mean.update_state, args=(batch,))
    assert float(mean.result()) == 2.5
    mean.reset_state()
    assert float(mean.result()) == 0


def test_saved_under_a_strategy_and_loaded_without(strategy: Any, tmp_path: Path) -> None:
    with strategy.scope():
        mirrored = model(OPTIMIZERS["adam"])
    mirrored.fit(X, Y, batch_size=8, verbose=0)
    mirrored.save(str(tmp_path / "m.keras"))
    mirrored.export(str(tmp_path / "m"), verbose=False)
    expected = mirrored.predict(X, verbose=0)
    loaded = keras.models.load_model(str(tmp_path / "m.keras"))
    assert not hasattr(loaded.weights[0], "values"), "one copy"
    # A replica for each half of a batch sums in another order.
    np.testing.assert_allclose(loaded.predict(X, verbose=0), expected, rtol=1e-5, atol=1e-6)
    served = tf.saved_model.load(str(tmp_path / "m"))
    np.testing.assert_allclose(served(X).numpy(), expected, rtol=1e-5, atol=1e-6)
    with strategy.scope():
        again = keras.models.load_model(str(tmp_path / "m.keras"))
    again.fit(X, Y, batch_size=8, verbose=0)
    assert type(again.weights[0]).__name__ == "MirroredVariable"


def test_a_model_that_is_built_late_is_built_in_its_scope(strategy: Any) -> None:
    with strategy.scope():
        late = keras.Sequential([keras.layers.Dense(2), keras.layers.Dropout(0.5)])
        late.compile("sgd", "mse")
    late.fit(X, Y, batch_size=8, verbose=0)
    assert {type(v).__name__ for v in late.weights} == {"MirroredVariable"}


def test_one_batch_alone_is_not_split(strategy: Any) -> None:
    with strategy.scope():
        mirrored = model(OPTIMIZERS["momentum"])
    plain = model(OPTIMIZERS["momentum"])
    found, expected = (one.train_on_batch(X[:3], Y[:3]) for one in (mirrored, plain))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    np.testing.assert_allclose(mirrored.get_weights()[0], plain.get_weights()[0], rtol=1e-6)
    np.testing.assert_allclose(
        mirrored.predict_on_batch(X[:3]), plain.predict_on_batch(X[:3]), rtol=1e-5
    )


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_on_one_replica_is_training_without_a_strategy(name: str) -> None:
    one = tf.distribute.MirroredStrategy(["/CPU:0"])
    plain = model(OPTIMIZERS[name])
    with one.scope():
        mirrored = model(OPTIMIZERS[name])
    options = {"batch_size": 8, "verbose": 0}
    expected, found = (
        made.fit(X, Y, epochs=2, shuffle=False, **options).history for made in (plain, mirrored)
    )
    for key, values in expected.items():
        np.testing.assert_allclose(found[key], values, rtol=1e-5)
    np.testing.assert_allclose(
        mirrored.evaluate(X, Y, **options), plain.evaluate(X, Y, **options), rtol=1e-5
    )
    np.testing.assert_allclose(mirrored.predict(X, verbose=0), plain.predict(X, verbose=0), 1e-5)
