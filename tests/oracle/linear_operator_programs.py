"""Linear operators in TensorFlow and in pinnace: results of all methods of all classes, as JSON.

Run as `python linear_operator_programs.py tensorflow|pinnace FOLDER`; see test_linear_operators.py.
Numbers are float64, and printed with as many digits as both libraries agree on.
"""

# ruff: noqa: T201 (the results)

import importlib
import itertools
import json
import sys
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

tf: Any = importlib.import_module(sys.argv[1])
L: Any = tf.linalg
RNG = np.random.default_rng(11)


def drawn(*shape: int, complex_: bool = False) -> Any:
    found = RNG.standard_normal(shape)
    return found + 1j * RNG.standard_normal(shape) if complex_ else found


def regular(*shape: int) -> Any:
    return drawn(*shape, 3, 3) + 9 * np.eye(3)


def positive(*shape: int) -> Any:
    x = drawn(*shape, 3, 3)
    return x @ x.swapaxes(-1, -2) + np.eye(3)


DIAG = drawn(2, 3) + 4
COMPLEX = drawn(3, complex_=True)
FULL, BELOW, SPD = regular(2), drawn(3, 3), positive(2)
U, V = drawn(3, 2), drawn(3, 2)
KERNEL = np.array([9.0, 1.0, 0.5])
X = drawn(2, 3, 2)


def full() -> Any:
    return L.LinearOperatorFullMatrix(FULL)


def spd(**hints: Any) -> Any:
    return L.LinearOperatorFullMatrix(SPD, is_self_adjoint=True, is_positive_definite=True, **hints)


def diag() -> Any:
    return L.LinearOperatorDiag(DIAG, is_non_singular=True)


def tril() -> Any:
    return L.LinearOperatorLowerTriangular(FULL, is_non_singular=True)


# All are of order 3 and batch [2], or of a batch that broadcasts with it.
OPERATORS: dict[str, Callable[[], Any]] = {
    "FullMatrix": full,
    "FullMatrix, spd": spd,
    "Diag": diag,
    "Diag, positive": lambda: L.LinearOperatorDiag(DIAG, is_positive_definite=True),
    "LowerTriangular": tril,
    "Identity": lambda: L.LinearOperatorIdentity(3, batch_shape=[2], dtype=tf.float64),
    "ScaledIdentity": lambda: L.LinearOperatorScaledIdentity(
        3, tf.constant([2.0, -3.0], "float64")
    ),
    "Householder": lambda: L.LinearOperatorHouseholder(DIAG),
    "Toeplitz": lambda: L.LinearOperatorToeplitz(DIAG + KERNEL, DIAG),
    "LowRankUpdate": lambda: L.LinearOperatorLowRankUpdate(full(), U, DIAG[0, :2], V),
    "LowRankUpdate, spd": lambda: L.LinearOperatorLowRankUpdate(
        L.LinearOperatorDiag(DIAG**2, is_positive_definite=True), U
    ),
    "Composition": lambda: L.LinearOperatorComposition([full(), tril()]),
    "Composition, A A.H": lambda: _symmetric(),
    "Kronecker": lambda: L.LinearOperatorKronecker([tril(), diag()]),
    "Kronecker, spd": lambda: L.LinearOperatorKronecker([spd(), spd()]),
    "BlockDiag": lambda: L.LinearOperatorBlockDiag([full(), diag()]),
    "BlockLowerTriangular": lambda: L.LinearOperatorBlockLowerTriangular(
        [[full()], [L.LinearOperatorFullMatrix(BELOW), diag()]]
    ),
    "Adjoint": lambda: L.LinearOperatorAdjoint(full()),
    "Adjoint, complex": lambda: L.LinearOperatorAdjoint(
        L.LinearOperatorLowerTriangular(BELOW + 1j * np.eye(3))
    ),
    "Inversion": lambda: L.LinearOperatorInversion(full()),
    "Diag, complex": lambda: L.LinearOperatorDiag(COMPLEX),
    "ScaledIdentity, complex": lambda: L.LinearOperatorScaledIdentity(3, COMPLEX[:2]),
    "Zeros": lambda: L.LinearOperatorZeros(3, batch_shape=[2], dtype=tf.float64),
    "Zeros, wide": lambda: L.LinearOperatorZeros(
        3, 4, dtype=tf.float64, is_square=False, is_self_adjoint=False
    ),
}


