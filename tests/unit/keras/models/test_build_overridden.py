"""Models that override `build` and end it with `super().build`, as in Keras's guides."""

from typing import Any

import numpy as np
import pytest

import pinnace as tf

keras = tf.keras


class Two(keras.Model):
    """Builds its layers explicitly, then lets Keras build the rest."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.first = keras.layers.Dense(4)
        self.second = keras.layers.Dense(2)
        self.times_built = 0

    def build(self, input_shape: Any = (None, 3)) -> None:
        """The layers, for rows of three numbers unless told otherwise."""
        self.times_built += 1
        self.first.build(input_shape)
        self.second.build(self.first.compute_output_shape(input_shape))
        super().build(input_shape)

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Both layers' outputs."""
        del args, kwargs
        hidden = self.first(inputs)
        return [self.second(hidden), hidden]


@pytest.mark.parametrize("arguments", [(), ((None, 3),), ((5, 3),)])
def test_build_by_hand_builds_once(arguments: tuple[Any, ...]) -> None:
    model = Two()
    model.build(*arguments)
    assert model.built
    assert model.times_built == 1
    assert model.count_params() == 3 * 4 + 4 + 4 * 2 + 2
    outputs = model.predict(np.ones([6, 3], np.float32), verbose=0)
    assert [value.shape for value in outputs] == [(6, 2), (6, 4)]
    assert model.times_built == 1


def test_a_call_builds_once() -> None:
    model = Two()
    model(tf.ones([2, 3]))
    assert (model.built, model.times_built) == (True, 1)


def test_a_model_built_by_hand_is_saved_with_its_signature(tmp_path: Any) -> None:
    model = Two()
    model.build((None, 3))
    tf.saved_model.save(model, str(tmp_path))
    x = np.ones([2, 3], np.float32)
    again = tf.saved_model.load(str(tmp_path)).signatures["serving_default"](tf.constant(x))
    np.testing.assert_allclose(
        sorted(value.numpy().sum() for value in again.values()),
        sorted(float(tf.reduce_sum(value)) for value in model(x)),
        rtol=1e-6,
    )


def test_a_call_that_fails_leaves_the_model_unbuilt() -> None:
    class Broken(Two):
        def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
            raise LookupError(f"{inputs} {args} {kwargs}")

    model = Broken()
    with pytest.raises(LookupError):
        model.build((None, 3))
    assert not model.built
