"""Values during the translation of a module: unbroadcast tensors, and sizes.

Half of a module's ops are broadcasts and arithmetic on sizes. An `Operand` keeps the tensor before
broadcasting and its full shape, so that elementwise ops can rely on NumPy's rules; integers that
are sizes are tracked as such, so that known sizes remain numbers.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.context import state
from pinnace.ops import registry
from pinnace.ops.array.constants import constant as constant_of
from pinnace.ops.execute import execute, execute_one
from pinnace.saved_model.stablehlo.lowering.origins import inputs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array, Tensor

_numbers = itertools.count()
# The depth to which sizes may be computed from sizes.
_MOST_DEPTH = 16
_MOST_INT32 = (1 << 31) - 1


def op(name: str, *arguments: Any, **attrs: Any) -> Tensor:
    """Return the output of a new node with that TensorFlow op."""
    return execute_one(registry.lookup(name), *arguments, **attrs)


def ops(name: str, *arguments: Any, **attrs: Any) -> tuple[Tensor, ...]:
    """Return the outputs of a new node with that TensorFlow op, however many."""
    return execute(registry.lookup(name), *arguments, **attrs) or ()


def constant(value: Any, dtype: DType) -> Tensor:
    """A constant of that dtype."""
    array = np.asarray(value)
    return constant_of(array.astype(dtype.as_numpy_dtype), dtype)


def _made_here(made: dict[Any, Tensor]) -> Tensor | None:
    """The tensor that was created in the current graph, or in an enclosing one; else None."""
    tracer: Any = state.tracer
    while tracer is not None:
        if tracer in made:
            return made[tracer]
        tracer = tracer.outer
    return None


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Suspend the caller's tracing, gradient tapes, name scope and conversion."""
    saved = state.tracer, state.tapes, state.scope, state.convert
    state.tracer, state.tapes, state.scope, state.convert = None, (), "", None
    try:
        yield
    finally:
        state.tracer, state.tapes, state.scope, state.convert = saved


class Size:
    """A size that is known only at run time.

    Args:
        make: computes it as an int32 scalar.
        *parts: the sizes from which it is computed.

    Two sizes are equal only if they are the same object; arithmetic on the same sizes returns the
    same object (`sizes.combined`).

    Attributes:
        bounds: its minimum and maximum; None if unknown.
    """

    __slots__ = ("_base", "_made", "_make", "bounds", "depth", "number", "offset")

    def __init__(self, make: Callable[[], Tensor], *parts: Dim) -> None:
        self.number = next(_numbers)
        self.depth: int = 1 + max((one.depth for one in parts if isinstance(one, Size)), default=0)
        self._make = make
        self._made: dict[Any, Tensor] = {}
        self._base: Size | None = None
        self.offset = 0
        self.bounds: tuple[int, int] | None = None
        if self.depth % _MOST_DEPTH == 0:
            _ = self.tensor  # now, so that values derived later need existing values only

    def beyond(self, base: Size, offset: int) -> Size:
        """Record that it equals another size plus a number."""
        self._base, self.offset = base, offset
        return self

    @property
    def base(self) -> Size:
        """The size that equals it with `offset` added."""
        return self if self._base is None else self._base

    @property
    def tensor(self) -> Tensor:
        """The size as an int32 scalar of the current graph."""
        made = _made_here(self._made)
        if made is None:
            made = self._made[state.tracer] = self._make()
        return made


Dim: TypeAlias = "int | Size"


def size_tensor(dim: Dim) -> Tensor:
    """A size as an int32 scalar."""
    return dim.tensor if isinstance(dim, Size) else constant(dim, dtypes.int32)


def shape_tensor(shape: Sequence[Dim]) -> Tensor:
    """A shape as a vector."""
    if all(isinstance(n, int) for n in shape):
        wide = any(isinstance(n, int) and n > _MOST_INT32 for n in shape)
        return constant(np.array(shape, np.int64), dtypes.int64 if wide else dtypes.int32)
    return op("Pack", [size_tensor(n) for n in shape])


def dims_of(tensor: Tensor) -> tuple[Dim, ...]:
    """The shape of a tensor, with sizes for unknown axes."""

    def dim(axis: int, known: int | None) -> Dim:
        return known if known is not None else Size(lambda: op("Shape", tensor)[axis])

    return tuple(dim(axis, known) for axis, known in enumerate(tensor.shape))


def count_of(shape: Sequence[Dim]) -> int | None:
    """The number of elements of a shape, None if unknown."""
    sizes = [n for n in shape if isinstance(n, int)]
    return math.prod(sizes) if len(sizes) == len(shape) else None


