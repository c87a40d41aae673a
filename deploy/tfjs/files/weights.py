"""Weights ↔ shards, and the manifest that describes them.

All weights of a group are concatenated, and split into files of some megabytes.
"""

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from pinnace.deploy.tfjs.graph.lowering import THERE
from pinnace.framework.dtypes import from_numpy
from pinnace.framework.errors import DataLossError, InvalidArgumentError
from pinnace.framework.tensor import Array
from pinnace.storage.regular_files import open_regular
from pinnace.storage.system_errors import explained

Quantization = Literal["float16", "uint8", "uint16"]
KINDS: tuple[Quantization, ...] = ("float16", "uint8", "uint16")
SHARD_BYTES = 4 << 20  # the largest files that browsers cache
_TYPES = ("float32", "int32", "bool", "string", "complex64")
_MOST_AXES = 32
_MOST_FILES = 100_000
_DRIVE = re.compile(r"[A-Za-z]:")


def encode_weight(
    name: str, array: Array, quantize: Quantization | None = None
) -> tuple[dict[str, Any], bytes]:
    """Encode a weight: its entry in the manifest, and its bytes.

    Args:
        name: unique in the model.
        array: an array of a dtype that TensorFlow.js can represent.
        quantize: the storage of floats.
    """
    there = THERE[from_numpy(array.dtype)]
    entry: dict[str, Any] = {"name": name, "shape": list(array.shape), "dtype": there.name}
    if there.name == "string":
        return entry, _encode_strings(array)
    values = np.ascontiguousarray(array, there.numpy)
    if quantize is None or there.name != "float32" or not values.size:
        return entry, _little(values)
    if quantize == "float16":
        with np.errstate(over="ignore"):
            half = values.astype(np.float16)
        if np.isinf(half).any() and not np.isinf(values).any():
            return entry, _little(values)
        entry["quantization"] = {"dtype": "float16", "original_dtype": "float32"}
        return entry, _little(half)
    if not np.isfinite(values).all():
        return entry, _little(values)
    numbers, least, scale = quantized(values, quantize)
    entry["quantization"] = {
        "min": least,
        "scale": scale,
        "dtype": quantize,
        "original_dtype": "float32",
    }
    return entry, _little(numbers)


def quantized(values: Array, kind: Quantization) -> tuple[Array, float, float]:
    """Quantise to n * scale + least; return n, scale and least.

    If the values have both signs, 0 is represented exactly.
    """
    dtype = np.dtype(kind)
    most = int(np.iinfo(dtype).max)
    least, largest = float(values.min()), float(values.max())
    if least == largest:
        return np.zeros(values.shape, dtype), least, 1.0
    scale = (largest - least) / most
    if least <= 0 <= largest:
        least = -round(-least / scale) * scale
    found = np.rint((values.astype(np.float64) - least) / scale)
    return np.clip(found, 0, most).astype(dtype), least, scale


def _little(values: Array) -> bytes:
    return values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()


def _encode_strings(array: Array) -> bytes:
    pieces = []
    for text in array.reshape(-1).tolist():
        content = text if isinstance(text, bytes) else str(text).encode()
        pieces += [len(content).to_bytes(4, "little"), content]
    return b"".join(pieces)


