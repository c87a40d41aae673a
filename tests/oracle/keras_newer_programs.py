"""Newer losses, metrics, optimizers, regularizers and state trees of Keras 3: see `both`.

python keras_newer_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import sys
from typing import Any

import numpy as np
from reporting import plain, report

tf: Any = importlib.import_module(sys.argv[1])
keras = tf.keras
layers = keras.layers


def numbers(*shape: int, seed: int = 0) -> Any:
    return (np.random.default_rng(seed).integers(-8, 9, shape) / 8).astype("float32")


def embeddings(seed: int = 0, count: int = 6) -> Any:
    found = numbers(count, 4, seed=seed) + 0.0625
    return found / np.linalg.norm(found, axis=1, keepdims=True)


LABELS = np.array([0, 1, 0, 2, 1, 3])


def circled(labels: Any = LABELS, weight: Any = None, **options: Any) -> Any:
    loss = keras.losses.Circle(**options)
    x = tf.constant(embeddings())
    with tf.GradientTape() as tape:
        tape.watch(x)
        value = loss(labels, x, sample_weight=weight)
    again = keras.losses.deserialize(keras.losses.serialize(loss))
    return [value, tape.gradient(value, x), loss.get_config(), again(labels, x)]


def correlated(kind: str, weight: Any = (1, 2, 0.5, 1), **options: Any) -> Any:
    metric = getattr(keras.metrics, kind)(**options)
    for step in range(2):
        y, prediction = numbers(4, 5, seed=step), numbers(4, 5, seed=step + 2)
        metric.update_state(y, prediction, sample_weight=weight)
    again = keras.metrics.deserialize(keras.metrics.serialize(metric))
    again.update_state(numbers(4, 5), numbers(4, 5, seed=9))
    return [metric.result(), metric.get_config(), again.result()]


def functions_of_correlation(shape: Any, truth: Any, **options: Any) -> Any:
    y, prediction = numbers(*truth, seed=1), numbers(*shape, seed=2)
    return [
        keras.metrics.pearson_correlation(y, prediction, **options),
        keras.metrics.concordance_correlation(y, prediction, **options),
    ]


def penalised(**options: Any) -> Any:
    regularizer = keras.regularizers.OrthogonalRegularizer(**options)
    x = tf.Variable(numbers(3, 4, seed=1))
    with tf.GradientTape() as tape:
        value = regularizer(x)
    config = keras.regularizers.serialize(regularizer)["config"]
    # Keras returns the factor rounded to float32.
    return [value, tape.gradient(value, x), config["mode"], config["factor"]]


def stepped(**options: Any) -> Any:
    layer = layers.Layer(name="own")
    shapes: Any = {"wide": (2, 5), "tall": (6, 3), "row": (4,), "deep": (2, 2, 2)}
    variables = [layer.add_weight(shape=shape, name=name) for name, shape in shapes.items()]
    for place, variable in enumerate(variables):
        variable.assign(numbers(*variable.shape, seed=place))
    optimizer = keras.optimizers.Muon(learning_rate=0.125, **options)
    for step in range(3):
        gradients = [
            tf.constant(numbers(*v.shape, seed=10 + step * 4 + i)) for i, v in enumerate(variables)
        ]
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
    names = [v.name.split("/")[-1].removesuffix(":0") for v in optimizer.variables]
    return [
        [v.numpy() for v in variables],
        [v.numpy() for v in optimizer.variables],
        names,
        optimizer.get_config(),
    ]


def shapes_of(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {name: shapes_of(part) for name, part in tree.items()}
    return [list(tree.shape), str(getattr(tree.dtype, "name", tree.dtype)), type(tree).__name__]


def trained() -> Any:
    model = keras.Sequential(
        [
            keras.Input((3,)),
            layers.Dense(4, name="first"),
            layers.BatchNormalization(name="second"),
            layers.Dropout(0.25, name="third"),
            layers.Dense(1, name="fourth"),
        ],
        name="whole",
    )
    model.compile(keras.optimizers.Adam(0.0625), "mse", metrics=["mae"])
    model.train_on_batch(numbers(8, 3), numbers(8, 1))
    return model


def state_tree(value_format: str) -> Any:
    return shapes_of(trained().get_state_tree(value_format))["trainable_variables"]


def paths(tree: Any, prefix: str = "") -> list[str]:
    if not isinstance(tree, dict):
        return [prefix]
    return sorted(x for name, part in tree.items() for x in paths(part, f"{prefix}/{name}"))


def state_paths() -> Any:
    return paths(trained().get_state_tree("numpy_array"))


def state_set() -> Any:
    model = trained()
    tree = model.get_state_tree("numpy_array")
    kernel = tree["trainable_variables"]["whole"]["fourth"] = {"kernel": numbers(4, 1, seed=5)}
    tree["trainable_variables"]["nowhere"] = {"kernel": numbers(1)}
    bias = model.get_layer("fourth").bias.numpy()
    del tree["metrics_variables"]
    model.set_state_tree(tree)
    same = np.array_equal(model.get_layer("fourth").kernel.numpy(), kernel["kernel"])
    return [same, np.array_equal(model.get_layer("fourth").bias.numpy(), bias)]


def kinds_of_errors() -> Any:
    model = trained()
    wrong: Any = [
        lambda: model.get_state_tree("other"),
        lambda: model.set_state_tree({"other": {}}),
        lambda: keras.regularizers.OrthogonalRegularizer(mode="wrong"),
        lambda: keras.regularizers.OrthogonalRegularizer(-1.0),
        lambda: keras.regularizers.OrthogonalRegularizer()(numbers(3)),
    ]
    found = []
    for one in wrong:
        try:
            one()
            found.append("none")
        except Exception as error:
            found.append(type(error).__name__)
    return found


def named(variables: Any) -> Any:
    return [[v.name, v.path] for v in variables]


def names_of_variables() -> Any:
    model = keras.Sequential([keras.Input((3,)), layers.Dense(2, name="d")], name="s")
    optimizer = keras.optimizers.Adam(name="adam")
    optimizer.build(model.trainable_variables)
    metric, seeds = keras.metrics.Precision(name="p"), keras.random.SeedGenerator(1, name="g")
    alone = keras.Variable(1.0, name="mine")
    return [
        *map(named, (model.weights, optimizer.variables, metric.variables, [seeds.state, alone])),
        [repr(keras.Variable(numbers(2), name="two")), str(keras.Variable(3, name="three"))],
    ]


def value_of_a_variable() -> Any:
    layer = layers.Dense(2, kernel_regularizer="l2", bias_constraint="non_neg")
    layer.build((None, 3))
    kernel = layer.kernel
    kernel.assign(numbers(3, 2))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(kernel.value * kernel)
    found = [loss, tape.gradient(loss, kernel.value), kernel.value.numpy(), kernel.value[0]]
    kernel.value.assign_add(numbers(3, 2, seed=1))
    kernel.constraint = keras.constraints.NonNeg()
    return [
        *found,
        *(kernel, kernel.value + 1.0, list(kernel.value.shape), kernel.dtype == "float32"),
        [type(one).__name__ for one in (kernel.regularizer, layer.bias.constraint)],
        [type(one).__name__ for one in (layer.bias.regularizer, kernel.constraint)],
        [tf.is_tensor(kernel), isinstance(kernel, keras.Variable), kernel.trainable],
        [keras.ops.add(kernel.value, kernel), keras.Variable(kernel.value)],
        kernel.overwrite_with_gradient,
    ]


PROGRAMS = {
    "circle": circled,
    "circle_columns": lambda: circled(labels=LABELS[:, None], reduction="sum"),
    "circle_options": lambda: circled(gamma=4.0, margin=0.125, remove_diagonal=False),
    "circle_weighted": lambda: circled(
        gamma=2.0, weight=np.array([1.0, 2.0, 0.5, 1.0, 3.0, 0.25], "float32")
    ),
    "circle_alone": lambda: circled(labels=np.arange(6)),
    "circle_references": lambda: keras.losses.circle(
        LABELS, embeddings(), np.array([0, 1, 1]), embeddings(1, 3), gamma=8, remove_diagonal=False
    ),
    "pearson": lambda: correlated("PearsonCorrelation"),
    "pearson_axis": lambda: correlated("PearsonCorrelation", axis=[0, 1], weight=None),
    "concordance": lambda: correlated("ConcordanceCorrelation", name="mine"),
    "correlations": lambda: functions_of_correlation((3, 5), (3, 5)),
    "correlations_axis": lambda: functions_of_correlation((3, 5), (3, 5), axis=0),
    "correlations_ranks": lambda: functions_of_correlation((5, 1), (5,), axis=0),
    "orthogonal": penalised,
    "orthogonal_columns": lambda: penalised(factor=0.5, mode="columns"),
    "muon": stepped,
    "muon_plain": lambda: stepped(nesterov=False, rms_rate=None, weight_decay=None, ns_steps=2),
    "muon_excluded": lambda: stepped(exclude_layers=["ta.l"], adam_lr_ratio=0.5, clipnorm=1.0),
    "muon_decays": lambda: stepped(adam_weight_decay=None, weight_decay=0.25),
    "arrays_of_state": lambda: state_tree("numpy_array"),
    "state_paths": state_paths,
    "state_set": state_set,
    "names_of_variables": names_of_variables,
    "value_of_a_variable": value_of_a_variable,
    "kinds_of_errors": kinds_of_errors,
}

if __name__ == "__main__":
    report(PROGRAMS, plain)
