"""CTC: the loss of sequences with known labels and an unknown alignment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.losses.loss import PlainLoss
from pinnace.keras.result_types import result_type
from pinnace.ops.array import casting, constants, shapes
from pinnace.ops.math import comparison
from pinnace.ops.math import reduction as reductions

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

# The blank class, which also pads short rows of labels.
_BLANK = 0


def ctc(y_true: Any, y_pred: Any) -> Tensor:
    """-log p(labels), summed over all alignments with the given steps.

    Args:
        y_true: [batch, labels], numbers of classes; 0 fills up.
        y_pred: [batch, steps, classes], logits; class 0 is the blank.

    Returns:
        [batch].

    Raises:
        ValueError: other ranks.
    """
    logits, labels = convert_to_tensor(y_pred), convert_to_tensor(y_true)
    if labels.shape.rank != 2 or logits.shape.rank != 3:
        raise ValueError(
            "ctc: y_true must be [batch, labels] and y_pred [batch, steps, classes], got shapes "
            f"{labels.shape.text} and {logits.shape.text}"
        )
    labels = casting.cast(labels, dtypes.int32)
    said = casting.cast(comparison.not_equal(labels, _BLANK), dtypes.int32)
    sizes = shapes.shape(logits)
    return ctc_of_lengths(
        labels,
        logits,
        reductions.reduce_sum(said, -1),
        constants.fill([sizes[0]], sizes[1]),
        _BLANK,
    )


def ctc_of_lengths(
    labels: Any, output: Any, label_length: Any, output_length: Any, blank: int
) -> Tensor:
    """-log p(labels) of each sample, [batch]; see `keras.ops.ctc_loss`.

    Args:
        labels: [batch, labels], numbers of classes.
        output: [batch, steps, classes], logits.
        label_length: [batch], how many labels count.
        output_length: [batch], how many steps count.
        blank: the blank class.
    """
    from pinnace.ops.composites import ctc as losses  # loaded only by models that have it

    logits: Tensor = convert_to_tensor(output)
    kind = result_type(logits.dtype, "float32")
    loss = losses.ctc_loss(
        casting.cast(labels, dtypes.int32),
        casting.cast(logits, "float32" if kind == "float64" else kind),
        label_length,
        output_length,
        logits_time_major=False,
        blank_index=blank,
    )
    return casting.cast(loss, kind)


class CTC(PlainLoss):
    """-log p(labels); see `ctc`."""

    _plain = staticmethod(ctc)

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """The loss of each sample."""
        return self.fn(y_true, y_pred)
