"""Layer: building, weights, names, training, losses, configuration, error messages."""

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.variable import Variable
from pinnace.functions.function import function
from pinnace.keras import layers, regularizers, utils_namespace
from pinnace.keras.layer import Layer
from pinnace.keras.registry import deserialize_keras_object, serialize_keras_object
from pinnace.ops.math.products import matmul
from pinnace.ops.math.reduction import reduce_sum

X = np.arange(6, dtype=np.float32).reshape(2, 3)


class OfKeras(Layer):
    """A layer as in programs for Keras 3."""

    def __init__(self, units: int = 2, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units = units
        self.builds = 0

    def build(self, input_shape: Any) -> None:
        self.builds += 1
        self.seen = tuple(input_shape)
        self.w = self.add_weight(shape=(input_shape[-1], self.units), initializer="ones", name="w")
        self.b = self.add_weight(shape=(self.units,), initializer="zeros", trainable=False)

    def call(self, inputs: Any) -> Any:
        return matmul(inputs, self.w) + self.b


class OfOlderKeras(Layer):
    """A layer as in programs for TensorFlow 2.0."""

    def __init__(self, num_outputs: int) -> None:
        super().__init__()
        self.num_outputs = num_outputs

    def build(self, input_shape: Any) -> None:
        self.kernel = self.add_weight("kernel", shape=[int(input_shape[-1]), self.num_outputs])
        super().build(input_shape)

    def call(self, inputs: Any) -> Any:
        return matmul(inputs, self.kernel)


def test_a_layer_is_built_once_with_the_shape_of_its_input() -> None:
    layer = OfKeras(name="mine")
    assert not layer.built
    np.testing.assert_array_equal(layer(X).numpy(), [[3, 3], [12, 12]])
    layer(X)
    assert (layer.builds, layer.seen, layer.built) == (1, (2, 3), True)
    assert [v.path for v in layer.weights] == ["mine/w", "mine/variable"]
    assert [v.name for v in layer.weights] == ["w", "variable"]


def test_older_orders_of_arguments_are_understood() -> None:
    layer = OfOlderKeras(4)
    assert layer(X).shape == (2, 4)
    assert layer.kernel.shape == (3, 4)
    first = layer.add_weight("first", (2,), "float64", "ones")
    second = layer.add_weight((2,), "ones")
    third = layer.add_variable("third", [1], initializer="zeros")
    assert (first.dtype.name, first.numpy().tolist()) == ("float64", [1, 1])
    assert second.numpy().tolist() == [1, 1]
    assert third.path.endswith("/third")


def test_build_can_be_called_with_a_shape() -> None:
    layer = layers.Dense(3)
    layer.build((None, 5))
    assert layer.built
    assert layer.kernel.shape == (5, 3)
    own = OfKeras()
    own.build([None, 4])
    assert own.w.shape == (4, 2)


def test_layers_in_attributes_lists_and_dicts_are_found() -> None:
    class Nested(Layer):
        def __init__(self) -> None:
            super().__init__()
            self.first = layers.Dense(2)
            self.more = [layers.Dense(3), {"deep": layers.Dense(4)}]
            self.more.append(layers.Dense(5))
            self.scale = Variable(2.0)
            self.fixed = Variable(1.0, trainable=False)

        def call(self, x: Any) -> Any:
            x = self.more[1]["deep"](self.more[0](self.first(x)))
            return self.more[2](x) * self.scale + self.fixed

    layer = Nested()
    assert layer(X).shape == (2, 5)
    assert len(layer.layers_inside) == 4
    assert [list(v.shape) for v in layer.weights] == [
        *([], [], [3, 2], [2], [2, 3], [3], [3, 4], [4], [4, 5], [5]),
    ]
    assert len(layer.trainable_weights) == 9
    assert layer.non_trainable_weights[0] is layer.fixed


def test_weights_of_a_shared_layer_count_once() -> None:
    shared = layers.Dense(3)

    class Twice(Layer):
        def __init__(self) -> None:
            super().__init__()
            self.a = shared
            self.b = shared

        def call(self, x: Any) -> Any:
            return self.b(self.a(x))

    layer = Twice()
    layer(X)
    assert len(layer.weights) == 2
    assert layer.count_params() == 12


def test_freezing_reaches_the_layers_inside() -> None:
    class Outer(Layer):
        def __init__(self) -> None:
            super().__init__()
            self.inner = layers.Dense(2)

        def call(self, x: Any) -> Any:
            return self.inner(x)

    layer = Outer()
    layer(X)
    layer.trainable = False
    assert not layer.trainable_weights
    assert len(layer.non_trainable_weights) == 2
    layer.inner.trainable = True
    assert not layer.trainable_weights
    layer.trainable = True
    assert len(layer.trainable_weights) == 2


def test_weights_are_read_and_written() -> None:
    layer = layers.Dense(2)
    layer(X)
    layer.set_weights([np.ones((3, 2)), [1, 2]])
    np.testing.assert_array_equal(layer(X).numpy(), [[4, 5], [13, 14]])
    assert [w.tolist() for w in layer.get_weights()] == [[[1, 1]] * 3, [1, 2]]


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([np.ones((3, 2))], "has 2 weights, got 1\n  weights: d/kernel .*, d/bias "),
        ([np.ones((2, 2)), np.ones(2)], r"'d/kernel' must have shape \[3, 2\], got \[2, 2\]"),
    ],
    ids=["number", "shape"],
)
def test_weights_that_do_not_fit_are_told(weights: list[Any], words: str) -> None:
    layer = layers.Dense(2, name="d")
    layer(X)
    before = layer.get_weights()
    with pytest.raises(ValueError, match=words):
        layer.set_weights(weights)
    assert all(np.array_equal(a, b) for a, b in zip(before, layer.get_weights(), strict=True))


