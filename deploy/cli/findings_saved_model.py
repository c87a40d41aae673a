"""What a SavedModel could do, from its messages and files; nothing of it is run."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from pinnace.deploy.cli.findings import Findings
from pinnace.deploy.cli.terminal import size_text
from pinnace.ops import registry
from pinnace.saved_model import layout
from pinnace.saved_model.reading import read_messages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pinnace.proto.node_def_pb2 import NodeDef
    from pinnace.proto.saved_model_pb2 import MetaGraphDef

_PYTHON = "It runs Python code of the process that loads it, under the name it registered there."
_READS = (
    "It opens files whose names it computes or brings: it can read what the process may read, and "
    "give it out through its results. pinnace refuses it unless allow_io=True."
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
# What stands in nodes only to save and restore variables, which every SavedModel has.
_SAVER = (
    "Every SavedModel has these nodes, which save and restore its variables. No signature and no "
    "function reaches them: they run only if a program asks for them by name."
)
_STATE = "remembers between calls"
_MAIN = "main graph"
_OPS: dict[str, tuple[str, str, str]] = {}


def _list(level: str, title: str, meaning: str, names: str) -> None:
    _OPS.update(dict.fromkeys(names.split(), (level, title, meaning)))


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
)
_list(
    "high",
    "writes files",
    _WRITES,
    "WriteFile Save SaveV2 SaveSlices SaveDataset SaveDatasetV2 MergeV2Checkpoints "
    "CreateSummaryFileWriter CreateSummaryDbWriter SnapshotDataset SnapshotDatasetV2 "
    "DistributedSave DumpGraph",
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
    "XlaCallModule XlaLaunch XlaCustomCallV2 XlaHostCompute XlaRecvFromHost XlaSendToHost "
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
    _STATE,
    "Calls change its variables: one client's requests can change the answers to others.",
    "AssignVariableOp AssignAddVariableOp AssignSubVariableOp Assign AssignAdd AssignSub "
    "ResourceScatterUpdate LookupTableInsertV2",
)
# Ops of TensorFlow itself without a kernel here that say nothing about trust.
_PLAIN = frozenset(
    """
    Switch Merge Enter Exit NextIteration RefSwitch RefMerge RefEnter RefExit RefNextIteration
    ControlTrigger Abort _Arg _Retval _DeviceArg _DeviceRetval Placeholder PlaceholderV2
    VarHandleOp VariableV2 Variable TemporaryVariable SymbolicGradient ShardedFilename
    ShardedFilespec LoopCond NoOp
    """.split()  # noqa: SIM905 (a list of words)
)
_OUTSIDE = re.compile(r"(?:/(?!/)[\w.-]+/|[A-Za-z]:[\\/]|\\\\|~/|\.\./|[a-z][a-z0-9+.-]{1,15}://)")
_PROGRAMS = {
    ".so", ".dll", ".dylib", ".exe", ".bat", ".cmd", ".sh", ".ps1", ".py", ".pyc", ".jar", ".js",
}  # fmt: skip
_PICKLES = {".pkl", ".pickle", ".joblib", ".dill", ".pt", ".pth"}
_LARGE_CONSTANT = 16_000_000  # bytes
_LONG = 200


def findings_of(folder: Path) -> Findings:
    """Everything there is to say about a SavedModel.

    Raises:
        DataLossError: the file of messages is damaged.
    """
    found = Findings()
    for meta in read_messages(folder).meta_graphs:
        _Graph(meta, found).look()
        _look_at_assets(folder, meta, found)
    _look_at_files(folder, found)
    return found


class _Graph:
    """One graph: what in it is reached by functions and signatures, and what only by name."""

    def __init__(self, meta: MetaGraphDef, found: Findings) -> None:
        self._meta = meta
        self._found = found
        self._functions: Mapping[str, Iterable[NodeDef]] = {
            one.signature.name: one.node_def for one in meta.graph_def.library.function
        }

    def look(self) -> None:
        reached = self._reached()
        for place, nodes in self._places():
            for node in nodes:
                is_reached = place in reached or (place, node.name) in reached
                self._look_at(node, f"{place}: {node.name}", is_reached)

    def _places(self) -> Iterator[tuple[str, Iterable[NodeDef]]]:
        yield _MAIN, self._meta.graph_def.node
        yield from self._functions.items()

    def _reached(self) -> set[object]:
        """Names of functions, and (`main graph`, node), that loading or a call may run."""
        nodes = {node.name: node for node in self._meta.graph_def.node}
        waiting: list[str] = [
            info.name.partition(":")[0]
            for signature in self._meta.signature_def.values()
            for info in signature.outputs.values()
        ]
        for name in (layout.INIT_COLLECTION, layout.LEGACY_INIT_COLLECTION):
            waiting.extend(self._meta.collection_def[name].node_list.value)
        functions = list(self._meta.object_graph_def.concrete_functions)
        reached: set[object] = set()
        while waiting:
            name = waiting.pop().lstrip("^").partition(":")[0]
            if name in nodes and (_MAIN, name) not in reached:
                reached.add((_MAIN, name))
                waiting.extend(nodes[name].input)
                functions.extend(_called(nodes[name]))
        while functions:
            name = functions.pop()
            if name in self._functions and name not in reached:
                reached.add(name)
                for node in self._functions[name]:
                    functions.extend(_called(node))
        return reached

    def _look_at(self, node: NodeDef, place: str, is_reached: bool) -> None:
        known = _OPS.get(node.op)
        if known is not None and (is_reached or node.op not in _SAVER_OPS):
            level, title, meaning = known
            if is_reached and title == _STATE and place.startswith(f"{_MAIN}:"):
                return  # the first values of variables
            if is_reached:
                self._found.add(level, title, meaning, f"{node.op} at {place}")
            elif level in ("high", "medium"):
                self._found.add(
                    "low",
                    f"{title}, in nodes that nothing calls",
                    f"{meaning} No signature and no function reaches it.",
                    f"{node.op} at {place}",
                )
        elif known is not None:
            self._found.add("info", "saves and restores its variables", _SAVER)
        elif ">" in node.op:
            self._found.add(
                "high" if is_reached else "low",
                "custom ops",
                "These are no ops of TensorFlow: they run only after a native library was loaded, "
                "which can do anything.",
                f"{node.op} at {place}",
            )
        elif not self._is_known(node.op):
            self._found.add(
                "medium" if is_reached else "low",
                "ops unknown here",
                "Either TensorFlow has them and pinnace does not, or they come from a native "
                "library; what they do was not looked at.",
                f"{node.op} at {place}",
            )
        if node.op == "Const":
            self._look_at_constant(node, place, is_reached)

    def _is_known(self, op: str) -> bool:
        return op in self._functions or op in _PLAIN or registry.find(op) is not None

    def _look_at_constant(self, node: NodeDef, place: str, is_reached: bool) -> None:
        tensor = node.attr["value"].tensor
        if len(tensor.tensor_content) > _LARGE_CONSTANT:
            self._found.add(
                "info",
                "large constants",
                "Weights stand in the graph instead of in the variables; loading takes memory.",
                f"{place}, {size_text(len(tensor.tensor_content))}",
            )
        for raw in tensor.string_val if is_reached else ():
            text = raw[:_LONG].decode("utf-8", "backslashreplace")
            if _OUTSIDE.match(text):
                self._found.add(
                    "low",
                    "names of files or addresses",
                    "A text in the graph looks like a path or an address outside the model.",
                    f"{text!r} at {place}",
                )


_SAVER_OPS = frozenset({"SaveV2", "RestoreV2", "MergeV2Checkpoints", "Save", "Restore"})


def _called(node: NodeDef) -> Iterator[str]:
    yield node.op
    for value in node.attr.values():
        if value.HasField("func"):
            yield value.func.name
        for one in value.list.func:
            yield one.name


def _look_at_assets(folder: Path, meta: MetaGraphDef, found: Findings) -> None:
    for asset in meta.asset_file_def:
        name = asset.filename
        if Path(name).is_absolute() or ".." in Path(name).parts or "\0" in name:
            found.add(
                "high",
                "an asset outside the model",
                "The model asks for a file that is not in its folder. pinnace refuses to load it.",
                repr(name[:_LONG]),
            )
            continue
        path = layout.asset_path(folder, name)
        if not path.is_file():
            found.add("medium", "missing assets", "The model is not complete.", repr(name[:_LONG]))
        else:
            found.add(
                "info",
                "brings files",
                "Files that the model reads, mostly lists of words.",
                f"{name} ({size_text(path.stat().st_size)})",
            )


def _look_at_files(folder: Path, found: Findings) -> None:
    root = Path(os.path.realpath(folder))
    total = 0
    for parent, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = Path(parent, name)
            shown = path.relative_to(folder).as_posix()
            status = path.lstat()
            if stat.S_ISLNK(status.st_mode):
                inside = Path(os.path.realpath(path)).is_relative_to(root)
                found.add(
                    "low" if inside else "high",
                    "links" if inside else "links out of its folder",
                    "A name in the folder stands for another file; copied elsewhere, the model "
                    "shows what is there under that name.",
                    shown,
                )
            elif stat.S_ISREG(status.st_mode):
                total += status.st_size
                _look_at_file(path, shown, status.st_mode, found)
            elif not stat.S_ISDIR(status.st_mode):
                found.add(
                    "medium", "no regular files", "Pipes or devices are no part of a model.", shown
                )
    found.add("info", "size", f"All its files together: {size_text(total)}.")


def _look_at_file(path: Path, shown: str, mode: int, found: Findings) -> None:
    suffix = path.suffix.lower()
    if suffix in _PICKLES:
        found.add(
            "high",
            "pickles",
            "No SavedModel needs them, and opening one in Python can run any program.",
            shown,
        )
    elif suffix in _PROGRAMS or (mode & 0o111 and _is_program(path)):
        found.add(
            "medium",
            "programs",
            "Loading the model does not run them, but no SavedModel needs them: ask what they "
            "are for.",
            shown,
        )


def _is_program(path: Path) -> bool:
    with path.open("rb") as file:
        begin = file.read(4)
    return begin[:2] in (b"#!", b"MZ") or begin == b"\x7fELF"
