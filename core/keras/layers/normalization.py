"""Normalizations: over the batch, over features, to unit length."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Unpack

from pinnace.framework.no_effect import no_effect
from pinnace.keras import constraints, initializers, regularizers
from pinnace.keras.input_spec import InputSpec
from pinnace.keras.layer import Layer, LayerOptions
from pinnace.ops.array import casting, reshaping, shapes
from pinnace.ops.math import arithmetic, reduction
from pinnace.ops.nn import batch_norm, normalization

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.specs import TensorSpec
    from pinnace.framework.tensor import Tensor
    from pinnace.framework.variable import Variable


class AffineNormalization(Layer):
    """What normalizations share that end with gamma x + beta."""

    _takes_floats = True
    _stays_single = True

    center: bool
    scale: bool
    gamma: Variable | None
    beta: Variable | None

    def _keep_affine(self, given: dict[str, Any]) -> None:
        """Make attributes of the arguments for gamma and beta, given a constructor's locals."""
        self.center = given["center"]
        self.scale = given["scale"]
        for kind in (initializers, regularizers, constraints):
            for weight in ("beta", "gamma"):
                name = f"{weight}_{kind.__name__.rpartition('.')[2][:-1]}"
                setattr(self, name, kind.get(given[name]))

    def _add_affine(self, sizes: list[int]) -> None:
        self.gamma = self._affine_weight("gamma", sizes) if self.scale else None
        self.beta = self._affine_weight("beta", sizes) if self.center else None

    def _affine_weight(self, name: str, sizes: list[int]) -> Variable:
        return self.add_weight(
            name,
            sizes,
            getattr(self, f"{name}_initializer"),
            regularizer=getattr(self, f"{name}_regularizer"),
            constraint=getattr(self, f"{name}_constraint"),
        )


