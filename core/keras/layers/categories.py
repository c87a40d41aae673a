"""Categorical features: encoding, hashing, binning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.framework import dtypes
from pinnace.framework.composite import is_composite
from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.layer import Layer, LayerOptions
from pinnace.keras.layers.sparse_categories import refuse_numbers, sparsely_encoded
from pinnace.ops.array import casting, constants, indicators, reshaping, selecting
from pinnace.ops.math import arithmetic, comparison, reduction, segments
from pinnace.ops.strings import conversion, hashing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Tensor

_MODES = ("int", "one_hot", "multi_hot", "count")
_MATRIX = 2
# Names of older versions of Keras.
_OLDER_MODES = {"binary": "multi_hot", "tf-idf": "tf_idf"}


def checked_mode(who: str, mode: Any, allowed: Sequence[str]) -> str:
    """`mode`, if it is one of `allowed`.

    Raises:
        ValueError: the mode is not allowed.
    """
    if mode not in allowed:
        raise ValueError(
            f"{who}: Invalid value for argument `output_mode`. Expected one of "
            f"{', '.join(allowed)}. Unknown arg for output_mode: {mode}"
        )
    return str(mode)


def current_mode(mode: Any) -> Any:
    """The current name of a mode, which may be that of an older Keras version."""
    return _OLDER_MODES.get(mode, mode) if isinstance(mode, str) else mode


def on_elements(compute: Callable[[Tensor], Any], x: Any) -> Any:
    """Apply `compute` to a tensor, or to the elements of a ragged or sparse tensor."""
    if not is_composite(x):
        return compute(convert_to_tensor(x))
    if _is_ragged(x):
        return x.with_flat_values(compute(x.flat_values))
    return x.with_values(compute(x.values))


def _is_ragged(x: Any) -> bool:
    return hasattr(x, "flat_values")


def encoded(
    x: Any, mode: str, depth: int, dtype: Any, weights: Any = None, sparse: bool = False
) -> Any:
    """Category indices as encoded rows.

    Args:
        x: integers, [...], or samples of some elements each as a ragged or a sparse matrix; one
            outside of 0 to depth - 1 counts nowhere.
        mode: `one_hot`: a row each, [..., depth], a last axis of size 1 left out; `multi_hot`: 1
            for each that occurs in a sample; `count`: how often.
        depth: number of categories.
        dtype: dtype of the result.
        weights: factors of the counts, in the shape of x.
        sparse: whether the result is a SparseTensor; the dense rows are never made.

    Source:
        Keras: a sample is the second axis, or the whole of a vector.
    """
    kind = dtypes.as_dtype(dtype)
    if sparse:
        return sparsely_encoded(x, mode, depth, kind, weights)
    if is_composite(x):
        return _encoded_elements(x, mode, depth, kind, weights)
    if not len(x.shape):
        x = reshaping.expand_dims(x, -1)
    rank = len(x.shape)
    if mode == "one_hot":
        if rank > 1 and x.shape[-1] == 1:
            x = reshaping.squeeze(x, [-1])
        return indicators.one_hot(x, depth, dtype=kind)
    rows = indicators.one_hot(x, depth, dtype=kind)
    axis = 1 if rank > 1 else 0
    if mode == "multi_hot":
        # A sample without elements has no largest one.
        return arithmetic.maximum(reduction.reduce_max(rows, axis), 0)
    if weights is not None:
        rows = rows * reshaping.expand_dims(casting.cast(weights, kind), -1)
    return reduction.reduce_sum(rows, axis)


def _encoded_elements(x: Any, mode: str, depth: int, kind: DType, weights: Any) -> Any:
    if len(x.shape) == 1 and mode != "one_hot":
        from pinnace.ops.composites.sparse.functions import to_dense  # late: few need it

        return to_dense(sparsely_encoded(x, mode, depth, kind, weights))
    if len(x.shape) != _MATRIX:
        raise ValueError(f"ragged and sparse categories must be matrices, got shape {x.shape}")
    if mode == "one_hot":
        if not _is_ragged(x):
            raise ValueError("output_mode one_hot: sparse categories must be made dense before")
        return x.with_flat_values(indicators.one_hot(x.flat_values, depth, dtype=kind))
    if _is_ragged(x):
        found, sample, count = x.values, x.value_rowids(), x.nrows()
    else:
        found, sample, count = x.values, x.indices[:, 0], x.dense_shape[0]
    rows = indicators.one_hot(found, depth, dtype=kind)
    if weights is not None and is_composite(weights):
        weights = weights.values
    if weights is not None:
        rows = rows * reshaping.expand_dims(casting.cast(weights, kind), -1)
    counts = segments.unsorted_segment_sum(rows, sample, count)
    return arithmetic.minimum(counts, 1) if mode == "multi_hot" else counts


def _as_int64(x: Tensor) -> Tensor:
    return casting.cast(x, dtypes.int64)


class CategoryEncoding(Layer):
    """Encodes category indices as one-hot, multi-hot or count rows.

    Args:
        num_tokens: number of categories.
        output_mode: `multi_hot`: 1 for each category that a sample has; `one_hot`: a row for each
            element; `count`: how often each occurs.
        sparse: whether the result is a SparseTensor, which only holds non-zero values.
        **options: see Layer.

    Shapes:
        [b, n] → [b, num_tokens]; with `one_hot` [b, n, num_tokens], and [b, num_tokens] for n = 1.
    """

    def __init__(
        self,
        num_tokens: int | None = None,
        output_mode: str = "multi_hot",
        sparse: bool = False,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        if num_tokens is None:
            raise ValueError("CategoryEncoding: num_tokens must be set to use this layer")
        if num_tokens < 1:
            raise ValueError(f"CategoryEncoding: `num_tokens` must be >= 1, got {num_tokens}")
        self.num_tokens = num_tokens
        mode = current_mode(output_mode)
        self.output_mode = checked_mode("CategoryEncoding", mode, _MODES[1:])
        self.sparse = sparse
        self._build_at_init()

    def call(self, x: Any, count_weights: Any = None) -> Any:
        """The encoded categories; `count_weights`, of the same shape, for `count` only."""
        if count_weights is not None and self.output_mode != "count":
            raise ValueError(
                "CategoryEncoding: `count_weights` is not used when `output_mode` is not 'count', "
                f"got output_mode={self.output_mode!r}"
            )
        numbers = on_elements(_as_int64, x)
        mode, kind = self.output_mode, self.dtype  # as Keras: not that of computation
        return encoded(numbers, mode, self.num_tokens, kind, count_weights, self.sparse)

    def get_config(self) -> dict[str, Any]:
        """See Layer."""
        names = ("num_tokens", "output_mode", "sparse")
        own = {name: getattr(self, name) for name in names}
        return {**super().get_config(), **own}


class Hashing(Layer):
    """Hashes strings or integers to integers below `num_bins`.

    Args:
        num_bins: number of categories.
        mask_value: the only value that gets the index 0; None for none.
        salt: one or two integers that make another hash of it.
        output_mode: `int`, or as `CategoryEncoding`.
        sparse: whether the result is a SparseTensor; not for `int`.
        **options: see Layer.

    Shapes:
        x [b, ...] → the same, int64; with `one_hot` [b, ..., num_bins], a last axis of 1 left
        out; with `multi_hot` and `count` [b, n] → [b, num_bins].

    Source:
        Keras `Hashing`: FarmHash of the text; with a salt SipHash.
    """

    def __init__(
        self,
        num_bins: int,
        mask_value: Any = None,
        salt: Any = None,
        output_mode: str = "int",
        sparse: bool = False,
        **options: Unpack[LayerOptions],
    ) -> None:
        if options.get("dtype") is None:
            options["dtype"] = "int64" if output_mode == "int" else "float32"
        super().__init__(**options)
        if output_mode == "int" and not self._policy._compute.is_integer:
            raise ValueError(
                'Hashing: When `output_mode="int"`, `dtype` should be an integer type, such as '
                f"int64, got {self.dtype}"
            )
        if not isinstance(num_bins, int) or num_bins < 1:
            raise ValueError(
                "The `num_bins` for `Hashing` cannot be `None` or non-positive, "
                f"got num_bins={num_bins!r}"
            )
        refuse_numbers("Hashing", output_mode, sparse)
        self.num_bins = num_bins
        self.mask_value = mask_value
        self.salt = None
        if salt is not None:
            self.salt = [salt, salt] if isinstance(salt, int) else list(salt)
            if len(self.salt) != 2:
                raise ValueError(
                    "Hashing: the `salt` argument must be an integer or can only be a tuple of "
                    f"size 2, got {salt!r}"
                )
        self.output_mode = checked_mode("Hashing", output_mode, _MODES)
        self.sparse = sparse
        self._build_at_init()

    def call(self, x: Any) -> Any:
        """The hashes."""
        found = on_elements(self._hashes, x)
        if self.output_mode == "int":
            return on_elements(self._as_told, found)
        dtype = self.dtype
        return encoded(found, self.output_mode, self.num_bins, dtype, sparse=self.sparse)

    def _as_told(self, x: Tensor) -> Tensor:
        return casting.cast(x, self._policy._compute)

    def _hashes(self, x: Tensor) -> Tensor:
        text = x if x.dtype is dtypes.string else conversion.as_string(x)
        masked = self.mask_value is not None
        bins = self.num_bins - 1 if masked and self.num_bins > 1 else self.num_bins
        if self.salt is None:
            found = hashing.to_hash_bucket_fast(text, bins)
        else:
            found = hashing.to_hash_bucket_strong(text, bins, self.salt)
        if masked:
            same = comparison.equal(x, convert_to_tensor(self.mask_value, x.dtype))
            found = selecting.where(same, constants.zeros_like(found), found + 1)
        return _as_int64(found)

    def get_config(self) -> dict[str, Any]:
        """See Layer."""
        names = ("num_bins", "salt", "mask_value", "output_mode", "sparse")
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}
