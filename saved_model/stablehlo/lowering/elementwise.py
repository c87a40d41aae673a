"""Ops that go element by element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.saved_model.stablehlo.lowering.idioms import written
from pinnace.saved_model.stablehlo.lowering.operands import Operand, alone, constant, op
from pinnace.saved_model.stablehlo.lowering.origins import node_of, number_of
from pinnace.saved_model.stablehlo.lowering.regions import neutral, start_value
from pinnace.saved_model.stablehlo.lowering.registry import Call, lowers
from pinnace.saved_model.stablehlo.lowering.sizes import bounds_of
from pinnace.saved_model.stablehlo.lowering.units import computed_without

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Tensor

# StableHLO's op -> TensorFlow's, for non-integers.
_FLOATING = {
    "atan2": "Atan2",
    "ceil": "Ceil",
    "cosine": "Cos",
    "exponential": "Exp",
    "exponential_minus_one": "Expm1",
    "floor": "Floor",
    "log": "Log",
    "log_plus_one": "Log1p",
    "logistic": "Sigmoid",
    "round_nearest_even": "Rint",
    "rsqrt": "Rsqrt",
    "sine": "Sin",
    "sqrt": "Sqrt",
    "tan": "Tan",
    "tanh": "Tanh",
}
# For numbers, and for booleans.
_NUMBERS = {
    "add": ("AddV2", "LogicalOr"),
    "subtract": ("Sub", ""),
    "multiply": ("Mul", "LogicalAnd"),
    "maximum": ("Maximum", "LogicalOr"),
    "minimum": ("Minimum", "LogicalAnd"),
}
# For integers, and for booleans.
_BITS = {
    "and": ("BitwiseAnd", "LogicalAnd"),
    "or": ("BitwiseOr", "LogicalOr"),
    "xor": ("BitwiseXor", "NotEqual"),
    "not": ("Invert", "LogicalNot"),
}
_COMPARISONS = {
    "EQ": "Equal",
    "NE": "NotEqual",
    "GE": "GreaterEqual",
    "GT": "Greater",
    "LE": "LessEqual",
    "LT": "Less",
}
# Narrow types, and the wider ones in which they are computed.
_WIDER = {
    **dict.fromkeys(
        (
            *(dtypes.float8_e4m3fn, dtypes.float8_e5m2, dtypes.float8_e4m3fnuz),
            *(dtypes.float8_e4m3b11fnuz, dtypes.float8_e5m2fnuz),
        ),
        dtypes.float32,
    ),
    **dict.fromkeys((dtypes.int4, dtypes.uint4, dtypes.int2, dtypes.uint2), dtypes.int32),
}
UNSIGNED = {8: dtypes.uint8, 16: dtypes.uint16, 32: dtypes.uint32, 64: dtypes.uint64}
SIGNED = {8: dtypes.int8, 16: dtypes.int16, 32: dtypes.int32, 64: dtypes.int64}


def bits_of(dtype: DType) -> int:
    """The number of bits of an element."""
    return 8 * np.dtype(dtype.as_numpy_dtype).itemsize


def widened(x: Tensor) -> Tensor:
    """A tensor cast to a type that supports arithmetic."""
    wider = _WIDER.get(x.dtype)
    return x if wider is None else op("Cast", x, DstT=wider)


def as_type(x: Tensor, dtype: DType) -> Tensor:
    """A tensor in another dtype, as Cast converts it."""
    return x if x.dtype is dtype else op("Cast", x, DstT=dtype)


def each(compute: Callable[..., Tensor], operands: Sequence[Operand]) -> Operand:
    """The result of an elementwise function, with NumPy's broadcasting."""
    if operands and all(number_of(one.small) is not None for one in operands):
        compute = _computed_now(compute)
    rank = max(one.rank for one in operands)
    largest = [one for one in operands if one.rank == rank]
    spread = frozenset.intersection(*(one.spread for one in largest))
    shape = [
        next((n for n in sizes if isinstance(n, int)), sizes[0])
        for sizes in zip(*(one.shape for one in largest), strict=True)
    ]
    found = computed_without(compute, operands, shape)
    if found is not None:
        return found
    return Operand(compute(*(one.small for one in operands)), shape, spread)


