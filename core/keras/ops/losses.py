"""Cross-entropies per sample, connectionist temporal classification, multi-hot rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.dtype_policy import floatx
from pinnace.keras.losses import probabilities, sequences
from pinnace.keras.ops.operation import operation
from pinnace.keras.result_types import result_type
from pinnace.ops.array import casting, indicators, joining, permutations, selecting, shapes
from pinnace.ops.math import reduction

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


def _alike(name: str, target: Any, output: Any) -> tuple[Tensor, Tensor]:
    truth, told = convert_to_tensor(target), convert_to_tensor(output)
    if not truth.shape.is_compatible_with(told.shape):
        raise ValueError(
            f"keras.ops.{name}: target and output must have one shape, got {truth.shape.text} and "
            f"{told.shape.text}"
        )
    return truth, told


@operation("nn", "BinaryCrossentropy", "from_logits")
def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> Tensor:
    """-target log(output) - (1 - target) log(1 - output), element by element.

    Args:
        target: [...], 0 to 1.
        output: the shape of `target`: probabilities, or logits.
        from_logits: whether sigmoid is still to be applied to `output`.

    Returns:
        The shape of `target`.

    Raises:
        ValueError: the shapes differ.
    """
    truth, told = _alike("binary_crossentropy", target, output)
    return probabilities.binary_of_elements(truth, told, from_logits)


@operation("nn", "CategoricalCrossentropy", "from_logits", "axis")
def categorical_crossentropy(
    target: Any, output: Any, from_logits: bool = False, axis: int = -1
) -> Tensor:
    """-sum(target log(output)) along the class axis.

    Args:
        target: [..., classes], one-hot or probabilities.
        output: the shape of `target`: probabilities, or logits.
        from_logits: whether softmax is still to be applied to `output`.
        axis: axis of the classes.

    Returns:
        [...] without the axis of the classes.

    Raises:
        ValueError: the shapes differ.
    """
    truth, told = _alike("categorical_crossentropy", target, output)
    return probabilities.categorical_crossentropy(truth, told, from_logits, axis=axis)


@operation("nn", "SparseCategoricalCrossentropy", "from_logits", "axis")
def sparse_categorical_crossentropy(
    target: Any, output: Any, from_logits: bool = False, axis: int = -1
) -> Tensor:
    """-log(output of the target class).

    Args:
        target: [...], class numbers; a last axis of size 1 is dropped.
        output: [..., classes]: probabilities, or logits.
        from_logits: whether softmax is still to be applied to `output`.
        axis: axis of the classes: the last one.

    Returns:
        [...] without the axis of the classes.

    Raises:
        ValueError: unsupported axis.
    """
    return probabilities.sparse_categorical_crossentropy(target, output, from_logits, axis=axis)


@operation("nn", "CTCLoss", "mask_index")
def ctc_loss(
    target: Any, output: Any, target_length: Any, output_length: Any, mask_index: int = 0
) -> Tensor:
    """-log p(labels), summed over all alignments with the given steps.

    Args:
        target: [batch, length], labels.
        output: [batch, steps, classes], logits.
        target_length: [batch], how many labels count.
        output_length: [batch], how many steps count.
        mask_index: the blank class.

    Returns:
        [batch], a float type.
    """
    return sequences.ctc_of_lengths(target, output, target_length, output_length, mask_index)


@operation(
    "nn",
    "CTCDecode",
    *("strategy", "beam_width", "top_paths", "merge_repeated", "mask_index"),
)
def ctc_decode(
    inputs: Any,
    sequence_lengths: Any,
    strategy: str = "greedy",
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
    mask_index: int | None = 0,
) -> tuple[Tensor, Tensor]:
    """The most probable labels of the steps.

    Args:
        inputs: [batch, steps, classes], logits.
        sequence_lengths: [batch], how many steps count.
        strategy: "greedy", the best class of each step, or "beam_search".
        beam_width: how many beginnings are followed at a time.
        top_paths: how many readings are given, of "beam_search".
        merge_repeated: whether one label in neighbouring steps is one, of "greedy".
        mask_index: the blank class; the last one if None.

    Returns:
        The labels [top_paths, batch, steps], int32, filled up with -1; and the scores
        [batch, top_paths]: logarithms of probabilities, of "greedy" the negative sum of the best
        logits.

    Raises:
        ValueError: unknown strategy.
    """
    from pinnace.ops.composites import ctc  # late: few models have it
    from pinnace.ops.composites.sparse.functions import to_dense
    from pinnace.ops.composites.sparse.tensor import SparseTensor

    tensor: Tensor = convert_to_tensor(inputs)
    tensor = casting.cast(tensor, result_type(tensor.dtype, "float32"))
    batch, steps, classes = shapes.axis_sizes(tensor)
    logits = permutations.transpose(tensor, [1, 0, 2])
    lengths = casting.cast(sequence_lengths, dtypes.int32)
    if strategy == "greedy":
        found, scores = ctc.ctc_greedy_decoder(logits, lengths, merge_repeated, mask_index)
    elif strategy == "beam_search":
        if mask_index is not None:
            # The decoder has the class of no label last.
            mask_index = mask_index % classes
            parts = logits[..., :mask_index], logits[..., mask_index + 1 :]
            logits = joining.concat([*parts, logits[..., mask_index : mask_index + 1]], -1)
        found, scores = ctc.ctc_beam_search_decoder(logits, lengths, beam_width, top_paths)
    else:
        raise ValueError(
            f"keras.ops.ctc_decode: strategy must be greedy or beam_search, got {strategy!r}"
        )
    shape = casting.cast(joining.stack([batch, steps]), dtypes.int64)
    wide = [to_dense(SparseTensor(x.indices, x.values, shape), default_value=-1) for x in found]
    labels = casting.cast(joining.stack(wide), dtypes.int32)
    if strategy == "beam_search" and mask_index is not None:
        labels = selecting.where(labels >= mask_index, labels + 1, labels)
    return labels, scores


def multi_hot(
    inputs: Any,
    num_classes: int | None = None,
    axis: int = -1,
    dtype: Any = None,
    sparse: bool = False,
    **kwargs: Any,
) -> Any:
    """1 at each class index of a row, else 0.

    Args:
        inputs: [n], or [batch, n]: class numbers; negative ones count for nothing.
        num_classes: size of the new axis.
        axis: position of the new axis in the result.
        dtype: dtype of the result; the default float type if None.
        sparse: whether the result is a SparseTensor.
        **kwargs: `num_tokens`, the older name of `num_classes`.

    Returns:
        [num_classes], or [batch, num_classes].

    Raises:
        ValueError: `num_classes` is not given.
        TypeError: unknown keyword.
    """
    num_classes = kwargs.pop("num_tokens", None) if num_classes is None else num_classes
    if kwargs:
        raise TypeError(f"keras.ops.multi_hot: there is no argument {', '.join(map(repr, kwargs))}")
    if num_classes is None:
        raise ValueError("keras.ops.multi_hot: num_classes must be given")
    return _multi_hot(inputs, num_classes, axis, dtype or floatx(), sparse)


@operation("nn", "MultiHot", "num_classes", "axis", "dtype", "sparse")
def _multi_hot(inputs: Any, num_classes: int, axis: int, dtype: Any, sparse: bool = False) -> Any:
    numbers: Tensor = convert_to_tensor(inputs)
    kind = dtypes.as_dtype(dtype)
    inner = dtypes.int32 if kind is dtypes.bool else kind
    rows = indicators.one_hot(
        casting.cast(numbers, dtypes.int64), num_classes, axis=axis, dtype=inner
    )
    over = 1 if (numbers.shape.rank or 1) > 1 else 0
    found = casting.cast(reduction.reduce_max(rows, over), kind)
    if not sparse:
        return found
    from pinnace.ops.composites.sparse.functions import from_dense  # late: few ask for it

    return from_dense(found)