def write_weights(
    folder: Path,
    weights: Mapping[str, Array],
    quantize: Quantization | None = None,
    shard_bytes: int = SHARD_BYTES,
) -> tuple[list[dict[str, Any]], int]:
    """Write the shards; return the manifest, and the number of bytes.

    Args:
        folder: the folder.
        weights: by name.
        quantize: the storage of floats.
        shard_bytes: the size of a shard.
    """
    names = list(weights)
    sizes = 0
    entries: list[dict[str, Any]] = []
    for name in names:
        entry, size = _measured(name, weights[name], quantize)
        entries.append(entry)
        sizes += size
    count = max(-(-sizes // shard_bytes), 1)
    paths = [f"group1-shard{number + 1}of{count}.bin" for number in range(count)]
    with _Shards(folder, paths, shard_bytes) as shards:
        for name in names:
            shards.write(encode_weight(name, weights[name], quantize)[1])
    return ([{"paths": paths, "weights": entries}] if entries else []), sizes


def _measured(name: str, array: Array, quantize: Quantization | None) -> tuple[dict[str, Any], int]:
    entry, content = encode_weight(name, array, quantize)
    return entry, len(content)


class _Shards:
    """Writes bytes to files of a fixed size."""

    def __init__(self, folder: Path, paths: list[str], most: int) -> None:
        self._places = iter([folder / path for path in paths])
        self._most = most
        self._file = next(self._places).open("wb")
        self._left = most

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._file.close()

    def write(self, content: bytes) -> None:
        """Write bytes to as many files as they need."""
        view = memoryview(content)
        while view:
            if not self._left:
                self._file.close()
                self._file = next(self._places).open("wb")
                self._left = self._most
            piece, view = view[: self._left], view[self._left :]
            self._file.write(piece)
            self._left -= len(piece)


def read_weights(folder: Path, manifest: Any, where: str) -> dict[str, Array]:
    """Read the weights of a manifest, dequantised.

    Args:
        folder: the folder with the shards.
        manifest: the JSON, which is checked.
        where: the manifest's file, for errors.

    Raises:
        DataLossError: a file is missing, or too short.
        InvalidArgumentError: the manifest is not valid.
    """
    found: dict[str, Array] = {}
    for group in _list(manifest, f"{where}: weightsManifest"):
        if not isinstance(group, dict):
            raise InvalidArgumentError(f"{where}: weightsManifest holds {group!r:.80}")
        paths = [_inside(folder, path, where) for path in _list(group.get("paths"), where)]
        entries = [_entry(one, where) for one in _list(group.get("weights"), where)]
        reader = _Reader(paths, where)
        for name, shape, dtype, quantization in entries:
            if name in found:
                raise InvalidArgumentError(f"{where}: two weights are named {name!r}")
            found[name] = _decode(reader, name, shape, dtype, quantization)
        reader.finish()
    return found


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list) or len(value) > _MOST_FILES:
        raise InvalidArgumentError(f"{where}: must be a list, got {value!r:.80}")
    return value


def _inside(folder: Path, path: Any, where: str) -> Path:
    """The path of a file in the folder; names in a manifest must not lead out of it."""
    if (
        not isinstance(path, str)
        or not path
        or "\\" in path
        or "\0" in path
        or path.startswith("/")
        or _DRIVE.match(path)
        or ".." in path.split("/")
    ):
        raise InvalidArgumentError(f"{where}: {path!r:.120} is not a valid file name")
    place = folder / path
    if not os.path.realpath(place).startswith(os.path.realpath(folder) + os.sep):
        raise InvalidArgumentError(f"{where}: {path!r} leads out of the model's folder")
    if not place.is_file():
        raise DataLossError(f"{where}: the weight file {path!r} is missing")
    return place


def _entry(entry: Any, where: str) -> tuple[str, tuple[int, ...], str, dict[str, Any] | None]:
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise InvalidArgumentError(f"{where}: a weight has no name: {entry!r:.120}")
    name, shape, dtype = entry["name"], entry.get("shape"), entry.get("dtype")
    if (
        not isinstance(shape, list)
        or len(shape) > _MOST_AXES
        or not all(type(n) is int and 0 <= n < 1 << 40 for n in shape)
    ):
        raise InvalidArgumentError(f"{where}: weight {name!r} has the shape {shape!r:.120}")
    if dtype not in _TYPES:
        raise InvalidArgumentError(
            f"{where}: weight {name!r} has dtype {dtype!r:.40}, must be one of {', '.join(_TYPES)}"
        )
    quantization = entry.get("quantization")
    if quantization is not None:
        if not isinstance(quantization, dict) or quantization.get("dtype") not in KINDS:
            raise InvalidArgumentError(
                f"{where}: weight {name!r} has an unknown quantisation: {quantization!r:.120}"
            )
        numbers = [quantization.get(key, 0.0) for key in ("min", "scale")]
        missing = quantization["dtype"] != "float16" and not {"min", "scale"} <= quantization.keys()
        if missing or not all(type(n) in (int, float) and math.isfinite(n) for n in numbers):
            raise InvalidArgumentError(
                f"{where}: weight {name!r} is quantised, but lacks a scale or minimum"
            )
        if dtype not in ("float32", "int32") or (
            quantization["dtype"] == "float16" and dtype != "float32"
        ):
            raise InvalidArgumentError(f"{where}: weight {name!r}, a {dtype}, is quantised")
    return name, tuple(shape), dtype, quantization


class _Reader:
    """The bytes of several files as one stream."""

    def __init__(self, paths: Iterable[Path], where: str) -> None:
        self._where = where
        self._sizes = [(path, path.stat().st_size) for path in paths]
        self._left = sum(size for _, size in self._sizes)
        self._pieces = self._read()
        self._rest = memoryview(b"")

    def _read(self) -> Iterator[bytes]:
        for path, _ in self._sizes:
            with explained("read", path), open_regular(path) as file:
                yield file.read()

    def take(self, count: int, name: str) -> bytearray:
        """The next bytes; their number is checked before memory is allocated."""
        if count > self._left:
            raise DataLossError(
                f"{self._where}: weight {name!r} needs {count} bytes, but {self._left} are left in "
                "its files: they are truncated, or belong to another model"
            )
        self._left -= count
        found = bytearray(count)
        done = 0
        while done < count:
            if not self._rest:
                piece = next(self._pieces, None)
                if piece is None:
                    raise DataLossError(f"{self._where}: the files of its weights became shorter")
                self._rest = memoryview(piece)
                continue
            part = self._rest[: count - done]
            found[done : done + len(part)] = part
            self._rest = self._rest[len(part) :]
            done += len(part)
        return found

    def finish(self) -> None:
        """Refuse bytes that belong to no weight.

        Raises:
            DataLossError: bytes are left.
        """
        if self._left:
            raise DataLossError(
                f"{self._where}: {self._left} bytes more than its weights need: the files are of "
                "another model"
            )


def _decode(
    reader: _Reader,
    name: str,
    shape: tuple[int, ...],
    dtype: str,
    quantization: dict[str, Any] | None,
) -> Array:
    count = math.prod(shape)
    if dtype == "string":
        texts = []
        for _ in range(count):
            length = int.from_bytes(reader.take(4, name), "little")
            texts.append(bytes(reader.take(length, name)))
        array = np.empty(count, object)
        array[:] = texts
        return array.reshape(shape)
    stored = np.dtype(dtype if quantization is None else quantization["dtype"])
    content = reader.take(count * stored.itemsize, name)
    values = np.frombuffer(content, stored.newbyteorder("<")).astype(stored, copy=False)
    if quantization is not None:
        values = _floats(values, quantization, np.dtype(dtype))
    return values.reshape(shape)


def _floats(values: Array, quantization: dict[str, Any], dtype: "np.dtype[Any]") -> Array:
    """Dequantised floats as TensorFlow.js computes them: in float64, then rounded."""
    if quantization["dtype"] == "float16":
        return values.astype(np.float32)
    found = values.astype(np.float64) * float(quantization["scale"]) + float(quantization["min"])
    return found.astype(np.float32) if dtype == np.float32 else np.rint(found).astype(dtype)
