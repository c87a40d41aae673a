"""Layers that pad, crop and enlarge volumes, [b, x1, x2, x3, c]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.keras.image_format import checked_format
from pinnace.keras.input_spec import InputSpec
from pinnace.keras.layer import Layer, LayerOptions
from pinnace.keras.layers.reshape import Sided, kept
from pinnace.keras.layers.windows import per_axis
from pinnace.ops.array import padding, tiling

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


class ZeroPadding3D(Sided):
    """Volumes padded with zeros along three axes.

    Args:
        padding: sizes; one entry per axis, each a number or a pair.
        data_format: `channels_last` or `channels_first`.
        **options: see Layer.

    Shapes:
        x [b, x1, x2, x3, c] → [b, x1', x2', x3', c].
    """

    _rank = 3

    def __init__(
        self,
        padding: Any = ((1, 1), (1, 1), (1, 1)),
        data_format: str | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        self.padding = self._sides(padding)
        self.data_format = checked_format("ZeroPadding3D", data_format)
        self.input_spec = InputSpec(ndim=5)
        self._build_at_init()

    def call(self, x: Tensor) -> Tensor:
        """The padded input."""
        return padding.pad(x, self._around(self.padding, self.data_format))


class Cropping3D(Sided):
    """Volumes cropped along three axes.

    Args:
        cropping: sizes; one entry per axis, each a number or a pair.
        data_format: `channels_last` or `channels_first`.
        **options: see Layer.

    Shapes:
        x [b, x1, x2, x3, c] → [b, x1', x2', x3', c].
    """

    _rank = 3
    _argument = "cropping"

    def __init__(
        self,
        cropping: Any = ((1, 1), (1, 1), (1, 1)),
        data_format: str | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        self.cropping = self._sides(cropping)
        self.data_format = checked_format("Cropping3D", data_format)
        self.input_spec = InputSpec(ndim=5)
        self._build_at_init()

    def call(self, x: Tensor) -> Tensor:
        """The cropped input."""
        self._check_left(x, self.cropping, self.data_format)
        a, b, c = (kept(side) for side in self.cropping)
        return x[:, a, b, c] if self.data_format == "channels_last" else x[:, :, a, b, c]


class UpSampling3D(Layer):
    """Volumes enlarged by repeating elements along three axes.

    Args:
        size: repetitions along each.
        data_format: `channels_last` or `channels_first`.
        **options: see Layer.

    Shapes:
        x [b, x1, x2, x3, c] → [b, x1 · size[0], x2 · size[1], x3 · size[2], c].
    """

    def __init__(
        self, size: Any = (2, 2, 2), data_format: str | None = None, **options: Unpack[LayerOptions]
    ) -> None:
        super().__init__(**options)
        self.size = per_axis("UpSampling3D", "size", size, 3)
        self.data_format = checked_format("UpSampling3D", data_format)
        self.input_spec = InputSpec(ndim=5)
        self._build_at_init()

    def call(self, x: Tensor) -> Tensor:
        """The enlarged input."""
        first = 1 if self.data_format == "channels_last" else 2
        for axis, count in enumerate(self.size, first):
            x = tiling.repeat(x, count, axis=axis)
        return x
