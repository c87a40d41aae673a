"""Floating-point operations of one call of an op, from its attributes and shapes alone.

A multiplication and an addition count as two. An op's counter is its `OpDef.flops`; this file has
the formulas.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

Shapes: TypeAlias = Sequence[tuple[int, ...]]
# Attributes, shapes of the inputs and shapes of the outputs -> floating-point operations.
Count: TypeAlias = Callable[[Mapping[str, Any], Shapes, Shapes], int]

# Per number of a softmax: maximum, difference, exponential, sum and quotient.
SOFTMAX = 5


def none(attrs: Mapping[str, Any], took: Shapes, gave: Shapes) -> int:
    """0 operations: the op only moves numbers."""
    del attrs, took, gave
    return 0


def each(times: int) -> Count:
    """A counter of `times` operations per element of the first input."""

    def count(attrs: Mapping[str, Any], took: Shapes, gave: Shapes) -> int:
        del attrs, gave
        return times * math.prod(took[0])

    return count


def matrices(attrs: Mapping[str, Any], took: Shapes, gave: Shapes) -> int:
    """The operations of a matrix product, single or batched."""
    is_transposed = attrs.get("transpose_a") or attrs.get("adj_x")
    inner: int = took[0][-2 if is_transposed else -1]
    return 2 * math.prod(gave[0]) * inner


def einsum(attrs: Mapping[str, Any], took: Shapes, gave: Shapes) -> int:
    """The operations of a contraction in one step: the product of all axes' sizes."""
    del gave
    terms = str(attrs["equation"]).split("->")[0].replace(" ", "").split(",")
    sizes: dict[str, int] = {}
    for term, shape in zip(terms, took, strict=True):
        ahead, _, behind = term.partition("...")
        ends = (*zip(ahead, shape, strict=False),)
        tail = zip(behind, shape[len(shape) - len(behind) :], strict=True)
        sizes.update((*ends, *tail))
        if "..." in term:
            spread = shape[len(ahead) : len(shape) - len(behind)]
            sizes["..."] = max(sizes.get("...", 1), math.prod(spread))
    return (2 if len(took) > 1 else 1) * math.prod(sizes.values())


def convolution(attrs: Mapping[str, Any], took: Shapes, gave: Shapes) -> int:
    """The operations of a convolution with any spatial axes; the filter is the second input."""
    del attrs
    return 2 * math.prod(gave[0]) * math.prod(took[1][:-1])


def input_gradient(attrs: Mapping[str, Any], took: Shapes, gave: Shapes) -> int:
    """The operations of a convolution's gradient with respect to its input."""
    del attrs, gave
    return 2 * math.prod(took[2]) * math.prod(took[1][:-1])


def filter_gradient(attrs: Mapping[str, Any], took: Shapes, gave: Shapes) -> int:
    """The operations of a convolution's gradient with respect to its filter."""
    del attrs
    return 2 * math.prod(took[2]) * math.prod(gave[0][:-1])


def depthwise(attrs: Mapping[str, Any], took: Shapes, gave: Shapes) -> int:
    """A depthwise convolution."""
    del attrs
    return 2 * math.prod(gave[0]) * math.prod(took[1][:-2])


def depthwise_input_gradient(attrs: Mapping[str, Any], took: Shapes, gave: Shapes) -> int:
    """The operations of a depthwise convolution's gradient with respect to its input."""
    del attrs, gave
    return 2 * math.prod(took[2]) * math.prod(took[1][:-2])


def depthwise_filter_gradient(attrs: Mapping[str, Any], took: Shapes, gave: Shapes) -> int:
    """The operations of a depthwise convolution's gradient with respect to its filter."""
    del attrs
    return 2 * math.prod(took[2]) * math.prod(gave[0][:-2])


def pooling(attrs: Mapping[str, Any], took: Shapes, gave: Shapes) -> int:
    """The operations of pooling: one for each element of each window."""
    del took
    taps: int = math.prod(attrs["ksize"])
    return math.prod(gave[0]) * taps
