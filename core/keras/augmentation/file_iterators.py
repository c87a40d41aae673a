"""Batches of images from files: in a folder per class, or named in a table."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pinnace.keras import config, pictures
from pinnace.keras.augmentation.iterators import Iterator, check_subset, save_pictures
from pinnace.keras.dtype_policy import floatx

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pinnace.framework.tensor import Array

_CHANNELS = {"grayscale": 1, "rgb": 3, "rgba": 4}


class FileIterator(Iterator):
    """The common part of both iterators: batches of files.

    A subclass sets `_filepaths`, and the attributes from which targets are made.
    """

    class_mode: str | None
    class_indices: dict[str, int]
    classes: Any
    filenames: list[str]
    _filepaths: list[str]

    def set_processing_attrs(
        self,
        image_data_generator: Any,
        target_size: Sequence[int],
        color_mode: str,
        data_format: str,
        save_to_dir: Any,
        save_prefix: str,
        save_format: str,
        subset: str | None,
        interpolation: str,
        keep_aspect_ratio: bool,
    ) -> None:
        """Store the settings of the images.

        Args:
            image_data_generator: changes the pictures; None leaves them.
            target_size: (height, width).
            color_mode: `grayscale`, `rgb` or `rgba`.
            data_format: `channels_last` or `channels_first`.
            save_to_dir: folder that the pictures are written to as well, or None.
            save_prefix: prefix of these file names.
            save_format: their suffix.
            subset: `training`, `validation`, or None for all.
            interpolation: see `load_img`.
            keep_aspect_ratio: see `load_img`.

        Raises:
            ValueError: unknown colour mode or subset.
        """
        who = type(self).__name__
        if color_mode not in _CHANNELS:
            raise ValueError(
                f"{who}: color_mode must be one of {', '.join(_CHANNELS)}, got {color_mode!r}"
            )
        self.image_data_generator = image_data_generator
        self.target_size = tuple(target_size)
        self.keep_aspect_ratio = keep_aspect_ratio
        self.color_mode = color_mode
        self.data_format = data_format
        self.image_shape: tuple[int, ...] = (*self.target_size, _CHANNELS[color_mode])
        if data_format != "channels_last":
            self.image_shape = (_CHANNELS[color_mode], *self.target_size)
        self.save_to_dir = save_to_dir
        self.save_prefix = save_prefix
        self.save_format = save_format
        self.interpolation = interpolation
        self.subset = subset
        self.split: tuple[float, float] | None = None
        if subset is not None:
            check_subset(who, subset)
            share = image_data_generator._validation_split
            self.split = (0, share) if subset == "validation" else (share, 1)

    @property
    def filepaths(self) -> list[str]:
        """The paths of the files."""
        return self._filepaths

    @property
    def labels(self) -> Any:
        """The target of each sample."""
        return self.classes

    @property
    def sample_weight(self) -> Array | None:
        """The weight of each sample; None if they have none."""
        return None

    def _get_batches_of_transformed_samples(self, index_array: Array) -> Any:
        batch = np.zeros((len(index_array), *self.image_shape), self.dtype)
        change = self.image_data_generator
        for place, number in enumerate(index_array):
            image = pictures.load_img(
                self.filepaths[number],
                color_mode=self.color_mode,
                target_size=self.target_size,  # type: ignore[arg-type]
                interpolation=self.interpolation,
                keep_aspect_ratio=self.keep_aspect_ratio,
            )
            picture: Any = pictures.img_to_array(image, data_format=self.data_format)
            if change is not None:
                drawn = change.get_random_transform(picture.shape)
                picture = change.standardize(change.apply_transform(picture, drawn))
            batch[place] = picture
        if self.save_to_dir:
            names = self.save_prefix, self.save_format
            save_pictures(batch, index_array, self.save_to_dir, names, self.data_format, 1e7)
        if self.class_mode is None:
            return batch
        y = self._targets_of(batch, index_array)
        weight = self.sample_weight
        return (batch, y) if weight is None else (batch, y, weight[index_array])

    dtype: Any

    def _targets_of(self, batch: Array, index_array: Array) -> Any:
        if self.class_mode == "input":
            return batch.copy()
        if self.class_mode == "multi_output":
            return [each[index_array] for each in self.labels]
        if self.class_mode == "raw":
            return self.labels[index_array]
        if self.class_mode != "categorical":
            return np.array([self.classes[number] for number in index_array], self.dtype)
        y = np.zeros((len(batch), len(self.class_indices)), self.dtype)
        for place, number in enumerate(index_array):
            y[place, self.classes[number]] = 1  # of one class, or of several
        return y


def check_mode(who: str, mode: str | None, allowed: Iterable[str | None]) -> None:
    """Raise for a mode that an iterator does not support."""
    if mode not in allowed:
        raise ValueError(
            f"{who}: class_mode must be one of {', '.join(map(str, allowed))}, got {mode!r}"
        )


class DirectoryIterator(FileIterator):
    """Batches of images from a folder with one subfolder per class.

    Args:
        directory: the folder.
        image_data_generator: changes the pictures.
        target_size: (height, width) that they are given.
        color_mode: `grayscale`, `rgb` or `rgba`.
        classes: names of the folders, in the order of their numbers; all, sorted, if None.
        class_mode: `categorical`, `binary`, `sparse`, `input` (the pictures themselves), or None
            for no targets.
        batch_size: pictures in a batch.
        shuffle: whether each round has an order of its own.
        seed: see Iterator.
        data_format: `channels_last` if None.
        save_to_dir: folder that the pictures are written to as well, or None.
        save_prefix: prefix of these file names.
        save_format: their suffix.
        follow_links: whether folders that are links are looked into.
        subset: `training` or `validation`, where the generator has a `validation_split`.
        interpolation: see `load_img`.
        keep_aspect_ratio: see `load_img`.
        dtype: dtype of the pictures; `floatx()` if None.

    Raises:
        ValueError: unknown mode or subset.
        FileNotFoundError: there is no such folder.
    """

    allowed_class_modes: ClassVar[tuple[str | None, ...]] = (
        *("categorical", "binary", "sparse", "input", None),
    )

    def __init__(
        self,
        directory: Any,
        image_data_generator: Any,
        target_size: Sequence[int] = (256, 256),
        color_mode: str = "rgb",
        classes: Sequence[str] | None = None,
        class_mode: str | None = "categorical",
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int | None = None,
        data_format: str | None = None,
        save_to_dir: Any = None,
        save_prefix: str = "",
        save_format: str = "png",
        follow_links: bool = False,
        subset: str | None = None,
        interpolation: str = "nearest",
        keep_aspect_ratio: bool = False,
        dtype: Any = None,
    ) -> None:
        self.set_processing_attrs(
            image_data_generator, target_size, color_mode,
            config.image_data_format() if data_format is None else data_format,
            save_to_dir, save_prefix, save_format, subset, interpolation, keep_aspect_ratio,
        )  # fmt: skip
        check_mode("DirectoryIterator", class_mode, self.allowed_class_modes)
        self.directory = directory
        self.class_mode = class_mode
        self.dtype = floatx() if dtype is None else dtype
        root = Path(directory)
        names = classes or sorted(each.name for each in root.iterdir() if each.is_dir())
        self.num_classes = len(names)
        self.class_indices = {name: number for number, name in enumerate(names)}
        self.filenames, numbers = [], []
        for name, number in self.class_indices.items():
            found = _pictures_below(root / name, self.white_list_formats, follow_links)
            if self.split is not None:
                first, last = (int(share * len(found)) for share in self.split)
                found = found[first:last]
            self.filenames += [os.path.join(root.joinpath(name).name, each) for each in found]  # noqa: PTH118 (texts, as Keras has them)
            numbers += [number] * len(found)
        self.samples = len(self.filenames)
        self.classes = np.array(numbers, np.int32)
        print(f"Found {self.samples} images belonging to {self.num_classes} classes.")  # noqa: T201 (Keras prints it too)
        self._filepaths = [os.path.join(directory, each) for each in self.filenames]  # noqa: PTH118
        super().__init__(self.samples, batch_size, shuffle, seed)


def _pictures_below(folder: Path, endings: tuple[str, ...], follow_links: bool) -> list[str]:
    """Paths of images below a folder, ordered by folder and name."""
    found = []
    for root, _, names in sorted(os.walk(folder, followlinks=follow_links), key=lambda x: x[0]):
        for name in sorted(names):
            if not name.lower().endswith(endings):
                continue
            if name.lower().endswith(".tiff"):
                warnings.warn(
                    f"{name}: a TIFF file of several pictures or bands is read as one picture",
                    UserWarning,
                    stacklevel=4,
                )
            found.append(os.path.relpath(os.path.join(root, name), folder))  # noqa: PTH118
    return found
