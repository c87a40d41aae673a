from pinnace.proto import function_pb2 as _function_pb2
from pinnace.proto import node_def_pb2 as _node_def_pb2
from pinnace.proto import versions_pb2 as _versions_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GraphDef(_message.Message):
    __slots__ = ("node", "library", "version", "versions", "debug_info")
    NODE_FIELD_NUMBER: _ClassVar[int]
    LIBRARY_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    DEBUG_INFO_FIELD_NUMBER: _ClassVar[int]
    node: _containers.RepeatedCompositeFieldContainer[_node_def_pb2.NodeDef]
    library: _function_pb2.FunctionDefLibrary
    version: int
    versions: _versions_pb2.VersionDef
    debug_info: bytes
    def __init__(self, node: _Optional[_Iterable[_Union[_node_def_pb2.NodeDef, _Mapping[str, object]]]] = ..., library: _Optional[_Union[_function_pb2.FunctionDefLibrary, _Mapping[str, object]]] = ..., version: _Optional[int] = ..., versions: _Optional[_Union[_versions_pb2.VersionDef, _Mapping[str, object]]] = ..., debug_info: _Optional[bytes] = ...) -> None: ...
