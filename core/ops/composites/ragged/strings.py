"""Joining ragged strings, and ragged tensors as text for `print`."""

from __future__ import annotations

from typing import Any

from pinnace.framework import dtypes
from pinnace.framework.tensor import SymbolicTensor, Tensor
from pinnace.ops.array import gathering, selecting, shapes
from pinnace.ops.composites.ragged.elementwise import elementwise
from pinnace.ops.composites.ragged.shaping import expand_dims
from pinnace.ops.composites.ragged.tensor import RaggedTensor
from pinnace.ops.control import printing
from pinnace.ops.math import comparison, ranges
from pinnace.ops.strings import conversion, joining

__all__ = ["join", "reduce_join", "tf_print"]


def join(inputs: Any, separator: str = "", name: str | None = None) -> Any:
    """Strings of several tensors joined, element by element."""
    return elementwise(lambda *xs: joining.join(list(xs), separator, name), *inputs)


def reduce_join(
    inputs: Any,
    axis: Any = None,
    keepdims: bool = False,
    separator: str = "",
    name: str | None = None,
) -> Any:
    """The strings of each row joined."""
    if axis is None:
        return joining.reduce_join(inputs.flat_values, None, keepdims, separator, name)
    axes = sorted(
        {int(a) % inputs.shape.rank for a in (axis if isinstance(axis, (list, tuple)) else [axis])},
        reverse=True,
    )
    result = inputs
    for one in axes:
        result = _joined(result, one, separator)
        if keepdims:
            result = expand_dims(result, one)
    return result


def _joined(x: Any, axis: int, separator: str) -> Any:
    if not isinstance(x, RaggedTensor):
        return joining.reduce_join(x, axis, separator=separator)
    if axis > 1:
        return x.with_values(_joined(x.values, axis - 1, separator))
    if axis == 1:
        values = x.values
        if isinstance(values, RaggedTensor) or values.shape.rank != 1:
            raise ValueError("reduce_join: rows of single strings are needed to join them")
        # The separator precedes every string but the first of its row; fill values get none.
        first = gathering.gather(x.row_splits[:-1], x.value_rowids())
        own = comparison.equal(first, ranges.range(shapes.size(values, first.dtype)))
        with_separator = joining.join([separator, values])
        led = x.with_values(selecting.where(own, values, with_separator))
        return joining.reduce_join(led.to_tensor(b""), 1)
    raise ValueError("reduce_join: axis must not be 0 for ragged tensors, whose rows differ")


def tf_print(*inputs: Any, **options: Any) -> Any:
    """Ragged tensors printed as lists."""
    shown = [
        x if not isinstance(x, RaggedTensor) else _listed(x, options.get("summarize", 3))
        for x in inputs
    ]
    return printing.tf_print(*shown, **options)


def _listed(x: RaggedTensor, summarize: Any) -> Any:
    """The ragged tensor as a string, with nested brackets around rows."""
    if not isinstance(x.flat_values, SymbolicTensor):
        return str(x.to_list()) if x.dtype is not dtypes.string else repr(x.to_list())
    del summarize
    text: Any = x.with_flat_values(_text(x.flat_values))
    while isinstance(text, RaggedTensor):
        flat = reduce_join(text, text.ragged_rank, separator=", ")
        inner = flat.flat_values if isinstance(flat, RaggedTensor) else flat
        bracketed = joining.join(["[", inner, "]"])
        text = flat.with_flat_values(bracketed) if isinstance(flat, RaggedTensor) else bracketed
    joined = joining.reduce_join(text, 0, separator=", ")
    return joining.join(["[", joined, "]"])


def _text(values: Tensor) -> Tensor:
    if values.shape.rank not in {1, None}:
        raise ValueError("print: only ragged tensors of single values can be printed in a graph")
    return values if values.dtype is dtypes.string else conversion.as_string(values)
