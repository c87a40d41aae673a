"""Element by element: arithmetic, comparisons, truth values, activations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.deploy.lite.reading.registry import Call, clipped, like, op, reads
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

# Operators that are an op of TensorFlow as they are.
_OF_ONE = {
    "ABS": "Abs",
    "NEG": "Neg",
    "EXP": "Exp",
    "LOG": "Log",
    "SQRT": "Sqrt",
    "RSQRT": "Rsqrt",
    "SIN": "Sin",
    "COS": "Cos",
    "FLOOR": "Floor",
    "CEIL": "Ceil",
    "ROUND": "Round",
    "SQUARE": "Square",
    "SIGN": "Sign",
    "TANH": "Tanh",
    "LOGISTIC": "Sigmoid",
    "RELU": "Relu",
    "RELU6": "Relu6",
    "ELU": "Elu",
    "LOGICAL_NOT": "LogicalNot",
    "ZEROS_LIKE": "ZerosLike",
    "LOG_SOFTMAX": "LogSoftmax",
}
_OF_TWO = {
    "ADD": "AddV2",
    "SUB": "Sub",
    "MUL": "Mul",
    "FLOOR_DIV": "FloorDiv",
    "FLOOR_MOD": "FloorMod",
    "POW": "Pow",
    "MAXIMUM": "Maximum",
    "MINIMUM": "Minimum",
    "SQUARED_DIFFERENCE": "SquaredDifference",
    "ATAN2": "Atan2",
    "EQUAL": "Equal",
    "NOT_EQUAL": "NotEqual",
    "LESS": "Less",
    "LESS_EQUAL": "LessEqual",
    "GREATER": "Greater",
    "GREATER_EQUAL": "GreaterEqual",
    "LOGICAL_AND": "LogicalAnd",
    "LOGICAL_OR": "LogicalOr",
    "BITWISE_XOR": "BitwiseXor",
    "RIGHT_SHIFT": "RightShift",
}


@reads(*_OF_ONE)
def of_one(call: Call) -> Tensor:
    """An op of one tensor."""
    return op(_OF_ONE[call.kind], call.x())


@reads(*_OF_TWO)
def of_two(call: Call) -> Tensor:
    """An op of two tensors, and the activation that is fused to it."""
    return call.activated(op(_OF_TWO[call.kind], call.x(0), call.x(1)))


@reads("DIV")
def divided(call: Call) -> Tensor:
    """Whole numbers are divided as in C: towards zero."""
    x, y = call.x(0), call.x(1)
    return call.activated(op("RealDiv" if x.dtype.is_floating else "TruncateDiv", x, y))


@reads("ADD_N")
def add_n(call: Call) -> Tensor:
    """The sum of all."""
    return op("AddN", call.xs())


@reads("RELU_N1_TO_1")
def relu_n1_to_1(call: Call) -> Tensor:
    """Between -1 and 1."""
    return clipped(call.x(), -1.0, 1.0)


@reads("RELU_0_TO_1")
def relu_0_to_1(call: Call) -> Tensor:
    """Between 0 and 1."""
    return clipped(call.x(), 0.0, 1.0)


@reads("HARD_SWISH")
def hard_swish(call: Call) -> Tensor:
    """x · relu6(x + 3) / 6."""
    x = call.x()
    inner = op("Relu6", op("AddV2", x, like(3.0, x)))
    return op("RealDiv", op("Mul", x, inner), like(6.0, x))


@reads("LEAKY_RELU")
def leaky_relu(call: Call) -> Tensor:
    """With its slope below zero."""
    return op("LeakyRelu", call.x(), alpha=float(call.options["alpha"]))


@reads("PRELU")
def prelu(call: Call) -> Tensor:
    """With slopes that are broadcast."""
    x, slope = call.x(0), call.x(1)
    below = op("Relu", op("Neg", x))
    return op("Sub", op("Relu", x), op("Mul", slope, below))


@reads("GELU")
def gelu(call: Call) -> Tensor:
    """By the error function, or near it by tanh."""
    x = call.x()
    if call.options["approximate"]:
        cube = op("Mul", op("Mul", x, x), x)
        inner = op("AddV2", x, op("Mul", cube, like(0.044715, x)))
        gate = op("Tanh", op("Mul", inner, like(0.7978845608028654, x)))
    else:
        gate = op("Erf", op("Mul", x, like(0.7071067811865476, x)))
    return op("Mul", op("Mul", x, like(0.5, x)), op("AddV2", gate, like(1.0, x)))


@reads("SOFTMAX")
def softmax(call: Call) -> Tensor:
    """Of beta · x."""
    x = call.x()
    beta = float(call.options["beta"])
    return op("Softmax", x if beta == 1.0 else op("Mul", x, like(beta, x)))


@reads("CAST")
def cast(call: Call) -> Tensor:
    """The numbers as they stand, also where they stand for others."""
    return op("Cast", call.stored(0), DstT=call.dtype())


@reads("BITCAST")
def bitcast(call: Call) -> Tensor:
    """The bits as they are."""
    return op("Bitcast", call.stored(0), type=call.dtype())


@reads("BUCKETIZE")
def bucketize(call: Call) -> Tensor:
    """Between which of the boundaries each number is."""
    boundaries = [float(n) for n in call.options["boundaries"]]
    return op("Bucketize", call.x(), boundaries=boundaries)


@reads("RANDOM_UNIFORM", "RANDOM_STANDARD_NORMAL")
def random_numbers(call: Call) -> Tensor:
    """Other numbers than LiteRT draws, of the same distribution."""
    name = "RandomUniform" if call.kind == "RANDOM_UNIFORM" else "RandomStandardNormal"
    return op(name, call.stored(0), dtype=dtypes.float32, **_seeds(call))


@reads("MULTINOMIAL")
def multinomial(call: Call) -> Tensor:
    """Other numbers than LiteRT draws, of the same distribution."""
    return op("Multinomial", call.x(0), call.stored(1), output_dtype=call.dtype(), **_seeds(call))


def _seeds(call: Call) -> dict[str, int]:
    return {name: int(call.options[name]) for name in ("seed", "seed2")}
