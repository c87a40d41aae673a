"""Formulas that become one operator, in all their forms."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pinnace as tf
from pinnace.deploy.onnx import ExportReport, export
from pinnace.framework.specs import TensorSpec
from pinnace.keras import layers
from unit.deploy.onnx.networks import conv, image, traced

ROWS = TensorSpec([None, 5, 6], np.float32, name="rows")
IR = {18: 8, 20: 9, 23: 11, 24: 12}
few = settings(max_examples=max(3, settings().max_examples // 5))


def exported(function: Callable[..., Any], *specs: TensorSpec, opset: int = 18) -> ExportReport:
    """Export a function, which compares the file with pinnace's outputs."""
    return export(traced(function, *specs), opset=opset, ir_version=IR[opset])


def counts(
    function: Callable[..., Any], opset: int = 18, spec: TensorSpec = ROWS
) -> dict[str, int]:
    return dict(exported(function, spec, opset=opset).op_counts)


def gelu_by_error(order: int) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        erf = tf.math.erf(x / np.float32(np.sqrt(2)) if order % 2 else x * np.float32(np.sqrt(0.5)))
        factors = [x, erf + 1.0 if order % 3 else 1.0 + erf, tf.constant(0.5)]
        first, second, third = list(itertools.permutations(factors))[order]
        return first * second * third

    return function


@pytest.mark.parametrize("order", range(6))
def test_gelu_by_the_error_function(order: int) -> None:
    assert counts(gelu_by_error(order), 20) == {"Gelu": 1}
    assert "Gelu" not in counts(gelu_by_error(order), 18)


@pytest.mark.parametrize("approximate", [False, True])
def test_gelu_of_a_layer(approximate: bool) -> None:
    def function(x: Any) -> Any:
        return tf.nn.gelu(x, approximate=approximate)

    report = exported(function, ROWS, opset=20)
    assert dict(report.op_counts) == {"Gelu": 1}
    told = {a.name: a.s for a in report.model.graph.node[0].attribute}
    assert told.get("approximate", b"none") == (b"tanh" if approximate else b"none")


def test_gelu_by_the_complementary_error_function() -> None:
    def function(x: Any) -> Any:
        return 0.5 * x * tf.math.erfc(-x * np.float32(np.sqrt(0.5)))

    assert counts(function, 20) == {"Gelu": 1}
    # ONNX Runtime has a kernel for the form with Erf, so that erfc's precision is not needed.
    assert "Exp" not in counts(function, 18)


def test_functions_of_functions() -> None:
    def function(x: Any) -> Any:
        for _ in range(3):
            x = x * tf.tanh(tf.nn.softplus(x))
            x = x * tf.nn.relu6(x + 3.0) / 6.0
        return x

    assert counts(function) == {"Mish": 3, "HardSwish": 3}


def test_a_part_of_a_formula_that_others_take_is_written_out() -> None:
    def function(x: Any) -> Any:
        tail = tf.math.erfc(-x * np.float32(np.sqrt(0.5)))
        return 0.5 * x * tail, tail * 3.0

    assert counts(function, 20)["Gelu"] == 1


def test_other_functions_of_the_error_stay() -> None:
    def function(x: Any) -> Any:
        return x * (1.0 + tf.math.erf(x)) * 0.5

    assert "Gelu" not in counts(function, 20)
    assert counts(lambda x: tf.math.erfc(x), 20)["Erf"] == 1


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (lambda x: x * tf.nn.relu6(x + 3.0) / 6.0, {"HardSwish": 1}),
        (lambda x: tf.nn.relu6(3.0 + x) * (1 / 6) * x, {"HardSwish": 1}),
        (lambda x: tf.nn.relu6(x + 3.0) / 6.0, {"HardSigmoid": 1}),
        (lambda x: x * tf.tanh(tf.nn.softplus(x)), {"Mish": 1}),
        (lambda x: x * tf.nn.relu6(x + 2.0) / 6.0, {"Add": 1, "Clip": 1, "Div": 1, "Mul": 1}),
        (lambda x: x * tf.nn.relu6(x + 3.0) / 5.0, {"Add": 1, "Clip": 1, "Div": 1, "Mul": 1}),
    ],
)
def test_ramps(function: Any, wanted: dict[str, int]) -> None:
    assert counts(function) == wanted


def test_swish_is_one_operator_where_there_is_one() -> None:
    assert counts(tf.nn.silu, 24) == {"Swish": 1}
    assert counts(tf.nn.silu, 23) == {"Mul": 1, "Sigmoid": 1}


@pytest.mark.parametrize("axis", [-1, 1])
@pytest.mark.parametrize("shifted", [False, True])
def test_softmax_that_is_written_out(axis: int, shifted: bool) -> None:
    def function(x: Any) -> Any:
        less = x - tf.reduce_max(x, axis, keepdims=True) if shifted else x
        e = tf.exp(less)
        return e / tf.reduce_sum(e, axis, keepdims=True)

    assert counts(function) == {"Softmax": 1}


# Normalisations.


