"""HashedCrossing: hashes combinations of categorical features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.composite import is_composite
from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.layer import Layer
from pinnace.keras.layers.categories import checked_mode, encoded
from pinnace.ops.array import casting, reshaping
from pinnace.ops.composites.sparse import crossing, functions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor


class HashedCrossing(Layer):
    """The hash of the values that several features have at once.

    Args:
        num_bins: hashes are below it.
        output_mode: "int" for the hashes, "one_hot" for rows of `num_bins`.
        sparse: whether rows are given as a SparseTensor; hashes are dense.
        name: unique if None.
        dtype: dtype of the result; int64 for "int" if None.
        **options: see Layer.

    Shapes:
        Features of one shape, [b], [b, 1] or [] each → the same, int64; with `one_hot`
        [b, num_bins].

    Raises:
        ValueError: unknown mode; when called, fewer than two inputs, or of other shapes or dtypes.

    Source:
        Keras `HashedCrossing`: the hash of TensorFlow's `SparseCross`.
    """

    def __init__(
        self,
        num_bins: int,
        output_mode: str = "int",
        sparse: bool = False,
        name: str | None = None,
        dtype: Any = None,
        **options: Any,
    ) -> None:
        if output_mode == "int" and dtype is None:
            dtype = "int64"
        super().__init__(name=name, dtype=dtype, autocast=False, **options)
        self.num_bins = num_bins
        self.output_mode = checked_mode("HashedCrossing", output_mode, ("int", "one_hot"))
        self.sparse = sparse
        self.built = True

    def call(self, inputs: Sequence[Any]) -> Any:
        """The hashes of the values at the same index, [batch], [batch, 1] or a scalar."""
        features = self._checked(inputs)
        shape = features[0].shape
        rank = len(shape)
        rows = [x if rank == 2 else reshaping.reshape(x, [-1, 1]) for x in features]
        found = functions.to_dense(crossing.cross_hashed(rows, self.num_bins))
        hashes = reshaping.reshape(found, [-1, 1] if rank == 2 else [-1] if rank else [])
        hashes.set_shape(shape)
        if self.output_mode == "int":
            return casting.cast(hashes, self.compute_dtype)
        mode, dtype, sparse = self.output_mode, self.compute_dtype, self.sparse
        # A scalar returns a row, as in Keras.
        whole = hashes if rank else reshaping.reshape(hashes, [1])
        return encoded(whole, mode, self.num_bins, dtype, sparse=sparse)

    def _dtype_of_shapes(self) -> str:
        return "int64"  # of the features; the layer's dtype is that of the rows

    def _checked(self, inputs: Any) -> list[Tensor]:
        who = self._described()
        if not isinstance(inputs, (list, tuple)) or len(inputs) < 2:
            raise ValueError(
                f"{who}: should be called on a list or tuple of at least two inputs, got "
                f"{type(inputs).__name__}"
            )
        if any(is_composite(x) for x in inputs):
            raise ValueError(f"{who}: All inputs should be dense tensors")
        features: list[Tensor] = [convert_to_tensor(x) for x in inputs]
        first = features[0].shape
        if len(first) > 2 or (len(first) == 2 and first[1] != 1):
            raise ValueError(
                f"{who}: All inputs should have shape (), (batch_size) or (batch_size, 1), got "
                f"{first.text}"
            )
        if not all(x.shape.is_compatible_with(first) for x in features):
            shapes = ", ".join(x.shape.text for x in features)
            raise ValueError(f"{who}: All inputs should have equal shape, got {shapes}")
        if not all(x.dtype.is_integer or x.dtype is dtypes.string for x in features):
            kinds = ", ".join(x.dtype.name for x in features)
            raise ValueError(f"{who}: All inputs should have an integer or string dtype: {kinds}")
        return features
