"""Layers' files in a .keras archive: vocabularies of lookups."""

from __future__ import annotations

import contextlib
import functools
from typing import IO, TYPE_CHECKING, Any

from pinnace.keras.saving import hdf5

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pinnace.keras.layer import Layer
    from pinnace.keras.saving.archive import Archive
    from pinnace.keras.saving.unzipped import Folder

_FOLDER = "assets"


def members(model: Layer) -> dict[str, Callable[[IO[bytes]], None]]:
    """Name in the archive -> writer, for every asset file of a layer."""
    found: dict[str, Callable[[IO[bytes]], None]] = {}
    for place, layer in hdf5.places(model):
        for name, data in getattr(layer, "_assets", dict)().items():
            path = "/".join(part for part in (_FOLDER, place, name) if part)
            found[path] = functools.partial(_put, data)
    return found


def _put(data: bytes, file: IO[bytes]) -> None:
    file.write(data)


@contextlib.contextmanager
def readable(archive: Archive | Folder) -> Iterator[None]:
    """A context in which decoding errors name the file."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise ValueError(f"{archive.path!r}: an asset is not a text file: {error}") from None


def restore(model: Any, archive: Archive | Folder) -> None:
    """Load each layer's asset files."""
    for place, layer in hdf5.places(model):
        for name in getattr(layer, "_asset_names", ()):
            path = "/".join(part for part in (_FOLDER, place, name) if part)
            if path in archive:
                layer._restore_asset(name, archive.read(path))  # type: ignore[attr-defined]  # it has names
