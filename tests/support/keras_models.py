"""Models that Keras and this library build from one description, to exchange as files."""

import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Case(NamedTuple):
    """A model and its inputs.

    Attributes:
        make: takes `keras` and returns the model, compiled if it is to be trained.
        inputs: shapes [without the batch axis], with a dtype after a colon if it is not float32.
        train: whether it is fitted for some steps, and the state of the optimizer is compared.
        h5: whether it can also be written in the older format.
    """

    make: Callable[[Any], Any]
    inputs: tuple[tuple[Any, ...], ...] = ((4,),)
    train: bool = True
    h5: bool = True


CASES: dict[str, Case] = {}
# Models only for Keras 2; see `keras_2_models`.
OLDER: dict[str, Case] = {}
BATCH = 6
WORDS = ("red", "green", "blue", "a cat", "The DOG!", "fish, fish", "")


def case(
    among: dict[str, Case] = CASES, **options: Any
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """A decorator that adds a model to some cases under its function's name."""

    def decorate(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
        among[make.__name__] = Case(make, **options)
        return make

    return decorate


def case_of(name: str) -> Case:
    """The case with this name; a default one for a model that is not built here."""
    return CASES.get(name) or OLDER.get(name) or Case(lambda _: None)


def inputs_of(name: str) -> list[Array]:
    """The inputs of a case, the same each time."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    found: list[Array] = []
    for shape in case_of(name).inputs:
        kind, *sizes = shape if isinstance(shape[0], str) else ("float32", *shape)
        size = (BATCH, *sizes)
        if kind == "string":
            found.append(rng.choice(np.array(WORDS, object), size))
        elif kind == "positive":
            found.append(rng.random(size).astype(np.float32))
        elif kind.startswith("int"):
            found.append(rng.integers(0, 7, size).astype(kind))
        else:
            found.append(rng.standard_normal(size).astype(kind))
    return found


def targets_of(outputs: Any) -> Any:
    """Targets with the shapes of some outputs."""
    if isinstance(outputs, dict):
        return {key: targets_of(value) for key, value in outputs.items()}
    if isinstance(outputs, (list, tuple)):
        return [targets_of(value) for value in outputs]
    rng = np.random.default_rng(1)
    return rng.random(np.asarray(outputs).shape).astype(np.float32)


# Sequential and functional.


@case()
def dense(keras: Any) -> Any:
    layers = keras.layers
    model = keras.Sequential(
        [keras.Input([4]), layers.Dense(5, activation="relu"), layers.Dense(3)], name="small"
    )
    model.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae"])
    return model


@case(h5=False)
def without_shape(keras: Any) -> Any:
    layers = keras.layers
    model = keras.Sequential([layers.Dense(5, activation="tanh"), layers.Dense(2)])
    model.compile("sgd", "mae")
    return model


@case(inputs=((8, 8, 3),))
def pictures(keras: Any) -> Any:
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input([8, 8, 3]),
            layers.Conv2D(4, 3, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.ReLU(max_value=6.0),
            layers.MaxPooling2D(),
            layers.DepthwiseConv2D(3, padding="same", depth_multiplier=2),
            layers.SeparableConv2D(5, (2, 3), strides=1, activation="gelu"),
            layers.UpSampling2D(2, interpolation="bilinear"),
            layers.Conv2DTranspose(3, 2, strides=2),
            layers.AveragePooling2D(3, 2, "same"),
            layers.GlobalAveragePooling2D(keepdims=True),
            layers.Flatten(),
            layers.Dropout(0.0),
            layers.Dense(3, activation="softmax"),
        ]
    )
    model.compile(
        keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True),
        keras.losses.CategoricalCrossentropy(label_smoothing=0.1),
        metrics=["accuracy", keras.metrics.TopKCategoricalAccuracy(2)],
    )
    return model


@case(inputs=((9, 3), (5, 5, 5, 2)))
def lines_and_volumes(keras: Any) -> Any:
    layers = keras.layers
    a, b = keras.Input([9, 3], name="line"), keras.Input([5, 5, 5, 2], name="volume")
    x = layers.Conv1D(4, 3, dilation_rate=2, padding="causal")(a)
    x = layers.DepthwiseConv1D(2)(x)
    x = layers.SeparableConv1D(6, 3, padding="same")(x)
    x = layers.Conv1DTranspose(4, 3, strides=2)(x)
    x = layers.MaxPooling1D(2)(layers.AveragePooling1D(2, 1)(x))
    x = layers.Cropping1D(1)(layers.ZeroPadding1D(2)(layers.UpSampling1D(2)(x)))
    x = layers.Concatenate()([layers.GlobalMaxPooling1D()(x), layers.GlobalAveragePooling1D()(x)])
    y = layers.Conv3D(3, 2, strides=1)(b)
    y = layers.Conv3DTranspose(2, 2)(y)
    y = layers.AveragePooling3D(2)(layers.MaxPooling3D(2, 1)(y))
    y = layers.UpSampling3D(2)(layers.ZeroPadding3D(1)(y))
    y = layers.Cropping3D(((1, 0), (0, 1), (0, 0)))(y)
    y = layers.GlobalMaxPooling3D(keepdims=True)(y)
    y = layers.Reshape([-1])(y)
    model = keras.Model([a, b], layers.Dense(2)(layers.Concatenate()([x, y])))
    model.compile("rmsprop", "huber")
    return model


@case(inputs=(("int32", 5),))
def words(keras: Any) -> Any:
    layers = keras.layers
    x = layers.Embedding(7, 4, mask_zero=True, name="vectors")(
        inputs := keras.Input([5], dtype="int32")
    )
    x = layers.Bidirectional(layers.LSTM(3, return_sequences=True), merge_mode="concat")(x)
    x = layers.GRU(4, return_sequences=True, reset_after=True)(x)
    x = layers.SpatialDropout1D(0.0)(x)
    x = layers.TimeDistributed(layers.Dense(3, activation="tanh"))(x)
    x = layers.RNN(layers.StackedRNNCells([layers.LSTMCell(3), layers.GRUCell(2)]))(x)
    model = keras.Model(inputs, layers.Dense(1, activation="sigmoid")(x))
    model.compile("nadam", "binary_crossentropy", metrics=[keras.metrics.AUC()])
    return model


@case(inputs=((5, 3),))
def recurrent(keras: Any) -> Any:
    layers = keras.layers
    inputs = keras.Input([5, 3])
    x = layers.Masking(0.5)(inputs)
    x, h, c = layers.LSTM(3, return_sequences=True, return_state=True)(x)
    y = layers.SimpleRNN(3)(x, initial_state=h)
    z = layers.Bidirectional(layers.GRU(3, go_backwards=False), merge_mode="sum")(x)
    model = keras.Model(inputs, [layers.Add()([y, z]), c])
    model.compile("adamax", ["mse", "mae"], loss_weights=[1.0, 0.5])
    return model


@case(inputs=((4,), (6,)))
def heads(keras: Any) -> Any:
    """Two inputs by name, shared layers, nested models, two outputs by name."""
    layers = keras.layers
    a, b = keras.Input([4], name="a"), keras.Input([6], name="b")
    shared = layers.Dense(5, name="shared")
    inner_in = keras.Input([5])
    inner = keras.Model(inner_in, layers.Dense(4, activation="elu")(inner_in), name="inner")
    tower = keras.Sequential([layers.Dense(4), layers.LayerNormalization()], name="tower")
    x, y = shared(a), shared(layers.Dense(4)(b))
    both = layers.Average()([inner(x), inner(y), tower(x)])
    model = keras.Model(
        {"a": a, "b": b},
        {"left": layers.Dense(2, name="left")(both), "right": layers.Dense(1, name="right")(y)},
    )
    model.compile(
        "adamw",
        {"left": "mse", "right": keras.losses.LogCosh(name="far")},
        loss_weights={"left": 2.0, "right": 1.0},
        metrics={"left": ["mae"], "right": [keras.metrics.MeanSquaredError(name="error")]},
    )
    return model


@case(inputs=((4,), (4,), (4,)))
def merging(keras: Any) -> Any:
    layers = keras.layers
    a, b, c = (keras.Input([4]) for _ in range(3))
    parts = [
        layers.Add()([a, b, c]),
        layers.Subtract()([a, b]),
        layers.Multiply()([a, c]),
        layers.Maximum()([a, b, c]),
        layers.Minimum()([a, b]),
        layers.Average()([b, c]),
        layers.Dot(axes=1, normalize=True)([a, b]),
    ]
    model = keras.Model([a, b, c], layers.Dense(2)(layers.Concatenate(axis=-1)(parts)))
    model.compile("adadelta", "log_cosh")
    return model


@case(inputs=((6, 8),))
def attending(keras: Any) -> Any:
    layers = keras.layers
    x = inputs = keras.Input([6, 8])
    y = layers.MultiHeadAttention(2, 4, dropout=0.0)(x, x, use_causal_mask=True)
    x = layers.LayerNormalization(epsilon=1e-6)(layers.Add()([x, y]))
    x = layers.EinsumDense("abc,cd->abd", output_shape=(None, 8), bias_axes="d")(x)
    x = layers.Attention(use_scale=True)([x, x])
    x = layers.AdditiveAttention()([x, x])
    x = layers.GroupQueryAttention(3, 4, 2)(x, x)
    x = layers.Reshape([48])(layers.Permute((2, 1))(x))
    model = keras.Model(inputs, layers.RepeatVector(2)(layers.Dense(2)(x)))
    model.compile(keras.optimizers.Lion(1e-3), "mse")
    return model


@case(inputs=((4, 6),))
def norms(keras: Any) -> Any:
    layers = keras.layers
    x = inputs = keras.Input([4, 6])
    x = layers.GroupNormalization(3)(x)
    x = layers.LayerNormalization(axis=[1, 2])(x)
    x = layers.RMSNormalization()(x)
    x = layers.BatchNormalization(axis=1, momentum=0.9, scale=False)(x)
    x = layers.UnitNormalization()(x)
    x = layers.SpectralNormalization(layers.Dense(4))(x)
    model = keras.Model(inputs, layers.Dense(2)(x))
    model.compile(keras.optimizers.Adagrad(0.1), "mse")
    return model


@case(inputs=((4, 6),))
def activations(keras: Any) -> Any:
    layers = keras.layers
    x = inputs = keras.Input([4, 6])
    x = layers.Dense(6, activation="swish")(x)
    x = layers.PReLU(shared_axes=[1])(x)
    x = layers.LeakyReLU(negative_slope=0.1)(x)
    x = layers.ELU(0.7)(x)
    x = layers.Activation("softplus")(x)
    x = layers.ReLU(negative_slope=0.1, threshold=0.2)(x)
    parts = [layers.Dense(3, activation=name)(x) for name in ("mish", "selu", "hard_sigmoid")]
    parts += [layers.Dense(2, activation=keras.activations.leaky_relu)(x)]
    parts += [layers.Softmax(axis=1)(x), layers.Identity()(x)]
    model = keras.Model(inputs, layers.Concatenate()(parts))
    model.compile("ftrl", "mse")
    return model


@case(inputs=((6, 6, 2),))
def shapes(keras: Any) -> Any:
    layers = keras.layers
    x = inputs = keras.Input([6, 6, 2])
    x = layers.ZeroPadding2D(((1, 0), (2, 1)))(x)
    x = layers.Cropping2D(1)(x)
    x = layers.Reshape((-1, 5))(x)
    x = layers.Permute([2, 1])(x)
    x = layers.ActivityRegularization(l1=0.01)(x)
    x = layers.GaussianNoise(0.0)(layers.GaussianDropout(0.0)(layers.AlphaDropout(0.0)(x)))
    x = layers.Flatten()(x)
    model = keras.Model(inputs, layers.Dense(2)(x))
    model.compile("sgd", "mse")
    return model


@case()
def penalties(keras: Any) -> Any:
    """Initializers, regularizers and constraints as objects, a frozen layer."""
    layers, kernels = keras.layers, keras.initializers
    frozen = layers.Dense(4, kernel_initializer=kernels.HeNormal(seed=3), trainable=False)
    model = keras.Sequential(
        [
            keras.Input([4]),
            frozen,
            layers.Dense(
                4,
                kernel_initializer=kernels.Orthogonal(gain=0.5, seed=1),
                bias_initializer=kernels.Constant(0.2),
                kernel_regularizer=keras.regularizers.L1L2(0.01, 0.02),
                bias_constraint=keras.constraints.NonNeg(),
                kernel_constraint=keras.constraints.MaxNorm(1.5, axis=0),
                activity_regularizer="l2",
            ),
            layers.Dense(
                2, kernel_initializer=kernels.VarianceScaling(2.0, "fan_out", "uniform", seed=2)
            ),
        ]
    )
    rate = keras.optimizers.schedules.ExponentialDecay(0.01, 10, 0.9)
    model.compile(keras.optimizers.Adam(rate, clipnorm=1.0, amsgrad=True, use_ema=True), "mse")
    return model


@case(inputs=((6, 5, 5, 2),))
def moving_pictures(keras: Any) -> Any:
    layers = keras.layers
    x = inputs = keras.Input([6, 5, 5, 2])
    x = layers.ConvLSTM2D(3, 3, padding="same", return_sequences=True)(x)
    x = layers.TimeDistributed(layers.MaxPooling2D(2))(x)
    x = layers.Bidirectional(layers.ConvLSTM2D(2, 1))(x)
    model = keras.Model(inputs, layers.Flatten()(x))
    model.compile(keras.optimizers.Lamb(0.01), "mse")
    return model


@case(inputs=((6, 5, 2), (3, 4, 4, 4, 2)), h5=False)
def other_moving_pictures(keras: Any) -> Any:
    layers = keras.layers
    a, b = keras.Input([6, 5, 2]), keras.Input([3, 4, 4, 4, 2])
    x = layers.Flatten()(layers.ConvLSTM1D(3, 2, go_backwards=True)(a))
    y = layers.Flatten()(layers.ConvLSTM3D(2, 2, strides=2, data_format="channels_last")(b))
    model = keras.Model([a, b], [x, y])
    model.compile(keras.optimizers.Adafactor(0.01), "mse")
    return model


# Operations on KerasTensors.


@case(inputs=((4, 6),), h5=False)
def operators(keras: Any) -> Any:
    layers = keras.layers
    inputs = keras.Input([4, 6])
    x = layers.Dense(6)(inputs)
    y = (x + 1.0) * x - inputs / 2.0
    y = -(y[:, 1:, ::2] ** 2)
    z = 2.0 - x[:, 0] + x[:, -1, :] @ np.eye(6, dtype="float32") * 0.5
    model = keras.Model(inputs, [layers.Flatten()(y), 1.0 / (z * z + 1.0)])
    model.compile("adam", "mse")
    return model


@case(inputs=((4, 6),), h5=False)
def operations(keras: Any) -> Any:
    layers, ops = keras.layers, keras.ops
    inputs = keras.Input([4, 6])
    x = layers.Dense(6)(inputs)
    x = ops.concatenate([ops.relu(x), ops.sigmoid(x), ops.tanh(inputs)], axis=-1)
    x = ops.reshape(x, (-1, 6, 12))
    x = ops.transpose(x, (0, 2, 1))
    a, b = ops.split(x, 2, axis=1)
    x = ops.where(ops.greater(a, b), ops.exp(-ops.square(a)), ops.log(ops.abs(b) + 1.0))
    x = ops.matmul(x, ops.swapaxes(x, 1, 2))
    x = ops.softmax(x, axis=-1)
    x = ops.einsum("abc,abc->ab", x, x)
    mean = ops.mean(x, axis=1, keepdims=True)
    x = ops.sqrt(ops.maximum((x - mean) / (ops.std(x, axis=-1, keepdims=True) + 1.0), 0.0))
    x = ops.stack([x, ops.clip(x, 0.1, 0.5)], axis=1)
    x = ops.sum(ops.expand_dims(x, -1), axis=[2, 3])
    x = ops.cast(ops.argmax(x, axis=-1), "float32")
    model = keras.Model(inputs, layers.Dense(2)(ops.expand_dims(x, 1)))
    model.compile("adam", "mse")
    return model


# Layers at the start of text models, or at the end of image pipelines.


@case(inputs=(("positive", 8, 8, 3),), train=False, h5=False)
def picture_pipeline(keras: Any) -> Any:
    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input([8, 8, 3]),
            layers.RandomFlip(seed=1),
            layers.RandomRotation(0.1),
            layers.RandomZoom(0.1),
            layers.RandomTranslation(0.1, 0.1),
            layers.RandomContrast(0.1),
            layers.RandomBrightness(0.1),
            layers.Resizing(6, 7),
            layers.CenterCrop(4, 4),
            layers.RandomCrop(4, 4),
            layers.Rescaling(1 / 0.5, offset=-1),
            layers.Normalization(mean=[0.1, 0.2, 0.3], variance=[1.0, 2.0, 3.0]),
            layers.Flatten(),
            layers.Dense(2),
        ]
    )


@case(inputs=(("string", 1), ("int64", 1)), train=False)
def categories(keras: Any) -> Any:
    layers = keras.layers
    word = keras.Input([1], dtype="string", name="word")
    number = keras.Input([1], dtype="int64", name="number")
    looked = layers.StringLookup(vocabulary=["red", "green", "blue"], output_mode="one_hot")(word)
    counted = layers.IntegerLookup(vocabulary=[2, 4, 6], num_oov_indices=2, output_mode="multi_hot")
    hashed = layers.Hashing(5)(word)
    coded = layers.CategoryEncoding(num_tokens=8, output_mode="multi_hot")(number)
    return keras.Model([word, number], [looked, counted(number), hashed, coded])


@case(inputs=(("string", 1),), train=False)
def sentences(keras: Any) -> Any:
    layers = keras.layers
    inputs = keras.Input([1], dtype="string")
    vocabulary = ["fish", "the", "dog", "a", "cat"]
    codes = layers.TextVectorization(output_sequence_length=4, vocabulary=vocabulary)(inputs)
    x = layers.Embedding(8, 3)(codes)
    return keras.Model(inputs, layers.GlobalAveragePooling1D()(x))


@case(inputs=((3,),), train=False)
def buckets(keras: Any) -> Any:
    layers = keras.layers
    inputs = keras.Input([3])
    x = layers.Discretization(bin_boundaries=[-0.5, 0.0, 0.5])(inputs)
    y = layers.Discretization(bin_boundaries=[-0.5, 0.5], output_mode="multi_hot")(inputs)
    return keras.Model(inputs, [x, y])


# User-defined classes.


def halved(keras: Any) -> Any:
    """A registered custom layer that defines its own configuration."""

    @keras.utils.register_keras_serializable("test_models")
    class Halved(keras.layers.Layer):  # type: ignore[misc]
        def build(self, input_shape: Any) -> None:
            self.inner = keras.layers.Dense(3)
            self.inner.build(input_shape)
            self.scale = self.add_weight(shape=[input_shape[-1]], initializer="ones", name="scale")
            self.bias = self.add_weight(shape=[3], initializer="zeros", name="bias")
            self.built = True

        def call(self, x: Any) -> Any:
            return self.inner(x * self.scale) + self.bias

        def save_own_variables(self, store: Any) -> None:
            super().save_own_variables(store)
            store["half"] = np.asarray(self.scale) / 2
            del store["0"]

        def load_own_variables(self, store: Any) -> None:
            assert sorted(store.keys()) == ["1", "half"]
            self.scale.assign(store["half"] * 2)
            self.bias.assign(store["1"])

    return Halved


def custom(keras: Any) -> tuple[Any, Any]:
    """A registered custom layer and model."""
    register = keras.utils.register_keras_serializable

    @register("test_models")
    class Scaled(keras.layers.Layer):  # type: ignore[misc]
        def __init__(self, factor: float = 2.0, **options: Any) -> None:
            super().__init__(**options)
            self.factor = factor

        def build(self, input_shape: Any) -> None:
            self.scale = self.add_weight(shape=[input_shape[-1]], initializer="ones", name="scale")

        def call(self, x: Any) -> Any:
            return x * self.scale * self.factor

        def get_config(self) -> dict[str, Any]:
            return {**super().get_config(), "factor": self.factor}

    @register("test_models")
    class Classifier(keras.Model):  # type: ignore[misc]
        def __init__(self, units: int, **options: Any) -> None:
            super().__init__(**options)
            self.units = units
            self.blocks = [keras.layers.Dense(units, activation="relu") for _ in range(2)]
            self.scaled = Scaled(0.5)
            self.head = keras.layers.Dense(2)

        def call(self, x: Any) -> Any:
            for block in self.blocks:
                x = block(x)
            return self.head(self.scaled(x))

        def get_config(self) -> dict[str, Any]:
            return {**super().get_config(), "units": self.units}

    return Scaled, Classifier


@case()
def own_layer(keras: Any) -> Any:
    scaled, _ = custom(keras)
    model = keras.Sequential([keras.Input([4]), scaled(3.0), keras.layers.Dense(2)])
    model.compile("adam", "mse")
    return model


@case(h5=False)
def own_model(keras: Any) -> Any:
    _, classifier = custom(keras)
    model = classifier(5, name="classifier")
    model.compile("adam", "mse")
    return model


@case(h5=False)
def own_variables(keras: Any) -> Any:
    model = keras.Sequential([keras.Input([4]), halved(keras)(name="own"), keras.layers.Dense(2)])
    model.compile("adam", "mse")
    return model
