"""Merging of tensors with masks: masked elements are ignored.

Source:
    Keras 3: `Minimum`, `Maximum` and `Multiply` of inputs with masks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras import masks, ops

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Tensor


def extreme(join: Callable[[Any, Any], Tensor], xs: Sequence[Tensor]) -> Tensor:
    """The minimum or maximum of the unmasked inputs.

    Args:
        join: the extreme of two.
        xs: tensors of one shape, some with masks.

    Returns:
        Their shape; elements masked in all inputs are those of some input.
    """
    found, counts = xs[0], _beside(xs[0])
    for x in xs[1:]:
        its = _beside(x)
        other = x if its is None else ops.where(its, x, found)
        before = found if counts is None else ops.where(counts, found, other)
        counts = None if its is None or counts is None else ops.logical_or(its, counts)
        found = join(before, other)
    return found


def product(xs: Sequence[Tensor]) -> Tensor:
    """The product of the unmasked inputs; 0 if all inputs have masks and are masked.

    Args:
        xs: tensors of one shape, some with masks.
    """
    counts = [_beside(x) for x in xs]
    found: Any = None
    for x, its in zip(xs, counts, strict=True):
        factor = x if its is None else ops.where(its, x, ops.ones_like(x))
        found = factor if found is None else ops.multiply(found, factor)
    if any(its is None for its in counts):
        return found  # type: ignore[no-any-return]  # there is a first
    anywhere = counts[0]
    for its in counts[1:]:
        anywhere = ops.logical_or(anywhere, its)
    return ops.where(anywhere, found, ops.zeros_like(found))


def _beside(x: Tensor) -> Any:
    """The mask of `x`, broadcastable to its shape; None for no mask."""
    mask = masks.mask_of(x)
    return None if mask is None else ops.expand_dims(mask, -1)