class BatchNormalization(AffineNormalization):
    """gamma (x - mean) / sqrt(variance + epsilon) + beta, per channel.

    While training, mean and variance are the batch's, and the moving ones follow them:
    moving = momentum moving + (1 - momentum) batch. Otherwise, and when the layer is not
    trainable, they are the moving ones.

    Args:
        axis: of the channels.
        momentum: see above.
        epsilon: added to the variance.
        center: whether there is a beta.
        scale: whether there is a gamma.
        beta_initializer: first value of beta.
        gamma_initializer: first value of gamma.
        moving_mean_initializer: first value of the moving mean.
        moving_variance_initializer: first value of the moving variance.
        beta_regularizer: penalty of beta.
        gamma_regularizer: penalty of gamma.
        beta_constraint: what beta is brought back to after a step.
        gamma_constraint: what gamma is brought back to after a step.
        synchronized: True without effect, and told so: there is one replica.
        **options: see Layer.

    Shapes:
        x [..., c] → the same; all weights [c].

    Source:
        Ioffe and Szegedy 2015; Keras `BatchNormalization`.
    """

    def __init__(
        self,
        axis: int = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: initializers.InitializerLike = "zeros",
        gamma_initializer: initializers.InitializerLike = "ones",
        moving_mean_initializer: initializers.InitializerLike = "zeros",
        moving_variance_initializer: initializers.InitializerLike = "ones",
        beta_regularizer: regularizers.RegularizerLike = None,
        gamma_regularizer: regularizers.RegularizerLike = None,
        beta_constraint: constraints.ConstraintLike = None,
        gamma_constraint: constraints.ConstraintLike = None,
        synchronized: bool = False,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        if isinstance(axis, (list, tuple)):
            (axis,) = axis
        self.axis = int(axis)
        self.momentum = float(momentum)
        self.epsilon = float(epsilon)
        self._keep_affine(locals())
        self.moving_mean_initializer = initializers.get(moving_mean_initializer)
        self.moving_variance_initializer = initializers.get(moving_variance_initializer)
        if synchronized:
            no_effect("BatchNormalization", "synchronized", "there is one replica")
        self.synchronized = synchronized
        self.supports_masking = True

    def build(self, x: TensorSpec) -> None:
        """Make gamma, beta and the moving statistics."""
        try:
            size = x.axis_size(self.axis)
        except ValueError as error:
            raise ValueError(f"{self._described()}: {error}") from None
        self._add_affine([size])
        self.moving_mean = self.add_weight(
            "moving_mean", [size], self.moving_mean_initializer, trainable=False
        )
        self.moving_variance = self.add_weight(
            "moving_variance", [size], self.moving_variance_initializer, trainable=False
        )
        self.input_spec = InputSpec(ndim=x.rank, axes={self.axis: size})

    def call(self, x: Tensor, training: bool | None = None) -> Tensor:
        """The normalised input."""
        rank = len(x.shape)
        axis = self.axis % rank
        if not (training and self.trainable):
            mean, variance = self.moving_mean.value(), self.moving_variance.value()
            return self._normalised(x, mean, variance, axis, rank)
        if axis == rank - 1 and x.dtype.name in {"float16", "bfloat16", "float32"}:
            y, mean, variance = self._fused(x, rank)
        else:
            axes = [i for i in range(rank) if i != axis]
            mean, variance = normalization.moments(x, axes)
            y = self._normalised(x, mean, variance, axis, rank)
        self._follow(self.moving_mean, mean)
        self._follow(self.moving_variance, variance)
        return y

    def _fused(self, x: Tensor, rank: int) -> tuple[Tensor, Tensor, Tensor]:
        """The batch's normalised values, mean and variance by one op."""
        size = self.moving_mean.shape[0]
        one, zero = self._constants()
        flat = x if rank == 4 else reshaping.reshape(x, [-1, 1, 1, size])
        y, mean, variance = batch_norm.fused_batch_norm(
            flat,
            one if self.gamma is None else self.gamma,
            zero if self.beta is None else self.beta,
            epsilon=self.epsilon,
            is_training=True,
        )
        # The op answers the unbiased variance, Keras follows the biased one.
        count = self._count(x)
        variance = variance * ((arithmetic.maximum(count - 1.0, 1.0)) / count)
        return (y if rank == 4 else reshaping.reshape(y, shapes.shape(x))), mean, variance

    def _constants(self) -> tuple[Any, Any]:
        size = [self.moving_mean.shape.num_elements() or 0]
        return (
            initializers.Ones()(size, self.moving_mean.dtype),
            initializers.Zeros()(size, self.moving_mean.dtype),
        )

    @staticmethod
    def _count(x: Tensor) -> Any:
        """The number of values per channel, a float scalar of the statistics' dtype."""
        dims = x.shape.dims
        if dims is not None and None not in dims:
            return casting.cast(float(math.prod(dims[:-1])), "float32")  # type: ignore[arg-type]
        return casting.cast(reduction.reduce_prod(shapes.shape(x)[:-1]), "float32")

    def _normalised(
        self, x: Tensor, mean: Tensor, variance: Tensor, axis: int, rank: int
    ) -> Tensor:
        beta, gamma = self.beta, self.gamma

        def shaped(value: Any) -> Any:
            if value is None or axis == rank - 1:
                return value
            return reshaping.reshape(value, [-1 if i == axis else 1 for i in range(rank)])

        return normalization.batch_normalization(
            x, shaped(mean), shaped(variance), shaped(beta), shaped(gamma), self.epsilon
        )

    def _follow(self, moving: Variable, value: Tensor) -> None:
        value = value if value.dtype is moving.dtype else casting.cast(value, moving.dtype)
        moving.assign(moving * self.momentum + value * (1.0 - self.momentum))


class LayerNormalization(AffineNormalization):
    """gamma (x - mean) / sqrt(variance + epsilon) + beta, both over axes of one sample.

    Args:
        axis: or axes to normalise over.
        epsilon: added to the variance.
        center: whether there is a beta.
        scale: whether there is a gamma.
        beta_initializer: first value of beta.
        gamma_initializer: first value of gamma.
        beta_regularizer: penalty of beta.
        gamma_regularizer: penalty of gamma.
        beta_constraint: what beta is brought back to.
        gamma_constraint: what gamma is brought back to.
        **options: see Layer.

    Shapes:
        x [...] → the same; gamma and beta have the sizes of the axes.

    Source:
        Ba et al. 2016; Keras `LayerNormalization`.
    """

    def __init__(
        self,
        axis: int | Sequence[int] = -1,
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
        self.axis = axis if isinstance(axis, int) else list(axis)
        self.epsilon = epsilon
        self._keep_affine(locals())
        self.supports_masking = True

    def build(self, x: TensorSpec) -> None:
        """Make gamma and beta."""
        sizes = [x.axis_size(axis) for axis in self._axes()]
        self._add_affine(sizes)

    def _axes(self) -> list[int]:
        return [self.axis] if isinstance(self.axis, int) else list(self.axis)

    def call(self, x: Tensor) -> Tensor:
        """The normalised input."""
        rank = len(x.shape)
        axes = sorted(axis % rank for axis in self._axes())
        mean, variance = normalization.moments(x, axes, keepdims=True)
        last = axes == list(range(rank - len(axes), rank))

        def shaped(value: Any) -> Any:
            if value is None or last:
                return value
            return reshaping.reshape(value, [x.shape[i] if i in axes else 1 for i in range(rank)])

        return normalization.batch_normalization(
            x, mean, variance, shaped(self.beta), shaped(self.gamma), self.epsilon
        )


class UnitNormalization(Layer):
    """x divided by its length along an axis.

    Args:
        axis: or axes that make one vector.
        **options: see Layer.
    """

    _takes_floats = True

    def __init__(self, axis: int | Sequence[int] = -1, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self.supports_masking = True
        self.axis = axis if isinstance(axis, int) else list(axis)
        self.built = True

    def call(self, x: Tensor) -> Tensor:
        """The vectors with length 1."""
        axes = [self.axis] if isinstance(self.axis, int) else list(self.axis)
        return normalization.l2_normalize(x, axes)