def _computed_now(compute: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return an elementwise function that folds known numbers to a constant."""

    def known(*numbers: Tensor) -> Tensor:
        arrays = [node.attrs["value"] for node in map(node_of, numbers) if node is not None]
        with alone():
            given = [constant(one, x.dtype) for one, x in zip(arrays, numbers, strict=True)]
            found = compute(*given)
        return constant(found.numpy(), found.dtype)

    return known


def _elementwise(call: Call, compute: Callable[..., Tensor]) -> Operand:
    dtype = call.dtype

    def narrow(*xs: Tensor) -> Tensor:
        return as_type(compute(*map(widened, xs)), dtype)

    return each(narrow, call.operands)


def _register_floating(name: str, tensorflow_op: str) -> None:
    @lowers(name, elementwise=True)
    def lower(call: Call) -> Operand:
        return _elementwise(call, lambda *xs: op(tensorflow_op, *xs))

    lower.__doc__ = f"`{tensorflow_op}`."


def _register_numbers(name: str, numbers: str, truths: str) -> None:
    @lowers(name, elementwise=True)
    def lower(call: Call) -> Operand:
        sizes = call.translation.sizes.arithmetic(name, call.operand(0), call.operand(1))
        if sizes is not None:
            return sizes
        simpler = _simpler(name, call.operand(0), call.operand(1))
        if simpler is not None:
            return simpler
        chosen = truths if call.operand(0).dtype is dtypes.bool else numbers
        return _elementwise(call, lambda x, y: written(chosen, x, y))

    lower.__doc__ = f"`{numbers}`" + (f", `{truths}` of truth values." if truths else ".")


def _simpler(name: str, x: Operand, y: Operand) -> Operand | None:
    """An op with a constant in a more specific form: a maximum with 0 is a ReLU."""
    if name not in {"maximum", "minimum", "multiply"} or not x.dtype.is_floating:
        return None
    for one, other in ((x, y), (y, x)):
        number = start_value(other)
        if number is None or not other.is_uniform or one.is_uniform or one.rank < other.rank:
            continue
        if number == neutral(name, one.dtype):
            return one
        if name == "maximum" and number == 0 and one.dtype not in _WIDER:
            return one.like(op("Relu", one.small))
    return None


def _register_bits(name: str, numbers: str, truths: str) -> None:
    @lowers(name, elementwise=True)
    def lower(call: Call) -> Operand:
        chosen = truths if call.operand(0).dtype is dtypes.bool else numbers
        return _elementwise(call, lambda *xs: op(chosen, *xs))

    lower.__doc__ = f"`{numbers}`, `{truths}` of truth values."


for _name, _one in _FLOATING.items():
    _register_floating(_name, _one)
for _name, (_one, _other) in _NUMBERS.items():
    _register_numbers(_name, _one, _other)
for _name, (_one, _other) in _BITS.items():
    _register_bits(_name, _one, _other)


@lowers("abs", elementwise=True)
def lower_abs(call: Call) -> Operand:
    """The absolute value; the smallest integer is unchanged, complex numbers give magnitudes."""

    def compute(x: Tensor) -> Tensor:
        if x.dtype.is_complex:
            return op("ComplexAbs", x, Tout=call.dtype)
        return x if x.dtype.is_unsigned else op("Abs", x)

    return _elementwise(call, compute)


@lowers("negate", elementwise=True)
def lower_negate(call: Call) -> Operand:
    """Negation, modulo 2^n for unsigned integers."""

    def compute(x: Tensor) -> Tensor:
        return op("Sub", constant(0, x.dtype), x) if x.dtype.is_unsigned else op("Neg", x)

    return _elementwise(call, compute)


@lowers("sign", elementwise=True)
def lower_sign(call: Call) -> Operand:
    """The sign; NaN and -0 are unchanged."""

    def compute(x: Tensor) -> Tensor:
        if x.dtype.is_unsigned:
            return op("Minimum", x, constant(1, x.dtype))
        if not x.dtype.is_floating:
            return op("Sign", x)
        kept = op("LogicalOr", op("IsNan", x), op("Equal", x, constant(0, x.dtype)))
        return op("SelectV2", kept, x, op("Sign", x))

    return _elementwise(call, compute)


@lowers("round_nearest_afz", elementwise=True)
def lower_round(call: Call) -> Operand:
    """Rounding; halves are rounded away from zero."""

    def compute(x: Tensor) -> Tensor:
        # The largest number below a half: 0.5 itself would round numbers just below a half up.
        kind = x.dtype.as_numpy_dtype
        half = np.nextafter(np.asarray(0.5, kind), np.asarray(0, kind))
        size = op("Floor", op("AddV2", op("Abs", x), constant(half, x.dtype)))
        return op("Mul", op("Sign", x), size)

    return _elementwise(call, compute)


@lowers("cbrt", elementwise=True)
def lower_cbrt(call: Call) -> Operand:
    """The cube root, also for negative numbers."""

    def compute(x: Tensor) -> Tensor:
        third = constant(1 / 3, x.dtype)
        root = op("Pow", op("Abs", x), third)
        return op("Mul", op("Sign", x), root)

    return _elementwise(call, compute)


@lowers("is_finite", elementwise=True)
def lower_is_finite(call: Call) -> Operand:
    """Neither infinite nor NaN."""
    return each(lambda x: op("IsFinite", widened(x)), call.operands)


@lowers("real", elementwise=True)
def lower_real(call: Call) -> Operand:
    """A complex number's real part; a real number itself."""
    return each(
        lambda x: op("Real", x, Tout=call.dtype) if x.dtype.is_complex else x, call.operands
    )


@lowers("imag", elementwise=True)
def lower_imag(call: Call) -> Operand:
    """A complex number's imaginary part; 0 for a real number."""
    return each(
        lambda x: op("Imag", x, Tout=call.dtype) if x.dtype.is_complex else op("ZerosLike", x),
        call.operands,
    )


@lowers("complex", elementwise=True)
def lower_complex(call: Call) -> Operand:
    """A complex number from its real and imaginary parts."""
    return each(lambda x, y: op("Complex", x, y, Tout=call.dtype), call.operands)


def _divisor(y: Tensor) -> tuple[Tensor, Tensor]:
    """A mask of the zeros of a divisor, and the divisor with 1 in their place."""
    zero = op("Equal", y, constant(0, y.dtype))
    return zero, op("SelectV2", zero, constant(1, y.dtype), y)


@lowers("divide", elementwise=True)
def lower_divide(call: Call) -> Operand:
    """Division: integers are truncated; division by zero gives all ones, as in XLA."""
    sizes = call.translation.sizes.arithmetic("divide", call.operand(0), call.operand(1))
    if sizes is not None:
        return sizes

    def compute(x: Tensor, y: Tensor) -> Tensor:
        if not x.dtype.is_integer:
            return written("RealDiv", x, y)
        zero, safe = _divisor(y)
        if not x.dtype.is_unsigned:
            # The smallest integer divided by -1 is itself, since its negation overflows.
            lone = op("Equal", y, constant(-1, y.dtype))
            negated = op("SelectV2", lone, op("Neg", x), x)
            safe = op("SelectV2", lone, constant(1, y.dtype), safe)
            quotient = op("TruncateDiv", negated, safe)
            return op("SelectV2", zero, constant(-1, x.dtype), quotient)
        return op("SelectV2", zero, constant(x.dtype.max, x.dtype), op("TruncateDiv", x, safe))

    return _elementwise(call, compute)


@lowers("remainder", elementwise=True)
def lower_remainder(call: Call) -> Operand:
    """The remainder, with the dividend's sign; the dividend itself for a divisor of zero."""
    sizes = call.translation.sizes.arithmetic("remainder", call.operand(0), call.operand(1))
    if sizes is not None:
        return sizes

    def compute(x: Tensor, y: Tensor) -> Tensor:
        if not x.dtype.is_integer:
            return op("TruncateMod", x, y)
        zero, safe = _divisor(y)
        if x.dtype.is_unsigned:
            rest = op("Sub", x, op("Mul", op("TruncateDiv", x, safe), safe))
            return op("SelectV2", zero, x, rest)
        lone = op("Equal", y, constant(-1, y.dtype))
        safe = op("SelectV2", lone, constant(1, y.dtype), safe)
        return op("SelectV2", zero, x, op("TruncateMod", x, safe))

    return _elementwise(call, compute)


@lowers("power", elementwise=True)
def lower_power(call: Call) -> Operand:
    """A power: integers to a negative power are 0, except for bases 1 and -1."""

    def compute(x: Tensor, y: Tensor) -> Tensor:
        if not x.dtype.is_integer or x.dtype.is_unsigned:
            return op("Pow", x, y)
        zero, one = constant(0, x.dtype), constant(1, x.dtype)
        negative = op("Less", y, zero)
        unit = op("Equal", op("Abs", x), one)
        # (-1)^y for y < 0 is (-1)^-y.
        size = op("SelectV2", op("LogicalAnd", negative, unit), op("Neg", y), y)
        power = op("Pow", x, op("Maximum", size, zero))
        gone = op("LogicalAnd", negative, op("LogicalNot", unit))
        return op("SelectV2", gone, zero, power)

    return _elementwise(call, compute)


def _shift(call: Call, tensorflow_op: str, *, arithmetic: bool) -> Operand:
    def compute(x: Tensor, y: Tensor) -> Tensor:
        width = bits_of(x.dtype)
        plain = UNSIGNED[width] if not arithmetic else SIGNED[width]
        bits = x if x.dtype is plain else op("Bitcast", x, type=plain)
        amount = y if y.dtype is UNSIGNED[width] else op("Bitcast", y, type=UNSIGNED[width])
        beyond = op("GreaterEqual", amount, constant(width, amount.dtype))
        last = constant(width - 1 if arithmetic else 0, amount.dtype)
        amount = op("SelectV2", beyond, last, amount)
        amount = amount if amount.dtype is plain else op("Bitcast", amount, type=plain)
        shifted = op(tensorflow_op, bits, amount)
        if not arithmetic:
            shifted = op("SelectV2", beyond, constant(0, plain), shifted)
        return shifted if plain is x.dtype else op("Bitcast", shifted, type=x.dtype)

    return _elementwise(call, compute)


@lowers("shift_left", elementwise=True)
def lower_shift_left(call: Call) -> Operand:
    """A left shift; 0 if the shift count is at least the number of bits."""
    return _shift(call, "LeftShift", arithmetic=False)


@lowers("shift_right_logical", elementwise=True)
def lower_shift_right_logical(call: Call) -> Operand:
    """A right shift that fills with zeros."""
    return _shift(call, "RightShift", arithmetic=False)


@lowers("shift_right_arithmetic", elementwise=True)
def lower_shift_right_arithmetic(call: Call) -> Operand:
    """A right shift that fills with the sign bit."""
    return _shift(call, "RightShift", arithmetic=True)


def _population(bits: Tensor, dtype: DType) -> Tensor:
    return as_type(op("PopulationCount", bits), dtype)


def _unsigned(x: Tensor) -> Tensor:
    return x if x.dtype.is_unsigned else op("Bitcast", x, type=UNSIGNED[bits_of(x.dtype)])


@lowers("popcnt", elementwise=True)
def lower_popcnt(call: Call) -> Operand:
    """The number of set bits."""
    return _elementwise(call, lambda x: _population(_unsigned(x), x.dtype))


@lowers("count_leading_zeros", elementwise=True)
def lower_count_leading_zeros(call: Call) -> Operand:
    """The number of leading zeros: bits still 0 after the highest 1 has filled all below it."""

    def compute(x: Tensor) -> Tensor:
        bits = _unsigned(x)
        step = 1
        while step < bits_of(x.dtype):
            bits = op("BitwiseOr", bits, op("RightShift", bits, constant(step, bits.dtype)))
            step *= 2
        return _population(op("Invert", bits), x.dtype)

    return _elementwise(call, compute)


@lowers("select", elementwise=True)
def lower_select(call: Call) -> Operand:
    """The second operand where the first is true, else the third."""
    chosen, x, y = (call.operand(index) for index in range(3))
    known = start_value(chosen)
    if known is not None and chosen.is_uniform:
        return x if known else y
    return each(lambda *xs: written("SelectV2", *xs), (chosen, x, y))


@lowers("clamp", elementwise=True)
def lower_clamp(call: Call) -> Operand:
    """A tensor clamped to bounds, of which the upper one takes precedence."""
    low, x, high = (call.operand(index) for index in range(3))
    upper = call.translation.sizes.arithmetic("maximum", x, low)
    sizes = None if upper is None else call.translation.sizes.arithmetic("minimum", upper, high)
    if sizes is not None:
        return sizes
    return _elementwise(call, lambda a, b, c: op("Minimum", op("Maximum", b, a), c))


def ordered_bits(x: Tensor) -> Tensor:
    """Floating-point numbers as integers with the same order, -NaN < -0 < 0 < NaN."""
    kind = SIGNED[bits_of(x.dtype)]
    bits = op("Bitcast", x, type=kind)
    turned = op("BitwiseXor", op("Invert", bits), constant(kind.min, kind))
    return op("SelectV2", op("Less", bits, constant(0, kind)), turned, bits)


def _decided(direction: str, x: Operand, y: Operand) -> bool | None:
    """The result of comparing two sizes if their bounds determine it, else None."""
    if x.known is None or y.known is None or x.rank or y.rank:
        return None
    here, there = bounds_of(x.known.item()), bounds_of(y.known.item())
    if here is None or there is None:
        return None
    if here[1] < there[0]:
        return direction in {"Less", "LessEqual", "NotEqual"}
    if here[0] > there[1]:
        return direction in {"Greater", "GreaterEqual", "NotEqual"}
    if here[1] <= there[0] and direction in {"LessEqual", "Greater"}:
        return direction == "LessEqual"
    if here[0] >= there[1] and direction in {"GreaterEqual", "Less"}:
        return direction == "GreaterEqual"
    return None


@lowers("compare", elementwise=True)
def lower_compare(call: Call) -> Operand:
    """A comparison; a total order includes NaN and -0."""
    direction = _COMPARISONS[call.operation.text("comparison_direction")]
    total = call.operation.text("compare_type") == "TOTALORDER"
    decided = _decided(direction, call.operand(0), call.operand(1))
    if decided is not None:
        return Operand(constant(decided, dtypes.bool), ())

    def compute(x: Tensor, y: Tensor) -> Tensor:
        x, y = widened(x), widened(y)
        if x.dtype is dtypes.bool and direction not in {"Equal", "NotEqual"}:
            x, y = op("Cast", x, DstT=dtypes.int32), op("Cast", y, DstT=dtypes.int32)
        if total and x.dtype.is_floating:
            x, y = ordered_bits(x), ordered_bits(y)
        return op(direction, x, y)

    return each(compute, call.operands)


@lowers("convert", elementwise=True)
def lower_convert(call: Call) -> Operand:
    """Conversion; integers saturate, and NaN becomes 0."""
    x, dtype = call.operand(0), call.dtype
    if x.known is not None and dtype in {dtypes.int32, dtypes.int64}:
        return Operand.of_sizes(x.known, dtype)
    return each(lambda one: converted(one, dtype), [x])


def converted(x: Tensor, dtype: DType) -> Tensor:
    """A tensor converted to another dtype."""
    if x.dtype is dtype:
        return x
    if dtype is dtypes.bool:
        x = widened(x)
        return op("NotEqual", x, constant(0, x.dtype))
    if x.dtype.is_complex and not dtype.is_complex:
        x = op("Real", x, Tout=dtypes.float64 if x.dtype is dtypes.complex128 else dtypes.float32)
    if not x.dtype.is_floating or not dtype.is_integer:
        return as_type(x, dtype)
    wide = as_type(x, dtypes.float32) if bits_of(x.dtype) < 32 else x
    # Bounds representable in the floating-point type: 2^31 is, 2^31 - 1 is not.
    above = op("GreaterEqual", wide, constant(float(dtype.max) + 1.0, wide.dtype))
    below = op("LessEqual", wide, constant(float(dtype.min), wide.dtype))
    strange = op("LogicalOr", op("LogicalOr", above, below), op("IsNan", wide))
    safe = as_type(op("SelectV2", strange, constant(0, wide.dtype), wide), dtype)
    found = op("SelectV2", above, constant(dtype.max, dtype), safe)
    return op("SelectV2", below, constant(dtype.min, dtype), found)


@lowers("reduce_precision", elementwise=True)
def lower_reduce_precision(call: Call) -> Operand:
    """Numbers rounded to fewer bits, as in a narrower floating-point type."""
    exponent = call.operation.integer("exponent_bits")
    mantissa = call.operation.integer("mantissa_bits")
    if not exponent >= 1 or not mantissa >= 0:
        call.refuse(f"it must have exponent bits, got {exponent} and {mantissa} of the mantissa")

    def compute(x: Tensor) -> Tensor:
        if x.dtype is dtypes.float32:
            return _rounded(x, exponent, mantissa)
        if x.dtype in {dtypes.bfloat16, dtypes.float16}:
            return as_type(_rounded(as_type(x, dtypes.float32), exponent, mantissa), x.dtype)
        return call.refuse(f"it is not translated for {x.dtype.name}")

    return _elementwise(call, compute)


def _rounded(x: Tensor, exponent: int, mantissa: int) -> Tensor:
    def word(value: int) -> Tensor:
        return constant(value & 0xFFFFFFFF, dtypes.uint32)

    bits: Any = op("Bitcast", x, type=dtypes.uint32)
    if mantissa < 23:
        dropped = 23 - mantissa
        odd = op("BitwiseAnd", op("RightShift", bits, word(dropped)), word(1))
        lifted = op("AddV2", op("AddV2", bits, word((1 << (dropped - 1)) - 1)), odd)
        bits = op("BitwiseAnd", lifted, word(-1 << dropped))
    if exponent < 8:
        sign = op("BitwiseAnd", bits, word(1 << 31))
        power = op("BitwiseAnd", op("RightShift", bits, word(23)), word(255))
        bias = (1 << (exponent - 1)) - 1
        large = op("Greater", power, word(127 + bias))
        small = op("Less", power, word(128 - bias))
        bits = op("SelectV2", large, op("BitwiseOr", sign, word(255 << 23)), bits)
        bits = op("SelectV2", small, sign, bits)
    rounded = op("Bitcast", bits, type=dtypes.float32)
    return op("SelectV2", op("IsNan", x), x, rounded)


@lowers("bitcast_convert")
def lower_bitcast_convert(call: Call) -> Tensor | Operand:
    """The same bits in another type, possibly with an axis more or less."""
    x, dtype = call.operand(0), call.dtype
    if x.dtype is dtype:
        return x
    if bits_of(x.dtype) == bits_of(dtype):
        return x.like(op("Bitcast", x.small, type=dtype))
    return op("Bitcast", x.full, type=dtype)


@lowers("optimization_barrier")
def lower_optimization_barrier(call: Call) -> Sequence[Operand]:
    """Returns the operands unchanged."""
    return call.operands
