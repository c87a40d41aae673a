"""IndexedSlices: some rows of a tensor, with zeros elsewhere; the gradient of a gather."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.composite import CompositeSpec, CompositeTensor, kept_in_files_as
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import DType, DTypeLike, as_dtype, float32, int64
from pinnace.framework.shapes import Shape, ShapeLike, as_shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import SymbolicTensor, Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence


class IndexedSlices(CompositeTensor):
    """A sum of slices: row `indices[i]` is `values[i]`; values of repeated indices are added.

    Its cost depends on the number of slices, not of rows. It is converted to a tensor where one is
    needed.

    Args:
        values: [n, ...].
        indices: [n], int32 or int64.
        dense_shape: [rank], int32 or int64: the shape of the whole; None if it is not known, and
            then it cannot become a tensor.
    """

    __slots__ = ("_dense_shape", "_given", "_indices", "_values")

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None) -> None:
        # The values have the dtype of the variable that they are scattered to.
        self._given = values
        self._values = convert_to_tensor(values)
        self._indices = convert_to_tensor(indices)
        self._dense_shape = None if dense_shape is None else convert_to_tensor(dense_shape)

    @property
    def values(self) -> Tensor:
        """The slices."""
        return self._values

    @property
    def indices(self) -> Tensor:
        """The row of each slice."""
        return self._indices

    @property
    def dense_shape(self) -> Tensor | None:
        """The shape of the full tensor, if known."""
        return self._dense_shape

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self._values.dtype

    @property
    def shape(self) -> Shape:
        """The static shape of the full tensor."""
        values = self._values.shape
        rest = Shape(None) if values.rank is None else Shape([None, *values[1:]])
        given = self._dense_shape
        if given is None:
            return rest
        known = _held_by(given)
        return rest if known is None else rest.merge_with(known)

    def get_shape(self) -> Shape:
        """The shape."""
        return self.shape

    @property
    def device(self) -> str:
        """The device name, as in TensorFlow."""
        return self._values.device

    @property
    def name(self) -> str:
        """The name of the slices, while a function is traced."""
        return self._values.name

    @property
    def op(self) -> Any:
        """The node that computes the slices, while a function is traced."""
        return self._values.op

    @property
    def graph(self) -> Any:
        """The graph the slices are in, while a function is traced."""
        return self._values.graph

    @property
    def spec(self) -> IndexedSlicesSpec:
        """Its static type."""
        given = self._dense_shape
        return IndexedSlicesSpec(
            self.shape,
            self.dtype,
            self._indices.dtype,
            None if given is None else given.dtype,
            self._indices.shape,
        )

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(-self._values, self._indices, self._dense_shape)

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> Tensor:
        if dtype is not None and as_dtype(dtype) is not self.dtype:
            raise ValueError(
                f"IndexedSlices of {self.dtype.name} were given where {as_dtype(dtype).name} is "
                "required"
            )
        if self._dense_shape is None:
            raise ValueError(
                f"{self!r} has no dense_shape, so that it cannot become a tensor\n"
                "  Try: IndexedSlices(values, indices, dense_shape)"
            )
        return self._summed(name)

    if TYPE_CHECKING:  # `ops/array/gathered_slices.py` binds it

        def _summed(self, name: str | None) -> Tensor: ...

    def __str__(self) -> str:
        shape = "" if self._dense_shape is None else f", dense_shape={self._dense_shape}"
        return f"IndexedSlices(indices={self._indices}, values={self._values}{shape})"

    __repr__ = __str__


def _held_by(sizes: Tensor) -> Shape | None:
    """The shape whose sizes a tensor contains, as far as it is known."""
    if not isinstance(sizes, SymbolicTensor):
        return Shape([int(n) for n in sizes._array])
    node = sizes.value.node
    if node.op.name == "Const":
        return Shape([int(n) for n in node.attrs["value"]])
    if node.op.name == "Shape":
        return node.inputs[0].spec.shape  # type: ignore[no-any-return]
    if node.op.name == "VariableShape" and node.inputs[0].handle is not None:
        return node.inputs[0].handle.shape  # type: ignore[no-any-return]
    rank = sizes.shape[0] if sizes.shape.rank else None
    return None if rank is None else Shape([None] * rank)


@kept_in_files_as("INDEXED_SLICES_SPEC")
class IndexedSlicesSpec(CompositeSpec):
    """The spec of IndexedSlices.

    Args:
        shape: shape of the whole; None is an unknown rank.
        dtype: dtype of the values.
        indices_dtype: int32 or int64.
        dense_shape_dtype: int32 or int64; None if there is no dense shape.
        indices_shape: [n]; None is an unknown number of slices.
    """

    __slots__ = ("_count", "_dtype", "_indices_dtype", "_shape", "_shape_dtype")

    def __init__(
        self,
        shape: ShapeLike = None,
        dtype: DTypeLike = float32,
        indices_dtype: DTypeLike = int64,
        dense_shape_dtype: DTypeLike | None = None,
        indices_shape: ShapeLike = None,
    ) -> None:
        self._shape = as_shape(shape)
        self._dtype = as_dtype(dtype)
        self._indices_dtype = as_dtype(indices_dtype)
        self._shape_dtype = None if dense_shape_dtype is None else as_dtype(dense_shape_dtype)
        count = as_shape(indices_shape)
        self._count = Shape([None]) if count.rank is None else count

    @property
    def value_type(self) -> type:
        """The class `IndexedSlices`."""
        return IndexedSlices

    @property
    def shape(self) -> Shape:
        """The shape of the full tensor."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        return self._dtype

    def _serialize(self) -> tuple[Any, ...]:
        return (self._shape, self._dtype, self._indices_dtype, self._shape_dtype, self._count)

    def component_specs(self) -> tuple[TensorSpec, ...]:
        """The specs of the values, the indices and, if there is one, the dense shape."""
        whole = self._shape
        values = Shape(None) if whole.rank is None else self._count.concatenate(whole[1:])
        found = [TensorSpec(values, self._dtype), TensorSpec(self._count, self._indices_dtype)]
        if self._shape_dtype is not None:
            found.append(TensorSpec([whole.rank], self._shape_dtype))
        return tuple(found)

    def component_names(self) -> tuple[str, ...]:
        """`values`, `indices` and, if there is one, `dense_shape`."""
        return ("values", "indices", "dense_shape")[: len(self.component_specs())]

    def to_components(self, value: Any) -> tuple[object, ...]:
        """Values, indices and, if there is one, the dense shape."""
        if self._shape_dtype is None:
            return (value.values, value.indices)
        return (value.values, value.indices, value.dense_shape)

    def from_components(self, components: Sequence[Any]) -> object:
        """The slices made of these components."""
        return _packed(*components)


def _packed(values: Any, indices: Any, dense_shape: Any = None) -> IndexedSlices:
    """Slices made of any components; of specs, if structures are compared."""
    made = IndexedSlices.__new__(IndexedSlices)
    made._given = made._values = values
    made._indices, made._dense_shape = indices, dense_shape
    return made


def dense(x: Any) -> Any:
    """Convert IndexedSlices to a tensor; any other value is unchanged."""
    return x.__tf_tensor__() if type(x) is IndexedSlices else x


__all__ = ["IndexedSlices", "IndexedSlicesSpec", "dense"]
