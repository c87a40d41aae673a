"""HDF5 files with checksums, so that any program that reads them notices damage.

HDF5 has optional checksums: of its metadata since version 1.10 of the format, and of chunks of
arrays by the filter Fletcher-32. The library updates them when a file is edited through it. Long
strings cannot have one: the model's configuration has a CRC-32C in a separate attribute.
"""

from __future__ import annotations

import warnings
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from pinnace.keras.saving import hdf5_files
from pinnace.storage.checksum import crc32c

if TYPE_CHECKING:
    from collections.abc import Sequence

ATTRIBUTE = "pinnace_crc32c"
_VERSION = "v110"
# Up to this size an array is stored in the header of its dataset, which has a checksum.
_IN_THE_HEAD = 1 << 13
# HDF5 reads and checks a chunk at once, and allows no larger one than 4 GiB.
_CHUNK = 1 << 28


def create(file: IO[bytes]) -> Any:
    """A new HDF5 file for writing, whose structures have checksums."""
    return hdf5_files.library().File(file, "w", libver=_VERSION)


def put(group: Any, name: str, value: Any) -> None:
    """Write an array that has a checksum.

    Args:
        group: group of a file that `create` made.
        name: name of the dataset.
        value: any shape.
    """
    h5py = hdf5_files.library()
    value = np.asarray(value)
    layout = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    if value.nbytes <= _IN_THE_HEAD:
        layout.set_layout(h5py.h5d.COMPACT)  # h5py's own function makes scalars contiguous
    else:
        layout.set_chunk(_chunk(value.shape, value.itemsize))
        layout.set_fletcher32()
    kind = h5py.h5t.py_create(value.dtype, logical=True)
    space = h5py.h5s.create_simple(value.shape) if value.shape else h5py.h5s.create(h5py.h5s.SCALAR)
    data = h5py.Dataset(h5py.h5d.create(group.id, None, kind, space, layout))
    data[...] = value
    group[name] = data


def _chunk(shape: tuple[int, ...], item: int) -> tuple[int, ...]:
    """The largest chunk of whole rows, splitting leading axes first."""
    left = max(_CHUNK // item, 1)
    chunk: list[int] = []
    for size in reversed(shape):
        chunk.append(max(min(size, left), 1))
        left //= chunk[-1]
    return tuple(reversed(chunk))


def seal(opened: Any, names: Sequence[str]) -> None:
    """Write the checksum of a file's text attributes."""
    opened.attrs[ATTRIBUTE] = np.uint32(_sum(opened, names))


def warn_of_changed(opened: Any, names: Sequence[str], who: str) -> None:
    """Warn if texts differ from those that were written, if they have a checksum.

    The file may be corrupt, or edited on purpose: the texts are used in any case.

    Args:
        opened: a file.
        names: names of the attributes.
        who: name of the caller in the message.
    """
    if ATTRIBUTE in opened.attrs and int(opened.attrs[ATTRIBUTE]) != _sum(opened, names):
        warnings.warn(
            f"{who}: its configuration is not the one that was saved: the file was edited, or "
            "damaged\n"
            "  Try: copy it again from its source; if the edit was intended, accept it by "
            f"`h5py.File(path, 'r+').attrs.pop({ATTRIBUTE!r})`",
            stacklevel=6,
        )


def _sum(opened: Any, names: Sequence[str]) -> int:
    total = 0
    for name in names:
        text = opened.attrs.get(name, b"")
        total = crc32c(text.encode() if isinstance(text, str) else bytes(text), total)
    return total
