"""Layers' files in a .keras archive: vocabularies of lookups, and what programs' layers write."""

from __future__ import annotations

import contextlib
import functools
import tempfile
from pathlib import Path
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
        own: dict[str, bytes] = getattr(layer, "_assets", dict)()
        if hasattr(layer, "save_assets"):  # of a program
            own.update(_written(layer.save_assets))
        for name, data in own.items():
            found[_path(place, name)] = functools.partial(_put, data)
    return found


def _path(*parts: str) -> str:
    return "/".join(part for part in (_FOLDER, *parts) if part)


def _written(save: Callable[[str], object]) -> dict[str, bytes]:
    """The files that a function writes to a folder."""
    with tempfile.TemporaryDirectory() as folder:
        save(folder)
        files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


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
            path = _path(place, name)
            if path in archive:
                layer._restore_asset(name, archive.read(path))  # type: ignore[attr-defined]  # it has names


def load_own(model: Any, archive: Archive | Folder) -> None:
    """Call `load_assets` of programs' layers with a folder of their files; None without files."""
    for place, layer in hdf5.places(model):
        if not hasattr(layer, "load_assets"):
            continue
        root = _path(place)
        names = archive.inside(root)
        with tempfile.TemporaryDirectory() as folder:
            for name in names:
                file = Path(folder, name.removeprefix(f"{root}/"))
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(archive.read(name))
            layer.load_assets(folder if names else None)
