"""Calls of tf.math, tf.linalg and related modules, some differentiated by their first argument."""

from __future__ import annotations

from typing import Any

import numpy as np

from golden.functions.calls import Call, waves

X, Y = waves(3, 4), waves(3, 4, phase=1.3)
P = np.abs(X) + 0.1
UNIT = P / (P.max() + 0.2)
Z = X.copy()
Z[1, 2] = Z[0, 0] = Z[1, 0] = 0
W = X + 1j * Y
SQUARE = waves(2, 3, 3, phase=0.4) + 2 * np.eye(3)
DEFINITE = SQUARE @ SQUARE.transpose(0, 2, 1) + np.eye(3)
IDS, LOOSE = np.array([0, 0, 2]), np.array([2, -1, 0])
FEW = np.array([1, 1, 5, 2])
TALL, FLAT = waves(5, 3, phase=0.2), waves(3, 5, phase=0.7)


def call(
    name: str,
    args: tuple[Any, ...],
    options: dict[str, Any] | None = None,
    sources: tuple[int, ...] = (0,),
) -> Call:
    return Call(name, args, options or {}, sources)


def reductions() -> list[Call]:
    names = ["sum", "mean", "max", "min", "prod", "logsumexp", "variance", "std", "euclidean_norm"]
    found = []
    for axis in (None, 0, -1, [0, 1], []):
        for keepdims in (False, True):
            options = {"axis": axis, "keepdims": keepdims}
            found += [call(f"math.reduce_{name}", (X,), options) for name in names]
            found.append(call("math.reduce_prod", (Z,), options))
            found.append(call("math.count_nonzero", (Z,), options, ()))
    return [*found, call("math.zero_fraction", (Z,), sources=())]


def cumulations() -> list[Call]:
    return [
        call(f"math.{name}", (X,), {"axis": 1, "exclusive": exclusive, "reverse": reverse})
        for name in ("cumsum", "cumprod", "cumulative_logsumexp")
        for exclusive in (False, True)
        for reverse in (False, True)
    ]


def elementwise() -> list[Call]:
    names = [
        *("exp", "log", "sqrt", "rsqrt", "sigmoid", "square", "reciprocal", "log1p", "expm1"),
        *("sin", "cos", "tan", "asin", "acos", "atan"),
        *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    ]
    found = [call(f"math.{n}", (P + 1.1 if n == "acosh" else UNIT,)) for n in names]
    found += [call(f"math.{n}", (W / 4,)) for n in names]
    found += [call(f"math.{n}", (W,)) for n in ("abs", "angle", "conj", "real", "imag", "sign")]
    found += [
        call(f"math.{n}", (UNIT,))
        for n in ["erf", "erfc", "erfinv", "erfcinv", "ndtri", "lgamma", "digamma", "lbeta"]
    ]
    found += [
        call(f"math.{n}", (Z, P), sources=(0, 1))
        for n in ["xlogy", "xlog1py", "xdivy", "divide_no_nan", "multiply_no_nan"]
    ]
    found += [
        call(f"math.{n}", (P, Z), sources=(0, 1)) for n in ("divide_no_nan", "multiply_no_nan")
    ]
    return [
        *found,
        call("math.pow", (P, Y), sources=(0, 1)),
        call("math.pow", (Z, 2.0)),
        call("math.pow", (W, W[::-1]), sources=(0, 1)),
        call("math.floordiv", (X, Y), sources=()),
        call("math.mod", (X, Y), sources=(0, 1)),
        call("math.truediv", (FEW, 3), sources=()),
        call("math.maximum", (X, np.where(Y > 0, X, Y)), sources=(0, 1)),
        call("math.minimum", (X, np.where(Y > 0, X, Y)), sources=(0, 1)),
        call("math.squared_difference", (X, Y[0]), sources=(0, 1)),
        call("math.log_sigmoid", (X * 20,)),
        call("math.reciprocal_no_nan", (Z,), sources=()),
        call("math.angle", (X,), sources=()),
        call("math.betainc", (P, P[::-1], UNIT), sources=(2,)),
        call("math.polygamma", (np.full((3, 4), 2.0), P), sources=(1,)),
        call("math.zeta", (P + 1.5, P), sources=(1,)),
        call("math.round", (np.array([0.5, 1.5, -2.5]),), sources=()),
        call("math.logical_xor", (X > 0, Y > 0), sources=()),
        call("math.add_n", ([X, Y, X],), sources=()),
        call("math.scalar_mul", (2.0, X), sources=(1,)),
        call("math.polyval", ([X, Y, P], P), sources=(1,)),
        call("math.nextafter", (X, Y), sources=()),
        call("math.l2_normalize", (X,), {"axis": 1}),
        call("bitwise.left_shift", (FEW, FEW), sources=()),
    ]


