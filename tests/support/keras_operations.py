"""`keras.ops` on examples in one library; `test_keras_operations.py` compares the results.

python keras_operations.py LIBRARY FILE
"""

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np

RNG = np.random.default_rng(0)


def normal(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


X, Y = normal(3, 4, 5), normal(3, 4, 5)
INSIDE = (RNG.random((3, 4, 5)) * 0.8 + 0.1).astype(np.float32)
WHOLE = RNG.integers(-4, 5, (3, 4, 5)).astype(np.int32)
ODD = np.array([1, np.nan, np.inf, -np.inf], np.float32)
TRUE, OTHER = X > 0, Y > 0

PAIRS = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "true_divide",
    "divide_no_nan",
    "floor_divide",
    "mod",
    "maximum",
    "minimum",
    "logaddexp",
    "arctan2",
    "equal",
    "not_equal",
    "greater",
    "greater_equal",
    "less",
    "less_equal",
]
SINGLE = [
    "negative",
    "absolute",
    "abs",
    "sign",
    "square",
    "exp",
    "expm1",
    "floor",
    "ceil",
    "sin",
    "cos",
    "tan",
    "arctan",
    "sinh",
    "cosh",
    "tanh",
    "erf",
    "isfinite",
    "isnan",
    "isinf",
    "relu",
    "relu6",
    "sigmoid",
    "softplus",
    "softsign",
    "silu",
    "hard_sigmoid",
    "hard_silu",
    "log_sigmoid",
    "leaky_relu",
    "elu",
    "selu",
    "log_softmax",
    "zeros_like",
    "ones_like",
    "ravel",
    "copy",
    "stop_gradient",
    "convert_to_tensor",
]
POSITIVE = [
    "sqrt",
    "rsqrt",
    "reciprocal",
    "log",
    "log1p",
    "log2",
    "log10",
    "arcsin",
    "arccos",
    "erfinv",
]
CASES: dict[str, list[tuple[Any, ...]]] = {
    **{name: [(X, Y), (X, WHOLE), (WHOLE, 2), (WHOLE, 2.5), (X, 2)] for name in PAIRS},
    **{name: [(TRUE, OTHER)] for name in ("logical_and", "logical_or", "logical_xor")},
    **{name: [(X,)] for name in SINGLE},
    **{name: [(X,), (WHOLE,)] for name in ("negative", "abs", "square", "exp", "sin", "sign")},
    **{name: [(INSIDE,)] for name in POSITIVE},
    **{
        name: [(X,), (X, 1, True), (X, (0, 2)), (WHOLE, 1)]
        for name in ("sum", "prod", "mean", "var", "std", "max", "min", "amax", "amin")
    },
    **{name: [(TRUE, 1), (TRUE,)] for name in ("all", "any")},
    **{name: [(X,), (X, 1), (X, 1, True)] for name in ("argmax", "argmin")},
    "power": [(INSIDE, X), (X, 2), (WHOLE, 2)],
    "round": [(X * 100,), (X * 100, 1)],
    "clip": [(X, -0.5, 0.5), (WHOLE, -1, 2)],
    "logical_not": [(TRUE,)],
    "nan_to_num": [(ODD,), (ODD, 1.0, 2.0, 3.0)],
    "where": [(TRUE, X, Y), (TRUE, X, 0)],
    "cast": [(X, "int32")],
    "gelu": [(X,), (X, False)],
    "softmax": [(X,), (X, 1)],
    "one_hot": [(abs(WHOLE), 6)],
    "normalize": [(X,), (X, 1, 1)],
    "matmul": [(X, np.swapaxes(Y, 1, 2)), (X, normal(5)), (normal(4), X)],
    "dot": [(normal(3, 4), normal(4, 2)), (X, normal(5))],
    "tensordot": [(X, normal(5, 2), 1)],
    "outer": [(normal(3), normal(4))],
    "reshape": [(X, (-1, 10))],
    "transpose": [(X,), (X, (1, 0, 2))],
    "swapaxes": [(X, 0, 2)],
    "moveaxis": [(X, 0, -1), (X, (0, 1), (2, 0))],
    "expand_dims": [(X, 1), (X, (0, -1))],
    "squeeze": [(X[:1],), (X[:1], 0)],
    "broadcast_to": [(X[:1], (3, 4, 5))],
    "concatenate": [([X, Y], -1), ([X, WHOLE], 0)],
    "stack": [([X, Y], 1)],
    "unstack": [(X,), (X, 4, 1)],
    "split": [(X, 2, 1), (X, [1, 3], 1)],
    "repeat": [(X, 2, 1), (X, 2)],
    "tile": [(X, (2, 1, 1)), (X, 2)],
    "flip": [(X,), (X, 1)],
    "roll": [(X, 1), (X, 2, 1)],
    "pad": [(X, ((1, 0), (0, 2), (1, 1))), (X, ((1, 0), (0, 2), (1, 1)), "reflect")],
    "take": [(X, [0, -1], 1), (X, [3, -2])],
    "take_along_axis": [(X, np.argsort(X, 1), 1)],
    "slice": [(X, (0, 1, 2), (2, 2, 3))],
    "tril": [(X,), (X, 1), (X, -1)],
    "triu": [(X,), (X, 1), (X, -1)],
    "full_like": [(X, 2)],
    "get_item": [(X, (slice(None), 0, slice(1, None)))],
    "top_k": [(X, 2)],
    "sort": [(X,)],
    "argsort": [(X,)],
    "cumsum": [(X, 1), (X,)],
    "cumprod": [(X, 1)],
    "norm": [(X, None, 1), (X, 1, 1)],
    "moments": [(X, [0, 1])],
    "max_pool": [(X, 2), (X, 2, 1, "same")],
    "average_pool": [(X, 2)],
    "conv": [(X, normal(2, 5, 3))],
    "logsumexp": [(X, 1)],
    "einsum": [("abc,abc->ab", X, Y)],
    "real": [(X,)],
    "imag": [(X.astype(np.complex64) * 1j,)],
}
# A tuple of sizes, which is not converted to an array.
OTHERS = ("shape",)


def main() -> None:
    library, file = sys.argv[1:]
    ops = importlib.import_module(
        "keras.ops" if library == "tensorflow" else f"{library}.keras.ops"
    )
    found = {}
    for name, cases in CASES.items():
        for number, arguments in enumerate(cases):
            results = getattr(ops, name)(*arguments)
            several = results if isinstance(results, (list, tuple)) else [results]
            for index, value in enumerate(several):
                found[f"{name}/{number}/{index}"] = np.asarray(value)
    np.savez(Path(file), **found)  # type: ignore[arg-type]  # no option among them


if __name__ == "__main__":
    main()
