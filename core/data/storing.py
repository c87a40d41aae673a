"""Elements in folders: `save`, `load`, `snapshot`, and caches in files.

A folder has `dataset.json` (version, element spec, number of elements) and TFRecord files
`elements-00000.tfrecord`, … Each record is one element: per leaf a uint32 number of axes, int64
sizes, then the raw little-endian bytes; a string leaf has a uint32 length before each of its
strings. This is our own format; TensorFlow's differs and is not guaranteed to stay.
"""

from __future__ import annotations

import contextlib
import json
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.data.dataset_spec import DatasetSpec
from pinnace.data.elements import Element, Nest, compatible, leaf_array, leaves_of, spec_text
from pinnace.data.failures import Failure, Guarded, raising
from pinnace.data.stage import Run, Stage
from pinnace.framework.dtypes import as_dtype
from pinnace.framework.errors import (
    AlreadyExistsError,
    DataLossError,
    InvalidArgumentError,
    NotFoundError,
)
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.storage.atomic import replace_folder
from pinnace.storage.record import RecordWriter
from pinnace.storage.record_blocks import read_record_blocks

if TYPE_CHECKING:
    from pathlib import Path

_VERSION = 1
# All of them are open at the same time while writing.
_MOST_FILES = 512
_HEADER = "dataset.json"
_RANK = struct.Struct("<I")


def encode_element(element: Element) -> bytes:
    """The bytes of an element."""
    parts: list[bytes] = []
    for leaf in element:
        array = np.asarray(leaf_array(leaf))
        parts.append(_RANK.pack(array.ndim) + np.array(array.shape, "<i8").tobytes())
        if array.dtype == object:
            for item in array.ravel().tolist():
                parts.append(_RANK.pack(len(item)))
                parts.append(item)
        else:
            little = array.astype(array.dtype.newbyteorder("<"), copy=False)
            parts.append(little.tobytes())
    return b"".join(parts)


def decode_element(data: bytes, specs: tuple[Any, ...], where: str) -> Element:
    """The inverse of `encode_element`; every length is checked against the bytes there are.

    Raises:
        DataLossError: the bytes are no element of these specs.
    """
    leaves = []
    position = 0
    for spec in specs:
        rank, position = _number(data, position, where)
        end = position + 8 * rank
        if rank > 64 or end > len(data):
            raise DataLossError(f"{where}: an element is damaged: a leaf of {rank} axes")
        shape = tuple(np.frombuffer(data[position:end], "<i8").tolist())
        position = end
        if any(n < 0 for n in shape) or not spec.shape.is_compatible_with(Shape.of(shape)):
            raise DataLossError(f"{where}: an element is damaged: {shape} does not fit {spec.text}")
        count = 1
        for n in shape:
            count *= n
        if spec.dtype.name == "string":
            if count > len(data):
                raise DataLossError(f"{where}: an element is damaged: {count} strings")
            items = []
            for _ in range(count):
                length, position = _number(data, position, where)
                items.append(data[position : position + length])
                position += length
            array = np.empty(count, object)
            array[:] = items
            leaves.append(array.reshape(shape))
        else:
            end = position + count * spec.dtype.numpy.itemsize
            if end > len(data):
                raise DataLossError(f"{where}: an element is damaged: it ends inside a leaf")
            leaves.append(np.frombuffer(data[position:end], spec.dtype.numpy).reshape(shape))
            position = end
    if position != len(data):
        raise DataLossError(
            f"{where}: an element is damaged: {len(data) - position} bytes left over"
        )
    return tuple(leaves)


def _number(data: bytes, position: int, where: str) -> tuple[int, int]:
    if position + 4 > len(data):
        raise DataLossError(f"{where}: an element is damaged: it ends inside a leaf")
    return _RANK.unpack_from(data, position)[0], position + 4


def encode_spec(spec: Nest) -> Any:
    """An element spec as JSON has it."""
    if isinstance(spec, tuple):
        kind = type(spec).__name__ if hasattr(spec, "_fields") else ""
        return {"tuple": [encode_spec(part) for part in spec], "name": kind}
    if isinstance(spec, Mapping):
        return {"dict": {str(key): encode_spec(part) for key, part in spec.items()}}
    if not isinstance(spec, TensorSpec):
        raise InvalidArgumentError(f"save: only tensors can be saved, an element holds {spec}")
    dims = spec.shape.dims
    return {"dtype": spec.dtype.name, "shape": None if dims is None else list(dims)}


