"""`compile(steps_per_execution=, jit_compile=)`: groups of batches, and compiled steps."""

import numpy as np
import pytest

import pinnace as tf
from pinnace.keras.training import executions

keras = tf.keras
X = (np.random.default_rng(0).integers(-8, 9, (20, 3)) / 8).astype("float32")


def _model(**options: object) -> keras.Model:
    layer = keras.layers.Dense(2, kernel_initializer="ones")
    model = keras.Sequential([keras.Input((3,)), layer])
    model.compile(keras.optimizers.SGD(0.125), "mse", **options)
    return model


def test_groups_cover_every_batch_once() -> None:
    for steps in (1, 2, 3, 7):
        groups = [executions.last_of(index, steps) for index in range(21)]
        assert [executions.begins(n, steps) for n in range(21)] == [
            n % steps == 0 for n in range(21)
        ]
        assert all(executions.ends(n, steps) == (n == groups[n]) for n in range(21))


def test_weights_do_not_depend_on_how_steps_are_run() -> None:
    found = []
    for options in ({}, {"steps_per_execution": 3}, {"jit_compile": True}, {"run_eagerly": True}):
        model = _model(**options)
        model.fit(X, X[:, :2], batch_size=4, epochs=2, shuffle=False, verbose=0)
        found.append(model.get_weights())
    for other in found[1:]:
        for mine, theirs in zip(found[0], other, strict=True):
            # Ten steps of float32 sums in another order.
            np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)


def test_jit_compile_is_kept_as_given() -> None:
    model = _model(jit_compile=True)
    assert model.jit_compile
    model.jit_compile = "auto"
    assert not model.jit_compile


def test_what_compile_was_given_is_told_and_kept_out_of_other_programs() -> None:
    model = _model(jit_compile=True, steps_per_execution=4)
    config = model.get_compile_config()
    assert config is not None
    assert (config["jit_compile"], config["steps_per_execution"]) == (True, 4)
    other = _model()
    other.compile_from_config(config)
    assert (other.jit_compile, other.steps_per_execution) == (False, 1)


@pytest.mark.parametrize("steps", [0, -1, True, 1.5, "two"])
def test_an_execution_has_a_whole_number_of_steps(steps: object) -> None:
    with pytest.raises(ValueError, match="steps_per_execution must be an integer of at least 1"):
        _model(steps_per_execution=steps)
    with pytest.raises(ValueError, match="steps_per_execution"):
        _model().steps_per_execution = steps


def test_jit_compile_is_one_of_three() -> None:
    with pytest.raises(ValueError, match="jit_compile must be True, False or 'auto', got 'always'"):
        _model(jit_compile="always")
