"""Descriptions of values without the values: `TensorSpec`, and the base of all specs."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NoReturn, Protocol, Self

from pinnace.framework.dtypes import DType, as_dtype, float32
from pinnace.framework.shapes import Shape, ShapeLike, as_shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pinnace.framework.dtypes import DTypeLike


class HasSpec(Protocol):
    """The protocol that `TensorSpec.from_tensor` and `is_compatible_with` rely on."""

    @property
    def shape(self) -> object:
        """A Shape, or a value that can be converted to one."""

    @property
    def dtype(self) -> object:
        """A DType, or what names one."""


class TypeSpec(ABC):
    """The static type of a value, known before there is one.

    A value made of several tensors (ragged, sparse, indexed slices) has a spec that says which
    tensors these are: `component_specs`, and how to take the value apart and put it together:
    `to_components`, `from_components`.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def value_type(self) -> type:
        """The Python class of the values."""

    @abstractmethod
    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Whether the value, or a value of that spec, may be one of this spec."""

    @abstractmethod
    def is_subtype_of(self, other: object) -> bool:
        """Whether every value of this spec is also one of `other`."""

    @abstractmethod
    def most_specific_common_supertype(self, others: Sequence[object]) -> Self | None:
        """The narrowest spec that describes the values of this and all others, if there is one."""

    def relax(self, other: object) -> Self:
        """The narrowest spec that describes the values of both.

        Raises:
            ValueError: no spec describes both.
        """
        result = self.most_specific_common_supertype([other])
        if result is None:
            raise ValueError(f"No spec describes both {self} and {other}")
        return result

    def most_specific_compatible_type(self, other: object) -> Self:
        """An older name of `relax`."""
        return self.relax(other)

    def component_specs(self) -> tuple[TensorSpec, ...]:
        """The specs of the tensors that a value is made of."""
        raise NotImplementedError(f"{type(self).__name__} has no components")

    def to_components(self, value: object) -> tuple[object, ...]:
        """The tensors that `value` is made of, one per component spec."""
        raise NotImplementedError(f"{type(self).__name__} has no components")

    def from_components(self, components: Sequence[object]) -> object:
        """The value with these components; the inverse of `to_components`."""
        raise NotImplementedError(f"{type(self).__name__} has no components")


class TensorSpec(TypeSpec):
    """Shape, dtype and name of a tensor.

    Args:
        shape: shape of the tensor; None is an unknown rank.
        dtype: dtype of the tensor.
        name: name of the argument it describes, if it has one. Part of `==`, not of compatibility.
    """

    __slots__ = ("_hash", "dtype", "name", "shape")

    shape: Shape
    dtype: DType
    name: str | None
    _hash: int

    def __init__(
        self, shape: ShapeLike = None, dtype: DTypeLike = float32, name: str | None = None
    ) -> None:
        _put_shape(self, as_shape(shape))
        _put_dtype(self, as_dtype(dtype))
        _put_name(self, name)

    @staticmethod
    def of(shape: Shape, dtype: DType, name: str | None = None) -> TensorSpec:
        """A spec from a Shape and a DType, without checks."""
        spec = _new(TensorSpec)
        _put_shape(spec, shape)
        _put_dtype(spec, dtype)
        _put_name(spec, name)
        return spec

    @classmethod
    def from_tensor(cls, tensor: HasSpec, name: str | None = None) -> TensorSpec:
        """The spec of a tensor or array.

        Args:
            tensor: has `shape` and `dtype`.
            name: name of the spec; None takes that of the node a traced tensor comes from.
        """
        if name is None:
            name = getattr(getattr(tensor, "op", None), "name", None)
        return cls(_shape_of(tensor), as_dtype(tensor.dtype), name)

    @classmethod
    def from_spec(cls, spec: HasSpec, name: str | None = None) -> TensorSpec:
        """The spec with the shape and dtype of another one, and its name unless one is given."""
        return cls(_shape_of(spec), as_dtype(spec.dtype), name or getattr(spec, "name", None))

    @property
    def value_type(self) -> type:
        """The class `Tensor`."""
        from pinnace.framework.tensor import Tensor

        return Tensor

    @property
    def rank(self) -> int | None:
        """The number of axes, None if it is unknown."""
        return self.shape.rank

    @property
    def text(self) -> str:
        """The spec in a message: `float32[?, 3]`."""
        return self.dtype.name + self.shape.text

    def axis_size(self, axis: int) -> int:
        """The size of one axis.

        Args:
            axis: from the front, or negative from the back.

        Raises:
            ValueError: there is no such axis, or its size is unknown.
        """
        dims = self.shape.dims
        if dims is None:
            raise ValueError(
                f"Axis {axis} of {self.text} must have a known size, the rank is unknown"
            )
        if not -len(dims) <= axis < len(dims):
            raise ValueError(f"{self.text} must have an axis {axis}, its rank is {len(dims)}")
        size = dims[axis]
        if size is None:
            raise ValueError(f"Axis {axis} of {self.text} must have a known size")
        return size

    def with_name(self, name: str | None) -> TensorSpec:
        """The same spec under another name."""
        return TensorSpec.of(self.shape, self.dtype, name)

    def with_shape(self, shape: ShapeLike) -> TensorSpec:
        """The same spec with another shape."""
        return TensorSpec.of(as_shape(shape), self.dtype, self.name)

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Whether a tensor could have both specs; names are ignored."""
        dtype = getattr(spec_or_value, "dtype", None)
        shape = getattr(spec_or_value, "shape", None)
        if dtype is None or (shape is None and not hasattr(spec_or_value, "shape")):
            return False
        try:
            same = as_dtype(dtype) is self.dtype
        except TypeError:
            return False
        return same and self.shape.is_compatible_with(shape)

    def is_subtype_of(self, other: object) -> bool:
        """Whether every tensor of this spec also has the other spec."""
        return (
            isinstance(other, TensorSpec)
            and self.dtype is other.dtype
            and (other.name is None or other.name == self.name)
            and self.shape.is_subtype_of(other.shape)
        )

    def most_specific_common_supertype(self, others: Sequence[object]) -> TensorSpec | None:
        """The narrowest spec for tensors of this and all others; None if dtypes differ."""
        return self._joined(others)

    def _joined(self, others: Iterable[object]) -> TensorSpec | None:
        shape, name = self.shape, self.name
        for other in others:
            if not isinstance(other, TensorSpec) or other.dtype is not self.dtype:
                return None
            shape = shape.most_specific_compatible_shape(other.shape)
            name = name if name == other.name else None
        return TensorSpec.of(shape, self.dtype, name)

    def component_specs(self) -> tuple[TensorSpec, ...]:
        """A tensor is made of itself."""
        return (self,)

    def to_components(self, value: object) -> tuple[object, ...]:
        """The tensor alone."""
        return (value,)

    def from_components(self, components: Sequence[object]) -> object:
        """The only component."""
        (tensor,) = components
        return tensor

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is not type(self):
            return NotImplemented
        return (
            self.dtype is other.dtype
            and self.shape._dims == other.shape._dims
            and self.name == other.name
        )

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            value = hash((self.shape._dims, self.dtype, self.name))
            _put_hash(self, value)
            return value

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{self.text}: a TensorSpec cannot be changed (attribute {name!r})")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{self.text}: a TensorSpec cannot be changed (attribute {name!r})")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __reduce__(self) -> tuple[Callable[..., TensorSpec], tuple[Shape, DType, str | None]]:
        return type(self), (self.shape, self.dtype, self.name)

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"


