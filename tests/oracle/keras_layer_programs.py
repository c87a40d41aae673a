"""Edge cases of Keras' layers: merged masks, sparse inputs, adapters, quantised tables.

python keras_layer_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import sys
from typing import Any

import numpy as np
from reporting import report

tf: Any = importlib.import_module(sys.argv[1])
keras = tf.keras
layers = keras.layers


def numbers(*shape: int, seed: int = 0) -> Any:
    return (np.random.default_rng(seed).integers(-8, 9, shape) / 8).astype("float32")


def plain(x: Any) -> Any:
    if isinstance(x, tf.SparseTensor):
        return ["sparse", plain(tf.sparse.to_dense(x))]
    if isinstance(x, dict):
        return {str(key): plain(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(item) for item in x]
    if x is None or isinstance(x, (str, bool, int, float)):
        return x
    return np.asarray(x).tolist()


def merged(kind: str, second: bool = True) -> Any:
    """The output of a layer for masked inputs, and its mask."""
    masking = layers.Masking()
    x = masking(np.array([[[0, 0], [-1, 2], [0, 0], [3, -4]]], "float32"))
    other: Any = np.array([[[0, 0], [0, 0], [-2, 5], [2, 2]]], "float32")
    other = masking(other) if second else tf.constant(other)
    y = getattr(layers, kind)()([x, other])
    return [y, getattr(y, "_keras_mask", None)]


def merged_sparse(kind: str) -> Any:
    x = tf.SparseTensor([[0, 0], [1, 2]], [1.0, -2.0], (2, 3))
    y = tf.SparseTensor([[0, 0], [1, 1]], [4.0, 5.0], (2, 3))
    layer = getattr(layers, kind)(**({"axes": -1} if kind == "Dot" else {}))
    dense = numbers(2, 3)
    return [layer([x, y]), layer([x, dense]) if kind != "Dot" else None]


def merged_ranks(kind: str) -> Any:
    return getattr(layers, kind)()([numbers(2, 3, 4), numbers(2, 4, seed=1)])


def moved_sparse() -> Any:
    x = tf.sparse.from_dense(numbers(2, 3, 4) * (numbers(2, 3, 4, seed=1) > 0))
    return [
        layers.Flatten()(x),
        layers.Flatten(data_format="channels_first")(x),
        layers.Reshape((4, -1))(x),
        layers.Permute((2, 1))(x),
    ]


def softened(axis: Any) -> Any:
    x = numbers(2, 3, 4)
    return [keras.activations.softmax(x, axis=axis), keras.activations.log_softmax(x, axis=axis)]


def masked_softmax() -> Any:
    mask = np.array([[True, True, False], [False, False, False]])
    return [
        layers.Softmax()(numbers(2, 3), mask=mask),
        layers.Softmax(axis=[0, 1])(numbers(2, 3), mask=mask),
        layers.Softmax()(numbers(2, 3), mask=np.array([[0.4, 0.6, 1.0]], "float32")),
    ]


def normalised(**options: Any) -> Any:
    layer = layers.LayerNormalization(**options)
    x = numbers(2, 3, 4)
    layer(x)
    layer.set_weights([numbers(*w.shape, seed=3) for w in layer.weights])
    return [layer(x), [list(w.shape) for w in layer.weights]]


def large_in_half() -> Any:
    x = numbers(2, 4, 8) * 1e5
    # Not BatchNormalization, which casts its inputs in Keras, where they overflow.
    return [
        layers.GroupNormalization(groups=2, dtype="mixed_float16")(x),
        layers.LayerNormalization(dtype="mixed_float16")(x),
    ]


def adapted_convolution(kind: str, **options: Any) -> Any:
    layer = getattr(layers, kind)(4, 2, **options)
    x = numbers(2, *[5] * int(kind[4]), 4)
    layer(x)
    layer.set_weights([numbers(*w.shape, seed=1) for w in layer.weights])
    layer.enable_lora(2, lora_alpha=3.0)
    layer.lora_kernel_b.assign(numbers(*layer.lora_kernel_b.shape, seed=2))
    layer.lora_kernel_a.assign(numbers(*layer.lora_kernel_a.shape, seed=3))
    trained = [list(w.shape) for w in layer.trainable_weights]
    return [layer(x), layer.kernel, trained, layer.get_config().get("lora_rank")]


def scores(mode: str, tied: bool, block_size: Any = None) -> Any:
    """Scores by a quantised table, and its variables."""
    layer = layers.ReversibleEmbedding(6, 8, tie_weights=tied, logit_soft_cap=5.0)
    layer.build()
    layer.set_weights([numbers(*w.shape, seed=i) for i, w in enumerate(layer.weights)])
    config = mode
    if mode == "int4":
        config = keras.quantizers.Int4QuantizationConfig(block_size=block_size)
    layer.quantize(mode, config=None if mode == "int8" else config)
    kept = sorted((w.name.partition(":")[0].rpartition("/")[2], plain(w)) for w in layer.weights)
    return [layer(np.array([0, 5])), layer(numbers(3, 8, seed=5), reverse=True), kept]


def hashed(**options: Any) -> Any:
    layer = layers.IntegerLookup(
        vocabulary=[10, 20], num_oov_indices=4, oov_method="farmhash", **options
    )
    return layer(np.array([10, 20, 100, 200, 300, 400]))


def hashed_texts() -> Any:
    layer = layers.StringLookup(vocabulary=["a"], num_oov_indices=4, salt=[137, 42])
    return layer(np.array(["a", "x", "y", "z", "w"]))


def adapted_statistics(axis: Any) -> Any:
    x = numbers(12, 3, 2)
    layer = layers.Normalization(axis=axis)
    layer.adapt([x[:4], x[4:8], x[8:]])
    given = layers.Normalization(axis=-1, mean=[1.0, 2.0], variance=[4.0, 9.0])
    given.build((None, 3, 2))
    return [layer.mean, layer.variance, layer(x[:2]), given.mean, given.variance]


def rectified() -> Any:
    x = np.array([-10.0, -5.0, 0.0, 5.0, 10.0], "float32")
    return [
        keras.activations.relu(x, threshold=5.0),
        keras.activations.relu(x, negative_slope=0.5, max_value=5.0, threshold=5.0),
    ]


PROGRAMS = {
    "merged_add": lambda: [merged("Add"), merged("Add", second=False)],
    "merged_multiply": lambda: [merged("Multiply"), merged("Multiply", second=False)],
    "merged_maximum": lambda: [merged("Maximum"), merged("Maximum", second=False)],
    "merged_minimum": lambda: [merged("Minimum"), merged("Minimum", second=False)],
    "merged_average": lambda: [merged("Average"), merged("Average", second=False)],
    "sparse_add": lambda: merged_sparse("Add"),
    "sparse_subtract": lambda: merged_sparse("Subtract"),
    "sparse_multiply": lambda: merged_sparse("Multiply"),
    "sparse_average": lambda: merged_sparse("Average"),
    "sparse_maximum": lambda: merged_sparse("Maximum"),
    "sparse_minimum": lambda: merged_sparse("Minimum"),
    "sparse_dot": lambda: merged_sparse("Dot"),
    "merged_ranks": lambda: [merged_ranks(kind) for kind in ("Add", "Maximum", "Average")],
    "moved_sparse": moved_sparse,
    "softened": lambda: [softened(axis) for axis in (0, (1, 2), (0, 2))],
    "masked_softmax": masked_softmax,
    "unsorted_axes": lambda: normalised(axis=[2, 1]),
    "rms_scaling": lambda: normalised(rms_scaling=True),
    "large_in_half": large_in_half,
    "lora_1": lambda: adapted_convolution("Conv1D", padding="causal"),
    "lora_2": lambda: adapted_convolution("Conv2D", strides=2, activation="relu"),
    "lora_3": lambda: adapted_convolution("Conv3D", groups=2),
    "scores_int8": lambda: [scores("int8", tied) for tied in (True, False)],
    "scores_int4": lambda: [scores("int4", tied) for tied in (True, False)],
    "scores_int4_groups": lambda: [scores("int4", tied, 4) for tied in (True, False)],
    "hashed": hashed,
    "hashed_with_salt": lambda: hashed(salt=[137, 42]),
    "hashed_texts": hashed_texts,
    "statistics": lambda: [adapted_statistics(axis) for axis in (-1, None, (1, 2))],
    "rectified": rectified,
}

if __name__ == "__main__":
    report(PROGRAMS, plain)
