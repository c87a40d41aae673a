"""Safe reading of HDF5: plain arrays and attributes of bounded size in the file itself."""

from __future__ import annotations

import contextlib
import os
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.errors import DataLossError, NotFoundError, ResourceExhaustedError

if TYPE_CHECKING:
    from collections.abc import Iterator

# The limit for a file's arrays beyond its own size: HDF5 may compress them, or omit fill values.
TIMES = 4
_NAMES = 1_000_000


def library() -> Any:
    """The module h5py.

    Raises:
        ImportError: h5py is not installed.
    """
    try:
        import h5py
    except ImportError:
        raise ImportError(
            ".keras, .h5 and .weights.h5 files are read and written by h5py, which pinnace is "
            "installed with and is not there\n"
            "  Try: pip install h5py, or a path without an ending, for a SavedModel or a checkpoint"
        ) from None
    return h5py


@contextlib.contextmanager
def reading(file: str | IO[bytes], who: str) -> Iterator[Any]:
    """An HDF5 file, open to be read.

    Args:
        file: a path, or an open file.
        who: name of the caller in messages.

    Raises:
        NotFoundError: there is no such file.
        DataLossError: the file is no HDF5 file.
    """
    h5py = library()
    if isinstance(file, str) and not os.path.isfile(file):  # noqa: PTH113 (a text)
        raise NotFoundError(f"{who}: there is no such file")
    try:
        opened = h5py.File(file, "r")
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        raise DataLossError(f"{who}: this is not an HDF5 file: {error}") from None
    with opened:
        yield opened


@contextlib.contextmanager
def explained(who: str) -> Iterator[None]:
    """Convert the HDF5 library's exceptions about corruption inside the block to one error."""
    try:
        yield
    except (OSError, RuntimeError, KeyError, UnicodeDecodeError, TypeError, OverflowError) as error:
        if isinstance(error, (DataLossError, ResourceExhaustedError)):
            raise
        raise DataLossError(f"{who}: the file was damaged: {error}") from None


def size_of(file: str | IO[bytes]) -> int:
    """The number of bytes."""
    if isinstance(file, str):
        return os.path.getsize(file)  # noqa: PTH202 (a text)
    at = file.tell()
    size = file.seek(0, os.SEEK_END)
    file.seek(at)
    return size


def entry(group: Any, path: str) -> Any:
    """An object in the same file, None if missing: links are not followed.

    Raises:
        ValueError: a link on the way.
    """
    h5py = library()
    for name in path.split("/"):
        if not hasattr(group, "keys") or name not in group:
            return None
        link = group.get(name, getlink=True)
        if not isinstance(link, h5py.HardLink):
            raise ValueError(  # noqa: TRY004 (the file is wrong, not a type)
                f"{path!r} is a link in the file, a {type(link).__name__}, which is not followed"
            )
        group = group[name]
    return group


def is_plain(data: Any) -> bool:
    """Whether it is a numeric array stored in the file itself."""
    if not hasattr(data, "dtype") or data.shape is None:
        return False
    return not (data.external or data.is_virtual) and data.dtype.kind in "biuf"


def values(data: Any, dtype: Any) -> Any:
    """A plain array, converted to a dtype."""
    array = np.empty(data.shape, data.dtype)
    if array.size:
        data.read_direct(array)
    return array if array.dtype == dtype else array.astype(dtype)


def text(owner: Any, name: str) -> str | None:
    """A text attribute; None if it is missing."""
    found = owner.attrs.get(name)
    if found is None or isinstance(found, str):
        return found
    if isinstance(found, bytes):
        return found.decode()
    raise ValueError(f"attribute {name!r} is no text")


def texts(owner: Any, name: str) -> list[str]:
    """An attribute that is a list of texts, or several of them that together are.

    Raises:
        ValueError: the attribute has another type.
    """
    if name in owner.attrs:
        parts = [owner.attrs[name]]
    else:
        parts = []
        while f"{name}{len(parts)}" in owner.attrs and len(parts) < _NAMES:
            parts.append(owner.attrs[f"{name}{len(parts)}"])
        if not parts:
            raise ValueError(f"attribute {name!r} is missing")
    found: list[str] = []
    for part in parts:
        for one in np.asarray(part, object).ravel().tolist():
            if not isinstance(one, (str, bytes)):
                raise ValueError(f"attribute {name!r} is not a list of strings")  # noqa: TRY004 (as above)
            found.append(one.decode() if isinstance(one, bytes) else one)
    return found


# An attribute must fit in the head of an object, 64 KB.
_MOST = 64_512


def write_texts(owner: Any, name: str, given: list[str]) -> None:
    """Write an attribute for `texts`, in several parts if it is long."""
    data = np.array([one.encode() for one in given])
    parts = 1
    while any(part.nbytes > _MOST for part in np.array_split(data, parts)):
        parts += 1
    if parts == 1:
        owner.attrs[name] = data
        return
    for index, part in enumerate(np.array_split(data, parts)):
        owner.attrs[f"{name}{index}"] = part
