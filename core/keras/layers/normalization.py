"""Normalization over the batch, over features, and to unit length."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any, Unpack

from pinnace.keras import constraints, initializers, regularizers, replicas
from pinnace.keras.batch_moments import batch_moments
from pinnace.keras.input_spec import InputSpec
from pinnace.keras.layer import Layer, LayerOptions
from pinnace.ops.array import casting, identities, reshaping, shapes
from pinnace.ops.math import arithmetic, clipping, exponents, reduction
from pinnace.ops.nn import batch_norm, normalization, rectifiers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.specs import TensorSpec
    from pinnace.framework.tensor import Tensor
    from pinnace.framework.variable import Variable


class AffineNormalization(Layer):
    """The base class of normalizations that end with gamma x + beta."""

    _takes_floats = True
    _stays_single = True

    center: bool
    scale: bool
    gamma: Variable | None
    beta: Variable | None

    def _keep_affine(self, given: dict[str, Any]) -> None:
        """Set attributes from a constructor's arguments for gamma and beta, given its locals."""
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
        axis: axis of the channels.
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
        beta_constraint: constraint applied to beta after each step.
        gamma_constraint: constraint applied to gamma after each step.
        renorm: whether a batch is corrected towards means over many batches, so that training and
            inference compute alike (batch renormalization).
        renorm_clipping: bounds of the correction r x + d: `rmin`, `rmax`, `dmax`, all optional.
        renorm_momentum: momentum of the means that batch renormalisation corrects towards.
        synchronized: whether the statistics are those of all replicas of a strategy.
        **options: see Layer.

    Shapes:
        x [..., c] → the same; all weights [c].

    Source:
        Ioffe and Szegedy 2015; Keras `BatchNormalization`.
    """

    # With `renorm` only.
    moving_stddev: Variable
    renorm_mean: Variable
    renorm_stddev: Variable

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
        renorm: bool = False,
        renorm_clipping: dict[str, float] | None = None,
        renorm_momentum: float = 0.99,
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
        self.synchronized = synchronized
        self.renorm = renorm
        self.renorm_clipping = _checked_clipping(renorm_clipping) if renorm else renorm_clipping
        self.renorm_momentum = renorm_momentum
        self.supports_masking = True

    def build(self, x: TensorSpec) -> None:
        """Create gamma, beta and the moving statistics."""
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
        if self.renorm:
            self._add_renorm(size)
        self.input_spec = InputSpec(ndim=x.rank, axes={self.axis: size})

    def _add_renorm(self, size: int) -> None:
        """Create the moving deviation for inference, and the statistics that batches approach."""

        def deviation(shape: Any, dtype: Any = None) -> Tensor:
            return exponents.sqrt(_again(self.moving_variance_initializer)(shape, dtype=dtype))

        of_mean = _again(self.moving_mean_initializer)
        for name, first in (
            ("moving_stddev", deviation),
            ("renorm_mean", of_mean),
            ("renorm_stddev", deviation),
        ):
            setattr(self, name, self.add_weight(name, [size], first, trainable=False))

    def call(self, x: Tensor, training: bool | None = None, mask: Any = None) -> Tensor:
        """The normalised input; masked elements are excluded from the statistics."""
        rank = len(x.shape)
        if mask is not None and len(mask.shape) != rank - 1:
            raise ValueError(
                f"{self._described()}: mask must have one axis less than the input, "
                f"got shapes {mask.shape.text} and {x.shape.text}"
            )
        axis = self.axis % rank
        if not (training and self.trainable):
            mean, variance = self.moving_mean.value(), self.moving_variance.value()
            return self._normalised(x, mean, variance, axis, rank)
        if self.renorm:
            return self._renormalised(x, axis, rank, mask)
        together = self.synchronized and replicas.in_several()
        plain = mask is None and not together
        # The op takes values of few bits, but no statistics in float16.
        fits = x.dtype.name in {"float16", "bfloat16", "float32"}
        fits = fits and self.moving_mean.dtype.name in {"bfloat16", "float32"}
        if plain and axis == rank - 1 and fits:
            y, mean, variance = self._fused(x, rank)
        else:
            mean, variance = self._moments(x, axis, rank, mask)
            y = self._normalised(x, mean, variance, axis, rank)
        self._follow(self.moving_mean, mean)
        self._follow(self.moving_variance, variance)
        return y

    def _moments(self, x: Tensor, axis: int, rank: int, mask: Any) -> tuple[Tensor, Tensor]:
        axes = [i for i in range(rank) if i != axis]
        return batch_moments(x, axes, mask, self.synchronized)

    def _renormalised(self, x: Tensor, axis: int, rank: int, mask: Any) -> Tensor:
        """(normalized x) r + d, where r and d correct the batch towards the moving statistics."""
        mean, variance = self._moments(x, axis, rank, mask)
        deviation = exponents.sqrt(variance + self.epsilon)
        least = math.sqrt(self.epsilon)
        towards = arithmetic.maximum(casting.cast(self.renorm_stddev, mean.dtype), least)
        r = deviation / towards
        d = (mean - casting.cast(self.renorm_mean, mean.dtype)) / towards
        bounds = self.renorm_clipping or {}
        if bounds.get("rmin") is not None:
            r = arithmetic.maximum(r, bounds["rmin"])
        if bounds.get("rmax") is not None:
            r = arithmetic.minimum(r, bounds["rmax"])
        if bounds.get("dmax") is not None:
            d = clipping.clip_by_value(d, -bounds["dmax"], bounds["dmax"])
        r, d = identities.stop_gradient(r), identities.stop_gradient(d)
        scale = r if self.gamma is None else r * self.gamma
        offset = d if self.gamma is None else d * self.gamma
        offset = offset if self.beta is None else offset + self.beta
        self._follow(self.renorm_mean, mean, self.renorm_momentum)
        self._follow(self.renorm_stddev, deviation, self.renorm_momentum)
        self._follow(self.moving_mean, mean)
        self._follow(self.moving_stddev, deviation)
        moving = self.moving_stddev.value()
        # Rounding must not make it negative.
        self.moving_variance.assign(rectifiers.relu(moving * moving - self.epsilon))
        return self._affine(x, mean, variance, offset, scale, axis, rank)

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
        return self._affine(x, mean, variance, self.beta, self.gamma, axis, rank)

    def _affine(
        self, x: Tensor, mean: Tensor, variance: Tensor, beta: Any, gamma: Any, axis: int, rank: int
    ) -> Tensor:
        def shaped(value: Any) -> Any:
            if value is None or axis == rank - 1:
                return value
            return reshaping.reshape(value, [-1 if i == axis else 1 for i in range(rank)])

        return normalization.batch_normalization(
            x, shaped(mean), shaped(variance), shaped(beta), shaped(gamma), self.epsilon
        )

    def _follow(self, moving: Variable, value: Tensor, momentum: float | None = None) -> None:
        momentum = self.momentum if momentum is None else momentum
        value = value if value.dtype is moving.dtype else casting.cast(value, moving.dtype)
        moving.assign(moving * momentum + value * (1.0 - momentum))


def _again(initializer: Any) -> Any:
    """A copy of an initializer, as Keras makes for each further weight."""
    return initializer.clone() if hasattr(initializer, "clone") else initializer


def _checked_clipping(bounds: dict[str, float] | None) -> dict[str, float]:
    """The validated `renorm_clipping`.

    Raises:
        ValueError: a key is unknown, or bounds exclude each other.
    """
    bounds = dict(bounds or {})
    unknown = sorted(set(bounds) - {"rmax", "rmin", "dmax"})
    if unknown:
        raise ValueError(
            "BatchNormalization: renorm_clipping: Received invalid keys: they must be rmax, rmin "
            f"and dmax, got {unknown}"
        )
    rmax, rmin, dmax = (bounds.get(name) for name in ("rmax", "rmin", "dmax"))
    if rmax is not None and rmin is not None and rmax < rmin:
        raise ValueError(
            "BatchNormalization: renorm_clipping: rmax should be at least rmin, "
            f"got {rmax} and {rmin}"
        )
    if dmax is not None and dmax < 0:
        raise ValueError(
            f"BatchNormalization: renorm_clipping: dmax should be non-negative, got {dmax}"
        )
    return bounds


class LayerNormalizationOptions(LayerOptions, total=False):
    """The keyword-only arguments of LayerNormalization.

    rms_scaling: the older form: gamma x / sqrt(variance + epsilon).
    """

    rms_scaling: bool


class LayerNormalization(AffineNormalization):
    """gamma (x - mean) / sqrt(variance + epsilon) + beta, over axes of one sample.

    Args:
        axis: or axes to normalise over.
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
        **options: Unpack[LayerNormalizationOptions],
    ) -> None:
        rms_scaling = options.pop("rms_scaling", False)
        super().__init__(**options)
        self.axis = _int_or_list("LayerNormalization", axis)
        self.epsilon = epsilon
        self._keep_affine(locals())
        self.rms_scaling = rms_scaling
        if rms_scaling:
            warnings.warn(
                "LayerNormalization: rms_scaling is deprecated, and divides by the standard "
                "deviation\n  Try: RMSNormalization, which divides by the root mean square",
                stacklevel=2,
            )
            self.center, self.scale = False, True
        self.supports_masking = True

    def build(self, x: TensorSpec) -> None:
        """Create gamma and beta."""
        self._add_affine([x.axis_size(axis) for axis in self._axes(x.rank or 1)])

    def _axes(self, rank: int) -> list[int]:
        """The axes in ascending order, which is also that of the weights' axes."""
        axes = [self.axis] if isinstance(self.axis, int) else self.axis
        return sorted(axis if axis >= rank else axis % rank for axis in axes)

    def call(self, x: Tensor) -> Tensor:
        """The normalised input."""
        rank = len(x.shape)
        axes = self._axes(rank)
        mean, variance = normalization.moments(x, axes, keepdims=True)
        last = axes == list(range(rank - len(axes), rank))

        def shaped(value: Any) -> Any:
            if value is None or last:
                return value
            return reshaping.reshape(value, [x.shape[i] if i in axes else 1 for i in range(rank)])

        if self.rms_scaling:
            factor: Tensor = exponents.rsqrt(variance + self.epsilon) * shaped(self.gamma)
            return x * factor
        return normalization.batch_normalization(
            x, mean, variance, shaped(self.beta), shaped(self.gamma), self.epsilon
        )


def _int_or_list(who: str, axis: Any) -> int | list[int]:
    """One axis or several, as int or list.

    Raises:
        TypeError: anything else.
    """
    if isinstance(axis, (list, tuple)) and all(isinstance(one, int) for one in axis):
        return list(axis)
    if not isinstance(axis, int):
        raise TypeError(
            f"{who}: Invalid value for `axis` argument: expected an int or a list/tuple of ints. "
            f"Expected an int or a list/tuple of ints for the argument 'axis', got {axis!r}"
        )
    return axis


class UnitNormalization(Layer):
    """x divided by its norm along an axis.

    Args:
        axis: or axes that make one vector.
        **options: see Layer.

    Shapes:
        x [...] → the same.
    """

    _takes_floats = True

    def __init__(self, axis: int | Sequence[int] = -1, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self.supports_masking = True
        self.axis = _int_or_list("UnitNormalization", axis)
        self._build_at_init()

    def call(self, x: Tensor) -> Tensor:
        """The vectors with length 1."""
        axes = [self.axis] if isinstance(self.axis, int) else list(self.axis)
        return normalization.l2_normalize(x, axes)
