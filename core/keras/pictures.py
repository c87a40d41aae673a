"""Conversion between Pillow images and arrays."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.extras import install_command
from pinnace.keras.image_format import checked_format

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MODES = {"grayscale": "L", "rgb": "RGB", "rgba": "RGBA"}
_METHODS = ("bicubic", "bilinear", "box", "hamming", "lanczos", "nearest")


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise ImportError(f"pictures need Pillow\n  Try: {install_command('image')}") from None
    return Image


def load_img(
    path: Any,
    color_mode: str = "rgb",
    target_size: tuple[int, int] | None = None,
    interpolation: str = "nearest",
    keep_aspect_ratio: bool = False,
) -> Any:
    """The picture in a file.

    Args:
        path: path of the file, or an `io.BytesIO` of its bytes.
        color_mode: `grayscale` (16 and 32 bits are kept), `rgb` or `rgba`.
        target_size: (height, width) to give it; its own if None.
        interpolation: `nearest`, `bilinear`, `bicubic`, `lanczos`, `box` or `hamming`.
        keep_aspect_ratio: whether it is cropped at its middle instead of distorted.

    Returns:
        An image of Pillow.

    Raises:
        TypeError: `path` is neither.
        ValueError: unknown mode or interpolation.
        ImportError: Pillow is missing.
    """
    if color_mode not in _MODES:
        raise ValueError(
            f"load_img: color_mode must be one of {', '.join(_MODES)}, got {color_mode!r}"
        )
    if interpolation not in _METHODS:
        raise ValueError(
            f"load_img: interpolation must be one of {', '.join(_METHODS)}, got {interpolation!r}"
        )
    if not isinstance(path, (str, os.PathLike, io.BytesIO)):
        raise TypeError(f"load_img: path must be a path or a BytesIO, got {type(path).__name__}")
    pillow = _pillow()
    with pillow.open(path) as file:
        file.load()
        deep = color_mode == "grayscale" and file.mode in {"I;16", "I"}
        picture = file.copy() if deep else file.convert(_MODES[color_mode])
    if target_size is None:
        return picture
    height, width = target_size
    method = getattr(pillow.Resampling, interpolation.upper())
    if keep_aspect_ratio:
        wide, tall = picture.size
        cut_tall, cut_wide = min(tall, wide * height // width), min(wide, tall * width // height)
        left, top = (wide - cut_wide) // 2, (tall - cut_tall) // 2
        box = (left, top, left + cut_wide, top + cut_tall)
        return picture.resize((width, height), method, box=box)
    return picture if picture.size == (width, height) else picture.resize((width, height), method)


def img_to_array(img: Any, data_format: str | None = None, dtype: Any = None) -> NDArray[Any]:
    """An image of Pillow as [height, width, channels], float32 unless `dtype` is given.

    Args:
        img: the image, or an array of two or three axes.
        data_format: `channels_first` moves the channels to the front.
        dtype: dtype of the array.

    Raises:
        ValueError: unknown data format, or an array of other axes.
    """
    array = np.asarray(img, np.float32 if dtype is None else dtype)
    if array.ndim not in {2, 3}:
        raise ValueError(f"img_to_array: img must have 2 or 3 axes, got {array.ndim}")
    if array.ndim == 2:
        array = array[..., None]
    return array.transpose(2, 0, 1) if _first("img_to_array", data_format) else array


def array_to_img(
    x: Any, data_format: str | None = None, scale: bool = True, dtype: Any = None
) -> Any:
    """An image of Pillow of an array [height, width, channels], 1, 3 or 4 channels.

    Args:
        x: numbers; they are shown from the least, black, to the largest, white.
        data_format: `channels_first` if the channels come first.
        scale: whether they are; numbers from 0 to 255 if not.
        dtype: to compute in; float32 if None.

    Raises:
        ValueError: wrong shape or data format.
        ImportError: Pillow is missing.
    """
    array = np.asarray(x, np.float32 if dtype is None else dtype)
    if array.ndim != 3:
        raise ValueError(f"array_to_img: x must have 3 axes, got shape {list(array.shape)}")
    if _first("array_to_img", data_format):
        array = array.transpose(1, 2, 0)
    if scale:
        array = array - array.min()
        most = array.max()
        array = array / most * 255 if most else array
    if array.shape[-1] == 1:
        if array.size and array.max() > 255:
            return _pillow().fromarray(array[..., 0].astype(np.int32))
        return _pillow().fromarray(array[..., 0].astype(np.uint8))
    if array.shape[-1] not in {3, 4}:
        raise ValueError(f"array_to_img: x must have 1, 3 or 4 channels, got {array.shape[-1]}")
    return _pillow().fromarray(array.astype(np.uint8))


def save_img(
    path: Any,
    x: Any,
    data_format: str | None = None,
    file_format: str | None = None,
    scale: bool = True,
    **kwargs: Any,
) -> None:
    """Write an array [height, width, channels] as a picture, all of it or nothing.

    Args:
        path: path of the file.
        x: see `array_to_img`.
        data_format: see `array_to_img`.
        file_format: Pillow's name of the format; that of the file's ending if None.
        scale: see `array_to_img`.
        **kwargs: for Pillow's `save`.
    """
    from pinnace.storage.atomic import write_file

    picture = array_to_img(x, data_format, scale)
    ending = Path(path).suffix.lower()
    kind = file_format or _pillow().registered_extensions().get(ending)
    if kind is None:
        raise ValueError(f"save_img: no format has the ending {ending!r}\n  Try: file_format='PNG'")
    if str(kind).upper() in {"JPG", "JPEG"} and picture.mode == "RGBA":
        picture = picture.convert("RGB")  # JPEG has no transparency
    stored = io.BytesIO()
    picture.save(stored, format="JPEG" if str(kind).upper() == "JPG" else kind, **kwargs)
    write_file(path, stored.getvalue())


def _first(name: str, data_format: str | None) -> bool:
    return checked_format(name, data_format) == "channels_first"
