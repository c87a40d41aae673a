"""`tf.compat.v1.initializers`: initial values with a dtype set in the constructor."""

from __future__ import annotations

import math
from typing import Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.ops.array import constants
from pinnace.ops.linalg.bands import eye
from pinnace.ops.math import arithmetic
from pinnace.ops.random import stateful

# The standard deviation of a normal distribution that is cut off at twice its own.
_CUT_DEVIATION = 0.87962566103423978
_MODES = ("fan_in", "fan_out", "fan_avg")
_DISTRIBUTIONS = ("normal", "uniform", "truncated_normal", "untruncated_normal")


class Initializer:
    """Returns the initial value of a variable.

    Args:
        dtype: dtype of the value, if the call names none.
    """

    def __init__(self, dtype: Any = dtypes.float32) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        """The value.

        Args:
            shape: shape of the variable.
            dtype: dtype of the value; that of the constructor if None.
            partition_info: without effect here: variables are whole.
        """
        del partition_info
        return self._value(list(shape), self.dtype if dtype is None else dtypes.as_dtype(dtype))

    def _value(self, shape: list[int], dtype: dtypes.DType) -> Any:
        raise NotImplementedError


class zeros_initializer(Initializer):  # noqa: N801 (TensorFlow's names, here and below)
    """Initial values of 0."""

    def _value(self, shape: list[int], dtype: dtypes.DType) -> Any:
        return constants.zeros(shape, dtype)


class ones_initializer(Initializer):  # noqa: N801
    """Initial values of 1."""

    def _value(self, shape: list[int], dtype: dtypes.DType) -> Any:
        return constants.ones(shape, dtype)


class constant_initializer(Initializer):  # noqa: N801
    """Initial values that are constant, or given.

    Args:
        value: a number, or one for each element of the variable.
        dtype: dtype of the value, if the call names none.
        verify_shape: whether a value of another shape is an error.
    """

    def __init__(
        self, value: Any = 0, dtype: Any = dtypes.float32, verify_shape: bool = False
    ) -> None:
        super().__init__(dtype)
        self.value = value
        self._verify_shape = verify_shape

    def _value(self, shape: list[int], dtype: dtypes.DType) -> Any:
        given = convert_to_tensor(self.value, dtype)
        if self._verify_shape and list(given.shape) != shape:
            raise TypeError(
                f"constant_initializer: with verify_shape the value must have the shape {shape}, "
                f"got {list(given.shape)}"
            )
        return constants.constant(self.value, dtype, shape)


