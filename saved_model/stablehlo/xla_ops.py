"""TensorFlow's ops `Xla*`, which JAX wrote before 2024, translated as StableHLO's ops.

Each is an op of StableHLO whose integers are constant inputs, whose axes are messages of XLA, and
whose regions are functions of the graph. It is converted to that form, and translated as the same
op of a module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, cast

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError, OpError, UnimplementedError
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor
from pinnace.functions.control.branches import trace_branch
from pinnace.graph.codec.dtypes import decode_dtype
from pinnace.graph.codec.opaque import XLA_CALL
from pinnace.ops.execute import execute
from pinnace.ops.functional.calls import PARTITIONED_CALL, STATEFUL_PARTITIONED_CALL
from pinnace.ops.registry import lookup
from pinnace.saved_model.stablehlo.lowering.operands import Operand, alone, constant, op
from pinnace.saved_model.stablehlo.lowering.registry import LOWERINGS, Call, lowers
from pinnace.saved_model.stablehlo.lowering.translation import Translation
from pinnace.saved_model.stablehlo.module import Block, Module, Operation, Value
from pinnace.saved_model.stablehlo.types import TensorType
from pinnace.saved_model.stablehlo.xla_call import decode_xla_call

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array
    from pinnace.graph.codec.functions import FunctionLibrary
    from pinnace.graph.graph import FunctionRef, Node
    from pinnace.graph.graph import Value as GraphValue
    from pinnace.ops.opdef import OpDef
    from pinnace.proto.attr_value_pb2 import AttrValue

    Results: TypeAlias = "Sequence[Tensor]"

_MOST_NODES = 1 << 12
# TensorFlow ops in functions -> StableHLO's, by which regions are recognised.
_SAME = {
    "AddV2": "add",
    "Add": "add",
    "Sub": "subtract",
    "Mul": "multiply",
    "Maximum": "maximum",
    "Minimum": "minimum",
    "LogicalAnd": "and",
    "LogicalOr": "or",
}
_COMPARED = {
    "Less": "LT",
    "LessEqual": "LE",
    "Greater": "GT",
    "GreaterEqual": "GE",
    "Equal": "EQ",
    "NotEqual": "NE",
}
# By number of `tf.random.Algorithm`.
_ALGORITHMS = {1: "PHILOX", 2: "THREE_FRY"}
# Messages of XLA: field number -> the attribute of StableHLO's op, and whether it is a list.
_DOT = {
    1: ("lhs_contracting_dimensions", True),
    2: ("rhs_contracting_dimensions", True),
    3: ("lhs_batching_dimensions", True),
    4: ("rhs_batching_dimensions", True),
}
_GATHER = {
    1: ("offset_dims", True),
    2: ("collapsed_slice_dims", True),
    3: ("start_index_map", True),
    4: ("index_vector_dim", False),
    5: ("operand_batching_dims", True),
    6: ("start_indices_batching_dims", True),
}
_SCATTER = {
    1: ("update_window_dims", True),
    2: ("inserted_window_dims", True),
    3: ("scatter_dims_to_operand_dims", True),
    4: ("index_vector_dim", False),
    5: ("input_batching_dims", True),
    6: ("scatter_indices_batching_dims", True),
}
_CONVOLUTION = {
    3: ("kernel_input_feature_dimension", False),
    4: ("kernel_output_feature_dimension", False),
    6: ("kernel_spatial_dimensions", True),
    7: ("input_batch_dimension", False),
    8: ("input_feature_dimension", False),
    9: ("output_batch_dimension", False),
    10: ("output_feature_dimension", False),
    11: ("input_spatial_dimensions", True),
    12: ("output_spatial_dimensions", True),
}


def decode_xla(
    name: str,
    attr: Mapping[str, AttrValue],
    inputs: Sequence[GraphValue],
    library: FunctionLibrary,
    where: str,
) -> tuple[OpDef, dict[str, Any], tuple[tuple[str, int], ...]]:
    """Return the op that calls an `Xla*` node's translation, its attributes and outputs' names.

    Args:
        name: the node's op.
        attr: the node's attributes.
        inputs: the node's inputs.
        library: the functions that it may call.
        where: the node, for errors.

    Raises:
        InvalidArgumentError: an attribute or input is invalid for the op.
        UnimplementedError: the op has no translation.
    """
    if name == XLA_CALL:
        return decode_xla_call(attr, library, where)
    node = _XlaNode(name, attr, inputs, library, where)
    names, lower = _OPS[name]
    specs = [TensorSpec(value.spec.shape, value.dtype) for value in inputs]
    try:
        with alone():
            body = trace_branch(lambda *xs: tuple(lower(node, xs)), "xla_op", specs)
    except RecursionError:
        raise InvalidArgumentError(f"{where} ({name}): its functions nest too deeply") from None
    except OpError as error:
        raise type(error)(f"{where} ({name}): {error.message}") from error
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise InvalidArgumentError(f"{where} ({name}): {error}") from error
    if body.captured:
        raise InvalidArgumentError(f"{where} ({name}): it captures values from outside")
    kind = STATEFUL_PARTITIONED_CALL if body.stateful else PARTITIONED_CALL
    given = tuple(value.dtype for value in body.outputs)
    attrs = kind.full_attrs(
        {"f": body.ref, "Tin": tuple(spec.dtype for spec in specs), "Tout": given}
    )
    if len(names) == 1:
        return kind, attrs, ((names[0], len(given)),)
    return kind, attrs, tuple((one, 1) for one in names)


class _XlaNode:
    """A node, with access to its constant inputs and attributes."""

    def __init__(
        self,
        name: str,
        attr: Mapping[str, AttrValue],
        inputs: Sequence[GraphValue],
        library: FunctionLibrary,
        where: str,
    ) -> None:
        self.name = name
        self.attr = attr
        self._inputs = inputs
        self._library = library
        self._where = where

    def refuse(self, why: str) -> NoReturn:
        """Raise the error for a node without a translation."""
        raise UnimplementedError(why)

    def array(self, index: int) -> Array:
        """A constant input as an array."""
        if index >= len(self._inputs):
            raise InvalidArgumentError("it lacks inputs")
        node = self._inputs[index].node
        while node.op.name == "Identity":
            node = node.inputs[0].node
        if node.op.name != "Const":
            self.refuse(f"input {index} must be a constant")
        found: Array = np.asarray(node.attrs["value"])
        return found

    def numbers(self, index: int) -> tuple[int, ...]:
        """A constant input as a list of integers."""
        return tuple(int(number) for number in self.array(index).ravel())

    def integer(self, name: str, default: int = 0) -> int:
        """An attribute that is an integer."""
        return int(self.attr[name].i) if name in self.attr else default

    def dtype(self, name: str) -> DType:
        """An attribute that is a dtype."""
        return decode_dtype(self.attr[name].type, f"{self._where}, attribute {name!r}")

    def axes(self, fields: Mapping[int, tuple[str, bool]]) -> dict[str, Any]:
        """The attribute `dimension_numbers`, a message, as attributes of StableHLO."""
        return _message(self.attr["dimension_numbers"].s, fields)

    def function(self, name: str) -> FunctionRef:
        """An attribute that is a function."""
        if name not in self.attr or not self.attr[name].func.name:
            raise InvalidArgumentError(f"it has no function {name!r}")
        return self._library.ref(self.attr[name].func.name, self._where)

    def lowered(
        self,
        operation: str,
        xs: Sequence[Tensor],
        attributes: dict[str, Any],
        functions: Sequence[str] = (),
        results: Sequence[TensorType] | None = None,
    ) -> list[Tensor]:
        """Return the results of an op of StableHLO.

        Args:
            operation: its name.
            xs: its operands.
            attributes: its attributes.
            functions: the attributes with the functions that are its regions.
            results: the types of its results; by default the dtype of the first operand.
        """
        for x in xs:
            if x.shape.rank is None:
                self.refuse("an input of unknown rank is not translated")
        kinds = results or [TensorType((), _element(xs[0].dtype))]
        blocks = tuple(_block(self.function(one)) for one in functions)
        operands = [Operand.of(x) for x in xs]
        made = Operation(
            operation,
            tuple(Value(TensorType((), _element(x.dtype))) for x in xs),
            tuple(Value(kind) for kind in kinds),
            attributes,
            {},
            blocks,
        )
        translation = Translation(Module("", {}))
        found = LOWERINGS[operation](Call(translation, made, operands))
        values = [found] if not isinstance(found, (list, tuple)) else list(found)
        return [one.full if isinstance(one, Operand) else cast("Tensor", one) for one in values]


def _element(dtype: DType) -> str:
    """StableHLO's name of a dtype, including those that only these ops have."""
    name = dtype.name
    if dtype.is_complex:
        return "complex<f32>" if dtype is dtypes.complex64 else "complex<f64>"
    for ours, theirs in (("bfloat", "bf"), ("float", "f"), ("uint", "ui"), ("int", "i")):
        if name.startswith(ours) and name.removeprefix(ours).isdecimal():
            return theirs + name.removeprefix(ours)
    if dtype is dtypes.bool:
        return "i1"
    raise UnimplementedError(f"it is not translated for {name}")


