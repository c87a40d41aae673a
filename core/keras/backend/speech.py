"""Connectionist temporal classification under the names of Keras' older backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.dtype_policy import epsilon
from pinnace.ops.array import (
    casting,
    gathering,
    indicators,
    joining,
    permutations,
    reshaping,
    selecting,
    shapes,
)
from pinnace.ops.execute import execute
from pinnace.ops.math import exponents
from pinnace.ops.nn.ctc import CTC_BEAM_SEARCH_DECODER

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor
    from pinnace.ops.composites.sparse.tensor import SparseTensor

__all__ = ["ctc_batch_cost", "ctc_decode", "ctc_label_dense_to_sparse"]


def _logits(y_pred: Any) -> Tensor:
    """[time, b, classes]: log probabilities."""
    turned = permutations.transpose(convert_to_tensor(y_pred), [1, 0, 2])
    return exponents.log(turned + epsilon())


def ctc_label_dense_to_sparse(labels: Any, label_lengths: Any) -> SparseTensor:
    """The valid labels, as a sparse tensor.

    Args:
        labels: [b, longest].
        label_lengths: [b], how many of each row count.
    """
    from pinnace.ops.composites.sparse.tensor import SparseTensor  # late: few need it

    x = convert_to_tensor(labels)
    within = indicators.sequence_mask(convert_to_tensor(label_lengths), shapes.shape(x)[1])
    indices = selecting.where(within)
    return SparseTensor(
        indices, gathering.gather_nd(x, indices), casting.cast(shapes.shape(x), dtypes.int64)
    )


def ctc_batch_cost(y_true: Any, y_pred: Any, input_length: Any, label_length: Any) -> Tensor:
    """-log p(labels) of each sample; the last class is the blank.

    Args:
        y_true: [b, longest], labels.
        y_pred: [b, time, classes], probabilities.
        input_length: [b, 1], how many steps count.
        label_length: [b, 1], how many labels count.

    Returns:
        [b, 1].
    """
    from pinnace.ops.composites import ctc  # late: few need it

    counts, steps = (
        casting.cast(reshaping.squeeze(convert_to_tensor(x), -1), dtypes.int32)
        for x in (label_length, input_length)
    )
    found = ctc_label_dense_to_sparse(y_true, counts)
    labels = found.with_values(casting.cast(found.values, dtypes.int32))
    loss = ctc.ctc_loss(labels, _logits(y_pred), None, steps, blank_index=-1)
    return reshaping.expand_dims(loss, 1)


def ctc_decode(
    y_pred: Any, input_length: Any, greedy: bool = True, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[Tensor], Tensor]:
    """The most probable labels of each sample; the last class is the blank.

    Args:
        y_pred: [b, time, classes], probabilities.
        input_length: [b], how many steps count.
        greedy: whether the likeliest class of each step is taken; else a search.
        beam_width: how many beginnings the search keeps.
        top_paths: how many answers the search gives.

    Returns:
        For each beam [batch, time], -1 after the labels; and [batch, beams], their scores.
    """
    from pinnace.ops.composites import ctc  # late: few need it
    from pinnace.ops.composites.sparse.functions import to_dense
    from pinnace.ops.composites.sparse.tensor import SparseTensor

    x = convert_to_tensor(y_pred)
    steps = casting.cast(convert_to_tensor(input_length), dtypes.int32)
    if greedy:
        decoded, scores = ctc.ctc_greedy_decoder(_logits(x), steps)
    else:
        indices, values, sizes, scores = execute(
            CTC_BEAM_SEARCH_DECODER,
            _logits(x),
            steps,
            beam_width=int(beam_width),
            top_paths=int(top_paths),
            merge_repeated=True,
        )
        decoded = [SparseTensor(*parts) for parts in zip(indices, values, sizes, strict=True)]
    shape = casting.cast(joining.stack([shapes.shape(x)[0], shapes.shape(x)[1]]), dtypes.int64)
    wide = [SparseTensor(one.indices, one.values, shape) for one in decoded]
    return [to_dense(one, default_value=-1) for one in wide], scores