_new = object.__new__
# The slots' own setters: `__setattr__` refuses, and object.__setattr__ is slower.
_put_shape: Callable[[TensorSpec, Shape], None] = TensorSpec.__dict__["shape"].__set__
_put_dtype: Callable[[TensorSpec, DType], None] = TensorSpec.__dict__["dtype"].__set__
_put_name: Callable[[TensorSpec, str | None], None] = TensorSpec.__dict__["name"].__set__
_put_hash: Callable[[TensorSpec, int], None] = TensorSpec.__dict__["_hash"].__set__


def _shape_of(value: HasSpec) -> Shape:
    shape = value.shape
    return shape if isinstance(shape, Shape) else Shape(shape)  # type: ignore[arg-type]  # Shape checks it


_TEXT = re.compile(
    r"\s*(?:(?P<name>[^:\[\]]+?)\s*:)?\s*(?P<dtype>\w+)\s*\[(?P<sizes>[^\[\]]*)\]\s*"
)


def parse(text: str) -> TensorSpec:
    """The spec that a short text describes; the inverse of `str`.

    Args:
        text: `float32[?, 5]`, `int64[]` for a scalar, `string[...]` for an unknown rank, `x:
            float32[3]` with a name.

    Raises:
        InvalidArgumentError: the text has another form.
    """
    from pinnace.framework.errors import InvalidArgumentError

    match = _TEXT.fullmatch(text)
    if match is None:
        raise InvalidArgumentError(f"A spec must look like 'float32[?, 5]', got {text!r}")
    sizes = [part.strip() for part in match["sizes"].split(",")] if match["sizes"].strip() else []
    try:
        dtype = as_dtype(match["dtype"])
        shape = (
            Shape(None)
            if sizes == ["..."]
            else Shape([None if n == "?" else int(n) for n in sizes])
        )
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(
            f"A spec must look like 'float32[?, 5]', got {text!r}: {error}"
        ) from error
    return TensorSpec.of(shape, dtype, match["name"])
