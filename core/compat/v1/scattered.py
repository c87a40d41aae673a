"""Version 1's scatter updates: functions that change and return a variable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.ops.array import casting, joining, shapes
from pinnace.ops.array.indicators import meshgrid
from pinnace.ops.math import ranges
from pinnace.ops.state import scatters

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.variable import Variable

__all__ = [
    "batch_scatter_update",
    "scatter_add",
    "scatter_div",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_nd_add",
    "scatter_nd_sub",
    "scatter_nd_update",
    "scatter_sub",
    "scatter_update",
]


def _rows(how: scatters.How, doing: str) -> Callable[..., Variable]:
    def scatter(
        ref: Variable,
        indices: Any,
        updates: Any,
        use_locking: bool = False,
        name: str | None = None,
    ) -> Variable:
        del use_locking
        scatters.scatter(how, ref, indices, updates, name)
        return ref

    scatter.__name__ = scatter.__qualname__ = f"scatter_{how}"
    scatter.__doc__ = f"""{doing} the rows of a variable that `indices` names.

    Args:
        ref: a variable, [n, ...].
        indices: [...], int32 or int64.
        updates: indices.shape + ref.shape[1:], or a scalar.
        use_locking: without effect.
        name: name of the node while tracing.

    Returns:
        The variable.
    """
    return scatter


def _places(how: scatters.How, doing: str) -> Callable[..., Variable]:
    def scatter_nd(
        ref: Variable,
        indices: Any,
        updates: Any,
        use_locking: bool = False,
        name: str | None = None,
    ) -> Variable:
        del use_locking
        scatters.scatter_nd(how, ref, indices, updates, name)
        return ref

    scatter_nd.__name__ = scatter_nd.__qualname__ = f"scatter_nd_{how}"
    scatter_nd.__doc__ = f"""{doing} the parts of a variable that the rows of `indices` name.

    Args:
        ref: a variable.
        indices: [..., k], int32 or int64: each names ref[i, j, ...].
        updates: indices.shape[:-1] + ref.shape[k:].
        use_locking: without effect.
        name: name of the node while tracing.

    Returns:
        The variable.
    """
    return scatter_nd


scatter_update = _rows("update", "Set")
scatter_add = _rows("add", "Add to")
scatter_sub = _rows("sub", "Subtract from")
scatter_mul = _rows("mul", "Multiply")
scatter_div = _rows("div", "Divide")
scatter_min = _rows("min", "Take the lesser of an update and")
scatter_max = _rows("max", "Take the greater of an update and")
scatter_nd_update = _places("update", "Set")
scatter_nd_add = _places("add", "Add to")
scatter_nd_sub = _places("sub", "Subtract from")


def batch_scatter_update(
    ref: Variable, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None
) -> Variable:
    """Set rows of each part of a variable: ref[i, indices[i, j], ...] = updates[i, j, ...].

    Args:
        ref: a variable, [batch, n, ...].
        indices: [batch, k], int32 or int64; any number of batch axes, as many as the variable has
            before the rows.
        updates: [batch, k, ...].
        use_locking: without effect.
        name: name of the node while tracing.

    Returns:
        The variable.
    """
    del use_locking
    at = convert_to_tensor(indices)
    axes = range(len(at.shape))
    places = meshgrid(
        *(ranges.range(casting.cast(shapes.shape(at)[n], at.dtype)) for n in axes), indexing="ij"
    )
    spots = joining.stack([*places[:-1], at], axis=-1)
    scatters.scatter_nd("update", ref, spots, updates, name)
    return ref
