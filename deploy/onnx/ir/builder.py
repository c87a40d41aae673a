"""GraphBuilder: an ONNX graph under construction, with common operator sequences."""

from collections.abc import Sequence

import numpy as np

from pinnace.deploy.onnx.ir.graph import Node, Value
from pinnace.deploy.onnx.ir.inference import SMALL
from pinnace.deploy.onnx.ir.maker import Maker, Number
from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape


class GraphBuilder(Maker):
    """Adds nodes, and common sequences of nodes."""

    def as_int64(self, x: Value) -> Value:
        """`x` as int64."""
        return self.cast(x, dtypes.int64)

    def shape_of(self, x: Value, start: int | None = None, end: int | None = None) -> Value:
        """The shape of `x` as int64; a constant if it is known."""
        if x.shape.rank is not None:
            sizes = list(x.shape)[slice(start, end)]
            if None not in sizes:
                return self.ints(*[int(size) for size in sizes if size is not None])
        return self.op("Shape", x, start=start, end=end)

    def size_of(self, x: Value, axis: int) -> Value:
        """The size of an axis as an int64 vector of one element."""
        size = x.size(axis)
        if size is not None:
            return self.ints(size)
        axis %= x.rank
        return self.op("Shape", x, start=axis, end=axis + 1)

    def joined(self, *parts: Value) -> Value:
        """The concatenation of vectors."""
        return parts[0] if len(parts) == 1 else self.op("Concat", *parts, axis=0)

    def reshape(self, x: Value, sizes: Sequence[int] | Value) -> Value:
        """`x` in another shape; one size may be -1."""
        if not isinstance(sizes, Value):
            if x.shape.is_fully_defined() and list(sizes) == x.shape.as_list():
                return x
            if _keeps_first(x.shape, sizes):
                # 0 copies the size, which keeps its name and may itself be 0.
                return self.op("Reshape", x, self.ints(0, *sizes[1:]))
            sizes = self.ints(*sizes)
        literal = sizes.array is None or (0 in sizes.array and -1 not in sizes.array)
        return self.op("Reshape", x, sizes, allowzero=1 if literal else None)

    def unsqueeze(self, x: Value, *axes: int) -> Value:
        """`x` with new axes of size 1 at these positions of the result."""
        return self.op("Unsqueeze", x, self.ints(*axes)) if axes else x

    def squeeze(self, x: Value, *axes: int) -> Value:
        """`x` without these axes, which must have size 1."""
        return self.op("Squeeze", x, self.ints(*axes)) if axes else x

    def transpose(self, x: Value, perm: Sequence[int]) -> Value:
        """`x` with its axes in another order; `x` itself if the order is the same."""
        if list(perm) == list(range(len(perm))):
            return x
        return self.op("Transpose", x, perm=list(perm))

    def expand(self, x: Value, sizes: Value) -> Value:
        """`x` broadcast to these sizes."""
        if (
            sizes.array is not None
            and x.shape.is_fully_defined()
            and sizes.array.tolist() == x.shape.as_list()
        ):
            return x
        if sizes.array is not None and 0 in sizes.array and x.rank <= sizes.array.size:
            # ONNX Runtime 1.31 drops an Expand to an empty shape.
            empty = np.broadcast_shapes(tuple(sizes.array.tolist()), tuple(1 for _ in x.shape))
            return self.constant(np.zeros(empty, x.dtype.numpy), dtype=x.dtype)
        return self.op("Expand", x, sizes)

    def slice(
        self, x: Value, axis: int, start: int | Value, end: int | Value, step: int = 1
    ) -> Value:
        """x[..., start:end:step, ...] along an axis."""
        first = start if isinstance(start, Value) else self.ints(start)
        last = end if isinstance(end, Value) else self.ints(end)
        return self.op(
            "Slice", x, first, last, self.ints(axis), self.ints(step) if step != 1 else None
        )

    def fill(self, sizes: Value, number: Value) -> Value:
        """A tensor filled with a scalar."""
        if sizes.array is not None and number.array is not None:
            whole = np.full(tuple(sizes.array.tolist()), number.array)
            if whole.nbytes <= SMALL:
                return self.constant(whole, dtype=number.dtype)
        return self.op("Expand", number, sizes)

    def iota(self, count: Value) -> Value:
        """0, 1, ... count - 1 as int64."""
        if count.array is not None:
            return self.constant(np.arange(int(count.array), dtype=np.int64))
        return self.op("Range", self.index(0), count, self.index(1))

    def scalar(self, x: Value) -> Value:
        """A vector of one element as a scalar."""
        return self.squeeze(x, 0)

    def binary(self, kind: str, x: Value, number: Number) -> Value:
        """An operator on `x` and a number of its dtype."""
        return self.op(kind, x, self.like(x, number))

    def concat(self, values: Sequence[Value], axis: int) -> Value:
        """The concatenation of tensors along an axis."""
        return values[0] if len(values) == 1 else self.op("Concat", *values, axis=axis)

    def where(self, condition: Value, x: Value, y: Value) -> Value:
        """`x` where the condition holds, else `y`."""
        return self.op("Where", condition, x, y)


def bodies_of(node: Node) -> list[GraphBuilder]:
    """The graphs among a node's attributes."""
    return [body for body in node.bodies if isinstance(body, GraphBuilder)]


def _keeps_first(shape: Shape, sizes: Sequence[int]) -> bool:
    """Whether a leading -1 must be the size of the first axis."""
    if not sizes or sizes[0] != -1 or not shape.rank or shape[0] is not None:
        return False
    rest = shape[1:].num_elements()
    return rest is not None and rest > 0 and rest == int(np.prod(sizes[1:]))
