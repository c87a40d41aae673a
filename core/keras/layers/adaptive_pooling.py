"""Adaptive pooling: a fixed number of windows, for inputs of any size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from pinnace.keras.image_format import checked_format
from pinnace.keras.input_spec import InputSpec
from pinnace.keras.layer import Layer, LayerOptions
from pinnace.keras.layers.windows import Sizes, per_axis
from pinnace.ops.array import joining
from pinnace.ops.math import reduction

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


class _AdaptivePooling(Layer):
    """The window of output index i of n is floor(i size / n) up to ceil((i + 1) size / n)."""

    _takes_floats = True

    _rank: ClassVar[int]
    _mean: ClassVar[bool]

    def __init__(
        self, output_size: Sizes, data_format: str | None = None, **options: Unpack[LayerOptions]
    ) -> None:
        super().__init__(**options)
        self.output_size = per_axis(type(self).__name__, "output_size", output_size, self._rank)
        self.data_format = checked_format(type(self).__name__, data_format)
        self.input_spec = InputSpec(ndim=self._rank + 2)
        self._build_at_init()

    def call(self, x: Tensor) -> Tensor:
        """The pooled input."""
        first = 1 if self.data_format == "channels_last" else 2
        for axis, count in enumerate(self.output_size, first):
            x = self._along(x, axis, count)
        return x

    def _along(self, x: Tensor, axis: int, count: int) -> Tensor:
        size = x.shape[axis]
        if size is None:
            raise ValueError(
                f"{self._described()}: the sizes to pool must be known, got {x.shape.text}"
            )
        reduce = reduction.reduce_mean if self._mean else reduction.reduce_max
        parts = []
        for i in range(count):
            window: list[Any] = [slice(None)] * len(x.shape)
            window[axis] = slice(i * size // count, -(-(i + 1) * size // count))
            parts.append(reduce(x[tuple(window)], axis, keepdims=True))
        return joining.concat(parts, axis)


def _named(name: str, rank: int, mean: bool) -> type[_AdaptivePooling]:
    what = "mean" if mean else "maximum"
    sizes = ("size", "rows, columns", "x1, x2, x3")[rank - 1]
    text = f"""The {what} of each window, with one window per output position.

    Args:
        output_size: one number{"" if rank == 1 else f" for all {rank} axes, or one each"}.
        data_format: `channels_last` or `channels_first`.
        **options: see Layer.

    Shapes:
        [b, {sizes}, c] → [b, *output_size, c].

    Source:
        Keras `{name}`.
    """
    members = {"_rank": rank, "_mean": mean, "__doc__": text, "__module__": __name__}
    return type(name, (_AdaptivePooling,), members)


AdaptiveAveragePooling1D = _named("AdaptiveAveragePooling1D", 1, True)
AdaptiveAveragePooling2D = _named("AdaptiveAveragePooling2D", 2, True)
AdaptiveAveragePooling3D = _named("AdaptiveAveragePooling3D", 3, True)
AdaptiveMaxPooling1D = _named("AdaptiveMaxPooling1D", 1, False)
AdaptiveMaxPooling2D = _named("AdaptiveMaxPooling2D", 2, False)
AdaptiveMaxPooling3D = _named("AdaptiveMaxPooling3D", 3, False)
