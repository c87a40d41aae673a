"""Endless batches of images: the order of samples, and images in memory."""

from __future__ import annotations

import threading
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from pinnace.keras import config, pictures
from pinnace.keras.augmentation import global_random
from pinnace.keras.dtype_policy import floatx
from pinnace.keras.py_dataset import PyDataset

if TYPE_CHECKING:
    from collections.abc import Iterator as Iterates

    from pinnace.framework.tensor import Array

SUBSETS = ("training", "validation")


class Iterator(PyDataset):
    """Batches of samples, by index or in an endless sequence.

    A subclass makes them in `_get_batches_of_transformed_samples(index_array)`.

    Args:
        n: how many samples there are.
        batch_size: samples in a batch.
        shuffle: whether each round has an order of its own.
        seed: NumPy's generator is seeded before each batch, with this and the batch's number; None
            leaves it alone.
        **kwargs: see PyDataset.
    """

    white_list_formats: ClassVar[tuple[str, ...]] = (
        *("png", "jpg", "jpeg", "bmp", "ppm", "tif", "tiff"),
    )

    def __init__(
        self, n: int, batch_size: int, shuffle: bool, seed: int | None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.n = n
        self.batch_size = batch_size
        self.seed = seed
        self.shuffle = shuffle
        self.batch_index = 0
        self.total_batches_seen = 0
        self.lock = threading.Lock()
        self.index_array: Array | None = None
        self.index_generator = self._flow_index()

    def _begin(self) -> None:
        """Seed the random numbers of a batch by the number of batches before it."""
        if self.seed is not None:
            global_random.seed(self.seed + self.total_batches_seen)
        self.total_batches_seen += 1

    def _set_index_array(self) -> Array:
        self.index_array = global_random.permutation(self.n) if self.shuffle else np.arange(self.n)
        return self.index_array

    def __getitem__(self, index: int) -> Any:
        """Batch number `index` in the current order."""
        if index >= len(self):
            raise ValueError(
                f"{type(self).__name__}: there are {len(self)} batches, got index {index}"
            )
        self._begin()
        order = self._set_index_array() if self.index_array is None else self.index_array
        first = self.batch_size * index
        return self._get_batches_of_transformed_samples(order[first : first + self.batch_size])

    def __len__(self) -> int:
        """The number of batches in a round; the last may be smaller."""
        return -(-self.n // self.batch_size)

    def on_epoch_end(self) -> None:
        """Shuffle the samples again, if they are shuffled."""
        self._set_index_array()

    def reset(self) -> None:
        """Start a new round with the next batch."""
        self.batch_index = 0

    def _flow_index(self) -> Iterates[Array]:
        self.reset()
        while True:
            if self.seed is not None:
                global_random.seed(self.seed + self.total_batches_seen)
            if self.batch_index == 0 or self.index_array is None:
                self._set_index_array()
            assert self.index_array is not None  # noqa: S101 (for the type checker)
            first = self.batch_index * self.batch_size % self.n if self.n else 0
            self.batch_index = self.batch_index + 1 if self.n > first + self.batch_size else 0
            self.total_batches_seen += 1
            yield self.index_array[first : first + self.batch_size]

    def __iter__(self) -> Self:
        """The iterator itself, which repeats without end."""
        return self

    def __next__(self) -> Any:
        """The next batch."""
        with self.lock:
            chosen = next(self.index_generator)
        return self._get_batches_of_transformed_samples(chosen)

    def _get_batches_of_transformed_samples(self, index_array: Array) -> Any:
        """A batch of these samples."""
        raise NotImplementedError(
            f"{type(self).__name__} must define _get_batches_of_transformed_samples(self, "
            "index_array)"
        )


def check_subset(who: str, subset: str) -> None:
    """Raise unless it is the name of a subset."""
    if subset not in SUBSETS:
        raise ValueError(f"{who}: subset must be one of {', '.join(SUBSETS)}, got {subset!r}")


def save_pictures(
    x: Array, numbers: Array, folder: Any, names: tuple[str, str], data_format: str, many: float
) -> None:
    """Write each picture of a batch.

    Args:
        x: the batch.
        numbers: numbers of its samples.
        folder: to write to.
        names: prefix and suffix of the file names.
        data_format: format of the batch.
        many: bound of the random numbers that distinguish files of a sample.
    """
    prefix, ending = names
    for picture, number in zip(x, numbers, strict=True):
        name = f"{prefix}_{number}_{global_random.randint(int(many))}.{ending}"
        pictures.array_to_img(picture, data_format, scale=True).save(Path(folder) / name)


class NumpyArrayIterator(Iterator):
    """Batches of images in memory.

    Args:
        x: [n, height, width, channels], or a pair of it and one array, or a list of arrays, of as
            many samples, which go along with the pictures.
        y: [n, ...], or None.
        image_data_generator: changes the pictures.
        batch_size: pictures in a batch.
        shuffle: whether each round has an order of its own.
        sample_weight: [n], or None.
        seed: see Iterator.
        data_format: `channels_last` if None.
        save_to_dir: folder that the pictures are written to as well, or None.
        save_prefix: prefix of these file names.
        save_format: their suffix.
        subset: `training` or `validation`, where the generator has a `validation_split`.
        ignore_class_split: whether the subsets may have other classes.
        dtype: dtype of the pictures; `floatx()` if None.

    Raises:
        ValueError: arrays of other lengths or axes, another subset, or subsets of other classes.
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        image_data_generator: Any,
        batch_size: int = 32,
        shuffle: bool = False,
        sample_weight: Any = None,
        seed: int | None = None,
        data_format: str | None = None,
        save_to_dir: Any = None,
        save_prefix: str = "",
        save_format: str = "png",
        subset: str | None = None,
        ignore_class_split: bool = False,
        dtype: Any = None,
    ) -> None:
        self.dtype = floatx() if dtype is None else dtype
        self.data_format = config.image_data_format() if data_format is None else data_format
        more: list[Array] = []
        if isinstance(x, (tuple, list)):
            x, beside = x
            more = [np.asarray(each) for each in (beside if isinstance(beside, list) else [beside])]
        beside_x = {"x[1]": more, "y": [y], "sample_weight": [sample_weight]}
        for name, arrays in beside_x.items():
            for array in arrays:
                if array is not None and len(array) != len(x):
                    raise ValueError(
                        f"NumpyArrayIterator: {name} must have as many samples as there are "
                        f"pictures, {len(x)}, got {len(array)}"
                    )
        if subset is not None:
            check_subset("NumpyArrayIterator", subset)
            part = _part(len(x), image_data_generator, subset)
            if y is not None and not ignore_class_split:
                _check_classes(y, part)
            x, more = x[part], [each[part] for each in more]
            y = None if y is None else y[part]
            # Keras leaves weights whole, so that training gets those of other samples.
            sample_weight = None if sample_weight is None else sample_weight[part]
        self.x, self.x_misc = np.asarray(x, self.dtype), more
        check_pictures("NumpyArrayIterator: x", self.x, self.data_format)
        self.y = None if y is None else np.asarray(y)
        self.sample_weight = None if sample_weight is None else np.asarray(sample_weight)
        self.image_data_generator = image_data_generator
        self.save_to_dir = save_to_dir
        self.save_prefix = save_prefix
        self.save_format = save_format
        super().__init__(len(self.x), batch_size, shuffle, seed)

    def _get_batches_of_transformed_samples(self, index_array: Array) -> Any:
        batch = np.zeros((len(index_array), *self.x.shape[1:]), self.dtype)
        change = self.image_data_generator
        for place, number in enumerate(index_array):
            picture = self.x[number]
            drawn = change.get_random_transform(picture.shape)
            picture = change.apply_transform(picture.astype(self.dtype), drawn)
            batch[place] = change.standardize(picture)
        if self.save_to_dir:
            names = self.save_prefix, self.save_format
            save_pictures(batch, index_array, self.save_to_dir, names, self.data_format, 1e4)
        along = [each[index_array] for each in self.x_misc]
        x = [batch, *along] if along else batch
        if self.y is None:
            return x
        if self.sample_weight is None:
            return x, self.y[index_array]
        return x, self.y[index_array], self.sample_weight[index_array]


def _part(samples: int, change: Any, subset: str) -> slice:
    """The slice of a subset's samples: the first ones are for validation."""
    cut = int(samples * change._validation_split)
    return slice(None, cut) if subset == "validation" else slice(cut, None)


def _check_classes(y: Any, part: slice) -> None:
    cut = part.stop if part.start is None else part.start
    if not np.array_equal(np.unique(y[:cut]), np.unique(y[cut:])):
        raise ValueError(
            "NumpyArrayIterator: both subsets must have the same classes, and the first "
            f"{cut} samples have others than the rest\n  Try: shuffle x and y before, or "
            "ignore_class_split=True"
        )


def check_pictures(who: str, x: Array, data_format: str) -> None:
    """Raise unless x contains images; warn about an unusual number of channels."""
    if x.ndim != 4:
        raise ValueError(f"{who} must have 4 axes, got shape {list(x.shape)}")
    axis = 3 if data_format == "channels_last" else 1
    if x.shape[axis] not in {1, 3, 4}:
        warnings.warn(
            f"{who}: the number of channels, on axis {axis} ({data_format}), must be 1, 3 or 4, "
            f"got {x.shape[axis]}",
            UserWarning,
            stacklevel=4,
        )
