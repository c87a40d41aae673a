"""Effects of Keras arguments, as programs that both libraries run: see `both`.

python keras_argument_programs.py tensorflow|pinnace FOLDER
"""

# ruff: noqa: ARG002 (a hook gets its arguments, used or not)

import importlib
import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from reporting import plain

tf: Any = importlib.import_module(sys.argv[1])
keras = tf.keras
layers, K = keras.layers, keras.backend


def numbers(*shape: int, seed: int = 0, low: int = -8, high: int = 9) -> Any:
    """Multiples of 1/8: sums of them are exact in any order."""
    return (np.random.default_rng(seed).integers(low, high, shape) / 8).astype("float32")


def filled(layer: Any, seed: int = 5) -> Any:
    """Weights that are equal in both libraries."""
    layer.set_weights([numbers(*w.shape, seed=seed + i) for i, w in enumerate(layer.get_weights())])
    return layer


def ran(layer: Any, *inputs: Any, **options: Any) -> Any:
    """Outputs with weights that are equal in both, and names and shapes of the weights."""
    layer(*inputs, **options)
    filled(layer)
    names = [[w.name.split("/")[-1].split(":")[0], list(w.shape)] for w in layer.weights]
    return [layer(*inputs, **options), names]


def attended(kind: str, steps: int = 6, **options: Any) -> Any:
    """An attention with its scores, with implicit and explicit masks."""
    query, value = numbers(2, steps, 8, seed=1), numbers(2, steps + 1, 8, seed=2)
    seen = np.random.default_rng(3).integers(0, 2, (2, steps, steps + 1)) > 0
    first = {"MultiHeadAttention": (2, 3), "GroupQueryAttention": (3, 4, 2)}[kind]
    layer = getattr(layers, kind)(*first, **options)
    layer(query, value)
    filled(layer)
    return [
        layer(query, value, return_attention_scores=True),
        layer(query, value, attention_mask=seen),
        layer(query, value, use_causal_mask=True),
        [list(w.shape) for w in layer.weights],
        {key: layer.get_config()[key] for key in ("sliding_window", "use_gate", "seed")},
    ]


def attended_planes() -> Any:
    """Attention over two axes, and over one of two, with queries that see nothing."""
    query, value = numbers(2, 3, 4, 8, seed=1), numbers(2, 3, 4, 8, seed=2)
    both_axes = np.random.default_rng(3).integers(0, 2, (2, 12, 12)).reshape(2, 3, 4, 3, 4) > 0
    both_axes[:, 1, 2] = False
    found = []
    for axes, mask in (((1, 2), both_axes), ((2,), both_axes[:, :, :, 0, :])):
        layer = layers.MultiHeadAttention(2, 3, attention_axes=axes)
        layer(query, value)
        filled(layer)
        found.append(layer(query, value, attention_mask=mask))
    return found


def normalised(mask: Any = None, rank: int = 3, steps: int = 4, **options: Any) -> Any:
    """A batch normalization through several batches: outputs, gradients, statistics."""
    layer = layers.BatchNormalization(**options)
    shape = (3, *[5] * (rank - 2), 4)
    layer.build(shape)
    filled(layer)
    layer.set_weights([abs(w) + 0.25 for w in layer.get_weights()])
    found = []
    for step in range(steps):
        x = tf.constant(numbers(*shape, seed=20 + step) * (step + 1))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = layer(x, training=True, **({} if mask is None else {"mask": tf.constant(mask)}))
            loss = tf.reduce_sum(y * y * y)
        found.append([y, tape.gradient(loss, [x, *layer.trainable_variables])])
    return [found, layer(tf.constant(numbers(*shape, seed=9))), layer.get_weights()]


