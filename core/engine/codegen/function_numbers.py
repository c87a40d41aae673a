"""The functions of the system that generated kernels call by a number."""

from __future__ import annotations

UNARY = (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "erfc", "exp",
    "expm1", "floor", "log", "log1p", "rint", "sin", "sinh", "tan", "tanh", "trunc",
)  # fmt: skip
BINARY = ("atan2", "copysign", "fmod", "pow")
# Elementwise steps on integers and booleans, and comparisons of floats; and their dtypes.
WHOLE = (
    "move", "add", "subtract", "multiply", "minimum", "maximum", "floor_divide", "floor_modulo",
    "equal", "not_equal", "less", "less_equal", "and", "or", "not",
)  # fmt: skip
WHOLE_DTYPES = ("bool", "int32", "int64", "float32")
