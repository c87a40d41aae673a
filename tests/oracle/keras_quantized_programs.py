"""Quantizers, quantized and adapted layers, optimizers of several kinds: see `both`.

python keras_quantized_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import sys
import warnings
from typing import Any

import numpy as np
from reporting import plain, report

tf: Any = importlib.import_module(sys.argv[1])
keras = tf.keras
layers = keras.layers
quantizers = keras.quantizers


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def absolute(to_numpy: bool) -> Any:
    x = numbers(7, 5)
    return [
        quantizers.abs_max_quantize(x, axis=0, to_numpy=to_numpy),
        quantizers.abs_max_quantize(x, axis=(0, 1), value_range=(-8, 7), to_numpy=to_numpy),
        quantizers.abs_max_quantize_grouped_with_zero_point(x, 3, to_numpy=to_numpy),
        quantizers.abs_max_quantize_grouped_with_zero_point(0 * x + 2, 3, to_numpy=to_numpy),
    ]


def nibbles() -> Any:
    x = np.random.default_rng(1).integers(-8, 8, (5, 3)).astype("int8")
    found = []
    for axis in (0, 1, -1):
        packed, shape, size = quantizers.pack_int4(x, axis=axis)
        found.append([packed, shape, size, quantizers.unpack_int4(packed, size, axis=axis)])
    return found


def rounded() -> Any:
    x = numbers(7, 5)
    fake = quantizers.fake_quant_with_min_max_vars
    return [
        fake(x, -1.0, 1.0),
        fake(x, [-1.0] * 5, [1.0] * 5, axis=1, num_bits=4, narrow_range=True),
        fake(x, [-1.0] * 7, [1.0] * 7, axis=0),
        quantizers.quantize_and_dequantize(x, 0.5, "float8_e4m3fn", "float32"),
        quantizers.compute_float8_scale(3.0, 2.0, 448.0),
        quantizers.compute_float8_scale(0.0, 2.0, 448.0),
        quantizers.compute_float8_amax_history(x, np.arange(4).astype("float32")),
    ]


def stored() -> Any:
    found: list[Any] = [quantizers.serialize(quantizers.AbsMaxQuantizer(axis=0))]
    for name in ("int8_from_float32", "int4_from_mixed_bfloat16", "int4/64_from_float32"):
        policy = keras.dtype_policies.get(name)
        found.append([policy.name, policy.compute_dtype, policy.quantization_mode])
        found.append(keras.dtype_policies.serialize(policy))
    configs = (quantizers.Int8QuantizationConfig(), quantizers.Int4QuantizationConfig())
    return [*found, *map(keras.utils.serialize_keras_object, configs)]


FORMS: dict[str, Any] = {
    "dense": (lambda: layers.Dense(5, activation="relu"), numbers(3, 6)),
    "dense3": (lambda: layers.Dense(5, use_bias=False), numbers(2, 3, 6)),
    "einsum": (
        lambda: layers.EinsumDense("abc,cde->abde", (None, 2, 3), bias_axes="de"),
        numbers(2, 3, 6),
    ),
    "einsum4": (lambda: layers.EinsumDense("abcd,cde->abe", (None, 4)), numbers(2, 3, 2, 3)),
    "embedding": (lambda: layers.Embedding(7, 5), np.array([[1, 2], [6, 0]], "int32")),
}
CONFIGS: dict[str, Any] = {
    "plain": lambda: None,
    "int8": lambda: quantizers.Int8QuantizationConfig(),
    "int8_weights": lambda: quantizers.Int8QuantizationConfig(activation_quantizer=None),
    "int4": lambda: quantizers.Int4QuantizationConfig(block_size=-1),
    "int4_groups": lambda: quantizers.Int4QuantizationConfig(block_size=4),
    "int4_default": lambda: quantizers.Int4QuantizationConfig(),
}


def short(name: str) -> str:
    return name.split("/")[-1].split(":")[0]


def told(form: str, config: str, adapted: bool) -> Any:
    """Outputs, gradients, weights, and the contents of a file."""
    make, x = FORMS[form]
    layer = make()
    layer.build(None if form == "embedding" else x.shape)
    for place, weight in enumerate(layer.weights):
        weight.assign(numbers(*weight.shape, seed=place + 1))
    chosen = CONFIGS[config]()
    if chosen is not None:
        layer.quantize(config=chosen)
    if adapted:
        layer.enable_lora(2, lora_alpha=3.0)
        for place, weight in enumerate([v for v in layer.weights if "lora" in v.name]):
            weight.assign(numbers(*weight.shape, seed=20 + place))
    inputs = tf.constant(x)
    sources = [] if form == "embedding" else [inputs]
    with tf.GradientTape() as tape:
        for one in sources:
            tape.watch(one)
        y = layer(inputs)
        total = tf.reduce_sum(y * numbers(*y.shape, seed=5))
    gradients = tape.gradient(total, [*sources, *layer.trainable_variables])
    store: dict[str, Any] = {}
    layer.save_own_variables(store)
    shown = layer.embeddings if form == "embedding" else layer.kernel
    return [
        y,
        [tf.convert_to_tensor(one) for one in gradients],
        [[short(v.name), list(v.shape)] for v in layer.weights],
        {name: np.asarray(value).astype("float32") for name, value in store.items()},
        np.asarray(tf.convert_to_tensor(shown)).astype("float32"),
        layer.dtype_policy.name,
    ]


def every_layer(config: str, adapted: bool) -> Any:
    return {form: told(form, config, adapted) for form in FORMS}


def model(optimizer: Any) -> Any:
    made = keras.Sequential(
        [
            keras.Input((3,)),
            layers.Dense(4, activation="tanh", name="encoder"),
            layers.Dense(1, name="decoder"),
        ],
        name="whole",
    )
    for place, weight in enumerate(made.weights):
        weight.assign(numbers(*weight.shape, seed=place))
    made.compile(optimizer, "mse")
    return made


def trained(optimizer: Any, callbacks: Any = (), **options: Any) -> Any:
    made = model(optimizer)
    x, y = numbers(20, 3), numbers(20, 1, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = made.fit(
            *(x, y), batch_size=4, shuffle=False, verbose=0, callbacks=list(callbacks), **options
        )
    return [made.get_weights(), found.history]


PROGRAMS = {
    "absolute": lambda: absolute(False),
    "absolute_in_numpy": lambda: absolute(True),
    "nibbles": nibbles,
    "rounded": rounded,
    "stored": stored,
    "plain": lambda: every_layer("plain", False),
    "adapted": lambda: every_layer("plain", True),
    "int8": lambda: every_layer("int8", False),
    "int8_adapted": lambda: every_layer("int8", True),
    "int8_weights": lambda: every_layer("int8_weights", False),
    "int4": lambda: every_layer("int4", False),
    "int4_adapted": lambda: every_layer("int4", True),
    "int4_groups": lambda: every_layer("int4_groups", False),
    "int4_groups_adapted": lambda: every_layer("int4_groups", True),
    "int4_default": lambda: every_layer("int4_default", False),
    "steps": lambda: trained(keras.optimizers.SGD(0.0625), epochs=4, steps_per_epoch=2),
    "steps_even": lambda: trained(keras.optimizers.SGD(0.0625), epochs=3, steps_per_epoch=5),
    "validation_steps": lambda: trained(
        keras.optimizers.SGD(0.0625),
        epochs=3,
        validation_data=(numbers(12, 3, seed=3), numbers(12, 1, seed=4)),
        validation_batch_size=4,
        validation_steps=2,
    ),
}

if __name__ == "__main__":
    report(PROGRAMS, plain)
