"""Partially known shapes: unknown rank, unknown axes, broadcasting, merging."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, TypeAlias, overload

from pinnace.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Dims: TypeAlias = "tuple[int | None, ...] | None"
ShapeLike: TypeAlias = "Shape | int | Iterable[int | None] | None"


class Shape:
    """The sizes of a tensor's axes, as far as known.

    Args:
        dims: None for an unknown rank, an int for a vector, or the sizes in order, None for each
            unknown one.

    Raises:
        ValueError: a size is negative.
        TypeError: a size is no integer.

    Shapes never change, and equal tuples and lists compare equal to them. Two unknown axes compare
    equal: `==` asks whether the same is known, `is_compatible_with` whether the shapes may be the
        same.
    """

    __slots__ = ("_dims",)

    _dims: Dims

    def __init__(self, dims: ShapeLike = None) -> None:
        if dims is None:
            self._dims = None
        elif isinstance(dims, Shape):
            self._dims = dims._dims
        elif hasattr(dims, "__iter__") and getattr(dims, "ndim", 1) != 0:
            self._dims = tuple([_size(n) for n in dims])
        else:  # also an array or tensor without axes, which has __iter__ and is a number
            self._dims = (_size(dims),)

    @staticmethod
    def of(dims: tuple[int | None, ...]) -> Shape:
        """The shape with these sizes, without checks: for `array.shape`."""
        shape = _new(Shape)
        shape._dims = dims
        return shape

    @property
    def dims(self) -> Dims:
        """The sizes, None for an unknown one; None if the rank is unknown."""
        return self._dims

    @property
    def rank(self) -> int | None:
        """The number of axes, None if it is unknown."""
        return None if self._dims is None else len(self._dims)

    @property
    def ndims(self) -> int | None:
        """An older name of `rank`."""
        return None if self._dims is None else len(self._dims)

    @property
    def text(self) -> str:
        """The shape in a message: `[?, 3]`, `[...]` for an unknown rank."""
        if self._dims is None:
            return "[...]"
        return f"[{', '.join('?' if n is None else str(n) for n in self._dims)}]"

    def is_fully_defined(self) -> bool:
        """Whether every size is known."""
        return self._dims is not None and None not in self._dims

    def as_list(self) -> list[int | None]:
        """The sizes as a list.

        Raises:
            ValueError: the rank is unknown.
        """
        return list(self._known("as_list()"))

    def num_elements(self) -> int | None:
        """The product of the sizes, None if one is unknown."""
        if self._dims is None:
            return None
        count = 1
        for n in self._dims:
            if n is None:
                return None
            count *= n
        return count

    def concatenate(self, other: ShapeLike) -> Shape:
        """The axes of this shape, then those of `other`; unknown if either rank is."""
        other = as_shape(other)
        if self._dims is None or other._dims is None:
            return UNKNOWN
        return Shape.of(self._dims + other._dims)

    def merge_with(self, other: ShapeLike) -> Shape:
        """The shape that combines what both shapes of one tensor specify.

        Raises:
            ValueError: the shapes contradict each other in rank or sizes.
        """
        other = as_shape(other)
        if self._dims is None:
            return other
        if other._dims is None:
            return self
        if self._dims == other._dims:
            return self
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self.text} and {other.text} are not compatible")
        return Shape.of(
            tuple([b if a is None else a for a, b in zip(self._dims, other._dims, strict=True)])
        )

    def is_compatible_with(self, other: ShapeLike) -> bool:
        """Whether a tensor could have both shapes."""
        mine, theirs = self._dims, as_shape(other)._dims
        if mine is None or theirs is None or mine == theirs:
            return True
        return len(mine) == len(theirs) and all(
            a == b or a is None or b is None for a, b in zip(mine, theirs, strict=True)
        )

    def takes(self, sizes: tuple[int, ...]) -> bool:
        """Whether an array with these sizes matches this shape."""
        mine = self._dims
        if mine is None or mine == sizes:
            return True
        if len(mine) != len(sizes):
            return False
        for wanted, size in zip(mine, sizes, strict=True):  # a generator takes twice as long
            if wanted is not None and wanted != size:
                return False
        return True

    def is_subtype_of(self, other: Shape) -> bool:
        """Whether every tensor of this shape also has the other shape."""
        mine, theirs = self._dims, other._dims
        if theirs is None or mine == theirs:
            return True
        if mine is None or len(mine) != len(theirs):
            return False
        return all(b is None or a == b for a, b in zip(mine, theirs, strict=True))

    def most_specific_compatible_shape(self, other: ShapeLike) -> Shape:
        """The narrowest shape for tensors of both: axes that differ become unknown."""
        mine, theirs = self._dims, as_shape(other)._dims
        if mine == theirs:
            return self
        if mine is None or theirs is None or len(mine) != len(theirs):
            return UNKNOWN
        return Shape.of(tuple([a if a == b else None for a, b in zip(mine, theirs, strict=True)]))

    def most_specific_common_supertype(self, others: Iterable[ShapeLike]) -> Shape:
        """The narrowest shape that describes tensors of this and all other shapes."""
        shape = self
        for other in others:
            shape = shape.most_specific_compatible_shape(other)
        return shape

    def most_general_compatible_shape(self) -> Shape:
        """The shape of this rank with all sizes unknown."""
        return UNKNOWN if self._dims is None else unknown_shape(len(self._dims))

    def with_rank(self, rank: int) -> Shape:
        """This shape, merged with a known rank.

        Raises:
            ValueError: the shape has another rank.
        """
        if self._dims is None:
            return unknown_shape(rank)
        self.assert_has_rank(rank)
        return self

    def with_rank_at_least(self, rank: int) -> Shape:
        """This shape, if its rank can be at least this.

        Raises:
            ValueError: the shape has fewer than `rank` axes.
        """
        if self._dims is not None and len(self._dims) < rank:
            raise ValueError(f"Shape {self.text} must have rank at least {rank}, has {self.rank}")
        return self

    def with_rank_at_most(self, rank: int) -> Shape:
        """This shape, if its rank can be at most this.

        Raises:
            ValueError: the shape has more than `rank` axes.
        """
        if self._dims is not None and len(self._dims) > rank:
            raise ValueError(f"Shape {self.text} must have rank at most {rank}, has {self.rank}")
        return self

    def assert_has_rank(self, rank: int) -> None:
        """Raise ValueError unless the rank is `rank` or unknown."""
        if self._dims is not None and len(self._dims) != rank:
            raise ValueError(f"Shape {self.text} must have rank {rank}, has {self.rank}")

    def assert_same_rank(self, other: ShapeLike) -> None:
        """Raise ValueError unless the ranks are equal or one is unknown."""
        other = as_shape(other)
        if self._dims is not None and other._dims is not None and self.rank != other.rank:
            raise ValueError(
                f"Shapes {self.text} and {other.text} must have the same rank, "
                f"have {self.rank} and {other.rank}"
            )

    def assert_is_compatible_with(self, other: ShapeLike) -> None:
        """Raise ValueError unless a tensor could have both shapes."""
        other = as_shape(other)
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self.text} and {other.text} are not compatible")

    def assert_is_fully_defined(self) -> None:
        """Raise ValueError unless every size is known."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self.text} must be known in full")

    def _known(self, what: str) -> tuple[int | None, ...]:
        if self._dims is None:
            raise ValueError(f"{what} needs a shape of known rank")
        return self._dims

    def __len__(self) -> int:
        return len(self._known("len()"))

    def __bool__(self) -> bool:
        # TensorFlow: a shape is true if its rank is known, also if that is 0.
        return self._dims is not None

    def __iter__(self) -> Iterator[int | None]:
        return iter(self._known("Iteration"))

    @overload
    def __getitem__(self, key: int) -> int | None: ...

    @overload
    def __getitem__(self, key: slice) -> Shape: ...

    def __getitem__(self, key: int | slice) -> int | Shape | None:
        if self._dims is not None:
            return Shape.of(self._dims[key]) if isinstance(key, slice) else self._dims[key]
        if not isinstance(key, slice):
            return None
        # TensorFlow: for an unknown rank, a slice whose bounds count from the front has a known
        # rank.
        start, stop = key.start or 0, key.stop
        if key.step not in (None, 1) or stop is None or start < 0 or stop < 0:
            return UNKNOWN
        return unknown_shape(max(stop - start, 0))

    def __add__(self, other: ShapeLike) -> Shape:
        return self.concatenate(other)

    def __radd__(self, other: ShapeLike) -> Shape:
        return as_shape(other).concatenate(self)

    def __concat__(self, other: ShapeLike) -> Shape:
        return self.concatenate(other)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Shape):
            return self._dims == other._dims
        if isinstance(other, tuple):
            return self._dims == other
        if isinstance(other, list):
            return self._dims == tuple(other)
        if other is None:
            return self._dims is None
        if isinstance(other, int):
            return self._dims == (other,)
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self._dims)

    def __copy__(self) -> Shape:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Shape:
        return self

    def __reduce__(self) -> tuple[type[Shape], tuple[Dims]]:
        return Shape, (self._dims,)

    def __repr__(self) -> str:
        return f"TensorShape({None if self._dims is None else list(self._dims)})"

    def __str__(self) -> str:
        return "<unknown>" if self._dims is None else str(self._dims)