def reshaped(x: Tensor, shape: Sequence[Dim]) -> Tensor:
    """A reshaped tensor; a single unknown size is -1 and need not be computed."""
    source = inputs_of(x, "Reshape") or inputs_of(x, "Squeeze")
    x = x if source is None else source[0]
    if _is_of_shape(x, shape):
        return x
    unknown = [n for n in shape if not isinstance(n, int)]
    if len(unknown) == 1 and 0 not in shape:
        sizes = [n if isinstance(n, int) else -1 for n in shape]
        return op("Reshape", x, constant(sizes, dtypes.int32))
    return op("Reshape", x, shape_tensor(shape))


def _is_of_shape(x: Tensor, shape: Sequence[Dim]) -> bool:
    """Whether a tensor with this number of elements has the shape: one size may be unknown."""
    if len(x.shape) != len(shape) or 0 in shape or -1 in shape:
        return False
    known = [(n, m) for n, m in zip(x.shape, shape, strict=True) if n is not None]
    return len(known) >= len(shape) - 1 and all(n == m for n, m in known)


class Operand:
    """A value of the module.

    Args:
        tensor: the value, or what NumPy's rules broadcast to it.
        shape: the full shape.
        spread: the axes along which the tensor may have size 1, or which it may lack.

    Attributes:
        shape: the full shape.
        known: its elements as sizes, for an integer scalar or a short list of integers.
    """

    __slots__ = ("_dtype", "_full", "_tensor", "known", "shape", "spread")

    def __init__(
        self,
        tensor: Tensor | None,
        shape: Sequence[Dim],
        spread: frozenset[int] = frozenset(),
        known: Array | None = None,
        dtype: DType | None = None,
    ) -> None:
        self._tensor = tensor
        self._dtype = dtype
        self._full: dict[Any, Tensor] = {}
        self.shape = tuple(shape)
        self.spread = spread
        self.known = known

    @staticmethod
    def of(tensor: Tensor) -> Operand:
        """An operand of a tensor."""
        return Operand(tensor, dims_of(tensor))

    @staticmethod
    def of_sizes(known: Array, dtype: DType) -> Operand:
        """An operand of integers that are known sizes."""
        return Operand(None, known.shape, known=known, dtype=dtype)

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def dtype(self) -> DType:
        """The type of its elements."""
        return self._dtype if self._tensor is None else self._tensor.dtype  # type: ignore[return-value]

    @property
    def small(self) -> Tensor:
        """The tensor before broadcasting."""
        if self._tensor is not None:
            return self._tensor
        made = _made_here(self._full)
        if made is None:
            made = self._full[state.tracer] = self._from_sizes()
        return made

    @property
    def full(self) -> Tensor:
        """The broadcast tensor."""
        small = self.small
        is_whole = len(small.shape) == len(self.shape)
        if is_whole and all(self.shape[axis] == 1 for axis in self.spread):
            return small
        made = _made_here(self._full)
        if made is None:
            made = op("BroadcastTo", small, shape_tensor(self.shape))
            self._full[state.tracer] = made
        return made

    @property
    def is_uniform(self) -> bool:
        """Whether it is a broadcast scalar."""
        return self._tensor is not None and len(self._tensor.shape) == 0

    @property
    def row(self) -> Operand:
        """The operand without its first axis, which has size 1."""
        lacks = len(self.small.shape) < self.rank
        tensor = self.small if lacks else op("Squeeze", self.small, squeeze_dims=(0,))
        return Operand(tensor, self.shape[1:], frozenset(n - 1 for n in self.spread if n))

    def like(self, tensor: Tensor) -> Operand:
        """The operand of a tensor that an elementwise op computes from `small`."""
        return Operand(tensor, self.shape, self.spread)

    def _from_sizes(self) -> Tensor:
        known = self.known
        assert known is not None  # noqa: S101 (there is no tensor)
        flat = list(known.ravel())
        if all(isinstance(n, int) for n in flat):
            return constant(np.array(flat, np.int64).reshape(known.shape), self.dtype)
        if known.ndim == 0:
            tensor = size_tensor(flat[0])
        else:
            tensor = op("Pack", [size_tensor(n) for n in flat])
            if known.ndim > 1:
                tensor = op("Reshape", tensor, list(known.shape))
        return tensor if self.dtype is dtypes.int32 else op("Cast", tensor, DstT=self.dtype)


class Rows(Operand):
    """A tensor that a loop writes row by row.

    Args:
        handle: a list of tensors, in the order of the iterations.
        shape: the shape of all rows.
        iteration: the number of the current iteration.
    """

    __slots__ = ("_iteration",)

    def __init__(self, handle: Tensor, shape: Sequence[Dim], iteration: Dim) -> None:
        super().__init__(handle, shape)
        self._iteration = iteration

    @property
    def full(self) -> Tensor:
        """The list."""
        return self.small

    def with_row(self, update: Operand) -> Rows:
        """The list with the row of this iteration added."""
        row, place = update.row.full, size_tensor(self._iteration)
        handle = op("TensorListSetItem", self.small, place, row)
        return Rows(handle, self.shape, self._iteration)