def decode_spec(value: Any, where: str) -> Nest:
    """The inverse of `encode_spec`; a named tuple becomes a tuple."""
    try:
        if "tuple" in value:
            return tuple(decode_spec(part, where) for part in value["tuple"])
        if "dict" in value:
            return {str(key): decode_spec(part, where) for key, part in value["dict"].items()}
        return TensorSpec(value["shape"], as_dtype(value["dtype"]))
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise DataLossError(f"{where}: the element spec is damaged: {error}") from error


def read_header(folder: Path) -> tuple[Nest, int, int]:
    """Element spec, number of elements, number of files.

    Raises:
        NotFoundError: no dataset is saved there.
        DataLossError: the header is damaged.
    """
    path = folder / _HEADER
    try:
        header = json.loads(path.read_text("utf-8"))
        version, count, files = (int(header[key]) for key in ("version", "elements", "files"))
    except FileNotFoundError:
        raise NotFoundError(f"no dataset is saved in {folder}: {_HEADER} is missing") from None
    except (ValueError, TypeError, KeyError) as error:
        raise DataLossError(f"{path}: the header is damaged: {error}") from error
    if version != _VERSION:
        raise InvalidArgumentError(f"{path}: version must be {_VERSION}, got {version}")
    if count < -1 or files < 1:
        raise DataLossError(f"{path}: the header is damaged: {count} elements in {files} files")
    return decode_spec(header["spec"], str(path)), count, files


class _Writer:
    """Writes elements to the files of a folder."""

    def __init__(self, folder: Path, spec: Nest, files: int, compression: str | None) -> None:
        self._folder = folder
        self._spec = spec
        self._writers: list[RecordWriter] = []
        self._compression = compression
        self.count = 0
        self._open(files)

    def _open(self, files: int) -> None:
        for number in range(len(self._writers), files):
            self._writers.append(RecordWriter(_file(self._folder, number), self._compression))

    def write(self, element: Element, file: int = 0) -> None:
        """Append an element to the file with that index."""
        if not 0 <= file < _MOST_FILES:
            raise InvalidArgumentError(
                f"save: shard_func must give numbers in [0, {_MOST_FILES}), gave {file}"
            )
        if file >= len(self._writers):
            self._open(file + 1)
        self._writers[file].write(encode_element(element))
        self.count += 1

    def close(self) -> None:
        """Close the files."""
        for writer in self._writers:
            writer.close()

    def finish(self) -> None:
        """Close the files and write the header."""
        self.close()
        header = {
            "version": _VERSION,
            "spec": encode_spec(self._spec),
            "elements": self.count,
            "files": len(self._writers),
            "compression": self._compression or "",
        }
        (self._folder / _HEADER).write_text(json.dumps(header, indent=1), "utf-8")


def _file(folder: Path, number: int) -> Path:
    return folder / f"elements-{number:05d}.tfrecord"


def write_folder(
    stage: Stage,
    folder: Path,
    compression: str | None,
    shard: Callable[[Element], int] | None = None,
) -> None:
    """Write every element; the folder appears when it is complete."""
    encode_spec(stage.spec)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with replace_folder(folder) as made:
        writer = _Writer(made, stage.spec, 1, compression)
        try:
            for element in stage.open(Run()):
                writer.write(element, 0 if shard is None else shard(element))
            writer.finish()
        finally:
            writer.close()


class Stored(Stage):
    """The elements of a folder that `save` wrote.

    Args:
        folder: the folder.
        spec: required spec of the elements; that of the folder if None.
    """

    def __init__(self, folder: Path, spec: Nest = None) -> None:
        found, self._count, self._files = read_header(folder)
        if spec is not None and not compatible(found, spec):
            raise InvalidArgumentError(
                f"load: {folder} holds elements {spec_text(found)}, not {spec_text(spec)}"
            )
        super().__init__(found if spec is None else spec)
        self._folder = folder
        self._compression = json.loads((folder / _HEADER).read_text("utf-8")).get("compression")

    def elements(self, run: Run) -> Iterator[Element]:
        """The elements, file after file."""
        del run
        return read_files(self._folder, self.leaves, self._files, self._compression)

    def parts(self) -> list[StoredFile]:
        """The files as stages."""
        return [
            StoredFile(self.spec, _file(self._folder, number), self._compression)
            for number in range(self._files)
        ]

    def cardinality(self) -> int:
        """The number of saved elements."""
        return self._count


