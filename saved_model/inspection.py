"""The content of a SavedModel, without running it: the data of `pinnace show`."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pinnace.checkpoint.keys import OBJECT_GRAPH_KEY
from pinnace.framework.errors import InvalidArgumentError, OpError
from pinnace.framework.visible_text import visible_line
from pinnace.graph.codec.dead_branches import is_flow_op
from pinnace.graph.codec.opaque import TRANSLATED_XLA
from pinnace.graph.codec.references import TRANSLATED
from pinnace.graph.text import text_of
from pinnace.ops import registry
from pinnace.saved_model import layout
from pinnace.saved_model.assets import named_assets
from pinnace.saved_model.codecs.signatures import decode_infos, tensor_names
from pinnace.saved_model.codecs.structures import decode_structure
from pinnace.saved_model.frozen_graphs import load_frozen_graph, read_frozen_graph
from pinnace.saved_model.inspection_writer import keras_of, writer_of
from pinnace.saved_model.options import LoadOptions
from pinnace.saved_model.picture.page import signature_page
from pinnace.saved_model.readiness import Readiness, readiness_of
from pinnace.saved_model.reading import choose_graph, load, read_messages
from pinnace.saved_model.restored import described
from pinnace.saved_model.saved_functions import decode_arguments
from pinnace.storage.bundle import BundleReader, index_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pinnace.functions.concrete import ConcreteFunction
    from pinnace.proto.node_def_pb2 import NodeDef
    from pinnace.proto.saved_model_pb2 import MetaGraphDef, SignatureDef, TensorInfo

VARIABLE_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
# Nodes that need no kernel, besides ops that have none: variables and arguments.
_GIVEN = frozenset({"VariableV2", "Variable", "_Arg", "_Retval"})


@dataclass(frozen=True, slots=True)
class TensorReport:
    """One input or output: name, dtype, and shape as text (`[?, 3]`)."""

    name: str
    dtype: str
    shape: str


@dataclass(frozen=True, slots=True)
class SignatureReport:
    """One signature.

    Attributes:
        name: the signature's name.
        inputs: by name.
        outputs: by name.
        method: the SignatureDef's method_name.
        problems: the reasons why it cannot or might not run; empty if it can.
    """

    name: str
    inputs: tuple[TensorReport, ...]
    outputs: tuple[TensorReport, ...]
    method: str
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OpReport:
    """One op: the number of its nodes, and whether this library can run it.

    Attributes:
        name: the op's name.
        count: the number of nodes.
        supported: whether there is a kernel.
        example: a function and a node with the op.
    """

    name: str
    count: int
    supported: bool
    example: str


@dataclass(frozen=True, slots=True)
class VariableReport:
    """One stored value."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int


@dataclass(frozen=True, slots=True)
class FunctionReport:
    """One function that can be called by name: its path, and its traces as text."""

    path: str
    traces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AssetReport:
    """One asset file of the model; its size is None if it is missing."""

    name: str
    bytes: int | None


@dataclass(frozen=True, slots=True)
class ModelReport:
    """The report on one graph of a SavedModel.

    Attributes:
        path: the folder.
        tags: the graph's tags.
        writer: the library that wrote it, as far as the file tells.
        format: `TensorFlow 2` (with objects), `TensorFlow 1` or `frozen graph`.
        signatures: by name.
        ops: the ops of the functions that can be called, the most frequent first.
        variables: by name.
        functions: by path.
        assets: by name.
        file_bytes: size of each file in the folder.
        problems: messages about parts that could not be read.
        keras: the Keras that wrote the model; empty if none did.
        load_error: the error that `load` will raise; empty if the model loads.
    """

    path: str
    tags: tuple[str, ...]
    writer: str
    format: str
    signatures: tuple[SignatureReport, ...]
    ops: tuple[OpReport, ...]
    variables: tuple[VariableReport, ...]
    functions: tuple[FunctionReport, ...]
    assets: tuple[AssetReport, ...]
    file_bytes: Mapping[str, int]
    problems: tuple[str, ...]
    keras: str = ""
    load_error: str = ""

    @property
    def unsupported(self) -> tuple[OpReport, ...]:
        """The ops that this library cannot run."""
        return tuple(op for op in self.ops if not op.supported)

    @property
    def node_count(self) -> int:
        """The number of nodes."""
        return sum(op.count for op in self.ops)

    @property
    def variable_bytes(self) -> int:
        """The size of all variables."""
        return sum(variable.bytes for variable in self.variables)


