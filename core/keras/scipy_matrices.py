"""SciPy's sparse matrices as sparse tensors, without importing SciPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.keras.plain_lists import in_floatx

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array


def is_matrix(value: Any) -> bool:
    """Whether it is a SciPy sparse matrix or array, of any format."""
    return hasattr(value, "tocoo") and any(
        kind.__module__.startswith("scipy.sparse") for kind in type(value).__mro__
    )


def sparse_tensor(matrix: Any) -> Any:
    """The matrix as a SparseTensor in row-major order, without duplicates.

    Args:
        matrix: a matrix that `is_matrix` accepts; float64 becomes Keras's float.
    """
    from pinnace.ops.composites.sparse.tensor import SparseTensor

    # A copy, since `sum_duplicates` works in place.
    elements = matrix.tocoo(copy=True)
    elements.sum_duplicates()
    # SciPy before 1.13 has matrices only, without `coords`.
    places = getattr(elements, "coords", None) or (elements.row, elements.col)
    order = np.lexsort(places[::-1])
    indices = np.stack([place[order] for place in places], axis=1).astype(np.int64)
    return SparseTensor(
        indices, in_floatx(elements.data[order]), np.array(elements.shape, np.int64)
    )


def dense_array(matrix: Any) -> Array:
    """The matrix as a dense array."""
    return in_floatx(matrix.toarray())
