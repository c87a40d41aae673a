"""fingerprint.pb: hashes of a SavedModel's contents, which detect changes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from google.protobuf.message import DecodeError

from pinnace.framework.errors import DataLossError
from pinnace.ops.functional.calls import PARTITIONED_CALL, STATEFUL_PARTITIONED_CALL
from pinnace.ops.kernels.fingerprints import farm64, joined_hash
from pinnace.proto.saved_model_pb2 import FileChecksum, FingerprintDef, MetaGraphDef, SavedModel
from pinnace.proto.types_pb2 import DT_STRING
from pinnace.saved_model import layout
from pinnace.saved_model.wire_form import canonical
from pinnace.storage.checksum import crc32c
from pinnace.storage.regular_files import open_regular
from pinnace.storage.system_errors import explained

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from google.protobuf.message import Message

    from pinnace.proto.graph_pb2 import GraphDef
    from pinnace.proto.object_graph_pb2 import SavedObjectGraph

# The format of TensorFlow 2.21; fingerprints in other formats are neither written nor compared.
_PRODUCER = 4
# Larger messages are written with a CRC alone.
LARGEST_HASHED = 1 << 25
# Comparing hashes takes some 45 ms for each megabyte, as long as a first call: larger messages of
# TensorFlow, which have no CRC, are compared if asked.
LARGEST_COMPARED = 1 << 18
_LARGEST_FILE = 1 << 16  # bytes of fingerprint.pb, which has some dozens
_UID = re.compile(r"(?<=_)[0-9]+\Z")
_CALLS = (PARTITIONED_CALL.name, STATEFUL_PARTITIONED_CALL.name)


def write_fingerprint(message: SavedModel, data: bytes, folder: Path) -> None:
    """Write the fingerprint of a SavedModel whose other files are there.

    Equal models have equal files: unlike TensorFlow's it has no random `uuid`.

    Args:
        message: the content of saved_model.pb.
        data: the bytes of that file.
        folder: the SavedModel's folder.
    """
    meta = message.meta_graphs[0]
    found = FingerprintDef(
        signature_def_hash=_signatures_hash(meta),
        saved_object_graph_hash=_objects_hash(meta.object_graph_def),
    )
    found.version.producer = _PRODUCER
    if len(data) <= LARGEST_HASHED:
        found.saved_model_checksum = _hash(message)
        found.graph_def_program_hash = _program_hash(meta.graph_def)
    index = layout.variables_prefix(folder).with_suffix(".index")
    if index.is_file():
        found.checkpoint_hash = farm64(index.read_bytes())
    path = layout.fingerprint_path(folder)
    with explained("write", path):
        # Two concatenated messages are one message for every reader.
        own = FileChecksum(saved_model_crc32c=crc32c(data))
        path.write_bytes(found.SerializeToString(deterministic=True) + own.SerializeToString())


def check_fingerprint(message: SavedModel, data: bytes, folder: Path, *, whole: bool) -> None:
    """Compare saved_model.pb with its fingerprint, if it has one.

    TensorFlow itself does not compare them. A fingerprint of a format other than TensorFlow 2.21's
    is not compared, nor one with only a hash for a large file.

    Args:
        message: the content of saved_model.pb.
        data: the bytes of that file.
        folder: the SavedModel's folder.
        whole: whether large files are hashed too.

    Raises:
        DataLossError: either file was changed or damaged.
    """
    path = layout.fingerprint_path(folder)
    if not path.exists():
        return
    with explained("read", path), open_regular(path) as file:
        content = file.read(_LARGEST_FILE)
    try:
        stored = FingerprintDef.FromString(content)
        own = FileChecksum.FromString(content)
    except DecodeError:
        raise _damaged(folder, f"{path} is damaged: it is not a fingerprint") from None
    if not (stored.saved_model_checksum or own.HasField("saved_model_crc32c")):
        raise _damaged(folder, f"{path} is damaged: it is empty or cut off")
    if own.HasField("saved_model_crc32c"):
        same = own.saved_model_crc32c == crc32c(data)
    elif stored.version.producer == _PRODUCER and (whole or len(data) <= LARGEST_COMPARED):
        same = stored.saved_model_checksum == _hash(message)
    else:
        return
    if not same:
        raise _damaged(
            folder,
            f"{layout.model_path(folder)} is damaged, or was changed after it was saved: its "
            f"checksum is not that of {path}",
        )


def _damaged(folder: Path, what: str) -> DataLossError:
    return DataLossError(
        f"{what}\n"
        "  Try: copy the model again from where it came; or, if saved_model.pb was changed on "
        f"purpose, remove {layout.fingerprint_path(folder)}, and it is not compared"
    )


def _hash(message: Message) -> int:
    return farm64(canonical(message))


def _joined(parts: Iterable[tuple[str, Message]]) -> int:
    total = 0
    for name, message in parts:
        total = joined_hash(total, farm64(name.encode()))
        total = joined_hash(total, _hash(message))
    return total


def _signatures_hash(meta: MetaGraphDef) -> int:
    return _joined((name, meta.signature_def[name]) for name in sorted(meta.signature_def))


def _objects_hash(objects: SavedObjectGraph) -> int:
    """The hash of the objects: functions are sorted by number, and their names exclude it.

    For several functions with one number, which are not written here, TensorFlow uses any of them.
    """
    functions = objects.concrete_functions
    names = sorted(functions, key=lambda name: (_number(name), name))
    return _joined((_UID.sub("", name), functions[name]) for name in names)


def _number(name: str) -> int:
    found = _UID.search(name)
    return int(found[0]) if found else -1


def _program_hash(graph: GraphDef) -> int:
    """The main graph without what differs from one save of a program to the next."""
    program = type(graph)()
    program.node.extend(graph.node)
    program.library.SetInParent()
    program.versions.SetInParent()
    for node in program.node:
        if node.op in _CALLS:
            called = node.attr["f"].func
            called.name = _UID.sub("", called.name)
            if "config_proto" in node.attr:
                node.attr["config_proto"].s = b""
        elif node.op == "Const" and node.attr["dtype"].type == DT_STRING:
            node.attr["value"].Clear()  # paths of assets
    return _hash(program)
