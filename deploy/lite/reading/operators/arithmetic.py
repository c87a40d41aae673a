"""Elementwise arithmetic, comparisons, logic, activations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.deploy.lite.reading.registry import Call, clipped, like, op, reads
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

# Operators that equal an op of TensorFlow.
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
    """An op with one operand."""
    return op(_OF_ONE[call.kind], call.x())


@reads(*_OF_TWO)
def of_two(call: Call) -> Tensor:
    """An op with two operands, and the fused activation."""
    return call.activated(op(_OF_TWO[call.kind], call.x(0), call.x(1)))


@reads("DIV")
def divided(call: Call) -> Tensor:
    """Division; integers are rounded towards zero, as in C."""
    x, y = call.x(0), call.x(1)
    return call.activated(op("RealDiv" if x.dtype.is_floating else "TruncateDiv", x, y))


@reads("ADD_N")
def add_n(call: Call) -> Tensor:
    """The sum of all inputs."""
    return op("AddN", call.xs())


@reads("RELU_N1_TO_1")
def relu_n1_to_1(call: Call) -> Tensor:
    """x, clipped to [-1, 1]."""
    return clipped(call.x(), -1.0, 1.0)


@reads("RELU_0_TO_1")
def relu_0_to_1(call: Call) -> Tensor:
    """x, clipped to [0, 1]."""
    return clipped(call.x(), 0.0, 1.0)


@reads("HARD_SWISH")
def hard_swish(call: Call) -> Tensor:
    """x · relu6(x + 3) / 6."""
    x = call.x()
    inner = op("Relu6", op("AddV2", x, like(3.0, x)))
    return op("RealDiv", op("Mul", x, inner), like(6.0, x))


@reads("LEAKY_RELU")
def leaky_relu(call: Call) -> Tensor:
    """x, or alpha · x below 0."""
    return op("LeakyRelu", call.x(), alpha=float(call.options["alpha"]))


@reads("PRELU")
def prelu(call: Call) -> Tensor:
    """x, or alpha · x below 0, with alpha broadcast."""
    x, slope = call.x(0), call.x(1)
    below = op("Relu", op("Neg", x))
    return op("Sub", op("Relu", x), op("Mul", slope, below))


@reads("GELU")
def gelu(call: Call) -> Tensor:
    """GELU with erf, or its approximation with tanh."""
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
    """The softmax of beta · x."""
    x = call.x()
    beta = float(call.options["beta"])
    return op("Softmax", x if beta == 1.0 else op("Mul", x, like(beta, x)))


@reads("CAST")
def cast(call: Call) -> Tensor:
    """A cast of the stored elements, even if they are quantised."""
    return op("Cast", call.stored(0), DstT=call.dtype())


@reads("BITCAST")
def bitcast(call: Call) -> Tensor:
    """The same bits in another type."""
    return op("Bitcast", call.stored(0), type=call.dtype())


@reads("BUCKETIZE")
def bucketize(call: Call) -> Tensor:
    """The index of the bucket of each element."""
    boundaries = [float(n) for n in call.options["boundaries"]]
    return op("Bucketize", call.x(), boundaries=boundaries)


@reads("RANDOM_UNIFORM", "RANDOM_STANDARD_NORMAL")
def random_numbers(call: Call) -> Tensor:
    """Random numbers of the same distribution as LiteRT's, but other values."""
    name = "RandomUniform" if call.kind == "RANDOM_UNIFORM" else "RandomStandardNormal"
    return op(name, call.stored(0), dtype=dtypes.float32, **_seeds(call))


@reads("MULTINOMIAL")
def multinomial(call: Call) -> Tensor:
    """Random numbers of the same distribution as LiteRT's, but other values."""
    return op("Multinomial", call.x(0), call.stored(1), output_dtype=call.dtype(), **_seeds(call))


def _seeds(call: Call) -> dict[str, int]:
    return {name: int(call.options[name]) for name in ("seed", "seed2")}
