"""`tf.compat.v1.nn`: functions that version 2 changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.compat.v1.names import giver, lister
from pinnace.framework.convert import convert_to_tensor
from pinnace.ops.array import identities, permutations
from pinnace.ops.composites.sparse import SparseTensor
from pinnace.ops.execute import execute
from pinnace.ops.math import products
from pinnace.ops.nn import batch_norm, biases, ctc, dropouts, embedding, rectifiers
from pinnace.ops.nn import losses as _losses

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

_STRATEGIES = ("mod", "div")

fused_batch_norm = batch_norm.fused_batch_norm


def dropout(
    x: Any, keep_prob: Any = None, noise_shape: Any = None, seed: int | None = None,
    name: str | None = None, rate: Any = None,
) -> Tensor:  # fmt: skip
    """`x` with a share of its elements set to 0 and the others scaled up.

    Args:
        x: [...], any float dtype.
        keep_prob: the share that is kept, in (0, 1].
        noise_shape: shape of the random choices, broadcast to x; that of x if None.
        seed: seed of the choices.
        name: name of the node while tracing.
        rate: the share that is dropped, in place of keep_prob.

    Raises:
        ValueError: both or neither of keep_prob and rate are given.
    """
    if (keep_prob is None) == (rate is None):
        raise ValueError("dropout: keep_prob or rate must be given, one of the two")
    if rate is None:
        rate = 1 - keep_prob
    return dropouts.dropout(x, rate, noise_shape, seed, name)


def softmax_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, dim: int = -1, name: str | None = None,
    axis: int | None = None,
) -> Tensor:  # fmt: skip
    """Cross-entropy of mutually exclusive classes; labels get no gradient.

    Args:
        labels: [..., classes], each row a distribution.
        logits: the shape and dtype of the labels.
        dim: the axis of the classes.
        name: name of the node while tracing.
        axis: synonym of `dim`.
    """
    return _losses.softmax_cross_entropy_with_logits(
        labels=identities.stop_gradient(labels),
        logits=logits,
        axis=dim if axis is None else axis,
        name=name,
    )


def ctc_loss(
    labels: SparseTensor, inputs: Any = None, sequence_length: Any = None,
    preprocess_collapse_repeated: bool = False, ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False, time_major: bool = True, logits: Any = None,
) -> Tensor:  # fmt: skip
    """-log p(labels), summed over all alignments with the given steps; the last class is the blank.

    Args:
        labels: sparse [batch, length], int32.
        inputs: [time, batch, classes], logits, float32 or float64.
        sequence_length: [batch], how many steps count.
        preprocess_collapse_repeated: whether repeated labels count once.
        ctc_merge_repeated: whether repeated classes of an alignment are one label.
        ignore_longer_outputs_than_inputs: whether too few steps give 0, not an error.
        time_major: False for inputs [batch, time, classes].
        logits: synonym of `inputs`.

    Returns:
        [batch], dtype of `inputs`.
    """
    x = convert_to_tensor(inputs if logits is None else logits)
    loss, _ = execute(
        ctc.CTC_LOSS,
        x if time_major else permutations.transpose(x, [1, 0, 2]),
        labels.indices,
        labels.values,
        sequence_length,
        preprocess_collapse_repeated=preprocess_collapse_repeated,
        ctc_merge_repeated=ctc_merge_repeated,
        ignore_longer_outputs_than_inputs=ignore_longer_outputs_than_inputs,
    )
    return loss  # type: ignore[no-any-return]  # as `execute` gives what an op has


def ctc_beam_search_decoder(
    inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1,
    merge_repeated: bool = True,
) -> tuple[list[SparseTensor], Tensor]:  # fmt: skip
    """The most probable labels over all alignments, by beam search; the last class is the blank.

    Args:
        inputs: [time, batch, classes], logits, float32 or float64.
        sequence_length: [batch], int32, how many steps count.
        beam_width: how many beginnings are kept from step to step.
        top_paths: how many answers to give, at most `beam_width`.
        merge_repeated: whether repeated labels of an answer are one.

    Returns:
        For each path, the best first, a sparse matrix [batch, longest], int64; and [batch,
        top_paths], their log probabilities.
    """
    *parts, scores = execute(
        ctc.CTC_BEAM_SEARCH_DECODER,
        inputs,
        sequence_length,
        beam_width=beam_width,
        top_paths=top_paths,
        merge_repeated=merge_repeated,
    )
    return [SparseTensor(*path) for path in zip(*parts, strict=True)], scores


def embedding_lookup(
    params: Any, ids: Any, partition_strategy: str = "mod", name: str | None = None,
    validate_indices: bool = True, max_norm: float | None = None,
) -> Tensor:  # fmt: skip
    """The rows of a table at `ids`.

    Args:
        params: [rows, ...]; or a list of one such.
        ids: [...], int32 or int64, in [0, rows).
        partition_strategy: "mod" or "div": how the rows of several tables are numbered. Of one
            table both are the same.
        name: name of the node while tracing.
        validate_indices: without effect: they always are.
        max_norm: rows longer than this are scaled down to it.

    Raises:
        ValueError: the strategy is unknown, or several tables are numbered by "mod".
    """
    del validate_indices
    if partition_strategy not in _STRATEGIES:
        raise ValueError(
            "embedding_lookup: partition_strategy must be 'mod' or 'div', "
            f"got {partition_strategy!r}"
        )
    several = isinstance(params, (list, tuple)) and len(params) > 1
    if several and partition_strategy == "mod":
        raise ValueError(
            f"embedding_lookup: {len(params)} tables numbered by 'mod' are not looked up here\n"
            "  Try: one table, or partition_strategy='div'"
        )
    return embedding.embedding_lookup(params, ids, max_norm, name)


def relu_layer(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """max(0, x @ weights + biases)."""
    return rectifiers.relu(xw_plus_b(x, weights, biases), name=name)


def xw_plus_b(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """x @ weights + biases; x [batch, in], weights [in, out], biases [out]."""
    product = products.matmul(x, weights)
    return _biases_added(product, biases, name)


def _biases_added(x: Any, added: Any, name: str | None) -> Tensor:
    return biases.bias_add(x, convert_to_tensor(added), name=name)


__getattr__ = giver("tf.nn", globals())
__dir__ = lister("tf.nn", globals())
