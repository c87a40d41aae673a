"""The form of a tensor (dense, sparse or ragged) by its spec.

The modules of sparse and ragged tensors are imported on first use: few models need them.
"""

from __future__ import annotations

from typing import Any, TypedDict

from pinnace.framework.composite import CompositeSpec, is_composite
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.ops.array import shapes


class RaggedOptions(TypedDict, total=False):
    """The properties of a ragged tensor besides its shape."""

    ragged_rank: int | None
    row_splits_dtype: Any


def is_sparse(spec: Any) -> bool:
    """Whether it is the spec of a SparseTensor."""
    return isinstance(spec, CompositeSpec) and spec.value_type.__name__ == "SparseTensor"


def is_ragged(spec: Any) -> bool:
    """Whether it is the spec of a RaggedTensor."""
    return isinstance(spec, CompositeSpec) and hasattr(spec, "ragged_rank")


def is_spec(x: Any) -> bool:
    """Whether it is the spec of a tensor, including sparse and ragged ones."""
    return isinstance(x, TensorSpec) or is_sparse(x) or is_ragged(x)


def spec_of_form(
    shape: Any,
    dtype: Any,
    *,
    sparse: bool = False,
    ragged: bool = False,
    ragged_rank: int | None = None,
    row_splits_dtype: Any = None,
) -> Any:
    """The spec of a dense, sparse or ragged tensor.

    Args:
        shape: None for an unknown axis.
        dtype: dtype of the elements.
        sparse: whether it is a sparse one.
        ragged: whether it is a ragged one.
        ragged_rank: rank of a ragged one; None takes the axes up to the last of unknown size.
        row_splits_dtype: dtype of a ragged one; int64 if None.
    """
    if sparse:
        from pinnace.ops.composites.sparse.tensor import SparseTensorSpec

        return SparseTensorSpec(shape, dtype)
    if not ragged:
        return TensorSpec(shape, dtype)
    from pinnace.ops.composites.ragged.spec import RaggedTensorSpec

    if ragged_rank is None:
        sizes = Shape(shape).dims or ()
        ragged_rank = max([axis for axis, size in enumerate(sizes) if size is None], default=0)
        ragged_rank = max(ragged_rank, 1)
    return RaggedTensorSpec(shape, dtype, ragged_rank, row_splits_dtype or "int64")


def with_open_batch(spec: Any) -> Any:
    """The spec with an open batch axis; other values unchanged."""
    if not is_spec(spec) or not spec.shape.rank:
        return spec
    shape = (None, *spec.shape[1:])
    if is_sparse(spec):
        return spec_of_form(shape, spec.dtype, sparse=True)
    if is_ragged(spec):
        return spec_of_form(
            shape,
            spec.dtype,
            ragged=True,
            ragged_rank=spec.ragged_rank,
            row_splits_dtype=spec.row_splits_dtype,
        )
    return TensorSpec(shape, spec.dtype) if isinstance(spec, TensorSpec) else spec


def dense_spec(spec: Any) -> Any:
    """The spec of the equivalent dense tensor."""
    if is_sparse(spec) or is_ragged(spec):
        return TensorSpec(spec.shape, spec.dtype)
    return spec


def in_form(value: Any, spec: Any) -> Any:
    """A sparse value, converted to dense unless the spec is sparse; other values unchanged.

    Source:
        Keras: sparse inputs of a functional model that are not declared so become dense; ragged
        ones stay ragged.
    """
    if not is_composite(value) or not is_sparse(value.spec) or is_sparse(spec):
        return value
    from pinnace.ops.composites.sparse.functions import to_dense

    dense = to_dense(value)
    dense.set_shape(value.shape)
    return dense


def is_rows(x: Any) -> bool:
    """Whether it is a composite value with an axis of samples.

    Datasets and their iterators are composite, too, but give batches.
    """
    return is_composite(x) and not hasattr(x, "element_spec")


def convert_unless_ragged(x: Any) -> Any:
    """`x` as a tensor; a ragged one stays ragged."""
    return x if is_composite(x) and is_ragged(x.spec) else convert_to_tensor(x)


def flat_where_ragged(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    """Their values without rows if both are ragged; else both as they are."""
    if all(is_composite(x) and is_ragged(x.spec) for x in (y_true, y_pred)):
        return y_true.flat_values, y_pred.flat_values
    return y_true, y_pred


def samples_of(x: Any) -> Any:
    """The number of samples of a batch in any form, a scalar tensor."""
    if is_composite(x):
        return x.nrows() if is_ragged(x.spec) else x.dense_shape[0]
    return shapes.shape(x)[0]
