"""More of `keras.ops` and `keras.random` on examples in one library: see `keras_operations`.

python keras_operations_more.py LIBRARY FILE
"""

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np

RNG = np.random.default_rng(7)


def normal(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


X, Y = normal(3, 4, 5), normal(3, 4, 5)
WHOLE, OTHER = (RNG.integers(-4, 5, (3, 4, 5)).astype(np.int32) for _ in range(2))
POSITIVE = (RNG.random((3, 4, 5)) * 2 + 0.1).astype(np.float32)
INSIDE = (RNG.random((3, 4, 5)) * 1.8 - 0.9).astype(np.float32)
SMALL = RNG.integers(0, 7, (3, 4, 5)).astype(np.uint8)
BYTES = RNG.integers(-9, 9, (4, 8)).astype(np.int8)
LONG = WHOLE.astype(np.int64)
HALF = X.astype(np.float16)
WIDE = X.astype(np.float64)
TRUE = X > 0
ODD = np.array([1, np.nan, np.inf, -np.inf, -0.0, 0, -2.5], np.float32)
HOLES = np.where(RNG.random((3, 4, 5)) < 0.3, np.float32(np.nan), X)
HOLES[0, 0] = np.nan
COMPLEX = (X + 1j * Y).astype(np.complex64)
SQUARE = normal(2, 4, 4)
DEFINITE = (SQUARE @ SQUARE.swapaxes(1, 2) + 4 * np.eye(4)).astype(np.float32)
FACTOR = np.linalg.cholesky(DEFINITE).astype(np.float32)
PICTURES, ROWS = normal(2, 6, 7, 4), normal(2, 9, 4)
IDS = np.array([0, 2, 1, 2, 0], np.int32)
WORDS = np.array([3, 1, 3, 2, 1, 9], np.int32)
SLICES = np.array([[2, 1], [1, 5], [2, 1], [1, 2]], np.int32)
LOGITS = normal(2, 6, 5)

SINGLE = ["angle", "arcsinh", "deg2rad", "rad2deg", "exp2", "fabs", "i0", "sinc", "trunc", "cbrt"]
KINDS = [X, WHOLE, HALF, WIDE, LONG, SMALL]
PAIRS = ["fmax", "fmin", "hypot", "logaddexp2", "heaviside", "isclose", "allclose"]
BITS = ["bitwise_and", "bitwise_or", "bitwise_xor"]
ACTIVATIONS = [
    *("celu", "hard_shrink", "hard_swish", "hard_tanh", "soft_shrink", "sparse_plus"),
    *("sparse_sigmoid", "squareplus", "swish", "tanh_shrink"),
]
NANS = [
    *("nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin"),
    "nanmedian",
]
CASES: dict[str, list[tuple[Any, ...]]] = {
    **{name: [(x,) for x in KINDS] for name in SINGLE if name not in {"sinc", "exp2"}},
    **{name: [(x,) for x in (X, WHOLE, HALF, WIDE, LONG)] for name in ("sinc", "exp2")},
    "arccosh": [(POSITIVE + 1,), (abs(WHOLE) + 1,)],
    "arctanh": [(INSIDE,), (INSIDE.astype(np.float16),)],
    "erfc": [(X,), (WIDE,), (HALF,)],
    "conj": [(COMPLEX,), (X,)],
    "conjugate": [(COMPLEX,)],
    "isneginf": [(ODD,), (WHOLE,)],
    "isposinf": [(ODD,), (WHOLE,)],
    "isreal": [(COMPLEX,), (X,), (WHOLE,)],
    "signbit": [(ODD,), (WHOLE,), (HALF,), (TRUE,)],
    "saturate_cast": [(X * 300, "uint8"), (X * 300, "int8"), (X * 1e6, "float16"), (X, "bool")],
    "view_as_complex": [(normal(3, 2),), (normal(3, 2).astype(np.float64),)],
    "view_as_real": [(COMPLEX,)],
    "polar": [(POSITIVE, X)],
    **{name: [(X, Y), (X, WHOLE), (WHOLE, 2), (HALF, Y), (WIDE, X)] for name in PAIRS},
    "fmod": [(X, Y), (X, WHOLE * 1.5), (WHOLE, 3), (SMALL, SMALL + 1), (TRUE, TRUE | True)],
    "gcd": [(WHOLE, OTHER), (WHOLE * 6, 4), (SMALL, SMALL[::-1])],
    "lcm": [(WHOLE, OTHER), (WHOLE * 6, 4), (SMALL, SMALL[::-1])],
    "ldexp": [(X, WHOLE), (HALF, WHOLE)],
    "nextafter": [(X, Y), (WIDE, Y)],
    **{name: [(WHOLE, OTHER), (SMALL, 3), (WHOLE, LONG)] for name in BITS},
    "bitwise_invert": [(WHOLE,), (SMALL,)],
    "bitwise_not": [(WHOLE,)],
    **{
        name: [(WHOLE, 2), (abs(WHOLE), np.full((5,), 3, np.int32))]
        for name in (*("bitwise_left_shift", "bitwise_right_shift", "left_shift", "right_shift"),)
    },
    "view": [(X, "int32"), (BYTES, "int32"), (WIDE, "int32"), (X,)],
    "zeros": [((2, 3),), ((2, 3), "int32")],
    "ones": [((2, 3),), ((), "bool")],
    "empty_like": [(X * 0,), (WHOLE * 0, "float32")],
    "full": [((2, 3), 4), ((2, 3), [1, 2, 3], "int32")],
    "array": [([1, 2],), ([1.5], "float16"), (X,)],
    "arange": [(5,), (1, 7, 2), (0.5, 3.0), (1, 5, 0.5), (5, 0, -2)],
    "linspace": [
        *((0, 1, 5), (0, 10, 5, False), (X[0], Y[0], 4, True, False, None, 1)),
        *((0, 10, 4, True, False, "int32"), (2.0, 3.0, 1), (0.0, 1.0, 5, True, True)),
    ],
    "logspace": [(0, 2, 5), (0, 3, 4, True, 2), (0.0, 1.0, 3, False)],
    "geomspace": [(1, 100, 5), (-2.0, -32.0, 4, False)],
    "meshgrid": [(X[0, 0], Y[0, 0]), (X[0, 0], X[0, :, 0], Y[0, 0])],
    "eye": [(3,), (3, 4), (3, 4, 1), (4, 3, -2, "int32")],
    "identity": [(3,), (2, "int32")],
    "tri": [(3,), (3, 4, 1), (4, 3, -1, "int32")],
    "vander": [(X[0, 0],), (WHOLE[0, 0], 3, True)],
    **{name: [(1,), (2,), (7,), (8,)] for name in ("bartlett", "blackman", "hamming", "hanning")},
    "kaiser": [(7, 5.0), (8, 0.5)],
    "append": [(X, Y), (X, WHOLE, 1)],
    "array_split": [(X, 3, 2), (X, 2)],
    "vsplit": [(X, 3), (X, [1])],
    "hsplit": [(X, 2), (X[0, 0], 5), (X, [1, 3])],
    "dsplit": [(X, 5), (X, [2, 3])],
    "vstack": [([X, Y],), ([X, WHOLE],), ([X[0, 0], Y[0, 0]],)],
    "hstack": [([X, Y],), ([X[0, 0], WHOLE[0, 0]],)],
    "dstack": [([X, Y],), ([X[0, 0], Y[0, 0]],), ([X[0], WHOLE[0]],)],
    "fliplr": [(X,)],
    "flipud": [(WHOLE,)],
    "rot90": [(X,), (SQUARE[0], 2), (X, -1, (1, 2)), (X, 4), (X, 3, (2, 0))],
    "diag": [(X[0, 0],), (X[0, 0], -1), (X[0],), (X[0], 2)],
    "diagflat": [(X[0, :2], 1)],
    "diagonal": [(X,), (X, 1, 1, 2), (X, -1, 2, 0)],
    "trace": [(X,), (X, 1, 1, 2), (SMALL[0],), (TRUE[0],)],
    "rearrange": [(X, "a b c -> c (a b)"), (X, "a b c -> (c a) b")],
    "bincount": [(WORDS,), (WORDS, WORDS * 0.5), (WORDS, None, 15), (SMALL[0],)],
    "count_nonzero": [(WHOLE,), (WHOLE, 1), (X, (0, 2))],
    "digitize": [(X, [-1.0, 0.0, 0.5]), (WHOLE, [0, 2]), (HALF, [0.0])],
    "histogram": [(X.ravel(),), (X.ravel(), 4), (X.ravel(), 5, (-1.0, 1.5))],
    "in_top_k": [(np.array([1, 0, 4]), X[:, 0], 2)],
    "isin": [(WHOLE, [1, 2]), (X, X[0]), (WHOLE, [1, 2], False, True)],
    "nonzero": [(WHOLE,), (TRUE,)],
    "searchsorted": [(np.sort(X[0, 0]), Y[0, 0]), (np.sort(WORDS), WORDS, "right")],
    "select": [([TRUE, ~TRUE & (Y > 0)], [X, Y], 2.0), ([TRUE], [WHOLE])],
    "unravel_index": [(np.array([5, 0, 11]), (3, 4))],
    "unique": [
        *((WORDS,), (WORDS, True, True, True, True), (WORDS, False, True, True, True)),
        *((SLICES, True, True, True, True, 0), (SLICES, True, False, True, False, 1)),
        *(
            (WORDS, True, True, False, True, None, 6, 77),
            (WORDS, True, False, False, True, None, 2),
        ),
        (SLICES, True, False, True),
    ],
    "average": [(X,), (WHOLE, 1), (X, 1, POSITIVE), (X, 2, POSITIVE[0, 0]), (X, None, POSITIVE)],
    "ptp": [(X,), (X, 1, True), (WHOLE, (0, 2))],
    "diff": [(X,), (WHOLE, 2, 0), (TRUE,), (X, 0)],
    "trapezoid": [(X,), (X, Y[0, 0]), (WHOLE, None, 0.5, 1), (X, Y)],
    "corrcoef": [(X[0],), (WHOLE[0],)],
    "correlate": [
        *((X[0, 0], Y[0, 0, :3]), (X[0, 0], Y[0, 0, :3], "full"), (X[0, 0], Y[0, 0, :2], "same")),
        (WHOLE[0, 0], OTHER[0, 0, :3], "same"),
    ],
    "psnr": [(X, Y, 2.0)],
    "quantile": [
        *((X, 0.3), (X, [0.1, 0.5, 1.0]), (X, [0.2, 0.9], 1), (X, 0.4, (0, 2), "lower", True)),
        *((WHOLE, 0.5, 2, "nearest"), (X, [0.2, 0.9], 1, "midpoint", True), (HOLES, 0.5, 2)),
        *((X, 0.7, -1, "higher"), (HALF, 0.25, 1)),
    ],
    "percentile": [(X, 30.0), (X, [20.0, 90.0], 1)],
    "median": [(X,), (X, 1), (WHOLE, 2, True), (HOLES, 1)],
    "nanquantile": [(HOLES, 0.3), (HOLES, [0.2, 0.6]), (HOLES, 0.5, 2, "linear", True)],
    "nanpercentile": [(HOLES, 30.0, 2), (HOLES, [10.0, 50.0])],
    **{
        name: [(HOLES,), (HOLES, 2), (HOLES, 1, True), (HOLES.astype(np.float16), 2)]
        for name in NANS
    },
    **{name: [(HOLES,), (HOLES, 2), (HOLES, 1, True)] for name in ("nanargmax", "nanargmin")},
    "nancumsum": [(HOLES, 1), (HOLES,), (WHOLE, 1)],
    "nancumprod": [(HOLES, 1), (HOLES,)],
    "inner": [(X, Y), (X, 2.0), (WHOLE[0], OTHER[1]), (SMALL[0], SMALL[1])],
    "vdot": [(X, Y), (WHOLE, OTHER), (X, WHOLE)],
    "cross": [
        *((X[..., :3], Y[..., :3]), (X[..., :2], Y[..., :2]), (X[..., :2], Y[..., :3])),
        (X[:, :3], Y[:, :3], 1, 1, 1),
    ],
    "kron": [(X[0], Y[1, :2, :2]), (WHOLE[0, 0], X[0])],
    "cdist": [(X, Y)],
    "glu": [(X, 1), (PICTURES,)],
    "threshold": [(X, 0.2, -3.0)],
    **{name: [(X,), (HALF,)] for name in ACTIVATIONS},
    "cholesky": [(DEFINITE,), (DEFINITE, True)],
    "cholesky_inverse": [(FACTOR[0],), (FACTOR[0].T, True)],
    "det": [(SQUARE,)],
    "slogdet": [(SQUARE,)],
    "logdet": [(DEFINITE,)],
    "inv": [(DEFINITE,)],
    "lu_factor": [(SQUARE[0],)],
    "solve": [(DEFINITE, SQUARE), (DEFINITE[0], SQUARE[0, 0])],
    "solve_triangular": [(FACTOR, SQUARE, True), (FACTOR[0].T, SQUARE[0, 0])],
    "lstsq": [(X[0], X[0, :, 0]), (X[0].T, Y[0, 0]), (X[0].T, Y[0].T)],
    "matrix_rank": [(X,), (np.ones((3, 3), np.float32),)],
    "pinv": [(X,)],
    "extract_sequences": [(ROWS[..., 0], 3, 2)],
    "fft": [((X, Y),)],
    "fft2": [((X, Y),)],
    "ifft2": [((X, Y),)],
    "rfft": [(X,), (X, 8), (WIDE, 3)],
    "irfft": [((X, Y),), ((X, Y), 6)],
    "stft": [
        *((normal(2, 40), 8, 4, 8), (normal(40), 6, 3, 8, "hamming", False)),
        (normal(40), 8, 4, 10, None),
    ],
    "scatter": [(np.array([[0], [2], [0]]), X[:, 0], (4, 5))],
    "scatter_update": [
        (X[0, :, 0], np.array([[1], [3]]), np.array([2.0, -3.0], np.float32), way)
        for way in (None, "add", "max", "min")
    ],
    "slice_update": [(X, [0, 1, 2], Y[:2, :2, :2]), (X, [2, 3, 4], Y[:2, :2, :2])],
    **{
        name: [(ROWS[0, :5], IDS), (ROWS[0, :5], IDS, 4), (ROWS[0, :5], np.sort(IDS), None, True)]
        for name in ("segment_sum", "segment_max", "segment_min", "segment_prod")
    },
    "conv_transpose": [
        *((PICTURES, normal(3, 3, 5, 4), 2), (PICTURES, normal(2, 3, 5, 4), (1, 2), "same")),
        *((ROWS, normal(3, 2, 4), 2, "valid", 1), (ROWS, normal(3, 2, 4), 3, "same", 0)),
    ],
    "depthwise_conv": [
        *((PICTURES, normal(3, 2, 4, 2)), (PICTURES, normal(3, 3, 4, 1), 2, "same")),
        *((ROWS, normal(3, 4, 2), 2), (PICTURES, normal(2, 2, 4, 1), 1, "same", None, 2)),
        (ROWS, normal(3, 4, 1), 2, "same", None, 2),
        (PICTURES.transpose(0, 3, 1, 2), normal(3, 3, 4, 1), 1, "same", "channels_first"),
    ],
    "separable_conv": [
        (PICTURES, normal(3, 2, 4, 2), normal(1, 1, 8, 3)),
        (ROWS, normal(3, 4, 2), normal(1, 8, 3), 2, "same"),
    ],
    "adaptive_average_pool": [(PICTURES, 5, "channels_first"), (ROWS, 4, "channels_first")],
    "adaptive_max_pool": [(PICTURES, (2, 3), "channels_first"), (ROWS, 7, "channels_first")],
    "unfold": [(PICTURES, 3), (PICTURES, (2, 3), 2, (1, 2), (1, 2))],
    "fold": [(normal(2, 18, 20), (6, 7), 3), (normal(2, 12, 6), (6, 7), (2, 3), 2, (1, 2), (3, 3))],
    "depth_to_space": [(PICTURES, 2), (PICTURES.transpose(0, 3, 1, 2), 2, "channels_first")],
    "space_to_depth": [(PICTURES[:, :, :6], 2)],
    "batch_normalization": [
        (PICTURES, PICTURES.mean((0, 1, 2)), POSITIVE[0, 0, :4], -1),
        (PICTURES, X[0, :2, :3].ravel(), POSITIVE[0, :2, :3].ravel(), 1, X[1, :2, :3].ravel()),
    ],
    "layer_normalization": [
        *((X,), (X, X[0, 0], Y[0, 0]), (X, X[0, :, :], None, (1, 2)), (HALF, None, Y[0, 0])),
        (X, X[0, :, 0], Y[0, :, 0], 1),
    ],
    "rms_normalization": [(X,), (X, X[0, 0]), (X, None, (0, 1), 0.1), (HALF,)],
    "dot_product_attention": [
        *((PICTURES, PICTURES, PICTURES), (PICTURES, PICTURES, PICTURES, None, None, 0.3, True)),
        (PICTURES, PICTURES, PICTURES, normal(2, 7, 6, 6), normal(2, 1, 6, 6) > 0),
        (normal(2, 3, 4, 6), normal(2, 5, 2, 6), normal(2, 5, 2, 6)),
    ],
    "binary_crossentropy": [
        (TRUE.astype(np.float32), POSITIVE / 3),
        (TRUE.astype(np.float32), X, True),
    ],
    "categorical_crossentropy": [(POSITIVE / 5, POSITIVE), (POSITIVE, X, True, 1)],
    "sparse_categorical_crossentropy": [
        (WHOLE[..., 0] % 5, POSITIVE / 3),
        (WHOLE[..., :1] % 5, X, True),
    ],
    "ctc_loss": [
        (np.array([[1, 2, 1], [3, 4, 0]]), LOGITS, np.array([3, 2]), np.array([6, 5])),
        (np.array([[1, 2], [3, 0]]), LOGITS, np.array([2, 2]), np.array([6, 5]), 4),
    ],
    "ctc_decode": [
        *((LOGITS, np.array([6, 4])), (LOGITS, np.array([6, 4]), "greedy", 1, 1, False, 4)),
        (LOGITS, np.array([6, 4]), "beam_search", 20, 3),
        (LOGITS, np.array([6, 4]), "beam_search", 20, 2, True, 2),
    ],
    "multi_hot": [(np.array([[0, 2], [1, 1]]), 4), (np.array([0, 4]), 5, -1, "int32")],
    "size": [(X,)],
    "convert_to_numpy": [(X,), ([1, 2],)],
}

# There are several right results: the properties that they must have are compared.
PROPERTIES = {"argpartition", "eig", "eigh", "empty", "qr", "sparsemax", "svd"}
# Without array inputs or outputs: separate programs.
OTHERS = {
    *("associative_scan", "cond", "custom_gradient", "dtype", "fori_loop", "is_tensor", "istft"),
    *("jvp", "map", "ndim", "scan", "switch", "vectorize", "vectorized_map", "while_loop"),
}


def results_of(ops: Any) -> dict[str, Any]:
    """The results of every case: arrays by name, number and index."""
    found = {}
    for name, cases in CASES.items():
        for number, arguments in enumerate(cases):
            results = getattr(ops, name)(*arguments)
            several = results if isinstance(results, (list, tuple)) else [results]
            for index, value in enumerate(several):
                found[f"{name}/{number}/{index}"] = np.asarray(value)
    return found


def main() -> None:
    library, file = sys.argv[1:3]
    ops = importlib.import_module(
        "keras.ops" if library == "tensorflow" else f"{library}.keras.ops"
    )
    np.savez(Path(file), **results_of(ops))


if __name__ == "__main__":
    main()