def spread(kind: str, shape: Any, **options: Any) -> Any:
    """The spread of initial values; uniform ones have a known bound."""
    value = np.asarray(getattr(keras.initializers, kind)(seed=3, **options)(shape))
    config = getattr(keras.initializers, kind)(**options).get_config()
    largest = float(np.max(np.abs(value)))
    # The numbers differ; their bound is the same, and with so many, one is close to it.
    return [list(value.shape), round(largest, 2), config]


def spatial(kind: str, shape: Any, data_format: str | None) -> Any:
    """Whether channels are dropped as a whole, and the others are scaled."""
    options = {} if data_format is None else {"data_format": data_format}
    layer = getattr(layers, kind)(0.5, seed=4, **options)
    y = np.asarray(layer(np.ones(shape, "float32"), training=True))
    channels = 1 if data_format == "channels_first" else len(shape) - 1
    over = tuple(i for i in range(1, len(shape)) if i != channels)
    alike = bool(np.all(y.max(over) == y.min(over)))
    again = type(layer).from_config(layer.get_config())
    config = {key: x for key, x in again.get_config().items() if key in {"data_format", "rate"}}
    return [alike, sorted(set(y.ravel().tolist())), config]


def in_order(layer: Any, *shape: int, **options: Any) -> Any:
    """The values of a layer's arguments that were passed by position."""
    config = layer.get_config()
    named = ("strides", "padding", "activation", "use_bias", "dilation_rate", "data_format")
    more = ("output_padding", "return_sequences", "go_backwards", "units", "dropout")
    penalties = {
        key: value["class_name"]
        for key, value in config.items()
        if value and key.endswith(("regularizer", "constraint"))
    }
    return [
        {key: config[key] for key in (*named, *more) if key in config},
        penalties,
        ran(layer, numbers(*shape, seed=8), **options)[0],
    ]


L2, NON_NEG = keras.regularizers.L2(0.5), keras.constraints.NonNeg()
FIRST = ("glorot_uniform", "zeros")


def compared(x: Any, y: Any) -> Any:
    """Operators on KerasTensors."""
    a, b = keras.Input((3,)), keras.Input((3,))
    found = {
        "mod": a % b,
        "floordiv": a // b,
        "rmod": 3.0 % a,
        "rfloordiv": 3.0 // a,
        "rpow": 2.0**a,
        "abs": abs(a),
        "less": a < b,
        "less_equal": a <= b,
        "greater": a > b,
        "greater_equal": a >= b,
        "not_equal": a != b,
        "and": (a > 0) & (b > 0),
        "or": (a > 0) | (b > 0),
        "xor": (a > 0) ^ (b > 0),
        "invert": ~(a > 0),
        "round": round(a),
        "round_1": round(a, 1),
        "rmatmul": a.__rmatmul__(numbers(2, 4, seed=2)),
    }
    model = keras.Model([a, b], found)
    outputs = model([x, y])
    same = keras.Model.from_config(model.get_config())([x, y])
    return [outputs, same, [len({a, b}), a == b, a == a]]


def shaped() -> Any:
    a = keras.Input((2, 3))
    model = keras.Model(a, [a.reshape((-1, 6)), a.reshape((-1, 1, 6)).squeeze(1)])
    return model(numbers(4, 2, 3))


def masked_model(normalization: Any) -> Any:
    """A model where a mask reaches a batch normalization."""
    model = keras.Sequential([keras.Input((4, 3)), layers.Masking(0.0), normalization])
    x = numbers(2, 4, 3, seed=3)
    x[0, 2:] = 0
    model(x, training=True)
    return [model(x, training=True), model.get_weights()]


def sparse_ids(**options: Any) -> Any:
    """Class ids of predictions, best first."""
    metric = keras.metrics.SparseTopKCategoricalAccuracy(k=2, **options)
    ids = options.get("from_sorted_ids")
    y_pred = np.array([[3, 1, 0], [2, 0, 1], [2, 2, 1]]) if ids else numbers(3, 4, seed=6)
    metric.update_state([1, 1, 2], y_pred, [1.0, 2.0, 3.0])
    function = keras.metrics.sparse_top_k_categorical_accuracy
    return [metric.result(), function([1, 1, 2], y_pred, 2, **options)]