_new = object.__new__

TensorShape = Shape
UNKNOWN = Shape(None)
SCALAR = Shape(())


def _size(n: object) -> int | None:
    if n is None:
        return None
    try:
        size = index(n)  # type: ignore[arg-type]  # asks for __index__, which is what it must have
    except TypeError:
        if hasattr(n, "__index__") and getattr(n, "value", n) is None:  # version 1's Dimension
            return None
        raise TypeError(
            f"Shape: a size must be an integer or None, got {n!r} ({type(n).__name__})"
        ) from None
    if size < 0:
        raise ValueError(f"Shape: a size must be at least 0, got {size}; None is an unknown size")
    return size


def as_shape(shape: ShapeLike) -> Shape:
    """`shape` as a Shape; itself if it is one."""
    return shape if isinstance(shape, Shape) else Shape(shape)


def from_list_with_minus_one(sizes: Iterable[int | None]) -> Shape:
    """The shape whose sizes of -1 are unknown, as in `reshape` and in protocol buffers."""
    return Shape([None if n is None or n == -1 else n for n in sizes])


def unknown_shape(rank: int | None = None) -> Shape:
    """The shape with `rank` axes of unknown size."""
    return UNKNOWN if rank is None else Shape.of((None,) * rank)


def broadcast_shapes(a: Shape, b: Shape) -> Shape:
    """The static shape of an elementwise result.

    Raises:
        InvalidArgumentError: two sizes differ and neither is 1.
    """
    x, y = a._dims, b._dims
    if x is None or y is None:
        return UNKNOWN
    if x == y:
        # Two unknown sizes: if they differ, one is 1 and the other is the result, still unknown.
        return a
    if not x:
        return b
    if not y:
        return a
    if len(x) < len(y):
        x = (1,) * (len(y) - len(x)) + x
    elif len(y) < len(x):
        y = (1,) * (len(x) - len(y)) + y
    try:
        return Shape.of(tuple([_broadcast_size(m, n) for m, n in zip(x, y, strict=True)]))
    except InvalidArgumentError as error:
        raise InvalidArgumentError(
            f"Shapes {a.text} and {b.text} cannot be broadcast: {error}"
        ) from None


def _broadcast_size(m: int | None, n: int | None) -> int | None:
    if m == n or n == 1:
        return m
    if m == 1 or m is None:
        return n
    if n is None:
        return m
    raise InvalidArgumentError(f"sizes must be equal or 1, got {m} and {n}")
