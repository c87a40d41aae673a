"""Policies, compute and variable dtypes of layers, and the loss scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LossScaleOptimizer = tf.keras.optimizers.LossScaleOptimizer
SGD = tf.keras.optimizers.SGD


@pytest.fixture(autouse=True)
def policy() -> Iterator[None]:
    tf.keras.mixed_precision.set_global_policy("mixed_float16")
    yield
    tf.keras.mixed_precision.set_global_policy("float32")


def test_a_layer_computes_in_one_dtype_and_keeps_weights_in_another() -> None:
    layer = tf.keras.layers.Dense(3)
    y = layer(tf.ones([2, 4]))
    assert (layer.compute_dtype, layer.dtype, layer.variable_dtype) == (
        "float16",
        "float32",
        "float32",
    )
    assert y.dtype is tf.float16
    assert layer.kernel.dtype is tf.float32
    assert tf.keras.mixed_precision.global_policy().name == "mixed_float16"


def test_a_weight_is_what_it_is_outside_of_its_layer() -> None:
    layer = tf.keras.layers.Dense(3)
    layer(tf.ones([2, 4]))
    assert layer.kernel.value().dtype is tf.float32


def test_gradients_are_those_of_the_kept_weights() -> None:
    layer = tf.keras.layers.Dense(3)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.cast(layer(tf.ones([2, 4])), tf.float32))
    kernel, _ = tape.gradient(loss, layer.trainable_variables)
    assert kernel.dtype is tf.float32
    np.testing.assert_array_equal(kernel.numpy(), np.full((4, 3), 2.0))


def test_a_layer_of_float32_inside_a_mixed_model_stays_float32() -> None:
    last = tf.keras.layers.Dense(1, dtype="float32")
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(3), last])
    assert model(tf.ones([2, 4])).dtype is tf.float32


def test_a_weight_without_autocast_is_read_as_it_is_kept() -> None:
    class Scale(tf.keras.layers.Layer):
        def build(self, _: object) -> None:
            self.w = self.add_weight(shape=(), initializer="ones", autocast=False)
            self.cast = self.add_weight(shape=(), initializer="ones")

        def call(self, x: tf.Tensor) -> tf.Tensor:
            assert x.dtype is tf.float16
            assert self.cast.value().dtype is tf.float16
            return x * tf.cast(self.w.value(), x.dtype)

    layer = Scale()
    assert layer(tf.ones([2])).dtype is tf.float16
    assert layer.w.value().dtype is tf.float32


def test_a_model_in_float16_is_compiled_with_a_loss_scale_and_one_in_bfloat16_is_not() -> None:
    def optimizer(**options: bool) -> object:
        model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
        model.compile(SGD(), "mse", **options)
        return model.optimizer

    assert isinstance(optimizer(), LossScaleOptimizer)
    assert type(optimizer(auto_scale_loss=False)) is SGD
    tf.keras.mixed_precision.set_global_policy("mixed_bfloat16")
    assert type(optimizer()) is SGD


def test_a_loss_scale_survives_its_configuration() -> None:
    optimizer = LossScaleOptimizer(SGD(0.25), initial_scale=4.0, dynamic_growth_steps=7)
    again = tf.keras.optimizers.deserialize(tf.keras.optimizers.serialize(optimizer))
    assert again.get_config() == optimizer.get_config()
    assert float(again.inner_optimizer.learning_rate.numpy()) == 0.25


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"dynamic": False}, "`loss_scale_factor` of the inner optimizer"),
        ({"clipnorm": 1.0}, "does not support `clipnorm`"),
        ({"wrong": 1}, "does not support arguments: `wrong`"),
    ],
)
def test_a_loss_scale_refuses_what_belongs_to_the_optimizer_inside(
    options: dict[str, object], told: str
) -> None:
    with pytest.raises(ValueError, match=told):
        LossScaleOptimizer(SGD(), **options)


def test_a_mixed_model_survives_a_saved_model_and_a_checkpoint(tmp_path: Path) -> None:
    x = np.random.default_rng(0).random((8, 4), np.float32)
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1, dtype=None)])
    model.compile(SGD(0.1), "mse")
    model.fit(x, x.sum(1, keepdims=True), epochs=2, verbose=0)
    tf.saved_model.save(model, str(tmp_path / "saved"))
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    found = next(iter(loaded.signatures["serving_default"](tf.constant(x)).values()))
    np.testing.assert_array_equal(found.numpy(), model.predict(x, verbose=0))
    model.save_weights(str(tmp_path / "weights"))
    weights = model.get_weights()
    model.set_weights([w * 0 for w in weights])
    model.load_weights(str(tmp_path / "weights"))
    for a, b in zip(model.get_weights(), weights, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_function_is_traced_again_where_weights_are_read_in_another_dtype() -> None:
    class Own(tf.keras.layers.Layer):
        def build(self, shape: Any) -> None:
            self.w = self.add_weight(shape=(shape[-1], 3), initializer="ones", name="w")

        def call(self, x: Any) -> Any:
            return half(x)

    layer = Own(dtype="mixed_float16")

    @tf.function
    def half(x: Any) -> Any:
        return x + 1, layer.w + 0

    x = tf.ones([3, 3], tf.float16)
    for _ in range(3):  # also if the graph is cached by shapes only
        assert layer(x)[1].dtype is tf.float16
        assert half(x)[1].dtype is tf.float32
