"""Activations, regularizers and constraints against their formulas."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pinnace.framework.convert import convert_to_tensor
from pinnace.keras import activations, constraints, regularizers
from pinnace.keras.registry import deserialize_keras_object, serialize_keras_object

F = NDArray[np.float64]
X = np.linspace(-4, 4, 24).reshape(6, 4)


def sigmoid(x: F) -> F:
    return 1 / (1 + np.exp(-x))


def softplus(x: F) -> F:
    return np.log1p(np.exp(x))


def softmax(x: F) -> F:
    return np.exp(x) / np.exp(x).sum(-1, keepdims=True)


def selu(x: F) -> F:
    return 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x))


def gelu(x: F) -> F:
    return x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2


def sparsemax(x: F) -> F:
    """The point of the simplex nearest to each row, by bisection of τ."""
    low, high = x.max(-1, keepdims=True) - 1, x.max(-1, keepdims=True)
    for _ in range(60):
        middle = (low + high) / 2
        above = np.maximum(x - middle, 0).sum(-1, keepdims=True) > 1
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.maximum(x - low, 0)


FORMULAS: list[tuple[str, Callable[[F], F]]] = [
    ("linear", lambda x: x),
    ("celu", lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0)))),
    ("glu", lambda x: x[:, :2] * sigmoid(x[:, 2:])),
    ("hard_shrink", lambda x: np.where(np.abs(x) > 0.5, x, 0)),
    ("hard_tanh", lambda x: np.clip(x, -1, 1)),
    ("soft_shrink", lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0)),
    ("sparse_plus", lambda x: np.select([x <= -1, x < 1], [0 * x, (x + 1) ** 2 / 4], x)),
    ("sparse_sigmoid", lambda x: np.select([x <= -1, x < 1], [0 * x, (x + 1) / 2], 1)),
    ("sparsemax", sparsemax),
    ("squareplus", lambda x: (x + np.sqrt(x**2 + 4)) / 2),
    ("tanh_shrink", lambda x: x - np.tanh(x)),
    ("relu", lambda x: np.maximum(x, 0)),
    ("relu6", lambda x: np.clip(x, 0, 6)),
    ("leaky_relu", lambda x: np.where(x > 0, x, 0.2 * x)),
    ("elu", lambda x: np.where(x > 0, x, np.expm1(x))),
    ("selu", selu),
    ("gelu", gelu),
    ("silu", lambda x: x * sigmoid(x)),
    ("swish", lambda x: x * sigmoid(x)),
    ("sigmoid", sigmoid),
    ("hard_sigmoid", lambda x: np.clip(x / 6 + 0.5, 0, 1)),
    ("hard_silu", lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
    ("log_sigmoid", lambda x: np.log(sigmoid(x))),
    ("tanh", np.tanh),
    ("softmax", softmax),
    ("log_softmax", lambda x: np.log(softmax(x))),
    ("softplus", softplus),
    ("softsign", lambda x: x / (1 + np.abs(x))),
    ("exponential", np.exp),
    ("mish", lambda x: x * np.tanh(softplus(x))),
]


@pytest.mark.parametrize(("name", "formula"), FORMULAS, ids=[name for name, _ in FORMULAS])
def test_an_activation_is_its_formula(name: str, formula: Callable[[F], F]) -> None:
    function = activations.get(name)
    np.testing.assert_allclose(function(convert_to_tensor(X)).numpy(), formula(X), rtol=1e-6)
    assert activations.get(activations.serialize(function)) is function


def test_relu_is_capped_and_leaks() -> None:
    found = activations.relu(convert_to_tensor(X), 0.1, max_value=2.0, threshold=1.0).numpy()
    wanted = np.where(X >= 1, np.minimum(X, 2), 0.1 * (X - 1))
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert activations.relu(convert_to_tensor(X), max_value=6.0).numpy().max() == 4


def test_functions_and_nothing_are_activations() -> None:
    assert activations.get(abs) is abs
    assert activations.get(None) is activations.linear
    with pytest.raises(ValueError, match=r"activation: name must be one of .*, got 'rleu'"):
        activations.get("rleu")


@pytest.mark.parametrize(
    ("regularizer", "wanted"),
    [
        (regularizers.L1(0.1), 0.1 * np.abs(X).sum()),
        (regularizers.L2(0.1), 0.1 * (X**2).sum()),
        (regularizers.L1L2(0.1, 0.2), 0.1 * np.abs(X).sum() + 0.2 * (X**2).sum()),
        (regularizers.get("l2"), 0.01 * (X**2).sum()),
        (regularizers.l1_l2(l1=0.01), 0.01 * np.abs(X).sum()),  # as in Keras 3: no l2
        (regularizers.L1L2(), 0.0),
    ],
)
def test_regularizers(regularizer: Any, wanted: float) -> None:
    assert float(regularizer(convert_to_tensor(X))) == pytest.approx(wanted)
    again = deserialize_keras_object(serialize_keras_object(regularizer))
    assert again.get_config() == regularizer.get_config()


def test_a_factor_must_be_a_number() -> None:
    with pytest.raises(ValueError, match="regularizer: l2 must be a number, at least 0, got -1"):
        regularizers.L2(-1)


def lengths(x: F) -> F:
    return np.sqrt((x**2).sum(0, keepdims=True))


@pytest.mark.parametrize(
    ("constraint", "formula"),
    [
        (constraints.NonNeg(), lambda x: np.maximum(x, 0)),
        (constraints.UnitNorm(), lambda x: x / lengths(x)),
        (constraints.MaxNorm(6.0), lambda x: x * np.minimum(lengths(x), 6) / lengths(x)),
        (
            constraints.MinMaxNorm(6.0, 6.1, rate=0.5),
            lambda x: x * (np.clip(lengths(x), 6, 6.1) + lengths(x)) / 2 / lengths(x),
        ),
    ],
    ids=lambda v: type(v).__name__,
)
def test_constraints(constraint: Any, formula: Callable[[F], F]) -> None:
    np.testing.assert_allclose(constraint(convert_to_tensor(X)).numpy(), formula(X), rtol=1e-6)
    again = deserialize_keras_object(serialize_keras_object(constraint))
    assert again.get_config() == constraint.get_config()


def test_pieces_take_their_arguments() -> None:
    x = convert_to_tensor(X.astype(np.float32))
    np.testing.assert_array_equal(
        activations.threshold(x, 0.5, -2.0), np.where(X > 0.5, X, -2.0).astype(np.float32)
    )
    np.testing.assert_allclose(activations.glu(x, axis=0), X[:3] * sigmoid(X[3:]), rtol=1e-6)
    np.testing.assert_allclose(
        activations.celu(x, 2.0), np.where(X > 0, X, 2 * np.expm1(np.minimum(X, 0) / 2)), rtol=1e-5
    )
    columns = activations.sparsemax(x, axis=0)
    np.testing.assert_allclose(columns, sparsemax(X.T).T, atol=1e-6)
    with pytest.raises(ValueError, match=r"axis -1 must have an even size, got shape \[3\]"):
        activations.glu(convert_to_tensor([1.0, 2.0, 3.0]))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "bool"])
@pytest.mark.parametrize("name", ["tanh", "exponential"])
def test_integers_are_taken_as_floats(name: str, dtype: str) -> None:
    x = np.arange(4).astype(dtype)
    number = x.astype(np.float64)
    wanted = {"tanh": np.tanh, "exponential": np.exp}[name](number)
    for given in (x, convert_to_tensor(x), x.tolist()):
        found = getattr(activations, name)(given)
        assert found.dtype == "float32"
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
