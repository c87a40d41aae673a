"""Slices of batches of operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.linear_operators import batches
from pinnace.ops.array import shapes
from pinnace.ops.array.broadcasting import broadcast_to
from pinnace.ops.array.constants import ones

if TYPE_CHECKING:
    from pinnace.linear_operators.operator import LinearOperator


def batch_slice(operator: LinearOperator, slices: Any) -> Any:
    """The operator with a slice of the batch of another one.

    Args:
        operator: the operator.
        slices: the indices between the brackets: of the batch axes alone.
    """
    keys = slices if isinstance(slices, tuple) else (slices,)
    if len(keys) == 1 and keys[0] is Ellipsis:
        return type(operator)(**operator.parameters)
    return _remade(operator, keys, operator._batch_sizes())


def _remade(operator: Any, keys: tuple[Any, ...], batch: Any) -> Any:
    changed: dict[str, Any] = {}
    for name, rank in operator._part_ranks().items():
        part = operator._field(name)
        if part is not None:
            changed[name] = structure.map_structure_up_to(
                rank, lambda count, one: _sliced(one, count, keys, batch), rank, part
            )
    if "batch_shape" in operator._fields:
        changed["batch_shape"] = shapes.shape(ones(batch)[keys])
    return type(operator)(**{**operator.parameters, **changed})


def _sliced(part: Any, rank: int, keys: tuple[Any, ...], batch: Any) -> Any:
    """A parameter, broadcast to the whole batch and sliced."""
    if getattr(type(part), "_takes_ops", None) is not None:
        return _remade(part, keys, batch)
    known = part.shape[part.shape.rank - rank :] if part.shape.rank is not None else part.shape
    last = batches.sizes_of(known, lambda: shapes.shape(part)[shapes.rank(part) - rank :])
    whole = broadcast_to(part, batches.joined(batch, last))
    rest = () if any(key is Ellipsis for key in keys) else (Ellipsis,)
    return whole[(*keys, *rest, *[slice(None)] * rank)]
