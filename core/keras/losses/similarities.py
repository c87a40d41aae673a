"""Embedding losses: small distances within a class, large ones between classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.keras import masks as _masks
from pinnace.keras.losses.loss import LossFunctionWrapper
from pinnace.ops.array import casting, permutations, reshaping, selecting, shapes
from pinnace.ops.linalg import bands
from pinnace.ops.math import arithmetic, comparison, logic, products, statistics
from pinnace.ops.nn import smooth

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


def circle(
    y_true: Any,
    y_pred: Any,
    ref_labels: Any = None,
    ref_embeddings: Any = None,
    remove_diagonal: bool = True,
    gamma: float = 80,
    margin: float = 0.4,
) -> Tensor:
    """log(1 + Σ exp(γ (1 + m - d)(1 - m - d)) Σ exp(-γ (m + d)(m - d))), d the cosine distances.

    The first sum goes over the references of other classes, the second over those of the same one.

    Args:
        y_true: [n] or [n, 1], numbers of classes.
        y_pred: [n, size], embeddings of length 1.
        ref_labels: [k], the classes of the references; `y_true` if None.
        ref_embeddings: [k, size], of length 1; `y_pred` if None.
        remove_diagonal: whether an embedding is no reference of itself.
        gamma: how steep it is.
        margin: the distance up to which equal classes may be apart.

    Returns:
        [n], dtype of `y_pred`; zeros are masked, so that the mean leaves them out.

    Source:
        Sun et al. 2020, Circle Loss; Keras `circle`.
    """
    y_pred = convert_to_tensor(y_pred)
    references = y_pred if ref_embeddings is None else convert_to_tensor(ref_embeddings)
    labels = _column(y_true)
    others = labels if ref_labels is None else _column(ref_labels)
    distance = arithmetic.maximum(1 - products.matmul(y_pred, references, transpose_b=True), 0.0)
    same = comparison.equal(labels, permutations.transpose(others))
    different = logic.logical_not(same)
    if remove_diagonal:
        itself = bands.eye(shapes.size(labels), shapes.size(others), dtype=dtypes.bool)
        same = logic.logical_and(same, logic.logical_not(itself))
    near = -gamma * arithmetic.maximum(margin + distance, 0.0) * (margin - distance)
    far = gamma * arithmetic.maximum(1 + margin - distance, 0.0) * (1 - margin - distance)
    loss = smooth.softplus(_logsumexp_where(same, near) + _logsumexp_where(different, far))
    _masks.attach(loss, comparison.greater(loss, 0))
    return loss


def _column(labels: Any) -> Tensor:
    labels = casting.cast(convert_to_tensor(labels), dtypes.int32)
    return reshaping.reshape(labels, (-1, 1)) if labels.shape.rank == 1 else labels


def _logsumexp_where(taken: Tensor, x: Tensor) -> Tensor:
    return statistics.reduce_logsumexp(selecting.where(taken, x, float("-inf")), 1)


class Circle(LossFunctionWrapper):
    """The circle loss of embeddings; see `circle`.

    Args:
        gamma: how steep it is.
        margin: the distance up to which equal classes may be apart.
        remove_diagonal: whether an embedding is no reference of itself.
        reduction: see Loss.
        name: name in logs.
        dtype: dtype that it computes in.
    """

    def __init__(
        self,
        gamma: float = 80.0,
        margin: float = 0.4,
        remove_diagonal: bool = True,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "circle",
        dtype: Any = None,
    ) -> None:
        super().__init__(
            circle,
            reduction=reduction,
            name=name,
            dtype=dtype,
            gamma=gamma,
            margin=margin,
            remove_diagonal=remove_diagonal,
        )
        self.gamma = gamma
        self.margin = margin
        self.remove_diagonal = remove_diagonal

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        own = {"gamma": self.gamma, "margin": self.margin}
        return {**super().get_config(), **own, "remove_diagonal": self.remove_diagonal}
