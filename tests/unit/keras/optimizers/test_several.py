"""MultiOptimizer, OptimizerMap and ScheduleFreeAdamW."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf

keras = tf.keras
optimizers = keras.optimizers
RNG = np.random.default_rng(0)
X = RNG.normal(size=(8, 3)).astype(np.float32)
Y = RNG.normal(size=(8, 1)).astype(np.float32)


def model(optimizer: Any) -> Any:
    keras.utils.set_random_seed(0)
    made = keras.Sequential(
        [
            keras.Input((3,)),
            keras.layers.Dense(4, "tanh", name="encoder"),
            keras.layers.Dense(1, name="decoder"),
        ],
        name="whole",
    )
    made.compile(optimizer, "mse")
    return made


def several() -> Any:
    chosen = optimizers.OptimizerMap(optimizers.SGD(0.1), {".*encoder.*": optimizers.Adam(0.01)})
    return optimizers.MultiOptimizer(chosen)


def by_function() -> Any:
    adam, sgd = optimizers.Adam(0.01), optimizers.SGD(0.1)
    return optimizers.MultiOptimizer(lambda v: adam if "encoder" in v.path else sgd)


@pytest.mark.parametrize("make", [several, by_function])
def test_each_variable_is_changed_by_its_own_optimizer(make: Any) -> None:
    made, alone = model(make()), {}
    for name, optimizer in (("encoder", optimizers.Adam(0.01)), ("decoder", optimizers.SGD(0.1))):
        alone[name] = model(optimizer)
        alone[name].train_on_batch(X, Y)
    made.train_on_batch(X, Y)
    for name, one in alone.items():
        for ours, theirs in zip(
            made.get_layer(name).get_weights(), one.get_layer(name).get_weights(), strict=True
        ):
            np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    assert int(made.optimizer.iterations) == 1
    assert len(made.optimizer.optimizers) == 2
    weights = made.optimizer.get_weights()
    made.optimizer.set_weights([w * 2 for w in weights])
    np.testing.assert_array_equal(made.optimizer.get_weights()[-1], weights[-1] * 2)


def test_a_model_with_several_optimizers_is_saved_and_goes_on(tmp_path: Path) -> None:
    made = model(several())
    made.fit(X, Y, epochs=2, verbose=0, shuffle=False)
    made.save(tmp_path / "m.keras")
    again = keras.models.load_model(tmp_path / "m.keras")
    for one in (made, again):
        one.fit(X, Y, epochs=1, verbose=0, shuffle=False)
    for ours, theirs in zip(again.get_weights(), made.get_weights(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_a_map_finds_paths_then_patterns_then_the_default() -> None:
    a, b, c = optimizers.SGD(), optimizers.Adam(), optimizers.RMSprop()
    found = optimizers.OptimizerMap(c)
    found["encoder/0/kernel"] = a
    found["encoder/.*"] = b
    assert [found["encoder/0/kernel"], found["encoder/1"], found["encoder"]] == [a, b, c]
    assert list(found) == ["encoder/0/kernel", "encoder/.*"]
    found[".*/1"] = a
    with pytest.raises(ValueError, match="Multiple optimizers assigned to variable encoder/1"):
        found["encoder/1"]
    del found[".*/1"]
    with pytest.raises(ValueError, match="already exists in the OptimizerMap"):
        found["encoder/.*"] = a
    again = optimizers.OptimizerMap.from_config(found.get_config())
    assert [type(x) for x in again.values()] == [optimizers.SGD, optimizers.Adam]


@pytest.mark.parametrize(
    ("act", "kind", "said"),
    [
        (lambda: optimizers.OptimizerMap("adam"), TypeError, "must be a Keras Optimizer"),
        (lambda: optimizers.OptimizerMap(optimizers.SGD(), []), TypeError, "must be a dictionary"),
        (lambda: several().learning_rate, AttributeError, "cannot be accessed"),
        (lambda: setattr(several(), "learning_rate", 1.0), AttributeError, "cannot be set"),
        (
            lambda: optimizers.OptimizerMap(optimizers.SGD()).update(a=several()),
            ValueError,
            "cannot be MultiOptimizer",
        ),
        (
            lambda: optimizers.MultiOptimizer(lambda _: "adam").build([tf.Variable(1.0)]),
            ValueError,
            "must be a Keras Optimizer instance",
        ),
    ],
)
def test_what_is_no_optimizer_is_refused(act: Any, kind: Any, said: str) -> None:
    with pytest.raises(kind, match=said):
        act()


@pytest.mark.parametrize("warmup_steps", [0, 3])
def test_schedule_free_steps_are_the_formula_s(warmup_steps: int) -> None:
    """Defazio et al. 2024, algorithm 1 with Adam's size, in float64."""
    b1, b2, epsilon, rate = 0.875, 0.75, 1e-8, 0.125
    start = RNG.normal(size=(2, 3))
    variable = tf.Variable(start.astype(np.float32))
    optimizer = optimizers.ScheduleFreeAdamW(rate, b1, b2, epsilon, warmup_steps)
    z, x, v = start.copy(), start.copy(), np.zeros_like(start)
    for t in range(1, 6):
        g = RNG.normal(size=(2, 3))
        optimizer.apply([tf.constant(g, tf.float32)], [variable])
        gamma = rate * min(1.0, t / warmup_steps) if warmup_steps else rate
        v = b2 * v + (1 - b2) * g * g
        z = z - gamma * g / (np.sqrt(v / (1 - b2**t)) + epsilon)
        x = (1 - 1 / t) * x + z / t
        # Five float32 steps, the average taken back out of the variable each time.
        np.testing.assert_allclose(variable, (1 - b1) * z + b1 * x, rtol=1e-4, atol=1e-5)
    again = optimizers.deserialize(optimizers.serialize(optimizer))
    assert again.get_config() == optimizer.get_config()
