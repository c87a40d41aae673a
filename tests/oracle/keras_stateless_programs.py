"""Stateless calls of layers, optimizers and metrics: programs for both libraries, see `both`.

python keras_stateless_programs.py tensorflow|pinnace FOLDER
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


def arrays(variables: Any) -> list[Any]:
    return [np.array(variable.numpy()) for variable in variables]


def values(variables: Any) -> list[Any]:
    """Other values of the same shapes, positive where there may be a variance."""
    found = []
    for place, variable in enumerate(variables):
        old = np.array(variable.numpy())
        if old.dtype.kind == "f":
            old = abs(numbers(*old.shape, seed=20 + place)) + 0.25
        else:  # the state of a generator
            old = np.arange(old.size, dtype=old.dtype).reshape(old.shape) + 5
        found.append(tf.constant(old))
    return found


def model_of(kind: str) -> Any:
    penalty = keras.regularizers.L2(0.5)
    made: Any = {
        "dense": lambda: [layers.Dense(4, kernel_regularizer=penalty, activity_regularizer="l1")],
        "batches": lambda: [layers.Dense(4), layers.BatchNormalization(momentum=0.5)],
        "dropout": lambda: [layers.Dropout(0.5, seed=7), layers.Dense(2)],
        "noise": lambda: [layers.GaussianNoise(0.5, seed=3), layers.LayerNormalization()],
        "recurrent": lambda: [layers.Reshape((3, 1)), layers.LSTM(2)],
        "frozen": lambda: [layers.Dense(2, trainable=False), layers.Dense(1)],
        "nested": lambda: [keras.Sequential([layers.Dense(2)]), layers.Dense(1)],
    }[kind]()
    return keras.Sequential([keras.Input((3,)), *made])


def called(kind: str, training: bool = False, losses: bool = False) -> Any:
    model = model_of(kind)
    before = arrays(model.variables)
    given = values(model.trainable_variables), values(model.non_trainable_variables)
    found = model.stateless_call(
        *given, tf.constant(numbers(4, 3)), training=training, return_losses=losses
    )
    kept = all(np.array_equal(a, b) for a, b in zip(before, arrays(model.variables), strict=True))
    return [found, kept]


def embedded() -> Any:
    layer = layers.Embedding(5, 2)
    layer.build((None, 3))
    table = tf.constant(numbers(5, 2))
    with tf.GradientTape() as tape:
        tape.watch(table)
        rows, _ = layer.stateless_call([table], [], tf.constant([[0, 3, 3]]))
        total = tf.reduce_sum(rows * rows)
    return [rows, tf.convert_to_tensor(tape.gradient(total, table))]


def differentiated(kind: str) -> Any:
    model = model_of(kind)
    trained, others = values(model.trainable_variables), values(model.non_trainable_variables)
    with tf.GradientTape() as tape:
        tape.watch(trained)
        y, _ = model.stateless_call(trained, others, tf.constant(numbers(4, 3)), training=True)
        loss = tf.reduce_sum(y * y * tf.constant([[1.0], [2.0], [3.0], [4.0]]))
    return tape.gradient(loss, trained)


def applied(name: str, **options: Any) -> Any:
    optimizer = getattr(keras.optimizers, name)(learning_rate=0.5, **options)
    variables = [tf.keras.layers.Dense(2).add_weight(shape=(2, 3)) for _ in range(2)]
    start = [numbers(2, 3, seed=i) for i in range(2)]
    for variable, value in zip(variables, start, strict=True):
        variable.assign(value)
    optimizer.build(variables)
    trained = [tf.constant(value) for value in start]
    own = [tf.constant(v.numpy()) for v in optimizer.variables]
    before = arrays(optimizer.variables)
    if tf.__name__ == "tensorflow":  # Keras has it for other backends only
        for step in range(3):
            gradients = [tf.constant(numbers(2, 3, seed=9 + 2 * step + i)) for i in range(2)]
            optimizer.apply(gradients, variables)
        own = optimizer.variables
        return [arrays(variables), arrays(own[2:]), own[0].numpy(), True]
    for step in range(3):
        gradients = [tf.constant(numbers(2, 3, seed=9 + 2 * step + i)) for i in range(2)]
        trained, own = optimizer.stateless_apply(own, gradients, trained)
    kept = [
        np.array_equal(a, b)
        for a, b in zip(before + start, arrays([*optimizer.variables, *variables]), strict=True)
    ]
    return [trained, own[2:], own[0], all(kept)]


def measured(name: str, y: Any, prediction: Any, weight: Any = None, **options: Any) -> Any:
    metric = getattr(keras.metrics, name)(**options)
    state = metric.stateless_reset_state()
    outcomes = []
    for step in range(2):
        given = (y, prediction + step / 8) if y is not None else (prediction + step / 8,)
        state = metric.stateless_update_state(state, *given, sample_weight=weight)
        outcomes.append(metric.stateless_result(state))
    return [outcomes, state, metric.result()]


def in_a_function() -> Any:
    """A whole step of training without effects, traced."""
    model = model_of("batches")
    optimizer = keras.optimizers.SGD(0.03125, momentum=0.5)
    optimizer.build(model.trainable_variables)
    mean = keras.metrics.Mean()

    @tf.function
    def step(trained: Any, others: Any, own: Any, state: Any, x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(trained)
            y, others = model.stateless_call(trained, others, x, training=True)
            loss = tf.reduce_mean(y * y * tf.constant([1.0, 2.0, 3.0, 4.0]))
        gradients = tape.gradient(loss, trained)
        if tf.__name__ == "tensorflow":
            for variable, value in zip(model.trainable_variables, trained, strict=True):
                variable.assign(value)
            optimizer.apply(gradients, model.trainable_variables)
            trained = [tf.identity(v.value) for v in model.trainable_variables]
        else:
            trained, own = optimizer.stateless_apply(own, gradients, trained)
        return trained, others, own, mean.stateless_update_state(state, loss)

    states: Any = (
        [tf.constant(numbers(3, 4)), *[tf.constant(numbers(4, seed=i)) for i in range(1, 4)]],
        values(model.non_trainable_variables),
        [tf.constant(v.numpy()) for v in optimizer.variables],
        mean.stateless_reset_state(),
    )
    states = tuple([[tf.convert_to_tensor(x) for x in part] for part in states])
    for batch in range(3):
        states = step(*states, tf.constant(numbers(6, 3, seed=batch)))
    return [states[0], states[1], states[3]]


def losses_of_model() -> Any:
    model = model_of("dense")
    model.compile("sgd", "mse", metrics=["mae"])
    model.train_on_batch(numbers(4, 3), numbers(4, 4))
    model(numbers(4, 3))
    _, rest = model.stateless_compute_loss(
        values(model.trainable_variables),
        values(model.non_trainable_variables),
        values(model.metrics_variables),
        x=numbers(4, 3),
        y=tf.constant(numbers(4, 4, seed=2)),
        y_pred=tf.constant(numbers(4, 4, seed=3)),
    )
    return [len(rest), [len(part) for part in rest], rest[0]]


def scoped() -> Any:
    layer = layers.Dense(1)
    one, two = layer.add_weight(shape=(2,), name="one"), layer.add_weight(shape=(), name="two")
    one.assign([1.0, 2.0])
    two.assign(3.0)
    found = []
    with keras.StatelessScope([(one, [5.0, 6.0])]) as scope:
        one.assign_add([1.0, 1.0])
        one.assign_sub([0.5, 0.25])
        found += [one + 0.0, two + 0.0, scope.get_current_value(two)]
        two.assign(two + 1.0)
        with keras.StatelessScope([(two, 9.0)]):
            found += [two + 0.0]
        found += [two.numpy(), one.numpy()]
    found += [scope.get_current_value(one), scope.get_current_value(two), one, two, scope.losses]
    scope.add_update((two, tf.constant(7.0)))
    return [*found, scope.get_current_value(two)]


def kinds_of_errors() -> Any:
    model = model_of("dense")
    one, others = values(model.trainable_variables), values(model.non_trainable_variables)
    optimizer, mean = keras.optimizers.SGD(), keras.metrics.Mean()
    wrong: Any = [
        lambda: model.stateless_call(one[:1], others, numbers(4, 3)),
        lambda: model.stateless_call(one, [*others, 1.0], numbers(4, 3)),
        lambda: model.stateless_call([one[0][:1], one[1]], others, numbers(4, 3)),
        lambda: layers.Dense(2).stateless_call([], [], numbers(4, 3)),
        lambda: optimizer.stateless_apply([], [], []),
        lambda: mean.stateless_update_state([], 1.0),
        lambda: mean.stateless_result([1.0]),
        lambda: keras.StatelessScope([(1, 2)]),
    ]
    found = []
    for one_wrong in wrong:
        try:
            one_wrong()
            found.append("none")
        except Exception as error:
            found.append(type(error).__name__)
    return found


TRUTH = np.array([0, 1, 1, 0], "float32")
GUESS = np.array([0.125, 0.75, 0.375, 0.5], "float32")

PROGRAMS = {
    "dense": lambda: called("dense"),
    "dense_losses": lambda: called("dense", losses=True),
    "batches": lambda: called("batches"),
    "batches_training": lambda: called("batches", training=True),
    "dropout": lambda: called("dropout"),
    "dropout_training": lambda: called("dropout", training=True),
    "noise_training": lambda: called("noise", training=True),
    "recurrent": lambda: called("recurrent"),
    "frozen": lambda: called("frozen"),
    "nested": lambda: called("nested"),
    "embedded": embedded,
    "gradient_dense": lambda: differentiated("dense"),
    "gradient_batches": lambda: differentiated("batches"),
    "gradient_recurrent": lambda: differentiated("recurrent"),
    "gradient_frozen": lambda: differentiated("frozen"),
    "sgd": lambda: applied("SGD"),
    "momentum": lambda: applied("SGD", momentum=0.5),
    "nesterov": lambda: applied("SGD", momentum=0.5, nesterov=True, clipvalue=0.5),
    "adam": lambda: applied("Adam"),
    "amsgrad": lambda: applied("Adam", amsgrad=True, clipnorm=1.0),
    "adamw": lambda: applied("AdamW", use_ema=True),
    "adamax": lambda: applied("Adamax"),
    "nadam": lambda: applied("Nadam"),
    "rmsprop": lambda: applied("RMSprop", momentum=0.5, centered=True),
    "adagrad": lambda: applied("Adagrad"),
    "adadelta": lambda: applied("Adadelta"),
    "adafactor": lambda: applied("Adafactor"),
    "ftrl": lambda: applied("Ftrl"),
    "lion": lambda: applied("Lion", global_clipnorm=1.0),
    "lamb": lambda: applied("Lamb"),
    "accumulated": lambda: applied("Adam", gradient_accumulation_steps=2),
    "mean": lambda: measured("Mean", None, GUESS),
    "weighted": lambda: measured(
        "MeanSquaredError", TRUTH[:, None], GUESS[:, None], weight=np.array([1.0, 2.0, 0.5, 1.0])
    ),
    "auc": lambda: measured("AUC", TRUTH, GUESS / 2, num_thresholds=5),
    "precision": lambda: measured("Precision", TRUTH, GUESS / 2, thresholds=0.25),
    "accuracy": lambda: measured("BinaryAccuracy", TRUTH, GUESS),
    "r2": lambda: measured("R2Score", TRUTH[:, None], GUESS[:, None]),
    "in_a_function": in_a_function,
    "losses_of_model": losses_of_model,
    "scoped": scoped,
    "kinds_of_errors": kinds_of_errors,
}

if __name__ == "__main__":
    report(PROGRAMS, plain)
