"""Connectionist temporal classification with labels as sparse tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import int32, int64
from pinnace.framework.no_effect import ignored
from pinnace.ops.array import (
    casting,
    constants,
    gathering,
    indicators,
    joining,
    masking,
    permutations,
    reshaping,
    scattering,
    selecting,
    shapes,
)
from pinnace.ops.composites.sparse.tensor import SparseTensor
from pinnace.ops.execute import execute
from pinnace.ops.math import comparison, cumulation, logic, ranges, reduction
from pinnace.ops.nn import ctc

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor, TensorLike

__all__ = [
    "collapse_repeated",
    "ctc_beam_search_decoder",
    "ctc_greedy_decoder",
    "ctc_loss",
    "ctc_unique_labels",
]


def ctc_loss(
    labels: Any,
    logits: TensorLike,
    label_length: TensorLike | None,
    logit_length: TensorLike,
    logits_time_major: bool = True,
    unique: Any = None,
    blank_index: int | None = None,
    name: str | None = None,
) -> Tensor:
    """-log p(labels), summed over all alignments with the given steps.

    Args:
        labels: [batch, length], integers; or a sparse tensor of them, int32.
        logits: [time, batch, classes], float32 or float64; for dense labels, any float dtype.
        label_length: [batch], how many of each row of `labels` count; None for a sparse tensor.
        logit_length: [batch], how many steps count.
        logits_time_major: False for logits [batch, time, classes].
        unique: accepted, and not needed.
        blank_index: the class that says nothing, from the end if negative; the first for dense
            labels if None.
        name: name of the node while tracing.

    Returns:
        [batch], dtype of `logits`; infinite where there are too few steps for dense labels. A
        dense label 0 that is the blank counts like any other label; another label that is the
        blank means the class before it.

    Raises:
        ValueError: no `blank_index` for sparse labels, or no `label_length` for dense ones.
        InvalidArgumentError: too few steps for sparse labels.

    Source:
        TensorFlow `tf.nn.ctc_loss`, op `CTCLoss` (ctc_ops.cc).
    """
    ignored("ctc_loss", "labels are used as they are", unique=unique)
    x = convert_to_tensor(logits)
    if not logits_time_major:
        x = permutations.transpose(x, [1, 0, 2])
    sparse = isinstance(labels, SparseTensor)
    given = x.dtype
    if not sparse and given in (dtypes.float16, dtypes.bfloat16):
        x = casting.cast(x, dtypes.float32)
    if blank_index is None:
        if sparse:
            raise ValueError("ctc_loss: blank_index must be given for a sparse tensor of labels")
        blank_index = 0
    known = x.shape[2]
    if known is not None and not -known <= blank_index < known:
        raise ValueError(f"ctc_loss: blank_index must be a class of {known}, got {blank_index}")
    classes: Any = shapes.shape(x)[2] if known is None else known
    blank = blank_index + classes if blank_index < 0 else blank_index
    steps = casting.cast(convert_to_tensor(logit_length), int32)
    indices, values = (labels.indices, labels.values) if sparse else _counted(labels, label_length)
    values = casting.cast(values, int32)
    last = blank_index in {-1, classes - 1 if known else -1}
    if not last:
        # The op's blank is the last class.
        before, after = ranges.range(blank), ranges.range(blank + 1, classes)
        order = joining.concat([before, after, reshaping.reshape(blank, [1])], 0)
        x = gathering.gather(x, order, axis=2)
    if not (last and sparse):
        values = _op_labels(values, blank, sparse=sparse)
    loss, _ = execute(
        ctc.CTC_LOSS,
        x,
        indices,
        values,
        steps,
        ignore_longer_outputs_than_inputs=not sparse,
        name=name if sparse else None,
    )
    if sparse:
        return loss  # type: ignore[no-any-return]
    # The op ignores sequences that are too long, with a loss of zero.
    too_few = casting.cast(convert_to_tensor(label_length), int32) > steps
    endless = constants.fill(shapes.shape(loss), constants.constant(np.inf, x.dtype))
    return casting.cast(selecting.where(too_few, endless, loss, name=name), given)


def _counted(labels: Any, label_length: TensorLike | None) -> tuple[Tensor, Tensor]:
    """Indices and values of the dense labels that count."""
    if label_length is None:
        raise ValueError("ctc_loss: label_length must be given for dense labels")
    dense = convert_to_tensor(labels)
    within = indicators.sequence_mask(convert_to_tensor(label_length), shapes.shape(dense)[1])
    indices = selecting.where(within)
    return indices, gathering.gather_nd(dense, indices)


def _op_labels(values: Tensor, blank: Any, *, sparse: bool) -> Tensor:
    """Labels by the op's numbers, in which the blank is the last class.

    A label that is the blank means the class before it, as in TensorFlow, except a dense 0.
    """
    numbers = selecting.where(values < blank, values, values - 1)
    if sparse:
        return numbers
    is_blank = logic.logical_and(comparison.equal(values, blank), comparison.equal(blank, 0))
    return selecting.where(is_blank, ctc.BLANK_AS_LABEL, numbers)


def ctc_greedy_decoder(
    inputs: TensorLike,
    sequence_length: TensorLike,
    merge_repeated: bool = True,
    blank_index: int | None = None,
) -> tuple[list[SparseTensor], Tensor]:
    """The labels along the greatest logit of every step, blanks left out.

    Args:
        inputs: [time, batch, classes], logits, float32 or float64.
        sequence_length: [batch], int32, how many steps count.
        merge_repeated: whether a label that goes on for several steps is one.
        blank_index: the class that says nothing; the last if None.

    Returns:
        One sparse matrix [batch, longest], int64, in a list; and [batch, 1], minus the sum of the
        logits along the way.

    Source:
        TensorFlow op `CTCGreedyDecoder` (ctc_ops.cc).
    """
    indices, values, shape, scores = execute(
        ctc.CTC_GREEDY_DECODER,
        inputs,
        sequence_length,
        merge_repeated=bool(merge_repeated),
        blank_index=-1 if blank_index is None else int(blank_index),
    )
    return [SparseTensor(indices, values, shape)], scores


def ctc_beam_search_decoder(
    inputs: TensorLike, sequence_length: TensorLike, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[SparseTensor], Tensor]:
    """The most probable labels over all alignments, by beam search; the last class is the blank.

    Args:
        inputs: [time, batch, classes], logits, float32 or float64.
        sequence_length: [batch], int32, how many steps count.
        beam_width: how many beginnings are kept from step to step.
        top_paths: how many answers to give, at most `beam_width`.

    Returns:
        For each path, the best first, a sparse matrix [batch, longest], int64; and [batch,
        top_paths], their log probabilities.

    Source:
        TensorFlow op `CTCBeamSearchDecoder` (ctc_ops.cc).
    """
    found = execute(
        ctc.CTC_BEAM_SEARCH_DECODER,
        inputs,
        sequence_length,
        beam_width=int(beam_width),
        top_paths=int(top_paths),
        merge_repeated=False,
    )
    indices, values, dense_shapes, scores = found
    matrices = [SparseTensor(*parts) for parts in zip(indices, values, dense_shapes, strict=True)]
    return matrices, scores


def collapse_repeated(
    labels: TensorLike, seq_length: TensorLike, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Remove consecutive duplicates of labels.

    Args:
        labels: [batch, length], integers.
        seq_length: [batch], how many entries of each row count.
        name: name of the node while tracing.

    Returns:
        [batch, longest], zeros after the labels of each row; and [batch], dtype of
        `seq_length`, how many.
    """
    x, counts = convert_to_tensor(labels), convert_to_tensor(seq_length)
    first = constants.ones_like(x[:, :1], dtype=dtypes.bool)
    changes = joining.concat([first, comparison.not_equal(x[:, 1:], x[:, :-1])], 1)
    changes = logic.logical_and(changes, indicators.sequence_mask(counts, shapes.shape(x)[1]))
    lengths = reduction.reduce_sum(casting.cast(changes, int32), 1)
    longest = reduction.reduce_max(lengths)
    kept = masking.boolean_mask(x, changes)
    places = selecting.where(indicators.sequence_mask(lengths, longest))
    sizes = joining.stack([shapes.shape(x, out_type=int64)[0], casting.cast(longest, int64)])
    full = scattering.scatter_nd(places, kept, sizes, name=name)
    return full, casting.cast(lengths, counts.dtype)


