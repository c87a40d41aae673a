"""Pooling: the maximum or mean of windows, or of all positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from pinnace.keras.image_format import checked_format
from pinnace.keras.input_spec import InputSpec
from pinnace.keras.layer import Layer, LayerOptions
from pinnace.keras.layers.windows import Sizes, checked_padding, op_format, per_axis
from pinnace.ops.array import casting, reshaping
from pinnace.ops.math import arithmetic, reduction
from pinnace.ops.nn import pooling

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Tensor


class BasePooling(Layer):
    """The base class of pooling over windows.

    Args:
        pool_size: size of the window, one for all axes or one each.
        strides: step of the window; its size if None.
        padding: `valid` none, `same` so that a step of 1 keeps the size.
        data_format: `channels_last` or `channels_first`.
        **options: see Layer.
    """

    _rank: ClassVar[int]
    _pool: ClassVar[Callable[..., Any]]

    def __init__(
        self,
        pool_size: Sizes = 2,
        strides: Sizes | None = None,
        padding: str = "valid",
        data_format: str | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        who, rank = type(self).__name__, self._rank
        self.pool_size = per_axis(who, "pool_size", pool_size, rank)
        self.strides = per_axis(who, "strides", pool_size if strides is None else strides, rank)
        self.padding = checked_padding(who, padding)
        self.data_format = checked_format(who, data_format)
        self.input_spec = InputSpec(ndim=rank + 2)
        self._build_at_init()

    def call(self, x: Tensor) -> Tensor:
        """The pooled values."""
        return type(self)._pool(  # type: ignore[no-any-return]
            x,
            list(self.pool_size),
            list(self.strides),
            self.padding.upper(),
            op_format(self.data_format, self._rank),
        )


class MaxPooling1D(BasePooling):
    """The maximum of each window: [b, steps, c] → [b, steps', c]; arguments: see BasePooling.

    Shapes:
        x [b, steps, c] → [b, steps', c].
    """

    _rank = 1
    _pool = staticmethod(pooling.max_pool1d)


class MaxPooling2D(BasePooling):
    """The maximum of each window: [b, h, w, c] → [b, h', w', c]; arguments: see BasePooling.

    Shapes:
        x [b, rows, columns, c] → [b, rows', columns', c].
    """

    _rank = 2
    _pool = staticmethod(pooling.max_pool2d)


class MaxPooling3D(BasePooling):
    """The maximum of each window over three axes; arguments: see BasePooling.

    Shapes:
        x [b, x1, x2, x3, c] → [b, x1', x2', x3', c].
    """

    _rank = 3
    _pool = staticmethod(pooling.max_pool3d)


class AveragePooling1D(BasePooling):
    """The mean of each window: [b, steps, c] → [b, steps', c]; arguments: see BasePooling.

    Shapes:
        x [b, steps, c] → [b, steps', c].
    """

    _takes_floats = True

    _rank = 1
    _pool = staticmethod(pooling.avg_pool1d)


class AveragePooling2D(BasePooling):
    """The mean of each window: [b, h, w, c] → [b, h', w', c]; arguments: see BasePooling.

    Shapes:
        x [b, rows, columns, c] → [b, rows', columns', c].
    """

    _takes_floats = True

    _rank = 2
    _pool = staticmethod(pooling.avg_pool2d)


class AveragePooling3D(BasePooling):
    """The mean of each window over three axes; arguments: see BasePooling.

    Shapes:
        x [b, x1, x2, x3, c] → [b, x1', x2', x3', c].
    """

    _takes_floats = True

    _rank = 3
    _pool = staticmethod(pooling.avg_pool3d)


class BaseGlobalPooling(Layer):
    """The base class of pooling over all positions.

    Args:
        data_format: `channels_last` or `channels_first`.
        keepdims: whether the spatial axes stay, with size 1.
        **options: see Layer.
    """

    _rank: ClassVar[int]
    _reduce: ClassVar[Callable[..., Any]]

    def __init__(
        self,
        data_format: str | None = None,
        keepdims: bool = False,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        self.data_format = checked_format(type(self).__name__, data_format)
        self.keepdims = keepdims
        self.input_spec = InputSpec(ndim=self._rank + 2)
        self._build_at_init()

    def call(self, x: Tensor) -> Tensor:
        """The pooled values."""
        first = 1 if self.data_format == "channels_last" else 2
        axes = list(range(first, first + self._rank))
        return type(self)._reduce(x, axes, keepdims=self.keepdims)  # type: ignore[no-any-return]


class GlobalAveragePooling1D(BaseGlobalPooling):
    """The mean over the unmasked steps: [b, steps, c] → [b, c]; see BaseGlobalPooling.

    Shapes:
        x [b, steps, c] → [b, c], or [b, 1, c] with `keepdims`.
    """

    _takes_floats = True

    _rank = 1
    _reduce = staticmethod(reduction.reduce_mean)

    def call(self, x: Tensor, mask: Any = None) -> Tensor:
        """The mean."""
        if mask is None:
            return super().call(x)
        last = self.data_format == "channels_last"
        counts = casting.cast(reshaping.expand_dims(mask, 2 if last else 1), x.dtype)
        axis = [1 if last else 2]
        total = reduction.reduce_sum(arithmetic.multiply(x, counts), axis, keepdims=self.keepdims)
        return total / reduction.reduce_sum(counts, axis, keepdims=self.keepdims)

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> None:
        """None: the result has no time axis."""
        del inputs, previous_mask


class GlobalAveragePooling2D(BaseGlobalPooling):
    """The mean over rows and columns: [b, h, w, c] → [b, c]; arguments: see BaseGlobalPooling.

    Shapes:
        x [b, rows, columns, c] → [b, c], or [b, 1, 1, c] with `keepdims`.
    """

    _takes_floats = True

    _rank = 2
    _reduce = staticmethod(reduction.reduce_mean)


class GlobalAveragePooling3D(BaseGlobalPooling):
    """The mean over three axes; arguments: see BaseGlobalPooling.

    Shapes:
        x [b, x1, x2, x3, c] → [b, c], or [b, 1, 1, 1, c] with `keepdims`.
    """

    _takes_floats = True

    _rank = 3
    _reduce = staticmethod(reduction.reduce_mean)


class GlobalMaxPooling1D(BaseGlobalPooling):
    """The maximum over steps: [b, steps, c] → [b, c]; arguments: see BaseGlobalPooling.

    Shapes:
        x [b, steps, c] → [b, c], or [b, 1, c] with `keepdims`.
    """

    _rank = 1
    _reduce = staticmethod(reduction.reduce_max)


class GlobalMaxPooling2D(BaseGlobalPooling):
    """The maximum over rows and columns: [b, h, w, c] → [b, c]; see BaseGlobalPooling.

    Shapes:
        x [b, rows, columns, c] → [b, c], or [b, 1, 1, c] with `keepdims`.
    """

    _rank = 2
    _reduce = staticmethod(reduction.reduce_max)


class GlobalMaxPooling3D(BaseGlobalPooling):
    """The maximum over three axes; arguments: see BaseGlobalPooling.

    Shapes:
        x [b, x1, x2, x3, c] → [b, c], or [b, 1, 1, 1, c] with `keepdims`.
    """

    _rank = 3
    _reduce = staticmethod(reduction.reduce_max)


MaxPool1D = MaxPooling1D
MaxPool2D = MaxPooling2D
MaxPool3D = MaxPooling3D
AvgPool1D = AveragePooling1D
AvgPool2D = AveragePooling2D
AvgPool3D = AveragePooling3D
GlobalAvgPool1D = GlobalAveragePooling1D
GlobalAvgPool2D = GlobalAveragePooling2D
GlobalAvgPool3D = GlobalAveragePooling3D
GlobalMaxPool1D = GlobalMaxPooling1D
GlobalMaxPool2D = GlobalMaxPooling2D
GlobalMaxPool3D = GlobalMaxPooling3D
