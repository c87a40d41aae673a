"""`tf.io.TFRecordWriter`: writes TFRecord files."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.no_effect import ignored
from pinnace.framework.tensor import Tensor
from pinnace.storage.record import RecordWriter

__all__ = ["TFRecordOptions", "TFRecordWriter"]

_KINDS = {None: "", "": "", "NONE": "", "GZIP": "GZIP", "ZLIB": "ZLIB"}


class TFRecordOptions:
    """The compression of a TFRecord file.

    Args:
        compression_type: "", "GZIP" or "ZLIB"; or other options.
        flush_mode, input_buffer_size, output_buffer_size, window_bits, mem_level,
        compression_strategy: accepted.
        compression_level: 0 to 9; zlib's own choice if None.
    """

    def __init__(
        self,
        compression_type: Any = None,
        flush_mode: Any = None,
        input_buffer_size: Any = None,
        output_buffer_size: Any = None,
        window_bits: Any = None,
        compression_level: int | None = None,
        compression_method: Any = None,
        mem_level: Any = None,
        compression_strategy: Any = None,
    ) -> None:
        ignored(
            "TFRecordOptions",
            "compression_level alone says how to compress",
            flush_mode=flush_mode,
            input_buffer_size=input_buffer_size,
            output_buffer_size=output_buffer_size,
            window_bits=window_bits,
            compression_method=compression_method,
            mem_level=mem_level,
            compression_strategy=compression_strategy,
        )
        if isinstance(compression_type, TFRecordOptions):
            compression_type = compression_type._kind
        if compression_type not in _KINDS:
            raise InvalidArgumentError(
                "TFRecordOptions: compression_type must be '', 'GZIP' or 'ZLIB', "
                f"got {compression_type!r}"
            )
        self._kind: str = _KINDS[compression_type]
        self.compression_level = compression_level

    @property
    def compression_type(self) -> str:
        """The kind of compression."""
        return self._kind


class TFRecordWriter:
    """A TFRecord file that records are written to.

    Args:
        path: overwritten if it exists.
        options: TFRecordOptions, or the kind of compression.
    """

    def __init__(self, path: Any, options: Any = None) -> None:
        chosen = options if isinstance(options, TFRecordOptions) else TFRecordOptions(options)
        level = -1 if chosen.compression_level is None else chosen.compression_level
        self._writer = RecordWriter(path, chosen.compression_type or None, level)

    def write(self, record: Any) -> None:
        """Append one record: bytes, a str, or a scalar string tensor."""
        if isinstance(record, Tensor):
            record = np.asarray(record._array, object)[()]
        self._writer.write(record.encode() if isinstance(record, str) else record)

    def flush(self) -> None:
        """Flush the written data to the system."""
        self._writer.flush()

    def close(self) -> None:
        """Close the file."""
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
