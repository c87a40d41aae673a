"""Embedding lookups: embedding_lookup."""

from typing import Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.tensor import Operands, Tensor, TensorLike
from pinnace.ops.array import constants, gathering, joining
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.math import arithmetic, exponents, reduction

__all__ = ["embedding_lookup"]


@takes_composites(ragged="gathering:embedding_lookup")
def embedding_lookup(
    params: Any, ids: TensorLike, max_norm: float | None = None, name: str | None = None
) -> Tensor:
    """The rows of `params` at `ids`.

    Args:
        params: [rows, ...]; or a list of such, which together are the table, in order.
        ids: [...], int32 or int64, in [0, rows); also ragged.
        max_norm: rows longer than this are scaled down to it.
        name: name of the node while tracing.

    Returns:
        [*ids, ...], dtype of `params`.

    Raises:
        InvalidArgumentError: a number that is no row.
        ValueError: an empty list.

    Source:
        TensorFlow `tf.nn.embedding_lookup`, partition strategy "div".
    """
    if isinstance(params, (list, tuple)) and any(isinstance(part, Operands) for part in params):
        table: Any = params[0] if len(params) == 1 else joining.concat(list(params), 0)
    elif isinstance(params, (list, tuple)) and not params:
        raise ValueError("embedding_lookup: params must hold at least one table, got none")
    else:
        table = params if isinstance(params, Operands) else convert_to_tensor(params)
    if max_norm is None:
        return gathering.gather(table, ids, name=name)
    rows = gathering.gather(table, ids)
    rank = rows.shape.rank
    lead = convert_to_tensor(ids).shape.rank
    if rank is None or lead is None:
        raise ValueError("embedding_lookup: max_norm needs ids and params of known rank")
    return _shortened(rows, max_norm, list(range(lead, rank)), name)


def _shortened(rows: Tensor, max_norm: float, axes: list[int], name: str | None) -> Tensor:
    """rows / max(length, max_norm) times max_norm."""
    squares = reduction.reduce_sum(arithmetic.square(rows), axes, keepdims=True)
    limit = constants.constant(max_norm, rows.dtype)
    # sqrt has an infinite slope at 0: for rows of zeros `maximum` chooses the other branch.
    length = exponents.sqrt(arithmetic.maximum(squares, limit * limit))
    return arithmetic.multiply(rows, limit / length, name)
