"""Variable, Operation, Function, device, remat: building blocks beside layers."""

from typing import Any

import numpy as np
import pytest

import pinnace as tf

keras = tf.keras
X = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)


@pytest.mark.parametrize(
    ("arguments", "value", "dtype"),
    [
        (([1, 2],), [1, 2], "int32"),
        (([1.0, 2.0],), [1, 2], "float32"),
        ((np.ones(2),), [1, 1], "float64"),
        (("ones", (2,), "float16"), [1, 1], "float16"),
        ((keras.initializers.Constant(3.0), (2,)), [3, 3], "float32"),
        ((lambda shape, dtype: np.full(shape, 2, dtype), (1,), "int64"), [2], "int64"),
    ],
)
def test_a_variable_is_made_of_a_value_or_an_initializer(
    arguments: Any, value: list[float], dtype: str
) -> None:
    made = keras.Variable(*arguments, name="mine")
    assert isinstance(made, keras.Variable)
    assert (made.dtype.name, made.path) == (dtype, "mine")
    np.testing.assert_array_equal(made.numpy(), value)


def test_weights_of_layers_are_variables() -> None:
    layer = keras.layers.Dense(2)
    layer.build((None, 3))
    assert isinstance(layer.kernel, keras.Variable)
    assert not isinstance(tf.constant(1.0), keras.Variable)
    layer.own = keras.Variable("zeros", (2,), trainable=False)
    assert len(layer.weights) == 3
    assert len(layer.trainable_weights) == 2


def test_a_variable_refuses_what_makes_no_value() -> None:
    with pytest.raises(ValueError, match="`shape` argument should be specified"):
        keras.Variable("zeros")
    with pytest.raises(ValueError, match="without a slash"):
        keras.Variable(1.0, name="a/b")


class Scaled(keras.Operation):
    def __init__(self, factor: float = 2.0, name: str | None = None) -> None:
        super().__init__(name=name)
        self.factor = factor

    def call(self, x: Any) -> Any:
        return x * self.factor


class Told(Scaled):
    def compute_output_spec(self, x: Any) -> Any:
        return keras.KerasTensor(x.shape, x.dtype)


@pytest.mark.parametrize("kind", [Scaled, Told])
def test_an_operation_is_a_node_and_no_layer(kind: Any) -> None:
    inputs = keras.Input((3,))
    dense = keras.layers.Dense(2)
    model = keras.Model(inputs, kind(3.0)(dense(inputs)))
    assert [type(layer).__name__ for layer in model.layers] == ["InputLayer", "Dense"]
    np.testing.assert_allclose(model(X), 3 * dense(X), rtol=1e-6)
    np.testing.assert_array_equal(kind(4.0)(X), X * 4)
    scope = {"Scaled": Scaled, "Told": Told}
    again = keras.Model.from_config(model.get_config(), scope)
    again.set_weights(model.get_weights())
    np.testing.assert_array_equal(again(X), model(X))


def test_layers_are_operations_and_only_some_operations_are_of_a_kind() -> None:
    assert isinstance(keras.layers.Dense(1), keras.Operation)
    assert issubclass(keras.layers.Dense, keras.Operation)
    assert isinstance(Told(), Scaled)
    assert not isinstance(keras.layers.Dense(1), Scaled)
    assert not isinstance(1, keras.Operation)


def test_a_function_is_the_graph_between_its_tensors() -> None:
    inputs = {"a": keras.Input((3,)), "b": keras.Input((2,))}
    dense = keras.layers.Dense(2)
    hidden = dense(inputs["a"]) + inputs["b"]
    function = keras.Function(inputs, [hidden, hidden * 2])
    b = np.ones((4, 2), np.float32)
    first, second = function({"a": X, "b": b})
    np.testing.assert_allclose(first, dense(X) + b, rtol=1e-6)
    np.testing.assert_allclose(second, 2 * first, rtol=1e-6)
    assert dense in function.operations
    assert len(function.inputs) == len(function.outputs) == 2
    spec = function.compute_output_spec({"a": keras.Input((3,), 5), "b": keras.Input((2,), 5)})
    assert spec[0].shape.as_list() == [5, 2]
    outer = keras.Model(inputs, function(inputs)[1])
    np.testing.assert_allclose(outer({"a": X, "b": b}), second, rtol=1e-6)


def test_a_function_refuses_other_inputs() -> None:
    inputs = keras.Input((3,))
    function = keras.Function(inputs, inputs * 2)
    with pytest.raises(ValueError, match="invalid input structure"):
        function([X, X])
    with pytest.raises(ValueError, match="incompatible inputs"):
        function(X[:, :2])
    with pytest.raises(ValueError, match="cannot be empty"):
        keras.Function([], inputs)
    with pytest.raises(ValueError, match="needed for the outputs"):
        keras.Function(keras.Input((3,)), inputs * 2)


