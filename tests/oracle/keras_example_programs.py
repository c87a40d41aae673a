"""Uses of Keras in third-party programs, as programs that both run: see `both`.

python keras_example_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import random
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from reporting import report

tf: Any = importlib.import_module(sys.argv[1])
keras = tf.keras
layers, ops = keras.layers, keras.ops

X = (np.arange(24).reshape(2, 4, 3) / 8 - 1.5).astype("float32")
ACTIVATIONS = [
    *("celu", "elu", "exponential", "gelu", "glu", "hard_shrink", "hard_sigmoid", "hard_tanh"),
    *("leaky_relu", "log_sigmoid", "log_softmax", "relu", "relu6", "selu", "sigmoid", "silu"),
    *("soft_shrink", "softmax", "softplus", "softsign", "sparse_plus", "sparse_sigmoid"),
    *("squareplus", "swish", "tanh", "tanh_shrink"),
]
CROPS = [
    *(("RandomCrop", 3, 3), ("CenterCrop", 3, 3), ("RandAugment",), ("AutoContrast",)),
    *(("Equalization",), ("Solarization",), ("RandomFlip",)),
]


def plain(x: Any) -> Any:
    """A form that JSON can represent."""
    if isinstance(x, dict):
        return {str(key): plain(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(item) for item in x]
    if x is None or isinstance(x, (str, bool, int, float)):
        return x
    array = np.asarray(x)
    return [str(array.dtype), list(array.shape), array.astype("float64").tolist()]


def symbolic(name: str) -> Any:
    """An activation in a functional model, which is then rebuilt from its configuration."""
    x = keras.Input((4, 4))
    y = getattr(keras.activations, name)(x)
    model = keras.Model(x, y)
    again = keras.Model.from_config(model.get_config())
    given = np.linspace(-4, 4, 16, dtype="float32").reshape(1, 4, 4)
    return [list(y.shape), type(model.operations[-1]).__name__.lower(), again(given)]


class Adding(layers.Layer):
    def call(self, x: Any) -> Any:
        self.add_loss(ops.square(x))
        self.add_loss([ops.sum(x, 1), ops.ones((2,), "int32")])
        return x


def added() -> Any:
    """Losses of each sample, and of each element."""
    model = keras.Sequential([Adding(), layers.Dense(1, kernel_initializer="ones")])
    model.compile("sgd", "mse")
    x, y = X[:, 0], np.zeros((2, 1), "float32")
    return [model.train_on_batch(x, y), model.evaluate(x, y, verbose=0), model.get_weights()]


class Distilling(keras.Model):
    """A `compute_loss` from before Keras 3.3, without `training`."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = layers.Dense(1, kernel_initializer="ones")

    def compute_loss(
        self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None
    ) -> Any:
        del sample_weight
        return ops.mean(ops.square(y_pred - y)) + ops.mean(x)

    def call(self, x: Any) -> Any:
        return self.inner(x)


def distilled() -> Any:
    model = Distilling()
    model.compile("sgd")
    x, y = X[:, 0], np.zeros((2, 1), "float32")
    history = model.fit(x, y, epochs=2, verbose=0).history["loss"]
    return [history, model.evaluate(x, y, verbose=0), model.get_weights()]


class OwnStep(keras.Model):
    """A functional model with a custom training step, and no constructor."""

    def train_step(self, data: Any) -> Any:
        return super().train_step(data)


def saved() -> Any:
    x = keras.Input((3,))
    model = OwnStep(x, layers.Dense(2, kernel_initializer="ones")(x), name="own")
    path = str(Path(sys.argv[2]) / "own.keras")
    model.save(path)
    again = keras.models.load_model(path, custom_objects={"OwnStep": OwnStep})
    return [type(again).__name__, sorted(model.get_config()), again(X[:, 0]), model.output_shape]