class TellsTraining(Layer):
    def call(self, x: Any, training: bool | None = None) -> Any:
        self.told = training
        return x


class Around(Layer):
    def __init__(self) -> None:
        super().__init__()
        self.inner = TellsTraining()

    def call(self, x: Any) -> Any:
        return self.inner(x)


class Stubborn(Around):
    def call(self, x: Any) -> Any:
        return self.inner(x, training=False)


class ByDefault(Around):
    def call(self, x: Any, training: bool = True) -> Any:  # noqa: ARG002 (it goes inwards)
        return self.inner(x)


@pytest.mark.parametrize(
    ("outer", "options", "told"),
    [
        (Around, {}, None),
        (Around, {"training": True}, True),
        (Around, {"training": False}, False),
        (Stubborn, {"training": True}, False),
        (ByDefault, {}, True),
        (ByDefault, {"training": False}, False),
    ],
)
def test_training_goes_inwards(
    outer: type[Around], options: dict[str, bool], told: bool | None
) -> None:
    layer = outer()
    layer(X, **options)
    assert layer.inner.told is told
    function(lambda x: layer(x, **options))(X)
    assert layer.inner.told is told


def test_training_can_be_told_by_position() -> None:
    layer = TellsTraining()
    layer(X, True)
    assert layer.told is True
    layer(X)
    assert layer.told is None, "what one call was told does not stay"


def test_losses_are_those_of_the_last_call_and_of_the_weights() -> None:
    class Penalised(Layer):
        def __init__(self) -> None:
            super().__init__()
            self.dense = layers.Dense(2, kernel_initializer="ones", kernel_regularizer="l1")

        def call(self, x: Any) -> Any:
            self.add_loss(reduce_sum(x))
            return self.dense(x)

    layer = Penalised()
    for _ in range(2):
        layer(X)
        assert [float(loss) for loss in layer.losses] == pytest.approx([15, 0.06])
    layer.dense.trainable = False
    assert len(layer.losses) == 1


def test_an_activity_regularizer_penalises_the_output() -> None:
    layer = layers.Activation("linear", activity_regularizer=regularizers.L2(0.5))
    layer(X)
    assert float(layer.losses[0]) == pytest.approx(0.5 * (X**2).sum() / 2)


