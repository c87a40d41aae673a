"""Elementwise arithmetic."""

import numpy as np

from pinnace.deploy.tfjs.graph.rewriting import Rewrite, rule
from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType
from pinnace.graph.graph import Value

# Integers whose values int32 can represent, but whose arithmetic overflows earlier.
NARROW = (dtypes.int8, dtypes.uint8, dtypes.int16, dtypes.uint16)
_WHOLE = (dtypes.int32, dtypes.int64, *NARROW)


@rule("Rint")
def rint(r: Rewrite) -> Value:
    """Round: both round halves to even."""
    return r.op("Round", r.inputs[0])


@rule("Inv")
def inv(r: Rewrite) -> Value:
    """Reciprocal, the op's present name."""
    return r.op("Reciprocal", r.inputs[0])


@rule("LogicalXor")
def logical_xor(r: Rewrite) -> Value:
    """x != y for bools."""
    return r.op("NotEqual", *r.inputs)


@rule("ApproximateEqual")
def approximate_equal(r: Rewrite) -> Value:
    """abs(x - y) < tolerance."""
    x, y = r.inputs
    limit = r.constant(r.attr("tolerance"), x.dtype)
    return r.op("Less", r.op("Abs", r.op("Sub", x, y)), limit)


@rule("Erfc")
def erfc(r: Rewrite) -> Value:
    """1 - erf(x)."""
    x = r.inputs[0]
    return r.op("Sub", r.constant(1, x.dtype), r.op("Erf", x))


@rule("Softsign")
def softsign(r: Rewrite) -> Value:
    """x / (1 + abs(x))."""
    x = r.inputs[0]
    return r.op("RealDiv", x, r.op("AddV2", r.constant(1, x.dtype), r.op("Abs", x)))


@rule("Xdivy")
def xdivy(r: Rewrite) -> Value:
    """x / y, and 0 where x is 0."""
    return _unless_zero(r, r.inputs[0], r.op("RealDiv", *r.inputs))


@rule("Xlogy")
def xlogy(r: Rewrite) -> Value:
    """x log(y), and 0 where x is 0."""
    x, y = r.inputs
    return _unless_zero(r, x, r.op("Mul", x, r.op("Log", y)))


@rule("Xlog1py")
def xlog1py(r: Rewrite) -> Value:
    """x log(1 + y), and 0 where x is 0."""
    x, y = r.inputs
    return _unless_zero(r, x, r.op("Mul", x, r.op("Log1p", y)))


@rule("MulNoNan")
def mul_no_nan(r: Rewrite) -> Value:
    """x y, and 0 where y is 0."""
    return _unless_zero(r, r.inputs[1], r.op("Mul", *r.inputs))


def _unless_zero(r: Rewrite, x: Value, result: Value) -> Value:
    zero = r.constant(0, x.dtype)
    return r.op("SelectV2", r.op("Equal", x, zero), zero, result)


@rule("L2Loss")
def l2_loss(r: Rewrite) -> Value:
    """Half the sum of the squares."""
    x = r.inputs[0]
    r.needs(x.shape.rank is not None, "of a tensor with an unknown number of axes")
    total = r.op("Sum", r.op("Square", x), r.constant(range(x.shape.rank or 0), np.int32))
    return r.op("Mul", total, r.constant(0.5, x.dtype))


@rule("EuclideanNorm")
def euclidean_norm(r: Rewrite) -> Value:
    """The square root of the sum of squares."""
    x, axes = r.inputs
    keep = bool(r.attr("keep_dims"))
    return r.op("Sqrt", r.op("Sum", r.op("Square", x), axes, keep_dims=keep))


@rule("RealDiv", "Div")
def division(r: Rewrite) -> Value | None:
    """Integers are divided towards zero here, as TensorFlow.js rounds down."""
    if r.inputs[0].dtype not in _WHOLE:
        return None
    return _truncated(r, *r.inputs)


@rule("TruncateDiv")
def truncate_div(r: Rewrite) -> Value:
    """The quotient rounded towards zero, by its magnitude and sign."""
    r.needs(r.inputs[0].dtype in _WHOLE, "of numbers that are not whole")
    return _truncated(r, *r.inputs)


@rule("Mod", "TruncateMod")
def truncate_mod(r: Rewrite) -> Value:
    """The remainder of the division towards zero."""
    a, b = r.inputs
    r.needs(a.dtype in _WHOLE, "of numbers that are not whole, with the sign of the first")
    return r.op("Sub", a, r.op("Mul", b, _truncated(r, a, b)))


