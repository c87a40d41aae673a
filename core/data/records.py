"""Elements from files: TFRecords, lines of text, fixed-length records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pinnace.data.elements import STRING, Columns, array_of_tensor, strings, whole_number
from pinnace.data.stage import Run, Stage
from pinnace.data.workers import Ahead
from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.tensor import SymbolicTensor
from pinnace.storage.flat_files import compression_of, decoded, lines, parts
from pinnace.storage.record_blocks import read_record_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator


class Files(Stage):
    """Scalar strings read from files, one file after the other.

    Args:
        filenames: string tensor, or a Stage of scalar strings.
        who: name of the caller in messages.
    """

    def __init__(self, filenames: Any, compression: Any, who: str) -> None:
        super().__init__(STRING)
        self._who = who
        if isinstance(filenames, Stage) and not STRING.is_compatible_with(filenames.spec):
            raise TypeError(
                f"{who}: a dataset of filenames must give scalar strings, gives {filenames.spec}"
            )
        if isinstance(filenames, (Stage, SymbolicTensor)):
            self._names: Any = filenames
        else:
            none = isinstance(filenames, (list, tuple)) and not filenames
            tensor = convert_to_tensor(_paths(filenames), dtypes.string if none else None)
            if tensor.dtype.name != "string":
                raise TypeError(f"{who}: filenames must be strings, got {tensor.dtype.name}")
            self._names = tensor if isinstance(tensor, SymbolicTensor) else array_of_tensor(tensor)
        self._compression = compression_of(who, compression)

    def names(self, run: Run) -> Iterator[str]:
        """The names of the files."""
        if isinstance(self._names, Stage):
            for (leaf,) in self._names.open(run):
                items = leaf.ravel().tolist() if isinstance(leaf, np.ndarray) else [leaf]
                yield from (item.decode() for item in items)
        else:
            yield from (item.decode() for item in np.asarray(self._names, object).ravel().tolist())

    def blocks(self, run: Run) -> Iterator[Columns]:
        """Blocks of strings."""
        for name in self.names(run):
            for items in self.read(name):
                yield (strings(items),)

    def read(self, name: str) -> Iterator[list[bytes]]:
        """The records of one file, in lists."""
        raise NotImplementedError


def _paths(filenames: Any) -> Any:
    if hasattr(filenames, "__fspath__"):
        return str(filenames.__fspath__())
    if isinstance(filenames, (list, tuple)):
        return [_paths(name) for name in filenames]
    return filenames


class Records(Files):
    """The records of TFRecord files; every checksum is verified.

    Args:
        filenames: string tensor, or a Stage of scalar strings.
        compression: "", "GZIP" or "ZLIB".
        parallel: how many files to read at once; their records are interleaved.
    """

    def __init__(self, filenames: Any, compression: Any, parallel: Any = None) -> None:
        super().__init__(filenames, compression, "TFRecordDataset")
        self._parallel = (
            0
            if parallel is None
            else whole_number(parallel, "TFRecordDataset", "num_parallel_reads", -1)
        )

    def read(self, name: str) -> Iterator[list[bytes]]:
        """The records of one file, in lists."""
        return read_record_blocks(name, self._compression)

    def blocks(self, run: Run) -> Iterator[Columns]:
        """Blocks of records: one file at a time or several interleaved, read ahead by threads."""
        count = int(self._parallel) if not isinstance(self._parallel, SymbolicTensor) else 0
        if count in {0, 1}:
            yield from super().blocks(run)
            return
        count = max(2, count)
        waiting = iter(self.names(run))
        active: list[Iterator[Any]] = []
        while True:
            while len(active) < count:
                name = next(waiting, None)
                if name is None:
                    break
                active.append(Ahead(cast("Iterator[Any]", self.read(name)), 2))
            if not active:
                return
            for one in list(active):
                items = next(one, None)
                if items is None:
                    active.remove(one)
                else:
                    yield (strings(items),)


class TextLines(Files):
    """The lines of text files, without line endings."""

    def __init__(self, filenames: Any, compression: Any) -> None:
        super().__init__(filenames, compression, "TextLineDataset")

    def read(self, name: str) -> Iterator[list[bytes]]:
        """The lines of one file, in lists."""
        return decoded(name, self._compression, self._who, lines)


class FixedRecords(Files):
    """Fixed-length records between a file's header and footer."""

    def __init__(
        self, filenames: Any, record_bytes: Any, header: Any, footer: Any, compression: Any
    ) -> None:
        who = "FixedLengthRecordDataset"
        super().__init__(filenames, compression, who)
        self._length = whole_number(record_bytes, who, "record_bytes", 1)
        self._header = whole_number(0 if header is None else header, who, "header_bytes", 0)
        self._footer = whole_number(0 if footer is None else footer, who, "footer_bytes", 0)

    def read(self, name: str) -> Iterator[list[bytes]]:
        """The records of one file, in lists."""
        sizes = int(self._length), int(self._header), int(self._footer)
        return decoded(
            name, self._compression, self._who, lambda file: parts(file, self._who, name, *sizes)
        )
