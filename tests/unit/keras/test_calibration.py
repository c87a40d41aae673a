"""GPTQ and AWQ: integers as Keras finds them, in layers that give nearly what they gave."""

from typing import Any

import numpy as np
import pytest

from pinnace import keras
from pinnace.keras import quantizers

RNG = np.random.default_rng(1)
X = RNG.standard_normal((40, 6)).astype(np.float32)
KERNEL = RNG.standard_normal((6, 3)).astype(np.float32)
# Both signs in each group of three rows.
KERNEL[[0, 3]] = -abs(KERNEL[[0, 3]]) - 0.1
KERNEL[[1, 4]] = abs(KERNEL[[1, 4]]) + 0.1

# Mode, options, and the columns' integers, zeros and scales that Keras 3.15 finds.
FOUND = [
    (
        "gptq",
        {"group_size": 3},
        [[6, 15, 0, 1, 15, 0], [0, 15, 6, 4, 15, 0], [1, 15, 0, 0, 15, 4]],
        [[7, 9], [2, 8], [5, 3]],
        [0.21636, 0.054378, 0.146047, 0.114423, 0.070498, 0.062565],
    ),
    (
        "gptq",
        {"group_size": -1, "activation_order": True, "weight_bits": 3},
        [[3, 7, 0, 2, 4, 2], [1, 7, 4, 1, 4, 0], [0, 6, 0, 1, 7, 2]],
        [[3], [2], [2]],
        [0.46363, 0.397417, 0.161935],
    ),
    (
        "gptq",
        {"group_size": -1, "symmetric": True, "weight_bits": 8},
        [
            [113, 255, 13, 96, 154, 93],
            [109, 255, 169, 99, 185, 70],
            [78, 243, 70, 102, 255, 141],
        ],
        [[128], [128], [128]],
        [0.013378, 0.014998, 0.006108],
    ),
    (
        "awq",
        {"group_size": 3},
        [[6, 15, 0, 0, 15, 1], [0, 15, 6, 3, 15, 0], [1, 15, 0, 0, 15, 4]],
        [[7, 9], [2, 7], [5, 3]],
        [0.218981, 0.053553, 0.151794, 0.110412, 0.071914, 0.063441],
    ),
    (
        "awq",
        {"group_size": -1, "num_grid_points": 5},
        [[6, 15, 0, 5, 9, 5], [2, 15, 7, 1, 9, 0], [1, 15, 0, 3, 15, 6]],
        [[7], [4], [5]],
        [0.220845, 0.187285, 0.074975],
    ),
]


def config_of(mode: str, layers: Any = None, **options: Any) -> Any:
    kind = {"gptq": quantizers.GPTQConfig, "awq": quantizers.AWQConfig}[mode]
    return kind(
        dataset=[np.arange(len(X))],
        tokenizer=object(),
        num_samples=1,
        sequence_length=len(X),
        quantization_layer_structure=layers,
        **options,
    )


def model_of(kind: str = "Dense") -> tuple[Any, Any, dict[str, Any]]:
    """A table that gives X, a block, and the structure."""
    table = keras.layers.Embedding(*X.shape)
    made = {
        "Dense": lambda: keras.layers.Dense(3),
        "EinsumDense": lambda: keras.layers.EinsumDense("abc,cde->abde", (None, 1, 3)),
    }
    layer = made[kind]()
    block = keras.Sequential([layer])
    model = keras.Sequential([keras.Input((None,), dtype="int32"), table, block])
    table.embeddings.assign(X)
    layer.kernel.assign(KERNEL.reshape(tuple(layer.kernel.shape)))
    return model, layer, {"pre_block_layers": [table], "sequential_blocks": [block]}


