"""Initializers: initial values of weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.context import init_scope
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.tensor import Tensor
from pinnace.keras import registry
from pinnace.keras.dtype_policy import floatx
from pinnace.keras.initializer import Initializer as Initializer
from pinnace.keras.seeds import SeedGenerator, make_default_seed
from pinnace.keras.stft_initializer import STFT as STFT
from pinnace.ops.array import casting, constants
from pinnace.ops.math import arithmetic
from pinnace.ops.random import stateless

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array

SeedLike: TypeAlias = int | SeedGenerator | None
# The standard deviation of a normal distribution cut off at two of them.
_CUT_DEVIATION = 0.87962566103423978


class Zeros(Initializer):
    """Values of 0."""

    def __call__(self, shape: Sequence[int], dtype: Any = None) -> Tensor:
        """Zeros of that shape."""
        return constants.zeros(list(shape), dtypes.as_dtype(dtype or floatx()))


class Ones(Initializer):
    """Values of 1."""

    def __call__(self, shape: Sequence[int], dtype: Any = None) -> Tensor:
        """Ones of that shape."""
        return constants.ones(list(shape), dtypes.as_dtype(dtype or floatx()))


class Constant(Initializer):
    """A constant value.

    Args:
        value: a number, or an array that broadcasts to the shape or has as many elements.
    """

    def __init__(self, value: Any = 0.0) -> None:
        self.value = value

    def __call__(self, shape: Sequence[int], dtype: Any = None) -> Tensor:
        """The value in that shape."""
        kind = dtypes.as_dtype(dtype or floatx())
        value = np.asarray(self.value)
        if value.ndim and value.size == np.prod(shape):  # TensorFlow's `constant_initializer`
            value = value.reshape(shape)
        return convert_to_tensor(np.broadcast_to(value, shape).astype(kind.numpy))

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"value": registry.serialize_keras_object(self.value)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Constant:
        """The initializer with a configuration."""
        return cls(registry.deserialize_keras_object(config["value"]))


class Identity(Initializer):
    """gain on the diagonal, 0 elsewhere; two axes only."""

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def __call__(self, shape: Sequence[int], dtype: Any = None) -> Tensor:
        """The scaled identity matrix."""
        if len(shape) != 2:
            raise ValueError(f"Identity: shape must have two axes, got {list(shape)}")
        kind = dtypes.as_dtype(dtype or floatx())
        return convert_to_tensor((self.gain * np.eye(shape[0], shape[1])).astype(kind.numpy))

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"gain": self.gain}


class RandomInitializer(Initializer):
    """Draws from a distribution; the same object returns the same values each time.

    Args:
        seed: an int; None draws one, once. With a SeedGenerator each call gives other values.
    """

    def __init__(self, seed: SeedLike = None) -> None:
        if isinstance(seed, dict):
            seed = registry.deserialize_keras_object(seed)
        self._given_seed = seed
        self.seed = make_default_seed() if seed is None else seed
        if not isinstance(self.seed, (int, SeedGenerator)):
            raise ValueError(  # noqa: TRY004 (Keras raises it too)
                f"{type(self).__name__}: seed must be an int, a SeedGenerator or None, got {seed!r}"
            )

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"seed": registry.serialize_keras_object(self._given_seed)}

    def _draw(self, shape: Sequence[int], dtype: Any, draw: Callable[..., Tensor]) -> Tensor:
        """draw(shape, seed=..., dtype=...), run eagerly and in a dtype that supports drawing."""
        kind = dtypes.as_dtype(dtype or floatx())
        drawn = kind if kind in {dtypes.float16, dtypes.float32, dtypes.float64} else dtypes.float32
        with init_scope():
            value = draw([int(n) for n in shape], seed=self._op_seed(), dtype=drawn)
            return value if drawn is kind else casting.cast(value, kind)

    def _op_seed(self) -> Any:
        # Keras: [seed, 0], each number folded into int32.
        if isinstance(self.seed, SeedGenerator):
            seed = self.seed.next().numpy()
        else:
            seed = np.array([self.seed, 0], np.int64)
        return np.mod(seed, 2**31 - 2).astype(np.int32)


class RandomNormal(RandomInitializer):
    """Normal distribution.

    Args:
        mean: mean of the distribution.
        stddev: its standard deviation.
        seed: see RandomInitializer.
    """

    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: SeedLike = None) -> None:
        super().__init__(seed)
        self.mean = mean
        self.stddev = stddev

    def __call__(self, shape: Sequence[int], dtype: Any = None) -> Tensor:
        """Values of that shape."""

        def draw(size: list[int], **options: Any) -> Tensor:
            return stateless.stateless_normal(size, mean=self.mean, stddev=self.stddev, **options)

        return self._draw(shape, dtype, draw)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"mean": self.mean, "stddev": self.stddev, **super().get_config()}


class TruncatedNormal(RandomNormal):
    """Normally distributed, with values beyond two standard deviations drawn again."""

    def __call__(self, shape: Sequence[int], dtype: Any = None) -> Tensor:
        """Values of that shape."""

        def draw(size: list[int], **options: Any) -> Tensor:
            return stateless.stateless_truncated_normal(
                size, mean=self.mean, stddev=self.stddev, **options
            )

        return self._draw(shape, dtype, draw)


class RandomUniform(RandomInitializer):
    """Uniform distribution in [minval, maxval).

    Args:
        minval: the lower end.
        maxval: the upper end.
        seed: see RandomInitializer.
    """

    def __init__(self, minval: float = -0.05, maxval: float = 0.05, seed: SeedLike = None) -> None:
        super().__init__(seed)
        self.minval = minval
        self.maxval = maxval

    def __call__(self, shape: Sequence[int], dtype: Any = None) -> Tensor:
        """Values of that shape."""

        def draw(size: list[int], **options: Any) -> Tensor:
            return stateless.stateless_uniform(
                size, minval=self.minval, maxval=self.maxval, **options
            )

        return self._draw(shape, dtype, draw)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"minval": self.minval, "maxval": self.maxval, **super().get_config()}


class VarianceScaling(RandomInitializer):
    """Random values with variance scale / n, so that a layer preserves the scale of its inputs.

    Args:
        scale: see above.
        mode: the definition of n: `fan_in`, `fan_out` or `fan_avg`, the number of inputs or outputs
            of one unit or their mean.
        distribution: `truncated_normal`, `untruncated_normal` or `uniform`.
        seed: see RandomInitializer.
        input_axes: axes of the shape that are inputs of a unit: fan_in is their product. It counts
            only together with the next; None takes all axes but the last.
        output_axes: axes of the shape that are units: fan_out is their product.

    Source:
        Glorot and Bengio 2010; He et al. 2015; Keras `VarianceScaling`.
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: SeedLike = None,
        input_axes: Sequence[int] | None = None,
        output_axes: Sequence[int] | None = None,
    ) -> None:
        super().__init__(seed)
        distribution = distribution.lower()
        if scale <= 0:
            raise ValueError(
                f"VarianceScaling: Argument `scale` must be positive float. Got {scale}"
            )
        if mode not in {"fan_in", "fan_out", "fan_avg"}:
            raise ValueError(
                "VarianceScaling: Invalid `mode` argument: mode must be fan_in, fan_out or "
                f"fan_avg, got {mode!r}"
            )
        distribution = "truncated_normal" if distribution == "normal" else distribution
        if distribution not in {"uniform", "truncated_normal", "untruncated_normal"}:
            raise ValueError(
                "VarianceScaling: Invalid `distribution` argument: distribution must be "
                f"uniform, truncated_normal or untruncated_normal, got {distribution!r}"
            )
        self.scale = scale
        self.mode = mode
        self.distribution = distribution
        self.input_axes = input_axes
        self.output_axes = output_axes

    def __call__(
        self, shape: Sequence[int], dtype: Any = None, fans: tuple[int, int] | None = None
    ) -> Tensor:
        """Values of that shape; `fans` replaces the fans computed from it, see `compute_fans`."""
        if fans is None:
            fans = compute_fans(shape, self.input_axes, self.output_axes)
        fan_in, fan_out = fans
        n = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        variance = self.scale / max(1.0, n)

        def draw(size: list[int], **options: Any) -> Tensor:
            if self.distribution == "uniform":
                limit = math.sqrt(3 * variance)
                return stateless.stateless_uniform(size, minval=-limit, maxval=limit, **options)
            if self.distribution == "truncated_normal":
                stddev = math.sqrt(variance) / _CUT_DEVIATION
                return stateless.stateless_truncated_normal(
                    size, mean=0.0, stddev=stddev, **options
                )
            return stateless.stateless_normal(size, mean=0.0, stddev=math.sqrt(variance), **options)

        return self._draw(shape, dtype, draw)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            "scale": self.scale,
            "mode": self.mode,
            "distribution": self.distribution,
            **self._given(),
        }

    def _given(self) -> dict[str, Any]:
        """The part of the configuration that all these classes have."""
        axes = {"input_axes": self.input_axes, "output_axes": self.output_axes}
        return {**RandomInitializer.get_config(self), **axes}


