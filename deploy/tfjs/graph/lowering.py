"""Lowering of a frozen graph to the ops of TensorFlow.js; all refusals are collected."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnace.deploy.refusals import UnconvertibleError, refusals_of, refused
from pinnace.deploy.tfjs.facts import KnownOp, known_ops
from pinnace.deploy.tfjs.graph import rules as _rules  # noqa: F401 (registers the rules)
from pinnace.deploy.tfjs.graph.functions import choice, with_arguments, with_results_of_both
from pinnace.deploy.tfjs.graph.lists import ITEMS, with_own_lists
from pinnace.deploy.tfjs.graph.rewriting import Rewrite, rules
from pinnace.deploy.tfjs.graph.rules.arithmetic import NARROW
from pinnace.deploy.tfjs.graph.rules.randoms import REASON
from pinnace.engine.passes.decide import decided
from pinnace.engine.passes.fold import fold
from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType
from pinnace.framework.errors import OpError
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.graph.copying import Copy
from pinnace.graph.graph import FunctionRef, Graph, GraphBuilder, Node, Value
from pinnace.graph.walk import ordered
from pinnace.ops.array.constants import CONST

FORM = "TensorFlow.js"
# Type in TensorFlow.js -> the types that it represents.
TYPES: dict[DType, tuple[DType, ...]] = {
    dtypes.float32: (dtypes.float32, dtypes.float64, dtypes.float16, dtypes.bfloat16),
    dtypes.int32: (dtypes.int32, dtypes.int64, *NARROW),
    dtypes.bool: (dtypes.bool,),
    dtypes.string: (dtypes.string,),
    dtypes.complex64: (dtypes.complex64, dtypes.complex128),
}
THERE = {ours: there for there, several in TYPES.items() for ours in several}
# Attributes that TensorFlow.js ignores and that change no result.
_HINTS_TEXT = """
use_cudnn_on_gpu use_cudnn parallel_iterations output_shapes container shared_name N Truncate
validate_indices validate_shape swap_memory is_training exponential_avg_factor num_split num
grad_x grad_y incompatible_shape_error resize_if_index_out_of_bounds data_format out_of_range
dtype shape value use_inter_op_parallelism num_lower_diags align num_upper_diags message summarize
branches max_lookahead num_args allow_negative_indices seed seed2
"""
_HINTS = frozenset(_HINTS_TEXT.split())
# Ops on narrow integers whose results do not depend on overflow.
_PLAIN_TEXT = """
Cast Identity IdentityN Reshape Transpose Shape ShapeN Size Rank GatherV2 GatherNd Slice
StridedSlice ConcatV2 Pack Unpack Split SplitV ExpandDims Squeeze Equal NotEqual Less LessEqual
Greater GreaterEqual Maximum Minimum SelectV2 Select Pad PadV2 MirrorPad Tile Max Min BroadcastTo
ReverseV2 TopKV2 ArgMax ArgMin ResizeNearestNeighbor ResizeBilinear OneHot Fill ZerosLike OnesLike
Where If StatelessIf While StatelessWhile Const Placeholder CropAndResize SpaceToBatchND
BatchToSpaceND DepthToSpace
"""
_PLAIN = frozenset(_PLAIN_TEXT.split())
# Ops with kernels for complex numbers.
_COMPLEX_TEXT = """
Complex Real Imag ComplexAbs FFT IFFT RFFT IRFFT Add AddV2 Sub Mul Identity Reshape Const
Placeholder
"""
_COMPLEX = frozenset(_COMPLEX_TEXT.split())


@dataclass(frozen=True, slots=True)
class Lowered:
    """A program in the ops of TensorFlow.js.

    Attributes:
        graph: the program, with functions for branches and loops.
        counts: op of the program -> number of nodes.
        dtypes: "int64 -> int32" and the like -> number of tensors with that type.
        types: the types of its tensors.
    """

    graph: Graph
    counts: dict[str, int]
    dtypes: dict[str, int]
    types: frozenset[DType]


def lower(graph: Graph, inputs: Mapping[str, TensorSpec], *, may_draw: bool = False) -> Lowered:
    """Lower a graph to the ops of TensorFlow.js.

    Args:
        graph: the graph, frozen and folded.
        inputs: name -> spec, in the order of the graph's inputs.
        may_draw: whether TensorFlow.js may draw random numbers of its own.

    Raises:
        UnimplementedError: nodes have no counterpart; the message lists all of them.
    """
    state = _Lowering(may_draw)
    made = state.graph(graph, list(inputs.values()))
    if state.refused:
        raise refused(graph.name, refusals_of(state.refused), FORM)
    return Lowered(
        fold(made),
        dict(sorted(state.counts.items())),
        dict(sorted(state.casts.items())),
        frozenset(state.types),
    )


class _Lowering:
    """The state of one conversion.

    Attributes:
        refused: (op, reason) -> the nodes.
        counts: op -> number of nodes.
        casts: conversion of types -> number of tensors.
    """

    def __init__(self, may_draw: bool) -> None:
        self._may_draw = may_draw
        self._rules = rules()
        self._known = known_ops()
        self.refused: dict[tuple[str, str], list[Node]] = {}
        self.counts: Counter[str] = Counter()
        self.casts: Counter[str] = Counter()
        self.types: set[DType] = set()
        # For each graph that is being lowered, outermost first.
        self._written: list[list[Value]] = []

    def graph(self, graph: Graph, specs: Sequence[TensorSpec]) -> Graph:
        """Lower a graph; handles among its arguments become values.

        The main graph keeps its outputs; a function additionally returns the values that it writes
        into lists.
        """
        self._written.append([])
        copy = Copy(GraphBuilder(graph.name))
        given = zip(graph.inputs, graph.input_names, specs, strict=True)
        for value, name, spec in given:
            is_handle = value.dtype is dtypes.resource
            known = spec if is_handle else TensorSpec.of(value.shape, value.dtype)
            made = copy.target.add_input(value.node.op, known, name)
            copy.values[value] = made
            copy.nodes[value.node] = ()
            self._count(made)
            self._check_type(value.node, made.dtype)
        arguments = {value.node for value in graph.inputs}
        for node in ordered(graph):
            if node in arguments or node.op.traceless:
                continue
            self._node(node, copy)
        outputs = [copy.values[value] for value in graph.outputs]
        names = list(graph.output_names)
        written = self._written.pop()
        if self._written:
            # TensorFlow.js disposes values that a function computes and does not return, even if
            # a list holds them.
            kept = {*outputs, *copy.target.inputs}
            extra = [value for value in dict.fromkeys(written) if value not in kept]
            names += [f"written_{number}" for number in range(len(extra))]
            outputs += extra
        copy.target.set_outputs(outputs, names)
        return with_own_lists(copy.target.finish())

    def _node(self, node: Node, copy: Copy) -> None:
        name = node.op.name
        inputs = [copy.values[value] for value in node.inputs]
        rewrite = Rewrite(copy.target, node, inputs)
        first = len(copy.target.nodes)
        self.counts[name] += name != "Const"
        try:
            if node.op.runs in ("branch", "loop"):
                results: Sequence[Value] | Value | None = self._functional(rewrite)
            else:
                self._refuse_wrapping(node)
                found = self._rules.get(name)
                results = None if found is None else found(rewrite)
            if results is None:
                results = rewrite.same()
            self._check(copy.target.nodes[first:], node)
        except UnconvertibleError as error:
            self._refuse(node, error.message)
            results = _stand_in(copy.target, node)
        except OpError:
            if not self.refused:
                raise
            results = _stand_in(copy.target, node)  # its input is the placeholder of a refused node
        outputs = (results,) if isinstance(results, Value) else results
        for made in copy.target.nodes[first:]:
            if made.op.name in ITEMS:
                self._written[-1].append(made.inputs[ITEMS[made.op.name]])
        for here, there in zip(node.outputs, outputs, strict=False):
            copy.values[here] = there
            if there.dtype is here.dtype and there.shape.is_compatible_with(here.shape):
                there.refine(there.shape.merge_with(here.shape))
            self._count(there)
        copy.nodes[node] = ()

    def _refuse(self, node: Node, reason: str) -> None:
        nodes = self.refused.setdefault((node.op.name, reason), [])
        if node not in nodes:
            nodes.append(node)

    def _count(self, value: Value) -> None:
        there = THERE.get(value.dtype)
        self.types.add(value.dtype)
        if there is not None and there is not value.dtype:
            self.casts[f"{value.dtype.name} -> {there.name}"] += 1

    # Checks.

    def _check(self, nodes: Sequence[Node], origin: Node) -> None:
        """Refuse ops and attribute values that TensorFlow.js does not support."""
        for node in nodes:
            name = node.op.name
            known = self._known.get(name)
            if known is None or any(value.dtype is dtypes.resource for value in node.inputs):
                raise UnconvertibleError(_missing(node))
            if node.op.effect == "random" and not self._may_draw:
                raise UnconvertibleError(REASON)
            for attr in _ignored(node, known):
                raise UnconvertibleError(
                    f"{attr}={node.attrs[attr]!r} is ignored by {FORM}, which assumes "
                    f"{_default(node, attr)!r}"
                )
            for value in node.outputs:
                self._check_type(origin, value.dtype)
            if name not in _COMPLEX and any(
                value.dtype.is_complex for value in (*node.inputs, *node.outputs)
            ):
                raise UnconvertibleError(f"has complex inputs, for which {FORM} has no kernel")
            if name == "Const" and node.outputs[0].dtype is not dtypes.resource:
                _check_constant(node)

    def _check_type(self, node: Node, dtype: DType) -> None:
        if dtype not in THERE and dtype is not dtypes.variant and dtype is not dtypes.resource:
            self._refuse(node, f"returns {dtype.name}, for which {FORM} has no tensors")

    def _refuse_wrapping(self, node: Node) -> None:
        """Refuse arithmetic of narrow integers, which wraps around at the ends of their range."""
        narrow = [value for value in node.outputs if value.dtype in NARROW]
        if narrow and node.op.name not in _PLAIN:
            raise UnconvertibleError(
                f"computes with {narrow[0].dtype.name}, which {FORM} does not have and would "
                "not wrap"
            )

    # Branches and loops.

    def _functional(self, r: Rewrite) -> Sequence[Value]:
        node = r.node
        if node.op.name in ("Case", "StatelessCase"):
            return self._case(r)
        if node.op.name not in ("If", "StatelessIf", "While", "StatelessWhile"):
            raise UnconvertibleError("calls functions in an unsupported way")
        refs = {name: attr for name, attr in node.attrs.items() if isinstance(attr, FunctionRef)}
        count = len(next(iter(refs.values())).graph.inputs)
        arguments = r.inputs[len(r.inputs) - count :]
        specs = [TensorSpec.of(value.shape, value.dtype) for value in arguments]
        inner = {name: self.graph(fold(decided(ref.graph)), specs) for name, ref in refs.items()}
        if node.op.runs == "branch":
            test = r.inputs[0]
            r.needs(test.shape.rank == 0, "with a condition that is no single number")
            r.needs(test.dtype is not dtypes.string, "with a string as the condition")
            branches = [inner["then_branch"], inner["else_branch"]]
            return self._chosen(r, test, branches, arguments)
        count = len(node.outputs)
        body = inner["body"]
        results = [value.spec for value in body.outputs]
        extra = [TensorSpec.of(Shape(None), spec.dtype) for spec in results[count:]]
        starts = [r.constant(np.zeros((), spec.dtype.numpy)) for spec in extra]
        made = {
            "cond": with_arguments(inner["cond"], extra),
            "body": with_arguments(body, extra),
        }
        added = r.outputs(
            "StatelessWhile",
            *arguments,
            *starts,
            **{name: FunctionRef(graph.name, graph) for name, graph in made.items()},
            T=tuple(spec.dtype for spec in (*specs, *extra)),
        )
        return self._refined(r, added, results)

    def _refined(
        self, r: Rewrite, added: Sequence[Value], results: Sequence[TensorSpec]
    ) -> Sequence[Value]:
        """The outputs of the node; further values written into lists are recorded."""
        count = len(r.node.outputs)
        for there, spec, here in zip(added, results, r.node.outputs, strict=False):
            is_handle = here.dtype is dtypes.resource
            there.spec = TensorSpec.of(spec.shape if is_handle else here.shape, spec.dtype)
        for there in added[count:]:
            there.refine(Shape(None))
        self._written[-1] += added[count:]
        return added[:count]

    def _chosen(
        self, r: Rewrite, test: Value, branches: Sequence[Graph], arguments: Sequence[Value]
    ) -> Sequence[Value]:
        """StatelessIf with two functions of the same arguments."""
        count = len(r.node.outputs)
        then, other = with_results_of_both(branches[0], branches[1], count)
        results = [value.spec for value in then.outputs]
        added = r.outputs(
            "StatelessIf",
            test,
            *arguments,
            then_branch=FunctionRef(then.name, then),
            else_branch=FunctionRef(other.name, other),
            Tin=tuple(value.dtype for value in arguments),
            Tout=tuple(spec.dtype for spec in results),
        )
        return self._refined(r, added, results)

    def _case(self, r: Rewrite) -> Sequence[Value]:
        """Nested conditions; an index out of range chooses the last function."""
        index, arguments = r.inputs[0], r.inputs[1:]
        specs = [TensorSpec.of(value.shape, value.dtype) for value in arguments]
        count = len(r.node.outputs)
        *branches, rest = [
            self.graph(fold(decided(ref.graph)), specs) for ref in r.node.attrs["branches"]
        ]
        which = TensorSpec.of(index.shape, index.dtype)
        rest = with_arguments(rest, [which])
        for place in range(len(branches) - 1, 0, -1):
            rest = choice(place, with_arguments(branches[place], [which]), rest, count)
        given = [*arguments, index]
        if not branches:
            branches = [rest]
        else:
            branches[0] = with_arguments(branches[0], [which])
        test = r.op("Equal", index, r.constant(0, index.dtype))
        return self._chosen(r, test, [branches[0], rest], given)


def _missing(node: Node) -> str:
    """The reason why an op without a counterpart cannot be written."""
    name = node.op.name
    if "Table" in name or any(value.dtype is dtypes.resource for value in node.inputs):
        return (
            f"needs a table or another resource, which {FORM} models cannot have\n"
            "    Try: a model that takes ids; let JavaScript look them up"
        )
    if any(value.dtype is dtypes.string for value in (*node.inputs, *node.outputs)):
        return (
            f"processes strings, for which {FORM} has no op\n"
            "    Try: a model that takes ids; let JavaScript compute them"
        )
    if node.op.effect == "random" or "Random" in name:
        return f"draws random numbers in a way that {FORM} has no op for"
    if "TensorList" in name:
        return f"is an op of lists that {FORM} does not have"
    return f"{FORM} has no op for it"


def _ignored(node: Node, known: KnownOp) -> list[str]:
    """Attributes with values other than the default that TensorFlow.js ignores."""
    found = []
    for name, definition in node.op.attrs.items():
        if name in known.attrs or name in _HINTS or name.startswith("_"):
            continue
        if definition.kind in ("type", "func", "list(type)", "list(func)"):
            continue
        value = node.attrs.get(name)
        default = None if definition.required else definition.default
        if value is None or definition.required or _equal(value, default):
            continue
        found.append(name)
    return found


def _default(node: Node, name: str) -> Any:
    return node.op.attrs[name].default


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return tuple(one) == tuple(other)
    if isinstance(one, (bytes, str)) and isinstance(other, (bytes, str)):
        texts = [t.encode() if isinstance(t, str) else t for t in (one, other)]
        return texts[0] == texts[1]
    return bool(one == other)


def _check_constant(node: Node) -> None:
    array = np.asarray(node.attrs["value"])
    if array.dtype.kind not in "iu" or array.itemsize < 8 or not array.size:
        return
    limits = np.iinfo(np.int32)
    if array.min() < limits.min or array.max() > limits.max:
        raise UnconvertibleError(f"has {array.flat[int(np.argmax(np.abs(array)))]}, beyond int32")


def _stand_in(graph: GraphBuilder, node: Node) -> list[Value]:
    """Placeholders for the outputs of a refused node, so that later refusals are found too."""
    made = []
    for value in node.outputs:
        shape = value.shape if value.dtype is not dtypes.resource else Shape(None)
        attrs = {"value": np.zeros((), np.float32), "dtype": value.dtype}
        spec = TensorSpec.of(shape, value.dtype)
        made.append(graph.add_raw(CONST, (), attrs, "refused", [spec]).outputs[0])
    return made