def ctc_unique_labels(labels: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The distinct labels of each row, in the order in which they come.

    Args:
        labels: [batch, length], integers.
        name: accepted for TensorFlow's sake.

    Returns:
        [batch, length], int64: the distinct labels, zeros behind them; [batch, length], int32:
        which of them each label is.
    """
    del name
    x = convert_to_tensor(labels)
    same = comparison.equal(reshaping.expand_dims(x, 2), reshaping.expand_dims(x, 1))
    # The first index of each label; the number of distinct labels before it is its number.
    length = shapes.shape(x, out_type=int64)[1]
    places = ranges.range(length)
    first = reduction.reduce_min(selecting.where(same, places, length), 2)
    is_first = casting.cast(comparison.equal(first, places), int64)
    number = cumulation.cumsum(is_first, axis=1) - is_first
    which = gathering.gather(number, first, batch_dims=1)
    # For each distinct number, its label: at the first position that has this number.
    hits = logic.logical_and(
        comparison.equal(reshaping.expand_dims(number, 1), reshaping.expand_dims(places, 1)),
        reshaping.expand_dims(comparison.equal(is_first, 1), 1),
    )
    wide = reshaping.expand_dims(casting.cast(x, int64), 1)
    distinct = reduction.reduce_sum(selecting.where(hits, wide, constants.zeros_like(wide)), 2)
    return distinct, casting.cast(which, int32)
