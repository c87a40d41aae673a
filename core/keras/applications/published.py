"""Files that Keras publishes for its applications, in Keras' cache or downloaded to it."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from pinnace.framework.errors import DataLossError, NotFoundError
from pinnace.keras import downloads

if TYPE_CHECKING:
    from pathlib import Path

_FOLDER = "models"


class Published(NamedTuple):
    """A file that Keras publishes.

    Attributes:
        url: the URL it is fetched from.
        md5: its digest, in hexadecimal digits; None if Keras publishes none.
        named: its name in the cache; the last part of the URL if empty.
    """

    url: str
    md5: str | None = None
    named: str = ""

    @property
    def name(self) -> str:
        """Its name in the cache."""
        return self.named or self.url.rpartition("/")[2]


def pair(url: str, top: str, no_top: str) -> dict[bool, Published]:
    """The files of a network, by whether it ends in classes.

    Args:
        url: the beginning of both URLs, up to `.h5` and `_notop.h5`.
        top: digest of the file of all weights.
        no_top: digest of the file without those of the classes.
    """
    return {True: Published(f"{url}.h5", top), False: Published(f"{url}_notop.h5", no_top)}


CLASSES = Published(
    "https://storage.googleapis.com/download.tensorflow.org/data/imagenet_class_index.json",
    "c2c37ea517e94d9795004a39431a14cb",
)


def folder() -> Path:
    """The cache folder: `~/.keras/models`, or a folder below `KERAS_HOME`."""
    return downloads.cache_folder() / _FOLDER


def path_of(file: Published, who: str, remedy: str = "") -> str:
    """The path of the file, which is fetched if it is not in the cache.

    Args:
        file: the file.
        who: name of the caller in messages.
        remedy: a further remedy, for messages.

    Raises:
        NotFoundError: the file is not in the cache, or changed, and cannot be fetched.
    """
    try:
        return downloads.get_file(file.name, file.url, cache_subdir=_FOLDER, file_hash=file.md5)
    except (OSError, ValueError) as error:
        there = folder()
        changed = (there / file.name).exists()
        state = f"has another digest than {file.md5} in" if changed else "is not in"
        raise NotFoundError(
            f"{who}: file {file.name!r} {state} {str(there)!r}, and cannot be fetched: {error}\n"
            f"  Keras takes it from {file.url}\n"
            f"  Try: put it in that folder (KERAS_HOME says where the folder is){remedy}"
        ) from error


@functools.cache
def _parsed(path: str) -> dict[str, Any]:
    with open(path, encoding="utf-8") as file:  # noqa: PTH123 (a text)
        found = json.load(file)
    if not isinstance(found, dict):
        raise ValueError(f"{path!r} must hold a JSON object, got {type(found).__name__}")  # noqa: TRY004 (the file is wrong, not a type)
    return found


def classes_of_imagenet(who: str) -> dict[str, Any]:
    """A class's index as text -> its WordNet name and its description.

    Args:
        who: name of the caller in messages.

    Raises:
        NotFoundError: see `path_of`.
        DataLossError: the file is damaged.
    """
    path = path_of(CLASSES, who)
    try:
        return _parsed(path)
    except (OSError, ValueError) as error:
        raise DataLossError(f"{who}: {path!r} is not a table of classes: {error}") from None
