"""Losses over samples of many classes: nce_loss, sampled_softmax_loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import int64
from pinnace.ops.array import casting, constants, identities, joining, reshaping, scattering, shapes
from pinnace.ops.math import arithmetic, exponents, products, reduction
from pinnace.ops.nn import embedding, losses
from pinnace.ops.random import candidates

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor, TensorLike

__all__ = ["nce_loss", "sampled_softmax_loss"]


def nce_loss(
    weights: Any,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = False,
    name: str | None = "nce_loss",
) -> Tensor:
    """Noise-contrastive estimation: true classes against sampled ones.

    Args:
        weights: [num_classes, dim], or a list of parts of it.
        biases: [num_classes].
        labels: [batch, num_true], int64: the right classes.
        inputs: [batch, dim].
        num_sampled: how many classes are drawn for the batch.
        num_classes: how many there are.
        num_true: how many right ones each row has.
        sampled_values: the result of a candidate sampler; by default of the log-uniform one.
        remove_accidental_hits: whether classes drawn that are right do not count.
        name: name of the node while tracing.

    Returns:
        [batch], the sum of sigmoid cross entropies.

    Source:
        TensorFlow `tf.nn.nce_loss`; Gutmann and Hyvärinen, 2010.
    """
    logits, targets = _logits(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
        None,
    )
    each = losses.sigmoid_cross_entropy_with_logits(targets, logits)
    return reduction.reduce_sum(each, 1, name=name)


def sampled_softmax_loss(
    weights: Any,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = True,
    seed: int | None = None,
    name: str | None = "sampled_softmax_loss",
) -> Tensor:
    """Softmax cross-entropy over the true classes and sampled ones.

    Args and results are those of `nce_loss`; `seed` is that of the sampler.

    Args:
        weights: [classes, n], or a list of parts of it.
        biases: [classes].
        labels: [batch, num_true], int64: the right classes.
        inputs: [batch, n].
        num_sampled: how many classes are drawn.
        num_classes: how many classes there are.
        num_true: right classes of each example.
        sampled_values: the result of a candidate sampler; log-uniform ones if None.
        remove_accidental_hits: whether drawn classes that are right do not count.
        seed: seed of the sampler.
        name: name of the node while tracing.

    Returns:
        [batch], the loss of each example.

    Source:
        TensorFlow `tf.nn.sampled_softmax_loss`; Jean and others, 2014.
    """
    logits, targets = _logits(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
        seed,
    )
    fixed = identities.stop_gradient(targets)
    return losses.softmax_cross_entropy_with_logits(fixed, logits, name=name)


def _logits(
    weights: Any,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int,
    sampled_values: Any,
    remove_accidental_hits: bool,
    seed: int | None,
) -> tuple[Tensor, Tensor]:
    """Logits of the true classes, then of the sampled ones, with their labels."""
    x = convert_to_tensor(inputs)
    right = casting.cast(convert_to_tensor(labels), int64)
    if sampled_values is None:
        sampled_values = candidates.log_uniform_candidate_sampler(
            right, num_true, num_sampled, True, num_classes, seed
        )
    drawn, right_count, drawn_count = (
        identities.stop_gradient(convert_to_tensor(part)) for part in sampled_values
    )
    drawn = casting.cast(drawn, int64)
    flat = reshaping.reshape(right, [-1])
    ids = joining.concat([flat, drawn], 0)
    count = shapes.shape(flat)[0]
    rows = casting.cast(embedding.embedding_lookup(weights, ids), x.dtype)
    offsets = casting.cast(embedding.embedding_lookup(biases, ids), x.dtype)
    right_rows, drawn_rows = rows[:count], rows[count:]
    right_offsets, drawn_offsets = offsets[:count], offsets[count:]
    by_row = reshaping.reshape(right_rows, [-1, num_true, shapes.shape(x)[1]])
    dots = reduction.reduce_sum(arithmetic.multiply(x[:, None], by_row), 2)
    right_logits = dots + reshaping.reshape(right_offsets, [-1, num_true])
    drawn_logits = products.matmul(x, drawn_rows, transpose_b=True) + drawn_offsets
    if remove_accidental_hits:
        lines, places, hits = candidates.compute_accidental_hits(right, drawn, num_true)
        at = joining.stack([casting.cast(lines, int64), places], 1)
        sizes = shapes.shape(drawn_logits, out_type=int64)
        hits = casting.cast(hits, x.dtype)
        # A class may be listed twice among a row's true ones: set entries, do not add.
        blank = constants.zeros(sizes, x.dtype)
        drawn_logits += scattering.tensor_scatter_nd_update(blank, at, hits)
    right_logits -= casting.cast(exponents.log(right_count), x.dtype)
    drawn_logits -= casting.cast(exponents.log(drawn_count), x.dtype)
    targets = joining.concat(
        [constants.ones_like(right_logits) / num_true, constants.zeros_like(drawn_logits)], 1
    )
    return joining.concat([right_logits, drawn_logits], 1), targets
