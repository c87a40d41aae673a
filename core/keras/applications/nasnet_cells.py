"""The cells of NASNet-A: pairs of operations, found by search, whose sums are concatenated."""

from __future__ import annotations

from typing import Any

from pinnace.keras.applications.halving import padding_before
from pinnace.keras.layers import (
    Activation,
    AveragePooling2D,
    BatchNormalization,
    Conv2D,
    Cropping2D,
    MaxPooling2D,
    SeparableConv2D,
    ZeroPadding2D,
    add,
    concatenate,
)


def normalized(x: Any, name: str) -> Any:
    """x after batch normalization.

    Args:
        x: [batch, height, width, channels].
        name: name of the layer.
    """
    return BatchNormalization(axis=-1, momentum=0.9997, epsilon=1e-3, name=name)(x)


def normal_cell(x: Any, previous: Any, filters: int, which: str) -> Any:
    """A cell that keeps height and width.

    Args:
        x: [batch, height, width, channels].
        previous: the value the cell before began with.
        filters: number of filters of each step.
        which: suffix of the names of its layers.

    Returns:
        [batch, height, width, 6 · filters].

    Source:
        Zoph et al., "Learning Transferable Architectures for Scalable Image Recognition", 2018,
        figure 4.
    """
    p = _adjusted(previous, x, filters, which)
    h = _projected(x, filters, "normal", which)
    first = [
        _separable(h, filters, 5, f"normal_left1_{which}"),
        _separable(p, filters, 3, f"normal_right1_{which}"),
    ]
    sums = [p, add(first, name=f"normal_add_1_{which}")]
    second = [
        _separable(p, filters, 5, f"normal_left2_{which}"),
        _separable(p, filters, 3, f"normal_right2_{which}"),
    ]
    sums.append(add(second, name=f"normal_add_2_{which}"))
    third = [_mean(h, f"normal_left3_{which}"), p]
    sums.append(add(third, name=f"normal_add_3_{which}"))
    fourth = [_mean(p, f"normal_left4_{which}"), _mean(p, f"normal_right4_{which}")]
    sums.append(add(fourth, name=f"normal_add_4_{which}"))
    fifth = [_separable(h, filters, 3, f"normal_left5_{which}"), h]
    sums.append(add(fifth, name=f"normal_add_5_{which}"))
    return concatenate(sums, axis=-1, name=f"normal_concat_{which}")


def reduction_cell(x: Any, previous: Any, filters: int, which: str) -> Any:
    """A cell that halves height and width.

    Args:
        x: [batch, height, width, channels].
        previous: the value the cell before began with; None for the first cell.
        filters: number of filters of each step.
        which: suffix of the names of its layers.

    Returns:
        [batch, height / 2, width / 2, 4 · filters].

    Source:
        See `normal_cell`.
    """
    p = x if previous is None else _adjusted(previous, x, filters, which)
    h = _projected(x, filters, "reduction", which)
    padded = ZeroPadding2D(padding_before(h, 3), name=f"reduction_pad_1_{which}")(h)
    first = [
        _separable(h, filters, 5, f"reduction_left1_{which}", strides=2),
        _separable(p, filters, 7, f"reduction_right1_{which}", strides=2),
    ]
    one = add(first, name=f"reduction_add_1_{which}")
    second = [
        MaxPooling2D((3, 3), (2, 2), "valid", name=f"reduction_left2_{which}")(padded),
        _separable(p, filters, 7, f"reduction_right2_{which}", strides=2),
    ]
    two = add(second, name=f"reduction_add_2_{which}")
    third = [
        AveragePooling2D((3, 3), (2, 2), "valid", name=f"reduction_left3_{which}")(padded),
        _separable(p, filters, 5, f"reduction_right3_{which}", strides=2),
    ]
    three = add(third, name=f"reduction_add3_{which}")
    four = add([two, _mean(one, f"reduction_left4_{which}")])
    fifth = [
        _separable(one, filters, 3, f"reduction_left4_{which}"),
        MaxPooling2D((3, 3), (2, 2), "valid", name=f"reduction_right5_{which}")(padded),
    ]
    five = add(fifth, name=f"reduction_add4_{which}")
    return concatenate([two, three, four, five], axis=-1, name=f"reduction_concat_{which}")


def _mean(x: Any, name: str) -> Any:
    return AveragePooling2D((3, 3), strides=(1, 1), padding="same", name=name)(x)


def _projection(filters: int, name: str) -> Conv2D:
    return Conv2D(
        filters,
        (1, 1),
        strides=(1, 1),
        padding="same",
        use_bias=False,
        kernel_initializer="he_normal",
        name=name,
    )


def _projected(x: Any, filters: int, kind: str, which: str) -> Any:
    x = Activation("relu")(x)
    x = _projection(filters, f"{kind}_conv_1_{which}")(x)
    return normalized(x, f"{kind}_bn_1_{which}")


def _separable(x: Any, filters: int, size: int, which: str, *, strides: int = 1) -> Any:
    """Two separable convolutions, the first one with the strides."""
    x, padding = Activation("relu")(x), "same"
    if strides == 2:
        x = ZeroPadding2D(padding_before(x, size), name=f"separable_conv_1_pad_{which}")(x)
        padding = "valid"
    for place in (1, 2):
        if place == 2:
            x, strides, padding = Activation("relu")(x), 1, "same"
        x = SeparableConv2D(
            filters,
            (size, size),
            strides=(strides, strides),
            padding=padding,
            use_bias=False,
            name=f"separable_conv_{place}_{which}",
        )(x)
        x = normalized(x, f"separable_conv_{place}_bn_{which}")
    return x


def _adjusted(p: Any, x: Any, filters: int, which: str) -> Any:
    """The previous cell's input, resized to x, with the number of channels of a step."""
    if p.shape[-2] != x.shape[-2]:
        p = Activation("relu", name=f"adjust_relu_1_{which}")(p)
        # Every second row and column, and beside them those between.
        between = Cropping2D(((1, 0), (1, 0)))(ZeroPadding2D(((0, 1), (0, 1)))(p))
        halves = []
        for place, half in enumerate((p, between), 1):
            pool = AveragePooling2D(
                (1, 1), (2, 2), "valid", name=f"adjust_avg_pool_{place}_{which}"
            )
            halves.append(_projection(filters // 2, f"adjust_conv_{place}_{which}")(pool(half)))
        return normalized(concatenate(halves, axis=-1), f"adjust_bn_{which}")
    if p.shape[-1] != filters:
        p = _projection(filters, f"adjust_conv_projection_{which}")(Activation("relu")(p))
        return normalized(p, f"adjust_bn_{which}")
    return p
