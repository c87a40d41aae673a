"""StableHLO operators, by the same translation as StableHLO modules.

LiteRT's interpreter runs only a few of them; TFLiteConverter writes others as well if asked to.
Their options are named after the op's attributes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.deploy.lite.ir.model import Subgraph
from pinnace.deploy.lite.reading.quantised import is_quantised
from pinnace.deploy.lite.reading.registry import Call, reads
from pinnace.functions.control.conditional import switch_case
from pinnace.proto.lite_schema import LITE
from pinnace.saved_model.stablehlo.attributes import Constant
from pinnace.saved_model.stablehlo.lowering.translation import Translation
from pinnace.saved_model.stablehlo.module import Block, Module, Operation, Value
from pinnace.saved_model.stablehlo.types import TensorType, element_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.deploy.lite.ir import model as lite
    from pinnace.framework import dtypes
    from pinnace.framework.tensor import Tensor

_PREFIX = "STABLEHLO_"
# Ops that move elements without computing with them.
_MOVES = """
    BROADCAST_IN_DIM CONCATENATE DYNAMIC_SLICE DYNAMIC_UPDATE_SLICE GATHER PAD RESHAPE SCATTER
    SELECT SLICE TRANSPOSE
"""
_COMPUTES = """
    ABS ADD AND CBRT CLAMP COMPARE CONVERT CONVOLUTION COSINE DIVIDE DOT_GENERAL EXPONENTIAL FLOOR
    IOTA LOG LOGISTIC MAXIMUM MINIMUM MULTIPLY NEGATE OR POWER REDUCE REDUCE_WINDOW REMAINDER
    RNG_BIT_GENERATOR RSQRT SHIFT_LEFT SORT SUBTRACT TANH
