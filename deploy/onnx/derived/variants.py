"""Smaller variants of a model: float16, dynamic or calibrated int8, and `.ort` for phones."""

import contextlib
import io
import logging
import os
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

from pinnace.framework.errors import FailedPreconditionError, InternalError, InvalidArgumentError
from pinnace.framework.extras import install_command
from pinnace.framework.tensor import Array

KINDS = ("float16", "int8", "int8_static")
FLOAT16_LARGEST = 65504.0
# Dynamically quantised convolutions are slower than float32 ones.
_DYNAMIC = ("MatMul", "Gemm", "LSTM")
# Products of uint8 and int8 saturate on x86 without VNNI; weights of 7 bits avoid that.
_SEVEN_BITS = True
_INT8 = (onnx.TensorProto.INT8, onnx.TensorProto.UINT8)

Feeds = Mapping[str, Array]


@dataclass(frozen=True, slots=True)
class Variant:
    """A file of another precision.

    Attributes:
        kind: one of `KINDS`.
        model: the message.
        notes: changes that values alone may not show.
    """

    kind: str
    model: onnx.ModelProto
    notes: tuple[str, ...]


def make_variant(kind: str, model: onnx.ModelProto, calibration: Sequence[Feeds]) -> Variant:
    """The model in another precision; inputs and outputs keep their types.

    Args:
        kind: one of `KINDS`.
        model: the float32 model, which is not changed.
        calibration: examples for int8_static.

    Raises:
        FailedPreconditionError: onnxruntime is not installed, or lacks this tool.
        InvalidArgumentError: nothing in the model could be quantised.
        InternalError: the tool failed.
    """
    try:
        made, notes = _float16(model) if kind == "float16" else _quantised(kind, model, calibration)
    except ImportError as error:
        raise FailedPreconditionError(
            f"export: {kind} needs onnxruntime with its tools ({error})"
            f"\n  Try: {install_command('onnx')}"
        ) from error
    except (FailedPreconditionError, InvalidArgumentError):
        raise
    except Exception as error:
        raise InternalError(
            f"export: onnxruntime's tool for {kind} failed: {type(error).__name__}: {error}"
        ) from error
    _sort(made.graph)
    used = {node.domain or "" for node in _nodes(made.graph)}
    imports = [one for one in made.opset_import if one.domain in used | {""}]
    del made.opset_import[:]  # the tools import all domains they know
    made.opset_import.extend(imports)
    made.producer_name, made.producer_version = model.producer_name, model.producer_version
    made.model_version = model.model_version
    del made.metadata_props[:]
    made.metadata_props.extend(model.metadata_props)
    made.metadata_props.add(key="variant", value=kind)
    return Variant(kind, made, notes)


def _float16(model: onnx.ModelProto) -> tuple[onnx.ModelProto, tuple[str, ...]]:
    from onnxruntime.transformers.float16 import convert_float_to_float16

    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    large = sum(_beyond(tensor) for tensor in model.graph.initializer)
    with _quiet():
        made: onnx.ModelProto = convert_float_to_float16(copy, keep_io_types=True)
    if not any(t.data_type == onnx.TensorProto.FLOAT16 for t in _tensors(made.graph)):
        raise InvalidArgumentError(
            "export: float16 changes nothing: the model has no float32 weights"
        )
    notes = (f"{large} weights beyond ±{FLOAT16_LARGEST:.0f} were cut to it",) if large else ()
    return made, notes


def _beyond(tensor: onnx.TensorProto) -> int:
    if tensor.data_type != onnx.TensorProto.FLOAT:
        return 0
    return int(np.count_nonzero(np.abs(onnx.numpy_helper.to_array(tensor)) > FLOAT16_LARGEST))


def _quantised(
    kind: str, model: onnx.ModelProto, calibration: Sequence[Feeds]
) -> tuple[onnx.ModelProto, tuple[str, ...]]:
    from onnxruntime.quantization import QuantFormat, QuantType, quantize_dynamic, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    with tempfile.TemporaryDirectory() as folder, _quiet():
        given, source, target = (Path(folder) / f"{i}.onnx" for i in range(3))
        given.write_bytes(model.SerializeToString())  # the tool would clear a message
        # Symbolic inference needs sympy, and would only find shapes that the file already has.
        quant_pre_process(given, source, skip_symbolic_shape=True)
        if kind == "int8":
            quantize_dynamic(
                source,
                target,
                op_types_to_quantize=list(_DYNAMIC),
                per_channel=True,
                reduce_range=_SEVEN_BITS,
                weight_type=QuantType.QInt8,
                extra_options={"EnableSubgraph": True},
            )
        else:
            quantize_static(
                source,
                target,
                _Reader(calibration),
                quant_format=QuantFormat.QDQ,
                per_channel=True,
                reduce_range=_SEVEN_BITS,
                activation_type=QuantType.QUInt8,
                weight_type=QuantType.QInt8,
            )
        made = onnx.load(target)
    if not any(t.data_type in _INT8 and np.prod(t.dims) > 1 for t in _tensors(made.graph)):
        message = f"export: {kind} changes nothing: the model has no weights that it makes smaller"
        if kind == "int8":
            message += (
                f"\n  ops with weights that it takes: {', '.join(_DYNAMIC)}"
                "\n  Try: int8_static=calibration.npz, which takes convolutions, or float16=True"
            )
        raise InvalidArgumentError(message)
    return made, ()


