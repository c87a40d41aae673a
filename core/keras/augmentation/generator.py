"""ImageDataGenerator: randomly transformed and scaled images, in batches."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.no_effect import no_effect
from pinnace.keras import config
from pinnace.keras.augmentation import global_random
from pinnace.keras.augmentation.affine import apply_affine_transform
from pinnace.keras.augmentation.file_iterators import DirectoryIterator
from pinnace.keras.augmentation.iterators import NumpyArrayIterator
from pinnace.keras.augmentation.shades import apply_brightness_shift, apply_channel_shift
from pinnace.keras.augmentation.standards import Standards
from pinnace.keras.augmentation.table_iterator import DataFrameIterator
from pinnace.keras.dtype_policy import floatx

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.framework.tensor import Array


class ImageDataGenerator(Standards):
    """Randomly transforms and scales images, and yields batches of them.

    Newer programs use `image_dataset_from_directory` and layers such as RandomRotation.

    Args:
        featurewise_center: whether the mean of each channel, of `fit`, is taken away.
        samplewise_center: whether each picture's mean is.
        featurewise_std_normalization: whether it is divided by each channel's deviation, of `fit`.
        samplewise_std_normalization: whether it is by each picture's.
        zca_whitening: whether pictures are whitened with the matrix of `fit`.
        zca_epsilon: added to its singular values.
        rotation_range: degrees, either way.
        width_shift_range: share of the width if below 1, else pixels; or a list to choose from.
        height_shift_range: likewise.
        brightness_range: the least and the largest factor, or None.
        shear_range: degrees, either way.
        zoom_range: how far factors are from 1; or the least and the largest.
        channel_shift_range: largest number that is added.
        fill_mode: values beyond the border: `nearest`, `constant`, `reflect` or `wrap`.
        cval: the value outside for `constant`.
        horizontal_flip: whether half of the pictures are mirrored left to right.
        vertical_flip: whether half of them are upside down.
        rescale: factor, or None.
        preprocessing_function: changes each picture, before it is scaled.
        data_format: `channels_last` if None, or `channels_first`.
        validation_split: the share of the subset `validation`, the first samples of each class.
        interpolation_order: 0 for the nearest pixel, 1 for linear; 2 to 5, splines, need SciPy.
        dtype: dtype of the pictures; `floatx()` if None.

    Raises:
        ValueError: an argument outside its range.
    """

    def __init__(
        self,
        featurewise_center: bool = False,
        samplewise_center: bool = False,
        featurewise_std_normalization: bool = False,
        samplewise_std_normalization: bool = False,
        zca_whitening: bool = False,
        zca_epsilon: float = 1e-6,
        rotation_range: float = 0,
        width_shift_range: Any = 0.0,
        height_shift_range: Any = 0.0,
        brightness_range: Sequence[float] | None = None,
        shear_range: float = 0.0,
        zoom_range: Any = 0.0,
        channel_shift_range: float = 0.0,
        fill_mode: str = "nearest",
        cval: float = 0.0,
        horizontal_flip: bool = False,
        vertical_flip: bool = False,
        rescale: float | None = None,
        preprocessing_function: Callable[[Any], Any] | None = None,
        data_format: str | None = None,
        validation_split: float = 0.0,
        interpolation_order: int = 1,
        dtype: Any = None,
    ) -> None:
        self.featurewise_center = featurewise_center
        self.samplewise_center = samplewise_center
        self.featurewise_std_normalization = featurewise_std_normalization
        self.samplewise_std_normalization = samplewise_std_normalization
        self.zca_whitening = zca_whitening
        self.zca_epsilon = zca_epsilon
        self.rotation_range = rotation_range
        self.width_shift_range = width_shift_range
        self.height_shift_range = height_shift_range
        self.shear_range = shear_range
        self.zoom_range = _zoom(zoom_range)
        self.channel_shift_range = channel_shift_range
        self.fill_mode = fill_mode
        self.cval = cval
        self.horizontal_flip = horizontal_flip
        self.vertical_flip = vertical_flip
        self.rescale = rescale
        self.preprocessing_function = preprocessing_function
        self.interpolation_order = interpolation_order
        self.dtype = floatx() if dtype is None else dtype
        self.data_format = config.image_data_format() if data_format is None else data_format
        axes = {"channels_first": (1, 2, 3), "channels_last": (3, 1, 2)}.get(self.data_format)
        if axes is None:
            raise ValueError(
                "ImageDataGenerator: data_format must be channels_last or channels_first, got "
                f"{data_format!r}"
            )
        self.channel_axis, self.row_axis, self.col_axis = axes
        if validation_split and not 0 < validation_split < 1:
            raise ValueError(
                "ImageDataGenerator: validation_split must be at least 0 and less than 1, got "
                f"{validation_split}"
            )
        self._validation_split = validation_split
        if brightness_range is not None and (
            not isinstance(brightness_range, (tuple, list)) or len(brightness_range) != 2
        ):
            raise ValueError(
                "ImageDataGenerator: brightness_range must be a pair of factors, got "
                f"{brightness_range!r}"
            )
        self.brightness_range = brightness_range
        self.mean = self.std = self.zca_whitening_matrix = None
        self._settle()

    def _settle(self) -> None:
        """Adjust settings that others require or exclude, with a warning."""
        if self.zca_whitening:
            self._set("featurewise_center", True, "zca_whitening")
            self._set("featurewise_std_normalization", False, "zca_whitening")
        if self.featurewise_std_normalization:
            self._set("featurewise_center", True, "featurewise_std_normalization")
        if self.samplewise_std_normalization:
            self._set("samplewise_center", True, "samplewise_std_normalization")

    def _set(self, name: str, value: bool, why: str) -> None:
        if getattr(self, name) != value:
            setattr(self, name, value)
            warnings.warn(
                f"ImageDataGenerator: {name} is {value}, since {why} is set",
                UserWarning,
                stacklevel=4,
            )

    # Batches.

    def flow(
        self,
        x: Any,
        y: Any = None,
        batch_size: int = 32,
        shuffle: bool = True,
        sample_weight: Any = None,
        seed: int | None = None,
        save_to_dir: Any = None,
        save_prefix: str = "",
        save_format: str = "png",
        ignore_class_split: bool = False,
        subset: str | None = None,
    ) -> NumpyArrayIterator:
        """Endless batches of images in memory; see NumpyArrayIterator."""
        return NumpyArrayIterator(
            x,
            y,
            self,
            batch_size=batch_size,
            shuffle=shuffle,
            sample_weight=sample_weight,
            seed=seed,
            data_format=self.data_format,
            save_to_dir=save_to_dir,
            save_prefix=save_prefix,
            save_format=save_format,
            ignore_class_split=ignore_class_split,
            subset=subset,
            dtype=self.dtype,
        )

    def flow_from_directory(
        self,
        directory: Any,
        target_size: Sequence[int] = (256, 256),
        color_mode: str = "rgb",
        classes: Sequence[str] | None = None,
        class_mode: str | None = "categorical",
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int | None = None,
        save_to_dir: Any = None,
        save_prefix: str = "",
        save_format: str = "png",
        follow_links: bool = False,
        subset: str | None = None,
        interpolation: str = "nearest",
        keep_aspect_ratio: bool = False,
    ) -> DirectoryIterator:
        """Endless batches of images from one folder per class; see DirectoryIterator."""
        return DirectoryIterator(
            directory,
            self,
            target_size=target_size,
            color_mode=color_mode,
            classes=classes,
            class_mode=class_mode,
            batch_size=batch_size,
            shuffle=shuffle,
            seed=seed,
            data_format=self.data_format,
            save_to_dir=save_to_dir,
            save_prefix=save_prefix,
            save_format=save_format,
            follow_links=follow_links,
            subset=subset,
            interpolation=interpolation,
            keep_aspect_ratio=keep_aspect_ratio,
            dtype=self.dtype,
        )

    def flow_from_dataframe(
        self,
        dataframe: Any,
        directory: Any = None,
        x_col: str = "filename",
        y_col: Any = "class",
        weight_col: str | None = None,
        target_size: Sequence[int] = (256, 256),
        color_mode: str = "rgb",
        classes: Sequence[str] | None = None,
        class_mode: str | None = "categorical",
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int | None = None,
        save_to_dir: Any = None,
        save_prefix: str = "",
        save_format: str = "png",
        subset: str | None = None,
        interpolation: str = "nearest",
        validate_filenames: bool = True,
        **kwargs: Any,
    ) -> DataFrameIterator:
        """Endless batches of images named in a table; see DataFrameIterator."""
        for name in kwargs:
            no_effect("flow_from_dataframe", name, "the table is taken as it is")
        return DataFrameIterator(
            dataframe,
            directory,
            self,
            x_col=x_col,
            y_col=y_col,
            weight_col=weight_col,
            target_size=target_size,
            color_mode=color_mode,
            classes=classes,
            class_mode="raw" if class_mode == "other" else class_mode,  # its older name
            batch_size=batch_size,
            shuffle=shuffle,
            seed=seed,
            data_format=self.data_format,
            save_to_dir=save_to_dir,
            save_prefix=save_prefix,
            save_format=save_format,
            subset=subset,
            interpolation=interpolation,
            dtype=self.dtype,
            validate_filenames=validate_filenames,
        )

    # One picture.

    def get_random_transform(
        self, img_shape: Sequence[int], seed: int | None = None
    ) -> dict[str, Any]:
        """The random transformation of one picture, drawn from NumPy's generator.

        Args:
            img_shape: shape of the picture, three axes.
            seed: seed of the generator; None leaves it as it is.

        Returns:
            The arguments `theta`, `tx`, `ty`, `shear`, `zx` and `zy` of `apply_affine_transform`;
            `flip_horizontal`, `flip_vertical`, `channel_shift_intensity` and `brightness`.
        """
        if seed is not None:
            global_random.seed(seed)
        # In this order: each draws from the same generator.
        theta = _either_way(self.rotation_range)
        tx = _shift(self.height_shift_range, img_shape[self.row_axis - 1])
        ty = _shift(self.width_shift_range, img_shape[self.col_axis - 1])
        shear = _either_way(self.shear_range)
        low, high = self.zoom_range
        zx, zy = (1, 1) if low == high == 1 else global_random.uniform(low, high, 2)
        mirrored = (global_random.random() < 0.5) * self.horizontal_flip
        upside_down = (global_random.random() < 0.5) * self.vertical_flip
        shifted = _either_way(self.channel_shift_range) if self.channel_shift_range != 0 else None
        lighter = None
        if self.brightness_range is not None:
            lighter = global_random.uniform(self.brightness_range[0], self.brightness_range[1])
        return {
            "theta": theta,
            "tx": tx,
            "ty": ty,
            "shear": shear,
            "zx": zx,
            "zy": zy,
            "flip_horizontal": mirrored,
            "flip_vertical": upside_down,
            "channel_shift_intensity": shifted,
            "brightness": lighter,
        }

    def apply_transform(self, x: Array, transform_parameters: Mapping[str, Any]) -> Array:
        """An image, transformed by the parameters of `get_random_transform`.

        Args:
            x: three axes.
            transform_parameters: see there; missing transformations are not applied.
        """
        given = transform_parameters
        channels, rows, columns = self.channel_axis - 1, self.row_axis - 1, self.col_axis - 1
        x = apply_affine_transform(
            x,
            **{name: given.get(name, 0) for name in ("theta", "tx", "ty", "shear")},
            **{name: given.get(name, 1) for name in ("zx", "zy")},
            row_axis=rows,
            col_axis=columns,
            channel_axis=channels,
            fill_mode=self.fill_mode,
            cval=self.cval,
            order=self.interpolation_order,
        )
        if given.get("channel_shift_intensity") is not None:
            x = apply_channel_shift(x, given["channel_shift_intensity"], channels)
        for name, axis in (("flip_horizontal", columns), ("flip_vertical", rows)):
            if given.get(name, False):
                x = np.flip(x, axis)
        if given.get("brightness") is not None:
            x = apply_brightness_shift(x, given["brightness"], scale=False)
        return x

    def random_transform(self, x: Array, seed: int | None = None) -> Array:
        """A picture, changed at random.

        Args:
            x: three axes.
            seed: seed of NumPy's generator; None leaves it as it is.
        """
        return self.apply_transform(x, self.get_random_transform(x.shape, seed))


def _zoom(given: Any) -> list[float]:
    if isinstance(given, (float, int)):
        return [1 - given, 1 + given]
    if len(given) == 2 and all(isinstance(each, (float, int)) for each in given):
        return [given[0], given[1]]
    raise ValueError(
        f"ImageDataGenerator: zoom_range must be a number or a pair of factors, got {given!r}"
    )


def _either_way(most: float) -> float:
    return global_random.uniform(-most, most) if most else 0


def _shift(given: Any, size: int) -> Any:
    """A shift in pixels, from a fraction of the size, a list, or a bound for integers."""
    if np.ndim(given) == 0 and not given:
        return 0
    if np.ndim(given) or (isinstance(given, Integral) and int(given) > 0):
        found = global_random.choice(given)
        found *= global_random.choice([-1, 1])
    else:
        found = global_random.uniform(-given, given)
    return found * size if np.max(given) < 1 else found
