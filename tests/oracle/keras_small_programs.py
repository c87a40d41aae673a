"""Small parts of Keras: schedules, splitting, the default epsilon; see `both`.

python keras_small_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import sys
from typing import Any

import numpy as np
from reporting import plain, report

tf: Any = importlib.import_module(sys.argv[1])
keras = tf.keras


def numbers(*shape: int, seed: int = 0) -> Any:
    return (np.random.default_rng(seed).integers(-8, 9, shape) / 8).astype("float32")


def restarts(**options: Any) -> Any:
    schedule = keras.optimizers.schedules.CosineDecayRestarts(0.5, 7, **options)
    again = keras.optimizers.schedules.deserialize(keras.optimizers.schedules.serialize(schedule))
    # Steps away from the ends of cycles, where the rounding of a logarithm decides.
    steps = [0, 1, 3, 5, 6, 8, 10, 13, 17, 19, 22, 30, 40, 47, 60, 90, 200]
    return [
        [schedule(step) for step in steps],
        [again(tf.constant(step)) for step in steps[:5]],
        schedule.get_config(),
        keras.optimizers.schedules.serialize(schedule)["class_name"],
    ]


def trained_with_restarts() -> Any:
    layer = keras.layers.Dense(1, kernel_initializer="ones")
    model = keras.Sequential([keras.Input((3,)), layer])
    schedule = keras.optimizers.schedules.CosineDecayRestarts(0.125, 2, t_mul=1.5, m_mul=0.5)
    model.compile(keras.optimizers.SGD(schedule), "mse")
    model.fit(numbers(24, 3), numbers(24, 1, seed=1), batch_size=4, shuffle=False, verbose=0)
    return model.get_weights()


def halves(dataset: Any, **options: Any) -> Any:
    left, right = keras.utils.split_dataset(dataset, **options)
    return [
        [list(part.as_numpy_iterator()) for part in (left, right)],
        [str(spec.shape) for spec in tf.nest.flatten(left.element_spec)],
        [spec.dtype.name for spec in tf.nest.flatten(left.element_spec)],
    ]


X, Y = numbers(10, 3), np.arange(10)


def sliced() -> Any:
    return tf.data.Dataset.from_tensor_slices({"x": X, "y": (Y, Y + 1)})


def epsilons() -> Any:
    before = keras.config.epsilon()
    found = []
    for value in (1e-3, 1e-7):
        keras.config.set_epsilon(value)
        y, p = np.array([[0.0, 1.0]], "float32"), np.array([[0.0, 0.5]], "float32")
        found.append(
            [
                keras.losses.BinaryCrossentropy()(y, p),
                keras.losses.MeanSquaredLogarithmicError()(y, p - 1),
                keras.constraints.MaxNorm(1.0)(tf.constant([[3.0], [4.0]])),
            ]
        )
    keras.backend.set_epsilon(before)
    return [found, keras.backend.epsilon() == before]


def logging() -> Any:
    found = [keras.utils.is_interactive_logging_enabled()]
    keras.config.disable_interactive_logging()
    found.append(keras.config.is_interactive_logging_enabled())
    keras.utils.enable_interactive_logging()
    return [*found, keras.config.is_interactive_logging_enabled()]


def dtypes() -> Any:
    given = [None, "float32", tf.float16, np.float64, int, float, bool, "int8", np.dtype("uint8")]
    return [keras.utils.standardize_dtype(one) for one in given]


def measured(**options: Any) -> Any:
    """The values of a Progbar's metrics are not printed; its attributes have them."""
    bar = keras.utils.Progbar(3, verbose=0, **options)
    bar.update(1, [("loss", 1.0), ("rate", 2.0)])
    bar.add(1, [("loss", 3.0), ("rate", 4.0)])
    bar.update(3, [("loss", 5.0)])
    kinds = [bar.stateful_metrics, bar.stateless_metrics]
    return [
        [bar.target, bar.width, bar.verbose, bar.interval, bar.unit_name],
        [one if one is None else sorted(one) for one in kinds],
    ]


def resized(shape: Any, size: Any, kind: str = "float32", **options: Any) -> Any:
    smart = keras.preprocessing.image.smart_resize
    x = (np.abs(numbers(*shape)) * 200).astype(kind)
    found = smart(x, size, **options)
    traced = tf.function(
        lambda given: smart(given, size, **options),
        input_signature=[tf.TensorSpec([None] * len(shape), x.dtype)],
    )(x)
    return [found, str(found.dtype), isinstance(found, np.ndarray), traced]


class Watching(keras.callbacks.Callback):
    """The batches and logs that callbacks get, and when."""

    def __init__(self, stop: Any = None) -> None:
        super().__init__()
        self.seen: list[Any] = []
        self.stop = stop

    def on_train_batch_begin(self, batch: Any, logs: Any = None) -> None:
        self.seen.append(["begin", int(batch), sorted(logs or {})])

    def on_train_batch_end(self, batch: Any, logs: Any = None) -> None:
        self.seen.append(["end", int(batch), {name: float(logs[name]) for name in sorted(logs)}])
        if self.stop is not None and batch >= self.stop:
            self.model.stop_training = True

    def on_test_batch_begin(self, batch: Any, logs: Any = None) -> None:  # noqa: ARG002
        self.seen.append(["test begin", int(batch)])

    def on_test_batch_end(self, batch: Any, logs: Any = None) -> None:
        self.seen.append(["test end", int(batch), {n: float(logs[n]) for n in sorted(logs)}])

    def on_predict_batch_begin(self, batch: Any, logs: Any = None) -> None:  # noqa: ARG002
        self.seen.append(["predict begin", int(batch)])

    def on_predict_batch_end(self, batch: Any, logs: Any = None) -> None:
        self.seen.append(["predict end", int(batch), np.asarray(logs["outputs"]).tolist()])