def test_names_are_numbered_by_class() -> None:
    utils_namespace.clear_session()
    names = [
        make.name for make in (layers.Dense(1), layers.Dense(1), layers.Conv2D(1, 1), layers.ReLU())
    ]
    assert names == ["dense", "dense_1", "conv2d", "re_lu"]
    assert layers.Dense(1, name="mine").name == "mine"


def test_floats_are_cast_and_integers_are_not() -> None:
    class Passes(Layer):
        def call(self, x: Any) -> Any:
            return x

    assert Passes()(X.astype(np.float64)).dtype.name == "float32"
    assert Passes()(X.astype(np.int32)).dtype.name == "int32"
    assert Passes(dtype="float64")(X).dtype.name == "float64"
    assert Passes(autocast=False)(X.astype(np.float64)).dtype.name == "float64"
    assert Passes()([[1.0, 2.0], [3.0, 4.0]]).shape == (2, 2)
    assert layers.Dense(2, dtype="float64")(X).dtype.name == "float64"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: layers.Dense(0), "Dense: units must be a positive integer, got 0"),
        (lambda: layers.Dense(2.5), "Dense: units must be a positive integer, got 2.5"),
        (
            lambda: layers.Dense(2, activation="relus"),
            "activation: name must be one of .*, got 'relus'",
        ),
        (
            lambda: layers.Dense(2, units_=3),
            "Dense: unknown arguments units_\n  Did you mean 'units'\\?\n  takes units, activation",
        ),
        (lambda: layers.Dense(2, name="a/b"), "name must not hold a slash, got 'a/b'"),
        (lambda: layers.Conv2D(4, 3, padding="full"), "padding must be valid or same, got 'full'"),
        (
            lambda: layers.Conv2D(4, (3, 0)),
            "an integer of at least 1, or 2 of them",
        ),
        (
            lambda: layers.Conv2D(4, 3, groups=3),
            "evenly divisible by the number of groups. Received: groups=3, filters=4",
        ),
        (
            lambda: layers.Conv2D(4, 3, strides=2, dilation_rate=2),
            "`strides > 1` not supported in conjunction with `dilation_rate > 1`",
        ),
        (lambda: layers.Dense(2)(X[0]), r"must have rank at least 2, got float32\[3\]"),
        (
            lambda: layers.Conv2D(2, 3)(X),
            r"its input is incompatible with the layer: it must have rank 4, got float32\[2, 3\]",
        ),
        (lambda: layers.Reshape((2, 2))(X), r"must have the 3 elements of a sample of \[2, 3\]"),
        (lambda: layers.Add()(X), r"Add 'add\w*' takes a list of inputs, got float32\[2, 3\]"),
        (lambda: Layer()(X), "it must define call"),
        (lambda: layers.Dense(2).count_params(), "has no weights before it is built"),
    ],
)
def test_bad_arguments_are_told(make: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError, NotImplementedError), match=words):
        make()


def test_an_input_of_another_width_is_told() -> None:
    layer = layers.Dense(2, name="d")
    layer(X)
    with pytest.raises(
        ValueError,
        match=r"Dense .d.: its input is incompatible with the layer: "
        r"it must have size 3 on axis -1, got float32\[2, 4\]",
    ):
        layer(np.ones((2, 4), np.float32))
    with pytest.raises(ValueError, match=r"must have size 3 on axis -1, got float32\[2, 4\]"):
        function(layer)(np.ones((2, 4), np.float32))


def test_a_layer_without_its_constructor_is_told() -> None:
    class Forgetful(Layer):
        def __init__(self) -> None:
            pass

        def call(self, x: Any) -> Any:
            return x

    with pytest.raises(RuntimeError, match=r"call super\(\).__init__\(\) first"):
        Forgetful()(X)


