"""The projections of attention layers have the layer's options; numbers are those of Keras 3.15."""

from typing import Any

import numpy as np
import pytest

import pinnace as tf

keras = tf.keras


def losses(layer: Any) -> list[float]:
    """The penalties of a call, with random weights from NumPy."""
    rng = np.random.default_rng(0)
    query, value = (rng.normal(size=(2, steps, 4)).astype("f") for steps in (3, 5))
    layer(query, value)
    layer.set_weights([rng.normal(size=x.shape).astype("f") for x in layer.weights])
    layer(query, value)
    return [float(loss) for loss in layer.losses]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [0.83477, 1.24222, 1.2225, 4.40135]),
        ({"use_gate": True}, [0.83477, 1.24222, 0.06418, 1.28273, 1.06725]),
    ],
)
def test_outputs_of_projections_are_penalized_and_not_the_whole_once_more(
    options: dict[str, Any], expected: list[float]
) -> None:
    layer = keras.layers.MultiHeadAttention(2, 3, activity_regularizer="l2", **options)
    np.testing.assert_allclose(losses(layer), expected, atol=2e-5)
    again = keras.layers.MultiHeadAttention.from_config(layer.get_config())
    np.testing.assert_allclose(losses(again), expected, atol=2e-5)


def test_of_grouped_queries_the_whole_is_penalized_too() -> None:
    layer = keras.layers.GroupQueryAttention(3, 4, 2, activity_regularizer="l2")
    expected = [4.84821, 1.46212, 1.2225, 1.28273, 4.84821]
    np.testing.assert_allclose(losses(layer), expected, atol=2e-5)


@pytest.mark.parametrize("kind", ["MultiHeadAttention", "GroupQueryAttention"])
def test_a_subclass_may_give_projections_other_options(kind: str) -> None:
    class Wider(getattr(keras.layers, kind)):  # type: ignore[misc]  # of a name
        def _get_common_kwargs_for_sublayer(self) -> dict[str, Any]:
            return {**super()._get_common_kwargs_for_sublayer(), "kernel_initializer": "ones"}

    layer = Wider(2, 3) if kind == "MultiHeadAttention" else Wider(3, 4, 2)
    layer(np.ones((1, 2, 4), "f"), np.ones((1, 2, 4), "f"))
    assert {float(x) for x in layer.get_weights()[0].reshape(-1)} == {1.0}