@few
@given(
    root=st.sampled_from(["rsqrt", "sqrt", "pow"]),
    form=st.sampled_from(["centred", "spread", "scaled"]),
    axes=st.sampled_from([[-1], [1, 2]]),
    scale=st.booleans(),
    shift=st.booleans(),
)
def test_layer_normalisation(
    root: str, form: str, axes: list[int], scale: bool, shift: bool
) -> None:
    rng = np.random.default_rng(0)
    sizes = [6] if axes == [-1] else [5, 6]
    gamma, beta = (rng.standard_normal(sizes).astype("f4") for _ in range(2))

    def function(x: Any) -> Any:
        mean = tf.reduce_mean(x, axes, keepdims=True)
        if form == "centred":
            variance = tf.reduce_mean(tf.math.squared_difference(x, mean), axes, keepdims=True)
        else:
            variance = tf.reduce_mean((x - mean) ** 2, axes, keepdims=True)
        total = variance + 1e-3
        if root == "sqrt":
            y = (x - mean) / tf.sqrt(total)
        else:
            inverse = tf.math.rsqrt(total)
            if form == "scaled" and scale:
                inverse = inverse * gamma
                y = x * inverse - mean * inverse
                return y + beta if shift else y
            y = (x - mean) * inverse
        y = y * gamma if scale else y
        return y + beta if shift else y

    assert counts(function) == {"LayerNormalization": 1}


@pytest.mark.parametrize("opset", [18, 23])
def test_normalisation_without_a_mean(opset: int) -> None:
    def function(x: Any) -> Any:
        squares = tf.reduce_mean(tf.square(x), [-1], keepdims=True)
        return x * tf.math.rsqrt(squares + 1e-6) * np.linspace(1, 2, 6).astype("f4")

    wanted = {"RMSNormalization": 1} if opset == 23 else None
    found = counts(function, opset)
    assert found == wanted if wanted else "RMSNormalization" not in found


def test_moments_of_other_axes_stay() -> None:
    def function(x: Any) -> Any:
        mean = tf.reduce_mean(x, [1], keepdims=True)
        variance = tf.reduce_mean((x - mean) ** 2, [1], keepdims=True)
        return (x - mean) * tf.math.rsqrt(variance + 1e-3)

    assert "LayerNormalization" not in counts(function)


def test_a_normalisation_between_convolutions_costs_no_transposition() -> None:
    def net(x: Any) -> Any:
        y = conv(x, 4)
        mean = tf.reduce_mean(y, [-1], keepdims=True)
        variance = tf.reduce_mean((y - mean) ** 2, [-1], keepdims=True)
        return conv((y - mean) * tf.math.rsqrt(variance + 1e-3), 3)

    assert exported(net, image()).transposes == 2


# Attention.


def attention(mask: str) -> Any:
    x = tf.keras.Input((None, 12))
    layer = layers.MultiHeadAttention(3, 4)
    y = layer(x, x, use_causal_mask=mask == "causal")
    return tf.keras.Model(x, y)


@pytest.mark.parametrize("mask", ["none", "causal"])
def test_attention_is_one_operator_where_there_is_one(mask: str) -> None:
    model = attention(mask)
    newer = export(model, opset=23, ir_version=11).op_counts
    assert newer["Attention"] == 1
    assert "Softmax" not in newer
    older = export(model).op_counts
    assert older["Softmax"] == 1
    assert "Attention" not in older


# Products of higher rank.


def test_a_dense_layer_of_sequences_is_a_product() -> None:
    x = tf.keras.Input((None, 6))
    model = tf.keras.Model(x, layers.Dense(4, bias_initializer="ones")(x))
    assert export(model).op_counts == {"Add": 1, "MatMul": 1}


def test_a_block_of_a_transformer_asks_for_no_sizes() -> None:
    x = tf.keras.Input((None, 8))
    y = layers.LayerNormalization()(x)
    y = layers.Add()([x, layers.MultiHeadAttention(2, 4)(y, y)])
    z = layers.Dense(16, activation="gelu")(layers.LayerNormalization()(y))
    model = tf.keras.Model(x, layers.Add()([y, layers.Dense(8)(z)]))
    counted = export(model, opset=20, ir_version=9).op_counts
    assert not {"Shape", "Concat", "Gather", "Cast"} & set(counted)
    assert counted["LayerNormalization"] == 2
    assert counted["Gelu"] == 1


def test_rows_that_get_other_axes_are_not_taken_for_the_old_ones() -> None:
    def net(x: Any) -> Any:
        rows = tf.reshape(x, [-1, 6]) @ np.ones((6, 2), "f4")
        return tf.reshape(rows, [5, -1, 2])

    report = exported(net, ROWS)
    assert report.op_counts["Reshape"] == 2


# Cases that ONNX Runtime computes wrongly.


def test_zeros_around_a_pool_stay_zeros() -> None:
    def net(x: Any) -> Any:
        y = tf.pad(-tf.abs(conv(x, 4)) - 1.0, [[0, 0], [1, 1], [1, 1], [0, 0]])
        return tf.nn.max_pool2d(y, 3, 2, "VALID")

    exported(net, image())
