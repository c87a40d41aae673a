"""Dropout and noise, active only while training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from pinnace.keras import registry
from pinnace.keras.image_format import checked_format
from pinnace.keras.input_spec import InputSpec
from pinnace.keras.layer import Layer, LayerOptions
from pinnace.keras.seeds import SeedGenerator
from pinnace.ops.array import constants, joining, shapes
from pinnace.ops.nn.dropouts import stateless_dropout
from pinnace.ops.random import stateless

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor


class Dropout(Layer):
    """While training, elements are 0 with probability rate, else x / (1 - rate); otherwise x.

    Args:
        rate: from 0 to 1.
        noise_shape: shape of the mask, which is broadcast; None in it takes the input's size.
        seed: seed of the draws; None takes one from the global seed.
        **options: see Layer.

    Shapes:
        x [...] → the same.

    Source:
        Keras `Dropout`; Srivastava et al. 2014.
    """

    _takes_floats = True

    def __init__(
        self,
        rate: float,
        noise_shape: Sequence[int | None] | None = None,
        seed: int | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        if not 0 <= rate <= 1:
            raise ValueError(
                f"{type(self).__name__}: Invalid value received for argument `rate`. Expected a "
                f"float value between 0 and 1. Got {rate}"
            )
        self.rate = rate
        self.seed = seed
        self.noise_shape = _checked_noise_shape(type(self).__name__, noise_shape)
        if rate > 0:
            self.seed_generator = SeedGenerator(seed)
        self.supports_masking = True
        self._build_at_init()

    def call(self, x: Tensor, training: bool = False) -> Tensor:
        """The input, with elements dropped while training."""
        if not training or self.rate == 0:
            return x
        if self.rate == 1:
            return constants.zeros_like(x)
        seed = self.seed_generator.next()
        return stateless_dropout(x, self.rate, seed, noise_shape=self._noise_shape(x))

    def _noise_shape(self, x: Tensor) -> Any:
        if self.noise_shape is None:
            return None
        if None not in self.noise_shape:
            return list(self.noise_shape)
        sizes = shapes.shape(x)
        return joining.stack([sizes[i] if n is None else n for i, n in enumerate(self.noise_shape)])


def _checked_noise_shape(who: str, shape: Any) -> tuple[int | None, ...] | None:
    """The shape of the mask.

    Raises:
        ValueError: no sequence of positive integers and None.
    """
    if shape is None:
        return None
    who = f"{who}: Invalid value received for argument `noise_shape`."
    if isinstance(shape, str) or not hasattr(shape, "__iter__"):
        raise ValueError(f"{who} Expected a tuple or list of integers. Got {shape!r}")
    sizes = tuple(shape)
    if not all(n is None or isinstance(n, (int, np.integer)) for n in sizes):
        raise ValueError(f"{who} Expected all elements to be integers or None. Got {shape!r}")
    if not all(n is None or n > 0 for n in sizes):
        raise ValueError(
            f"{who} Expected all dimensions to be positive integers or None. Got {shape!r}"
        )
    return sizes


class _SpatialDropout(Dropout):
    """Drops entire channels."""

    _spatial = 1
    data_format = "channels_last"

    def _given_config(self) -> dict[str, Any]:
        """The arguments that Keras' layers have, and `data_format`."""
        dtype = registry.serialize_keras_object(self._policy)
        return {"rate": self.rate, "seed": self.seed, "name": self.name, "dtype": dtype}

    def _noise_shape(self, x: Tensor) -> Any:
        sizes, ones = shapes.shape(x), [1] * self._spatial
        if self.data_format == "channels_first":
            return joining.stack([sizes[0], sizes[1], *ones])
        return joining.stack([sizes[0], *ones, sizes[self._spatial + 1]])


