"""Every layer has the common properties of layers."""

import numpy as np
import pytest
from numpy.typing import NDArray

import pinnace as tf
from pinnace.keras import layers
from support.check_layer import check_layer

F = NDArray[np.float64]


def dense(x: F, kernel: F, bias: F) -> F:
    return np.maximum(np.einsum("...i,io->...o", x, kernel) + bias, 0)


@pytest.mark.parametrize("x", ["float32[?, 5]", "float32[?, 4, 5]", "float32[2, ?, 3, 5]"])
def test_dense(x: str) -> None:
    check_layer(
        layers.Dense(3, activation="relu"), x, {"kernel": [5, 3], "bias": [3]}, reference=dense
    )


def test_dense_without_bias() -> None:
    check_layer(layers.Dense(3, use_bias=False), "float32[?, 5]", {"kernel": [5, 3]})


def conv2d(x: F, kernel: F, bias: F) -> F:
    h, w = kernel.shape[:2]
    windows = np.lib.stride_tricks.sliding_window_view(x, (h, w), axis=(1, 2))
    return np.einsum("bijchw,hwco->bijo", windows, kernel) + bias


def test_conv2d() -> None:
    check_layer(
        layers.Conv2D(4, (3, 2)),
        "float32[?, 6, 5, 2]",
        {"kernel": [3, 2, 2, 4], "bias": [4]},
        reference=conv2d,
    )


@pytest.mark.parametrize(
    "options",
    [
        {"padding": "same", "strides": 2, "activation": "tanh"},
        {"padding": "same", "dilation_rate": 2},
        {"padding": "valid", "groups": 2},
        {"use_bias": False, "kernel_regularizer": "l2", "kernel_constraint": "max_norm"},
    ],
    ids=["strided", "dilated", "grouped", "plain"],
)
def test_conv2d_options(options: dict[str, object]) -> None:
    check_layer(layers.Conv2D(4, 3, **options), "float32[?, 7, 6, 2]")


def test_conv2d_with_channels_first() -> None:
    check_layer(layers.Conv2D(4, 3, data_format="channels_first"), "float32[?, 2, 6, 5]")


@pytest.mark.parametrize("padding", ["valid", "same", "causal"])
def test_conv1d(padding: str) -> None:
    check_layer(
        layers.Conv1D(4, 3, padding=padding),
        "float32[?, 6, 2]",
        {"kernel": [3, 2, 4], "bias": [4]},
    )


def test_a_causal_convolution_does_not_look_ahead() -> None:
    layer = layers.Conv1D(1, 3, padding="causal", kernel_initializer="ones")
    x = np.arange(4, dtype=np.float32).reshape(1, 4, 1)
    np.testing.assert_array_equal(layer(x).numpy()[0, :, 0], [0, 1, 3, 6])


def test_conv3d() -> None:
    check_layer(
        layers.Conv3D(2, 2), "float32[?, 3, 4, 3, 2]", {"kernel": [2, 2, 2, 2, 2], "bias": [2]}
    )


def test_depthwise_conv2d() -> None:
    check_layer(
        layers.DepthwiseConv2D(3, depth_multiplier=2, padding="same"),
        "float32[?, 5, 5, 3]",
        {"kernel": [3, 3, 3, 2], "bias": [6]},
    )


def test_separable_conv2d() -> None:
    check_layer(
        layers.SeparableConv2D(4, 3),
        "float32[?, 5, 5, 3]",
        {"depthwise_kernel": [3, 3, 3, 1], "pointwise_kernel": [1, 1, 3, 4], "bias": [4]},
    )


@pytest.mark.parametrize("padding", ["valid", "same"])
def test_conv2d_transpose(padding: str) -> None:
    check_layer(
        layers.Conv2DTranspose(4, 3, strides=2, padding=padding),
        "float32[?, 4, 5, 2]",
        {"kernel": [3, 3, 4, 2], "bias": [4]},
    )


@pytest.mark.parametrize(
    "layer",
    [
        layers.MaxPooling2D(),
        layers.MaxPooling2D((3, 2), strides=1, padding="same"),
        layers.AveragePooling2D(2, padding="same"),
        layers.GlobalAveragePooling2D(),
        layers.GlobalMaxPooling2D(keepdims=True),
        layers.ZeroPadding2D(((1, 2), (0, 3))),
        layers.Cropping2D(((1, 0), (1, 2))),
        layers.UpSampling2D((2, 3)),
        layers.Flatten(),
        layers.Reshape((-1, 3)),
        layers.Permute((3, 1, 2)),
        layers.Activation("softplus"),
        layers.ReLU(max_value=0.5, negative_slope=0.1, threshold=0.2),
        layers.LeakyReLU(0.2),
        layers.ELU(0.5),
        layers.Softmax(),
        layers.UnitNormalization(),
        layers.Rescaling(2.0, offset=-1.0),
        layers.Identity(),
        layers.Dropout(0.5),
        layers.SpatialDropout2D(0.5),
    ],
    ids=lambda layer: layer.name,
)
def test_layers_without_weights_on_pictures(layer: layers.Layer) -> None:
    check_layer(layer, "float32[?, 5, 6, 3]", {})