def ignoring() -> Any:
    metric = keras.metrics.SparseCategoricalCrossentropy(ignore_class=1)
    y_true, y_pred = np.array([0, 1, 2, 1]), tf.nn.softmax(numbers(4, 3, seed=2))
    metric.update_state(y_true, y_pred)
    first = metric.result()
    metric.update_state(y_true, y_pred, sample_weight=[1.0, 2.0, 0.5, 0.0])
    return [first, metric.result(), metric.get_config()]


def nested() -> Any:
    """A nested model, and a layer that is called twice."""
    inner_in = keras.Input((3,), name="inner_in")
    inner = keras.Model(inner_in, layers.Dense(2, name="deep")(inner_in), name="inner")
    x = keras.Input((3,), name="x")
    shared = layers.Dense(3, activation="tanh", name="shared")
    outputs = layers.Add(name="sum")([inner(shared(shared(x))), layers.Dense(2, name="side")(x)])
    return keras.Model(x, outputs, name="outer")


def cloned(**options: Any) -> Any:
    """A clone's structure, and its results with the weights of the original."""
    model = nested()
    made: list[str] = []

    def again(layer: Any) -> Any:
        made.append(layer.name)
        return type(layer).from_config(layer.get_config())

    def twice(layer: Any, *args: Any, **kwargs: Any) -> Any:
        y = layer(*args, **kwargs)
        return layers.Rescaling(2.0)(y) if layer.name in {"side", "deep"} else y

    functions = {"clone_function": again, "call_function": twice}
    options = {key: functions.get(key) if value == 1 else value for key, value in options.items()}
    if options.pop("tensors", False):
        options["input_tensors"] = keras.Input((3,), batch_size=5, name="other")
    copy = keras.models.clone_model(model, **options)
    filled(model)
    copy.set_weights(model.get_weights())
    x = numbers(5, 3, seed=4)
    return [sorted(made), model(x), copy(x), [list(t.shape) for t in copy.inputs], copy.name]


def cloned_sequential() -> Any:
    """A clone of a compiled Sequential, with new inputs."""
    model = keras.Sequential([keras.Input((3,)), layers.Dense(2), layers.Dense(1)], name="row")
    model.compile(keras.optimizers.SGD(0.125), "mse", metrics=["mae"])
    copy = keras.models.clone_model(model, input_tensors=[keras.Input((3,), batch_size=4)])
    filled(copy)
    logs = copy.fit(numbers(8, 3), numbers(8, 1, seed=2), epochs=1, batch_size=4, verbose=0,
                    shuffle=False).history  # fmt: skip
    return [logs, copy.get_weights(), copy.name, list(copy.input_shape)]


def refused(function: Any, *args: Any, **kwargs: Any) -> str:
    """The class of the error."""
    try:
        function(*args, **kwargs)
    except Exception as error:
        return type(error).__name__
    return "nothing"


def hooks() -> Any:
    """A custom training loop calls a CallbackList."""
    told: list[Any] = []

    class Heard(keras.callbacks.Callback):
        def on_train_begin(self, logs: Any = None) -> None:
            told.append(["train", dict(self.params), self.model is model])

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            told.append(["epoch", epoch, logs])

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            told.append(["batch", batch, logs])

    model = keras.Sequential([keras.Input((1,)), layers.Dense(1)])
    heard = keras.callbacks.CallbackList(
        [Heard()], add_history=True, model=model, epochs=2, steps=3, verbose=0
    )
    heard.on_train_begin()
    for epoch in range(2):
        heard.on_epoch_begin(epoch)
        heard.on_train_batch_begin(0)
        heard.on_train_batch_end(0, {"loss": 0.5})
        heard.on_epoch_end(epoch, {"loss": 0.25 * epoch})
    heard.on_train_end()
    kinds = [type(one).__name__ for one in heard.callbacks]
    return [told, kinds, heard.callbacks[-1].history]


