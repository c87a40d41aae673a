"""Every message has the fields of the format: numbers, names, types, presence."""

import importlib
import pkgutil
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor, FileDescriptor

import pinnace.proto
from support.each import holds_for_each

TABLE = Path(__file__).with_name("fields.txt")
PACKAGES = {
    "framework": {"pinnace.proto"},
    "serving": {"pinnace.serving", "pinnace.proto.error"},
    "server_config": {"pinnace.serving"},
    "inference": {"pinnace.inference"},
    "health": {"pinnace.health"},
}
TYPES = {
    getattr(FieldDescriptor, f"TYPE_{name.upper()}"): name
    for name in (
        *("int32", "int64", "uint32", "uint64", "sint64", "fixed32", "float", "double"),
        *("bool", "string", "bytes"),
    )
}
_PREFIXES = (
    *("pinnace.proto.error", "pinnace.proto"),
    *("pinnace.serving", "pinnace.inference", "pinnace.health"),
)
# GraphDebugInfo is proto2 and no computation reads it: its bytes are passed on.
NOT_DEFINED = {"GraphDebugInfo", "GraphDebugInfo.FileLineCol", "GraphDebugInfo.StackTrace"}
AS_BYTES = {("GraphDef", "debug_info")}
# `?` fields form one oneof, except here: each has separate presence.
SEPARATE_PRESENCE = {"PredictRequest", "PredictRequest.RequestOptions"}
# The table names these as types of fields, without details.
BEYOND_THE_TABLE = {
    # Clusters and benchmarks: tests/oracle compares their bytes with TensorFlow's.
    *("ClusterDef", "JobDef", "ServerDef", "ClusterDeviceFilters", "JobDeviceFilters"),
    *("TaskDeviceFilters", "EntryValue", "MetricEntry", "BenchmarkEntry", "BenchmarkEntries"),
    # Written by Keras 2: tests/unit/keras/saving reads its folders.
    *("KerasMetadata", "KerasObject"),
    *("FullTypeId", "LogMessage", "LogMessage.Level", "LoggingConfig", "LogCollectorConfig"),
    *("SamplingConfig", "NamedTensorProto", "SessionRunRequest", "SessionRunResponse"),
    "PredictStreamedLog",
    "FileChecksum",  # of this library: tests/unit/saved_model/test_fingerprint.py
    "HealthListResponse",
    # Boosted trees: only the fields that inference reads; the ops' own tests read their bytes.
    *("TreeEnsemble", "DecisionTree", "TreeNode", "TreeLeaf", "TreeLeaf.Vector", "TreeMetadata"),
    *("BucketizedSplit", "CategoricalSplit", "GrowingMetadata"),
    # Requests whose Examples stay bytes: the same fields by number, checked by their own tests.
    *("ExamplesRequest", "TasksRequest", "SerializedInput", "SerializedExamples"),
    "SerializedExamplesWithContext",
    # Triton's extensions of the protocol: tests/clients asks them with Triton's own client.
    *("InferBatchStatistics", "InferStatistics", "StatisticDuration", "ModelRepositoryParameter"),
    *("ModelConfigRequest", "ModelConfigResponse", "ModelInput", "ModelOutput"),
    "ModelSequenceBatching",
    *("ModelStatistics", "ModelStatisticsRequest", "ModelStatisticsResponse"),
    "ModelStreamInferResponse",
    *("SystemSharedMemoryStatusRequest", "SystemSharedMemoryStatusResponse"),
    *("SystemSharedMemoryStatusResponse.RegionStatus", "SystemSharedMemoryRegisterRequest"),
    *("SystemSharedMemoryRegisterResponse", "SystemSharedMemoryUnregisterRequest"),
    "SystemSharedMemoryUnregisterResponse",
}
# From proto2, in which ydf writes repeated numbers unpacked; readers accept both.
UNPACKED = {"ForestModel.input_features", "GradientBoostedTreesHeader.initial_predictions"}


@dataclass(frozen=True)
class Field:
    number: int
    name: str
    type: str


def _table() -> tuple[dict[str, dict[str, set[Field]]], dict[str, dict[str, dict[str, int]]]]:
    """(section -> message -> fields, section -> enum -> values)."""
    messages: dict[str, dict[str, set[Field]]] = {}
    enums: dict[str, dict[str, dict[str, int]]] = {}
    section = ""
    for line in TABLE.read_text(encoding="utf-8").replace("\n    ", " ").splitlines():
        if line.startswith("## "):
            section = line[3:]
            messages[section], enums[section] = {}, {}
        elif match := re.fullmatch(r"([\w.]+)\s+\{(.*)\}", line):
            fields = re.findall(r"(\d+) (\w+): ([^;]+?)(?:;|\s*$)", match[2])
            messages[section][match[1]] = {Field(int(n), name, t) for n, name, t in fields}
        elif match := re.fullmatch(r"([\w.]+): (.*)", line):
            pairs = re.findall(r"(\w+)=(\d+)", match[2])
            enums[section][match[1]] = {name: int(number) for name, number in pairs}
    return messages, enums


def _files() -> list[FileDescriptor]:
    names = [module.name for module in pkgutil.iter_modules(pinnace.proto.__path__)]
    return [
        importlib.import_module(f"pinnace.proto.{name}").DESCRIPTOR
        for name in names
        if name.endswith("_pb2")
    ]


