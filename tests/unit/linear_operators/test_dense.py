"""Every operator gives the results of its dense matrix, in float64, for random shapes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pinnace as tf
from support.drawing import Array
from support.linear_operators import KINDS, Case, Numbers, adjoint, any_numbers

# Number of examples for traced functions and triple runs: every class is drawn for each test.
FEW = 3
every_kind = pytest.mark.parametrize("kind", KINDS)
SQUARE = [kind for kind in KINDS if "wide" not in kind]
every_square_kind = pytest.mark.parametrize("kind", SQUARE)


def near(found: Any, wanted: Array) -> None:
    """Equal to nine digits of the largest entry: float64, matrices with a condition below 1e5."""
    array = np.asarray(found)
    assert array.shape == wanted.shape
    scale = np.max(np.abs(wanted), initial=1)
    np.testing.assert_allclose(array, wanted, rtol=1e-9, atol=1e-9 * scale)


def drawn(kind: str, numbers: Numbers) -> tuple[Case, Any, Array]:
    case = KINDS[kind](numbers)
    return case, case.operator, case.matrix


@every_kind
@given(numbers=any_numbers())
def test_its_entries_are_those_of_the_matrix(kind: str, numbers: Numbers) -> None:
    case, operator, matrix = drawn(kind, numbers)
    near(operator.to_dense(), matrix)
    assert operator.shape == matrix.shape
    assert operator.batch_shape == matrix.shape[:-2]
    assert operator.tensor_rank == matrix.ndim
    assert (operator.range_dimension, operator.domain_dimension) == matrix.shape[-2:]
    assert operator.is_square is (matrix.shape[-2] == matrix.shape[-1])
    assert operator.dtype == numbers.dtype
    near(operator.diag_part(), np.diagonal(matrix, axis1=-2, axis2=-1))
    near(operator.trace(), np.trace(matrix, axis1=-2, axis2=-1))
    near(operator.add_to_tensor(matrix), 2 * matrix)
    assert case.square or not operator.is_non_singular


@every_kind
@given(
    numbers=any_numbers(),
    transposed=st.tuples(st.booleans(), st.booleans()),
    whole_batch=st.booleans(),
)
def test_products_are_those_of_the_matrix(
    kind: str, numbers: Numbers, transposed: tuple[bool, bool], whole_batch: bool
) -> None:
    _, operator, matrix = drawn(kind, numbers)
    a = adjoint(matrix) if transposed[0] else matrix
    numbers.batch = matrix.shape[:-2] if whole_batch else (3, *matrix.shape[:-2])
    x = numbers(a.shape[-1], 2)
    given = adjoint(x) if transposed[1] else x
    near(operator.matmul(given, *transposed), a @ x)
    near(operator.matvec(x[..., 0], transposed[0]), (a @ x)[..., 0])
    if not any(transposed):
        near(operator @ x, a @ x)
        near(tf.matmul(operator, x), a @ x)
        near(tf.matmul(adjoint(x), operator, adjoint_b=True), adjoint(a @ x))
        near(adjoint(x) @ operator.H, adjoint(a @ x))


@every_square_kind
@given(numbers=any_numbers(), transposed=st.tuples(st.booleans(), st.booleans()))
def test_solutions_are_those_of_the_matrix(
    kind: str, numbers: Numbers, transposed: tuple[bool, bool]
) -> None:
    _, operator, matrix = drawn(kind, numbers)
    a = adjoint(matrix) if transposed[0] else matrix
    numbers.batch = (2, *matrix.shape[:-2])
    rhs = numbers(a.shape[-1], 3)
    given = adjoint(rhs) if transposed[1] else rhs
    solution = np.linalg.solve(np.broadcast_to(a, (2, *a.shape)), rhs)
    near(operator.solve(given, *transposed), solution)
    near(operator.solvevec(rhs[..., 0], transposed[0]), solution[..., 0])
    if not any(transposed):
        near(tf.linalg.solve(operator, rhs), solution)


@every_square_kind
@given(numbers=any_numbers())
def test_numbers_of_the_matrix(kind: str, numbers: Numbers) -> None:
    _, operator, matrix = drawn(kind, numbers)
    near(operator.determinant(), np.linalg.det(matrix))
    near(tf.linalg.det(operator), np.linalg.det(matrix))
    near(tf.math.real(operator.log_abs_determinant()), np.linalg.slogdet(matrix)[1])
    near(tf.math.real(operator.cond()), np.linalg.cond(matrix))
    if operator.is_self_adjoint:
        values = np.sort(np.asarray(tf.math.real(operator.eigvals())), -1)
        near(values, np.linalg.eigvalsh(matrix))
    operator.assert_non_singular()


@every_kind
@given(numbers=any_numbers())
def test_the_adjoint_is_that_of_the_matrix(kind: str, numbers: Numbers) -> None:
    _, operator, matrix = drawn(kind, numbers)
    near(operator.H.to_dense(), adjoint(matrix))
    near(tf.linalg.adjoint(operator).to_dense(), adjoint(matrix))
    near(operator.H.H.to_dense(), matrix)
    assert operator.H.shape == adjoint(matrix).shape
    x = numbers(matrix.shape[-2], 2)
    near(operator.H.matmul(x), adjoint(matrix) @ x)
    near(operator.H.trace(), np.trace(adjoint(matrix), axis1=-2, axis2=-1))


@every_square_kind
@given(numbers=any_numbers())
def test_the_inverse_is_that_of_the_matrix(kind: str, numbers: Numbers) -> None:
    _, operator, matrix = drawn(kind, numbers)
    near(operator.inverse().to_dense(), np.linalg.inv(matrix))
    near(tf.linalg.inv(operator).to_dense(), np.linalg.inv(matrix))
    x = numbers(matrix.shape[-2], 2)
    near(operator.inverse().solve(x), matrix @ x)
    near(operator.inverse().determinant(), 1 / np.linalg.det(matrix))


POSITIVE = [
    "FullMatrix, positive definite",
    "LowRankUpdate, positive definite",
    "Identity",
]


@pytest.mark.parametrize("kind", POSITIVE)
@given(numbers=any_numbers())
def test_cholesky_s_factor_multiplies_back(kind: str, numbers: Numbers) -> None:
    _, operator, matrix = drawn(kind, numbers)
    factor = operator.cholesky().to_dense()
    near(factor, np.tril(np.asarray(factor)))
    near(tf.matmul(factor, factor, adjoint_b=True), matrix)
    near(tf.linalg.cholesky(operator).to_dense(), np.asarray(factor))
    near(tf.math.real(tf.linalg.logdet(operator)), np.linalg.slogdet(matrix)[1])
    operator.assert_positive_definite()


@pytest.mark.parametrize("left", SQUARE)
@given(
    right=st.sampled_from(SQUARE), numbers=any_numbers(), transposed=st.tuples(*[st.booleans()] * 2)
)
def test_operators_multiply_as_their_matrices(
    left: str, right: str, numbers: Numbers, transposed: tuple[bool, bool]
) -> None:
    _, one, a = drawn(left, numbers)
    _, other, b = drawn(right, numbers)
    if a.shape[-1] != b.shape[-2]:
        with pytest.raises(ValueError, match="incompatible"):
            one.matmul(other)
        return
    a, b = (adjoint(x) if flip else x for x, flip in zip((a, b), transposed, strict=True))
    near(one.matmul(other, *transposed).to_dense(), a @ b)
    near(one.solve(other, *transposed).to_dense(), np.linalg.solve(a, b))


@every_kind
@given(numbers=any_numbers(), data=st.data())
def test_a_slice_of_a_batch_is_that_of_the_matrices(
    kind: str, numbers: Numbers, data: st.DataObject
) -> None:
    _, operator, matrix = drawn(kind, numbers)
    rank = matrix.ndim - 2
    keys = data.draw(
        st.lists(st.sampled_from([0, slice(None), slice(0, 1), None]), max_size=4).filter(
            lambda found: sum(key is not None for key in found) <= rank
        )
    )
    found = operator[tuple(keys) or ...]
    near(found.to_dense(), matrix[(*keys, ...)])
    assert type(found) is type(operator)


@every_kind
@given(numbers=any_numbers())
@settings(max_examples=FEW)
def test_a_traced_function_takes_and_gives_operators(kind: str, numbers: Numbers) -> None:
    _, operator, matrix = drawn(kind, numbers)
    x = numbers(matrix.shape[-1], 2)

    @tf.function
    def both(one: Any, argument: Any) -> Any:
        return one.matmul(argument), one, one.H

    product, same, other = both(operator, x)
    near(product, matrix @ x)
    near(same.to_dense(), matrix)
    assert same.spec == operator.spec
    near(other.to_dense(), adjoint(matrix))
    assert hash(same.spec) == hash(operator.spec)


@every_kind
@given(numbers=any_numbers())
@settings(max_examples=FEW)
def test_shapes_may_be_known_only_when_a_graph_runs(kind: str, numbers: Numbers) -> None:
    case, _, matrix = drawn(kind, numbers)
    unknown = [tf.TensorSpec([None] * np.ndim(part), np.asarray(part).dtype) for part in case.parts]
    x = numbers(matrix.shape[-1], 2)

    @tf.function(input_signature=[*unknown, tf.TensorSpec([None] * x.ndim, x.dtype)])
    def run(*arguments: Any) -> Any:
        operator = case.make(*arguments[:-1])
        numbers_of = (
            operator.shape_tensor(),
            operator.batch_shape_tensor(),
            operator.tensor_rank_tensor(),
            operator.range_dimension_tensor(),
            operator.domain_dimension_tensor(),
        )
        dense = operator.to_dense(), operator.diag_part(), operator.trace(), operator.H.to_dense()
        solved = operator.solve(arguments[-1]) if case.square else None
        return numbers_of, dense, operator.matmul(arguments[-1]), solved

    sizes, dense, product, solved = run(*case.parts, x)
    found = [np.asarray(one).tolist() for one in sizes]
    assert found == [list(matrix.shape), list(matrix.shape[:-2]), matrix.ndim, *matrix.shape[-2:]]
    near(dense[0], matrix)
    near(dense[1], np.diagonal(matrix, axis1=-2, axis2=-1))
    near(dense[2], np.trace(matrix, axis1=-2, axis2=-1))
    near(dense[3], adjoint(matrix))
    near(product, matrix @ x)
    if case.square:
        near(solved, np.linalg.solve(matrix, x))


@every_kind
@given(numbers=any_numbers(), method=st.sampled_from(["matmul", "solve", "log_abs_determinant"]))
@settings(max_examples=FEW)
def test_gradients_are_finite_differences(kind: str, numbers: Numbers, method: str) -> None:
    case, _, matrix = drawn(kind, numbers)
    if not case.parts or (method != "matmul" and not case.square):
        return
    x = tf.constant(numbers(matrix.shape[-1], 2))

    def value(*parts: Any) -> Any:
        operator = case.make(*parts)
        found = operator.log_abs_determinant() if "log" in method else getattr(operator, method)(x)
        return tf.reduce_sum(tf.math.real(found) * weights(found.shape))

    def weights(shape: Any) -> Any:
        return np.cos(np.arange(np.prod(shape.as_list(), dtype=int))).reshape(shape.as_list())

    parts = list(map(tf.constant, case.parts))
    with tf.GradientTape() as tape:
        tape.watch(parts)
        y = value(*parts)
    gradients = tape.gradient(y, parts, unconnected_gradients="zero")
    directions = [along(numbers, case, place) for place in range(len(case.parts))]
    exact = sum(
        np.sum((np.conj(np.asarray(one)) * direction).real)
        for one, direction in zip(gradients, directions, strict=True)
    )
    step = 1e-6
    ahead, behind = (
        float(value(*[p + s * d for p, d in zip(case.parts, directions, strict=True)]))
        for s in (step, -step)
    )
    # Central differences with step 1e-6 have an error of about 1e-9 of the value over the step.
    scale = max(1.0, abs(float(y)))
    np.testing.assert_allclose(exact, (ahead - behind) / (2 * step), rtol=1e-5, atol=1e-6 * scale)


def along(numbers: Numbers, case: Case, place: int) -> Array:
    """A permitted direction of change of a tensor: a Hermitian one stays Hermitian."""
    part = case.parts[place]
    found = numbers.rng.standard_normal(part.shape)
    if part.dtype.kind == "c" and numbers.dtype.kind == "c" and place not in case.real:
        found = found + 1j * numbers.rng.standard_normal(part.shape)
    if case.operator.is_self_adjoint and part.ndim >= 2 and part.shape[-1] == part.shape[-2]:
        found = found + adjoint(found)
    return np.asarray(found, part.dtype)
