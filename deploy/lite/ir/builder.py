"""GraphBuilder: how converters add operators to a subgraph."""

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

# What no operator computes with on a CPU is computed in float32.
_CARRIED = {
    dtypes.float16: dtypes.float32,
    dtypes.bfloat16: dtypes.float32,
    dtypes.float64: dtypes.float32,
}
# What SavedModels have before every name.
_PREFIX = "StatefulPartitionedCall/"
# A constant up to this many bytes is looked for among those there are.
_SMALL = 256


def carried(dtype: DType) -> DType:
    """The element type in which values of another are computed."""
    return _CARRIED.get(dtype, dtype)


class GraphBuilder:
    """A subgraph under construction.

    Args:
        name: of the subgraph.

    Attributes:
        subgraph: as it is now.
    """

    def __init__(self, name: str) -> None:
        self.subgraph = Subgraph(name)
        self._scope = ""
        self._constants: dict[object, Tensor] = {}

    @contextlib.contextmanager
    def scope(self, name: str) -> Iterator[None]:
        """Operators that are added inside were made of this node."""
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
        """A constant, in the element type that values of its own are computed in.

        Args:
            data: the numbers.
            dtype: None is that of the array.
            name: None takes that of the node.
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
        """A constant of int32: axes, sizes and the like."""
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
        """The output of a new operator that has one.

        Args:
            kind: the built-in operator.
            inputs: what it takes; None is left out.
            dtype: of the output; None is that of the first input.
            shape: of the output; None is that to which all inputs broadcast.
            options: fields of its options.
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
        """The outputs of a new operator.

        Args:
            kind: the built-in operator.
            inputs: what it takes; None is left out.
            outputs: type and shape of each.
            options: fields of its options.
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
        """The outputs of a new operator that is not built in."""
        made = [Tensor(self._scope or name, dtype, shape) for dtype, shape in outputs]
        self.subgraph.operators.append(
            Operator("CUSTOM", list(inputs), made, {}, self._scope, name, payload)
        )
        return made

    def cast(self, x: Tensor, dtype: DType) -> Tensor:
        """`x` in another element type."""
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
        """`x` with other sizes.

        Args:
            x: any tensor.
            sizes: at most one unknown; or a tensor of int32.
            shape: of the result, if `sizes` is a tensor.
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
        """The sizes of its axes, int32."""
        if x.shape.is_fully_defined():
            return self.ints([n or 0 for n in x.shape])
        return self.op("SHAPE", x, dtype=dtypes.int32, shape=[x.rank], out_type=_code(dtypes.int32))

    def copied(self, x: Tensor) -> Tensor:
        """The same numbers as a tensor of its own; its sizes are computed where two are unknown."""
        known = [] if x.rank is None else list(x.shape)
        if known.count(None) == 1 and 0 not in known:
            sizes = self.ints([-1 if n is None else n for n in known])
        else:
            sizes = self.sizes(x)
        (found,) = self.ops("RESHAPE", [x, sizes], [(x.dtype, x.shape)])
        return found

    def size(self, x: Tensor, axis: int) -> int | Tensor:
        """The size of an axis: a number, or a tensor of no axes if it is unknown."""
        known = x.shape[axis]
        if known is not None:
            return int(known)
        begin, one = self.ints([axis % (x.rank or 1)]), self.ints([1])
        picked = self.op("SLICE", self.sizes(x), begin, one, shape=[1])
        return self.reshape(picked, [])

    def packed(self, sizes: Sequence[int | Tensor]) -> Tensor:
        """Sizes, numbers or tensors of no axes, as one vector of int32."""
        if all(isinstance(n, int) for n in sizes):
            return self.ints([int(n) for n in sizes if isinstance(n, int)])
        parts = [self.ints(n) if isinstance(n, int) else n for n in sizes]
        (made,) = self.ops(
            "PACK", parts, [(dtypes.int32, Shape([len(parts)]))], values_count=len(parts), axis=0
        )
        return made

    def reshape_to(self, x: Tensor, sizes: Sequence[int | Tensor]) -> Tensor:
        """`x` with sizes that may be tensors."""
        unknown = [i for i, n in enumerate(sizes) if not isinstance(n, int)]
        known: list[int | None] = [n if isinstance(n, int) else None for n in sizes]
        if len(unknown) <= 1 and 0 not in known:
            return self.reshape(x, known)
        return self.reshape(x, self.packed(sizes), known)


def _code(dtype: DType) -> int:
    from pinnace.deploy.lite.ir.kinds import TYPES

    return TYPES[dtype]


def _completed(shape: Shape, wanted: list[int]) -> Shape:
    """The shape after a reshape in which -1 is the rest."""
    if -1 not in wanted:
        return Shape(wanted)
    total = shape.num_elements() if shape.is_fully_defined() else None
    rest = int(np.prod([n for n in wanted if n != -1]))
    free = total // rest if total is not None and rest else None
    return Shape([free if n == -1 else n for n in wanted])


def broadcast(*tensors: Tensor) -> Shape:
    """The shape to which all broadcast; unknown where they do not."""
    found = tensors[0].shape
    for tensor in tensors[1:]:
        try:
            found = broadcast_shapes(found, tensor.shape)
        except (InvalidArgumentError, ValueError):
            return Shape(None)
    return found
