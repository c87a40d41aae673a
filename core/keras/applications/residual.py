"""Residual networks: the stem, the blocks of both versions, and the top."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras.applications.published import pair
from pinnace.keras.layers import (
    Activation,
    Add,
    BatchNormalization,
    Conv2D,
    GlobalAveragePooling2D,
    MaxPooling2D,
    ZeroPadding2D,
)

if TYPE_CHECKING:
    from pinnace.keras.applications.arguments import Arguments
    from pinnace.keras.models.model import Model

_URL = "https://storage.googleapis.com/tensorflow/keras-applications/resnet/"
_FILTERS = (64, 128, 256, 512)
# For the docstrings.
GIVES = """height / 32,
    width / 32, 2048], pooled [batch, 2048]. Give it what `preprocess_input` gives."""
# The digests of the files, with the classes and without.
_DIGESTS = {
    "resnet50": ("2cb95161c43110f7111970584f804107", "4d473c1dd8becc155b73f8504c6f6626"),
    "resnet101": ("f1aeb4b969a6efcfb50fad2f0c20cfc5", "88cf7a10940856eca736dc7b7e228a21"),
    "resnet152": ("100835be76be38e30d865e96f2aaae62", "ee4c566cf9a93f14d82f913c2dc6dd0c"),
    "resnet50v2": ("3ef43a0b657b3be2300d5770ece849e0", "fac2f116257151a9d068a22e544a4917"),
    "resnet101v2": ("6343647c601c52e1368623803854d971", "c0ed64b8031c3730f411d2eb4eea35b5"),
    "resnet152v2": ("a49b44d1979771252814e80f8ec446f9", "ed17cf2e0169df9d443503ef94b23b33"),
}


def residual_network(asked: Arguments, which: str, depths: tuple[int, ...]) -> Model:
    """The model.

    Args:
        asked: the arguments that all networks have.
        which: the member of the family, `resnet50` and the like; those that end in `v2` normalize
            before the convolutions of a block.
        depths: the blocks in each of the four stages.

    Source:
        He, Zhang, Ren and Sun, "Deep Residual Learning for Image Recognition", 2015, table 1, and
        "Identity Mappings in Deep Residual Networks", 2016; names and order of layers are Keras'.
    """
    before = which.endswith("v2")
    image = asked.image(asked.checked_shape())
    x = ZeroPadding2D(((3, 3), (3, 3)), name="conv1_pad")(image)
    x = Conv2D(64, 7, strides=2, name="conv1_conv")(x)
    if not before:
        x = _normalized(x, "conv1_bn", "conv1_relu")
    x = ZeroPadding2D(((1, 1), (1, 1)), name="pool1_pad")(x)
    x = MaxPooling2D(3, strides=2, name="pool1_pool")(x)
    stage = _stage_before if before else _stage_after
    for number, (depth, filters) in enumerate(zip(depths, _FILTERS, strict=True), 2):
        x = stage(x, number, depth, filters)
    if before:
        x = _normalized(x, "post_bn", "post_relu")
    if asked.include_top:
        x = asked.classified(GlobalAveragePooling2D(name="avg_pool")(x))
    else:
        x = asked.pooled(x, "avg_pool", "max_pool")
    files = pair(f"{_URL}{which}_weights_tf_dim_ordering_tf_kernels", *_DIGESTS[which])
    return asked.model(image, x, files[asked.include_top])


def _stage_after(x: Any, number: int, depth: int, filters: int) -> Any:
    """A stage of version 1: its first block halves the size, except in the first stage."""
    for block in range(1, depth + 1):
        first = block == 1
        stride = 2 if first and number > 2 else 1
        x = _block_after(x, filters, stride, first, f"conv{number}_block{block}")
    return x


def _stage_before(x: Any, number: int, depth: int, filters: int) -> Any:
    """A stage of version 2: its last block halves the size, except in the last stage."""
    for block in range(1, depth + 1):
        stride = 2 if block == depth and number < 5 else 1
        x = _block_before(x, filters, stride, block == 1, f"conv{number}_block{block}")
    return x


def _block_after(x: Any, filters: int, stride: int, projects: bool, name: str) -> Any:
    shortcut = x
    if projects:
        shortcut = Conv2D(4 * filters, 1, strides=stride, name=f"{name}_0_conv")(x)
        shortcut = _normalized(shortcut, f"{name}_0_bn")
    x = Conv2D(filters, 1, strides=stride, name=f"{name}_1_conv")(x)
    x = _normalized(x, f"{name}_1_bn", f"{name}_1_relu")
    x = Conv2D(filters, 3, padding="same", name=f"{name}_2_conv")(x)
    x = _normalized(x, f"{name}_2_bn", f"{name}_2_relu")
    x = _normalized(Conv2D(4 * filters, 1, name=f"{name}_3_conv")(x), f"{name}_3_bn")
    return Activation("relu", name=f"{name}_out")(Add(name=f"{name}_add")([shortcut, x]))


def _block_before(x: Any, filters: int, stride: int, projects: bool, name: str) -> Any:
    shortcut = x
    x = _normalized(x, f"{name}_preact_bn", f"{name}_preact_relu")
    if projects:
        shortcut = Conv2D(4 * filters, 1, strides=stride, name=f"{name}_0_conv")(x)
    elif stride > 1:
        shortcut = MaxPooling2D(1, strides=stride)(shortcut)
    x = Conv2D(filters, 1, use_bias=False, name=f"{name}_1_conv")(x)
    x = _normalized(x, f"{name}_1_bn", f"{name}_1_relu")
    x = ZeroPadding2D(((1, 1), (1, 1)), name=f"{name}_2_pad")(x)
    x = Conv2D(filters, 3, strides=stride, use_bias=False, name=f"{name}_2_conv")(x)
    x = _normalized(x, f"{name}_2_bn", f"{name}_2_relu")
    x = Conv2D(4 * filters, 1, name=f"{name}_3_conv")(x)
    return Add(name=f"{name}_out")([shortcut, x])


def _normalized(x: Any, name: str, activation: str = "") -> Any:
    """BatchNormalization, followed by a ReLU if a name is given for it."""
    x = BatchNormalization(epsilon=1.001e-5, name=name)(x)
    return Activation("relu", name=activation)(x) if activation else x
