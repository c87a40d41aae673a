"""SparseTensor: the values that are not zero, and their indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.composite import CompositeSpec, CompositeTensor, kept_in_files_as
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor
from pinnace.ops.array import casting
from pinnace.ops.array.broadcasting import known_value
from pinnace.ops.execute import execute
from pinnace.ops.sparse import arithmetic as sparse_arithmetic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.dtypes import DType

__all__ = ["SparseTensor", "SparseTensorSpec", "SparseTensorValue"]


class SparseTensorValue(NamedTuple):
    """The arrays of a sparse tensor."""

    indices: Any
    values: Any
    dense_shape: Any


class SparseTensor(CompositeTensor):
    """A tensor that is zero except at listed indices.

    Args:
        indices: [n, rank], int64: the places, in row-major order for most ops (see
            `sparse.reorder`).
        values: [n]: what is there.
        dense_shape: [rank], int64: the sizes of the axes.

    Example:
        >>> x = SparseTensor([[0, 1], [2, 0]], [5, 7], [3, 2])
        >>> x.shape
        TensorShape([3, 2])

    Raises:
        ValueError: the parts do not belong together.
    """

    _takes_ops = "sparse"
    __array_priority__ = 200

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        self._indices = _index_tensor(indices, "indices")
        self._values = convert_to_tensor(values)
        self._dense_shape = _index_tensor(dense_shape, "dense_shape")
        self._static = _static_shape(self._dense_shape)
        self._check()

    def _check(self) -> None:
        at, count, size = (x.shape for x in (self._indices, self._values, self._dense_shape))
        right = at.rank in {2, None} and count.rank in {1, None} and size.rank in {1, None}
        if right and at.rank and count.rank:
            right = None in (at[0], count[0]) or at[0] == count[0]
        if right and at.rank and size.rank:
            right = None in (at[1], size[0]) or at[1] == size[0]
        if not right:
            raise ValueError(
                "SparseTensor: indices must be [n, rank], values [n] and dense_shape [rank], got "
                f"shapes {at.text}, {count.text} and {size.text}"
            )

    @classmethod
    def from_value(cls, sparse_tensor_value: Any) -> SparseTensor:
        """The sparse tensor with these parts, or itself."""
        if isinstance(sparse_tensor_value, SparseTensor):
            return sparse_tensor_value
        return cls(*sparse_tensor_value)

    @property
    def indices(self) -> Tensor:
        """[n, rank], int64: the indices of the values."""
        return self._indices

    @property
    def values(self) -> Tensor:
        """[n]: the stored values."""
        return self._values

    @property
    def dense_shape(self) -> Tensor:
        """[rank], int64: the sizes of the axes."""
        return self._dense_shape

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        return self._values.dtype

    @property
    def shape(self) -> Shape:
        """The sizes of the axes, as far as known."""
        return self._static

    def get_shape(self) -> Shape:
        """The shape."""
        return self._static

    def set_shape(self, shape: Any) -> None:
        """Merge static shape information; ValueError if it is contradictory."""
        self._static = self._static.merge_with(Shape(shape))

    @property
    def spec(self) -> SparseTensorSpec:
        """Its `SparseTensorSpec`."""
        return SparseTensorSpec(self._static, self.dtype)

    def with_values(self, new_values: Any) -> SparseTensor:
        """The same places with other values."""
        made = SparseTensor(self._indices, new_values, self._dense_shape)
        made._static = self._static
        return made

    def gradient_part(self) -> Tensor:
        """The values."""
        return self._values

    def with_gradient_part(self, gradient: Any) -> SparseTensor:
        """The gradient with respect to each value, at its index."""
        return self.with_values(convert_to_tensor(gradient))

    def numpy(self) -> SparseTensorValue:
        """The parts as arrays."""
        return SparseTensorValue(
            *[part.numpy() for part in (self.indices, self.values, self.dense_shape)]
        )

    eval = numpy

    # Operators with dense tensors; addition is `sparse.add`, whose result may be sparse or dense.

    def __mul__(self, other: Any) -> SparseTensor:
        return self._cwise(sparse_arithmetic.SPARSE_DENSE_CWISE_MUL, other)

    def __rmul__(self, other: Any) -> SparseTensor:
        return self._cwise(sparse_arithmetic.SPARSE_DENSE_CWISE_MUL, other)

    def __truediv__(self, other: Any) -> SparseTensor:
        divisor = convert_to_tensor(other, dtype_hint=self.dtype)
        if self.dtype.is_integer:
            wide = dtypes.float32 if self.dtype.size < 4 else dtypes.float64
            return self.with_values(casting.cast(self._values, wide)) / casting.cast(divisor, wide)
        return self._cwise(sparse_arithmetic.SPARSE_DENSE_CWISE_DIV, divisor)

    __div__ = __truediv__

    def _cwise(self, op: Any, other: Any) -> SparseTensor:
        if isinstance(other, CompositeTensor) and not hasattr(other, "__tf_tensor__"):
            return NotImplemented  # type: ignore[no-any-return]  # Python's own answer
        dense = convert_to_tensor(other, dtype_hint=self.dtype)
        return self.with_values(execute(op, self._indices, self._values, self._dense_shape, dense))

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> NoReturn:
        del dtype, name
        raise ValueError(
            f"a SparseTensor cannot become a tensor by itself: {self!r}\n  Try: sparse.to_dense(x)"
        )

    def __repr__(self) -> str:
        return (
            f"SparseTensor(indices={self._indices!s}, values={self._values!s}, "
            f"dense_shape={self._dense_shape!s})"
        )

    def _shape_invariant_to_type_spec(self, shape: Any) -> SparseTensorSpec:
        return SparseTensorSpec(shape, self.dtype)


def _index_tensor(value: Any, name: str) -> Tensor:
    if isinstance(value, Shape):
        value = value.as_list()
    found = convert_to_tensor(value, dtype_hint=dtypes.int64)
    if found.dtype is dtypes.int32 and not isinstance(value, Tensor):
        found = convert_to_tensor(np.asarray(value, np.int64))
    if found.dtype is not dtypes.int64:
        raise ValueError(f"SparseTensor: {name} must be int64, got {found.dtype.name}")
    return found


def _static_shape(dense_shape: Tensor) -> Shape:
    sizes = known_value(dense_shape)
    if sizes is not None:
        return Shape([None if n < 0 else int(n) for n in sizes])
    rank = dense_shape.shape
    return Shape([None] * rank[0]) if rank.rank and rank[0] is not None else Shape(None)


@kept_in_files_as("SPARSE_TENSOR_SPEC")
class SparseTensorSpec(CompositeSpec):
    """The static type of a sparse tensor, known before there is one.

    Args:
        shape: shape of the dense tensor it stands for.
        dtype: dtype of the values.
    """

    __slots__ = ("_dtype", "_shape")

    def __init__(self, shape: Any = None, dtype: Any = dtypes.float32) -> None:
        self._shape = Shape(shape)
        self._dtype = dtypes.as_dtype(dtype)

    @property
    def shape(self) -> Shape:
        """The sizes of the axes, as far as known."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        return self._dtype

    @property
    def value_type(self) -> type:
        """The class SparseTensor."""
        return SparseTensor

    @classmethod
    def from_value(cls, value: SparseTensor) -> SparseTensorSpec:
        """The spec of a sparse tensor."""
        return value.spec

    def _serialize(self) -> tuple[Any, ...]:
        return (self._shape, self._dtype)

    def component_specs(self) -> tuple[TensorSpec, ...]:
        """The specs of the indices, the values and the dense shape."""
        rank = self._shape.rank
        return (
            TensorSpec.of(Shape([None, rank]), dtypes.int64),
            TensorSpec.of(Shape([None]), self._dtype),
            TensorSpec.of(Shape([rank]), dtypes.int64),
        )

    def component_names(self) -> tuple[str, ...]:
        """`indices`, `values`, `dense_shape`."""
        return ("indices", "values", "dense_shape")

    def to_components(self, value: Any) -> tuple[object, ...]:
        """The indices, the values and the dense shape."""
        return (value.indices, value.values, value.dense_shape)

    def from_components(self, components: Sequence[Any]) -> Any:
        """The sparse tensor of these components, which need not be tensors."""
        if not all(isinstance(part, Tensor) for part in components):
            return _made_of(components, self._shape)
        made = SparseTensor(*components)
        if self._shape.is_compatible_with(made._static):
            made._static = made._static.merge_with(self._shape)
        return made


def _made_of(components: Sequence[Any], shape: Shape) -> SparseTensor:
    made = SparseTensor.__new__(SparseTensor)
    made._indices, made._values, made._dense_shape = components
    made._static = shape
    return made
