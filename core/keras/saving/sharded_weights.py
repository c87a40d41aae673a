"""Weights in several .weights.h5 files, and a .weights.json that maps names to files.

NAME.weights.json        {"metadata": {"total_size": bytes}, "weight_map": {group: file(s)}}
NAME_00000.weights.h5    groups as in one file: /layers/dense/vars
NAME_00001.weights.h5    ...; a group may go on in the next file
"""

from __future__ import annotations

import contextlib
import io
import json
import os
from typing import TYPE_CHECKING, Any

from pinnace.framework.errors import DataLossError, NotFoundError
from pinnace.keras.saving import hdf5, hdf5_checksum, hdf5_files
from pinnace.storage.atomic import write_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinnace.keras.models.model import Model

ENDING = ".weights.json"
_GIGABYTE = 1 << 30
# The most entries read from a map: no model has more layers.
_MOST = 64 << 20


def write(model: Model, path: str, gigabytes: float, skipped: tuple[Any, ...] = ()) -> None:
    """Write the weights of a model; the map is written last.

    Args:
        model: built.
        path: path of the map.
        gigabytes: the size of the variables in one file, at most.
        skipped: layers that are left out.

    Raises:
        ValueError: one variable is larger than a file may be.
    """
    whole = io.BytesIO()
    optimizer = hdf5.optimizer_to_write(model, skipped)
    hdf5.write_weights(model, whole, optimizer, skipped)
    shards = _Shards(path, gigabytes * _GIGABYTE)
    with hdf5_files.library().File(whole, "r") as file:
        places = [place for place, _ in hdf5.places(model, skipped)]
        for place in [*places, *(["optimizer"] if optimizer is not None else [])]:
            group = file[f"{place}/vars" if place else "vars"]
            for name in sorted(group, key=lambda name: (len(name), name)):
                shards.add(group, name)
    shards.close()


class _Shards:
    """The files as they become full.

    Args:
        path: path of the map.
        most: bytes of the variables in one file.
    """

    def __init__(self, path: str, most: float) -> None:
        self._path = path
        self._most = most
        self._folder, name = os.path.split(path)
        self._base = name.removesuffix(ENDING)
        self._names: list[str] = []
        self._map: dict[str, list[str]] = {}
        self._total = self._size = 0
        self._memory = io.BytesIO()
        self._file: Any = None
        self._open()

    def _open(self) -> None:
        self._names.append(f"{self._base}_{len(self._names):05}.weights.h5")
        self._memory, self._size = io.BytesIO(), 0
        self._file = hdf5_checksum.create(self._memory)

    def _write(self) -> None:
        self._file.close()
        write_file(os.path.join(self._folder, self._names[-1]), self._memory.getbuffer())  # noqa: PTH118 (a text)

    def add(self, group: Any, name: str) -> None:
        """Write an array of a group into the last file, or into a new one if that is full."""
        data = group[name]
        size = data.size * data.dtype.itemsize
        if size > self._most:
            raise ValueError(
                f"save_weights: max_shard_size must be at least {size / _GIGABYTE:.3g}, the size "
                f"of {group.name}/{name} in gigabytes, got {self._most / _GIGABYTE:g}"
            )
        if self._size + size > self._most:
            self._write()
            self._open()
        target = self._file.require_group(group.name)
        for key, value in group.attrs.items():
            target.attrs[key] = value
        group.copy(name, target)
        self._size += size
        self._total += size
        files = self._map.setdefault(group.name, [])
        if self._names[-1] not in files:
            files.append(self._names[-1])

    def close(self) -> None:
        """Write the rest and the map."""
        self._write()
        places = {key: files[0] if len(files) == 1 else files for key, files in self._map.items()}
        told = {"metadata": {"total_size": self._total}, "weight_map": places}
        write_file(self._path, json.dumps(told, indent=4).encode())


@contextlib.contextmanager
def reading(path: str, who: str) -> Iterator[Any]:
    """The files as one, in memory, open to be read.

    Raises:
        NotFoundError: the map or one of the files is not there.
        DataLossError: the map is none, or a file was damaged.
    """
    weight_map = _map_of(path, who)
    with hdf5_files.library().File(io.BytesIO(), "w") as merged:
        groups: dict[str, list[str]] = {}
        for group, names in weight_map.items():
            for name in [names] if isinstance(names, str) else names:
                groups.setdefault(name, []).append(group)
        for name, inside in groups.items():
            shard = os.path.join(os.path.dirname(path), name)  # noqa: PTH118, PTH120 (a text)
            with hdf5_files.reading(shard, f"{who}: {name!r}") as file:
                for group in inside:
                    _take(merged, file, group, who)
        yield merged


def _take(merged: Any, file: Any, group: str, who: str) -> None:
    found = hdf5_files.entry(file, group.strip("/"))
    if found is None:
        raise DataLossError(f"{who}: {group!r} is not in the file named by the map")
    target = merged.require_group(group)
    for key in found:
        if hdf5_files.is_plain(hdf5_files.entry(found, key)):
            found.copy(key, target)


def _map_of(path: str, who: str) -> dict[str, Any]:
    if not os.path.isfile(path):  # noqa: PTH113 (a text)
        raise NotFoundError(f"{who}: there is no such file")
    with open(path, "rb") as file:  # noqa: PTH123 (a text)
        data = file.read(_MOST)
    try:
        weight_map = json.loads(data)["weight_map"]
        for names in weight_map.values():
            for name in [names] if isinstance(names, str) else names:
                if os.path.basename(name) != name or not name:  # noqa: PTH119 (a text)
                    raise ValueError(f"{name!r} is not the name of a file in the same folder")  # noqa: TRY301
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise DataLossError(f"{who}: this is not a map of weights: {error}") from None
    return dict(weight_map)
