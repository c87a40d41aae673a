"""Normalization over groups of channels, and by the root mean square."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.framework import dtypes
from pinnace.keras.input_spec import InputSpec
from pinnace.keras.layer import Layer, LayerOptions
from pinnace.keras.layers.normalization import AffineNormalization
from pinnace.ops.array import casting, joining, reshaping, shapes
from pinnace.ops.math import arithmetic, exponents, reduction
from pinnace.ops.nn import normalization

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.specs import TensorSpec
    from pinnace.framework.tensor import Tensor
    from pinnace.keras import constraints, initializers, regularizers


class GroupNormalization(AffineNormalization):
    """gamma (x - mean) / sqrt(variance + epsilon) + beta, per group of channels of a sample.

    Args:
        groups: their number, a divisor of the number of channels; -1 makes a group of each channel.
        axis: axis of the channels.
        epsilon: added to the variance.
        center: whether there is a beta.
        scale: whether there is a gamma.
        beta_initializer: first value of beta.
        gamma_initializer: first value of gamma.
        beta_regularizer: penalty of beta.
        gamma_regularizer: penalty of gamma.
        beta_constraint: constraint applied to beta after each step.
        gamma_constraint: constraint applied to gamma after each step.
        **options: see Layer.

    Shapes:
        x [b, ..., c] → the same; weights [c].

    Source:
        Wu and He 2018; Keras `GroupNormalization`.
    """

    def __init__(
        self,
        groups: int = 32,
        axis: int = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: initializers.InitializerLike = "zeros",
        gamma_initializer: initializers.InitializerLike = "ones",
        beta_regularizer: regularizers.RegularizerLike = None,
        gamma_regularizer: regularizers.RegularizerLike = None,
        beta_constraint: constraints.ConstraintLike = None,
        gamma_constraint: constraints.ConstraintLike = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        if not isinstance(groups, int) or isinstance(groups, bool) or (groups < 1 and groups != -1):
            raise ValueError(
                "GroupNormalization: Invalid value for argument `groups`: it must be a positive "
                f"integer, or -1 for a group of each channel, got {groups!r}"
            )
        self.supports_masking = True
        self.groups = groups
        self.axis = axis
        self.epsilon = epsilon
        self._keep_affine(locals())

    def build(self, x: TensorSpec) -> None:
        """Create gamma and beta."""
        if x.shape.rank is not None and x.shape[self.axis] is None:
            raise ValueError(
                f"{self._described()}: Axis {self.axis} of the input tensor should have a defined "
                f"dimension but the layer received an input with shape {x.shape}"
            )
        size = x.axis_size(self.axis)
        groups = size if self.groups == -1 else self.groups
        if groups > size:
            raise ValueError(
                f"{self._described()}: groups ({groups}) cannot be more than the number of "
                f"channels ({size})"
            )
        if size % groups:
            raise ValueError(
                f"{self._described()}: the number of channels ({size}) must be divisible by groups "
                f"({groups})"
            )
        self._add_affine([size])
        self.input_spec = InputSpec(ndim=x.rank, axes={self.axis: size})

    def call(self, x: Tensor) -> Tensor:
        """The normalised input."""
        rank = x.shape.rank or 2
        axis = self.axis % rank
        size = x.shape[axis]
        assert size is not None  # noqa: S101 (build asks for it)
        groups = size if self.groups == -1 else self.groups
        sizes = shapes.shape(x)
        known: list[Any] = [sizes[i] if n is None else n for i, n in enumerate(x.shape.as_list())]
        split = [*known[:axis], groups, size // groups, *known[axis + 1 :]]
        # float16 would overflow in the sum of squares.
        wide = casting.cast(x, dtypes.float32) if x.dtype.size < 4 else x
        parts = reshaping.reshape(wide, joining.stack(split))
        parts.set_shape([*x.shape[:axis], groups, size // groups, *x.shape[axis + 1 :]])
        axes = [i for i in range(1, rank + 1) if i != axis]
        mean, variance = normalization.moments(parts, axes, keepdims=True)
        shape = [1] * rank
        shape[axis : axis + 1] = [groups, size // groups]

        def shaped(value: Any) -> Any:
            if value is None:
                return None
            return casting.cast(reshaping.reshape(value.value(), shape), wide.dtype)

        y = normalization.batch_normalization(
            parts, mean, variance, shaped(self.beta), shaped(self.gamma), self.epsilon
        )
        return casting.cast(reshaping.reshape(y, sizes), x.dtype)


class RMSNormalization(Layer):
    """scale x / sqrt(mean(x²) + epsilon).

    Args:
        axis: or axes over which the mean is.
        epsilon: added to the mean.
        **options: see Layer.

    Shapes:
        x [...] → the same; scale has the sizes of the axes.

    Source:
        Zhang and Sennrich 2019; Keras `RMSNormalization`.
    """

    _takes_floats = True

    def __init__(
        self, axis: int | Sequence[int] = -1, epsilon: float = 1e-6, **options: Unpack[LayerOptions]
    ) -> None:
        super().__init__(**options)
        self.axis = axis if isinstance(axis, int) else list(axis)
        self.epsilon = epsilon

    def _axes(self, rank: int) -> list[int]:
        axes = [self.axis] if isinstance(self.axis, int) else self.axis
        return sorted(axis % rank for axis in axes)

    def build(self, x: TensorSpec) -> None:
        """Create the scale."""
        sizes = [x.axis_size(axis) for axis in self._axes(x.rank or 1)]
        self.scale = self.add_weight("scale", sizes, "ones")

    def call(self, x: Tensor) -> Tensor:
        """The normalised input."""
        rank = x.shape.rank or 1
        axes = self._axes(rank)
        square = reduction.reduce_mean(arithmetic.square(x), axes, keepdims=True)
        shape = [x.shape[i] if i in axes else 1 for i in range(rank)]
        scale = reshaping.reshape(self.scale.value(), shape)
        return x * exponents.rsqrt(square + self.epsilon) * scale
