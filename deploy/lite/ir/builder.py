"""GraphBuilder: adds operators to a subgraph for the converters."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.deploy.lite.ir.model import Operator, Subgraph, Tensor
from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType, as_dtype
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape, broadcast_shapes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pinnace.framework.tensor import Array

# Types that CPU kernels do not compute in; float32 stands for them.
_CARRIED = {
    dtypes.float16: dtypes.float32,
    dtypes.bfloat16: dtypes.float32,
    dtypes.float64: dtypes.float32,
}
# The prefix that SavedModels put before every name.
_PREFIX = "StatefulPartitionedCall/"
# Constants up to this many bytes are shared with equal ones.
_SMALL = 256


def carried(dtype: DType) -> DType:
    """The element type in which values of a type are computed."""
    return _CARRIED.get(dtype, dtype)


class GraphBuilder:
    """A subgraph under construction.

    Args:
        name: the subgraph's name.

    Attributes:
        subgraph: the subgraph so far.
    """

    def __init__(self, name: str) -> None:
        self.subgraph = Subgraph(name)
        self._scope = ""
        self._constants: dict[object, Tensor] = {}

    @contextlib.contextmanager
    def scope(self, name: str) -> Iterator[None]:
        """Set the node that operators added in this block originate from."""
        before, self._scope = self._scope, name.removeprefix(_PREFIX)
        try:
            yield
        finally:
            self._scope = before

    def input(self, name: str, dtype: DType, shape: Shape) -> Tensor:
        """A new argument of the subgraph."""
        tensor = Tensor(name, dtype, shape)
        self.subgraph.inputs.append(tensor)
        return tensor

    def constant(self, data: Any, dtype: DType | None = None, name: str = "") -> Tensor:
        """A constant in the element type that computes its type.

        Args:
            data: the elements.
            dtype: its type; None takes that of the array.
            name: its name; an empty one takes that of the node.
        """
        array = np.asarray(data)
        kind = carried(as_dtype(array.dtype) if dtype is None else dtype)
        if array.dtype != kind.numpy and kind is not dtypes.string:
            array = array.astype(kind.numpy)
        key = None
        if array.nbytes <= _SMALL and array.dtype != object:
            key = (kind, array.shape, array.tobytes())
            if key in self._constants:
                return self._constants[key]
        made = Tensor(name or f"{self._scope}/const", kind, Shape.of(array.shape), array)
        if key is not None:
            self._constants[key] = made
        return made

    def ints(self, numbers: Sequence[int] | Array | int) -> Tensor:
        """An int32 constant, for axes, sizes and the like."""
        return self.constant(np.asarray(numbers, np.int32), dtypes.int32)

    def like(self, x: Tensor, number: float) -> Tensor:
        """A scalar of the element type of `x`."""
        return self.constant(np.asarray(number, x.dtype.numpy), x.dtype)

    def op(
        self,
        kind: str,
        *inputs: Tensor | None,
        dtype: DType | None = None,
        shape: Shape | Sequence[int | None] | None = None,
        **options: Any,
    ) -> Tensor:
        """Add an operator with one output, and return the output.

        Args:
            kind: the built-in operator.
            inputs: its inputs; None for one that is left out.
            dtype: the output's dtype; None takes that of the first input.
            shape: the output's shape; None takes the shape that all inputs broadcast to.
            options: the fields of its options table.
        """
        given = [x for x in inputs if x is not None]
        form = broadcast(*given) if shape is None else Shape(shape)
        out = given[0].dtype if dtype is None else carried(dtype)
        (made,) = self.ops(kind, inputs, [(out, form)], **options)
        return made

    def ops(
        self,
        kind: str,
        inputs: Sequence[Tensor | None],
        outputs: Sequence[tuple[DType, Shape]],
        **options: Any,
    ) -> list[Tensor]:
        """Add an operator, and return its outputs.

        Args:
            kind: the built-in operator.
            inputs: its inputs; None for one that is left out.
            outputs: type and shape of each output.
            options: the fields of its options table.
        """
        made = [Tensor(self._scope or kind, dtype, shape) for dtype, shape in outputs]
        self.subgraph.operators.append(
            Operator(kind, list(inputs), made, dict(options), self._scope)
        )
        return made

    def custom(
        self,
        name: str,
        payload: bytes,
        inputs: Sequence[Tensor],
        outputs: Sequence[tuple[DType, Shape]],
    ) -> list[Tensor]:
        """Add an operator that is not built in, and return its outputs."""
        made = [Tensor(self._scope or name, dtype, shape) for dtype, shape in outputs]
        self.subgraph.operators.append(
            Operator("CUSTOM", list(inputs), made, {}, self._scope, name, payload)
        )
        return made

    def cast(self, x: Tensor, dtype: DType) -> Tensor:
        """`x` cast to another element type."""
        if x.dtype is dtype:
            return x
        if x.data is not None:
            with np.errstate(all="ignore"):
                return self.constant(x.data.astype(dtype.numpy), dtype)
        (made,) = self.ops(
            "CAST",
            [x],
            [(dtype, x.shape)],
            in_data_type=_code(x.dtype),
            out_data_type=_code(dtype),
        )
        return made

    def reshape(self, x: Tensor, sizes: Sequence[int | None] | Tensor, shape: Any = None) -> Tensor:
        """`x` in another shape.

        Args:
            x: any tensor.
            sizes: the result's sizes, at most one of them unknown; or an int32 tensor.
            shape: the result's shape if `sizes` is a tensor.
        """
        if isinstance(sizes, Tensor):
            return self.op("RESHAPE", x, sizes, dtype=x.dtype, shape=Shape(shape))
        wanted = [-1 if n is None else int(n) for n in sizes]
        if x.shape == Shape(sizes) and wanted.count(-1) <= 1 and -1 not in wanted:
            return x
        form = _completed(x.shape, wanted)
        if x.data is not None:
            return self.constant(x.data.reshape(wanted), x.dtype, x.name)
        return self.op("RESHAPE", x, self.ints(wanted), shape=form, new_shape=wanted)

    def transpose(self, x: Tensor, order: Sequence[int]) -> Tensor:
        """`x` with its axes in another order."""
        if list(order) == list(range(len(order))):
            return x
        if x.data is not None:
            return self.constant(np.transpose(x.data, order), x.dtype, x.name)
        form = None if x.rank is None else [x.shape[axis] for axis in order]
        return self.op("TRANSPOSE", x, self.ints(list(order)), shape=Shape(form))

    def sizes(self, x: Tensor) -> Tensor:
        """The shape of `x` as an int32 tensor."""
        if x.shape.is_fully_defined():
            return self.ints([n or 0 for n in x.shape])
        return self.op("SHAPE", x, dtype=dtypes.int32, shape=[x.rank], out_type=_code(dtypes.int32))

    def copied(self, x: Tensor) -> Tensor:
        """A copy of `x`; its sizes are computed if two or more are unknown."""
        known = [] if x.rank is None else list(x.shape)
        if known.count(None) == 1 and 0 not in known:
            sizes = self.ints([-1 if n is None else n for n in known])
        else:
            sizes = self.sizes(x)
        (found,) = self.ops("RESHAPE", [x, sizes], [(x.dtype, x.shape)])
        return found

    def size(self, x: Tensor, axis: int) -> int | Tensor:
        """The size of an axis: an int, or an int32 scalar tensor if it is unknown."""
        known = x.shape[axis]
        if known is not None:
            return int(known)
        begin, one = self.ints([axis % (x.rank or 1)]), self.ints([1])
        picked = self.op("SLICE", self.sizes(x), begin, one, shape=[1])
        return self.reshape(picked, [])

    def packed(self, sizes: Sequence[int | Tensor]) -> Tensor:
        """Sizes, ints or scalar tensors, as one int32 vector."""
        if all(isinstance(n, int) for n in sizes):
            return self.ints([int(n) for n in sizes if isinstance(n, int)])
        parts = [self.ints(n) if isinstance(n, int) else n for n in sizes]
        (made,) = self.ops(
            "PACK", parts, [(dtypes.int32, Shape([len(parts)]))], values_count=len(parts), axis=0
        )
        return made

    def reshape_to(self, x: Tensor, sizes: Sequence[int | Tensor]) -> Tensor:
        """`x` in a shape whose sizes may be scalar tensors."""
        unknown = [i for i, n in enumerate(sizes) if not isinstance(n, int)]
        known: list[int | None] = [n if isinstance(n, int) else None for n in sizes]
        if len(unknown) <= 1 and 0 not in known:
            return self.reshape(x, known)
        return self.reshape(x, self.packed(sizes), known)


def _code(dtype: DType) -> int:
    from pinnace.deploy.lite.ir.kinds import TYPES

    return TYPES[dtype]


def _completed(shape: Shape, wanted: list[int]) -> Shape:
    """The shape after a reshape with sizes that may contain -1."""
    if -1 not in wanted:
        return Shape(wanted)
    total = shape.num_elements() if shape.is_fully_defined() else None
    rest = int(np.prod([n for n in wanted if n != -1]))
    free = total // rest if total is not None and rest else None
    return Shape([free if n == -1 else n for n in wanted])


def broadcast(*tensors: Tensor) -> Shape:
    """The shape that all tensors broadcast to; unknown if they do not."""
    found = tensors[0].shape
    for tensor in tensors[1:]:
        try:
            found = broadcast_shapes(found, tensor.shape)
        except (InvalidArgumentError, ValueError):
            return Shape(None)
    return found
