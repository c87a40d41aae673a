"""TFRecord files of `tf.train.Example`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.deploy.score.chunks import UNNAMED, Chunk
from pinnace.deploy.score.reading.reader import RowPosition, damaged
from pinnace.framework.errors import DataLossError
from pinnace.storage.record import open_records

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pinnace.deploy.score.reading.reader import Opened

_LOOKED_AT = 100
_OVERHEAD = 16  # bytes of a record besides its content
_GZIP = b"\x1f\x8b"


class ExamplesReader:
    """An open TFRecord file, plain or compressed by gzip.

    Args:
        opened: the file.
        raw: whether rows are the records themselves, for a model that parses them.
    """

    def __init__(self, opened: Opened, *, raw: bool = False) -> None:
        self._file = opened.file
        self._where = opened.where
        self._raw = raw
        self._file.seek(0)
        self._compression = "GZIP" if self._file.read(2) == _GZIP else None

    def columns(self) -> list[str] | None:
        """See `Reader.columns`; the names are the features of the first Examples."""
        if self._raw:
            return None
        names: dict[str, None] = {}
        for number, record in enumerate(self._records(0)):
            if number == _LOOKED_AT:
                break
            example = _parsed(record)
            if example is not None:
                names.update(dict.fromkeys(example.features.feature))
        return sorted(names)

    def places(self, rows: int) -> list[RowPosition]:
        """See `Reader.places`; the whole file is read for it."""
        places = [RowPosition(0)]
        at = 0
        for row, record in enumerate(self._records(0)):
            if row and row % rows == 0:
                # Compressed data is read from the beginning, and rows are skipped.
                places.append(RowPosition(row, 0 if self._compression else at))
            at += len(record) + _OVERHEAD
        return places

    def chunks(
        self,
        begin: RowPosition,
        stop: int | None,
        wanted: Sequence[str],
        kept: Sequence[str],
        rows: int,
    ) -> Iterator[Chunk]:
        """See `Reader.chunks`."""
        passed = 0 if begin.offset else begin.row
        number = first = begin.row
        waiting: list[bytes] = []
        for record in self._records(begin.offset):
            if passed:
                passed -= 1
                continue
            if number == stop:
                break
            waiting.append(record)
            number += 1
            if len(waiting) == rows:
                yield self._chunk(first, waiting, wanted, kept)
                waiting, first = [], number
        if waiting:
            yield self._chunk(first, waiting, wanted, kept)

    def _records(self, offset: int) -> Iterator[bytes]:
        self._file.seek(offset)
        try:
            yield from open_records(self._file, self._where, self._compression)
        except DataLossError as error:
            damaged(self._where, error)

    def _chunk(
        self, first: int, records: list[bytes], wanted: Sequence[str], kept: Sequence[str]
    ) -> Chunk:
        if self._raw:
            return Chunk(first, len(records), {UNNAMED: list(records)}, {})
        names = list(dict.fromkeys([*wanted, *kept]))
        columns: dict[str, list[Any]] = {name: [] for name in names}
        bad: dict[int, str] = {}
        for place, record in enumerate(records):
            example = _parsed(record)
            if example is None:
                bad[place] = "it is no Example"
            features = {} if example is None else example.features.feature
            for name in names:
                if name not in features:
                    listed = ", ".join(sorted(features)) or "none"
                    bad.setdefault(place, f"it has no feature {name!r}; it has: {listed}")
                    columns[name].append(None)
                else:
                    columns[name].append(_value(features[name]))
        return Chunk(
            first,
            len(records),
            {name: columns[name] for name in wanted},
            {name: [_plain(value) for value in columns[name]] for name in kept},
            bad,
        )


def _parsed(record: bytes) -> Any:
    from google.protobuf.message import DecodeError

    from pinnace.proto.example_pb2 import Example

    try:
        return Example.FromString(record)
    except DecodeError:
        return None


def _value(feature: Any) -> Any:
    kind = feature.WhichOneof("kind")
    if kind == "float_list":
        return np.array(feature.float_list.value, np.float32)
    if kind == "int64_list":
        return np.array(feature.int64_list.value, np.int64)
    return None if kind is None else list(feature.bytes_list.value)


def _plain(value: Any) -> Any:
    """A feature as a Python value: a single element, or a list."""
    values = value.tolist() if isinstance(value, np.ndarray) else value
    return values[0] if values is not None and len(values) == 1 else values
