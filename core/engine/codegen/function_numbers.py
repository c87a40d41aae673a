"""The functions of the system that generated kernels call by a number."""

from __future__ import annotations

UNARY = (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "floor", "log",
    "log1p", "rint", "sin", "sinh", "tan", "trunc",
)  # fmt: skip
BINARY = ("atan2", "fmod", "pow")
