"""Joining ragged strings, and ragged tensors as text for `print`."""

from __future__ import annotations

from functools import partial
from typing import Any

from pinnace.framework import dtypes
from pinnace.framework.tensor import SymbolicTensor, Tensor
from pinnace.ops.array import constants
from pinnace.ops.composites.ragged.elementwise import elementwise
from pinnace.ops.composites.ragged.reduction import over_one
from pinnace.ops.composites.ragged.shaping import expand_dims
from pinnace.ops.composites.ragged.tensor import RaggedTensor
from pinnace.ops.strings import conversion, joining, patterns

__all__ = ["join", "listed_rows", "reduce_join"]


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
    dense = partial(joining.reduce_join, separator=separator)
    over = partial(joining.unsorted_segment_join, separator=separator)
    result = inputs
    for one in axes:
        result = over_one(result, one, dense, over)
        if keepdims:
            result = expand_dims(result, one)
    return result


def listed_rows(x: RaggedTensor, summarize: int) -> Tensor:
    """A ragged tensor as text: brackets around rows, `...` where a row has too many elements.

    Args:
        x: the ragged tensor.
        summarize: how many elements from either end of a row; all if -1, and while tracing.

    Source:
        TensorFlow `ragged_tensor_to_string` (ragged_string_ops.py).
    """
    texts = x.with_flat_values(_text(x.flat_values))
    if not isinstance(texts.flat_values, SymbolicTensor):
        return constants.constant(_bracketed(texts.to_list(), summarize))
    text: Any = texts.with_flat_values(_rows(texts.flat_values))
    while isinstance(text, RaggedTensor):
        flat = reduce_join(text, text.ragged_rank, separator=", ")
        inner = flat.flat_values if isinstance(flat, RaggedTensor) else flat
        bracketed = joining.join(["[", inner, "]"])
        text = flat.with_flat_values(bracketed) if isinstance(flat, RaggedTensor) else bracketed
    joined = joining.reduce_join(text, 0, separator=", ")
    return joining.join(["[", joined, "]"])


def _bracketed(found: Any, summarize: int) -> bytes:
    if not isinstance(found, list):
        return bytes(found)
    parts = [_bracketed(part, summarize) for part in found]
    if 0 <= 2 * summarize < len(parts):
        parts[summarize : len(parts) - summarize] = [b"..."]
    return b"[" + b", ".join(parts) + b"]"


def _rows(values: Tensor) -> Tensor:
    """[n] texts of [n, ...], whose inner axes are uniform."""
    if values.shape.rank is None:
        raise ValueError("print: a ragged tensor needs a known rank to be printed in a graph")
    for _ in range(values.shape.rank - 1):
        values = joining.join(["[", joining.reduce_join(values, -1, separator=", "), "]"])
    return values


def _text(values: Tensor) -> Tensor:
    """Each value as text; strings in quotes."""
    if values.dtype is not dtypes.string:
        return conversion.as_string(values)
    return joining.join(["'", patterns.regex_replace(values, r"(['\\])", r"\\\1"), "'"])