def _message(data: bytes, fields: Mapping[int, tuple[str, bool]]) -> dict[str, Any]:
    """The integers of a message by the names of their fields; omitted ones are 0 or empty."""
    found: dict[str, list[int]] = {name: [] for name, _ in fields.values()}
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        field, kind = key >> 3, key & 7
        if kind == 0:
            number, place = _varint(data, place)
            numbers = [number]
        elif kind == 2:
            size, place = _varint(data, place)
            end, numbers = place + size, []
            if end > len(data):
                raise InvalidArgumentError("dimension_numbers is damaged")
            while place < end and field in fields:
                number, place = _varint(data, place)
                numbers.append(number)
            place = end
        else:
            raise InvalidArgumentError("dimension_numbers is damaged")
        if field in fields:
            found[fields[field][0]].extend(numbers)
    lists = dict(fields.values())
    return {
        name: tuple(numbers) if lists[name] else (numbers or [0])[-1]
        for name, numbers in found.items()
    }


def _varint(data: bytes, place: int) -> tuple[int, int]:
    number = 0
    for shift in range(0, 70, 7):
        if place >= len(data):
            break
        byte = data[place]
        place += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, place
    raise InvalidArgumentError("dimension_numbers is damaged")


# Functions as regions.


def _block(ref: FunctionRef) -> Block:
    """A function of scalars as a region, with its nodes as elementwise ops."""
    graph = ref.graph
    if len(graph.nodes) > _MOST_NODES:
        raise UnimplementedError(f"function {ref.name!r} has more than {_MOST_NODES} nodes")
    values: dict[GraphValue, Value] = {}
    arguments = []
    for given in graph.inputs:
        values[given] = Value(TensorType((), _element(given.dtype)))
        arguments.append(values[given])
    operations = []
    for node in graph.nodes:
        if node.op.name in {"Placeholder", "NoOp"}:
            continue
        if node.op.name in {"Identity", "StopGradient"}:
            values[node.outputs[0]] = values[node.inputs[0]]
            continue
        operations.append(_operation(node, values))
    returned = tuple(values[value] for value in graph.outputs)
    operations.append(Operation("return", returned, (), {}, {}, ()))
    return Block(tuple(arguments), tuple(operations))


