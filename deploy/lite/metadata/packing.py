"""Metadata in a file: a buffer named TFLITE_METADATA, and the associated files as a zip behind.

Any program that opens zip archives sees the files; an interpreter does not look behind its tables.
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
# The earliest day that an archive knows: the same files are the same bytes.
_DAY = (1980, 1, 1, 0, 0, 0)
# What is taken out of an archive, beside the file itself: it may be packed a thousandfold. Of other
# ways to pack than these, Python unpacks whole blocks, however much is asked for.
_TIMES, _SLACK = 8, 1 << 22
# A member is some dozens of bytes there, and many times as much as an object.
_MEMBER, _MOST_MEMBERS = b"PK\1\2", 10_000
_KINDS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
# What Python's reader of archives says of one that is damaged.
_DAMAGED = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError)
_READ_FOR_ALL = 0o644 << 16


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a file tells about itself.

    Attributes:
        document: the fields of a ModelMetadata.
        files: associated files by name; those that the document names and the archive has.
    """

    document: Document
    files: Mapping[str, bytes] = field(default_factory=dict)


def packed(content: bytes, metadata: Metadata) -> bytes:
    """A file with metadata, in the place of what it had.

    Args:
        content: of a .tflite file.
        metadata: what it gets.

    Raises:
        InvalidArgumentError: the document has fields that there are not.
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
            file.writestr(one, data)  # not packed: readers map the file into memory
    return archive.getvalue()


def unpacked(content: Content, where: str) -> Metadata | None:
    """The metadata of a file; None if it has none.

    Args:
        content: the file.
        where: its path, for errors.

    Raises:
        InvalidArgumentError: it is no .tflite file.
        DataLossError: it, its metadata or its archive is damaged.
    """
    root = parsed(content, where)
    for one in root.list("metadata"):
        if one["name"] != BUFFER:
            continue
        buffers = root.list("buffers")
        if one["buffer"] >= len(buffers):
            raise DataLossError(f"{where} is damaged: its metadata are in no buffer")
        data = buffers[one["buffer"]].list("data")
        if not len(data):
            return None
        document = decoded(memoryview(bytes(data)), where)
        return Metadata(document, _archive(content, where, document))
    return None


def _archive(content: Content, where: str, document: Document) -> dict[str, bytes]:
    """The files that a document names, as far as they are there."""
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
                        f"{where}: its associated file {name!r:.120} is packed in another way than "
                        "stored or deflated"
                    )
                left -= inside[name].file_size
                if left < 0:
                    raise DataLossError(
                        f"{where}: its associated files have more than {most} bytes, which is too "
                        f"much for a file of {len(content)}"
                    )
                with archive.open(inside[name]) as one:
                    found[name] = one.read(inside[name].file_size)
    except _DAMAGED as error:
        told = str(error) or "one ends too early"
        raise DataLossError(f"{where}: its associated files are damaged: {told}") from None
    return found


def check_readable(content: bytes, metadata: Metadata) -> None:
    """Hold what was written against what is read of it.

    Raises:
        InternalError: it is something else.
    """
    read = unpacked(content, "the file")
    if read is None or dict(read.files) != dict(metadata.files):
        raise InternalError("export: the metadata that were written are not read back")
