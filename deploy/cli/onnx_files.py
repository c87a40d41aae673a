"""ONNX files for `pinnace show`: read without running them or opening other files."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pinnace.deploy.cli.terminal import Terminal, print_json, size_text
from pinnace.framework.errors import DataLossError, InvalidArgumentError
from pinnace.framework.extras import install_command

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

_MOST_OPS = 12


@dataclass(frozen=True, slots=True)
class Border:
    """An input or an output of an ONNX model.

    Attributes:
        name: its name for the runtime.
        dtype: ONNX's name of the element type, `FLOAT`; for other values than tensors, their kind.
        shape: sizes, names of sizes, or "?"; None for an unknown rank.
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...] | None

    @property
    def shape_text(self) -> str:
        """The shape as text."""
        return "?" if self.shape is None else f"[{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True, slots=True)
class OnnxReport:
    """The contents of an ONNX file.

    Attributes:
        writer: the producer's name and version.
        ir_version: the version of the format.
        opsets: domain -> version.
        inputs: the inputs without a default value in the file.
        outputs: the outputs, in order.
        ops: operator -> number, including those in bodies, the most frequent first.
        weight_count: the number of elements of the weights.
        file_bytes: the size of the file itself.
        aside: the files with external weights, by the names in the model.
        metadata: the producer's metadata.
    """

    writer: str
    ir_version: int
    opsets: dict[str, int]
    inputs: tuple[Border, ...]
    outputs: tuple[Border, ...]
    ops: dict[str, int]
    weight_count: int
    file_bytes: int
    aside: tuple[str, ...]
    metadata: dict[str, str]


def read_onnx(path: Path) -> Any:
    """Parse the `onnx.ModelProto` of a file, without external weights.

    Raises:
        InvalidArgumentError: the package onnx is not installed.
        DataLossError: the file is damaged.
    """
    try:
        import onnx
        from google.protobuf.message import DecodeError
    except ImportError:
        raise InvalidArgumentError(
            f"{path} needs the package onnx\n  Try: {install_command('onnx')}"
        ) from None
    try:
        model = onnx.load(path, load_external_data=False)
    except (DecodeError, ValueError) as error:
        raise DataLossError(f"{path} is damaged: {error}") from None
    if not model.HasField("graph") or not model.opset_import:
        raise DataLossError(f"{path} is damaged: it is not an ONNX model")
    return model


def inspect_onnx(path: Path) -> OnnxReport:
    """Describe an ONNX file.

    Raises:
        InvalidArgumentError: the package onnx is not installed.
        DataLossError: the file is damaged.
    """
    model = read_onnx(path)
    graph = model.graph
    weights = {tensor.name for tensor in graph.initializer}
    places = {
        entry.value
        for tensor in graph.initializer
        for entry in tensor.external_data
        if entry.key == "location"
    }
    from onnx import TensorProto

    kinds = TensorProto.DataType
    return OnnxReport(
        f"{model.producer_name or 'unknown'} {model.producer_version}".strip(),
        model.ir_version,
        {one.domain or "ai.onnx": one.version for one in model.opset_import},
        tuple(_border(one, kinds) for one in graph.input if one.name not in weights),
        tuple(_border(one, kinds) for one in graph.output),
        dict(Counter(_ops_of([graph, *model.functions])).most_common()),
        sum(_count(tensor.dims) for tensor in graph.initializer),
        path.stat().st_size,
        tuple(sorted(places)),
        {entry.key: entry.value for entry in model.metadata_props},
    )


def _border(info: Any, kinds: Any) -> Border:
    what = info.type.WhichOneof("value")
    if what != "tensor_type":
        return Border(info.name, (what or "unknown").removesuffix("_type"), None)
    tensor = info.type.tensor_type
    shape = None
    if tensor.HasField("shape"):
        shape = tuple(
            one.dim_value if one.HasField("dim_value") else one.dim_param or "?"
            for one in tensor.shape.dim
        )
    known = tensor.elem_type in kinds.values()
    return Border(info.name, kinds.Name(tensor.elem_type) if known else "unknown", shape)


def _ops_of(graphs: Iterable[Any]) -> Iterator[str]:
    """Yield the operators of graphs, including those in the bodies of loops and branches."""
    waiting = list(graphs)
    while waiting:
        for node in waiting.pop().node:
            own = node.domain in {"", "ai.onnx"}
            yield node.op_type if own else f"{node.domain}.{node.op_type}"
            for attribute in node.attribute:
                waiting.extend(attribute.graphs)
                if attribute.HasField("g"):
                    waiting.append(attribute.g)


def _count(sizes: Sequence[int]) -> int:
    count = 1
    for size in sizes:
        count *= max(size, 0)
    return count


def show_onnx(path: Path, *, as_json: bool, everything: bool) -> None:
    """Print a description of an ONNX file.

    Args:
        path: the file.
        as_json: whether to print JSON.
        everything: whether to print all operators and metadata, not only the most frequent ones.
    """
    report = inspect_onnx(path)
    if as_json:
        print_json(asdict(report))
        return
    terminal = Terminal()
    opsets = ", ".join(f"{domain} {version}" for domain, version in report.opsets.items())
    about = f"ONNX, IR {report.ir_version} · opset {opsets} · by {report.writer}"
    terminal.heading(str(path), about)
    rows = [("in", one.name, one.dtype, one.shape_text) for one in report.inputs]
    rows += [("out", one.name, one.dtype, one.shape_text) for one in report.outputs]
    terminal.table(("", "name", "dtype", "shape"), rows)
    terminal.heading("operators", f"{sum(report.ops.values())} nodes of {len(report.ops)} kinds")
    ops = list(report.ops.items())
    shown = ops if everything else ops[:_MOST_OPS]
    terminal.line(", ".join(f"{name} {count}" for name, count in shown))
    if len(shown) < len(ops):
        terminal.line(f"and {len(ops) - len(shown)} more; --all lists them")
    terminal.heading("weights", f"{report.weight_count:,} numbers")
    terminal.line(f"the file: {size_text(report.file_bytes)}")
    for name in report.aside:
        terminal.line(f"beside it: {name}")
    if everything:
        terminal.table(("noted by the writer", ""), list(report.metadata.items()))
