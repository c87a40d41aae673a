"""Layers that Keras and this library build and call from one description."""

import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Case(NamedTuple):
    """A layer and its call.

    Attributes:
        make: takes `keras.layers`.
        call: calls the layer; gets it, the inputs (tensors) and a boolean mask [2, 5].
        shapes: shapes of the normally distributed inputs.
    """

    make: Callable[[Any], Any]
    call: Callable[[Any, list[Any], Any], Any] = lambda layer, xs, _: layer(xs[0])
    shapes: tuple[tuple[int, ...], ...] = ((2, 5, 8),)


TWO = ((2, 5, 8), (2, 4, 8))
CASES: dict[str, Case] = {
    "mha": Case(lambda k: k.MultiHeadAttention(2, 3), lambda m, x, _: m(x[0], x[1]), TWO),
    "mha_scores": Case(
        lambda k: k.MultiHeadAttention(2, 3, value_dim=4, output_shape=6, use_bias=False),
        lambda m, x, _: m(x[0], x[1], x[2], return_attention_scores=True),
        (*TWO, (2, 4, 7)),
    ),
    "mha_causal": Case(
        lambda k: k.MultiHeadAttention(3, 2),
        lambda m, x, _: m(x[0], x[0], use_causal_mask=True),
    ),
    "mha_masked": Case(
        lambda k: k.MultiHeadAttention(2, 3),
        lambda m, x, mask: m(x[0], x[0], value_mask=mask, return_attention_scores=True),
    ),
    "mha_attention_mask": Case(
        lambda k: k.MultiHeadAttention(2, 3),
        lambda m, x, mask: m(x[0], x[0], attention_mask=mask[:, :, None] | mask[:, None, :]),
    ),
    "mha_two_axes": Case(
        lambda k: k.MultiHeadAttention(2, 3, attention_axes=(1, 2)),
        lambda m, x, _: m(x[0], x[0]),
        ((2, 3, 4, 6),),
    ),
    "mha_one_of_two_axes": Case(
        lambda k: k.MultiHeadAttention(2, 3, attention_axes=2),
        lambda m, x, _: m(x[0], x[0]),
        ((2, 3, 4, 6),),
    ),
    "attention": Case(lambda k: k.Attention(), lambda m, x, _: m(x), TWO),
    "attention_scaled": Case(
        lambda k: k.Attention(use_scale=True, score_mode="concat"), lambda m, x, _: m(x), TWO
    ),
    "attention_causal": Case(
        lambda k: k.Attention(), lambda m, x, _: m([x[0], x[0]], use_causal_mask=True)
    ),
    "attention_masked": Case(
        lambda k: k.Attention(),
        lambda m, x, mask: m([x[0], x[0]], mask=[mask, mask], return_attention_scores=True),
    ),
    "additive_attention": Case(lambda k: k.AdditiveAttention(), lambda m, x, _: m(x), TWO),
    "additive_attention_key": Case(
        lambda k: k.AdditiveAttention(use_scale=False), lambda m, x, _: m(x), (*TWO, TWO[1])
    ),
    "einsum_dense": Case(lambda k: k.EinsumDense("abc,cde->abde", (None, 3, 2), bias_axes="de")),
    "einsum_dense_dots": Case(
        lambda k: k.EinsumDense("...x,xy->...y", 4, bias_axes="y", activation="relu")
    ),
    "einsum_dense_right": Case(
        lambda k: k.EinsumDense("ab...,bc->ac...", (4,), bias_axes="c"),
    ),
    "group_normalization": Case(lambda k: k.GroupNormalization(4)),
    "instance_normalization": Case(
        lambda k: k.GroupNormalization(-1, axis=1, scale=False), shapes=((2, 4, 3, 6),)
    ),
    "rms_normalization": Case(lambda k: k.RMSNormalization()),
    "softmax_masked": Case(
        lambda k: k.Softmax(axis=(1, 2)), lambda m, x, mask: m(x[0], mask=mask[:, :, None])
    ),
    "depthwise_1d": Case(lambda k: k.DepthwiseConv1D(3, strides=2, depth_multiplier=2)),
    "depthwise_1d_dilated": Case(
        lambda k: k.DepthwiseConv1D(2, padding="same", dilation_rate=2, activation="relu")
    ),
    "separable_1d": Case(lambda k: k.SeparableConv1D(6, 3, padding="same", depth_multiplier=2)),
    "padding_3d": Case(lambda k: k.ZeroPadding3D((1, (0, 2), 1)), shapes=((1, 2, 2, 3, 2),)),
    "cropping_3d": Case(lambda k: k.Cropping3D((1, (0, 2), 1)), shapes=((1, 4, 5, 4, 2),)),
    "up_sampling_3d": Case(lambda k: k.UpSampling3D((1, 2, 3)), shapes=((1, 2, 2, 3, 2),)),
    "alpha_dropout": Case(
        lambda k: k.AlphaDropout(0.4, seed=3), lambda m, x, _: m(x[0], training=True)
    ),
    "normalization": Case(
        lambda k: k.Normalization(mean=[1.0] * 8, variance=[4.0] * 8),
    ),
    "normalization_inverted": Case(
        lambda k: k.Normalization(axis=None, mean=1.0, variance=4.0, invert=True),
    ),
    "resizing": Case(lambda k: k.Resizing(4, 7), shapes=((2, 5, 8, 3),)),
    "resizing_cropped": Case(
        lambda k: k.Resizing(4, 4, "nearest", crop_to_aspect_ratio=True), shapes=((2, 5, 8, 3),)
    ),
    "pooling_masked": Case(
        lambda k: k.GlobalAveragePooling1D(), lambda m, x, mask: m(x[0], mask=mask)
    ),
}


def inputs_of(name: str) -> tuple[list[Array], Array]:
    """Inputs and mask of a case."""
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    xs = [generator.standard_normal(shape).astype(np.float32) for shape in CASES[name].shapes]
    mask = np.array([[True, True, True, False, False], [True, False, True, True, False]])
    return xs, mask
