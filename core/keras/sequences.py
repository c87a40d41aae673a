"""Sequences for models: padded to one length, or windows of a time series."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.ops.array import gathering

if TYPE_CHECKING:
    from collections.abc import Sequence


def pad_sequences(
    sequences: Sequence[Any],
    maxlen: int | None = None,
    dtype: Any = "int32",
    padding: str = "pre",
    truncating: str = "pre",
    value: Any = 0.0,
) -> Any:
    """Sequences of different lengths, padded to one array.

    Args:
        sequences: lists or arrays [length, ...]; the sizes behind the length are equal.
        maxlen: the length of all; that of the longest if None.
        dtype: dtype of the array; `object` for text.
        padding: whether short sequences are padded before (`pre`) or behind (`post`).
        truncating: whether the beginning (`pre`) or the end (`post`) of long sequences is cut off.
        value: the fill value.

    Returns:
        An array [len(sequences), maxlen, ...].

    Raises:
        ValueError: unknown word, something without a length, or sizes that differ.
    """
    for what, word in (("padding", padding), ("truncating", truncating)):
        if word not in {"pre", "post"}:
            raise ValueError(f"pad_sequences: {what} must be 'pre' or 'post', got {word!r}")
    for index, one in enumerate(sequences):
        if not hasattr(one, "__len__"):
            raise ValueError(f"pad_sequences: sequence {index} must have a length, got {one!r}")
    length = max((len(one) for one in sequences), default=0) if maxlen is None else maxlen
    inner = next((np.asarray(one).shape[1:] for one in sequences if len(one)), ())
    text = np.issubdtype(np.dtype(dtype), np.str_)
    if isinstance(value, str) and not text and np.dtype(dtype) != np.dtype(object):
        raise ValueError(
            f"pad_sequences: `dtype` {np.dtype(dtype)} is not compatible with value {value!r}, "
            "which is text\n"
            "  Try: dtype=object"
        )
    out = np.full((len(sequences), length, *inner), value, dtype)
    for index, one in enumerate(sequences):
        if not len(one) or not length:
            continue
        kept = np.asarray(one[-length:] if truncating == "pre" else one[:length], dtype)
        if kept.shape[1:] != inner:
            raise ValueError(
                f"pad_sequences: sequence {index} must have elements of shape {list(inner)}, "
                f"got {list(kept.shape[1:])}"
            )
        if padding == "post":
            out[index, : len(kept)] = kept
        else:
            out[index, -len(kept) :] = kept
    return out


def check_dataset_format(name: str, format: Any) -> None:
    """Raise for a format that is not one of datasets, or that belongs to another library.

    Args:
        name: name of the function, for messages.
        format: the requested format.

    Raises:
        NotImplementedError: Grain's datasets.
        ValueError: anything else but `tf`.
    """
    if format == "grain":
        raise NotImplementedError(
            f"{name}: format='grain' asks for a dataset of the library Grain, which is not used "
            "here\n  Try: format='tf', and as_numpy_iterator() of the Dataset"
        )
    if format != "tf":
        raise ValueError(f"{name}: `format` should be 'tf', got {format!r}")


def timeseries_dataset_from_array(
    data: Any,
    targets: Any,
    sequence_length: int,
    sequence_stride: int = 1,
    sampling_rate: int = 1,
    batch_size: int | None = 128,
    shuffle: bool = False,
    seed: int | None = None,
    start_index: int | None = None,
    end_index: int | None = None,
    format: str = "tf",
) -> Any:
    """Windows of a time series in batches, each with the target of its first step.

    Args:
        data: [steps, ...].
        targets: [steps, ...], or None for windows alone.
        sequence_length: steps in a window.
        sequence_stride: steps from one window to the next.
        sampling_rate: steps from one element of a window to the next.
        batch_size: windows to a batch; None for single ones.
        shuffle: whether the windows come in another order in each epoch.
        seed: seed of the shuffling.
        start_index: the first step to use.
        end_index: the first step not to use.
        format: must be `tf`.

    Returns:
        A Dataset of [batch, sequence_length, ...], with targets if there are any.

    Raises:
        NotImplementedError: `format="grain"`.
        ValueError: a number that does not fit the data; another format.
    """
    from pinnace.data import AUTOTUNE, Dataset  # most models are fed with arrays

    name, count = "timeseries_dataset_from_array", len(data)
    check_dataset_format(name, format)
    for what, number, least, most in (
        ("sequence_length", sequence_length, 1, None),
        ("sequence_stride", sequence_stride, 1, count - 1),
        ("sampling_rate", sampling_rate, 1, count - 1),
        ("start_index", start_index, 0, count - 1),
        ("end_index", end_index, (start_index or 0) + 1, count - 1),
    ):
        if number is not None and (number < least or (most is not None and number > most)):
            end = f" and at most {most}" if most is not None else ""
            raise ValueError(f"{name}: `{what}` must be at least {least}{end}, got {number}")
    first = start_index or 0
    span = (count if end_index is None else end_index) - first
    positions = span - (sequence_length - 1) * sampling_rate
    if targets is not None:
        positions = min(positions, len(targets) - first)
    starts = np.arange(0, max(positions, 0), sequence_stride, dtype=np.int32)
    if shuffle:
        seed = int(np.random.default_rng().integers(1_000_000)) if seed is None else seed
        np.random.RandomState(seed).shuffle(starts)
    steps = np.arange(0, sequence_length * sampling_rate, sampling_rate, dtype=np.int32)
    series = convert_to_tensor(data)
    wanted = None if targets is None else convert_to_tensor(targets)

    def window(start: Any) -> Any:
        found = gathering.gather(series, start + steps + first)
        return found if wanted is None else (found, gathering.gather(wanted, start + first))

    windows: Any = Dataset.from_tensor_slices(starts).map(window, num_parallel_calls=AUTOTUNE)
    if shuffle:
        windows = windows.shuffle((batch_size or 128) * 8, seed=seed)
    if batch_size is not None:
        windows = windows.batch(batch_size)
    return windows.prefetch(AUTOTUNE)