@pytest.mark.parametrize(
    "layer",
    [
        layers.MaxPooling1D(),
        layers.AveragePooling1D(3, strides=1, padding="same"),
        layers.GlobalAveragePooling1D(),
        layers.GlobalMaxPooling1D(),
        layers.ZeroPadding1D((1, 2)),
        layers.Cropping1D((1, 1)),
        layers.UpSampling1D(3),
        layers.SpatialDropout1D(0.3),
    ],
    ids=lambda layer: layer.name,
)
def test_layers_without_weights_on_sequences(layer: layers.Layer) -> None:
    check_layer(layer, "float32[?, 6, 3]", {})


def test_repeat_vector() -> None:
    check_layer(layers.RepeatVector(4), "float32[?, 3]", {})


@pytest.mark.parametrize(
    "layer",
    [
        layers.Add(),
        layers.Multiply(),
        layers.Average(),
        layers.Maximum(),
        layers.Minimum(),
        layers.Concatenate(),
        layers.Concatenate(axis=1),
    ],
    ids=lambda layer: layer.name,
)
def test_merging_layers(layer: layers.Layer) -> None:
    check_layer(layer, ["float32[?, 4, 3]", "float32[?, 4, 3]", "float32[?, 4, 3]"], {})


def test_subtract() -> None:
    check_layer(layers.Subtract(), ["float32[?, 3]", "float32[?, 3]"], reference=np.subtract)


def dot(x: F, y: F) -> F:
    return np.einsum("bij,bkj->bik", x, y)


def test_dot() -> None:
    check_layer(layers.Dot(axes=2), ["float32[?, 2, 5]", "float32[?, 4, 5]"], reference=dot)


def test_embedding() -> None:
    check_layer(
        layers.Embedding(7, 3),
        "int32[?, 4]",
        {"embeddings": [7, 3]},
        low=0,
        high=7,
        reference=lambda x, table: table[x],
    )


def test_an_embedding_counts_negative_numbers_from_the_end() -> None:
    table = np.arange(6.0, dtype=np.float32).reshape(3, 2)
    layer = layers.Embedding(3, 2, weights=table)
    np.testing.assert_array_equal(layer(np.array([[-1, 0], [-3, 2]])), table[[[-1, 0], [-3, 2]]])
    rows = layer(tf.ragged.constant([[0], [-1, 1]]))
    assert rows.to_list() == [table[[0]].tolist(), table[[-1, 1]].tolist()]
    with pytest.raises(tf.errors.InvalidArgumentError, match="is not in"):
        layer(np.array([-4]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="is not in"):
        layer(np.array([3]))


STATISTICS = {"gamma": [3], "beta": [3], "moving_mean": [3], "moving_variance": [3]}


def normalised(x: F, gamma: F, beta: F, *_: F) -> F:
    axes = tuple(range(x.ndim - 1))
    centred = x - x.mean(axes)
    return gamma * centred / np.sqrt((centred**2).mean(axes) + 1e-3) + beta


@pytest.mark.parametrize("x", ["float32[?, 3]", "float32[?, 5, 3]", "float32[?, 4, 5, 3]"])
def test_batch_normalization_while_training(x: str) -> None:
    check_layer(layers.BatchNormalization(), x, STATISTICS, training=True, reference=normalised)


def test_batch_normalization_when_not_training() -> None:
    check_layer(
        layers.BatchNormalization(
            moving_variance_initializer="ones", moving_mean_initializer="ones"
        ),
        "float32[?, 4, 3]",
        STATISTICS,
        training=False,
        reference=lambda x, gamma, beta, mean, var: gamma * (x - mean) / np.sqrt(var + 1e-3) + beta,
    )


def test_batch_normalization_along_another_axis() -> None:
    check_layer(layers.BatchNormalization(axis=1), "float32[?, 3, 4]", STATISTICS, training=True)


def test_the_moving_statistics_follow_the_batches() -> None:
    layer = layers.BatchNormalization(momentum=0.8)
    x = np.random.default_rng(0).normal(3, 2, (50, 4, 2)).astype(np.float32)
    layer(x, training=True)
    mean, variance = x.mean((0, 1)), x.var((0, 1))
    np.testing.assert_allclose(layer.moving_mean.numpy(), 0.2 * mean, rtol=1e-5)
    np.testing.assert_allclose(layer.moving_variance.numpy(), 0.8 + 0.2 * variance, rtol=1e-5)


def test_a_frozen_batch_normalization_does_not_follow() -> None:
    layer = layers.BatchNormalization()
    layer.trainable = False
    x = np.ones((4, 2), np.float32)
    np.testing.assert_allclose(layer(x, training=True).numpy(), x / np.sqrt(1 + 1e-3), rtol=1e-6)
    assert not layer.moving_mean.numpy().any()


def layer_normalised(x: F, gamma: F, beta: F) -> F:
    centred = x - x.mean(-1, keepdims=True)
    return gamma * centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-3) + beta


def test_layer_normalization() -> None:
    check_layer(
        layers.LayerNormalization(),
        "float32[?, 4, 5]",
        {"gamma": [5], "beta": [5]},
        reference=layer_normalised,
    )


def test_layer_normalization_over_several_axes() -> None:
    check_layer(
        layers.LayerNormalization(axis=[1, 2]),
        "float32[?, 4, 5]",
        {"gamma": [4, 5], "beta": [4, 5]},
    )


def test_prelu() -> None:
    check_layer(
        layers.PReLU(alpha_initializer="ones", shared_axes=[1]),
        "float32[?, 4, 3]",
        {"alpha": [1, 3]},
    )
