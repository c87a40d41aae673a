"""Linear operators as objects: variables, saved modules, user-defined classes, refusals."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pinnace as tf
from pinnace.proto.struct_pb2 import TypeSpecProto
from pinnace.saved_model.codecs.structures import decode_composite, encode_composite
from support.linear_operators import KINDS, Numbers, any_numbers

linalg: Any = tf.linalg


class Shift(linalg.LinearOperator):  # type: ignore[misc] # its base is Any here
    """A user-defined operator: row i of A x is row i + 1 of x, and the last one is its first."""

    def __init__(self, size: int) -> None:
        super().__init__(tf.float64, is_square=True, parameters={"size": size}, name="shift")
        self._size = size

    def _shape(self) -> tf.TensorShape:
        return tf.TensorShape([self._size, self._size])

    def _shape_tensor(self) -> tf.Tensor:
        return tf.constant([self._size, self._size])

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = linalg.adjoint(x) if adjoint_arg else x
        return tf.roll(x, 1 if adjoint else -1, axis=-2)


class Model(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = tf.Variable([1.0, 2.0])
        self.operator = linalg.LinearOperatorComposition(
            [linalg.LinearOperatorDiag(self.scale), linalg.LinearOperatorHouseholder([1.0, 1.0])]
        )

    @tf.function(input_signature=[tf.TensorSpec([2], tf.float32)])
    def run(self, x: Any) -> Any:
        return self.operator.matvec(x)


@given(st.integers(1, 5))
def test_a_class_of_one_s_own_needs_three_methods(size: int) -> None:
    operator = Shift(size)
    matrix = np.roll(np.eye(size), -1, axis=0)
    x = np.arange(2.0 * size).reshape(size, 2)
    np.testing.assert_array_equal(operator.to_dense(), matrix)
    np.testing.assert_array_equal(operator.H.matmul(x), matrix.T @ x)
    # Solved by elimination of zeros and ones.
    np.testing.assert_allclose(operator.solve(x), np.linalg.solve(matrix, x), atol=1e-12)
    np.testing.assert_allclose((operator @ operator).to_dense(), matrix @ matrix)
    np.testing.assert_allclose(operator.determinant(), np.linalg.det(matrix), atol=1e-12)
    assert operator.parameters == {"size": size}


def test_a_class_of_one_s_own_is_an_object_to_a_function() -> None:
    traced = tf.function(lambda operator, x: operator.matvec(x))
    found = traced(Shift(3), tf.constant([1.0, 2.0, 3.0], tf.float64))
    assert found.numpy().tolist() == [2, 3, 1]


@given(any_numbers(), st.integers(1, 3))
def test_conjugate_gradients_solve(numbers: Numbers, columns: int) -> None:
    matrix = numbers.positive()
    operator = linalg.LinearOperatorFullMatrix(
        matrix, is_self_adjoint=True, is_positive_definite=True
    )
    numbers.batch = (columns, *numbers.batch)
    rhs = numbers(numbers.n)
    solve = linalg.experimental.conjugate_gradient
    exact = np.linalg.solve(np.broadcast_to(matrix, (*rhs.shape, numbers.n)), rhs[..., None])
    for run in (solve, tf.function(solve, autograph=False)):
        found = run(operator, tf.constant(rhs), tol=1e-13, max_iter=50)
        # The residual is 1e-13 of rhs, the solution as much as the condition (below 1e3) allows.
        np.testing.assert_allclose(found.x, exact[..., 0], rtol=1e-8, atol=1e-9)
        assert int(found.i) <= 50
    few = solve(operator, rhs, max_iter=1)
    assert int(few.i) <= 1


def test_variables_are_read_when_they_are_used_and_trained() -> None:
    weights = tf.Variable([1.0, 2.0])
    operator = linalg.LinearOperatorKronecker(
        [linalg.LinearOperatorDiag(weights), linalg.LinearOperatorIdentity(1)]
    )
    traces = []

    @tf.function
    def run(one: Any) -> Any:
        traces.append(one)
        return one.matvec([1.0, 1.0])

    assert run(operator).numpy().tolist() == [1, 2]
    weights.assign([3.0, 4.0])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(run(operator) ** 2)
    assert tape.gradient(y, weights).numpy().tolist() == [6, 8]
    assert len(traces) == 1
    assert operator.trainable_variables == (weights,)
    assert [one.name for one in operator.submodules] == [
        "LinearOperatorDiag",
        "LinearOperatorIdentity",
    ]


def test_a_module_with_operators_is_saved(tmp_path: Path) -> None:
    model = Model()
    model.scale.assign([3.0, 4.0])
    tf.saved_model.save(model, str(tmp_path))
    again = tf.saved_model.load(str(tmp_path))
    x = tf.constant([1.0, 2.0])
    assert model.run(x).numpy().tolist() == again.run(x).numpy().tolist()
    again.scale.assign([0.0, 1.0])
    np.testing.assert_allclose(again.run(x), [0, -1], atol=1e-6)


def test_a_function_of_an_operator_is_saved_with_its_spec(tmp_path: Path) -> None:
    operator = linalg.LinearOperatorBlockDiag(
        [linalg.LinearOperatorDiag([1.0, 2.0]), linalg.LinearOperatorIdentity(1)]
    )
    module = tf.Module()
    module.run = tf.function(lambda one, x: one.matvec(x))
    module.run.get_concrete_function(operator, tf.TensorSpec([3], tf.float32))
    tf.saved_model.save(module, str(tmp_path))
    other = linalg.LinearOperatorBlockDiag(
        [linalg.LinearOperatorDiag([5.0, 6.0]), linalg.LinearOperatorIdentity(1)]
    )
    again = tf.saved_model.load(str(tmp_path))
    assert again.run(other, tf.ones([3])).numpy().tolist() == [5, 6, 1]


def test_a_loop_carries_an_operator() -> None:
    @tf.function
    def power(operator: Any, x: Any, times: Any) -> Any:
        def step(i: Any, one: Any, y: Any) -> Any:
            return i + 1, one, one.matvec(y)

        return tf.while_loop(lambda i, *_: i < times, step, (0, operator, x))[2]

    found = power(linalg.LinearOperatorDiag([1.0, 2.0]), tf.ones([2]), tf.constant(3))
    assert found.numpy().tolist() == [1, 8]


@pytest.mark.parametrize(
    ("run", "error", "message"),
    [
        (
            lambda: linalg.LinearOperatorDiag([1.0]).matmul([[1.0], [2.0]]),
            ValueError,
            "Dimensions 1 and 2 are not compatible",
        ),
        (
            lambda: linalg.LinearOperatorDiag([1.0]).matvec(np.ones([1])),
            TypeError,
            "dtype float32, Found: float64",
        ),
        (
            lambda: linalg.LinearOperatorFullMatrix([[1.0]]).cholesky(),
            ValueError,
            "Not a positive definite self adjoint matrix",
        ),
        (
            lambda: linalg.LinearOperatorZeros(2).inverse(),
            ValueError,
            "represents a singular matrix",
        ),
        (
            lambda: linalg.LinearOperatorFullMatrix([[1.0]]).eigvals(),
            NotImplementedError,
            "Only self-adjoint matrices",
        ),
        (
            lambda: tf.exp(linalg.LinearOperatorDiag([1.0])),
            ValueError,
            "does not take a linear operator",
        ),
        (
            lambda: tf.convert_to_tensor(linalg.LinearOperatorDiag([1.0])),
            ValueError,
            "cannot convert",
        ),
        (
            lambda: linalg.LinearOperatorDiag([0.0]).assert_non_singular(),
            tf.errors.InvalidArgumentError,
            "zero values",
        ),
        (
            lambda: linalg.LinearOperatorAdjoint(
                linalg.LinearOperatorDiag([1.0]), is_self_adjoint=False
            ),
            ValueError,
            "if and only if its adjoint",
        ),
        (
            lambda: linalg.LinearOperatorBlockDiag([linalg.LinearOperatorDiag([1.0])] * 2).matmul(
                [np.ones([3, 1], "f"), np.ones([4, 1], "f")]
            ),
            ValueError,
            "x\\[0\\]",
        ),
    ],
)
def test_what_cannot_be_says_why(run: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        run()


@given(any_numbers(), st.sampled_from(sorted(KINDS)))
@settings(max_examples=30)
def test_a_file_holds_the_spec_as_tensorflow_writes_it(numbers: Numbers, kind: str) -> None:
    spec = KINDS[kind](numbers).operator.spec
    message = encode_composite(spec)
    # struct.proto: the number for TensorFlow's own classes without a separate number.
    assert message.type_spec_class == TypeSpecProto.REGISTERED_TYPE_SPEC
    assert message.type_spec_class_name == f"tf.linalg.{type(spec).__name__}"
    assert decode_composite(message, "here") == spec