def _symmetric() -> Any:
    a = tril()
    return L.LinearOperatorComposition([a, a.H])


def argument(operator: Any, *, columns: bool) -> Any:
    """Numbers with a shape that fits one side of an operator."""
    size = int(operator.shape[-1] if columns else operator.shape[-2])
    rng = np.random.default_rng(size)
    found = rng.standard_normal((size, 2)) + 0j
    found = found + 1j * rng.standard_normal((size, 2))
    return tf.cast(tf.constant(found if operator.dtype.is_complex else found.real), operator.dtype)


METHODS: dict[str, Callable[[Any], Any]] = {
    "shape": lambda op: [op.shape, op.batch_shape, op.tensor_rank, op.dtype],
    "dimensions": lambda op: [
        tf.compat.dimension_value(op.domain_dimension),
        tf.compat.dimension_value(op.range_dimension),
    ],
    "sizes": lambda op: [
        op.shape_tensor(),
        op.batch_shape_tensor(),
        op.tensor_rank_tensor(),
        op.domain_dimension_tensor(),
        op.range_dimension_tensor(),
    ],
    "hints": lambda op: hints(op),
    "name": lambda op: op.name,
    "parameters": lambda op: sorted(op.parameters),
    "to_dense": lambda op: op.to_dense(),
    "matmul": lambda op: op.matmul(argument(op, columns=True)),
    "matmul, adjoint": lambda op: op.matmul(argument(op, columns=False), adjoint=True),
    "matmul, adjoint_arg": lambda op: op.matmul(
        L.adjoint(argument(op, columns=True)), adjoint_arg=True
    ),
    "@": lambda op: op @ argument(op, columns=True),
    "tf.matmul": lambda op: tf.matmul(op, argument(op, columns=True)),
    "tf.matmul, from the left": lambda op: tf.matmul(
        argument(op, columns=False), op, adjoint_a=True
    ),
    "matvec": lambda op: op.matvec(argument(op, columns=True)[:, 0]),
    "matvec, adjoint": lambda op: op.matvec(argument(op, columns=False)[:, 0], adjoint=True),
    "solve": lambda op: op.solve(argument(op, columns=False)),
    "solve, adjoint": lambda op: op.solve(argument(op, columns=True), adjoint=True),
    "solve, adjoint_arg": lambda op: op.solve(
        L.adjoint(argument(op, columns=False)), adjoint_arg=True
    ),
    "solvevec": lambda op: op.solvevec(argument(op, columns=False)[:, 0]),
    "tf.linalg.solve": lambda op: L.solve(op, argument(op, columns=False)),
    "determinant": lambda op: [op.determinant(), L.det(op)],
    "log_abs_determinant": lambda op: op.log_abs_determinant(),
    "logdet": lambda op: L.logdet(op),
    "diag_part": lambda op: [op.diag_part(), L.diag_part(op)],
    "trace": lambda op: [op.trace(), L.trace(op)],
    "add_to_tensor": lambda op: op.add_to_tensor(2 * op.to_dense()),
    "cond": lambda op: op.cond(),
    "eigvals": lambda op: np.sort(op.eigvals(), -1),
    "H": lambda op: described(op.H),
    "inverse": lambda op: described(op.inverse()),
    "tf.linalg.inv, adjoint": lambda op: described(L.inv(op, adjoint=True)),
    "cholesky": lambda op: described(op.cholesky()),
    "tf.linalg.cholesky": lambda op: described(L.cholesky(op)),
    "assert_non_singular": lambda op: op.assert_non_singular(),
    "assert_positive_definite": lambda op: op.assert_positive_definite(),
    "assert_self_adjoint": lambda op: op.assert_self_adjoint(),
    "slice": lambda op: described(op[0]) if op.shape.rank > 2 else None,
    "slices": lambda op: described(op[..., tf.newaxis]) if op.shape.rank > 2 else None,
    "variables": lambda op: len(op.variables),
    "in a function": lambda op: traced(op),
    "gradients": lambda op: gradients(op),
}


def hints(op: Any) -> Any:
    return [op.is_non_singular, op.is_self_adjoint, op.is_positive_definite, op.is_square]


def described(op: Any) -> Any:
    """An operator by its class, hints and entries."""
    return [type(op).__name__, hints(op), op.to_dense()]


def traced(op: Any) -> Any:
    @tf.function
    def run(one: Any, x: Any) -> Any:
        return one.matmul(x), one

    y, same = run(op, argument(op, columns=True))
    return y, described(same), [type(spec).__name__ for spec in (same._type_spec,)]