def ended(raise_error: bool) -> Any:
    """A NaN loss ends training, with or without an error."""
    model = keras.Sequential([keras.Input((1,)), layers.Dense(1)])
    model.compile("sgd", "mse")
    ends: list[str] = []
    last = keras.callbacks.LambdaCallback(on_train_end=lambda _: ends.append("end"))
    callbacks = [keras.callbacks.TerminateOnNaN(raise_error=raise_error), last]
    x = np.full((8, 1), np.nan, "float32")
    error = refused(model.fit, x, x, batch_size=2, verbose=0, callbacks=callbacks)
    return [error, ends]


def layouts() -> Any:
    """Images with channels first; other formats of datasets."""
    folder = Path(sys.argv[2]) / "pictures" / "a"
    folder.mkdir(parents=True)
    pixels = np.random.default_rng(0).integers(0, 256, (4, 5, 3)).astype("uint8")
    tf.io.write_file(str(folder / "one.png"), tf.io.encode_png(pixels))
    read = keras.utils.image_dataset_from_directory
    options = {"image_size": (4, 5), "shuffle": False, "verbose": False, "label_mode": None}
    first = read(str(folder.parent), data_format="channels_first", **options)
    last = read(str(folder.parent), data_format="channels_last", format="tf", **options)
    wrong = [
        refused(read, str(folder.parent), format="rows"),
        refused(keras.utils.timeseries_dataset_from_array, [1, 2], None, 1, format="rows"),
        refused(keras.utils.text_dataset_from_directory, str(folder.parent), format="rows"),
    ]
    return [next(iter(first)), next(iter(last)), wrong]


def by_keyword() -> Any:
    """Layers are built and called with Keras's argument names."""
    made = [layers.Dense(2), layers.Conv1D(2, 2), layers.LayerNormalization(), layers.Flatten()]
    found = []
    for layer in made:
        layer.build(input_shape=(None, 3, 2))
        found.append([layer.built, filled(layer)(inputs=numbers(2, 3, 2)) if layer.weights else 0])
    return found


def hot() -> Any:
    one = keras.ops.one_hot([1, 0, -1, 2], 3, sparse=True)
    two = keras.ops.one_hot([[1], [2]], 3, axis=1, sparse=True)
    dense = [keras.ops.convert_to_tensor(x, sparse=False) for x in (one, two)]
    return [type(one).__name__, dense, type(keras.ops.convert_to_tensor(one)).__name__]


def kept_ragged() -> Any:
    x = tf.ragged.constant([[1, 2], [3]])
    convert = keras.ops.convert_to_tensor
    return [
        type(convert(x)).__name__,
        convert(x, ragged=False),
        convert(x, "float32", ragged=False),
    ]


