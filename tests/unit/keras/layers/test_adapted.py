"""Adapters and quantised weights: a layer's results, training and files with them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf

keras = tf.keras
q = keras.quantizers
RNG = np.random.default_rng(0)


def einsum(equation: str, shape: Any, bias: str | None = None) -> Any:
    return lambda: keras.layers.EinsumDense(equation, shape, bias_axes=bias)


FORMS: dict[str, tuple[Any, Any]] = {
    "dense": (lambda: keras.layers.Dense(5, "tanh"), (3, 6)),
    "dense of rank 3": (lambda: keras.layers.Dense(5, use_bias=False), (2, 3, 6)),
    "einsum": (einsum("abc,cde->abde", (None, 2, 3), "de"), (2, 3, 6)),
    "einsum of two axes": (einsum("abcd,cde->abe", (None, 4)), (2, 3, 2, 3)),
    "einsum, dots left": (einsum("...ab,bc->...ac", (3, 5), "c"), (2, 4, 3, 6)),
    "einsum, dots right": (einsum("ab...,bc->ac...", (4, 3)), (2, 5, 3)),
    "einsum, swapped": (einsum("abc,cd->adb", (4, 3)), (2, 3, 6)),
}
CONFIGS = {
    "int8": lambda: q.Int8QuantizationConfig(),
    "int8 weights": lambda: q.Int8QuantizationConfig(activation_quantizer=None),
    "int4": lambda: q.Int4QuantizationConfig(block_size=-1),
    "int4 and inputs": lambda: q.Int4QuantizationConfig(None, q.AbsMaxQuantizer(), block_size=None),
    "int4 groups": lambda: q.Int4QuantizationConfig(block_size=4),
}
# Quantisation steps of the weights, relative to the largest one in a column; inputs add 1/127.
STEPS = {"int8": 1 / 254, "int4": 1 / 14}


def made(form: str) -> tuple[Any, Any]:
    make, shape = FORMS[form]
    layer = make()
    layer.build((None, *shape[1:]))
    for weight in layer.weights:
        weight.assign(RNG.normal(size=weight.shape.as_list()))
    return layer, RNG.normal(size=shape).astype(np.float32)


def adapt(layer: Any, rank: int = 2, alpha: float | None = None) -> None:
    layer.enable_lora(rank, alpha)
    for weight in layer.weights:
        if "lora" in weight.name:
            weight.assign(RNG.normal(size=weight.shape.as_list()))


@pytest.mark.parametrize("form", FORMS)
def test_an_adapter_adds_the_product_of_its_matrices(form: str) -> None:
    layer, x = made(form)
    kernel = layer.kernel.numpy()
    adapt(layer, alpha=3.0)
    a, b = (v.numpy() for v in (layer.lora_kernel_a, layer.lora_kernel_b))
    plain, _ = made(form)
    plain.set_weights([kernel + 1.5 * (a @ b), *([] if layer.bias is None else [layer.bias])])
    np.testing.assert_allclose(layer.kernel, plain.kernel.numpy(), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(layer(x), plain(x), rtol=1e-4, atol=1e-4)
    names = [v.name.split("/")[-1].split(":")[0] for v in layer.trainable_weights]
    assert names == [*([] if layer.bias is None else ["bias"]), "lora_kernel_a", "lora_kernel_b"]


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("form", FORMS)
def test_a_quantized_layer_computes_nearly_the_same(form: str, config: str) -> None:
    layer, x = made(form)
    wanted = np.asarray(layer(x))
    kernel = layer.kernel.numpy()
    layer.quantize(config=CONFIGS[config]())
    mode = layer.quantization_mode
    # As many terms as the kernel has rows, each with an error of half a step of the largest weight.
    terms = kernel.size / kernel.shape[-1]
    size = np.abs(kernel).max() * np.abs(x).max()
    allowed = terms * size * (STEPS[mode] * (2 if "groups" in config else 1) + 1 / 254)
    assert np.abs(np.asarray(layer(x)) - wanted).max() <= allowed
    traced = tf.function(layer)(x)
    np.testing.assert_allclose(traced, layer(x), rtol=1e-5, atol=1e-5)
    assert [v.name.split("/")[-1].split(":")[0] for v in layer.trainable_weights] in (["bias"], [])
    assert layer.dtype_policy.quantization_mode == mode


@pytest.mark.parametrize("config", ["int8", "int4 groups"])
@pytest.mark.parametrize("form", FORMS)
def test_gradients_by_inputs_are_those_of_the_floats_there_are(form: str, config: str) -> None:
    layer, x = made(form)
    layer.activation = keras.activations.linear
    layer.quantize(config=CONFIGS[config]())
    parts = layer._parts()
    floats = layer._stored.floats(parts, "float32")
    inputs, dy = tf.constant(x), None
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(inputs)
        y = layer(inputs)
        plain = layer._product(inputs, floats)
        dy = RNG.normal(size=y.shape.as_list()).astype(np.float32)
    ours = tape.gradient(y, inputs, dy)
    theirs = tape.gradient(plain, inputs, dy)
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


def test_integers_are_added_up_exactly() -> None:
    """The sum of 2000 products of 127 and 127 is not exact in float32."""
    layer = keras.layers.Dense(1, use_bias=False)
    layer.build((None, 2000))
    weights = np.ones((2000, 1), np.float32)
    weights[0] = 1 / 127
    layer.set_weights([weights])
    layer.quantize("int8")
    x = np.ones((1, 2000), np.float32)
    scale = 127.0 / np.float32(1 + 1e-7)
    exact = (1999 * 127 * 127 + 127) / (float(scale) * float(layer.kernel_scale.numpy()[0]))
    np.testing.assert_allclose(layer(x)[0, 0], exact, rtol=2e-7)


@pytest.mark.parametrize("config", [None, "int8", "int4", "int4 groups"])
def test_an_embedding_is_adapted_and_quantized(config: str | None) -> None:
    layer = keras.layers.Embedding(7, 6, mask_zero=True)
    layer.build(None)
    table = RNG.normal(size=(7, 6)).astype(np.float32)
    layer.set_weights([table])
    if config is not None:
        layer.quantize(config=CONFIGS[config]())
    rows = np.array([[1, 6], [0, 3]])
    step = 0 if config is None else STEPS[layer.quantization_mode] * 2
    assert np.abs(layer(rows) - table[rows]).max() <= step * np.abs(table).max() + 1e-6
    before = np.asarray(layer(rows))
    adapt(layer)
    a, b = (v.numpy() for v in (layer.lora_embeddings_a, layer.lora_embeddings_b))
    np.testing.assert_allclose(layer(rows), before + (a @ b)[rows], rtol=1e-4, atol=1e-5)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(layer(rows))
    gradient = tape.gradient(y, layer.lora_embeddings_b)
    np.testing.assert_allclose(
        gradient, a[rows].sum((0, 1))[:, None] * np.ones(6), rtol=1e-4, atol=1e-5
    )


def model() -> Any:
    inputs = keras.Input((4,), dtype="int32")
    x = keras.layers.Embedding(9, 6, name="table")(inputs)
    x = keras.layers.EinsumDense("abc,cd->abd", (4, 5), bias_axes="d", name="einsum")(x)
    return keras.Model(inputs, keras.layers.Dense(3, name="last")(keras.layers.Flatten()(x)))


TOKENS = np.array([[1, 2, 3, 4], [0, 8, 7, 6]], np.int32)


@pytest.mark.parametrize("mode", ["int8", "int4"])
def test_a_quantized_model_is_saved_and_loaded(mode: str, tmp_path: Path) -> None:
    made = model()
    with pytest.warns(UserWarning, match="does not have a `quantize` method"):
        made.quantize(mode)
    wanted = made.predict(TOKENS, verbose=0)
    made.save(tmp_path / "m.keras")
    again = keras.models.load_model(tmp_path / "m.keras")
    np.testing.assert_array_equal(again.predict(TOKENS, verbose=0), wanted)
    tf.saved_model.save(made, tmp_path / "folder")
    served = tf.saved_model.load(tmp_path / "folder").signatures["serving_default"]
    (found,) = served(tf.constant(TOKENS)).values()
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_an_adapted_model_is_saved_with_what_its_adapters_add(tmp_path: Path) -> None:
    made = model()
    for name in ("table", "einsum", "last"):
        adapt(made.get_layer(name))
    made.compile(keras.optimizers.SGD(0.1), "mse")
    made.fit(TOKENS, np.ones((2, 3)), epochs=2, verbose=0)
    wanted = made.predict(TOKENS, verbose=0)
    made.save(tmp_path / "m.keras")
    again = keras.models.load_model(tmp_path / "m.keras")
    np.testing.assert_allclose(again.predict(TOKENS, verbose=0), wanted, rtol=1e-5, atol=1e-5)
    layer = again.get_layer("last")
    assert (layer.lora_enabled, layer.lora_rank) == (True, 2)
    assert not layer.lora_kernel_a.numpy().any()


@pytest.mark.filterwarnings("ignore:Layer .* does not have")
@pytest.mark.parametrize(
    ("filters", "wanted"),
    [("^last$", {"last"}), (["table", "ein"], {"table", "einsum"}), (None, None)],
)
def test_filters_say_which_layers_are_quantized(filters: Any, wanted: Any) -> None:
    made = model()
    made.quantize("int8", filters=filters)
    found = {layer.name for layer in made.layers if layer.quantization_mode == "int8"}
    assert found == (wanted or {"table", "einsum", "last"})


def test_a_policy_quantizes_what_is_built_and_what_will_be() -> None:
    layer = keras.layers.Dense(2, dtype="int8_from_float32")
    layer.build((None, 3))
    assert layer.kernel.dtype.name == "int8"
    other = keras.layers.Dense(2)
    other.build((None, 3))
    other.dtype_policy = "int8_from_float32"
    assert other.kernel.dtype.name == "int8"


class Own(keras.layers.Dense):
    """A subclass that may compute something else."""


@pytest.mark.parametrize(
    ("act", "kind", "said"),
    [
        (lambda layer: layer.enable_lora(2), ValueError, "isn't yet built"),
        (lambda layer: layer.quantize("int8"), ValueError, "isn't yet built"),
        (lambda layer: layer.quantize("int7"), ValueError, "isn't yet built"),
    ],
)
def test_what_is_not_built_is_refused(act: Any, kind: Any, said: str) -> None:
    with pytest.raises(kind, match=said):
        act(keras.layers.Dense(2))


def test_what_was_done_is_not_done_again() -> None:
    layer = keras.layers.Dense(2)
    layer.build((None, 3))
    layer.enable_lora(1)
    with pytest.raises(ValueError, match="lora is already enabled"):
        layer.enable_lora(1)
    layer.quantize("int8")
    with pytest.raises(ValueError, match="is already quantized"):
        layer.quantize("int8")
    bound = keras.layers.Dense(2, kernel_constraint="non_neg")
    bound.build((None, 3))
    with pytest.raises(ValueError, match="incompatible with kernel constraints"):
        bound.enable_lora(1)


def test_modes_and_kinds_that_cannot_be_are_refused() -> None:
    layer, own = keras.layers.Dense(2), Own(2)
    for one in (layer, own):
        one.build((None, 3))
    for act, kind, said in (
        (lambda: layer.quantize("int7"), ValueError, "Invalid quantization mode"),
        (lambda: layer.quantize(), ValueError, "either `mode` or `config`"),
        (lambda: layer.quantize("float8"), NotImplementedError, "'int8', 'int4'.*'float8'"),
        (
            lambda: layer.quantize("gptq"),
            NotImplementedError,
            "GPTQ.* is not in pinnace",
        ),
        (
            lambda: keras.layers.Dense(2, dtype="awq/4/-1_from_float32"),
            NotImplementedError,
            "awq/4/-1_from_float32.: AWQ",
        ),
        (lambda: layer.quantize("int8", config=3), ValueError, "instance of `QuantizationConfig`"),
        (
            lambda: layer.quantize("int8", config=q.Int4QuantizationConfig()),
            ValueError,
            "Contradictory arguments",
        ),
        (lambda: own.quantize("int8"), NotImplementedError, "does not have a `quantize`"),
    ):
        with pytest.raises(kind, match=said):
            act()
    own.quantize("int8", type_check=False)
    assert own.kernel.dtype.name == "int8"


def test_a_policy_of_float8_says_what_there_is() -> None:
    layer = keras.layers.Dense(2, dtype=keras.dtype_policies.get("float8_from_float32"))
    with pytest.raises(NotImplementedError, match=r"(?s)'float8'.*'int8' or 'int4'"):
        layer(np.ones((1, 3), "float32"))