class SpatialDropout1D(_SpatialDropout):
    """Drops entire channels of [b, steps, c].

    Args:
        rate: from 0 to 1.
        seed: seed of the draws.
        name: unique if None.
        dtype: a dtype or a DTypePolicy.
        **options: see Layer.

    Shapes:
        x [b, steps, c] → the same.
    """

    def __init__(
        self,
        rate: float,
        seed: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(rate, seed=seed, name=name, dtype=dtype, **options)
        self.input_spec = InputSpec(ndim=3)

    def get_config(self) -> dict[str, Any]:
        """See Layer."""
        return self._given_config()


class _SpatialDropoutOfSeveral(_SpatialDropout):
    """The common part for images and volumes.

    Args:
        rate: from 0 to 1.
        data_format: `channels_last` or `channels_first`.
        seed: seed of the draws.
        name: unique if None.
        dtype: a dtype or a DTypePolicy.
        **options: see Layer.
    """

    def __init__(
        self,
        rate: float,
        data_format: str | None = None,
        seed: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(rate, seed=seed, name=name, dtype=dtype, **options)
        self.data_format = checked_format(type(self).__name__, data_format)
        self.input_spec = InputSpec(ndim=self._spatial + 2)

    def get_config(self) -> dict[str, Any]:
        """See Layer."""
        return {**self._given_config(), "data_format": self.data_format}


class SpatialDropout2D(_SpatialDropoutOfSeveral):
    """Drops entire channels of [b, rows, columns, c].

    Shapes:
        x [b, rows, columns, c] → the same.
    """

    _spatial = 2


class SpatialDropout3D(_SpatialDropoutOfSeveral):
    """Drops entire channels of [b, x1, x2, x3, c].

    Shapes:
        x [b, x1, x2, x3, c] → the same.
    """

    _spatial = 3


class GaussianNoise(Layer):
    """While training, x plus normally distributed noise; otherwise x.

    Args:
        stddev: standard deviation of the noise.
        seed: seed of the draws.
        **options: see Layer.

    Shapes:
        x [...] → the same.
    """

    _takes_floats = True

    def __init__(
        self, stddev: float, seed: int | None = None, **options: Unpack[LayerOptions]
    ) -> None:
        super().__init__(**options)
        self.supports_masking = True
        if stddev < 0:
            raise ValueError(
                "GaussianNoise: Invalid value received for argument `stddev`. Expected a float "
                f"value of at least 0. Got {stddev}"
            )
        self.stddev = stddev
        self.seed = seed
        self.seed_generator = SeedGenerator(seed)
        self._build_at_init()

    def call(self, x: Tensor, training: bool = False) -> Tensor:
        """The input, with noise while training."""
        if not training or self.stddev == 0:
            return x
        return x + _normal(x, self.seed_generator, 0.0, self.stddev)


class GaussianDropout(Layer):
    """While training, x times normal noise with mean 1 and variance rate / (1 - rate); otherwise x.

    Args:
        rate: from 0 to 1, 1 excluded.
        seed: seed of the draws.
        **options: see Layer.

    Shapes:
        x [...] → the same.
    """

    _takes_floats = True

    def __init__(
        self, rate: float, seed: int | None = None, **options: Unpack[LayerOptions]
    ) -> None:
        super().__init__(**options)
        self.supports_masking = True
        if not 0 <= rate < 1:
            raise ValueError(f"GaussianDropout: rate must be from 0 to below 1, got {rate}")
        self.rate = rate
        self.seed = seed
        self.seed_generator = SeedGenerator(seed)
        self._build_at_init()

    def call(self, x: Tensor, training: bool = False) -> Tensor:
        """The input, with noise while training."""
        if not training or self.rate == 0:
            return x
        return x * _normal(x, self.seed_generator, 1.0, (self.rate / (1 - self.rate)) ** 0.5)


def _normal(x: Tensor, generator: SeedGenerator, mean: float, stddev: float) -> Tensor:
    return stateless.stateless_normal(
        shapes.shape(x), generator.next(), mean=mean, stddev=stddev, dtype=x.dtype
    )