def _short(full_name: str) -> str:
    for package in _PREFIXES:
        if full_name.startswith(package + "."):
            prefix = "error." if package.endswith("error") else ""
            return prefix + full_name.removeprefix(package + ".")
    return full_name


def _walk(messages: list[Descriptor]) -> list[Descriptor]:
    found = []
    for message in messages:
        if not message.GetOptions().map_entry:
            found += [message, *_walk(list(message.nested_types))]
    return found


FILES = _files()
MESSAGES = {
    _short(message.full_name): message
    for file in FILES
    for message in _walk(list(file.message_types_by_name.values()))
}
ENUMS: dict[str, EnumDescriptor] = {
    _short(enum.full_name): enum
    for enum in [
        *(enum for file in FILES for enum in file.enum_types_by_name.values()),
        *(enum for message in MESSAGES.values() for enum in message.enum_types),
    ]
}
TABLE_MESSAGES, TABLE_ENUMS = _table()
CASES = [
    (section, name)
    for section, messages in TABLE_MESSAGES.items()
    for name in messages
    if name not in NOT_DEFINED
]


def _type(field: FieldDescriptor) -> str:
    if field.message_type is not None:
        if field.message_type.GetOptions().map_entry:
            key, value = (field.message_type.fields_by_name[part] for part in ("key", "value"))
            return f"map<{_type(key)}, {_type(value)}>"
        return _short(field.message_type.full_name)
    if field.enum_type is not None:
        return _short(field.enum_type.full_name)
    return TYPES[field.type]


def _field(field: FieldDescriptor) -> Field:
    kind = _type(field)
    if kind.startswith("map<"):
        return Field(field.number, field.name, kind)
    if field.is_repeated:
        return Field(field.number, field.name, "*" + kind)
    return Field(field.number, field.name, ("?" if field.containing_oneof else "") + kind)


def test_the_table_was_read_as_a_whole() -> None:
    assert sum(map(len, TABLE_MESSAGES.values())) == 178
    fields = [fields for section in TABLE_MESSAGES.values() for fields in section.values()]
    assert sum(map(len, fields)) == 582
    assert sum(map(len, TABLE_ENUMS.values())) == 15


def test_messages_have_exactly_the_fields_of_the_format() -> None:
    holds_for_each(CASES, fields_are_those_of_the_format)


def fields_are_those_of_the_format(case: tuple[str, str]) -> None:
    section, name = case
    expected = {
        Field(field.number, field.name, "bytes") if (name, field.name) in AS_BYTES else field
        for field in TABLE_MESSAGES[section][name]
    }
    assert {_field(field) for field in MESSAGES[name].fields} == expected
    assert MESSAGES[name].file.package in PACKAGES[section]


def test_fields_with_presence_are_one_oneof_or_each_its_own() -> None:
    holds_for_each(CASES, presence_is_that_of_the_format)


def presence_is_that_of_the_format(case: tuple[str, str]) -> None:
    section, name = case
    fields = {field.name for field in TABLE_MESSAGES[section][name] if field.type[0] == "?"}
    oneofs = [{field.name for field in oneof.fields} for oneof in MESSAGES[name].oneofs]
    if name in SEPARATE_PRESENCE:
        assert sorted(oneofs, key=sorted) == sorted(({field} for field in fields), key=sorted)
    else:
        assert oneofs == ([fields] if fields else [])


def test_repeated_numbers_are_packed() -> None:
    holds_for_each(MESSAGES.values(), repeated_numbers_are_packed, lambda kind: kind.full_name)


def repeated_numbers_are_packed(message: Descriptor) -> None:
    for field in message.fields:
        if (
            field.is_repeated
            and field.message_type is None
            and _type(field)
            not in {
                "string",
                "bytes",
            }
        ):
            is_spread = field.full_name.removeprefix("pinnace.proto.") in UNPACKED
            assert field.is_packed != is_spread, field.full_name


@pytest.mark.parametrize(
    ("section", "name"),
    [(section, name) for section, enums in TABLE_ENUMS.items() for name in enums],
)
def test_an_enum_has_the_values_of_the_format(section: str, name: str) -> None:
    expected = dict(TABLE_ENUMS[section][name])
    if name == "DataType":
        expected |= {f"{key}_REF": number + 100 for key, number in expected.items() if number}
    assert {value.name: value.number for value in ENUMS[name].values} == expected


def test_nothing_is_defined_that_the_table_does_not_know() -> None:
    known = {name for section in TABLE_MESSAGES.values() for name in section}
    known |= {name for section in TABLE_ENUMS.values() for name in section}
    known |= BEYOND_THE_TABLE
    # Decision forests and SentencePiece: only the fields that inference reads; their tests read
    # files of ydf and SentencePiece.
    others = ("/decision_forest.proto", "/piece_model.proto")
    defined = {*MESSAGES.items(), *ENUMS.items()}
    told = {name for name, kind in defined if not kind.file.name.endswith(others)}
    assert told == known - NOT_DEFINED


def test_names_leave_room_for_tensorflow_in_the_same_process() -> None:
    for file in FILES:
        assert file.name.startswith("pinnace/proto/")
        assert file.package.startswith("pinnace.")
