"""Datasets of graphs that read files: records, lines, fixed-length records, CSV rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.asset_path import AssetPath
from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops import gate
from pinnace.ops.dataset.recipes import METADATA, as_variant, dataset_op, made, whole
from pinnace.ops.io import files
from pinnace.storage import flat_files
from pinnace.storage.record_blocks import read_record_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pinnace.framework.tensor import Array
    from pinnace.ops.dataset.recipes import Leaves, Turn
    from pinnace.ops.opdef import OpDef

__all__: list[str] = []


def _names(op: str, filenames: Array) -> list[bytes]:
    if filenames.ndim > 1:
        raise InvalidArgumentError(
            f"{op}: filenames must be a scalar or a vector, got {list(filenames.shape)}"
        )
    return list(np.asarray(filenames, object).reshape(-1))


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


def _compression(op: str, compression_type: Array) -> str:
    return flat_files.compression_of(op, files.string_of(compression_type))


def _strings(op: str, filenames: Array, read: Callable[[str], Iterator[list[bytes]]]) -> Array:
    """The dataset of strings in files, one file after the other."""
    names = _names(op, filenames)

    def begin(turn: Turn) -> Iterator[Leaves]:
        for name in names:
            for block in read(_text(name)):
                turn.ctx.check()
                for item in block:
                    yield (as_variant(item),)

    return made(begin)


def _file_op(op: str, more: str, kernel: Callable[..., Array]) -> OpDef:
    """An op that reads the files named by its first input; a loaded model reads only its assets."""

    def guarded(filenames: Array, *rest: Array) -> Array:
        if not all(isinstance(name, AssetPath) for name in np.asarray(filenames).reshape(-1)):
            gate.refuse(op, "files other than its own assets")
        return kernel(filenames, *rest)

    return dataset_op(
        op,
        f"filenames: string{more}",
        kernel,
        METADATA,
        effect="read",
        reaches="files",
        guarded=guarded,
    )


def _lines_kernel(filenames: Array, compression_type: Array, buffer_size: Array) -> Array:
    del buffer_size  # blocks have a fixed size
    op = "TextLineDataset"
    kind = _compression(op, compression_type)
    return _strings(
        op, filenames, lambda name: flat_files.decoded(name, kind, op, flat_files.lines)
    )


TEXT_LINES = _file_op(
    "TextLineDataset", ", compression_type: string, buffer_size: int64", _lines_kernel
)


def _parts(
    op: str, filenames: Array, header: Array, size: Array, footer: Array, kind: str
) -> Array:
    length = whole(op, "record_bytes", size, 1)
    before, after = whole(op, "header_bytes", header, 0), whole(op, "footer_bytes", footer, 0)

    def read(name: str) -> Iterator[list[bytes]]:
        return flat_files.decoded(
            name, kind, op, lambda file: flat_files.parts(file, op, name, length, before, after)
        )

    return _strings(op, filenames, read)


def _parts_kernel(
    filenames: Array,
    header_bytes: Array,
    record_bytes: Array,
    footer_bytes: Array,
    buffer_size: Array,
) -> Array:
    del buffer_size
    op = "FixedLengthRecordDataset"
    return _parts(op, filenames, header_bytes, record_bytes, footer_bytes, "")


_SIZES = ", header_bytes: int64, record_bytes: int64, footer_bytes: int64, buffer_size: int64"
FIXED_LENGTH = _file_op("FixedLengthRecordDataset", _SIZES, _parts_kernel)


def _parts_v2_kernel(
    filenames: Array,
    header_bytes: Array,
    record_bytes: Array,
    footer_bytes: Array,
    buffer_size: Array,
    compression_type: Array,
) -> Array:
    del buffer_size
    op = "FixedLengthRecordDatasetV2"
    kind = _compression(op, compression_type)
    return _parts(op, filenames, header_bytes, record_bytes, footer_bytes, kind)


FIXED_LENGTH_V2 = _file_op(
    "FixedLengthRecordDatasetV2", f"{_SIZES}, compression_type: string", _parts_v2_kernel
)


def _records_kernel(filenames: Array, compression_type: Array, buffer_size: Array) -> Array:
    del buffer_size
    op = "TFRecordDataset"
    kind = _compression(op, compression_type)
    return _strings(op, filenames, lambda name: read_record_blocks(name, kind))


RECORDS = _file_op(
    "TFRecordDataset", ", compression_type: string, buffer_size: int64", _records_kernel
)


def _records_v2_kernel(
    filenames: Array, compression_type: Array, buffer_size: Array, byte_offsets: Array
) -> Array:
    del buffer_size
    op = "TFRecordDatasetV2"
    if byte_offsets.size and np.any(byte_offsets):
        raise InvalidArgumentError(
            f"{op}: files are read from their beginning, got byte_offsets "
            f"{byte_offsets.reshape(-1)[:4].tolist()}\n"
            "  Try: SkipDataset, which leaves out records"
        )
    kind = _compression(op, compression_type)
    return _strings(op, filenames, lambda name: read_record_blocks(name, kind))


RECORDS_V2 = _file_op(
    "TFRecordDatasetV2",
    ", compression_type: string, buffer_size: int64, byte_offsets: int64",
    _records_v2_kernel,
)


def _matching_kernel(patterns: Array) -> Array:
    def begin(turn: Turn) -> Iterator[Leaves]:
        del turn
        found: Any = files.MATCHING_FILES.kernel
        for name in found(patterns):
            yield (as_variant(name),)

    return made(begin)


MATCHING = dataset_op(
    "MatchingFilesDataset", "patterns: string", _matching_kernel, {}, effect="read", reaches="files"
)
