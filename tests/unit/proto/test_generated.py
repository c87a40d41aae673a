"""The generated modules equal the pinned protoc's output for the .proto files."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pinnace.proto.attr_value_pb2 import AttrValue
from pinnace.proto.bundle_pb2 import BundleEntryProto, BundleHeaderProto, TensorSliceProto
from pinnace.proto.graph_pb2 import GraphDef
from pinnace.proto.struct_pb2 import NoneValue, StructuredValue
from pinnace.proto.tensor_pb2 import TensorShapeProto
from pinnace.proto.versions_pb2 import VersionDef

PROTO = Path(__file__).parents[3] / "proto"
PROTOC = "libprotoc 31.1"


def _python() -> str:
    """An interpreter that has the pinned protoc; skips without one."""
    python = os.environ.get("PINNACE_PROTOC_PYTHON")
    if python is None and importlib.util.find_spec("grpc_tools") is None:
        pytest.skip("no grpcio-tools here; PINNACE_PROTOC_PYTHON may name a Python that has it")
    python = python or sys.executable
    command = [python, "-m", "grpc_tools.protoc", "--version"]
    version = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    if version != PROTOC:
        pytest.skip(
            f"{python} has {version or 'no protoc'}, the modules were made with {PROTOC}; "
            "PINNACE_PROTOC_PYTHON may name a Python with grpcio-tools 1.76.0"
        )
    return python


def test_generating_again_changes_nothing(tmp_path: Path) -> None:
    command = [_python(), str(PROTO / "generate.py"), "--out", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    kept = {path.name: path.read_bytes() for path in PROTO.glob("*_pb2.py*")}
    assert made == kept


def test_every_proto_file_has_its_modules() -> None:
    for path in PROTO.glob("*.proto"):
        assert path.with_name(f"{path.stem}_pb2.py").exists()
        assert path.with_name(f"{path.stem}_pb2.pyi").exists()


@pytest.mark.parametrize(
    ("message", "wire"),
    [
        (AttrValue(b=False), "2800"),
        (AttrValue(list=AttrValue.ListValue()), "0a00"),
        (AttrValue(list=AttrValue.ListValue(i=[1, 2])), "0a041a020102"),
        (StructuredValue(none_value=NoneValue()), "0a00"),
        (StructuredValue(int64_value=-1), "6001"),
        (TensorShapeProto.Dim(size=-1), "08ffffffffffffffffff01"),
        (BundleHeaderProto(num_shards=1, version=VersionDef(producer=1)), "08011a020801"),
        (BundleEntryProto(shape=TensorShapeProto(), crc32c=1), "12003501000000"),
        (TensorSliceProto.Extent(length=0), "1000"),
    ],
    ids=str,
)
def test_a_message_has_the_bytes_that_tensorflow_writes(message: AttrValue, wire: str) -> None:
    assert message.SerializeToString() == bytes.fromhex(wire)
    assert type(message).FromString(bytes.fromhex(wire)) == message


def test_numbers_are_read_packed_and_not_packed() -> None:
    assert VersionDef.FromString(bytes.fromhex("1a020102")).bad_consumers == [1, 2]
    assert VersionDef.FromString(bytes.fromhex("18011802")).bad_consumers == [1, 2]


def test_unknown_fields_survive() -> None:
    wire = bytes.fromhex("08013a0161")
    assert VersionDef.FromString(wire).SerializeToString() == wire


def test_debug_information_is_handed_on_unread() -> None:
    wire = bytes.fromhex("2a050a03612e63")
    assert GraphDef.FromString(wire).SerializeToString() == wire
