"""Datasets of files, with a class per folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.keras.config import image_data_format
from pinnace.keras.sequences import check_dataset_format
from pinnace.ops import image
from pinnace.ops.array import casting, constants, indicators, permutations, reshaping, shapes
from pinnace.ops.array.shapes import ensure_shape
from pinnace.ops.io.files import read_file
from pinnace.ops.math import arithmetic

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

IMAGES = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".webp")
TEXTS = (".txt",)
_CHANNELS = {"grayscale": 1, "rgb": 3, "rgba": 4}
_LABEL_MODES = ("int", "categorical", "binary", None)


def image_dataset_from_directory(
    directory: str | os.PathLike[str],
    labels: Any = "inferred",
    label_mode: str | None = "int",
    class_names: Sequence[str] | None = None,
    color_mode: str = "rgb",
    batch_size: int | None = 32,
    image_size: tuple[int, int] = (256, 256),
    shuffle: bool = True,
    seed: int | None = None,
    validation_split: float | None = None,
    subset: str | None = None,
    interpolation: str = "bilinear",
    follow_links: bool = False,
    crop_to_aspect_ratio: bool = False,
    pad_to_aspect_ratio: bool = False,
    data_format: str | None = None,
    format: str = "tf",
    verbose: bool = True,
) -> Any:
    """Batches of a folder's images and their labels.

    Args:
        directory: holds a folder for each class, or, without labels, pictures at any depth.
        labels: `inferred` from the folders; None for pictures alone; or a list, in the order of the
            sorted paths.
        label_mode: `int`; `categorical` for one-hot rows; `binary` for 0.0 and 1.0; None for none.
        class_names: the folders to take, in the order of their numbers; all, sorted, if None.
        color_mode: `grayscale`, `rgb` or `rgba`.
        batch_size: pictures to a batch; None for single ones.
        image_size: (height, width) of every picture.
        shuffle: whether the files are shuffled, and again before each epoch; else sorted by path.
        seed: seed of the shuffling.
        validation_split: the share that is set aside, between 0 and 1.
        subset: `training`, `validation` or `both` (a pair); only with `validation_split`.
        interpolation: a method of `image.resize`.
        follow_links: whether links to folders are followed.
        crop_to_aspect_ratio: whether pictures are cropped at their middle instead of distorted.
        pad_to_aspect_ratio: whether black is added at both sides instead.
        data_format: `channels_last` or `channels_first`; as the configuration says if None.
        format: must be `tf`.
        verbose: whether what was found is printed.

    Returns:
        A Dataset of [batch, height, width, channels], the channels second for `channels_first`,
        with labels if there are any: float32 from 0 to 255 (uint8 for `nearest`). It has the
        attributes `class_names` and `file_paths`.

    Raises:
        NotImplementedError: `format="grain"`.
        ValueError: options that do not go together, another name, or no pictures.
        FileNotFoundError: there is no such folder.
    """
    name = "image_dataset_from_directory"
    if color_mode not in _CHANNELS:
        raise ValueError(
            f"{name}: `color_mode` must be one of {', '.join(_CHANNELS)}, got {color_mode!r}"
        )
    if crop_to_aspect_ratio and pad_to_aspect_ratio:
        raise ValueError(f"{name}: crop_to_aspect_ratio and pad_to_aspect_ratio exclude each other")
    check_dataset_format(name, format)
    first = (data_format or image_data_format()) == "channels_first"
    if data_format not in {None, "channels_last", "channels_first"}:
        raise ValueError(
            f"{name}: data_format must be channels_last or channels_first, got {data_format!r}"
        )
    height, width = image_size
    channels = _CHANNELS[color_mode]

    def load(path: Any) -> Any:
        picture = image.decode_image(read_file(path), channels=channels, expand_animations=False)
        if pad_to_aspect_ratio:
            sized = image.resize_with_pad(picture, height, width, interpolation)
        else:
            if crop_to_aspect_ratio:
                picture = _middle(picture, height, width)
            sized = image.resize(picture, [height, width], interpolation)
        shaped = ensure_shape(sized, [height, width, channels])
        return permutations.transpose(shaped, [2, 0, 1]) if first else shaped

    asked = Asked(name, directory, labels, label_mode, class_names, batch_size, shuffle, seed)
    asked.share, asked.subset = validation_split, subset
    asked.follow_links, asked.verbose = follow_links, verbose
    return datasets_of(asked, IMAGES, load)


def text_dataset_from_directory(
    directory: str | os.PathLike[str],
    labels: Any = "inferred",
    label_mode: str | None = "int",
    class_names: Sequence[str] | None = None,
    batch_size: int | None = 32,
    max_length: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    validation_split: float | None = None,
    subset: str | None = None,
    follow_links: bool = False,
    format: str = "tf",
    verbose: bool = True,
) -> Any:
    """Batches of a folder's `.txt` files and their labels.

    Args:
        directory: as for `image_dataset_from_directory`, like the others but this one:
        labels: see there.
        label_mode: see there.
        class_names: see there.
        batch_size: see there.
        max_length: how many bytes of a text are kept; all if None.
        shuffle: see there.
        seed: see there.
        validation_split: see there.
        subset: see there.
        follow_links: see there.
        format: must be `tf`.
        verbose: see there.

    Returns:
        A Dataset of strings [batch], with labels if there are any.

    Raises:
        NotImplementedError: `format="grain"`.
        ValueError: options that do not go together, another name, or no texts.
        FileNotFoundError: there is no such folder.
    """
    from pinnace.ops import strings

    def load(path: Any) -> Any:
        text = read_file(path)
        return text if max_length is None else strings.substr(text, 0, max_length)

    name = "text_dataset_from_directory"
    check_dataset_format(name, format)
    asked = Asked(name, directory, labels, label_mode, class_names, batch_size, shuffle, seed)
    asked.share, asked.subset = validation_split, subset
    asked.follow_links, asked.verbose = follow_links, verbose
    return datasets_of(asked, TEXTS, load)


def _middle(picture: Any, height: int, width: int) -> Any:
    """The largest central crop with the aspect ratio of the size."""
    sizes = shapes.shape(picture)
    tall = arithmetic.minimum(sizes[0], sizes[1] * height // width)
    wide = arithmetic.minimum(sizes[1], sizes[0] * width // height)
    return image.crop_to_bounding_box(
        picture, (sizes[0] - tall) // 2, (sizes[1] - wide) // 2, tall, wide
    )


@dataclass(slots=True)
class Asked:
    """The common arguments of the functions."""

    name: str
    directory: Any
    labels: Any
    label_mode: str | None
    class_names: Sequence[str] | None
    batch_size: int | None
    shuffle: bool
    seed: int | None
    share: float | None = None
    subset: str | None = None
    follow_links: bool = False
    verbose: bool = True
    # How samples become batches: `Dataset.batch`, or what pads them first.
    batched: Callable[[Any, int], Any] | None = None

    @property
    def inferred(self) -> bool:
        """Whether labels are inferred from the folders."""
        return isinstance(self.labels, str) and self.labels == "inferred"

    @property
    def root(self) -> str:
        """The folder as text."""
        return str(os.fspath(self.directory))


def datasets_of(asked: Asked, endings: tuple[str, ...], load: Callable[[Any], Any]) -> Any:
    """The requested Dataset, or a pair for `subset="both"`.

    Args:
        asked: the arguments.
        endings: suffixes of the files.
        load: makes a sample of the path of a file.
    """
    _check(asked)
    if asked.labels is None or asked.label_mode is None:
        # Keras: without labels, files outside of class folders are read too.
        asked.labels = asked.label_mode = None
    if asked.seed is None and asked.shuffle:
        asked.seed = int(np.random.default_rng().integers(1_000_000))
    paths, numbers, classes = _indexed(asked, endings)
    if asked.label_mode == "binary" and len(classes or ()) != 2:
        raise ValueError(
            f"{asked.name}: with label_mode='binary' there must be exactly 2 classes, "
            f"{asked.root!r} has {len(classes or ())}"
        )
    if asked.verbose:
        of = "" if classes is None else f" belonging to {len(classes)} classes"
        print(f"Found {len(paths)} files{of}.")  # noqa: T201 (Keras prints it too)
    if asked.shuffle:
        # The generator of older NumPy: Keras' order for a seed.
        order = np.arange(len(paths))
        np.random.RandomState(asked.seed).shuffle(order)
        paths = [paths[i] for i in order]
        numbers = None if numbers is None else numbers[order]
    parts = ("training", "validation") if asked.subset == "both" else (asked.subset,)
    found = []
    for part in parts:
        chosen, labels = _subset(paths, numbers, asked.share, part)
        if asked.verbose and part is not None:
            print(f"Using {len(chosen)} files for {part}.")  # noqa: T201
        if not chosen:
            of = f" for subset={part!r}" if part else ""
            kind = asked.name.split("_", 1)[0]
            what = "No images found." if kind == "image" else f"No {kind} files found"
            raise ValueError(
                f"{asked.name}: {what} in directory {asked.root!r}{of}: names must end in "
                f"{' '.join(endings)}"
            )
        found.append(_dataset(asked, chosen, labels, classes, part, load))
    return tuple(found) if asked.subset == "both" else found[0]


def _check(asked: Asked) -> None:
    name = asked.name
    if asked.label_mode not in _LABEL_MODES:
        raise ValueError(
            f"{name}: `label_mode` argument must be 'int', 'categorical', 'binary' or None, "
            f"got {asked.label_mode!r}"
        )
    if asked.class_names is not None and not asked.inferred:
        raise ValueError(f'{name}: you can only pass `class_names` if `labels="inferred"`')
    if isinstance(asked.labels, str) and not asked.inferred:
        raise ValueError(
            f"{name}: `labels` argument should be a list or tuple of integer labels, 'inferred' or "
            f"None, got {asked.labels!r}"
        )
    if asked.share is not None and not 0 < asked.share < 1:
        raise ValueError(f"{name}: `validation_split` must be between 0 and 1, got {asked.share}")
    if asked.subset not in {"training", "validation", "both", None}:
        raise ValueError(
            f'{name}: `subset` must be either "training", "validation" or "both", '
            f"got {asked.subset!r}"
        )
    if (asked.share is None) != (asked.subset is None):
        raise ValueError(
            f"{name}: `validation_split` must be set if `subset` is, and the other way round"
        )
    if asked.share and asked.shuffle and asked.seed is None and asked.subset != "both":
        raise ValueError(
            f"{name}: with validation_split and shuffling you must provide a `seed`: otherwise the "
            "two subsets share files"
        )


def _indexed(asked: Asked, endings: tuple[str, ...]) -> tuple[list[str], Any, list[str] | None]:
    """Paths, class indices, class names."""
    root, labels = asked.root, asked.labels
    if not Path(root).is_dir():
        raise FileNotFoundError(f"{asked.name}: there is no folder {root!r}")
    if not asked.inferred:
        paths = _files(root, asked.follow_links, endings)
        if labels is None:
            return paths, None, None
        if len(labels) != len(paths):
            raise ValueError(
                f"{asked.name}: Expected the lengths of `labels` to match the number of files, "
                f"{len(paths)} in {root!r}, got {len(labels)}"
            )
        return paths, np.asarray(labels), [str(label) for label in sorted(set(labels))]
    folders = sorted(
        entry.name for entry in os.scandir(root) if entry.is_dir() and entry.name[0] != "."
    )
    names = folders if asked.class_names is None else list(asked.class_names)
    unknown = [one for one in names if one not in folders]
    if unknown:
        raise ValueError(
            f"{asked.name}: The `class_names` passed did not match the folders of {root!r}, which "
            f"are {folders}, "
            f"got {unknown}"
        )
    found = [_files(str(Path(root, one)), asked.follow_links, endings) for one in names]
    numbers = np.repeat(np.arange(len(names), dtype=np.int32), [len(files) for files in found])
    return [path for files in found for path in files], numbers, names


def _files(folder: str, follow_links: bool, endings: tuple[str, ...]) -> list[str]:
    walked = sorted(os.walk(folder, followlinks=follow_links), key=lambda found: found[0])
    return [
        str(Path(root, file))
        for root, _, files in walked
        for file in sorted(files)
        if file.lower().endswith(endings)
    ]


def _subset(
    paths: list[str], numbers: Any, share: float | None, part: str | None
) -> tuple[list[str], Any]:
    if share is None or part is None:
        return paths, numbers
    first = len(paths) - int(share * len(paths))
    kept = slice(0, first) if part == "training" else slice(first, None)
    return paths[kept], None if numbers is None else numbers[kept]


def _dataset(
    asked: Asked,
    paths: list[str],
    numbers: Any,
    classes: list[str] | None,
    part: str | None,
    load: Callable[[Any], Any],
) -> Any:
    from pinnace.data import AUTOTUNE, Dataset  # most models are fed with arrays

    files: Any = Dataset.from_tensor_slices(constants.constant(paths))
    if numbers is not None and asked.label_mode:
        files = Dataset.zip((files, Dataset.from_tensor_slices(numbers)))
    # The validation part of a pair is not shuffled.
    if asked.shuffle and (asked.subset != "both" or part == "training"):
        # File names, not images: all of them fit the shuffle buffer.
        files = files.shuffle(len(paths), seed=asked.seed)

    def read(path: Any, *number: Any) -> Any:
        if not number:
            return load(path)
        return load(path), _label(number[0], asked.label_mode, len(classes or ()))

    found = files.map(read, num_parallel_calls=AUTOTUNE)
    if asked.batch_size is not None:
        way = asked.batched
        found = way(found, asked.batch_size) if way else found.batch(asked.batch_size)
    found = found.prefetch(AUTOTUNE)
    found.class_names = classes
    found.file_paths = paths
    return found


def _label(number: Any, label_mode: str | None, classes: int) -> Any:
    if label_mode == "binary":
        return reshaping.expand_dims(casting.cast(number, "float32"), -1)
    return indicators.one_hot(number, classes) if label_mode == "categorical" else number
