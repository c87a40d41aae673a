"""Constraints: projections that are applied to weights after each step of an optimizer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from pinnace.keras import registry
from pinnace.keras.constructed import Constructed
from pinnace.keras.dtype_policy import epsilon
from pinnace.ops.array import casting
from pinnace.ops.math import arithmetic, comparison, division, exponents, reduction

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

Axis: TypeAlias = int | Sequence[int]


class Constraint(Constructed):
    """A function from the value of a weight to one that is allowed; of itself, every value is."""

    def __call__(self, w: Any) -> Tensor:
        """The allowed value."""
        return w  # type: ignore[no-any-return]  # the value that it was given

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Constraint:
        """The constraint with that configuration."""
        return cls(**config)


class MaxNorm(Constraint):
    """Vectors along `axis` that are longer than max_value are scaled to that length."""

    def __init__(self, max_value: float = 2, axis: Axis = 0) -> None:
        self.max_value = max_value
        self.axis = axis

    def __call__(self, w: Any) -> Tensor:
        """The allowed value."""
        norms = _norms(w, self.axis)
        wanted = arithmetic.minimum(arithmetic.maximum(norms, 0.0), self.max_value)
        return arithmetic.multiply(w, division.divide(wanted, norms + epsilon()))

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"max_value": self.max_value, "axis": self.axis}


class NonNeg(Constraint):
    """Negative values become 0."""

    def __call__(self, w: Any) -> Tensor:
        """The allowed value."""
        return arithmetic.multiply(w, casting.cast(comparison.greater_equal(w, 0.0), w.dtype))


class UnitNorm(Constraint):
    """Vectors along `axis` get length 1."""

    def __init__(self, axis: Axis = 0) -> None:
        self.axis = axis

    def __call__(self, w: Any) -> Tensor:
        """The allowed value."""
        return division.divide(w, _norms(w, self.axis) + epsilon())

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"axis": self.axis}


class MinMaxNorm(Constraint):
    """Vectors along `axis` are moved towards lengths in [min_value, max_value], by share `rate`."""

    def __init__(
        self, min_value: float = 0.0, max_value: float = 1.0, rate: float = 1.0, axis: Axis = 0
    ) -> None:
        self.min_value = min_value
        self.max_value = max_value
        self.rate = rate
        self.axis = axis

    def __call__(self, w: Any) -> Tensor:
        """The allowed value."""
        norms = _norms(w, self.axis)
        inside = arithmetic.minimum(arithmetic.maximum(norms, self.min_value), self.max_value)
        wanted = inside * self.rate + norms * (1 - self.rate)
        return arithmetic.multiply(w, division.divide(wanted, norms + epsilon()))

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            "min_value": self.min_value,
            "max_value": self.max_value,
            "rate": self.rate,
            "axis": self.axis,
        }


def _norms(w: Any, axis: Axis) -> Tensor:
    axes = [axis] if isinstance(axis, int) else list(axis)
    return exponents.sqrt(reduction.reduce_sum(arithmetic.square(w), axes, keepdims=True))


max_norm = MaxNorm
non_neg = NonNeg
unit_norm = UnitNorm
min_max_norm = MinMaxNorm

ConstraintLike: TypeAlias = Constraint | Callable[..., Any] | str | dict[str, Any] | None
_TABLE = registry.named(MaxNorm, NonNeg, UnitNorm, MinMaxNorm)


def get(identifier: ConstraintLike) -> Any:
    """The constraint of a name, a configuration, a function or an object; None for None."""
    return registry.by_name("constraint", identifier, _TABLE)


def serialize(constraint: Constraint) -> Any:
    """The configuration of a constraint."""
    return registry.serialize_keras_object(constraint)


def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The constraint with that configuration.

    Args:
        config: as `serialize` gives it.
        custom_objects: classes and functions by name, beside those of Keras and the registered
            ones.
    """
    return registry.deserialize_keras_object(config, custom_objects)