def counts() -> list[Call]:
    found = [call(f"math.arg{n}", (X,), {"axis": a}, ()) for n in ("max", "min") for a in (0, 1)]
    found += [
        call("math.bincount", (FEW,), options, ())
        for options in (
            {},
            {"minlength": 9},
            {"maxlength": 3},
            {"weights": np.array([1.0, 2, 3, 4])},
            {"dtype": "int64"},
        )
    ]
    rows = FEW.reshape(2, 2)
    return [
        *found,
        call("math.bincount", (rows,), {"axis": -1}, ()),
        call("math.bincount", (rows,), {"axis": -1, "binary_output": True}, ()),
        call("math.bincount", (np.zeros(0, np.int32),), sources=()),
        call("math.confusion_matrix", (np.array([0, 1, 2]), np.array([0, 2, 2])), sources=()),
        call(
            "math.confusion_matrix",
            (np.array([0, 1, 2]), np.array([[0], [2], [2]])),
            {"num_classes": 4, "weights": np.array([1.0, 2, 3]), "dtype": "float32"},
            (),
        ),
        call("math.in_top_k", (np.array([0, 1, 3]), X.astype(np.float32), 2), sources=()),
        call("math.is_non_decreasing", (FEW,), sources=()),
        call("math.is_strictly_increasing", (np.sort(X[0]),), sources=()),
    ]


def segments() -> list[Call]:
    ties = np.ones((3, 2))
    found = [call(f"math.segment_{n}", (X, IDS)) for n in ["sum", "mean", "prod", "max", "min"]]
    found += [
        call(f"math.unsorted_segment_{n}", (X, LOOSE, 4))
        for n in ["sum", "mean", "prod", "max", "min", "sqrt_n"]
    ]
    return [
        *found,
        call("math.segment_prod", (Z, np.zeros(3, np.int32))),
        call("math.unsorted_segment_prod", (Z, np.ones(3, np.int32), 3)),
        call("math.segment_max", (ties, IDS)),
        call("math.unsorted_segment_max", (ties, LOOSE, 3)),
    ]


def ranges_and_clips() -> list[Call]:
    found = [
        call("range", args, options, ())
        for args, options in (
            ((5,), {}),
            ((1, 10, 3), {}),
            ((10, 1, -2), {}),
            ((0.0, 1.0, 0.1), {}),
            ((5,), {"dtype": "float64"}),
            ((1, 5.0, 2), {}),
        )
    ]
    found += [call("linspace", (X, Y, 4), {"axis": axis}, ()) for axis in (0, 1, -1)]
    infinite = [X * np.inf, Y]
    return [
        *found,
        call("linspace", (0.0, 1.0, 5), sources=()),
        call("linspace", (2.0, 3.0, 1), sources=()),
        call("clip_by_value", (X, -0.5, 0.5)),
        call("clip_by_value", (X, -P, P)),
        call("clip_by_norm", (X, 0.5)),
        call("clip_by_norm", (X, 0.5), {"axes": [1]}),
        call("clip_by_norm", (X, 50.0)),
        call("clip_by_norm", (np.zeros((2, 2)), 1.0)),
        call("linalg.global_norm", ([X, Y],), sources=()),
        *[call("clip_by_global_norm", ([X, Y], norm), sources=()) for norm in (0.5, 50.0)],
        call("clip_by_global_norm", (infinite, 0.5), sources=()),
    ]


