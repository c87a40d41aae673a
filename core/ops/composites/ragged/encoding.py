"""Ragged tensors encoded as variants, and decoding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.ops.execute import execute
from pinnace.ops.ragged import variants

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

__all__ = ["from_variant", "to_variant"]


def to_variant(x: Any, batched_input: bool, name: str | None) -> Tensor:
    """The ragged tensor, or each of its rows, as a variant."""
    found: Tensor = execute(
        variants.RAGGED_TENSOR_TO_VARIANT,
        list(x.nested_row_splits),
        x.flat_values,
        batched_input=batched_input,
        Tsplits=x.row_splits.dtype,
        name=name,
    )
    return found


def from_variant(
    variant: Any,
    dtype: Any,
    output_ragged_rank: int,
    input_ragged_rank: int | None,
    row_splits_dtype: Any,
    name: str | None,
) -> tuple[list[Tensor], Tensor]:
    """Row splits and flat values of the ragged tensor in a variant or vector of variants."""
    encoded = convert_to_tensor(variant)
    rank = encoded.shape.rank
    depth = input_ragged_rank
    if depth is None:
        depth = -1 if rank is None else output_ragged_rank - rank
        if depth < -1:
            raise ValueError(
                f"RaggedTensor: output_ragged_rank must be at least the rank of the variant {rank},"
                f" got {output_ragged_rank}"
            )
    splits, values = execute(
        variants.RAGGED_TENSOR_FROM_VARIANT,
        encoded,
        input_ragged_rank=depth,
        output_ragged_rank=output_ragged_rank,
        Tvalues=dtypes.as_dtype(dtype),
        Tsplits=dtypes.as_dtype(row_splits_dtype),
        name=name,
    )
    return list(splits), values
