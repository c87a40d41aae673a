"""Regularizers: penalties on weights, which are added to the loss."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from pinnace.framework.convert import convert_to_tensor
from pinnace.keras import registry
from pinnace.keras.constructed import Constructed
from pinnace.keras.dtype_policy import floatx
from pinnace.ops.array import casting
from pinnace.ops.linalg import bands
from pinnace.ops.math import arithmetic, polar, products, reduction
from pinnace.ops.nn import normalization

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


class Regularizer(Constructed):
    """A function of a weight, evaluated in each step; its result is added to the loss."""

    def __call__(self, x: Any) -> Tensor:
        """The penalty, a scalar."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__(x)")

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_config")

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Regularizer:
        """The regularizer with a configuration."""
        return cls(**config)


class L1L2(Regularizer):
    """l1 sum(abs(x)) + l2 sum(x²).

    Args:
        l1: factor of the first sum.
        l2: factor of the second.
    """

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        self.l1 = _factor("l1", 0.0 if l1 is None else l1)
        self.l2 = _factor("l2", 0.0 if l2 is None else l2)

    def __call__(self, x: Any) -> Tensor:
        """The penalty, a scalar."""
        parts = []
        x = convert_to_tensor(x)
        if not x.dtype.is_floating:
            x = casting.cast(x, floatx())
        if self.l1:
            parts.append(arithmetic.multiply(reduction.reduce_sum(polar.abs(x)), self.l1))
        if self.l2:
            parts.append(arithmetic.multiply(reduction.reduce_sum(arithmetic.square(x)), self.l2))
        if not parts:
            return arithmetic.multiply(reduction.reduce_sum(x), 0.0)
        return parts[0] if len(parts) == 1 else arithmetic.add(parts[0], parts[1])

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"l1": self.l1, "l2": self.l2}


class L1(L1L2):
    """l1 sum(abs(x))."""

    def __init__(self, l1: float = 0.01) -> None:
        super().__init__(l1=0.01 if l1 is None else l1)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"l1": self.l1}


class L2(L1L2):
    """l2 sum(x²)."""

    def __init__(self, l2: float = 0.01) -> None:
        super().__init__(l2=0.01 if l2 is None else l2)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"l2": self.l2}


class OrthogonalRegularizer(Regularizer):
    """factor times the mean absolute cosine between different rows, or columns, of a matrix.

    Args:
        factor: at least 0.
        mode: "rows" or "columns".

    Raises:
        ValueError: the mode is unknown, a factor is below 0, or the weight is no matrix.
    """

    def __init__(self, factor: float = 0.01, mode: str = "rows") -> None:
        self.factor = _factor("factor", factor)
        if mode not in {"rows", "columns"}:
            raise ValueError(
                f"OrthogonalRegularizer: mode must be 'rows' or 'columns', got {mode!r}"
            )
        self.mode = mode

    def __call__(self, inputs: Any) -> Tensor:
        """The penalty, a scalar."""
        if len(inputs.shape) != 2:
            raise ValueError(
                f"OrthogonalRegularizer: inputs must be a matrix, got shape {inputs.shape}"
            )
        by_rows = self.mode == "rows"
        x = normalization.l2_normalize(inputs, 1 if by_rows else 0, epsilon=1e-14)
        cosines = products.matmul(x, x, transpose_a=not by_rows, transpose_b=by_rows)
        size = inputs.shape[0 if by_rows else 1]
        others = cosines * (1.0 - bands.eye(size, dtype=cosines.dtype))
        pairs = size * (size - 1.0) / 2.0
        total = reduction.reduce_sum(polar.abs(others))
        return arithmetic.multiply(total, self.factor * 0.5 / pairs)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"factor": self.factor, "mode": self.mode}


def _factor(name: str, value: float) -> float:
    if isinstance(value, bool) or not math.isfinite(value) or value < 0:
        raise ValueError(f"regularizer: {name} must be a number, at least 0, got {value!r}")
    return float(value)


l1 = L1
l2 = L2
l1_l2 = L1L2
orthogonal_regularizer = OrthogonalRegularizer

RegularizerLike: TypeAlias = Regularizer | Callable[..., Any] | str | dict[str, Any] | None
_TABLE = {
    **registry.named(L1, L2, OrthogonalRegularizer),
    "L1L2": L1L2,
    "l1_l2": L1L2,
    "l1l2": L1L2,
}


def get(identifier: RegularizerLike) -> Any:
    """The regularizer for a name, a configuration, a function or an object; None for None."""
    return registry.by_name("regularizer", identifier, _TABLE)


def serialize(regularizer: Regularizer) -> Any:
    """The configuration of a regularizer."""
    return registry.serialize_keras_object(regularizer)


def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The regularizer with that configuration.

    Args:
        config: the result of `serialize`.
        custom_objects: classes and functions by name, beside those of Keras and the registered
            ones.
    """
    return registry.deserialize_keras_object(config, custom_objects)