def products() -> list[Call]:
    equations: list[tuple[str, tuple[Any, ...]]] = [
        ("ij,jk", (X, Y.T)),
        ("ij,jk,kl->il", (X, Y.T, waves(3, 2))),
        ("...ij,...jk->...ik", (SQUARE, DEFINITE)),
        ("abc,cd,de->abe", (waves(2, 3, 4), waves(4, 3), waves(3, 2))),
        ("ii->i", (SQUARE[0],)),
        ("ii", (SQUARE[0],)),
        ("ij->", (X,)),
        ("bi,bi->b", (X, Y)),
        ("i...->...", (X,)),
        ("i,j,k->ijk", (X[0], Y[0], P[0])),
        ("...ii->...i", (SQUARE,)),
        ("b...c,b...d->...cd", (waves(2, 3, 4), waves(2, 3, 5))),
    ]
    found = [call("einsum", (e, *a), sources=tuple(range(1, len(a) + 1))) for e, a in equations]
    complex_ones = SQUARE + 1j * DEFINITE
    both = (0, 1)
    return [
        *found,
        call("matmul", (X, Y), {"transpose_b": True}, both),
        call("matmul", (X, Y), {"adjoint_a": True}, both),
        call("matmul", (SQUARE, FLAT), sources=both),
        call("matmul", (complex_ones, complex_ones), {"adjoint_b": True}, both),
        call("matmul", (complex_ones, complex_ones), {"transpose_a": True}, both),
        call("linalg.matvec", (SQUARE, X[:2, :3]), sources=both),
        call("tensordot", (waves(2, 3, 4), waves(4, 3, 5), [[1, 2], [1, 0]]), sources=both),
        call("tensordot", (X, Y.T, 1), sources=both),
        call("tensordot", (X, Y, 0), sources=both),
        call("linalg.cross", (FLAT.T, FLAT.T[::-1]), sources=both),
    ]


def factorizations() -> list[Call]:
    names = ["cholesky", "inv", "det", "logdet", "slogdet", "eigvalsh"]
    found = [call(f"linalg.{name}", (DEFINITE,)) for name in names]
    triangle = np.linalg.cholesky(DEFINITE)
    both = (0, 1)
    tall = waves(5, 2, phase=0.9)
    return [
        *found,
        call("linalg.inv", (SQUARE,), {"adjoint": True}),
        call("linalg.solve", (DEFINITE, SQUARE), sources=both),
        call("linalg.solve", (SQUARE, DEFINITE), {"adjoint": True}, both),
        call("linalg.triangular_solve", (DEFINITE, SQUARE), {"lower": False}, both),
        call("linalg.triangular_solve", (DEFINITE, SQUARE[0]), {"adjoint": True}, both),
        call("linalg.cholesky_solve", (triangle, SQUARE), sources=both),
        call("linalg.qr", (TALL,)),
        call("linalg.qr", (FLAT,)),
        call("linalg.qr", (TALL,), {"full_matrices": True}, ()),
        call("linalg.svd", (X,), {"compute_uv": False}),
        call("linalg.lstsq", (TALL, tall)),
        call("linalg.lstsq", (FLAT, waves(3, 2))),
        call("linalg.lstsq", (TALL, tall), {"l2_regularizer": 0.1}),
        call("linalg.lstsq", (TALL, tall), {"fast": False}, ()),
    ]


def bands_and_norms() -> list[Call]:
    found = [
        call("norm", (X,), {"ord": o, **more})
        for o in ("euclidean", 1, 2, np.inf, 3)
        for more in ({}, {"axis": 1, "keepdims": True})
    ]
    found += [
        call("norm", (SQUARE,), {"ord": o, **more})
        for o in ("fro", 1, 2, np.inf)
        for more in ({"axis": [-2, -1]}, {"axis": [0, 2], "keepdims": True})
    ]
    both = (0, 1)
    return [
        *found,
        call("norm", (W,), {"axis": 0}, ()),
        call("linalg.normalize", (X,), {"axis": 1}),
        call("linalg.band_part", (X, 1, 0)),
        call("linalg.diag", (X,)),
        call("linalg.diag", (X,), {"k": 1, "padding_value": 7.0}),
        call("linalg.diag", (SQUARE,), {"k": (-1, 1)}),
        call("linalg.diag_part", (waves(2, 4, 5),), {"k": (-2, 2), "padding_value": 9.0}),
        call("linalg.diag_part", (waves(4, 5),), {"k": (1, 2), "align": "LEFT_RIGHT"}),
        call("linalg.set_diag", (X, Y[:, 0]), sources=both),
        call("linalg.set_diag", (X, Y[:2, :3]), {"k": (0, 1)}, both),
        call("linalg.trace", (SQUARE,)),
        call("linalg.tensor_diag", (X,)),
        call("linalg.tensor_diag_part", (waves(2, 3, 2, 3),)),
        call("eye", (3,), sources=()),
        call("eye", (2, 4), {"batch_shape": [2], "dtype": "float64"}, ()),
        call("linalg.adjoint", (W,)),
        call("linalg.matrix_transpose", (SQUARE,)),
    ]


CALLS = [
    *reductions(),
    *cumulations(),
    *elementwise(),
    *counts(),
    *segments(),
    *ranges_and_clips(),
    *products(),
    *factorizations(),
    *bands_and_norms(),
]