def gradients(op: Any) -> Any:
    x = argument(op, columns=True)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.math.real(op.matmul(x)))
    return tape.gradient(y, x)


def plain(x: Any) -> Any:
    """A value for JSON; floats with as many digits as both libraries agree on."""
    if isinstance(x, (tuple, list)):
        return [plain(item) for item in x]
    if isinstance(x, complex):
        return [plain(x.real), plain(x.imag)]
    if isinstance(x, float):
        return round(x, 6) + 0.0 if abs(x) < 1e6 else float(f"{x:.6g}")
    if isinstance(x, (tf.TensorShape,)):
        return ["shape", x.as_list()]
    if isinstance(x, tf.DType):
        return x.name
    if isinstance(x, np.generic):
        return plain(x.item())
    if hasattr(x, "numpy"):
        return [tf.as_dtype(x.dtype).name, plain(x.numpy())]
    return plain(x.tolist()) if hasattr(x, "tolist") else x


def outcome(run: Callable[[], Any]) -> Any:
    """The result of a program, or the class of its error."""
    try:
        return plain(run())
    except Exception as error:
        return f"error: {type(error).__name__}"


def of_method(kind: str, method: str) -> Callable[[], Any]:
    return lambda: METHODS[method](OPERATORS[kind]())


ALGEBRA = [kind for kind in OPERATORS if "complex" not in kind]


def of_pair(left: str, right: str, method: str) -> Callable[[], Any]:
    return lambda: described(getattr(OPERATORS[left](), method)(OPERATORS[right]()))


def saved() -> Any:
    """A module with operators on variables, after it was saved and loaded."""

    class Held(tf.Module):  # type: ignore[misc] # of either library
        def __init__(self) -> None:
            super().__init__()
            self.scale = tf.Variable([1.0, 2.0, 3.0])
            self.operator = L.LinearOperatorBlockDiag(
                [L.LinearOperatorDiag(self.scale), L.LinearOperatorIdentity(2)]
            )

        @tf.function(input_signature=[tf.TensorSpec([5], tf.float32)])
        def run(self, x: Any) -> Any:
            return self.operator.matvec(x)

    held = Held()
    held.scale.assign([2.0, 3.0, 4.0])
    folder = tempfile.mkdtemp()
    tf.saved_model.save(held, folder)
    again = tf.saved_model.load(folder)
    x = tf.ones([5])
    return held.run(x), again.run(x), [v.name for v in held.variables], len(held.submodules)


def variable() -> Any:
    """An operator on a variable, which is read on use."""
    scale = tf.Variable([1.0, 2.0])
    operator = L.LinearOperatorDiag(scale)

    @tf.function
    def run(one: Any, x: Any) -> Any:
        return one.matvec(x)

    first = run(operator, tf.ones([2]))
    scale.assign([3.0, 4.0])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(run(operator, tf.ones([2])) ** 2)
    return first, operator.to_dense(), tape.gradient(y, scale), len(operator.trainable_variables)


def blocks() -> Any:
    """Lists of one tensor per block."""
    found = []
    for kind in ("BlockDiag", "BlockLowerTriangular"):
        op = OPERATORS[kind]()
        xs = [tf.constant(X), tf.constant(2 * X)]
        found += op.matmul(xs) + op.solve(xs) + op.matmul(xs, adjoint=True)
        vectors = [tf.constant(X[..., 0]), tf.constant(X[..., 1])]
        found += op.matvec(vectors) + op.solvevec(vectors, adjoint=True)
    return found


def gradient_through(kind: str) -> Callable[[], Any]:
    """Gradients of a solution and a determinant by the components of an operator."""

    def run() -> Any:
        scale = tf.constant(1.5, tf.float64)
        with tf.GradientTape() as tape:
            tape.watch(scale)
            made = {
                "FullMatrix": lambda: L.LinearOperatorFullMatrix(scale * FULL),
                "Diag": lambda: L.LinearOperatorDiag(scale * DIAG),
                "LowerTriangular": lambda: L.LinearOperatorLowerTriangular(scale * FULL),
                "Householder": lambda: L.LinearOperatorHouseholder(scale * scale * DIAG + scale),
                "Toeplitz": lambda: L.LinearOperatorToeplitz(scale * (DIAG + KERNEL), DIAG),
                "LowRankUpdate": lambda: L.LinearOperatorLowRankUpdate(full(), scale * U),
                "ScaledIdentity": lambda: L.LinearOperatorScaledIdentity(3, scale),
            }[kind]()
            y = tf.reduce_sum(made.solve(X)) + tf.reduce_sum(made.log_abs_determinant())
        return tape.gradient(y, scale)

    return run