class _Scaled(VarianceScaling):
    """The base of named VarianceScaling classes.

    Args:
        seed: see RandomInitializer.
        input_axes: see VarianceScaling.
        output_axes: see VarianceScaling.
    """

    _kind: tuple[float, str, str]

    def __init__(
        self,
        seed: SeedLike = None,
        input_axes: Sequence[int] | None = None,
        output_axes: Sequence[int] | None = None,
    ) -> None:
        super().__init__(*self._kind, seed=seed, input_axes=input_axes, output_axes=output_axes)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return self._given()


class GlorotUniform(_Scaled):
    """Uniform, variance 1 / mean of fan_in and fan_out."""

    _kind = (1.0, "fan_avg", "uniform")


class GlorotNormal(_Scaled):
    """Truncated normal, variance 1 / mean of fan_in and fan_out."""

    _kind = (1.0, "fan_avg", "truncated_normal")


class HeUniform(_Scaled):
    """Uniform, variance 2 / fan_in."""

    _kind = (2.0, "fan_in", "uniform")


class HeNormal(_Scaled):
    """Truncated normal, variance 2 / fan_in."""

    _kind = (2.0, "fan_in", "truncated_normal")


class LecunUniform(_Scaled):
    """Uniform, variance 1 / fan_in."""

    _kind = (1.0, "fan_in", "uniform")


