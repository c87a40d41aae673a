"""Factors multiply to the matrix; gradients do not depend on signs; failures say why."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pinnace
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.tensor import Tensor

RNG = np.random.default_rng(3)
SHAPES = [(3, 3), (4, 2), (2, 4), (2, 3, 2)]


def through_svd(x: Tensor, *, full: bool = False) -> Tensor:
    """A function of u and v that does not depend on their signs."""
    s, u, v = pinnace.linalg.svd(x, full_matrices=full)
    weights = pinnace.constant(np.arange(1.0, s.shape[-1] + 1))
    left = pinnace.matmul(u * weights, u, transpose_b=True)
    right = pinnace.matmul(v * weights, v, transpose_b=True)
    mixed = pinnace.matmul(u * pinnace.expand_dims(s * s, -2), v, transpose_b=True)
    return pinnace.concat([pinnace.reshape(part, [-1]) for part in (left, right, mixed)], 0)


def through_eigh(x: Tensor) -> Tensor:
    e, v = pinnace.linalg.eigh((x + pinnace.linalg.matrix_transpose(x)) / 2)
    return pinnace.matmul(v * pinnace.expand_dims(pinnace.sin(e), -2), v, transpose_b=True)


def assert_differentiable(function: Callable[[Tensor], Tensor], x: Any) -> None:
    point = pinnace.constant(x)
    with pinnace.GradientTape() as tape:
        tape.watch(point)
        y = function(point)
    dy, dx = RNG.standard_normal(y.shape), RNG.standard_normal(x.shape)
    exact = np.sum(np.asarray(tape.gradient(y, point, pinnace.constant(dy))) * dx)
    step = 1e-6
    ahead, behind = (np.asarray(function(pinnace.constant(x + s * dx))) for s in (step, -step))
    np.testing.assert_allclose(exact, np.sum(dy * (ahead - behind)) / (2 * step), rtol=1e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_singular_vectors_have_gradients(shape: tuple[int, ...]) -> None:
    assert_differentiable(through_svd, RNG.standard_normal(shape))


def test_singular_vectors_of_square_matrices_have_gradients_in_full() -> None:
    assert_differentiable(lambda x: through_svd(x, full=True), RNG.standard_normal((3, 3)))


def test_eigenvectors_have_gradients() -> None:
    assert_differentiable(through_eigh, RNG.standard_normal((2, 3, 3)))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("kind", ["float64", "complex128", "float32"])
def test_factors_multiply_back(shape: tuple[int, ...], full: bool, kind: str) -> None:
    x = RNG.standard_normal(shape).astype(kind)
    if kind == "complex128":
        x = x + 1j * RNG.standard_normal(shape)
    near = {"rtol": 1e-5, "atol": 1e-5} if kind == "float32" else {"rtol": 1e-12, "atol": 1e-12}
    least = min(shape[-2:])
    s, u, v = (np.asarray(part) for part in pinnace.linalg.svd(x, full_matrices=full))
    assert s.dtype == x.real.dtype
    back = (u[..., :least] * s[..., None, :]) @ v[..., :least].conj().swapaxes(-1, -2)
    np.testing.assert_allclose(back, x, **near)
    q, r = (np.asarray(part) for part in pinnace.linalg.qr(x, full_matrices=full))
    np.testing.assert_allclose(q @ r, x, **near)
    assert q.shape[-1] == (shape[-2] if full else least)


def test_eigenvectors_are_columns() -> None:
    x = np.array([[2.0, 1.0], [1.0, 3.0]])
    e, v = (np.asarray(part) for part in pinnace.linalg.eigh(x))
    np.testing.assert_allclose(x @ v, v * e)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_only_matrices_that_are_not_positive_definite_have_no_factor(dtype: str) -> None:
    # As in TensorFlow 2.21: NaN below and on the diagonal.
    x = np.stack([np.eye(2) * 4, -np.eye(2), [[1, 2], [2, 1]]]).astype(dtype)
    found = np.asarray(pinnace.linalg.cholesky(x[:, None]))[:, 0]
    np.testing.assert_array_equal(found[0], np.eye(2) * 2)
    for factor in found[1:]:
        assert np.isnan(factor[np.tril_indices(2)]).all()
        assert factor[0, 1] == 0
    logs = np.asarray(pinnace.linalg.logdet(x.real.astype("float64")))
    np.testing.assert_allclose(logs, [np.log(16), np.nan, np.nan])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pinnace.linalg.inv(np.zeros((2, 2))), "MatrixInverse: matrix must be invertible"),
        (lambda: pinnace.linalg.solve(np.zeros((2, 2)), np.ones((2, 1))), "must be invertible"),
        (lambda: pinnace.linalg.det(np.ones((2, 3))), "input must be square, got 2 by 3"),
        (lambda: pinnace.linalg.inv(np.ones(3)), "input must have at least two axes"),
        (lambda: pinnace.linalg.diag_part(np.ones((2, 2)), k=5), "k must be from -1 to 1"),
        (lambda: pinnace.linalg.set_diag(np.ones((2, 2)), np.ones(3)), "diagonal must have shape"),
        (lambda: pinnace.linalg.diag(np.ones(3), num_rows=2), "num_rows and num_cols must fit"),
    ],
)
def test_failures_say_why(call: Callable[[], object], words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words):
        call()


def test_identity_matrices_come_in_batches_of_unknown_size() -> None:
    rows = pinnace.constant(2)
    assert pinnace.eye(rows, 3, batch_shape=[4]).shape == [4, 2, 3]
    np.testing.assert_array_equal(np.asarray(pinnace.eye(rows)), np.eye(2))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32])
def test_identity_matrices_take_their_sizes_in_any_number(dtype: type[np.generic]) -> None:
    n, m = pinnace.constant(3, dtype), pinnace.constant(2, dtype)
    for sizes in ((n,), (n, m), (2, n), (n, 2)):
        plain = [int(np.asarray(size)) for size in sizes]
        np.testing.assert_array_equal(np.asarray(pinnace.eye(*sizes)), np.eye(*plain))
    assert pinnace.eye(n, batch_shape=[2]).shape == [2, 3, 3]


def test_a_norm_has_an_order() -> None:
    with pytest.raises(ValueError, match="ord must be"):
        pinnace.norm([1.0], ord="nuclear")
    with pytest.raises(ValueError, match="axis must be"):
        pinnace.norm(np.ones((2, 2, 2)), axis=[0, 1, 2])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_determinants_past_the_largest_number_are_infinite_without_a_warning(dtype: Any) -> None:
    large = np.diag([1e38] * 9 + [-1e38]).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.real(pinnace.linalg.det(large)) == -np.inf
        sign, log = pinnace.linalg.slogdet(large)
    assert (np.real(sign), round(float(np.real(log)))) == (-1, 875)


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_the_sign_of_an_unknown_determinant_is_nan(value: float) -> None:
    sign, log = pinnace.linalg.slogdet(np.array([[[value, value], [1, 1]], [[2, 0], [0, -1]]]))
    np.testing.assert_array_equal(sign, [np.nan, -1])
    np.testing.assert_allclose(log, [np.nan, np.log(2)])


def test_a_triangular_matrix_with_zeros_on_its_diagonal_has_a_solution_that_is_not_finite() -> None:
    solve, inf = pinnace.linalg.triangular_solve, np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(solve([[1.0, 0], [2, 0]], [[1.0], [3]]), [[1], [inf]])
        np.testing.assert_array_equal(solve([[0.0, 0], [2, 1]], [[1.0], [3]]), [[inf], [-inf]])
        upper = pinnace.constant([[1.0, 2], [0, 0]])
        np.testing.assert_array_equal(solve(upper, [[1.0], [-3]], lower=False), [[inf], [-inf]])
        found = solve(upper, [[1.0], [-3]], lower=False, adjoint=True)
        np.testing.assert_array_equal(found, [[1], [-inf]])
        found = pinnace.linalg.cholesky_solve([[0.0]], [[1.0, -1, 0]])
        np.testing.assert_array_equal(found, [[inf, -inf, np.nan]])


def test_a_determinant_of_zero_times_infinity_is_nan() -> None:
    rows = [[[0, 0], [np.inf, 1]], [[0, 0], [0, np.inf]], [[0, 0], [0, 1]], [[np.inf, 1], [1, 1]]]
    found = pinnace.linalg.det(pinnace.constant(rows, pinnace.float32))
    np.testing.assert_array_equal(found, [np.nan, np.nan, 0, np.inf])


@pytest.mark.parametrize(
    ("dtype", "wanted"),
    [("float32", "complex128"), ("float64", "complex64"), ("float32", "float32")],
)
@pytest.mark.parametrize("traced", [False, True])
def test_eigenvalues_have_the_complex_type_of_their_matrix(
    dtype: str, wanted: str, traced: bool
) -> None:
    def call() -> Any:
        matrix = pinnace.eye(2, dtype=dtype)
        return pinnace.raw_ops.Eig(input=matrix, Tout=pinnace.as_dtype(wanted))[0]

    with pytest.raises(InvalidArgumentError, match="Eig: Tout must be"):
        pinnace.function(call)() if traced else call()