def beside_batches() -> Any:
    """A batch size has no effect on sources that yield batches."""
    model = keras.Sequential([layers.Dense(1, kernel_initializer="ones")])
    model.compile("sgd", "mse")
    data = tf.data.Dataset.from_tensor_slices((X[:, 0], X[:, 1, :1])).batch(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        losses = model.fit(data, batch_size=2, verbose=0).history["loss"]
        return [losses, model.predict(data, batch_size=2, verbose=0)]


def overlaps() -> Any:
    """IoUs count in integers, to which weights are truncated, if no float dtype is given."""
    found = []
    for dtype in (None, "float32"):
        for metric in (
            keras.metrics.MeanIoU(2, dtype=dtype),
            keras.metrics.IoU(2, [0], dtype=dtype),
            keras.metrics.BinaryIoU(dtype=dtype),
        ):
            for weights in (None, [0.3, 0.3, 0.3, 1.1], [2, 1, 1, 3]):
                metric.reset_state()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    said = [0.0, 1.0, 0.0, 1.0]
                    metric.update_state([0, 0, 1, 1], said, sample_weight=weights)
                found.append([str(metric.dtype), metric.result()])
    return found


def embedded() -> Any:
    table = np.arange(6, dtype="float32").reshape(3, 2)
    layer = layers.Embedding(3, 2, weights=[table])
    with tf.GradientTape() as tape:
        rows = layer(np.array([[-1, 0], [-3, 2]]))
        total = ops.sum(rows)
    slope = tf.convert_to_tensor(tape.gradient(total, layer.trainable_variables[0]))
    return [rows, slope, layer(tf.ragged.constant([[0], [-1, 1]])).to_list()]


def cropped() -> Any:
    keras.utils.set_random_seed(1)
    layer, x = layers.RandomCrop(3, 3), np.arange(192, dtype="float32").reshape(2, 6, 16, 1)
    return [layer(x, training=True) for _ in range(5)]


def draws_of_layers() -> Any:
    """The number of seeds that a layer draws when it is created, and those in its variables."""
    found = []
    for name, *arguments in CROPS:
        random.seed(5)
        layer = getattr(layers, name)(*arguments)
        found.append([name, [np.asarray(v) for v in layer.variables], random.random()])
    return found


def after_training() -> Any:
    """A model created after a training has initial weights that do not depend on the training."""
    keras.utils.set_random_seed(1)
    model = keras.Sequential([layers.Dense(2)])
    model.compile("sgd", "mse")
    model.fit(X[:, 0], X[:, 0, :2], verbose=0)
    later = layers.Dense(2)
    later.build((None, 3))
    return later.kernel


class Standardized(layers.Conv2D):
    """A kernel with mean 0, through `convolution_op`."""

    def convolution_op(self, inputs: Any, kernel: Any) -> Any:
        return super().convolution_op(inputs, kernel - ops.mean(kernel))


def convolved() -> Any:
    found = []
    x = X[:, :, None]
    for padding in ("valid", "same"):
        layer = Standardized(2, (2, 1), padding=padding, bias_initializer="ones")
        layer.build(x.shape)
        layer.kernel.assign(np.arange(12, dtype="float32").reshape(2, 1, 3, 2))
        found.append([layer(x), layers.Conv2D.convolution_op(layer, x, layer.kernel)])
    return found


def rows() -> Any:
    return [
        keras.utils.to_categorical([0, 2]),
        keras.utils.to_categorical(np.array([[0], [2]], "uint8"), 4),
        keras.utils.to_categorical(tf.constant([[0], [2]]), 4),
    ]


def scaled() -> Any:
    """Rows scaled to length 1, of an array, a list, and traced tensors."""
    traced = tf.function(lambda x: keras.utils.normalize(x, axis=-1))
    model = keras.Sequential([keras.Input((3,)), layers.Lambda(keras.utils.normalize)])
    x = X[0]
    arrays = [keras.utils.normalize(x), keras.utils.normalize(x, 1, 1)]
    return [*arrays, keras.utils.normalize(x.tolist()), traced(tf.constant(x)), model(x)]


def counted() -> Any:
    layer = layers.Normalization()
    layer.adapt(X)
    return layer.get_weights()


class Listing(layers.Layer):
    """Weights in lists and dicts, beside layers in lists."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.inner = layers.Dense(2), [layers.Dense(9)]
        self.kernels, self.others = [self.add_weight(shape=(5, 5), name="q")], {}

    def build(self, shape: Any) -> None:
        del shape
        for i in range(2):
            self.kernels.append(self.add_weight(shape=(i + 1,), name=f"w{i}"))
            self.others[f"b{i}"] = self.add_weight(shape=(i + 1, 1), trainable=i == 0)
        self.inner.append(layers.Dense(1))
        for layer, size in zip((self.first, *self.inner), (4, 8, 3), strict=True):
            layer.build((None, size))
        self.last = self.add_weight(shape=(9, 9), name="x")
        self.pair = (self.add_weight(shape=(11,), name="t"),)

    def call(self, x: Any) -> Any:
        return x


def listed() -> Any:
    layer = Listing()
    layer.build((None, 2))
    kept: dict[str, Any] = {}
    layer.save_own_variables(kept)
    return [
        [list(v.shape) for v in layer.weights],
        [list(v.shape) for v in layer.trainable_weights],
        {key: list(value.shape) for key, value in kept.items()},
    ]


def rescaled() -> Any:
    """An integer dtype truncates factor and offset."""
    x = np.array([[1, 200], [3, 90]], "uint8")
    kinds = [("uint8", 1 / 255, 0.0), ("int32", 2.5, 1.5), ("float32", 0.5, 1.5)]
    return [layers.Rescaling(scale, offset, dtype=kind)(x) for kind, scale, offset in kinds]


PROGRAMS = {
    "rescaled": rescaled,
    "weights_in_lists": listed,
    "symbolic_activations": lambda: [symbolic(name) for name in ACTIVATIONS],
    "added_losses": added,
    "older_compute_loss": distilled,
    "saved_with_an_own_step": saved,
    "batch_size_beside_batches": beside_batches,
    "overlaps": overlaps,
    "embedded": embedded,
    "cropped": cropped,
    "draws_of_layers": draws_of_layers,
    "after_training": after_training,
    "convolution_op": convolved,
    "to_categorical": rows,
    "normalize": scaled,
    "normalization_counts": counted,
}


if __name__ == "__main__":
    report(PROGRAMS, plain)