class StoredFile(Stage):
    """The elements of one of the files of a folder."""

    def __init__(self, spec: Nest, path: Path, compression: str | None) -> None:
        super().__init__(spec)
        self._path = path
        self._compression = compression

    def elements(self, run: Run) -> Iterator[Element]:
        """The elements."""
        del run
        return _elements_of(self._path, self.leaves, self._compression)


class StoredFiles(Stage):
    """One dataset per file of a folder that `save` wrote, for a `reader_func`."""

    def __init__(self, folder: Path, spec: Nest = None) -> None:
        whole = Stored(folder, spec)
        super().__init__(DatasetSpec(whole.spec))
        self._parts = whole.parts()

    def elements(self, run: Run) -> Iterator[Element]:
        """The datasets."""
        del run
        return iter([(part,) for part in self._parts])

    def cardinality(self) -> int:
        """The number of files."""
        return len(self._parts)


def read_files(
    folder: Path, leaves: tuple[Any, ...], files: int, compression: str | None
) -> Iterator[Element]:
    """The elements in the files of a folder."""
    for number in range(files):
        yield from _elements_of(_file(folder, number), leaves, compression)


def _elements_of(path: Path, leaves: tuple[Any, ...], compression: str | None) -> Iterator[Element]:
    for records in read_record_blocks(path, compression):
        for record in records:
            yield decode_element(record, leaves, str(path))


class FolderCache:
    """Elements that the first complete pass writes into a folder, and later passes read.

    Args:
        folder: the folder to write.
        spec: spec of the elements.
        compression: compression of the files.
        shard: returns the index of the file for an element; there is one file if None.
        reader: turns a stage with one dataset per file into the elements; if None, the files are
            read one after the other.
    """

    def __init__(
        self,
        folder: Path,
        spec: Nest,
        compression: str | None = None,
        shard: Callable[[Element], int] | None = None,
        reader: Callable[[Stage], Stage] | None = None,
    ) -> None:
        encode_spec(spec)
        self._folder = folder
        self._spec = spec
        self._leaves = tuple(leaves_of(spec))
        self._compression = compression
        self._shard = shard
        self._reader = reader

    def exists(self) -> bool:
        """Whether a pass has completed."""
        return (self._folder / _HEADER).exists()

    def read(self) -> Iterator[Element]:
        """The elements written."""
        found, _, files = read_header(self._folder)
        if not compatible(found, self._spec):
            raise InvalidArgumentError(
                f"cache: {self._folder} holds elements {spec_text(found)}, "
                f"not {spec_text(self._spec)}"
            )
        if self._reader is not None:
            return self._reader(StoredFiles(self._folder, self._spec)).open(Run())
        return read_files(self._folder, self._leaves, files, self._compression)

    @raising
    def write(self, source: Iterator[Element], expected: int) -> Iterator[Any]:
        """The elements of `source`, written as they are read; an incomplete pass leaves no file.

        Args:
            source: the elements.
            expected: their number: the file is complete once it holds so many, though nobody asks
                for the end. UNKNOWN or INFINITE if the end must be read.
        """
        last: tuple[Element, ...] = ()
        self._folder.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as stack:
            made = stack.enter_context(_abandoned_quietly(self._folder))
            writer = _Writer(made, self._spec, 1, self._compression)
            stack.callback(writer.close)
            for element in Guarded(source):
                if type(element) is not Failure:
                    writer.write(element, 0 if self._shard is None else self._shard(element))
                    if writer.count == expected:
                        last = (element,)
                        break
                yield element
            writer.finish()
        yield from last


@contextlib.contextmanager
def _abandoned_quietly(folder: Path) -> Iterator[Path]:
    if (folder / _HEADER).exists():
        raise AlreadyExistsError(f"cache: another pass has written {folder} meanwhile")
    with replace_folder(folder) as made:
        yield made
