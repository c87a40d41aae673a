"""`keras.applications.imagenet_utils`: preprocessing of images, decoding of predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.keras import ops
from pinnace.keras.applications import published
from pinnace.keras.config import floatx, image_data_format

if TYPE_CHECKING:
    from collections.abc import Sequence

_MODES = ("caffe", "tf", "torch")
_FORMATS = ("channels_first", "channels_last")
# ImageNet's means: blue, green, red for values in [0, 255]; red, green, blue for [0, 1].
_CAFFE_MEAN = (103.939, 116.779, 123.68)
_TORCH_MEAN = (0.485, 0.456, 0.406)
_TORCH_DEVIATION = (0.229, 0.224, 0.225)


def preprocess_input(x: Any, data_format: str | None = None, mode: str = "caffe") -> Any:
    """Images in the form that networks were trained on.

    Args:
        x: [height, width, 3] or [batch, height, width, 3], or with the channels first; red, green,
            blue in 0 to 255. A NumPy array of floats is written over, as Keras does.
        data_format: `channels_last` or `channels_first`; None is `keras.config`'s.
        mode: `caffe`: blue, green, red, less ImageNet's means. `tf`: -1 to 1. `torch`: 0 to 1, less
            ImageNet's means, by its standard deviations.

    Returns:
        The shape of `x`; an array of integers becomes one of `floatx()`.

    Raises:
        ValueError: unknown mode or data format.
    """
    if mode not in _MODES:
        raise ValueError(f"preprocess_input: mode must be caffe, tf or torch, got {mode!r}")
    if data_format is None:
        data_format = image_data_format()
    elif data_format not in _FORMATS:
        raise ValueError(
            "preprocess_input: data_format must be channels_first or channels_last, got "
            f"{data_format!r}"
        )
    axis = -3 if data_format == "channels_first" else -1
    if isinstance(x, np.ndarray):
        return _scaled_array(x, axis, mode)
    return _scaled_tensor(x, axis, mode)


def decode_predictions(preds: Any, top: int = 5) -> list[list[tuple[Any, ...]]]:
    """The likeliest classes of ImageNet for each picture, with their names.

    Args:
        preds: [batch, 1000], probabilities.
        top: the number.

    Returns:
        For each picture a list of (WordNet name, description, probability), the most probable
        first.

    Raises:
        ValueError: `preds` has another shape.
        NotFoundError: the table of classes, `imagenet_class_index.json`, is not in Keras' cache and
            cannot be fetched.
    """
    if len(preds.shape) != 2 or preds.shape[1] != 1000:
        raise ValueError(
            f"decode_predictions: preds must have shape [batch, 1000], got {list(preds.shape)}"
        )
    classes = published.classes_of_imagenet("decode_predictions")
    found = []
    for scores in np.asarray(preds):
        best = scores.argsort()[-top:][::-1]
        named = [(*classes[str(index)], scores[index]) for index in best]
        found.append(sorted(named, key=lambda one: one[-1], reverse=True))
    return found


def _scaled_array(x: Any, axis: int, mode: str) -> Any:
    if not np.issubdtype(x.dtype, np.floating):
        x = x.astype(floatx())
    if mode == "tf":
        x /= 127.5
        x -= 1.0
        return x
    if mode == "caffe":
        x = np.flip(x, axis)
    else:
        x /= 255.0
    for channels, mean in zip(_channels(x, axis), _mean(mode), strict=True):
        channels -= mean
    if mode == "torch":
        for channels, deviation in zip(_channels(x, axis), _TORCH_DEVIATION, strict=True):
            channels /= deviation
    return x


def _channels(x: Any, axis: int) -> list[Any]:
    """Views of an array's three channels."""
    moved = np.moveaxis(x, axis, 0)
    return [moved[index, ...] for index in range(3)]


def _mean(mode: str) -> tuple[float, ...]:
    return _CAFFE_MEAN if mode == "caffe" else _TORCH_MEAN


def _scaled_tensor(x: Any, axis: int, mode: str) -> Any:
    # The same steps as in Keras: on a KerasTensor each becomes a named node of the model.
    if mode == "tf":
        return x / 127.5 - 1.0
    if mode == "torch":
        x = x / 255.0
    else:
        # Keras: for channels first the axis is counted from the front, for channels last from the
        # back.
        before = (slice(None),) * (len(x.shape) - 3)
        keys = [(..., index) if axis == -1 else (*before, index) for index in (2, 1, 0)]
        place = axis if axis == -1 else len(before)
        x = ops.stack([x[key] for key in keys], axis=place)
    x = x + _beside([-mean for mean in _mean(mode)], x, axis)
    return x / _beside(_TORCH_DEVIATION, x, axis) if mode == "torch" else x


def _beside(values: Sequence[float], x: Any, axis: int) -> Any:
    """A value per channel, with axes that broadcast against x."""
    sizes = [1] * len(x.shape)
    sizes[axis] = len(values)
    return ops.convert_to_tensor(np.reshape(values, sizes), dtype=x.dtype)