def _operation(node: Node, values: dict[GraphValue, Value]) -> Operation:
    name = node.op.name
    operands = tuple(values[value] for value in node.inputs)
    results = []
    for value in node.outputs:
        values[value] = Value(TensorType((), _element(value.dtype)))
        results.append(values[value])
    attributes: dict[str, Any] = {"node": node}
    kind = "tensorflow node"
    if (name in _SAME and not any(value.dtype is dtypes.bool for value in node.inputs)) or name in {
        "LogicalAnd",
        "LogicalOr",
    }:
        kind, attributes = _SAME[name], {}
    elif name in _COMPARED:
        kind = "compare"
        attributes = {"comparison_direction": _COMPARED[name], "compare_type": "NOTYPE"}
    elif not (name == "Const" or node.op.elementwise or node.op.fuse or _is_call(node)):
        raise UnimplementedError(
            f"in a function that is run on each element, {name} is not translated"
        )
    return Operation(kind, operands, tuple(results), attributes, {}, ())


def _is_call(node: Node) -> bool:
    """Whether it calls a function of elementwise ops only."""
    if node.op.runs != "call":
        return False
    _block(node.attrs["f"])
    return True


@lowers("tensorflow node", elementwise=True)
def lower_node(call: Call) -> Sequence[Operand]:
    """A node of a function of scalars, applied to arrays of one shape."""
    node: Any = call.operation.attributes["node"]
    if node.op.runs == "call":
        return call.translation.block(_block(node.attrs["f"]), call.operands)
    if node.op.name == "Const":
        array = np.asarray(node.attrs["value"])
        return [Operand.of(constant(array, node.outputs[0].dtype))]
    found = _outputs(node.op.name, *(one.full for one in call.operands), **_own(node))
    shape = call.operands[0].shape
    return [
        Operand(one, shape) if len(one.shape) == len(shape) else Operand.of(one) for one in found
    ]


def _outputs(name: str, *arguments: Any, **attrs: Any) -> Sequence[Tensor]:
    """The outputs of a new node with that op, however many."""
    found: Any = execute(lookup(name), *arguments, **attrs)
    return [found] if isinstance(found, Tensor) else list(found or ())