def inspect(
    export_dir: str | os.PathLike[str], tags: str | Iterable[str] | None = None
) -> ModelReport:
    """Return the content of a SavedModel, without running it or reading its variables.

    Args:
        export_dir: the folder, or the file of a frozen graph.
        tags: the tags of the graph; None takes the only one, or that for serving.

    Raises:
        NotFoundError: there is no such model.
        DataLossError: the file of messages is damaged.
    """
    folder = Path(export_dir)
    if folder.is_file():
        meta, form = read_frozen_graph(folder), "frozen graph"
    else:
        meta = choose_graph(read_messages(folder), tags, layout.model_path(folder))
        form = "TensorFlow 2" if meta.HasField("object_graph_def") else "TensorFlow 1"
    problems: list[str] = []
    readiness = readiness_of(folder, meta)
    return ModelReport(
        os.fspath(export_dir),
        tuple(meta.meta_info_def.tags),
        writer_of(meta),
        form,
        _signatures(meta, problems, readiness),
        _ops(meta, readiness),
        _variables(folder, problems),
        _functions(meta, problems),
        _assets(folder, meta),
        _files(folder),
        tuple(problems),
        keras_of(folder, meta),
        readiness.error,
    )


def _signatures(
    meta: MetaGraphDef, problems: list[str], readiness: Readiness
) -> tuple[SignatureReport, ...]:
    unready = {one.name: one.problems for one in readiness.unready}
    found = []
    for name in sorted(meta.signature_def):
        if name in (layout.INIT_SIGNATURE, layout.TRAIN_SIGNATURE):
            continue
        message = meta.signature_def[name]
        found.append(replace(_signature(name, message, problems), problems=unready.get(name, ())))
    return tuple(found)


def _signature(name: str, message: SignatureDef, problems: list[str]) -> SignatureReport:
    def tensors(infos: Mapping[str, TensorInfo]) -> tuple[TensorReport, ...]:
        reports = []
        for key in sorted(infos):
            try:
                found, _ = decode_infos({key: infos[key]}, f"signature {name!r},")
            except OpError as error:
                problems.append(error.message)
                reports.append(TensorReport(key, "?", "?"))
            else:
                reports += [
                    TensorReport(part, one.dtype.name, one.shape.text)
                    for part, one in found.items()
                ]
        return tuple(reports)

    return SignatureReport(
        name, tensors(message.inputs), tensors(message.outputs), message.method_name
    )


def _ops(meta: MetaGraphDef, readiness: Readiness) -> tuple[OpReport, ...]:
    functions = {one.signature.name: one for one in meta.graph_def.library.function}
    counts: Counter[str] = Counter()
    examples: dict[str, str] = {}

    def count(nodes: Iterable[NodeDef], place: str) -> list[str]:
        called = []
        for node in nodes:
            counts[node.op] += 1
            examples.setdefault(node.op, f"{place}: {node.name}")
            called.append(node.op)
            for value in node.attr.values():
                called.append(value.func.name)
                called.extend(one.name for one in value.list.func)
        return called

    has_objects = meta.HasField("object_graph_def")
    if has_objects:
        waiting = list(meta.object_graph_def.concrete_functions)
    else:
        waiting = count(_served_nodes(meta), "main graph")
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in functions and name not in seen:
            seen.add(name)
            waiting.extend(count(functions[name].node_def, name))
    # The nodes of a main graph are translated: loops, branches and variables.
    is_known = not has_objects and not readiness.error

    def is_supported(op: str) -> bool:
        return op not in readiness.missing if is_known else _is_supported(op, functions)

    return tuple(
        OpReport(op, number, is_supported(op), examples[op])
        for op, number in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )


def _served_nodes(meta: MetaGraphDef) -> Iterable[NodeDef]:
    """The nodes that the signatures of a main graph need."""
    nodes = {node.name: node for node in meta.graph_def.node}
    waiting = [
        reference.partition(":")[0]
        for name, signature in meta.signature_def.items()
        for info in signature.outputs.values()
        for reference in tensor_names(info)
        if name != layout.TRAIN_SIGNATURE
    ]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in nodes and name not in seen:
            seen.add(name)
            yield nodes[name]
            waiting.extend(text.lstrip("^").partition(":")[0] for text in nodes[name].input)


def _is_supported(op: str, functions: Mapping[str, object]) -> bool:
    if op in _GIVEN or op in TRANSLATED_XLA or op in functions or is_flow_op(op):
        return True
    return registry.find(TRANSLATED.get(op, op)) is not None


