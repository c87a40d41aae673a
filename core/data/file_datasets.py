"""Datasets of file contents: records, lines, fixed-length records."""

from __future__ import annotations

from typing import Any

from pinnace.data import records
from pinnace.data.dataset import Dataset
from pinnace.data.elements import AUTOTUNE
from pinnace.framework.no_effect import ignored

_READ = "files are read one after the other, in blocks of one size"


class TFRecordDataset(Dataset):
    """The records of TFRecord files, each a scalar string; every checksum is verified.

    Args:
        filenames: one name, several, or a dataset of names.
        compression_type: "", "GZIP" or "ZLIB".
        buffer_size: accepted.
        num_parallel_reads: how many files to read at once; their records are then interleaved.
        name: accepted.
    """

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        del name
        ignored("TFRecordDataset", _READ, buffer_size=buffer_size)
        super().__init__(records.Records(names_of(filenames), compression_type, num_parallel_reads))


class TextLineDataset(Dataset):
    """The lines of text files without their ends, each a scalar string.

    Args:
        filenames: one name, several, or a dataset of names.
        compression_type: "", "GZIP" or "ZLIB".
        buffer_size: accepted.
        num_parallel_reads: accepted.
        name: accepted.
    """

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        del name
        parallel = None if num_parallel_reads == AUTOTUNE else num_parallel_reads
        ignored("TextLineDataset", _READ, buffer_size=buffer_size, num_parallel_reads=parallel)
        super().__init__(records.TextLines(names_of(filenames), compression_type))


class FixedLengthRecordDataset(Dataset):
    """Records of `record_bytes` bytes each from files, as scalar strings.

    Args:
        filenames: one name, several, or a dataset of names.
        record_bytes: length of a record.
        header_bytes: how many bytes to leave out at the beginning of a file.
        footer_bytes: how many to leave out at its end.
        buffer_size: accepted.
        compression_type: "", "GZIP" or "ZLIB".
        num_parallel_reads: accepted.
        name: accepted.
    """

    def __init__(
        self,
        filenames: Any,
        record_bytes: Any,
        header_bytes: Any = None,
        footer_bytes: Any = None,
        buffer_size: Any = None,
        compression_type: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        del name
        parallel = None if num_parallel_reads == AUTOTUNE else num_parallel_reads
        ignored(
            "FixedLengthRecordDataset", _READ, buffer_size=buffer_size, num_parallel_reads=parallel
        )
        super().__init__(
            records.FixedRecords(
                names_of(filenames), record_bytes, header_bytes, footer_bytes, compression_type
            )
        )


def names_of(filenames: Any) -> Any:
    """File names as a stage if they are a dataset."""
    return filenames.stage if isinstance(filenames, Dataset) else filenames