def _own(node: Node) -> dict[str, Any]:
    """The attributes that are not deduced from the inputs."""
    return {name: value for name, value in node.attrs.items() if name in node.op.attrs}


# The ops.


def _dot(node: _XlaNode, xs: Sequence[Tensor]) -> Results:
    kind = xs[0].dtype
    if node.name == "XlaDotV2":
        kind = node.dtype("preferred_element_type")
    return node.lowered(
        "dot_general", xs, node.axes(_DOT), results=[TensorType((), _element(kind))]
    )


def _convolution(node: _XlaNode, xs: Sequence[Tensor]) -> Results:
    kind = xs[0].dtype
    if node.name == "XlaConvV2":
        kind = node.dtype("preferred_element_type")
    axes = node.axes(_CONVOLUTION)
    attributes = {
        **axes,
        "window_strides": node.numbers(2),
        "padding": node.numbers(3),
        "lhs_dilation": node.numbers(4),
        "rhs_dilation": node.numbers(5),
        "window_reversal": (),
        "feature_group_count": node.numbers(6)[0],
        "batch_group_count": node.integer("batch_group_count", 1),
    }
    return node.lowered("convolution", xs[:2], attributes, results=[TensorType((), _element(kind))])


def _gather(node: _XlaNode, xs: Sequence[Tensor]) -> Results:
    attributes = {**node.axes(_GATHER), "slice_sizes": node.numbers(2)}
    return node.lowered("gather", xs[:2], attributes)


def _scatter(node: _XlaNode, xs: Sequence[Tensor]) -> Results:
    attributes = {**node.axes(_SCATTER), "unique_indices": False}
    return node.lowered("scatter", xs, attributes, ["update_computation"])


def _pad(node: _XlaNode, xs: Sequence[Tensor]) -> Results:
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    attributes = {name: node.numbers(index) for index, name in enumerate(names, 2)}
    return node.lowered("pad", xs[:2], attributes)


def _reduce(node: _XlaNode, xs: Sequence[Tensor]) -> Results:
    axes = tuple(int(axis) for axis in node.attr["dimensions_to_reduce"].list.i)
    return node.lowered("reduce", xs, {"dimensions": axes}, ["reducer"])


def _reduce_window(node: _XlaNode, xs: Sequence[Tensor]) -> Results:
    names = ("window_dimensions", "window_strides", "base_dilations", "window_dilations", "padding")
    attributes = {name: node.numbers(index) for index, name in enumerate(names, 2)}
    return node.lowered("reduce_window", xs[:2], attributes, ["computation"])


def _select_and_scatter(node: _XlaNode, xs: Sequence[Tensor]) -> Results:
    names = ("window_dimensions", "window_strides", "padding")
    attributes = {name: node.numbers(index) for index, name in enumerate(names, 1)}
    given = [xs[0], xs[4], xs[5]]
    return node.lowered("select_and_scatter", given, attributes, ["select", "scatter"])


def _sort(node: _XlaNode, xs: Sequence[Tensor]) -> Results:
    """Sort along the last axis, by the first tensor in ascending order."""
    if not len(xs[0].shape):
        node.refuse("a scalar is not sorted")
    left, right = (Value(TensorType((), _element(xs[0].dtype))) for _ in range(2))
    others = [Value(TensorType((), _element(x.dtype))) for x in xs[1:] for _ in range(2)]
    less = Value(TensorType((), "i1"))
    words: dict[str, Any] = {"comparison_direction": "LT", "compare_type": "TOTALORDER"}
    block = Block(
        (left, right, *others),
        (
            Operation("compare", (left, right), (less,), words, {}, ()),
            Operation("return", (less,), (), {}, {}, ()),
        ),
    )
    kinds = tuple(Value(TensorType((), _element(x.dtype))) for x in xs)
    attributes: dict[str, Any] = {"dimension": len(xs[0].shape) - 1}
    made = Operation("sort", kinds, kinds, attributes, {}, (block,))
    call = Call(Translation(Module("", {})), made, [Operand.of(x) for x in xs])
    return [one.full for one in LOWERINGS["sort"](call)]  # type: ignore[union-attr]


def _variadic_sort(node: _XlaNode, xs: Sequence[Tensor]) -> Results:
    given = xs[:-1]
    axis = node.numbers(len(given))[0]
    rank = len(given[0].shape)
    attributes = {"dimension": axis + rank if axis < 0 else axis}
    return node.lowered("sort", given, attributes, ["comparator"])


def _einsum(node: _XlaNode, xs: Sequence[Tensor]) -> Results:
    return [op("Einsum", list(xs), equation=node.attr["equation"].s.decode())]