"""
# LiteRT's own operators that occur in the regions of StableHLO ops.
_IN_REGIONS = {
    "ADD": "add",
    "LOGICAL_AND": "and",
    "LOGICAL_OR": "or",
    "MAXIMUM": "maximum",
    "MINIMUM": "minimum",
    "MUL": "multiply",
}
# REDUCE_WINDOW's functions.
_JOINED = {
    "ADD": "add",
    "ALL": "and",
    "ANY": "or",
    "MAXIMUM": "maximum",
    "MINIMUM": "minimum",
    "MUL": "multiply",
}
# Ops whose result shapes are taken from the file; others follow from the operands.
_OF_FIXED_SIZES = frozenset({"broadcast_in_dim", "iota", "reshape", "rng_bit_generator"})
# Options with enum values -> the attribute's name, and StableHLO's words for the values.
_WORDS: dict[str, tuple[str, str, dict[str, str]]] = {
    "algorithm": ("rng_algorithm", "RngAlgorithm", {"THREEFRY": "THREE_FRY"}),
    "comparison_direction": ("comparison_direction", "StablehloComparisonDirection", {}),
    "compare_type": (
        "compare_type",
        "StablehloComparisonType",
        {"FLOAT_TOTAL_ORDER": "TOTALORDER"},
    ),
}


def _names(text: str) -> list[str]:
    return [f"{_PREFIX}{name}" for name in text.split()]


@reads(*_names(_MOVES), moves=True)
def moved(call: Call) -> Sequence[Tensor]:
    """The results of the StableHLO op of that name."""
    return _translated(call)


@reads(*_names(_COMPUTES))
def computed(call: Call) -> Sequence[Tensor]:
    """The results of the StableHLO op of that name."""
    for tensor in (*call.operator.inputs, *call.operator.outputs):
        if tensor is not None and is_quantised(tensor.dtype, tensor.quantization):
            call.fail("its tensors have TensorFlow Lite's quantisation, which StableHLO ops lack")
    return _translated(call)


@reads("REDUCE_WINDOW")
def windows(call: Call) -> Sequence[Tensor]:
    """A reduction over windows without padding."""
    functions = LITE.enums["ReduceWindowFunction"]
    number = call.options["reduce_function"]
    kind = next((kind for name, kind in _JOINED.items() if functions[name] == number), None)
    if kind is None:
        call.fail(f"its function has the unknown number {number}")
    scalar = _value(call.source(0).dtype, ())
    first, second, result = (Value(scalar.type) for _ in range(3))
    block = Block(
        (first, second),
        (
            Operation(kind, (first, second), (result,), {}, {}, ()),
            Operation("return", (result,), (), {}, {}, ()),
        ),
    )
    rank = call.rank(0)
    sizes, strides, dilations = (tuple(map(int, call.fixed(index))) for index in (2, 3, 4))
    attributes: dict[str, Any] = {
        "window_dimensions": sizes,
        "window_strides": strides,
        "base_dilations": (1,) * rank,
        "window_dilations": dilations,
        "padding": (0,) * (2 * rank),
    }
    return _run("reduce_window", attributes, (block,), [call.stored(0), call.stored(1)], [scalar])


@reads("STABLEHLO_CASE")
def case(call: Call) -> Sequence[Any]:
    """The results of one of several subgraphs; an index out of range chooses the last one."""
    branches: Sequence[lite.Subgraph] = call.options["branch_subgraph_indices"]
    if not branches:
        call.damaged("it must have at least one branch")
    given = [call.stored(index) for index in range(1, call.count)]
    run = call.translation.run
    found = switch_case(call.stored(0), [lambda one=one: run(one, given) for one in branches])
    return list(found) if isinstance(found, (list, tuple)) else [found]


def _translated(call: Call) -> Sequence[Tensor]:
    name = call.kind.removeprefix(_PREFIX).lower()
    attributes, regions = _fields(call, call.options)
    results = []
    for tensor in call.operator.outputs:
        sizes = tuple(tensor.shape)
        if name not in _OF_FIXED_SIZES:
            sizes = (None,) * len(sizes)
        results.append(_value(tensor.dtype, sizes))
    given = [call.stored(index) for index in range(call.count)]
    return _run(name, attributes, regions, given, results)


def _run(
    name: str,
    attributes: dict[str, Any],
    regions: tuple[Block, ...],
    given: Sequence[Tensor],
    results: Sequence[Value],
) -> Sequence[Tensor]:
    """The results of a function that consists of this op."""
    arguments = tuple(_value(x.dtype, tuple(x.shape)) for x in given)
    operation = Operation(name, arguments, tuple(results), attributes, {}, regions)
    end = Operation("return", tuple(results), (), {}, {}, ())
    block = Block(arguments, (operation, end))
    return Translation(Module("a .tflite file", {})).tensors(block, given)


def _value(dtype: dtypes.DType, shape: tuple[int | None, ...]) -> Value:
    return Value(TensorType(shape, element_of(dtype)))


def _fields(call: Call, options: dict[str, Any]) -> tuple[dict[str, Any], tuple[Block, ...]]:
    """The attributes of an op, and its regions in order."""
    attributes: dict[str, Any] = {}
    regions = []
    for field, value in options.items():
        if isinstance(value, Subgraph):
            regions.append(_block(call, value))
        elif field in _WORDS:
            name, enum, words = _WORDS[field]
            attributes[name] = _word(call, enum, words, value)
        elif isinstance(value, (bool, int, str)):
            attributes[field] = value
        else:
            attributes[field] = tuple(int(n) for n in value)
    for field in ("indices_are_sorted", "is_stable", "unique_indices"):
        if field in attributes:
            attributes[field] = bool(attributes[field])
    return attributes, tuple(regions)


def _word(call: Call, enum: str, words: dict[str, str], number: int) -> str:
    names = {one: name for name, one in LITE.enums[enum].items()}
    if number not in names:
        call.damaged(f"{number} is no {enum}")
    short = names[number].split("_DIRECTION_")[-1].split("_TYPE_")[-1]
    return words.get(short, short)


def _block(call: Call, subgraph: lite.Subgraph) -> Block:
    """A subgraph as a region."""
    values: dict[int, Value] = {}
    operations = []

    def value(tensor: lite.Tensor) -> Value:
        if id(tensor) not in values:
            made = values[id(tensor)] = _value(tensor.dtype, tuple(tensor.shape))
            if tensor.data is not None:
                kept: dict[str, Any] = {"value": Constant(made.tensor, np.asarray(tensor.data))}
                operations.append(Operation("constant", (), (made,), kept, {}, ()))
        return values[id(tensor)]

    arguments = tuple(value(tensor) for tensor in subgraph.inputs)
    known = set(values)
    for operator in subgraph.operators:
        name = _IN_REGIONS.get(operator.kind)
        if operator.kind.startswith(_PREFIX):
            name = operator.kind.removeprefix(_PREFIX).lower()
        if name is None:
            call.fail(f"{operator.kind} in its region is not supported")
        for tensor in operator.inputs:
            if tensor is None or (id(tensor) not in known and tensor.data is None):
                call.damaged(f"{operator.kind} in its region lacks an input")
        # LiteRT's own operators here are binary, and their options, activations, do not apply.
        options = operator.options if operator.kind.startswith(_PREFIX) else {}
        attributes, regions = _fields(call, options)
        given = tuple(value(tensor) for tensor in operator.inputs if tensor is not None)
        made = tuple(value(tensor) for tensor in operator.outputs)
        known.update(id(tensor) for tensor in operator.outputs)
        operations.append(Operation(name, given, made, attributes, {}, regions))
    returned = tuple(value(tensor) for tensor in subgraph.outputs)
    return Block(arguments, (*operations, Operation("return", returned, (), {}, {}, ())))
