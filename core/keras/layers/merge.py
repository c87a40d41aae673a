"""Layers that join several inputs."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Unpack

from pinnace.framework import dtypes
from pinnace.framework.composite import is_composite
from pinnace.framework.specs import TensorSpec
from pinnace.keras.layer import Layer, LayerOptions
from pinnace.keras.layers import composite_inputs
from pinnace.keras.ops.promotion import alike, floating, pair
from pinnace.ops.array import constants, joining, reshaping
from pinnace.ops.math import arithmetic, einstein, logic, reduction
from pinnace.ops.nn import normalization

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor


class _Merge(Layer):
    """Joins a list of inputs that broadcast."""

    def build(self, x: Sequence[TensorSpec]) -> None:
        """Check that there are inputs to join."""
        if isinstance(x, TensorSpec) or len(x) < 1:
            raise ValueError(
                f"{self._described()} takes a list of inputs, "
                f"got {x.text if isinstance(x, TensorSpec) else 'none'}"
            )

    def call(self, xs: Sequence[Tensor]) -> Tensor:
        """The joined inputs."""
        return functools.reduce(self._join, alike(*xs))

    def _join(self, x: Tensor, y: Tensor) -> Tensor:
        raise NotImplementedError

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """Where any input counts; None if one has no mask."""
        del inputs
        if previous_mask is None or any(mask is None for mask in previous_mask):
            return None
        return functools.reduce(logic.logical_or, previous_mask)


class Add(_Merge):
    """The sum of the inputs; sparse if all are."""

    def call(self, xs: Sequence[Any]) -> Any:
        """The sum."""
        return composite_inputs.added(xs) if any(map(is_composite, xs)) else super().call(xs)

    def _join(self, x: Tensor, y: Tensor) -> Tensor:
        return arithmetic.add(x, y)


class Subtract(_Merge):
    """The first of two inputs without the second."""

    def build(self, x: Sequence[TensorSpec]) -> None:
        """Check that there are two inputs."""
        super().build(x)
        if len(x) != 2:
            raise ValueError(f"{self._described()} takes 2 inputs, got {len(x)}")

    def _join(self, x: Tensor, y: Tensor) -> Tensor:
        return arithmetic.subtract(x, y)


class Multiply(_Merge):
    """The product of the inputs, element by element."""

    def _join(self, x: Tensor, y: Tensor) -> Tensor:
        return arithmetic.multiply(x, y)


class Average(_Merge):
    """The mean of the inputs, element by element."""

    def call(self, xs: Sequence[Tensor]) -> Tensor:
        """The mean."""
        total = functools.reduce(arithmetic.add, alike(*xs))
        return floating(total) / len(xs)


class Maximum(_Merge):
    """The largest of the inputs, element by element."""

    def _join(self, x: Tensor, y: Tensor) -> Tensor:
        return arithmetic.maximum(x, y)


class Minimum(_Merge):
    """The smallest of the inputs, element by element."""

    def _join(self, x: Tensor, y: Tensor) -> Tensor:
        return arithmetic.minimum(x, y)


class Concatenate(_Merge):
    """The inputs one after the other along an axis; sparse if all are.

    Args:
        axis: the only one in which sizes may differ.
        **options: see Layer.
    """

    def __init__(self, axis: int = -1, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self.axis = axis

    def call(self, xs: Sequence[Any]) -> Any:
        """The concatenation."""
        if any(map(is_composite, xs)):
            return composite_inputs.concatenated(xs, self.axis)
        return joining.concat(list(alike(*xs)), self.axis)

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """The masks, one after the other or over each other; an input without one counts."""
        if previous_mask is None or all(mask is None for mask in previous_mask):
            return None
        wide = []
        for x, mask in zip(inputs, previous_mask, strict=True):
            whole = constants.ones_like(x, dtypes.bool)
            if mask is None:
                wide.append(whole)
            elif len(mask.shape) < len(x.shape):
                wide.append(logic.logical_and(reshaping.expand_dims(mask, -1), whole))
            else:
                wide.append(mask)
        return reduction.reduce_any(joining.concat(wide, self.axis), -1)


class Dot(_Merge):
    """Products summed along an axis of each of two inputs, sample by sample.

    Args:
        axes: the axis, or one for each input; the batch axis is 0.
        normalize: whether to scale to unit length first.
        **options: see Layer.
    """

    def __init__(
        self, axes: int | Sequence[int], normalize: bool = False, **options: Unpack[LayerOptions]
    ) -> None:
        super().__init__(**options)
        self.axes = axes if isinstance(axes, int) else tuple(axes)
        self.normalize = normalize

    def call(self, xs: Sequence[Tensor]) -> Tensor:
        """The products."""
        x, y = pair(*xs)
        first, second = (self.axes,) * 2 if isinstance(self.axes, int) else self.axes
        first, second = first % len(x.shape), second % len(y.shape)
        if self.normalize:
            x = normalization.l2_normalize(x, [first])
            y = normalization.l2_normalize(y, [second])
        letters = iter("bcdefghijklm")
        left = ["a", *(next(letters) for _ in range(len(x.shape) - 1))]
        right = ["a", *(next(letters) for _ in range(len(y.shape) - 1))]
        right[second] = left[first]
        result = ["a", *(c for c in [*left[1:], *right[1:]] if c != left[first])]
        y = einstein.einsum(f"{''.join(left)},{''.join(right)}->{''.join(result)}", x, y)
        return y[:, None] if len(result) == 1 else y

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> None:
        """None: there are no steps any more."""
        del inputs, previous_mask


def add(inputs: Any, **options: Any) -> Any:
    """The sum of the inputs.

    Args:
        inputs: two tensors or more that broadcast.
        **options: see Layer.

    Returns:
        The broadcast shape.
    """
    return Add(**options)(inputs)


def subtract(inputs: Any, **options: Any) -> Any:
    """The first of two inputs without the second.

    Args:
        inputs: two tensors that broadcast.
        **options: see Layer.

    Returns:
        The broadcast shape.
    """
    return Subtract(**options)(inputs)


def multiply(inputs: Any, **options: Any) -> Any:
    """The product of the inputs.

    Args:
        inputs: two tensors or more that broadcast.
        **options: see Layer.

    Returns:
        The broadcast shape.
    """
    return Multiply(**options)(inputs)


def average(inputs: Any, **options: Any) -> Any:
    """The mean of the inputs.

    Args:
        inputs: two tensors or more that broadcast.
        **options: see Layer.

    Returns:
        The broadcast shape.
    """
    return Average(**options)(inputs)


def maximum(inputs: Any, **options: Any) -> Any:
    """The largest of the inputs.

    Args:
        inputs: two tensors or more that broadcast.
        **options: see Layer.

    Returns:
        The broadcast shape.
    """
    return Maximum(**options)(inputs)


def minimum(inputs: Any, **options: Any) -> Any:
    """The smallest of the inputs.

    Args:
        inputs: two tensors or more that broadcast.
        **options: see Layer.

    Returns:
        The broadcast shape.
    """
    return Minimum(**options)(inputs)


def concatenate(inputs: Any, axis: int = -1, **options: Any) -> Any:
    """The inputs one after the other.

    Args:
        inputs: tensors with equal sizes but along `axis`.
        axis: along which they follow each other.
        **options: see Layer.
    """
    return Concatenate(axis=axis, **options)(inputs)


def dot(inputs: Any, axes: Any = -1, **options: Any) -> Any:
    """Products summed along an axis.

    Args:
        inputs: two tensors with the batch first.
        axes: the axis of both, or one of each.
        **options: see Layer.

    Returns:
        The other axes of the first, then those of the second, the batch once.
    """
    return Dot(axes=axes, **options)(inputs)
