"""Given names: any text without a slash, also an empty one, as in Keras."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAMED: dict[str, Callable[[Any], Any]] = {
    "layer": lambda name: tf.keras.layers.Dense(1, name=name),
    "input": lambda name: tf.keras.layers.InputLayer((2,), name=name),
    "model": lambda name: tf.keras.Sequential(name=name),
    "optimizer": lambda name: tf.keras.optimizers.SGD(name=name),
    "seeds": lambda name: tf.keras.random.SeedGenerator(1, name=name),
}
every_kind = pytest.mark.parametrize("kind", NAMED)


@every_kind
@pytest.mark.parametrize("name", ["a/b", "/", 1.5, 3, b"x", ["a"], True])
def test_what_is_no_text_or_has_a_slash_is_refused(kind: str, name: object) -> None:
    phrase = "Argument `name` must be a string and cannot contain character `/`. Received: name="
    with pytest.raises(ValueError, match=phrase):
        NAMED[kind](name)


@every_kind
@pytest.mark.parametrize("name", ["", " ", "a b", "Ü"])
def test_any_other_text_is_the_name(kind: str, name: str) -> None:
    assert NAMED[kind](name).name == name


def test_an_empty_name_stands_in_no_path() -> None:
    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1, name="")], name="")
    assert [weight.path for weight in model.weights] == ["kernel", "bias"]
    assert model.get_layer("") is model.layers[0]
    optimizer = tf.keras.optimizers.SGD(name="")
    assert [one.path for one in optimizer.variables] == ["iteration", "learning_rate"]
    assert tf.keras.random.SeedGenerator(1, name="").state.path == "seed_generator_state"


def test_a_model_of_empty_names_is_saved_and_loaded(tmp_path: Path) -> None:
    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1, name="")], name="")
    model.save(tmp_path / "m.keras")
    loaded = tf.keras.models.load_model(tmp_path / "m.keras")
    assert (loaded.name, loaded.layers[0].name) == ("", "")
    x = np.ones((1, 2), np.float32)
    np.testing.assert_array_equal(loaded.predict(x, verbose=0), model.predict(x, verbose=0))
    model.export(str(tmp_path / "exported"), verbose=False)
    served = tf.saved_model.load(str(tmp_path / "exported")).serve(x)
    np.testing.assert_allclose(served, model.predict(x, verbose=0), rtol=1e-6)
