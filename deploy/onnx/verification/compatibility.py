"""The runtimes that support a file, by its opset, IR version, operators and their types.

Source:
    One-node models, 175 operators in every type, loaded by each runtime: onnxruntime 1.19 to 1.32
    (Python), onnxruntime-node and onnxruntime-web 1.30, in November 2026. The documents of
    onnxruntime-web 1.30 for its WebGPU operators; of each package for its version.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import onnx

from pinnace.framework import dtypes
from pinnace.framework.dtypes import as_dtype

ACCEPTS, PARTLY, REFUSES = "accepts", "partly", "refuses"
_BY_ONNX = {dtype.onnx: as_dtype(dtype).name for dtype in dtypes.ANY if dtype.onnx is not None}
_SEQUENCE = "sequence"
_WEB_LIMIT = 1_500_000_000  # bytes; WebAssembly has 4 GB for the file, the weights and the values
_FLOW = frozenset({"If", "Loop", "Scan"})
_SEQUENCES = frozenset(
    {
        "ConcatFromSequence",
        "SequenceAt",
        "SequenceConstruct",
        "SequenceEmpty",
        "SequenceErase",
        "SequenceInsert",
        "SequenceLength",
        "SplitToSequence",
    }
)
# Operators without WebGPU kernels: they run on the processor, with copies on both sides.
_NO_GPU_KERNEL = """
Attention Bernoulli BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor CenterCropPad Col2Im
Compress Det Dropout DynamicQuantizeLinear EyeLike GroupNormalization IsInf IsNaN LRN Loop Mean
Mod Multinomial NonMaxSuppression NonZero OneHot Or QuantizeLinear RNN RandomNormal
RandomNormalLike RandomUniform RandomUniformLike ReverseSequence RoiAlign Round STFT Scan Sign
Size SpaceToDepth StringConcat StringNormalizer StringSplit Sum TensorScatter Unique Xor
"""
_NOT_ON_GPU = _SEQUENCES | frozenset(_NO_GPU_KERNEL.split())
_GPU_TYPES = frozenset({"float32", "float16", "int32", "uint32", "bool", "uint8", "int64"})
_NO_GPU_BUILD_TYPES = frozenset({"float64", "int16", "uint16", "string"})
_NO_JAVASCRIPT = frozenset({"bfloat16", "complex64", "complex128"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a runtime supports the file, and the reasons.

    Attributes:
        runtime: the runtime and its version.
        answer: "accepts", "partly" (it runs, but not everything where it should) or "refuses".
        reasons: why the answer is not "accepts".
        changes: the changes that would be necessary.
    """

    runtime: str
    answer: str
    reasons: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The verdict as a dict for JSON."""
        return {
            "runtime": self.runtime,
            "answer": self.answer,
            "reasons": list(self.reasons),
            "changes": list(self.changes),
        }


@dataclass(frozen=True, slots=True)
class _Facts:
    """The properties of a file that the verdicts depend on."""

    opset: int
    ir_version: int
    kinds: Counter[str]
    domains: frozenset[str]
    types: frozenset[str]
    border_types: frozenset[str]
    unknown_sizes: bool
    rank: int
    file_bytes: int
    is_aside: bool


@dataclass(frozen=True, slots=True)
class _Runtime:
    name: str
    opset: int
    ir_version: int


# The highest versions that each runtime supports.
_NATIVE = (
    _Runtime("onnxruntime 1.19, 1.20 (Python, C, C#, Java)", 21, 10),
    _Runtime("onnxruntime 1.21, 1.22 (Python, C, C#, Java)", 22, 10),
    _Runtime("onnxruntime 1.23 (Python, C, C#, Java)", 23, 11),
    _Runtime("onnxruntime 1.24 (Python, C, C#, Java)", 25, 13),
    _Runtime("onnxruntime 1.26 to 1.31 (Python, C, C#, Java)", 26, 13),
    _Runtime("onnxruntime 1.32 (Python, C, C#, Java)", 28, 14),
    _Runtime("onnxruntime-node 1.30", 26, 13),
    _Runtime("onnxruntime-android 1.31 (processor)", 26, 13),
    _Runtime("onnxruntime-objc, onnxruntime-c 1.30 (iOS, processor)", 26, 13),
    _Runtime("onnxruntime-react-native 1.24", 25, 13),
)
_WASM = _Runtime("onnxruntime-web 1.30 (WebAssembly)", 26, 13)
_WEBGPU = _Runtime("onnxruntime-web 1.30 (WebGPU)", 26, 13)
_WEBNN = _Runtime("onnxruntime-web 1.30 (WebNN)", 26, 13)
_ACCELERATORS = _Runtime("CoreML, NNAPI and XNNPACK through onnxruntime on phones", 26, 13)


def verdicts(model: onnx.ModelProto, file_bytes: int, *, is_aside: bool) -> list[Verdict]:
    """The verdict of each runtime on the model.

    Args:
        model: the model, possibly without weights.
        file_bytes: size of the file, including that of external weights.
        is_aside: whether the weights are in a file of their own.
    """
    facts = _facts(model, file_bytes, is_aside)
    found = [_native(runtime, facts) for runtime in _NATIVE]
    found += [_wasm(facts), _webgpu(facts), _webnn(facts), _accelerated(facts)]
    return found


def _facts(model: onnx.ModelProto, file_bytes: int, is_aside: bool) -> _Facts:
    kinds: Counter[str] = Counter()
    domains: set[str] = set()
    types: set[str] = set()
    for graph in _graphs(model.graph):
        kinds.update(node.op_type for node in graph.node)
        domains.update(node.domain or "ai.onnx" for node in graph.node)
        types.update(_type(info) for info in (*graph.value_info, *graph.input, *graph.output))
        types.update(_BY_ONNX.get(tensor.data_type, "?") for tensor in graph.initializer)
    graph = model.graph
    infos = [*graph.value_info, *graph.input, *graph.output]
    shapes = [info.type.tensor_type.shape.dim for info in infos]
    return _Facts(
        opset=max((one.version for one in model.opset_import if not one.domain), default=0),
        ir_version=model.ir_version,
        kinds=kinds,
        domains=frozenset(domains),
        types=frozenset(types),
        border_types=frozenset(_type(info) for info in (*graph.input, *graph.output)),
        unknown_sizes=any(not dim.HasField("dim_value") for dims in shapes for dim in dims),
        rank=max((len(dims) for dims in shapes), default=0),
        file_bytes=file_bytes,
        is_aside=is_aside,
    )


def _graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from _graphs(attribute.g)


def _type(info: onnx.ValueInfoProto) -> str:
    if info.type.HasField("sequence_type"):
        return _SEQUENCE
    return _BY_ONNX.get(info.type.tensor_type.elem_type, "?")


class _Case:
    """Collects reasons and remedies for one runtime."""

    def __init__(self, runtime: _Runtime, facts: _Facts) -> None:
        self.name = runtime.name
        self.refused = self.limited = False
        self.reasons: list[str] = []
        self.changes: list[str] = []
        if facts.opset > runtime.opset:
            self.refuse(
                f"it knows opset {runtime.opset} at most, the file has {facts.opset}",
                f"--opset {runtime.opset}",
            )
        if facts.ir_version > runtime.ir_version:
            self.refuse(
                f"it knows IR version {runtime.ir_version} at most, the file has "
                f"{facts.ir_version}",
                f"--ir-version {runtime.ir_version}",
            )

    def refuse(self, reason: str, change: str) -> None:
        self.refused = True
        self._note(reason, change)

    def limit(self, reason: str, change: str) -> None:
        self.limited = True
        self._note(reason, change)

    def _note(self, reason: str, change: str) -> None:
        self.reasons.append(reason)
        if change not in self.changes:
            self.changes.append(change)

    def verdict(self) -> Verdict:
        answer = REFUSES if self.refused else PARTLY if self.limited else ACCEPTS
        return Verdict(self.name, answer, tuple(self.reasons), tuple(self.changes))


def _native(runtime: _Runtime, facts: _Facts) -> Verdict:
    case = _Case(runtime, facts)
    if runtime.name.startswith("onnxruntime-node"):
        _javascript(case, facts)
    if "react-native" in runtime.name:
        wrong = sorted(facts.border_types & {"uint16", "uint32", "uint64"})
        if wrong:
            case.refuse(
                f"inputs or outputs are {_words(wrong)}",
                "cast them inside the model: signatures with float32 or int32",
            )
        if facts.is_aside:
            case.limit("the weights are in a file of their own", "put both files in one folder")
    if "Equal" in facts.kinds and "string" in facts.types and facts.opset < 19:
        case.refuse("strings are compared, which opset 19 brings", "--opset 19")
    return case.verdict()


def _javascript(case: _Case, facts: _Facts) -> None:
    wrong = sorted(facts.border_types & _NO_JAVASCRIPT)
    if wrong:
        case.refuse(
            f"JavaScript has no tensors of {_words(wrong)}", "cast inputs and outputs to float32"
        )
    if _SEQUENCE in facts.border_types:
        case.refuse("an input or output is a sequence", "give tensors")


def _web(case: _Case, facts: _Facts) -> None:
    _javascript(case, facts)
    if facts.file_bytes > _WEB_LIMIT:
        case.refuse(
            f"the file has {facts.file_bytes / 1e9:.1f} GB, WebAssembly has some "
            f"{_WEB_LIMIT / 1e9:.1f} GB for it and what it computes",
            "--float16 or --int8",
        )
    if facts.is_aside:
        case.limit(
            "the weights are in a file of their own",
            "hand it over as well: externalData: [{path: 'NAME.onnx.data', data: url}]",
        )
    if facts.kinds["STFT"]:
        case.refuse("this build has no STFT", "frames, window and DFT instead")


def _wasm(facts: _Facts) -> Verdict:
    case = _Case(_WASM, facts)
    _web(case, facts)
    return case.verdict()


def _webgpu(facts: _Facts) -> Verdict:
    case = _Case(_WEBGPU, facts)
    _web(case, facts)
    missing = sorted(facts.types & _NO_GPU_BUILD_TYPES)
    if missing:
        case.refuse(f"this build has no kernels for {_words(missing)}", "the WebAssembly build")
    slow = {kind: facts.kinds[kind] for kind in sorted(_NOT_ON_GPU) if facts.kinds[kind]}
    if slow:
        listed = _words(f"{kind} ({count})" for kind, count in slow.items())
        case.limit(
            f"no kernel on the GPU, so copied to the processor and back: {listed}",
            "run small models by WebAssembly alone",
        )
    if "float16" in facts.types:
        case.limit("float16 needs a GPU with the feature shader-f16", "float32 where it is missing")
    others = sorted(facts.types - _GPU_TYPES - _NO_GPU_BUILD_TYPES - {"?"})
    if others:
        case.limit(f"values of {_words(others)} stay on the processor", "float32 or int32")
    return case.verdict()


def _webnn(facts: _Facts) -> Verdict:
    case = _Case(_WEBNN, facts)
    _web(case, facts)
    if facts.unknown_sizes:
        case.refuse("it needs every size", "session option freeDimensionOverrides, or fixed shapes")
    if facts.rank > 5:
        case.refuse(f"values have up to {facts.rank} axes, it takes 5", "fewer axes")
    flow = sorted(_FLOW & set(facts.kinds))
    if flow:
        case.limit(f"{_words(flow)} stay on the processor", "unroll them")
    return case.verdict()


def _accelerated(facts: _Facts) -> Verdict:
    case = _Case(_ACCELERATORS, facts)
    flow = sorted((_FLOW | _SEQUENCES) & set(facts.kinds))
    if flow:
        case.limit(f"{_words(flow)} stay on the processor", "unroll them")
    if facts.unknown_sizes:
        case.limit(
            "with sizes that are unknown, parts stay on the processor",
            "python -m onnxruntime.tools.make_dynamic_shape_fixed --dim_param NAME --dim_value 1",
        )
    wrong = sorted(facts.types & {"float64", "string", "uint16", "int16", "uint64"})
    if wrong:
        case.limit(f"values of {_words(wrong)} stay on the processor", "float32")
    return case.verdict()


def _words(items: Iterable[str]) -> str:
    return ", ".join(items)