def _variables(folder: Path, problems: list[str]) -> tuple[VariableReport, ...]:
    prefix = layout.variables_prefix(folder)
    if not Path(index_path(prefix)).exists():
        return ()
    found = []
    try:
        reader = BundleReader(prefix)
        for key in reader.keys():  # noqa: SIM118 (no dict)
            if key != OBJECT_GRAPH_KEY:
                entry = reader.entry(key)
                name = key.removesuffix(VARIABLE_VALUE)
                found.append(VariableReport(name, entry.dtype.name, entry.shape, entry.size))
    except OpError as error:
        problems.append(error.message)
    return tuple(found)


def _functions(meta: MetaGraphDef, problems: list[str]) -> tuple[FunctionReport, ...]:
    """The functions of objects, by the shortest path to each."""
    if not meta.HasField("object_graph_def"):
        return ()
    nodes = meta.object_graph_def.nodes
    found = []
    seen = {0}
    queue = [(0, "")]
    while queue:
        number, path = queue.pop(0)
        node = nodes[number] if 0 <= number < len(nodes) else None
        if node is None:
            problems.append(f"the object graph refers to object {number}, which there is not")
            continue
        if node.WhichOneof("kind") == "function":
            names = node.function.concrete_functions
            found.append(FunctionReport(path, tuple(_traces(meta, names, problems))))
            continue
        for child in node.children:
            if child.node_id not in seen:
                seen.add(child.node_id)
                queue.append((child.node_id, f"{path}.{child.local_name}".lstrip(".")))
    return tuple(found)


def _traces(meta: MetaGraphDef, names: Iterable[str], problems: list[str]) -> Iterable[str]:
    for name in names:
        if name not in meta.object_graph_def.concrete_functions:
            problems.append(f"there is no function {name!r}, which an object refers to")
            continue
        info = meta.object_graph_def.concrete_functions[name]
        where = f"function {name!r}"
        try:
            arguments = described(decode_arguments(info.canonicalized_input_signature, where))
            results = described(((decode_structure(info.output_signature, where),), {}))
        except (OpError, TypeError, ValueError) as error:
            problems.append(str(error))
        else:
            yield f"{arguments} -> {results[1:-1]}"


def _assets(folder: Path, meta: MetaGraphDef) -> tuple[AssetReport, ...]:
    found = []
    for asset in named_assets(meta):
        path = layout.asset_path(folder, asset.filename)
        inside = not Path(asset.filename).is_absolute() and ".." not in Path(asset.filename).parts
        size = path.stat().st_size if inside and path.is_file() else None
        found.append(AssetReport(asset.filename, size))
    return tuple(found)


def _files(folder: Path) -> dict[str, int]:
    if folder.is_file():
        return {folder.name: folder.stat().st_size}
    return {
        path.relative_to(folder).as_posix(): path.stat().st_size
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def graph_text(
    export_dir: str | os.PathLike[str],
    signature: str = layout.DEFAULT_SIGNATURE,
    tags: str | Iterable[str] | None = None,
) -> str:
    """Return the graph of a signature and the functions it calls, as text.

    Args:
        export_dir: the folder.
        signature: its name.
        tags: the tags of the graph, if the model has several.

    Raises:
        InvalidArgumentError: there is no such signature.
    """
    return text_of(_signature_of(export_dir, signature, tags).graph, functions=True)


def graph_page(
    export_dir: str | os.PathLike[str],
    signature: str = layout.DEFAULT_SIGNATURE,
    tags: str | Iterable[str] | None = None,
) -> str:
    """Return the graph of a signature as a self-contained HTML page.

    Args:
        export_dir: the folder.
        signature: its name.
        tags: the tags of the graph, if the model has several.

    Raises:
        InvalidArgumentError: there is no such signature.
    """
    function = _signature_of(export_dir, signature, tags)
    return signature_page(function, f"{Path(export_dir).resolve().name} · {signature}")


def _signature_of(
    export_dir: str | os.PathLike[str], signature: str, tags: str | Iterable[str] | None
) -> ConcreteFunction:
    if Path(export_dir).is_file():
        return load_frozen_graph(export_dir)
    # The graph needs no values of variables: a model without its checkpoint has one too.
    options = LoadOptions(experimental_skip_checkpoint=True)
    signatures = load(export_dir, tags, options).signatures
    if signature not in signatures:
        known = ", ".join(map(visible_line, sorted(signatures))) or "none"
        raise InvalidArgumentError(
            f"{export_dir}: there is no signature {signature!r}; the model has: {known}"
        )
    found: ConcreteFunction = signatures[signature]
    return found
