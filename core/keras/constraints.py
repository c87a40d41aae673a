"""Constraints: projections of weights after each optimizer step."""

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
    """A function from a weight's value to an allowed one; the base class allows every value."""

    def __call__(self, w: Any) -> Tensor:
        """The allowed value."""
        return w  # type: ignore[no-any-return]  # the value that it was given

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Constraint:
        """The constraint with a configuration."""
        return cls(**config)


class MaxNorm(Constraint):
    """Scales vectors along `axis` that are longer than max_value to that length."""

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
    """Sets negative values to 0."""

    def __call__(self, w: Any) -> Tensor:
        """The allowed value."""
        return arithmetic.multiply(w, casting.cast(comparison.greater_equal(w, 0.0), w.dtype))


class UnitNorm(Constraint):
    """Scales vectors along `axis` to length 1."""

    def __init__(self, axis: Axis = 0) -> None:
        self.axis = axis

    def __call__(self, w: Any) -> Tensor:
        """The allowed value."""
        return division.divide(w, _norms(w, self.axis) + epsilon())

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"axis": self.axis}


class MinMaxNorm(Constraint):
    """Moves lengths of vectors along `axis` by the share `rate` towards [min_value, max_value]."""

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
    """The constraint for a name, a configuration, a function or an object; None for None."""
    return registry.by_name("constraint", identifier, _TABLE)


def serialize(constraint: Constraint) -> Any:
    """The configuration of a constraint."""
    return registry.serialize_keras_object(constraint)


def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The constraint with that configuration.

    Args:
        config: the result of `serialize`.
        custom_objects: classes and functions by name, beside those of Keras and the registered
            ones.
    """
    return registry.deserialize_keras_object(config, custom_objects)
