"""Metadata in a file: the buffer TFLITE_METADATA, and associated files as a zip archive behind it.

Programs for zip archives can open the file; interpreters ignore the data behind the tables.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pinnace.deploy.lite.files.flatbuffer import Table
from pinnace.deploy.lite.files.parsing import parsed
from pinnace.deploy.lite.files.rewriting import rewritten
from pinnace.deploy.lite.metadata.document import decoded, encoded, files_of
from pinnace.framework.errors import DataLossError, InternalError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.deploy.lite.files.parsing import Content
    from pinnace.deploy.lite.metadata.document import Document

BUFFER = "TFLITE_METADATA"
# The earliest date of a zip archive, so that equal files give equal bytes.
_DAY = (1980, 1, 1, 0, 0, 0)
# The limit of unpacked files, as a multiple of the file's size and an allowance, since deflate may
# compress a thousandfold. For other compressions, Python decompresses whole blocks at once.
_TIMES, _SLACK = 8, 1 << 22
# A member takes some dozens of bytes in the archive, and many times that as an object.
_MEMBER, _MOST_MEMBERS = b"PK\1\2", 10_000
_KINDS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
# Errors of Python's zip reader for damaged archives.
_DAMAGED = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError)
_READ_FOR_ALL = 0o644 << 16


@dataclass(frozen=True, slots=True)
class Metadata:
    """The metadata of a file.

    Attributes:
        document: the fields of its ModelMetadata.
        files: associated files by name, as far as both document and archive have them.
    """

    document: Document
    files: Mapping[str, bytes] = field(default_factory=dict)


def packed(content: bytes, metadata: Metadata) -> bytes:
    """A file with its metadata replaced.

    Args:
        content: the .tflite file.
        metadata: the new metadata.

    Raises:
        InvalidArgumentError: the document has unknown fields.
    """
    told = encoded(metadata.document)

    def change(model: dict[str, Any]) -> None:
        kept = [one for one in model.get("metadata") or () if one.fields["name"] != BUFFER]
        buffers = list(model["buffers"])
        kept.append(Table("Metadata", {"name": BUFFER, "buffer": len(buffers)}))
        model["metadata"] = kept
        model["buffers"] = [*buffers, Table("Buffer", {"data": told})]

    whole = rewritten(content, "the file", change)
    if not metadata.files:
        return whole
    archive = io.BytesIO(whole)
    archive.seek(0, io.SEEK_END)
    with zipfile.ZipFile(archive, "a") as file:
        for name, data in metadata.files.items():
            one = zipfile.ZipInfo(name, _DAY)
            one.external_attr = _READ_FOR_ALL
            file.writestr(one, data)  # stored uncompressed, since readers map the file
    return archive.getvalue()


def unpacked(content: Content, where: str) -> Metadata | None:
    """The metadata of a file, or None.

    Args:
        content: the file.
        where: its path, for errors.

    Raises:
        InvalidArgumentError: the content is not a .tflite file.
        DataLossError: the file, its metadata or its archive is damaged.
    """
    root = parsed(content, where)
    for one in root.list("metadata"):
        if one["name"] != BUFFER:
            continue
        buffers = root.list("buffers")
        if one["buffer"] >= len(buffers):
            raise DataLossError(f"{where} is damaged: its metadata buffer does not exist")
        data = buffers[one["buffer"]].list("data")
        if not len(data):
            return None
        document = decoded(memoryview(bytes(data)), where)
        return Metadata(document, _archive(content, where, document))
    return None


def _archive(content: Content, where: str, document: Document) -> dict[str, bytes]:
    """The associated files that both the document and the archive have."""
    names = dict.fromkeys(str(one.get("name") or "") for one in files_of(document))
    whole = bytes(content)
    file = io.BytesIO(whole)
    if not names or not zipfile.is_zipfile(file):
        return {}
    if whole.count(_MEMBER) > _MOST_MEMBERS:
        raise DataLossError(f"{where}: its archive has more than {_MOST_MEMBERS} associated files")
    found: dict[str, bytes] = {}
    most = left = _TIMES * len(content) + _SLACK
    try:
        with zipfile.ZipFile(file) as archive:
            inside = {one.filename: one for one in archive.infolist()}
            for name in names:
                if name not in inside:
                    continue
                if inside[name].compress_type not in _KINDS:
                    raise DataLossError(
                        f"{where}: its associated file {name!r:.120} has a compression other than "
                        "stored or deflated"
                    )
                left -= inside[name].file_size
                if left < 0:
                    raise DataLossError(
                        f"{where}: its associated files exceed {most} bytes, which is too "
                        f"much for a file of {len(content)}"
                    )
                with archive.open(inside[name]) as one:
                    found[name] = one.read(inside[name].file_size)
    except _DAMAGED as error:
        told = str(error) or "one ends too early"
        raise DataLossError(f"{where}: its associated files are damaged: {told}") from None
    return found


def check_readable(content: bytes, metadata: Metadata) -> None:
    """Compare written metadata with what is read back.

    Raises:
        InternalError: they differ.
    """
    read = unpacked(content, "the file")
    if read is None or dict(read.files) != dict(metadata.files):
        raise InternalError("export: the metadata read back differ from those written")