def test_devices_have_names() -> None:
    with keras.device("cpu:0"):
        assert keras.ops.add(1, 2) == 3
    with pytest.raises(ValueError, match="device"), keras.device("nonsense!"):
        pass


def gradients(layer: Any, **options: Any) -> list[Any]:
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(layer(x, **options) ** 2)
    return [loss, *tape.gradient(loss, [x, *layer.trainable_variables])]


@pytest.mark.parametrize(
    "scope",
    [
        {"mode": "full"},
        {"mode": "activations"},
        {"mode": "larger_than", "output_size_threshold": 4},
        {"mode": "larger_than", "output_size_threshold": 1 << 20},
        {"mode": "list_of_layers", "layer_names": ["mine"]},
        {"mode": None},
    ],
)
@pytest.mark.parametrize("traced", [False, True])
def test_rematerialised_layers_have_the_same_gradients(scope: Any, traced: bool) -> None:
    with keras.RematScope(**scope):
        layer = keras.layers.Dense(5, "tanh", name="mine")
    plain = keras.layers.Dense(5, "tanh")
    for one in (layer, plain):
        one.build((None, 3))
    layer.set_weights(plain.get_weights())
    run = tf.function(gradients) if traced else gradients
    for ours, theirs in zip(run(layer, training=True), gradients(plain), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_a_rematerialised_layer_runs_again_for_its_gradient() -> None:
    runs = []

    class Counted(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            runs.append(1)
            return x * 2

    with keras.RematScope():
        layer = Counted()
    gradients(layer)
    assert len(runs) == 2
    with keras.RematScope("full"), keras.RematScope(None):
        layer = Counted()
    gradients(layer)
    assert len(runs) == 3
    with pytest.raises(ValueError, match="Invalid mode"):
        keras.RematScope("other")


def test_remat_takes_tensors_by_place_and_name() -> None:
    def f(x: Any, *, by: Any, twice: bool) -> Any:
        return {"y": x * by * (2 if twice else 1)}

    x, by = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])
    with tf.GradientTape() as tape:
        tape.watch([x, by])
        y = keras.remat(f)(x, by=by, twice=True)["y"]
    dx, dby = tape.gradient(y, [x, by])
    np.testing.assert_array_equal(y, [6, 16])
    np.testing.assert_array_equal(dx, [6, 8])
    np.testing.assert_array_equal(dby, [2, 4])


def test_layers_tell_how_they_are_called() -> None:
    class Mine(keras.layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.seen = [keras.metrics.Mean(name="seen")]
            self.inner = keras.layers.Dense(1)

        def call(self, x: Any, mask: Any = None, training: bool | None = None) -> Any:
            del mask, training
            return self.inner(x)

    layer = Mine()
    layer(X)
    assert layer.call_signature_parameters == ["x", "mask", "training"]
    assert [metric.name for metric in layer.metrics] == ["seen"]
    assert len(layer.metrics_variables) == 2
    assert layer.symbolic_call(keras.Input((3,))).shape.as_list() == [None, 1]
    assert (layer.autocast, layer.supports_jit, layer.input_dtype) == (True, True, "float32")
    assert layer.quantization_mode is None
    with pytest.raises(NotImplementedError, match="Layer Mine does not have a `quantize`"):
        layer.quantize("int8")


# Values of TensorFlow's Keras 3.15; each variable starts with ones.
@pytest.mark.parametrize(
    ("dtype", "how", "result"),
    [
        ("float32", "assign", [1.5, -2.5]),
        ("float16", "assign_add", [2.5, -1.5]),
        ("int32", "assign", [1, -2]),
        ("int32", "assign_add", [2, -1]),
        ("int64", "assign_sub", [0, 3]),
        ("bool", "assign", [True, True]),
    ],
)
@pytest.mark.parametrize("given", ["array", "tensor", "variable"])
@pytest.mark.parametrize("is_traced", [False, True])
def test_a_variable_casts_what_it_is_assigned(
    dtype: str, how: str, result: list[Any], given: str, is_traced: bool
) -> None:
    makers: dict[str, Any] = {"array": np.array, "tensor": tf.constant, "variable": tf.Variable}
    value = makers[given](np.array([1.5, -2.5]))
    for variable in (
        keras.Variable(np.ones(2), dtype=dtype),
        keras.Layer().add_weight(shape=(2,), dtype=dtype, initializer="ones"),
    ):
        assign = getattr(variable, how)
        assign = tf.function(assign) if is_traced else assign
        assign(value)
        np.testing.assert_array_equal(variable.numpy(), result)