@utils_namespace.register_keras_serializable("tests")
class Remembered(Layer):
    def __init__(
        self, units: int, *, activation: Any = None, factor: float = 2.0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.dense = layers.Dense(units, activation)
        self.factor = factor

    def call(self, x: Any) -> Any:
        return self.dense(x) * self.factor


def test_constructor_arguments_are_the_configuration() -> None:
    layer = Remembered(3, activation="relu", name="r", dtype="float64")
    config = layer.get_config()
    assert (config["units"], config["activation"], config["factor"], config["name"]) == (
        3,
        "relu",
        2.0,
        "r",
    )
    again = deserialize_keras_object(serialize_keras_object(layer))
    assert isinstance(again, Remembered)
    assert again.get_config() == config
    assert again.dtype == "float64"
    assert again.dense.units == 3


def test_an_argument_that_cannot_be_stored_is_told() -> None:
    layer = Remembered(3, activation=lambda x: x)
    with pytest.raises(
        NotImplementedError, match=r"argument 'activation' cannot be stored: .* has no name"
    ):
        layer.get_config()


def test_a_class_of_somebody_else_must_be_named() -> None:
    stored = serialize_keras_object(OfKeras())
    with pytest.raises(ValueError, match=r"OfKeras is not known\n  Try: custom_objects"):
        deserialize_keras_object(stored)
    assert isinstance(deserialize_keras_object(stored, {"OfKeras": OfKeras}), OfKeras)


def test_a_configuration_names_no_other_modules() -> None:
    with pytest.raises(ValueError, match="is not known"):
        deserialize_keras_object({"class_name": "Popen", "module": "subprocess", "config": {}})


def test_a_decorated_call_is_called() -> None:
    class Decorated(Layer):
        def __init__(self) -> None:
            super().__init__()
            self.dense = layers.Dense(2)

        @function
        def call(self, x: Any, training: bool = False) -> Any:
            return self.dense(x) * (2.0 if training else 1.0)

    layer = Decorated()
    np.testing.assert_allclose(layer(X, training=True).numpy(), 2 * layer(X).numpy(), rtol=1e-6)
    assert len(layer.weights) == 2


def test_several_inputs_build_by_their_names() -> None:
    class Joined(Layer):
        def build(self, query_shape: Any, value_shape: Any) -> None:
            self.w = self.add_weight("w", [query_shape[-1], value_shape[-1]], "ones")

        def call(self, query: Any, value: Any) -> Any:
            return matmul(query, self.w) * value

    assert Joined()(X, np.ones((2, 4), np.float32)).shape == (2, 4)
    assert Joined()(query=X, value=np.ones((2, 4), np.float32)).shape == (2, 4)


def test_shapes_are_inferred_without_running() -> None:
    layer = layers.Conv2D(4, 3, strides=2)
    assert layer.compute_output_shape((None, 9, 9, 2)) == (None, 4, 4, 4)
    assert layers.Concatenate().compute_output_shape([(None, 2), (None, 3)]) == (None, 5)
    assert convert_to_tensor(layer(np.ones((1, 9, 9, 2)))).shape == (1, 4, 4, 4)


def test_what_is_frozen_is_watched_by_tapes_all_the_same() -> None:
    # Keras 3.15: `trainable` classifies the weights of layers; tapes use the variable's own flag.
    layer = layers.Dense(1)
    layer.build((None, 2))
    layer.trainable = False
    assert not layer.kernel.trainable
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(layer(np.ones((1, 2), np.float32)))
    assert tape.gradient(y, layer.kernel) is not None
    layer.trainable = True
    assert layer.kernel.trainable
    layer.kernel.trainable = False
    assert [v.name for v in layer.trainable_variables] == ["bias"]
    assert [v.name for v in layer.variables] == ["kernel", "bias"]


def test_reflected_operators_of_two_keras_variables_promote() -> None:
    x, y = tf.keras.Variable([1], dtype="int32"), tf.keras.Variable([[2.0]], dtype="bfloat16")
    assert x.__radd__(y).dtype == tf.bfloat16
    assert x.__rmatmul__(y).dtype == tf.bfloat16
