"""Batches of images named in a pandas table."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pinnace.keras.augmentation.file_iterators import FileIterator, check_mode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array

# Modes without classes.
_WITHOUT_CLASSES = ("input", "multi_output", "raw", None)


class DataFrameIterator(FileIterator):
    """Batches of images whose files a table names.

    Args:
        dataframe: a pandas DataFrame.
        directory: folder that names are relative to; None for absolute paths.
        image_data_generator: changes the pictures; None leaves them.
        x_col: the column of the names.
        y_col: the column of the classes or targets, or several.
        weight_col: the column of the weights, or None.
        target_size: (height, width) that pictures are given.
        color_mode: `grayscale`, `rgb` or `rgba`.
        classes: the classes, in the order of their numbers; those there are, sorted, if None. Rows
            of others are left out.
        class_mode: `categorical`, `binary`, `sparse`, `input` (the pictures themselves), `raw` (the
            values of the column), `multi_output` (those of each column), None for no targets.
        batch_size: pictures in a batch.
        shuffle: whether each round has an order of its own.
        seed: see Iterator.
        data_format: `channels_last` or `channels_first`.
        save_to_dir: folder that the pictures are written to as well, or None.
        save_prefix: prefix of these file names.
        save_format: their suffix.
        subset: `training` or `validation`, where the generator has a `validation_split`.
        interpolation: see `load_img`.
        keep_aspect_ratio: see `load_img`.
        dtype: dtype of the pictures.
        validate_filenames: whether rows without such a file are left out, and told.

    Raises:
        TypeError: a column of other values.
        ValueError: unknown mode or subset, or `binary` without two classes.
    """

    allowed_class_modes: ClassVar[tuple[str | None, ...]] = (
        *("binary", "categorical", "input", "multi_output", "raw", "sparse", None),
    )

    def __init__(
        self,
        dataframe: Any,
        directory: Any = None,
        image_data_generator: Any = None,
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
        data_format: str = "channels_last",
        save_to_dir: Any = None,
        save_prefix: str = "",
        save_format: str = "png",
        subset: str | None = None,
        interpolation: str = "nearest",
        keep_aspect_ratio: bool = False,
        dtype: Any = "float32",
        validate_filenames: bool = True,
    ) -> None:
        self.set_processing_attrs(
            image_data_generator, target_size, color_mode, data_format,
            save_to_dir, save_prefix, save_format, subset, interpolation, keep_aspect_ratio,
        )  # fmt: skip
        self.directory = directory or ""
        self.class_mode = class_mode
        self.dtype = dtype
        self._check(dataframe, x_col, y_col, weight_col, classes)
        rows = self._with_files(dataframe, x_col) if validate_filenames else dataframe
        by_class = class_mode not in _WITHOUT_CLASSES
        if by_class:
            rows, names = _of_classes(rows, y_col, classes)
            self.class_indices = {name: number for number, name in enumerate(names)}
        if self.split is not None:
            first, last = (int(share * len(rows)) for share in self.split)
            rows = rows.iloc[first:last]
        if by_class:
            self.classes = [self._number(label) for label in rows[y_col]]
        elif class_mode == "multi_output":
            self.classes = [np.array(rows[column].tolist()) for column in y_col]
        elif class_mode == "raw":
            self.classes = rows[y_col].values
        self.filenames = rows[x_col].tolist()
        self._weight = rows[weight_col].values if weight_col else None
        self.samples = len(self.filenames)
        seen = "validated" if validate_filenames else "non-validated"
        of = f" belonging to {len(self.class_indices)} classes" if by_class else ""
        print(f"Found {self.samples} {seen} image filenames{of}.")  # noqa: T201 (Keras prints it too)
        self._filepaths = [os.path.join(self.directory, each) for each in self.filenames]  # noqa: PTH118
        super().__init__(self.samples, batch_size, shuffle, seed)

    @property
    def sample_weight(self) -> Array | None:
        """The weight of each sample; None if they have none."""
        return self._weight

    def _number(self, label: Any) -> Any:
        if isinstance(label, (list, tuple)):
            return [self.class_indices[each] for each in label]
        return self.class_indices[label]

    def _check(
        self, rows: Any, x_col: str, y_col: Any, weight_col: str | None, classes: Any
    ) -> None:
        mode = self.class_mode
        check_mode("DataFrameIterator", mode, self.allowed_class_modes)
        if mode == "multi_output" and not isinstance(y_col, list):
            raise TypeError(
                f"DataFrameIterator: y_col must be a list for class_mode='multi_output', got "
                f"{type(y_col).__name__}"
            )
        _check_column(rows, x_col, "x_col", (str,))
        if mode in {"binary", "sparse"}:
            _check_column(rows, y_col, "y_col", (str,))
        if mode == "categorical":
            _check_column(rows, y_col, "y_col", (str, list, tuple))
        if mode == "binary":
            count = len(set(classes)) if classes else rows[y_col].nunique()
            if count != 2:
                raise ValueError(
                    f"DataFrameIterator: class_mode='binary' needs 2 classes, got {count}"
                )
        if classes and mode in _WITHOUT_CLASSES:
            warnings.warn(
                f"DataFrameIterator: classes has no effect for class_mode={mode!r}",
                UserWarning,
                stacklevel=4,
            )
        if weight_col and not issubclass(rows[weight_col].dtype.type, np.number):
            raise TypeError(
                f"DataFrameIterator: weight_col={weight_col!r} must be a column of numbers, got "
                f"{rows[weight_col].dtype}"
            )

    def _with_files(self, rows: Any, x_col: str) -> Any:
        there = np.array(
            [
                each.lower().endswith(self.white_list_formats)
                and os.path.isfile(os.path.join(self.directory, each))  # noqa: PTH113, PTH118
                for each in rows[x_col]
            ],
            bool,
        )
        if not there.all():
            warnings.warn(
                f"DataFrameIterator: {(~there).sum()} of {len(there)} rows are left out: "
                f"x_col={x_col!r} names no picture that is there",
                UserWarning,
                stacklevel=4,
            )
        return rows[there]


def _check_column(rows: Any, column: Any, argument: str, kinds: tuple[type, ...]) -> None:
    for value in rows[column]:
        if not isinstance(value, kinds):
            raise TypeError(
                f"DataFrameIterator: {argument}={column!r} must be a column of "
                f"{', '.join(kind.__name__ for kind in kinds)}, got {type(value).__name__}"
            )


def _of_classes(rows: Any, y_col: Any, classes: Any) -> tuple[Any, list[str]]:
    """The rows with a class, restricted to the given classes if any; and the classes."""
    labels = rows[y_col]
    if not classes:
        several = [each if isinstance(each, (list, tuple)) else [each] for each in labels]
        return rows, sorted({name for names in several for name in names})
    names = list(dict.fromkeys(classes))
    known = set(names)
    kept = []
    for label in labels:
        if isinstance(label, (list, tuple)):
            kept.append([each for each in label if each in known] or None)
        else:
            kept.append(label if label in known else None)
    left = np.array([each is not None for each in kept], bool)
    found = rows[left].copy()
    found[y_col] = [each for each in kept if each is not None]
    return found, names