class LecunNormal(_Scaled):
    """Truncated normal, variance 1 / fan_in."""

    _kind = (1.0, "fan_in", "truncated_normal")


class Orthogonal(RandomInitializer):
    """A random matrix with orthogonal rows or columns; further axes are folded into the rows.

    Args:
        gain: factor.
        seed: see RandomInitializer.

    Source:
        Saxe et al. 2013; Keras `Orthogonal`.
    """

    def __init__(self, gain: float = 1.0, seed: SeedLike = None) -> None:
        super().__init__(seed)
        self.gain = gain

    def __call__(self, shape: Sequence[int], dtype: Any = None) -> Tensor:
        """Values of that shape."""
        if len(shape) < 2:
            raise ValueError(f"Orthogonal: shape must have at least two axes, got {list(shape)}")
        rows, columns = math.prod(shape[:-1]), shape[-1]
        flat = [max(rows, columns), min(rows, columns)]
        kind = dtypes.as_dtype(dtype or floatx())
        wide = kind if kind in {dtypes.float32, dtypes.float64} else dtypes.float32
        drawn = self._draw(flat, wide, stateless.stateless_normal)
        q, r = np.linalg.qr(drawn.numpy())
        q *= np.sign(np.diag(r))
        q = q.T if rows < columns else q
        value = convert_to_tensor(np.ascontiguousarray(q).reshape(tuple(shape)))
        return casting.cast(arithmetic.multiply(value, self.gain), kind)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"gain": self.gain, **super().get_config()}