def conjugate_gradient(**options: Any) -> Callable[[], Any]:
    def run() -> Any:
        rhs = tf.constant(X[..., 0])
        with_operator = {
            key: value() if callable(value) else value for key, value in options.items()
        }
        found = L.experimental.conjugate_gradient(spd(), rhs, **with_operator)
        return found._fields, list(found)

    return run


REFUSED: dict[str, Callable[[], Any]] = {
    "hints that contradict": lambda: L.LinearOperatorFullMatrix(
        FULL, is_non_singular=False, is_positive_definite=True
    ),
    "not square": lambda: L.LinearOperatorFullMatrix(FULL, is_square=False).is_square,
    "singular": lambda: L.LinearOperatorFullMatrix(FULL, is_non_singular=False).solve(X),
    "inverse of singular": lambda: L.LinearOperatorZeros(3).inverse(),
    "cholesky": lambda: full().cholesky(),
    "dtype": lambda: full().matmul(X.astype(np.float32)),
    "rows": lambda: full().matmul(np.ones((4, 2))),
    "rows of an operator": lambda: full().matmul(L.LinearOperatorIdentity(4, dtype=tf.float64)),
    "integers": lambda: L.LinearOperatorFullMatrix([[1]]),
    "rank": lambda: L.LinearOperatorDiag(1.0),
    "identity that is not": lambda: L.LinearOperatorIdentity(2, is_self_adjoint=False),
    "identity of floats": lambda: L.LinearOperatorIdentity(2.0),
    "identity below 0": lambda: L.LinearOperatorIdentity(-1),
    "zeros of two sizes": lambda: L.LinearOperatorZeros(2, 3),
    "no operators": lambda: L.LinearOperatorComposition([]),
    "two dtypes": lambda: L.LinearOperatorBlockDiag([full(), L.LinearOperatorIdentity(2)]),
    "toeplitz of two lengths": lambda: L.LinearOperatorToeplitz([1.0, 2.0], [1.0]),
    "rows of blocks": lambda: L.LinearOperatorBlockLowerTriangular([[full()], [full()]]),
    "eigvals": lambda: full().eigvals(),
    "transposed": lambda: tf.matmul(full(), X, transpose_a=True),
    "solve with a tensor": lambda: L.solve(tf.constant(FULL), full()),
    "singular by its entries": lambda: L.LinearOperatorDiag([0.0, 1.0]).assert_non_singular(),
    "negative": lambda: L.LinearOperatorDiag([-1.0, 1.0]).assert_positive_definite(),
    "not self-adjoint": lambda: full().assert_self_adjoint(),
    "the base": lambda: L.LinearOperator(tf.float32),
    "no spd": lambda: L.experimental.conjugate_gradient(full(), X[..., 0]),
}

PROGRAMS: dict[str, Callable[[], Any]] = {
    **{
        f"{kind}: {method}": of_method(kind, method)
        for kind, method in itertools.product(OPERATORS, METHODS)
    },
    **{
        f"{left} {method} {right}": of_pair(left, right, method)
        for left, right, method in itertools.product(ALGEBRA, ALGEBRA, ("matmul", "solve"))
    },
    **{f"refused: {name}": run for name, run in REFUSED.items()},
    **{
        f"gradient through {kind}": gradient_through(kind)
        for kind in (
            "FullMatrix",
            "Diag",
            "LowerTriangular",
            "Householder",
            "Toeplitz",
            "LowRankUpdate",
            "ScaledIdentity",
        )
    },
    "blocks": blocks,
    "saved": saved,
    "variable": variable,
    "conjugate_gradient": conjugate_gradient(),
    "conjugate_gradient, few": conjugate_gradient(max_iter=2),
    "conjugate_gradient, from a guess": conjugate_gradient(x=lambda: tf.constant(X[..., 1])),
    "conjugate_gradient, preconditioned": conjugate_gradient(
        preconditioner=lambda: L.LinearOperatorDiag(1 / np.diagonal(SPD, axis1=-2, axis2=-1))
    ),
}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps({name: outcome(run) for name, run in PROGRAMS.items()}))
