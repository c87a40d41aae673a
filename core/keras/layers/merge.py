"""Layers that join several inputs."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from pinnace.framework.composite import is_composite
from pinnace.framework.specs import TensorSpec
from pinnace.keras import masks, ops
from pinnace.keras.layer import Layer, LayerOptions
from pinnace.keras.layers import composite_inputs, masked_merge
from pinnace.keras.ops.promotion import alike, floating, pair
from pinnace.ops.array import joining, reshaping
from pinnace.ops.math import arithmetic, einstein
from pinnace.ops.nn import normalization

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor


class _Merge(Layer):
    """Joins a list of inputs that broadcast, sample by sample."""

    # The function that merges two inputs, by its name in the arithmetic module.
    _kind: ClassVar[str]
    # 2: a step is valid if all inputs with a mask say so; 3: if any does.
    _rules_of_keras = 3

    def build(self, x: Sequence[TensorSpec]) -> None:
        """Check that there are inputs to join."""
        if isinstance(x, TensorSpec) or len(x) < 1:
            raise ValueError(
                f"{self._described()} takes a list of inputs, "
                f"got {x.text if isinstance(x, TensorSpec) else 'none'}"
            )
        batches = {spec.shape[0] for spec in x if spec is not None and spec.shape.rank}
        if len(batches - {None}) > 1:
            raise ValueError(
                f"{self._described()}: Cannot merge tensors with different batch sizes, got "
                f"{', '.join(spec.text for spec in x)}"
            )

    def call(self, xs: Sequence[Any]) -> Any:
        """The joined inputs."""
        if any(map(composite_inputs.holds_sparse, xs)):
            return composite_inputs.joined(self._kind, xs)
        given = list(alike(*xs))
        for x, one in zip(xs, given, strict=True):
            masks.attach(one, masks.mask_of(x))  # a cast has lost it
        return self._joined(_of_one_rank(given))

    def _joined(self, xs: Sequence[Tensor]) -> Tensor:
        return functools.reduce(getattr(arithmetic, self._kind), xs)

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """Whether any input is valid; None if one has no mask. For files of Keras 2: see above.

        Raises:
            ValueError: masks or inputs that are no list, or of different number.
        """
        self._check_masks(inputs, previous_mask)
        if self._rules_of_keras == 2:
            known = [mask for mask in previous_mask or () if mask is not None]
            return functools.reduce(ops.logical_and, known) if known else None
        if previous_mask is None or any(mask is None for mask in previous_mask):
            return None
        return functools.reduce(ops.logical_or, previous_mask)

    def _check_masks(self, inputs: Any, given: Any) -> None:
        if given is None:
            return
        for name, value in (("mask", given), ("inputs", inputs)):
            if not isinstance(value, (list, tuple)):
                raise ValueError(  # noqa: TRY004 (Keras raises it too)
                    f"{self._described()}: `{name}` should be a list. Got {value!r}"
                )
        if len(given) != len(inputs):
            raise ValueError(
                f"{self._described()}: inputs and masks should have the same length. "
                f"Got {len(inputs)} and {len(given)}"
            )


class Add(_Merge):
    """The sum of the inputs; sparse if all are.

    Shapes:
        Inputs that broadcast, [b, ...] each → [b, ...].
    """

    _kind = "add"

    def call(self, xs: Sequence[Any]) -> Any:
        """The sum."""
        return composite_inputs.added(xs) if any(map(is_composite, xs)) else super().call(xs)


class Subtract(_Merge):
    """The first of two inputs without the second.

    Shapes:
        Two inputs that broadcast, [b, ...] each → [b, ...].
    """

    _kind = "subtract"

    def build(self, x: Sequence[TensorSpec]) -> None:
        """Check that there are two inputs."""
        super().build(x)
        if len(x) != 2:
            raise ValueError(
                f"{self._described()}: the layer should be called on exactly 2 inputs, got {len(x)}"
            )


class Multiply(_Merge):
    """The product of the inputs, element by element.

    Shapes:
        Inputs that broadcast, [b, ...] each → [b, ...].
    """

    _kind = "multiply"

    def _joined(self, xs: Sequence[Tensor]) -> Tensor:
        return masked_merge.product(xs) if _masked(xs) else super()._joined(xs)


class Average(_Merge):
    """The mean of the inputs, element by element.

    Shapes:
        Inputs that broadcast, [b, ...] each → [b, ...].
    """

    _kind = "add"

    def call(self, xs: Sequence[Any]) -> Any:
        """The mean."""
        if any(map(composite_inputs.holds_sparse, xs)):
            return composite_inputs.scaled(composite_inputs.added(xs), 1 / len(xs))
        return floating(super().call(xs)) / len(xs)


class Maximum(_Merge):
    """The largest of the inputs, element by element.

    Shapes:
        Inputs that broadcast, [b, ...] each → [b, ...].
    """

    _kind = "maximum"

    def _joined(self, xs: Sequence[Tensor]) -> Tensor:
        if _masked(xs):
            return masked_merge.extreme(arithmetic.maximum, xs)
        return super()._joined(xs)


class Minimum(_Merge):
    """The smallest of the inputs, element by element.

    Shapes:
        Inputs that broadcast, [b, ...] each → [b, ...].
    """

    _kind = "minimum"

    def _joined(self, xs: Sequence[Tensor]) -> Tensor:
        if _masked(xs):
            return masked_merge.extreme(arithmetic.minimum, xs)
        return super()._joined(xs)


class Concatenate(_Merge):
    """The inputs one after the other along an axis; sparse if all are.

    Args:
        axis: the only one in which sizes may differ.
        **options: see Layer.

    Shapes:
        Inputs [..., nᵢ, ...], equal but for the axis → [..., n₁ + n₂ + …, ...].
    """

    def __init__(self, axis: int = -1, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self.axis = axis

    def build(self, x: Sequence[TensorSpec]) -> None:
        """Check that sizes differ along the axis only."""
        if isinstance(x, TensorSpec) or len(x) < 1:
            super().build(x)
        known = [list(spec.shape.dims) for spec in x if spec is not None and spec.shape.dims]
        ranks = {len(sizes) for sizes in known}
        for sizes in known:
            if -len(sizes) <= self.axis < len(sizes):
                sizes[self.axis] = None
        columns = zip(*known, strict=True) if len(ranks) == 1 else ()
        if len(ranks) > 1 or any(len(set(column) - {None}) > 1 for column in columns):
            raise ValueError(
                f"{self._described()} requires inputs with matching shapes except for the "
                f"concatenation axis {self.axis}, got {', '.join(spec.text for spec in x)}"
            )

    def call(self, xs: Sequence[Any]) -> Any:
        """The concatenation."""
        if any(map(is_composite, xs)):
            return composite_inputs.concatenated(xs, self.axis)
        return joining.concat(list(alike(*xs)), self.axis)

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """The masks, concatenated or combined; an input without a mask is valid.

        Raises:
            ValueError: masks or inputs that are no list, or of different number.
        """
        self._check_masks(inputs, previous_mask)
        if previous_mask is None or all(mask is None for mask in previous_mask):
            return None
        wide = []
        for x, mask in zip(inputs, previous_mask, strict=True):
            if mask is None:
                wide.append(ops.ones_like(x, "bool"))
            elif len(mask.shape) < len(x.shape):
                nowhere = ops.zeros_like(x, "bool")
                wide.append(ops.logical_or(ops.expand_dims(mask, -1), nowhere))
            else:
                wide.append(ops.cast(mask, "bool"))
        every = ops.all if self._rules_of_keras == 2 else ops.any
        return every(ops.concatenate(wide, self.axis), -1)


class Dot(_Merge):
    """Products of two inputs, summed along an axis of each, per sample.

    Args:
        axes: the axis, or one for each input; the batch axis is 0.
        normalize: whether to scale to unit length first.
        **options: see Layer.

    Shapes:
        [b, ..., n], [b, ..., n] → [b, the other axes of the first, the other axes of the second];
        of two matrices [b, n] → [b, 1].
    """

    def __init__(
        self, axes: int | Sequence[int], normalize: bool = False, **options: Unpack[LayerOptions]
    ) -> None:
        super().__init__(**options)
        self.axes = axes if isinstance(axes, int) else tuple(axes)
        self.normalize = normalize

    def call(self, xs: Sequence[Any]) -> Any:
        """The products; sparse if both inputs are."""
        if all(map(composite_inputs.holds_sparse, xs)):
            return composite_inputs.sparse(self._products(xs))
        return self._products(xs)

    def _products(self, xs: Sequence[Any]) -> Tensor:
        x, y = pair(*map(composite_inputs.densified, xs))
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
        """None: the result has no time axis."""
        del inputs, previous_mask


def _masked(xs: Sequence[Tensor]) -> bool:
    """Whether inputs of one shape have masks; with broadcasting, masks are ignored."""
    return masks.mask_of(list(xs)) is not None and len({x.shape.rank for x in xs}) == 1


def _of_one_rank(xs: Sequence[Tensor]) -> list[Tensor]:
    """Add axes of size 1 after the batch axis to inputs of lower rank."""
    ranks = [x.shape.rank for x in xs]
    if None in ranks:
        return list(xs)
    highest = max(rank or 0 for rank in ranks)
    found = []
    for x, rank in zip(xs, ranks, strict=True):
        for _ in range(highest - (rank or 0) if rank else 0):
            x = reshaping.expand_dims(x, 1)
        found.append(x)
    return found


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
        axis: the axis of concatenation.
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