def executed(rows: int, steps: int, epochs: int = 2, **options: Any) -> Any:
    layer = keras.layers.Dense(1, kernel_initializer="ones")
    model = keras.Sequential([keras.Input((3,)), layer])
    model.compile(keras.optimizers.SGD(0.0625), "mse", metrics=["mae"], steps_per_execution=steps)
    x, y, watching = numbers(rows, 3), numbers(rows, 1, seed=1), Watching(options.pop("stop", None))
    given = {"batch_size": 4, "verbose": 0, "callbacks": [watching]}
    found = model.fit(x, y, epochs=epochs, shuffle=False, **given, **options)
    evaluated = model.evaluate(x, y, return_dict=True, **given)
    predicted = model.predict(x, **given)
    history = {name: found.history[name] for name in sorted(found.history)}
    return [watching.seen, history, evaluated, predicted, model.steps_per_execution]


def limited(epochs: Any, steps: Any, **options: Any) -> Any:
    before = [keras.config.max_epochs(), keras.config.max_steps_per_epoch()]
    keras.config.set_max_epochs(epochs)
    keras.config.set_max_steps_per_epoch(steps)
    try:
        layer = keras.layers.Dense(1, kernel_initializer="ones")
        model = keras.Sequential([keras.Input((3,)), layer])
        model.compile(keras.optimizers.SGD(0.0625), "mse")
        x, y, watching = numbers(20, 3), numbers(20, 1, seed=1), Watching()
        given = {"batch_size": 4, "verbose": 0, "callbacks": [watching]}
        found = model.fit(x, y, epochs=4, shuffle=False, **given, **options)
        told = [keras.config.max_epochs(), keras.config.max_steps_per_epoch()]
        outputs = model.predict(x, **given)
        return [found.history, watching.seen, np.shape(outputs), told, before]
    finally:
        keras.config.set_max_epochs(None)
        keras.config.set_max_steps_per_epoch(None)


def kinds_of_errors() -> Any:
    resize = keras.preprocessing.image.smart_resize
    split = keras.utils.split_dataset
    wrong: Any = [
        lambda: keras.optimizers.schedules.CosineDecayRestarts(0.5, 0),
        lambda: split(X),
        lambda: split("abc", 1),
        lambda: split(X, 0, 0),
        lambda: split(X, 10),
        lambda: split(X, 1.5),
        lambda: split(X, 0.7, 0.5),
        lambda: split(X, 6, 6),
        lambda: split(X, 0.01),
        lambda: split(X, "half"),
        lambda: split((X, Y[:4]), 2),
        lambda: split([], 2),
        lambda: split(X[:0], 0.5),
        lambda: resize(numbers(4, 4, 3), (2, 2, 2)),
        lambda: resize(numbers(4, 4), (2, 2)),
        lambda: keras.utils.Progbar(2, stateful_metrics=["a"], stateless_metrics=["b"]),
    ]
    found = []
    for one in wrong:
        try:
            one()
            found.append("none")
        except Exception as error:
            found.append(type(error).__name__)
    return found


PROGRAMS = {
    "restarts": restarts,
    "restarts_even": lambda: restarts(t_mul=1.0, m_mul=0.75),
    "restarts_long": lambda: restarts(t_mul=3.0, m_mul=0.5, alpha=0.125, name="mine"),
    "restarts_trained": trained_with_restarts,
    "split_array": lambda: halves(X, left_size=0.7),
    # Keras converts an int64 array to Python numbers, and these to int32; here it stays int64.
    "split_count": lambda: halves(Y / 4, right_size=3),
    "split_both": lambda: halves(X[:, 0], left_size=2, right_size=0.5),
    "split_arrays": lambda: halves((X, Y), left_size=4),
    "split_list": lambda: halves([X, Y], left_size=0.25),
    "split_dataset": lambda: halves(sliced(), left_size=6),
    "split_batched": lambda: halves(sliced().batch(4), left_size=0.5),
    "split_shuffled": lambda: halves(X, left_size=0.5, shuffle=True, seed=3),
    "resized_wide": lambda: resized((7, 12, 3), (4, 4)),
    "resized_tall": lambda: resized((2, 13, 5, 1), (6, 9)),
    "resized_bytes": lambda: resized((9, 6, 3), (5, 7), "uint8"),
    "resized_nearest": lambda: resized((9, 8, 3), (3, 4), "int32", interpolation="nearest"),
    "resized_first": lambda: resized((3, 6, 9), (4, 2), data_format="channels_first"),
    "resized_cubic": lambda: resized((5, 8, 2), (10, 10), interpolation="bicubic"),
    "executed_alone": lambda: executed(24, 1),
    "executed_whole": lambda: executed(24, 3),
    "executed_rest": lambda: executed(26, 4),
    "executed_more": lambda: executed(10, 8, epochs=1),
    "executed_stopped": lambda: executed(40, 2, stop=3),
    "executed_validated": lambda: executed(16, 2, validation_split=0.5),
    # One epoch: a second one continues where the first ended in Keras, and restarts here.
    "limited": lambda: limited(1, 3),
    "limited_epochs": lambda: limited(3, None),
    "limited_steps": lambda: limited(1, 2, steps_per_epoch=4),
    "limited_not": lambda: limited(9, 9),
    "epsilons": epsilons,
    "logging": logging,
    "dtypes": dtypes,
    "bar": measured,
    "bar_stateful": lambda: measured(stateful_metrics=["rate"], width=8, unit_name="sample"),
    "bar_stateless": lambda: measured(stateless_metrics=["rate"]),
    "kinds_of_errors": kinds_of_errors,
}

if __name__ == "__main__":
    report(PROGRAMS, plain)