class random_uniform_initializer(Initializer):  # noqa: N801
    """Uniform distribution between two numbers.

    Args:
        minval: lower bound.
        maxval: exclusive upper bound; 1 if None.
        seed: seed of the draws.
        dtype: dtype of the value, if the call names none.
    """

    def __init__(
        self, minval: Any = 0.0, maxval: Any = None, seed: int | None = None,
        dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        super().__init__(dtype)
        self.minval, self.maxval, self.seed = minval, maxval, seed

    def _value(self, shape: list[int], dtype: dtypes.DType) -> Any:
        return stateful.uniform(shape, self.minval, self.maxval, dtype, seed=self.seed)


class random_normal_initializer(Initializer):  # noqa: N801
    """A normal distribution.

    Args:
        mean: its mean.
        stddev: its standard deviation.
        seed: seed of the draws.
        dtype: dtype of the value, if the call names none.
    """

    def __init__(
        self, mean: Any = 0.0, stddev: Any = 1.0, seed: int | None = None,
        dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        super().__init__(dtype)
        self.mean, self.stddev, self.seed = mean, stddev, seed

    def _value(self, shape: list[int], dtype: dtypes.DType) -> Any:
        return stateful.normal(shape, self.mean, self.stddev, dtype, seed=self.seed)


class truncated_normal_initializer(random_normal_initializer):  # noqa: N801
    """A normal distribution truncated at two standard deviations."""

    def _value(self, shape: list[int], dtype: dtypes.DType) -> Any:
        return stateful.truncated_normal(shape, self.mean, self.stddev, dtype, seed=self.seed)


class variance_scaling_initializer(Initializer):  # noqa: N801
    """A variance that suits the size of the variable.

    Args:
        scale: above 0.
        mode: the divisor of the variance: "fan_in", "fan_out" or "fan_avg", their mean.
        distribution: "truncated_normal" (or "normal"), "untruncated_normal" or "uniform".
        seed: seed of the draws.
        dtype: dtype of the value, if the call names none.

    Raises:
        ValueError: an argument has another value.
    """

    def __init__(
        self, scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal",
        seed: int | None = None, dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        super().__init__(dtype)
        if scale <= 0:
            raise ValueError(f"variance_scaling: scale must be above 0, got {scale}")
        if mode not in _MODES:
            raise ValueError(f"variance_scaling: mode must be one of {_MODES}, got {mode!r}")
        if distribution.lower() not in _DISTRIBUTIONS:
            raise ValueError(
                f"variance_scaling: distribution must be one of {_DISTRIBUTIONS}, "
                f"got {distribution!r}"
            )
        self.scale, self.mode, self.distribution = scale, mode, distribution.lower()
        self.seed = seed

    def _value(self, shape: list[int], dtype: dtypes.DType) -> Any:
        fan_in, fan_out = _fans(shape)
        fan = {"fan_in": fan_in, "fan_out": fan_out}.get(self.mode, (fan_in + fan_out) / 2.0)
        variance = self.scale / max(1.0, fan)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            return stateful.uniform(shape, -limit, limit, dtype, seed=self.seed)
        if self.distribution == "untruncated_normal":
            return stateful.normal(shape, 0.0, math.sqrt(variance), dtype, seed=self.seed)
        deviation = math.sqrt(variance) / _CUT_DEVIATION
        return stateful.truncated_normal(shape, 0.0, deviation, dtype, seed=self.seed)


class glorot_uniform_initializer(variance_scaling_initializer):  # noqa: N801
    """Uniform distribution with variance 2 / (fan_in + fan_out).

    Args:
        seed: seed of the draws.
        dtype: dtype of the value, if the call names none.
    """

    def __init__(self, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)


class glorot_normal_initializer(variance_scaling_initializer):  # noqa: N801
    """Normal distribution with variance 2 / (fan_in + fan_out).

    Args:
        seed: seed of the draws.
        dtype: dtype of the value, if the call names none.
    """

    def __init__(self, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)


class uniform_unit_scaling_initializer(Initializer):  # noqa: N801
    """Uniform distribution in ±factor * sqrt(3 / inputs).

    Args:
        factor: see above.
        seed: seed of the draws.
        dtype: dtype of the value, if the call names none.
    """

    def __init__(
        self, factor: float = 1.0, seed: int | None = None, dtype: Any = dtypes.float32
    ) -> None:
        super().__init__(dtype)
        self.factor, self.seed = factor, seed

    def _value(self, shape: list[int], dtype: dtypes.DType) -> Any:
        inputs = max(1.0, float(math.prod(shape[:-1])))
        limit = math.sqrt(3 / inputs) * self.factor
        return stateful.uniform(shape, -limit, limit, dtype, seed=self.seed)


class identity(Initializer):  # noqa: N801
    """The identity matrix, times a number.

    Args:
        gain: the number.
        dtype: dtype of the value, if the call names none.
    """

    def __init__(self, gain: Any = 1.0, dtype: Any = dtypes.float32) -> None:
        super().__init__(dtype)
        self.gain = gain

    def _value(self, shape: list[int], dtype: dtypes.DType) -> Any:
        if len(shape) != 2:
            raise ValueError(f"identity: the variable must be a matrix, got the shape {shape}")
        return arithmetic.multiply(
            convert_to_tensor(self.gain, dtype), eye(shape[0], shape[1], dtype=dtype)
        )


def he_normal(seed: int | None = None) -> Initializer:
    """Normal distribution with variance 2 / fan_in."""
    return variance_scaling_initializer(2.0, "fan_in", "truncated_normal", seed)


def he_uniform(seed: int | None = None) -> Initializer:
    """Uniform distribution with variance 2 / fan_in."""
    return variance_scaling_initializer(2.0, "fan_in", "uniform", seed)


def lecun_normal(seed: int | None = None) -> Initializer:
    """Normal distribution with variance 1 / fan_in."""
    return variance_scaling_initializer(1.0, "fan_in", "truncated_normal", seed)


def lecun_uniform(seed: int | None = None) -> Initializer:
    """Uniform distribution with variance 1 / fan_in."""
    return variance_scaling_initializer(1.0, "fan_in", "uniform", seed)


zeros = zeros_initializer
ones = ones_initializer
constant = constant_initializer
random_uniform = random_uniform_initializer
random_normal = random_normal_initializer
truncated_normal = truncated_normal_initializer
variance_scaling = variance_scaling_initializer
glorot_uniform = glorot_uniform_initializer
glorot_normal = glorot_normal_initializer
uniform_unit_scaling = uniform_unit_scaling_initializer


def _fans(shape: list[int]) -> tuple[float, float]:
    """The numbers of inputs per output (fan-in) and of outputs per input (fan-out)."""
    if not shape:
        return 1.0, 1.0
    if len(shape) == 1:
        return float(shape[0]), float(shape[0])
    field = math.prod(shape[:-2])
    return float(shape[-2] * field), float(shape[-1] * field)