def _broadcast_helper(node: _XlaNode, xs: Sequence[Tensor]) -> Results:
    """Give the operand of lower rank axes of size 1 where it has none of the other's axes."""
    left, right = xs[0], xs[1]
    axes = node.numbers(2)
    low, high = sorted((left, right), key=lambda x: len(x.shape))
    if len(low.shape) == len(high.shape) or not axes:
        return [left, right]
    if (
        len(axes) != len(low.shape)
        or list(axes) != sorted(set(axes))
        or axes[-1] >= len(high.shape)
    ):
        raise InvalidArgumentError(f"broadcast_dims {list(axes)} are not axes of the other operand")
    for axis in range(len(high.shape)):
        if axis not in axes:
            low = op("ExpandDims", low, axis)
    return [low, right] if len(left.shape) < len(right.shape) else [left, low]


def _same(node: _XlaNode, xs: Sequence[Tensor]) -> Results:
    del node
    return [op("Identity", x) for x in xs]


def _reduce_precision(node: _XlaNode, xs: Sequence[Tensor]) -> Results:
    names = ("exponent_bits", "mantissa_bits")
    return node.lowered("reduce_precision", xs, {name: node.integer(name) for name in names})


def _random_bits(node: _XlaNode, xs: Sequence[Tensor]) -> Results:
    algorithm = _ALGORITHMS.get(int(node.array(0).ravel()[0]))
    if algorithm is None:
        node.refuse("its algorithm is unknown")
    kind = node.dtype("dtype")
    results = [
        TensorType((), _element(xs[1].dtype)),
        TensorType(node.numbers(2), _element(kind)),
    ]
    return node.lowered("rng_bit_generator", xs[1:2], {"rng_algorithm": algorithm}, results=results)


def _eigenvalues(node: _XlaNode, xs: Sequence[Tensor]) -> Results:
    x = xs[0]
    if not node.attr["lower"].b:
        order = [*range(len(x.shape) - 2), len(x.shape) - 1, len(x.shape) - 2]
        x = op("Transpose", x, order)
    return _outputs("SelfAdjointEigV2", x, compute_v=True)


def _singular_values(node: _XlaNode, xs: Sequence[Tensor]) -> Results:
    del node
    return _outputs("Svd", xs[0], compute_uv=True, full_matrices=False)


def _if(node: _XlaNode, xs: Sequence[Tensor]) -> Results:
    branches = {one: node.function(one) for one in ("then_branch", "else_branch")}
    given = tuple(value.dtype for value in branches["then_branch"].graph.outputs)
    return _outputs("If", xs[0], list(xs[1:]), Tout=given, output_shapes=(), **branches)


def _while(node: _XlaNode, xs: Sequence[Tensor]) -> Results:
    functions = {one: node.function(one) for one in ("cond", "body")}
    return _outputs("While", list(xs), output_shapes=(), **functions)


_OPS: dict[str, tuple[tuple[str, ...], Callable[[_XlaNode, Sequence[Tensor]], Results]]] = {
    **dict.fromkeys(("XlaDot", "XlaDotV2"), (("output",), _dot)),
    **dict.fromkeys(("XlaConv", "XlaConvV2"), (("output",), _convolution)),
    "XlaGather": (("output",), _gather),
    "XlaScatter": (("output",), _scatter),
    "XlaPad": (("output",), _pad),
    **dict.fromkeys(("XlaReduce", "XlaVariadicReduce"), (("output",), _reduce)),
    "XlaVariadicReduceV2": (("outputs",), _reduce),
    "XlaReduceWindow": (("output",), _reduce_window),
    "XlaSelectAndScatter": (("output",), _select_and_scatter),
    "XlaSort": (("output",), _sort),
    "XlaKeyValueSort": (("sorted_keys", "sorted_values"), _sort),
    "XlaVariadicSort": (("outputs",), _variadic_sort),
    "XlaEinsum": (("product",), _einsum),
    "XlaBroadcastHelper": (("lhs_output", "rhs_output"), _broadcast_helper),
    **dict.fromkeys(
        ("XlaSharding", "XlaOptimizationBarrier", "XlaSpmdFullToShardShape"), (("output",), _same)
    ),
    "XlaReducePrecision": (("output",), _reduce_precision),
    "XlaRngBitGenerator": (("output_key", "output"), _random_bits),
    "XlaSelfAdjointEig": (("w", "v"), _eigenvalues),
    "XlaSvd": (("s", "u", "v"), _singular_values),
    "XlaIf": (("output",), _if),
    "XlaWhile": (("output",), _while),
}
