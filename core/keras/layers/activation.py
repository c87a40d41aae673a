"""Activations as layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.framework import dtypes
from pinnace.keras import activations, constraints, initializers, regularizers
from pinnace.keras.layer import Layer, LayerOptions
from pinnace.ops.array import casting, constants, selecting
from pinnace.ops.math import comparison
from pinnace.ops.nn import rectifiers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.specs import TensorSpec
    from pinnace.framework.tensor import Tensor


class Activation(Layer):
    """activation(x).

    Args:
        activation: name or function.
        **options: see Layer.

    Shapes:
        x [...] → what the function makes of it, [...].
    """

    def __init__(
        self, activation: activations.ActivationLike, **options: Unpack[LayerOptions]
    ) -> None:
        super().__init__(**options)
        self.activation = activations.get(activation)
        self.supports_masking = True
        self._build_at_init()

    def call(self, x: Tensor) -> Any:
        """The activated input."""
        return self.activation(x)


class ReLU(Layer):
    """max(x, 0), optionally capped or leaky; see `activations.relu`.

    Args:
        max_value: upper bound of results.
        negative_slope: slope of the line below `threshold`.
        threshold: the x at which the line meets 0.
        **options: see Layer.

    Shapes:
        x [...] → the same.
    """

    def __init__(
        self,
        max_value: float | None = None,
        negative_slope: float = 0.0,
        threshold: float = 0.0,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        self.supports_masking = True
        for name, value in (("negative_slope", negative_slope), ("threshold", threshold)):
            if value is None or value < 0:
                raise ValueError(
                    f"{name} of a ReLU layer cannot be None or a negative value, got {value}"
                )
        if max_value is not None and max_value < 0:
            raise ValueError(
                f"max_value of a ReLU layer cannot be a negative value, got {max_value}"
            )
        self.max_value = max_value
        self.negative_slope = negative_slope
        self.threshold = threshold
        self._build_at_init()

    def call(self, x: Tensor) -> Tensor:
        """The rectified input."""
        return activations.relu(x, self.negative_slope, self.max_value, self.threshold)


class LeakyReLU(Layer):
    """x where positive, else negative_slope x.

    Args:
        negative_slope: at least 0.
        **options: see Layer.

    Shapes:
        x [...] → the same.
    """

    _takes_floats = True

    def __init__(self, negative_slope: float = 0.3, **options: Any) -> None:
        if "alpha" in options:  # its older name
            negative_slope = options.pop("alpha")
        super().__init__(**options)
        self.supports_masking = True
        if negative_slope is None or negative_slope < 0:
            raise ValueError(
                "The negative_slope value of a Leaky ReLU layer cannot be None or negative, got "
                f"{negative_slope!r}"
            )
        self.negative_slope = negative_slope
        self._build_at_init()

    def call(self, x: Tensor) -> Tensor:
        """The rectified input."""
        return rectifiers.leaky_relu(x, self.negative_slope)


class ELU(Layer):
    """x where positive, else alpha (exp(x) - 1).

    Args:
        alpha: see above.
        **options: see Layer.

    Shapes:
        x [...] → the same.
    """

    _takes_floats = True

    def __init__(self, alpha: float = 1.0, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self.supports_masking = True
        self.alpha = alpha
        self._build_at_init()

    def call(self, x: Tensor) -> Tensor:
        """The activated input."""
        return activations.elu(x, self.alpha)


class Softmax(Layer):
    """exp(x) / sum(exp(x)) along one or several axes.

    Args:
        axis: to sum over, or a list of axes.
        **options: see Layer.

    Shapes:
        x [...], mask broadcastable to x or None → as x; 0 where the mask is.
    """

    _takes_floats = True

    def __init__(self, axis: int | Sequence[int] = -1, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self.axis = axis
        self.supports_masking = True
        self._build_at_init()

    def call(self, x: Tensor, mask: Any = None) -> Tensor:
        """The softmax."""
        if mask is not None:
            self._check(x, mask)
            if mask.dtype is not dtypes.bool:
                mask = comparison.greater(mask, casting.cast(0.5, mask.dtype))
            shares = self.shares_where(x, mask)
            # If everything along the axis is masked, the result would be uniform.
            return selecting.where(mask, shares, constants.zeros_like(shares))
        return self._shares(x)

    def shares_where(self, x: Tensor, mask: Tensor) -> Tensor:
        """The probabilities with 0 where the mask is False; equal ones where all are masked.

        Args:
            x: [...], a float dtype.
            mask: bool, broadcast to `x`.
        """
        low = -3e4 if x.dtype is dtypes.float16 else -1e9
        return self._shares(selecting.where(mask, x, casting.cast(low, x.dtype)))

    def _shares(self, x: Tensor) -> Tensor:
        return activations.softmax(x, self.axis)

    def _check(self, x: Tensor, mask: Tensor) -> None:
        sizes, own = x.shape.as_list()[::-1], mask.shape.as_list()[::-1]
        who = f"{self._described()}: the mask must be broadcastable to the input {x.shape.text}"
        if len(own) > len(sizes):
            raise ValueError(f"{who} and must not have more dimensions, got {mask.shape.text}")
        pairs = zip(own, sizes, strict=False)
        if any(a not in {None, 1} and b not in {None, a} for a, b in pairs):
            raise ValueError(f"{who}, got {mask.shape.text}")


class PReLU(Layer):
    """x where positive, else alpha x, with a trainable alpha per element of a sample.

    Args:
        alpha_initializer: first value of alpha.
        alpha_regularizer: penalty of alpha.
        alpha_constraint: constraint applied to alpha after each step.
        shared_axes: axes along which alpha is the same.
        **options: see Layer.

    Shapes:
        x [b, ...] → the same; alpha [...], with 1 for the axes that share.
    """

    _takes_floats = True

    def __init__(
        self,
        alpha_initializer: initializers.InitializerLike = "Zeros",
        alpha_regularizer: regularizers.RegularizerLike = None,
        alpha_constraint: constraints.ConstraintLike = None,
        shared_axes: Sequence[int] | int | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        self.supports_masking = True
        self.alpha_initializer = initializers.get(alpha_initializer)
        self.alpha_regularizer = regularizers.get(alpha_regularizer)
        self.alpha_constraint = constraints.get(alpha_constraint)
        self.shared_axes = [shared_axes] if isinstance(shared_axes, int) else shared_axes

    def build(self, x: TensorSpec) -> None:
        """Create alpha."""
        shared = set(self.shared_axes or ())
        sizes = [1 if axis in shared else x.axis_size(axis) for axis in range(1, x.rank or 0)]
        self.alpha = self.add_weight(
            "alpha",
            sizes,
            self.alpha_initializer,
            regularizer=self.alpha_regularizer,
            constraint=self.alpha_constraint,
        )

    def call(self, x: Tensor) -> Tensor:
        """The rectified input."""
        return rectifiers.relu(x) - self.alpha * rectifiers.relu(-x)