class _Reader:
    """The examples one by one, then None: the interface of onnxruntime's CalibrationDataReader."""

    def __init__(self, feeds: Sequence[Feeds]) -> None:
        self._feeds = feeds
        self._rest = iter(feeds)

    def get_next(self) -> dict[str, Array] | None:
        feeds = next(self._rest, None)
        return None if feeds is None else dict(feeds)

    def __len__(self) -> int:
        return len(self._feeds)

    def rewind(self) -> None:
        self._rest = iter(self._feeds)


def _sort(graph: onnx.GraphProto) -> None:
    """Sort nodes topologically, as the float16 tool appends its casts."""
    waiting = list(graph.node)
    missing = {name for node in waiting for name in node.output if name}
    ordered: list[onnx.NodeProto] = []
    while waiting:
        late = []
        for node in waiting:
            if missing & _needs(node):
                late.append(node)
            else:
                ordered.append(node)
                missing.difference_update(node.output)
        if len(late) == len(waiting):
            raise InternalError("export: the tool made a graph with a cycle")
        waiting = late
    for node in ordered:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                _sort(attribute.g)
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in ordered]
    del graph.node[:]
    graph.node.extend(copies)


def _needs(node: onnx.NodeProto) -> set[str]:
    """The names that a node reads, including those in its bodies."""
    found = set(node.input)
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            for inner in attribute.g.node:
                found |= _needs(inner)
            found.update(one.name for one in attribute.g.output)
    return found


def watched(model: onnx.ModelProto, other: onnx.ModelProto) -> tuple[onnx.ModelProto, list[str]]:
    """A model that also returns its intermediate float16 values, and their names.

    Args:
        model: the float16 model.
        other: the float32 model; only values that both have are returned.
    """
    known = {name for node in other.graph.node for name in node.output}
    known -= {one.name for one in other.graph.output}
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    inferred = onnx.shape_inference.infer_shapes(copy).graph.value_info
    inner = {
        info.name: info
        for info in inferred
        if info.name in known and info.type.tensor_type.elem_type == onnx.TensorProto.FLOAT16
    }
    made = [name for node in copy.graph.node for name in node.output if name in inner]
    for name in made:
        info = copy.graph.output.add(name=name)
        info.type.tensor_type.elem_type = onnx.TensorProto.FLOAT16
    return copy, made


def _nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """The nodes, including those in bodies."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from _nodes(attribute.g)


def _tensors(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    """The constants, including those in bodies."""
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from _tensors(attribute.g)
            elif attribute.type == onnx.AttributeProto.TENSOR:
                yield attribute.t


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Suppress the tools' output; the report has the results."""
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about files left open, and every truncated weight
            yield
    finally:
        logging.disable(level)


@dataclass(frozen=True, slots=True)
class Mobile:
    """A model in ORT's own format.

    Attributes:
        content: the bytes of the `.ort` file.
        operators: the configuration for a reduced build of ONNX Runtime: its ops and types.
    """

    content: bytes
    operators: str


def to_mobile(serialised: bytes) -> Mobile:
    """The model as `.ort`, optimised for any processor.

    Raises:
        FailedPreconditionError: the installed onnxruntime cannot write it.
        InternalError: the conversion failed.
    """
    try:
        from onnxruntime.tools.convert_onnx_models_to_ort import (
            OptimizationStyle,
            convert_onnx_models_to_ort,
        )
    except ImportError as error:
        raise FailedPreconditionError(
            f"export: this onnxruntime cannot write .ort files ({error})"
            "\n  Try: pip install -U onnxruntime flatbuffers"
        ) from error
    with tempfile.TemporaryDirectory() as folder, _quiet():
        source = Path(folder) / "model.onnx"
        source.write_bytes(serialised)
        try:
            convert_onnx_models_to_ort(
                source, optimization_styles=[OptimizationStyle.Fixed], enable_type_reduction=True
            )
            content = source.with_suffix(".ort").read_bytes()
            (operators,) = Path(folder).glob("*.config")
            text = operators.read_text()
        except Exception as error:
            raise InternalError(
                f"export: onnxruntime does not write the model as .ort: {error}"
            ) from error
    # Its comment contains local paths and the time.
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return Mobile(content, "\n".join(lines) + "\n")


def mobile_paths(path: str | os.PathLike[str]) -> tuple[Path, Path]:
    """The paths of the `.ort` file and its list of operators, in the ONNX file's folder."""
    base = Path(path).with_suffix("")
    return (
        base.with_name(f"{base.name}.ort"),
        base.with_name(f"{base.name}.required_operators_and_types.config"),
    )
