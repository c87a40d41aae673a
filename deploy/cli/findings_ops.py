"""The risks of a SavedModel's ops, by their names and by the checks at load."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.graph.codec.attrs import decode_text
from pinnace.ops import registry

if TYPE_CHECKING:
    from pinnace.proto.node_def_pb2 import NodeDef

_PYTHON = "It runs Python code of the process that loads it, under the name it registered there."
_READS = (
    "It opens files whose names it computes or brings: it can read what the process may read, and "
    "give it out through its results. pinnace refuses it unless allow_io=True, but for its own "
    "assets."
)
_WRITES = (
    "It writes files whose names it computes or brings: it can overwrite what the process may "
    "write. pinnace refuses it unless allow_io=True."
)
_NETWORK = "It connects to other machines, whose addresses it computes or brings."
_COMPILED = (
    "It carries a compiled program, or calls one; what that does is not in the graph and was not "
    "looked at."
)
_REMOTE = "It is for several machines or devices and waits for messages of others."
# Ops that only save and restore variables: every SavedModel has them.
SAVER = (
    "Every SavedModel has these nodes, which save and restore its variables. No signature and no "
    "function reaches them: they run only if a program asks for them by name."
)
_REACHES = "It reaches out of the model when it runs. pinnace refuses it unless allow_io=True."
STATE = "remembers between calls"
_OPS: dict[str, tuple[str, str, str]] = {}


# Entries for ops with an attribute that names a file; without it, `_OPS` applies.
_WITH_A_FILE: dict[str, tuple[str, str, str]] = {}


def _list(level: str, title: str, meaning: str, names: str, files: str = "") -> None:
    """List ops with their level, title and meaning; `files` need an attribute that names a file."""
    _OPS.update(dict.fromkeys(names.split(), (level, title, meaning)))
    _WITH_A_FILE.update(dict.fromkeys(files.split(), (level, title, meaning)))


_list("high", "runs Python", _PYTHON, "PyFunc PyFuncStateless EagerPyFunc")
_list(
    "high",
    "reads files",
    _READS,
    "ReadFile MatchingFiles MatchingFilesDataset TextLineReader TextLineReaderV2 WholeFileReader "
    "WholeFileReaderV2 FixedLengthRecordReader FixedLengthRecordReaderV2 TFRecordReader "
    "TFRecordReaderV2 IdentityReader LMDBReader Restore RestoreV2 RestoreSlice TextLineDataset "
    "TFRecordDataset TFRecordDatasetV2 FixedLengthRecordDataset FixedLengthRecordDatasetV2 "
    "SqlDataset LMDBDataset CSVDataset CSVDatasetV2 LoadDataset LoadAndRemapMatrix "
    "GenerateVocabRemapping ImmutableConst",
    files="FixedUnigramCandidateSampler",
)
_list(
    "high",
    "writes files",
    _WRITES,
    "WriteFile Save SaveV2 SaveSlices SaveDataset SaveDatasetV2 MergeV2Checkpoints "
    "CreateSummaryFileWriter CreateSummaryDbWriter SnapshotDataset SnapshotDatasetV2 "
    "DistributedSave DumpGraph",
    files="PrintV2",
)
_list(
    "high",
    "uses the network",
    _NETWORK,
    "Rpc TryRpc DataServiceDataset DataServiceDatasetV2 DataServiceDatasetV3 DataServiceDatasetV4 "
    "RegisterDataset RegisterDatasetV2 DebugIdentity DebugIdentityV2 DebugIdentityV3 "
    "DebugNanCount DebugNumericSummary DebugNumericSummaryV2 BigQueryReader BigtableClient",
)
_list(
    "medium",
    "carries compiled code",
    _COMPILED,
    "XlaLaunch XlaCustomCallV2 XlaHostCompute XlaRecvFromHost XlaSendToHost "
    "TRTEngineOp RemoteFusedGraphExecute TPUExecute TPUCompile TPUPartitionedCall",
)
_list(
    "medium",
    "talks to other devices",
    _REMOTE,
    "RemoteCall _Send _Recv _HostSend _HostRecv CollectiveReduce CollectiveReduceV2 "
    "CollectiveGather CollectiveGatherV2 CollectiveBcastSend CollectiveBcastRecv "
    "ConfigureDistributedTPU",
)
_list(
    "low",
    "reads a file when it is loaded",
    "A table is filled from a text file, whose name should be that of one of the assets below.",
    "InitializeTableFromTextFile InitializeTableFromTextFileV2",
)
_list(
    "low",
    "prints",
    "It writes to the standard output or error, or to a log, when it runs.",
    "Print PrintV2 Assert",
)
_list(
    "info",
    "has loops",
    "How long it runs may depend on the input. A server should have a time limit.",
    "While StatelessWhile LoopCond For",
)
_list(
    "info",
    STATE,
    "Calls change its variables: one client's requests can change the answers to others.",
    "AssignVariableOp AssignAddVariableOp AssignSubVariableOp Assign AssignAdd AssignSub "
    "ResourceScatterUpdate LookupTableInsertV2",
)
TABLES = {"InitializeTableFromTextFile", "InitializeTableFromTextFileV2"}
_FOREIGN = (
    "The name of the file is no asset of the model: it stands in the graph, or is computed. "
    "pinnace refuses it unless allow_io=True."
)
FOREIGN_TABLE = ("high", "fills a table from a file that is not its own", _FOREIGN)
# TensorFlow's own ops that have no kernel here and are no risk.
PLAIN = frozenset(
    """
    Switch Merge Enter Exit NextIteration RefSwitch RefMerge RefEnter RefExit RefNextIteration
    ControlTrigger Abort _Arg _Retval _DeviceArg _DeviceRetval Placeholder PlaceholderV2
    VarHandleOp VariableV2 Variable TemporaryVariable SymbolicGradient ShardedFilename
    ShardedFilespec LoopCond NoOp
    """.split()  # noqa: SIM905 (a list of words)
)
SAVER_OPS = frozenset(
    "SaveV2 RestoreV2 MergeV2Checkpoints Save Restore".split()  # noqa: SIM905 (as above)
)


def known(node: NodeDef) -> tuple[str, str, str] | None:
    """Level, title and meaning of a node's risk; None if it has none."""
    reach = _reach(node)
    if reach == "files" and node.op in _WITH_A_FILE:
        return _WITH_A_FILE[node.op]
    found = _OPS.get(node.op)
    return ("high", f"reaches {reach}", _REACHES) if reach and found is None else found


def _reach(node: NodeDef) -> str:
    """The external resources that a node accesses, in the words of the check at load."""
    op = registry.find(node.op)
    if op is None:
        return ""
    attrs = {name: one.default for name, one in op.attrs.items() if not one.required}
    for name, value in node.attr.items():
        if op.attrs.get(name) is not None and value.HasField("s"):
            attrs[name] = decode_text(value.s)
    return op.reach(attrs)