def compute_fans(
    shape: Sequence[int],
    input_axes: Sequence[int] | None = None,
    output_axes: Sequence[int] | None = None,
) -> tuple[int, int]:
    """The numbers of inputs and outputs of one unit of a weight: (fan_in, fan_out).

    Args:
        shape: shape of the weight.
        input_axes: axes that are inputs of a unit; they count only if both are given.
        output_axes: axes that are units.

    Raises:
        ValueError: an axis that the shape does not have.
    """
    if input_axes is not None and output_axes is not None:
        for name, axes in (("input_axes", input_axes), ("output_axes", output_axes)):
            if any(not -len(shape) <= axis < len(shape) for axis in axes):
                raise ValueError(
                    f"initializer: {name} must be axes of a weight of shape {list(shape)}, "
                    f"got {list(axes)}"
                )
        inputs, outputs = (math.prod(shape[a] for a in axes) for axes in (input_axes, output_axes))
        return inputs, outputs
    if len(shape) < 1:
        return 1, 1
    if len(shape) == 1:
        return shape[0], shape[0]
    window = math.prod(shape[:-2])
    return window * shape[-2], window * shape[-1]


InitializerLike: TypeAlias = (
    Initializer | Callable[..., Any] | str | dict[str, Any] | type | float | None
)

_TABLE = registry.named(
    *(Zeros, Ones, Constant, Identity, RandomNormal, TruncatedNormal, RandomUniform),
    *(VarianceScaling, GlorotUniform, GlorotNormal, HeUniform, HeNormal, LecunUniform),
    *(LecunNormal, Orthogonal, STFT),
    zero=Zeros,
    one=Ones,
    normal=RandomNormal,
    uniform=RandomUniform,
    IdentityInitializer=Identity,
    STFTInitializer=STFT,
    OrthogonalInitializer=Orthogonal,
)


def get(identifier: InitializerLike) -> Any:
    """The initializer for a name, configuration, class, function or object."""
    if isinstance(identifier, (int, float)) and not isinstance(identifier, bool):
        return Constant(identifier)
    if isinstance(identifier, (Tensor, np.ndarray)):
        return _given_values(identifier)
    return registry.by_name("initializer", identifier, _TABLE)


def _given_values(values: Tensor | Array) -> Callable[..., Tensor]:
    """An initializer that returns these values."""

    def initial(shape: Sequence[int], dtype: Any = None) -> Tensor:
        if tuple(shape) != tuple(values.shape):
            raise ValueError(
                f"initializer: Expected `shape` to be that of the given values, "
                f"{tuple(values.shape)}, got {tuple(shape)}"
            )
        return casting.cast(convert_to_tensor(values), dtypes.as_dtype(dtype or floatx()))

    return initial


def serialize(initializer: Initializer) -> Any:
    """The configuration of an initializer."""
    return registry.serialize_keras_object(initializer)


def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The initializer with that configuration.

    Args:
        config: the result of `serialize`.
        custom_objects: classes and functions by name, beside those of Keras and the registered
            ones.
    """
    return registry.deserialize_keras_object(config, custom_objects)


# Keras' own names in snake case, which programs use as functions.
zeros = Zeros
ones = Ones
constant = Constant
glorot_uniform = GlorotUniform
glorot_normal = GlorotNormal
he_uniform = HeUniform
he_normal = HeNormal
lecun_uniform = LecunUniform
lecun_normal = LecunNormal
identity = IdentityInitializer = Identity
orthogonal = OrthogonalInitializer = Orthogonal
random_normal = RandomNormal
random_uniform = RandomUniform
truncated_normal = TruncatedNormal
variance_scaling = VarianceScaling
stft = STFTInitializer = STFT
