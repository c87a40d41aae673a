"""The risks of an ONNX file, from its messages, without running it or opening other files."""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any

from pinnace.deploy.cli.findings import Findings
from pinnace.deploy.cli.onnx_files import read_onnx
from pinnace.deploy.cli.terminal import size_text

if TYPE_CHECKING:
    from collections.abc import Iterator

_OWN = frozenset({"", "ai.onnx", "ai.onnx.ml", "ai.onnx.training", "ai.onnx.preview.training"})
_RUNTIME = ("com.microsoft", "com.ms.")
_PYTHON = frozenset({"PyOp", "PythonOp", "PyCustomOp"})
_LOOPS = frozenset({"Loop", "Scan"})


def findings_of(path: Path) -> Findings:
    """The findings in an ONNX file.

    Raises:
        DataLossError: the file is damaged.
    """
    model = read_onnx(path)
    found = Findings()
    own = {(function.domain, function.name) for function in model.functions}
    for graph in (model.graph, *model.functions):
        _look_at_graph(graph, own, path, found)
    versions = ", ".join(f"{one.domain or 'ai.onnx'} {one.version}" for one in model.opset_import)
    found.add(
        "info",
        "written by",
        f"{model.producer_name or 'unknown'} {model.producer_version}".strip() + f"; {versions}.",
    )
    found.add("info", "size", f"The file: {size_text(path.stat().st_size)}.")
    return found


def _look_at_graph(graph: Any, own: set[tuple[str, str]], path: Path, found: Findings) -> None:
    waiting = [graph]
    while waiting:
        one = waiting.pop()
        for tensor in _tensors(one):
            _look_at_tensor(tensor, path, found)
        for node in one.node:
            _look_at_node(node, own, found)
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    waiting.append(attribute.g)
                waiting.extend(attribute.graphs)


def _tensors(graph: Any) -> Iterator[Any]:
    yield from getattr(graph, "initializer", ())
    for sparse in getattr(graph, "sparse_initializer", ()):
        yield sparse.values
        yield sparse.indices
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors


def _look_at_node(node: Any, own: set[tuple[str, str]], found: Findings) -> None:
    place = f"{node.domain or 'ai.onnx'}.{node.op_type} at {node.name or node.output[:1]}"
    if node.op_type in _PYTHON or "python" in node.domain.lower():
        found.add("high", "runs Python", "It runs Python code of the process that loads it.", place)
    elif node.domain.startswith(_RUNTIME):
        found.add(
            "low",
            "ops of ONNX Runtime",
            "It runs in ONNX Runtime only; these ops are part of it.",
            place,
        )
    elif node.domain not in _OWN and (node.domain, node.op_type) not in own:
        found.add(
            "high",
            "custom ops",
            "It runs only after a native library was loaded, which can do anything.",
            place,
        )
    if node.op_type in _LOOPS:
        found.add(
            "info",
            "has loops",
            "How long it runs may depend on the input. A server should have a time limit.",
            place,
        )


def _look_at_tensor(tensor: Any, path: Path, found: Findings) -> None:
    facts = {one.key: one.value for one in tensor.external_data}
    if not facts:
        return
    name = facts.get("location", "")
    parts = (*PurePosixPath(name).parts, *PureWindowsPath(name).parts)
    absolute = PurePosixPath(name).is_absolute() or bool(PureWindowsPath(name).anchor)
    if not name or absolute or ".." in parts:
        found.add(
            "high",
            "weights outside its folder",
            "Loading it opens a file elsewhere on this machine, whose content becomes weights and "
            "can come out in the results.",
            f"{name[:200]!r} for {tensor.name[:100]}",
        )
        return
    file = path.parent / name
    if file.is_symlink():
        found.add(
            "medium",
            "weights behind a link",
            "The file of weights is a link: it may show any file of this machine.",
            name,
        )
    elif not file.is_file():
        found.add("medium", "missing weights", "The model is not complete.", name)
    else:
        found.add("info", "weights in other files", "They belong to the model.", name)
