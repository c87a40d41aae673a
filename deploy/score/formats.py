"""File formats: their names, readers and writers."""

from __future__ import annotations

import contextlib
import gzip
import re
from typing import IO, TYPE_CHECKING, Any, cast

from pinnace.deploy.models.pictures import PICTURES
from pinnace.deploy.score.reading.arrays import ArchiveReader, ArrayReader
from pinnace.deploy.score.reading.delimited import DelimitedReader
from pinnace.deploy.score.reading.examples import ExamplesReader
from pinnace.deploy.score.reading.json_lines import JsonLinesReader
from pinnace.deploy.score.reading.parquet import ParquetReader
from pinnace.deploy.score.reading.pictures import PictureReader
from pinnace.deploy.score.reading.reader import Opened
from pinnace.deploy.score.stores import open_location
from pinnace.deploy.score.writing.columns import ColumnsWriter, column_specs
from pinnace.deploy.score.writing.examples import ExamplesWriter
from pinnace.deploy.score.writing.lines import DelimitedWriter, JsonLinesWriter
from pinnace.deploy.score.writing.parquet import ParquetWriter
from pinnace.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pinnace.deploy.score.fitting import RowSpec
    from pinnace.deploy.score.parts import Source
    from pinnace.deploy.score.reading.reader import Reader
    from pinnace.deploy.score.writing.writer import Writer
    from pinnace.framework.specs import TensorSpec

PARQUET, CSV, TSV, JSONL, TFRECORD, NPY, NPZ, PICTURES_FOLDER = (
    *("parquet", "csv", "tsv", "jsonl"),
    *("tfrecord", "npy", "npz", "pictures"),
)
INPUT_FORMATS = (PARQUET, CSV, TSV, JSONL, TFRECORD, NPY, NPZ)
OUTPUT_FORMATS = (PARQUET, CSV, JSONL, TFRECORD)
_GZIP = ".gz"
_ENDINGS = {
    **dict.fromkeys((".parquet", ".pq"), PARQUET),
    ".csv": CSV,
    **dict.fromkeys((".tsv", ".tab"), TSV),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), JSONL),
    **dict.fromkeys((".tfrecord", ".tfrecords"), TFRECORD),
    ".npy": NPY,
    ".npz": NPZ,
    **dict.fromkeys(PICTURES, PICTURES_FOLDER),
}
# `train.tfrecord-00003-of-00010`, the naming of shards by TensorFlow's tools.
_PART = re.compile(r"-\d+-of-\d+\Z")
_RESULTS = {PARQUET: PARQUET, CSV: CSV, TSV: CSV, TFRECORD: TFRECORD}


def split_name(name: str) -> tuple[str, str | None]:
    """A file's name without its suffixes, and the format that they indicate, or None."""
    part = _PART.search(name)
    bare = name[: part.start()] if part else name
    if bare.lower().endswith(_GZIP):
        bare = bare[: -len(_GZIP)]
    for ending, kind in _ENDINGS.items():
        if bare.lower().endswith(ending):
            return bare[: -len(ending)] + (part[0] if part else ""), kind
    return name, None


def output_format(source: str, wanted: str | None) -> str:
    """The format of results: the one asked for, else that of the source, else JSON lines."""
    return wanted or _RESULTS.get(source, JSONL)


@contextlib.contextmanager
def open_reader(
    source: Source, *, spec: RowSpec | None = None, raw: bool = False, scale: str = "255"
) -> Iterator[Reader]:
    """Open a file of rows.

    Args:
        source: the file.
        spec: for images, the row spec of the model's input.
        raw: for TFRecord files, whether the records themselves are the rows.
        scale: the scaling of images.

    Raises:
        OpError: the file cannot be read.
    """
    if source.format == PICTURES_FOLDER:
        if spec is None:
            raise InvalidArgumentError(
                f"{source.location}: images are rows of one input, but the model has several"
            )
        yield PictureReader(source.files, spec, scale, open_location)
        return
    with contextlib.ExitStack() as stack:
        file: IO[bytes] = stack.enter_context(open_location(source.location))
        if source.location.lower().endswith(_GZIP) and source.format != TFRECORD:
            file = cast("IO[bytes]", stack.enter_context(gzip.GzipFile(fileobj=file)))
        opened = Opened(file, source.shown)
        yield _reader(source.format, opened, raw=raw)


def _reader(kind: str, opened: Opened, *, raw: bool) -> Reader:
    if kind == PARQUET:
        return ParquetReader(opened)
    if kind in (CSV, TSV):
        return DelimitedReader(opened, "\t" if kind == TSV else ",")
    if kind == JSONL:
        return JsonLinesReader(opened)
    if kind == TFRECORD:
        return ExamplesReader(opened, raw=raw)
    return ArrayReader(opened) if kind == NPY else ArchiveReader(opened)


def open_writer(
    kind: str,
    file: IO[bytes],
    kept: Sequence[str],
    reader: Reader,
    outputs: Mapping[str, TensorSpec],
) -> Writer:
    """Create a writer of results.

    Args:
        kind: one of `OUTPUT_FORMATS`.
        file: the file, open for writing.
        kept: names of the columns that are copied to the results.
        reader: the reader of the source.
        outputs: specs of the outputs.
    """
    if kind == PARQUET:
        schema: Any = reader.schema_of(kept) if isinstance(reader, ParquetReader) else None
        table = ParquetWriter(file, list(kept), schema, column_specs(outputs))
        return ColumnsWriter(table, outputs)
    if kind == CSV:
        return ColumnsWriter(DelimitedWriter(file, [*kept, *outputs]), outputs)
    return ExamplesWriter(file) if kind == TFRECORD else JsonLinesWriter(file)
