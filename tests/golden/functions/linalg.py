"""Calls of tf.linalg that are not in mathematics.py."""

import numpy as np

from golden.functions.calls import Call, waves

A = waves(2, 4, 4) / 3 + np.diag([1.0, 2.5, 4, 5.5])
LARGE = waves(3, 3, phase=0.4) * 9
DEFINITE = A @ A.transpose(0, 2, 1) + np.eye(4)
C = A + 1j * waves(2, 4, 4, phase=1.0) / 4
TALL = waves(5, 3, phase=0.2)
LOOSE = {"rtol": 1e-6, "atol": 1e-8, "reason": "iterations stop at other places"}
DIAGONALS = waves(2, 3, 5) + np.array([0.0, 6, 0])[:, None]
ORDER = np.array([[1, 0, 3, 2], [0, 2, 1, 3]], np.int32)
SMALL = waves(2, 3, 5) + np.array([0.0, 0.1, 0])[:, None]
RHS = waves(2, 5, 3, phase=0.6)
BANDS = waves(2, 3, 5, phase=0.9) + np.array([4.0, 0, 0])[:, None]

CALLS = [
    Call("linalg.lu", (A,)),
    Call("linalg.lu", (C,), {"output_idx_type": "int64"}),
    *(Call("linalg.expm", (x,), sources=(0,), **LOOSE) for x in (A, A / 40, LARGE, C)),
    Call("linalg.logm", (C,), **LOOSE),
    Call("linalg.sqrtm", (DEFINITE,), sources=(0,), **LOOSE),
    Call("linalg.sqrtm", (C,), **LOOSE),
    Call("linalg.pinv", (TALL,), sources=(0,)),
    Call("linalg.pinv", (A, 0.3)),
    Call("linalg.matrix_rank", (TALL,)),
    Call("linalg.matrix_rank", (TALL[:, :1] * TALL[:1],)),
    Call("linalg.matrix_rank", (A, 2.0)),
    Call("linalg.lu_solve", (A, ORDER, RHS[:, :4]), sources=(0, 2)),
    Call("linalg.lu_reconstruct", (A, ORDER), sources=(0,)),
    Call("linalg.lu_matrix_inverse", (A, ORDER), sources=(0,)),
    Call("linalg.tridiagonal_solve", (DIAGONALS, RHS), sources=(0, 1)),
    Call("linalg.tridiagonal_solve", (SMALL, RHS), sources=(1,)),
    Call("linalg.tridiagonal_solve", (DIAGONALS, RHS), {"partial_pivoting": False}),
    Call("linalg.tridiagonal_solve", (DIAGONALS, RHS[..., 0])),
    Call("linalg.tridiagonal_solve", (DIAGONALS, waves(2, 3, 5)), {"transpose_rhs": True}),
    Call(
        "linalg.tridiagonal_solve",
        ((DIAGONALS[:, 0, :-1], DIAGONALS[:, 1], DIAGONALS[:, 2, 1:]), RHS),
        {"diagonals_format": "sequence"},
    ),
    Call("linalg.tridiagonal_solve", (A, RHS[:, :4]), {"diagonals_format": "matrix"}),
    Call("linalg.tridiagonal_matmul", (DIAGONALS, RHS), sources=(0, 1)),
    Call("linalg.tridiagonal_matmul", (A, RHS[:, :4]), {"diagonals_format": "matrix"}),
    *(
        Call(
            "linalg.banded_triangular_solve",
            (BANDS if lower else BANDS[:, ::-1].copy(), RHS),
            {"lower": lower, "adjoint": adjoint},
            sources=(0, 1),
        )
        for lower in (True, False)
        for adjoint in (True, False)
    ),
    Call("linalg.eigh_tridiagonal", (DIAGONALS[0, 1], DIAGONALS[0, 0, :-1]), **LOOSE),
    Call(
        "linalg.eigh_tridiagonal",
        (DIAGONALS[0, 1], DIAGONALS[0, 0, :-1]),
        {"select": "i", "select_range": (1, 3)},
        **LOOSE,
    ),
    Call(
        "linalg.eigh_tridiagonal",
        (DIAGONALS[0, 1], DIAGONALS[0, 0, :-1]),
        {"select": "v", "select_range": (5.0, 7.5)},
        **LOOSE,
    ),
]
