"""Projections of attention layers, and Einstein sums between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras.layers.einsum_dense import EinsumDense

if TYPE_CHECKING:
    from collections.abc import Sequence


def projection_of(
    layer: Any, name: str, equation: str, sizes: Sequence[Any], bias_axes: str, shape: Any
) -> EinsumDense:
    """A built projection of an attention layer, with the options of the layer's projections."""
    made = EinsumDense(
        equation,
        sizes,
        bias_axes=bias_axes if layer.use_bias else None,
        activation="sigmoid" if name == "gate" else None,
        name=name,
        **layer._get_common_kwargs_for_sublayer(),
    )
    made.build_inside(shape)
    return made


def projection_options(layer: Any) -> dict[str, Any]:
    """The common arguments of an attention layer's projections."""
    return {
        "kernel_regularizer": layer.kernel_regularizer,
        "bias_regularizer": layer.bias_regularizer,
        "activity_regularizer": layer.activity_regularizer,
        "kernel_constraint": layer.kernel_constraint,
        "bias_constraint": layer.bias_constraint,
        "dtype": layer.dtype_policy,
        "kernel_initializer": _of_same_kind(layer.kernel_initializer),
        "bias_initializer": _of_same_kind(layer.bias_initializer),
    }


def _of_same_kind(initializer: Any) -> Any:
    """A copy of the initializer, which draws other values unless it has a seed."""
    return initializer.clone() if hasattr(initializer, "clone") else initializer


def equations(rank: int, steps: Sequence[int]) -> tuple[str, str]:
    """The Einstein sums of the scores from key and query, and of the result from scores and value.

    All operands are [batch, axes, heads, size]; attention is along the axes `steps`.
    """
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    query = [next(letters) for _ in range(rank + 1)]
    key = [next(letters) if axis in steps else query[axis] for axis in range(rank)] + [query[-1]]
    value = [*key[:-1], next(letters)]
    others = [query[axis] for axis in range(rank - 1) if axis not in steps]
    head = query[rank - 1]
    scores = [*others, head, *(query[a] for a in steps), *(key[a] for a in steps)]
    result = [*query[:-1], value[-1]]
    join = "".join
    return (
        f"{join(key)},{join(query)}->{join(scores)}",
        f"{join(scores)},{join(value)}->{join(result)}",
    )