def _truncated(r: Rewrite, a: Value, b: Value) -> Value:
    size = r.op("FloorDiv", r.op("Abs", a), r.op("Abs", b))
    return r.op("Mul", size, r.op("Mul", r.op("Sign", a), r.op("Sign", b)))


@rule("Mean")
def mean(r: Rewrite) -> None:
    """Refuse integers, for which TensorFlow.js returns fractions."""
    r.needs(r.inputs[0].dtype.is_floating, "of whole numbers, which TensorFlow rounds")


@rule("Cumsum", "Cumprod")
def running(r: Rewrite) -> tuple[Value, ...] | None:
    """A non-negative axis, since TensorFlow.js infers no shape for a negative one."""
    x, axis = r.inputs
    known = r.known(1)
    if known is not None and known >= 0:
        return None
    rank = r.op("Rank", x) if x.shape.rank is None else r.constant(x.shape.rank, np.int32)
    if axis.dtype is not dtypes.int32:
        axis = r.op("Cast", axis, DstT=dtypes.int32)
    turned = r.op("AddV2", axis, rank)
    if known is None:
        turned = r.op("SelectV2", r.op("Less", axis, r.constant(0, np.int32)), turned, axis)
    elif x.shape.rank is not None:
        turned = r.constant(int(known) + x.shape.rank, np.int32)
    return r.same(x, turned, Tidx=dtypes.int32)


@rule("ClipByValue")
def clip_by_value(r: Rewrite) -> Value | None:
    """Two scalar limits in float32, which the WebAssembly kernel requires."""
    x, low, high = r.inputs
    if low.shape.rank == high.shape.rank == 0 and x.dtype.is_floating:
        return None
    return r.op("Minimum", r.op("Maximum", x, low), high)


@rule("Cast")
def cast(r: Rewrite) -> Value | None:
    """A cast; narrow integers have no type of their own."""
    x = r.inputs[0]
    source, target = x.dtype, r.attr("DstT")
    if target.is_complex and not source.is_complex:
        part = dtypes.float32 if target is dtypes.complex64 else dtypes.float64
        real = x if source is part else r.op("Cast", x, DstT=part)
        return r.op("Complex", real, r.op("ZerosLike", real), Tout=target)
    if target in NARROW:
        r.needs(
            source is dtypes.bool or _holds(target, source),
            f"to {target.name}, which TensorFlow.js does not have and would not wrap",
        )
    r.needs(
        source is not dtypes.complex64 and source is not dtypes.complex128,
        "has complex operands",
    )
    if target is dtypes.bool and source not in (dtypes.bool, dtypes.string):
        # In WebAssembly the cast truncates to 8 bits, so that 0.5 and 256 would be false.
        return r.op("NotEqual", x, r.constant(0, source))
    return None


def _holds(target: DType, source: DType) -> bool:
    if source not in NARROW:
        return False
    one, other = np.iinfo(target.numpy), np.iinfo(source.numpy)
    return bool(one.min <= other.min and one.max >= other.max)


@rule("Equal", "NotEqual")
def comparison(r: Rewrite) -> None:
    """Refuse strings, which only one backend compares correctly."""
    r.needs(
        r.inputs[0].dtype is not dtypes.string,
        "compares strings, which is wrong in the WebAssembly backend of TensorFlow.js",
    )


@rule("Complex")
def complex_number(r: Rewrite) -> None:
    """Refuse parts whose shapes may differ."""
    one, other = (x.shape for x in r.inputs)
    r.needs(one.rank is not None and one == other, "its parts may be broadcast")


@rule("DenseBincount")
def bincount(r: Rewrite) -> None:
    """Refuse `binary_output`, which TensorFlow.js ignores."""
    r.needs(not r.attr("binary_output"), "with binary_output, which gives other numbers there")


@rule("StaticRegexReplace")
def replacing(r: Rewrite) -> None:
    """Refuse regular expressions that JavaScript may interpret differently."""
    pattern, rewrite = (
        text.decode(errors="replace") if isinstance(text, bytes) else text
        for text in (r.attr("pattern"), r.attr("rewrite"))
    )
    plain = not any(sign in pattern for sign in ("[[:", "(?", "\\", "$", "^", ".", "\n"))
    r.needs(plain and "\\" not in rewrite and "$" not in rewrite, f"with {pattern!r}")