@pytest.mark.filterwarnings("ignore:Embedding")
@pytest.mark.parametrize(("mode", "options", "integers", "zeros", "scales"), FOUND)
def test_integers_are_those_that_keras_finds(
    mode: str, options: Any, integers: Any, zeros: Any, scales: Any
) -> None:
    model, layer, structure = model_of()
    model.quantize(mode, config=config_of(mode, structure, **options))
    assert getattr(layer, f"is_{mode}_calibrated")
    np.testing.assert_array_equal(layer.kernel, integers)
    np.testing.assert_array_equal(layer.kernel_zero, zeros)
    np.testing.assert_allclose(np.ravel(layer.kernel_scale), scales, rtol=1e-4)
    if not options.get("activation_order"):
        size = max(options["group_size"], 1) if options["group_size"] > 0 else len(KERNEL)
        np.testing.assert_array_equal(layer.g_idx, np.arange(len(KERNEL)) // size)


@pytest.mark.filterwarnings("ignore:Embedding")
@pytest.mark.parametrize("kind", ["Dense", "EinsumDense"])
@pytest.mark.parametrize("mode", ["gptq", "awq"])
def test_a_calibrated_model_is_stored(kind: str, mode: str, tmp_path: Any) -> None:
    model, layer, structure = model_of(kind)
    ids = np.arange(12).reshape(2, 6)
    before = model.predict(ids, verbose=0)
    model.quantize(mode, config=config_of(mode, structure, group_size=2))
    after = model.predict(ids, verbose=0)
    assert 0 < np.abs(after - before).max() < 0.3 * np.abs(before).max()
    assert layer.dtype_policy.name == f"{mode}/4/2_from_float32"
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(again.predict(ids, verbose=0), after, rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore:Embedding")
def test_a_group_of_one_sign_is_rounded_too() -> None:
    # Keras 3.15 puts the integer of 0 into a byte that does not hold it.
    model, layer, structure = model_of()
    layer.kernel.assign(abs(KERNEL) + 1)
    ids = np.arange(4)[None]
    before = model.predict(ids, verbose=0)
    model.quantize("gptq", config=config_of("gptq", structure, group_size=2, weight_bits=8))
    np.testing.assert_allclose(model.predict(ids, verbose=0), before, atol=0.1)


@pytest.mark.filterwarnings("ignore:Embedding")
def test_layers_that_filters_leave_out_stay_as_they_are() -> None:
    model, layer, structure = model_of()
    other = config_of("gptq", structure, group_size=-1)
    model.quantize("gptq", config=other, filters=lambda x: x is not layer)
    assert layer.quantization_mode is None
    assert not hasattr(layer, "quantized_kernel")


def test_a_layer_computes_with_its_floats_until_samples_were_looked_at() -> None:
    layer = keras.layers.Dense(3)
    layer.build((None, 6))
    before = layer(X)
    layer.quantize("awq", config=config_of("awq", group_size=4))
    np.testing.assert_array_equal(layer(X), before)
    assert not layer.is_awq_calibrated
    assert layer.quantized_kernel.shape == (2, 6)
    with pytest.raises(NotImplementedError, match="lora is not currently supported with AWQ"):
        layer.enable_lora(2)
    again = keras.layers.Dense.from_config(layer.get_config())
    again.build((None, 6))
    assert again.quantization_mode == "awq"
    assert again.quantization_config.group_size == 4


def test_what_cannot_be_calibrated_is_refused() -> None:
    model, layer, structure = model_of()
    with pytest.raises(ValueError, match="must pass a `GPTQConfig` object"):
        model.quantize("gptq")
    with pytest.raises(ValueError, match="Mode 'awq' requires a valid `config`"):
        layer.quantize(config=type("AWQ", (quantizers.QuantizationConfig,), {"mode": "awq"})())
    with pytest.raises(ValueError, match="a valid quantization structure"):
        model.quantize("awq", config=config_of("awq"))
    with pytest.raises(ValueError, match="No sequential blocks found"):
        model.quantize("awq", config=config_of("awq", {"pre_block_layers": []}))
    empty = quantizers.GPTQConfig(None, None, quantization_layer_structure=structure)
    with pytest.raises(ValueError, match="requires a dataset and a tokenizer"):
        model.quantize("gptq", config=empty)
    with pytest.raises(ValueError, match=r"Implicitly enabling GPTQ quantization.*not supported"):
        layer.dtype_policy = "gptq/4/-1_from_float32"
    with pytest.raises(NotImplementedError, match="Invalid quantization mode"):
        model.layers[0].quantize("gptq", config=config_of("gptq"))


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        ("GPTQConfig", {"weight_bits": 5}, "Unsupported weight_bits 5"),
        ("AWQConfig", {"weight_bits": 8}, "only supports 4-bit"),
        ("GPTQConfig", {"num_samples": 0}, "num_samples must be a positive integer"),
        ("AWQConfig", {"sequence_length": -1}, "sequence_length must be a positive integer"),
        ("AWQConfig", {"num_grid_points": 0}, "num_grid_points must be a positive integer"),
        ("GPTQConfig", {"group_size": 0}, "Invalid group_size. Supported values are -1"),
        ("GPTQConfig", {"hessian_damping": 2}, "hessian_damping must be between 0 and 1"),
    ],
)
def test_a_number_out_of_its_range_is_refused(kind: str, options: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        getattr(quantizers, kind)(None, None, **options)


def test_policies_say_bits_and_rows() -> None:
    policy = keras.dtype_policies.get("gptq/2/64_from_mixed_bfloat16")
    assert isinstance(policy, keras.dtype_policies.GPTQDTypePolicy)
    assert (policy.mode, policy.weight_bits, policy.group_size) == ("gptq", 2, 64)
    assert policy.compute_dtype == "bfloat16"
    assert keras.dtype_policies.deserialize(keras.dtype_policies.serialize(policy)) == policy
    for name, words in {
        "awq/8/128": "only supports 4-bit",
        "awq/4": "Invalid mode",
        "awq/4/x": "must be integers",
        "awq/4/0": "Invalid group_size",
    }.items():
        with pytest.raises(ValueError, match=words):
            keras.dtype_policies.AWQDTypePolicy(name, "float32")


def test_texts_become_ids_by_the_tokenizer() -> None:
    seen = []

    class Tokenizer:
        def tokenize(self, text: str) -> Any:
            seen.append(text)
            return np.array([ord(letter) - ord("a") for letter in text])

    model, _, structure = model_of()
    config = quantizers.GPTQConfig(
        ["abc", "defg"],
        Tokenizer(),
        num_samples=4,
        sequence_length=3,
        group_size=-1,
        quantization_layer_structure=structure,
    )
    with pytest.warns(UserWarning, match="Embedding"):
        model.quantize(config=config)
    assert seen == ["abc", "defg"]