def outcome(name: str) -> Any:
    keras.utils.set_random_seed(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(PROGRAMS[name]())
        except Exception as error:  # makes the test fail
            return f"error: {type(error).__name__}: {error}"[:500]


CLIPPED = {"rmin": 0.5, "rmax": 1.25, "dmax": 0.75}
MASK = np.random.default_rng(1).integers(0, 2, (3, 5)) > 0
CONV = ("relu", False, *FIRST, L2, L2, L2, NON_NEG, NON_NEG)


def accumulated(kind: str, calls: int = 7, **options: Any) -> Any:
    """Values after each call, the state, `iterations` and the configuration."""
    found = []
    for traced in (False, True):
        optimizer = getattr(keras.optimizers, kind)(0.25, gradient_accumulation_steps=3, **options)
        layer = layers.Dense(2, name="d")
        layer.build((None, 3))
        filled(layer)
        optimizer.build(layer.trainable_variables)

        def step(kernel: Any, bias: Any, to: Any = optimizer, of: Any = layer) -> None:
            to.apply([kernel, bias], of.trainable_variables)

        run = tf.function(step) if traced else step
        for call in range(calls):
            run(tf.constant(numbers(3, 2, seed=call)), tf.constant(numbers(2, seed=call + 50)))
            found.append([layer.get_weights(), int(np.asarray(optimizer.iterations))])
        found.append([np.asarray(v) for v in optimizer.variables])
        found.append([v.name.split("/")[-1].split(":")[0] for v in optimizer.variables[:6]])
    found.append(optimizer.get_config()["gradient_accumulation_steps"])
    return found


def fitted_in_groups() -> Any:
    """A model trained with fewer updates than batches; the last group is incomplete."""
    model = keras.Sequential([keras.Input((3,)), layers.Dense(2), layers.Dense(1)])
    filled(model)
    schedule = keras.optimizers.schedules.ExponentialDecay(0.125, 2, 0.5)
    model.compile(keras.optimizers.SGD(schedule, 0.5, gradient_accumulation_steps=2), "mse")
    x, y = numbers(10, 3, seed=1), numbers(10, 1, seed=2)
    history = model.fit(x, y, batch_size=2, epochs=3, shuffle=False, verbose=0).history
    return [model.get_weights(), history["loss"]]


def assigned() -> Any:
    """The assignments of an `update_step`: numbers and rows in other dtypes."""
    optimizer, variable = keras.optimizers.SGD(), tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    rows = tf.IndexedSlices(tf.constant([[5, 6]], tf.int32), tf.constant([1]), tf.constant([2, 2]))
    found = []
    for value in (numbers(2, 2).astype("float64"), rows):
        for name in ("assign_add", "assign_sub", "assign"):
            getattr(optimizer, name)(variable, value)
            found.append(variable.numpy())
    optimizer = keras.optimizers.SGD()
    layer = layers.Dense(2)
    layer.build((None, 3))
    pair = optimizer.add_optimizer_variables(layer.trainable_variables, ("a", "b"), "ones")
    found.append([[np.asarray(v) for v in made] for made in pair])
    found.append([list(v.shape) for v in optimizer.variables])
    return found


PROGRAMS = {
    "accumulated_sgd": lambda: accumulated("SGD", momentum=0.5, clipnorm=1.5),
    "accumulated_with_decay": lambda: accumulated("SGD", weight_decay=0.25, clipvalue=0.5),
    "accumulated_adam": lambda: accumulated("Adam", global_clipnorm=2.0),
    "accumulated_nadam": lambda: accumulated("Nadam"),
    "accumulated_rmsprop": lambda: accumulated("RMSprop", centered=True),
    "accumulated_lion": lambda: accumulated("Lion"),
    "wrong_accumulation": lambda: refused(keras.optimizers.SGD, gradient_accumulation_steps=1),
    "fitted_in_groups": fitted_in_groups,
    "assigned": assigned,
    "window": lambda: attended("MultiHeadAttention", sliding_window=2),
    "window_of_one": lambda: attended("MultiHeadAttention", sliding_window=1, use_bias=False),
    "window_and_dropout": lambda: attended("MultiHeadAttention", sliding_window=1, dropout=0.5),
    "grouped_window_and_dropout": lambda: attended(
        "GroupQueryAttention", sliding_window=1, dropout=0.5
    ),
    "planes": attended_planes,
    "gate": lambda: attended("MultiHeadAttention", use_gate=True, value_dim=5),
    "gate_and_window": lambda: attended("MultiHeadAttention", use_gate=True, sliding_window=3),
    "grouped_gate": lambda: attended("GroupQueryAttention", use_gate=True),
    "grouped_gate_and_window": lambda: attended(
        "GroupQueryAttention", use_gate=True, sliding_window=3, use_bias=False
    ),
    "wrong_windows": lambda: [
        refused(layers.MultiHeadAttention, 1, 2, sliding_window=0),
        refused(layers.MultiHeadAttention, 1, 2, sliding_window=1.5),
        refused(layers.GroupQueryAttention, 1, 2, 1, sliding_window=-1),
    ],
    "renorm": lambda: normalised(renorm=True),
    "renorm_clipped": lambda: normalised(renorm=True, renorm_clipping=CLIPPED, momentum=0.5),
    "renorm_momentum": lambda: normalised(
        renorm=True, renorm_momentum=0.25, center=False, scale=False
    ),
    "renorm_without_scale": lambda: normalised(renorm=True, scale=False, rank=2),
    "renorm_of_another_axis": lambda: normalised(renorm=True, axis=1, rank=3),
    "renorm_masked": lambda: normalised(MASK, renorm=True),
    "wrong_clipping": lambda: [
        refused(layers.BatchNormalization, renorm=True, renorm_clipping={"rmix": 1}),
        refused(layers.BatchNormalization, renorm=True, renorm_clipping={"rmin": 2, "rmax": 1}),
        refused(layers.BatchNormalization, renorm=True, renorm_clipping={"dmax": -1}),
    ],
    "masked_normalization": lambda: normalised(MASK),
    "masked_normalization_in_a_model": lambda: masked_model(
        layers.BatchNormalization(momentum=0.5)
    ),
    "nothing_is_left_by_the_mask": lambda: normalised(np.zeros((3, 5), bool)),
    "wrong_mask": lambda: refused(
        layers.BatchNormalization(), numbers(2, 3, 4), mask=np.ones((2,), bool)
    ),
    "synchronized_alone": lambda: normalised(synchronized=True),
    "fans": lambda: [
        spread("GlorotUniform", (40, 5, 30), input_axes=[0, 1], output_axes=[2]),
        spread("HeUniform", (40, 5, 30), input_axes=[0], output_axes=[1, -1]),
        spread("LecunUniform", (40, 50, 3), input_axes=[-1], output_axes=[0, 1]),
        spread(
            "VarianceScaling",
            (50, 50, 4),
            input_axes=[0],
            output_axes=[2],
            mode="fan_out",
            scale=3.0,
            distribution="uniform",
        ),
        spread("LecunUniform", (40, 50, 3), input_axes=[0]),
        spread("LecunUniform", (40, 50, 3)),
    ],
    "spatial_dropout": lambda: [
        spatial("SpatialDropout1D", (3, 5, 6), None),
        spatial("SpatialDropout2D", (3, 5, 4, 6), None),
        spatial("SpatialDropout2D", (3, 6, 4, 5), "channels_first"),
        spatial("SpatialDropout3D", (3, 2, 2, 2, 6), "channels_last"),
        spatial("SpatialDropout3D", (3, 6, 2, 2, 2), "channels_first"),
        refused(layers.SpatialDropout2D(0.5), np.ones((2, 3, 4), "float32")),
    ],
    "dense_in_order": lambda: in_order(
        layers.Dense(3, "relu", False, *FIRST, L2, L2, L2, NON_NEG, NON_NEG), 2, 4
    ),
    "conv_1_in_order": lambda: in_order(
        layers.Conv1D(3, 2, 1, "causal", None, 2, 1, *CONV), 2, 6, 2
    ),
    "conv_2_in_order": lambda: in_order(
        layers.Conv2D(4, (2, 3), (1, 2), "same", "channels_last", 1, 2, *CONV), 2, 6, 5, 2
    ),
    "conv_3_in_order": lambda: in_order(
        layers.Conv3D(2, 2, 1, "valid", None, 1, 1, *CONV), 2, 3, 3, 3, 2
    ),
    "transpose_3_in_order": lambda: in_order(
        layers.Conv3DTranspose(2, 3, (2, 1, 2), "same", "channels_last", (1, 0, 1)), 2, 3, 3, 3, 2
    ),
    "depthwise_in_order": lambda: in_order(
        layers.DepthwiseConv2D(
            2, 1, "same", 2, None, 1, "relu", True, *FIRST, L2, L2, L2, NON_NEG, NON_NEG
        ),
        2,
        4,
        4,
        2,
    ),
    "separable_in_order": lambda: in_order(
        layers.SeparableConv2D(
            3,
            2,
            1,
            "same",
            None,
            1,
            2,
            "relu",
            True,
            "glorot_uniform",
            *FIRST,
            L2,
            L2,
            L2,
            L2,
            NON_NEG,
            NON_NEG,
            NON_NEG,
        ),
        2,
        4,
        4,
        2,
    ),
    "recurrent_in_order": lambda: in_order(
        layers.SimpleRNN(
            3,
            "relu",
            True,
            "glorot_uniform",
            "orthogonal",
            "zeros",
            L2,
            L2,
            L2,
            None,
            None,
            None,
            None,
            0.0,
            0.0,
            True,
            False,
            True,
            False,
            False,
            7,
        ),
        2,
        4,
        2,
    ),
    "resizing_in_order": lambda: layers.Resizing(3, 4, "nearest", False, True, "constant", 2.0)(
        numbers(2, 6, 5, 3)
    ),
    "padding_in_order": lambda: layers.ZeroPadding3D()(numbers(1, 2, 2, 2, 1)),
    "operators": lambda: compared(numbers(4, 3, seed=1), numbers(4, 3, seed=7, low=1)),
    "reshaped": shaped,
    "sorted_ids": lambda: [sparse_ids(from_sorted_ids=True), sparse_ids()],
    "ignored_class": ignoring,
    "cloned": cloned,
    "cloned_by_a_function": lambda: cloned(clone_function=1),
    "cloned_recursively": lambda: cloned(clone_function=1, recursive=True),
    "cloned_and_called": lambda: cloned(call_function=1),
    "cloned_called_recursively": lambda: cloned(clone_function=1, call_function=1, recursive=True),
    "cloned_on_inputs": lambda: cloned(tensors=True),
    "cloned_sequential": cloned_sequential,
    "not_cloned": lambda: [
        refused(keras.models.clone_model, keras.Sequential([layers.Dense(1)]), call_function=print),
        refused(keras.models.clone_model, nested(), another=1),
        refused(keras.models.clone_model, nested(), input_tensors=3),
    ],
    "loss_of_an_ignored_class": lambda: [
        keras.losses.SparseCategoricalCrossentropy(ignore_class=1, reduction=reduction)(
            np.array([0, 1, 2, 1]), tf.nn.softmax(numbers(4, 3, seed=2))
        )
        for reduction in ("sum_over_batch_size", "sum", "none")
    ],
    "callback_list": hooks,
    "ended_gently": lambda: ended(False),
    "ended_by_an_error": lambda: ended(True),
    "layouts": layouts,
    "by_keyword": by_keyword,
    "sparse_one_hot": hot,
    "ragged": kept_ragged,
    "names_of_losses": lambda: [
        [getattr(keras.losses, kind)().name, getattr(keras.losses, kind)(name="mine").name]
        for kind in ("Hinge", "CTC", "KLDivergence", "LogCosh", "Poisson", "MeanSquaredError")
    ],
    "older_names": lambda: [
        K.pow(x=numbers(3), a=2),
        K.ones_like(x=numbers(2), dtype="int32"),
        K.shape(x=numbers(2, 3)),
        K.reshape(x=numbers(4), shape=(2, 2)),
        K.softplus(x=numbers(3)),
        K.softsign(x=numbers(3)),
        list(K.stop_gradient([tf.constant([1.0]), tf.constant(2.0)])),
        K.zeros_like(x=numbers(2)),
    ],
}

if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    sys.stdout.write("\n" + json.dumps({name: outcome(name) for name in PROGRAMS}))
