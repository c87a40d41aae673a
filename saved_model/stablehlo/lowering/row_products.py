"""Products of rows with weights before a loop that reads one row per iteration.

Keras on JAX multiplies the inputs of a recurrent layer by its weights before the loop. With small
weights that takes longer than a product in each iteration, as in the loops of TensorFlow: the
result is larger than a cache, and is written, transposed and read again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from pinnace.framework import dtypes
from pinnace.saved_model.stablehlo.lowering.operands import Operand, dims_of, op, reshaped
from pinnace.saved_model.stablehlo.lowering.origins import inputs_of, node_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor
    from pinnace.saved_model.stablehlo.lowering.operands import Dim

# Bytes of weights that stay in a cache between iterations.
_MOST_HELD = 1 << 16
_FLOATS = frozenset({dtypes.float32, dtypes.float64})


class RowProduct(NamedTuple):
    """x @ weights + bias.

    Attributes:
        x: [rows, columns, channels].
        weights: [channels, results].
        bias: [results], or None.
    """

    x: Tensor
    weights: Tensor
    bias: Tensor | None

    @property
    def widens(self) -> bool:
        """Whether the result is larger than x."""
        channels, results = self.weights.shape
        return channels is not None and results is not None and channels < results

    @property
    def is_held(self) -> bool:
        """Whether a loop should multiply row by row instead."""
        size = math.prod(n or 0 for n in self.weights.shape)
        return self.widens and 0 < size * self.weights.dtype.size <= _MOST_HELD

    def of(self, x: Tensor) -> Tensor:
        """The product of other rows."""
        flat = reshaped(x, [*self._whole(x), *dims_of(self.weights)[:1]])
        found = op("MatMul", flat, self.weights, transpose_a=False, transpose_b=False)
        found = reshaped(found, [*dims_of(x)[:-1], *dims_of(self.weights)[1:]])
        return found if self.bias is None else op("AddV2", found, self.bias)

    @staticmethod
    def _whole(x: Tensor) -> list[Dim]:
        known = [n for n in x.shape[:-1] if n is not None]
        return [math.prod(known) if len(known) == len(x.shape) - 1 else -1]


def product_of(tensor: Tensor) -> RowProduct | None:
    """Return the factors of a tensor that is a product of rows with weights, else None."""
    bias: Tensor | None = None
    terms = inputs_of(tensor, "AddV2")
    if terms is not None:
        for one, other in (terms, terms[::-1]):
            if len(one.shape) == 3 and len(other.shape) == 1:
                tensor, bias = one, other
                break
    shaped = inputs_of(tensor, "Reshape")
    factors = None if shaped is None else inputs_of(shaped[0], "MatMul")
    flat = None if factors is None else inputs_of(factors[0], "Reshape")
    if shaped is None or factors is None or flat is None or tensor.dtype not in _FLOATS:
        return None
    node, x, weights = node_of(shaped[0]), flat[0], factors[1]
    if node is None or node.attrs["transpose_a"] or node.attrs["transpose_b"]:
        return None
    if not len(x.shape) == len(tensor.shape) == 3 or x.shape[2] != weights.shape[0]:
        return None
    # The rows of the matrix are those of x, in order, one after the other.
    if x.shape[2] is None or list(x.shape[:2]) != list(tensor.shape[:2]):
        return None
    return RowProduct(x, weights, bias) if list(x.shape).count(None) < 2 else None


class ProductRows(Operand):
    """The product of all rows, of which an iteration reads one.

    Args:
        product: the product before the loop.
        x: the rows that are multiplied, in the loop's graph.
        shape: the product's shape.
    """

    __slots__ = ("_of",)

    def __init__(self, product: RowProduct, x: Tensor, shape: Sequence[Dim]) -> None:
        super().__init__(x, shape)
        self._of = product

    @property
    def full(self) -> Tensor:
        """The product of all rows."""
        return self._of.of(self.small)

    def row_at(self, place: Tensor) -> Tensor:
        """The product of one row."""
        found = op("MatMul", self.small[place], self._of.weights)
        return found if self._of.bias is None else op("AddV2", found, self._of.bias)
