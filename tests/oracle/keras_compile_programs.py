"""Forms of loss, loss_weights and metrics for compile, as programs that both run: see `both`.

python keras_compile_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import json
import sys
import warnings
from typing import Any

import numpy as np

tf: Any = importlib.import_module(sys.argv[1])
keras = tf.keras
layers = keras.layers
X = np.arange(12, dtype="float32").reshape(4, 3) / 10
Y = np.linspace(0, 1, 8).astype("float32").reshape(4, 2)
Z = np.linspace(1, 3, 4).astype("float32").reshape(4, 1)
A, M = "mae", "mse"


def dense(units: int, name: str | None = None) -> Any:
    return layers.Dense(units, name=name, kernel_initializer="ones")


def sequential() -> Any:
    return keras.Sequential([keras.Input((3,)), dense(2, "o")])


def functional() -> Any:
    x = keras.Input((3,))
    return keras.Model(x, dense(2, "o")(x))


def functional_list() -> Any:
    x = keras.Input((3,))
    return keras.Model(x, [dense(2, "o")(x)])


def two() -> Any:
    x = keras.Input((3,))
    return keras.Model(x, [dense(2, "p")(x), dense(1, "q")(x)])


def two_keys() -> Any:
    x = keras.Input((3,))
    return keras.Model(x, {"p": dense(2, "other")(x), "q": dense(1, "another")(x)})


def one_key() -> Any:
    x = keras.Input((3,))
    return keras.Model(x, {"p": dense(2, "other")(x)})


def nested() -> Any:
    x = keras.Input((3,))
    return keras.Model(x, {"p": [dense(2, "a")(x), dense(1, "b")(x)], "q": dense(1, "c")(x)})


class Own(keras.Model):  # type: ignore[misc]
    def __init__(self, gives: str) -> None:
        super().__init__()
        self.gives = gives
        self.first, self.second = dense(2), dense(1)

    def call(self, x: Any) -> Any:
        if self.gives == "one":
            return self.first(x)
        found = [self.first(x), self.second(x)]
        return found if self.gives == "list" else dict(zip("pq", found, strict=True))


def told(make: Any, y: Any, **given: Any) -> Any:
    """The result of evaluate; a text if it fails."""
    keras.backend.clear_session()
    weights = np.array([1, 2, 3, 4], "float32") if given.pop("weighs", False) else None
    try:
        model = make()
        # Tracing all of them takes TensorFlow minutes.
        model.compile("sgd", run_eagerly=sys.argv[1] == "tensorflow", **given)
        found = model.evaluate(X, y, sample_weight=weights, verbose=0, return_dict=True)
    except Exception as error:
        return f"error: {type(error).__name__}"
    return {key: float(value) for key, value in sorted(found.items())}


ONE_LOSS: list[Any] = [
    *(M, [M], [M, M], [M, A], (M, A), [A, M], [M, M, M], [[M, A]], [[M], [A]], [M, None], [None]),
    *({"o": M}, {"o": [M, A]}, {"x": M}, {"o": M, "x": A}, {}, [], None),
]
ONE_METRICS: list[Any] = [
    *([A], [A, M], [[A, M]], [[A], [M]], {"o": A}, {"o": [A, M]}, {"x": A}, [None], A, None, []),
]
TWO_LOSSES: list[Any] = [
    *(M, [M], [M, A], (M, A), [M, A, M], [M, None], [None, A], [None, None], {"x": M}),
    *([[M, A], M], [[M, A], [M]], [[M, A], None], {"p": M, "q": A}, {"p": M}, {"p": M, "q": None}),
    *({"p": [M, A], "q": M}, {"p": M, "q": A, "x": M}),
]
TWO_METRICS: list[Any] = [
    *([A], [A, M], [[A], [M]], [[A, M], [M]], [[A], None], [None, [M]], [[A], []], {"p": A}),
    *({"p": [A, M], "q": M}, {"x": A}, [[A]], [A, M, A]),
]
FACTORS: list[Any] = [2.0, [2.0], [2.0, 3.0], (2.0, 3.0), {"p": 2.0, "q": 3.0}, [2.0, 3.0, 4.0]]


def of_one(make: Any) -> Any:
    found = [told(make, Y, loss=loss) for loss in ONE_LOSS]
    for factors in (2.0, [2.0], {"o": 2.0}, {"x": 2.0}, [2.0, 3.0]):
        found += [told(make, Y, loss=loss, loss_weights=factors) for loss in (M, [M, A])]
    found += [told(make, Y, loss=M, metrics=metrics) for metrics in ONE_METRICS]
    found += [
        told(make, Y, loss=M, weighted_metrics=metrics, weighs=True) for metrics in ([A], {"o": A})
    ]
    found += [told(make, Y, loss=[M, A], metrics=[A]), told(make, [Y], loss=[M, A])]
    return [*found, told(make, [Y], loss=M), told(make, {"o": Y}, loss=M)]


def of_two(make: Any, *, by_key: bool = False) -> Any:
    y: Any = {"p": Y, "q": Z} if by_key else [Y, Z]
    found = [told(make, y, loss=loss) for loss in TWO_LOSSES]
    for factors in FACTORS:
        losses = (M, [M, A], {"p": M, "q": A})
        found += [told(make, y, loss=loss, loss_weights=factors) for loss in losses]
    found += [told(make, y, loss=M, metrics=metrics) for metrics in TWO_METRICS]
    found += [told(make, y, loss=[M, A], weighted_metrics=[[A], [M]])]
    others: list[Any] = [(Y, Z), [Y, Z], {"p": Y, "q": Z}]
    return [*found, *(told(make, one, loss={"p": M, "q": A}) for one in others)]


def of_nested() -> Any:
    y = {"p": [Y, Z], "q": Z}
    losses: list[Any] = [M, {"p": [M, A], "q": M}, {"p": [M, None], "q": M}, {"q": A}, [M, A, M]]
    metrics: list[Any] = [
        {"p": [A, M], "q": M},
        {"p": [[A], [M]], "q": [M]},
        {"p": [[A, M], [M]], "q": [M, A]},
    ]
    found = [told(nested, y, loss=loss) for loss in losses]
    found += [told(nested, y, loss=M, metrics=one) for one in metrics]
    weights: list[Any] = [{"p": [1.0, 2.0], "q": 3.0}, [1.0, 2.0, 3.0]]
    return found + [told(nested, y, loss=losses[1], loss_weights=one) for one in weights]


PROGRAMS = {
    "sequential": lambda: of_one(sequential),
    "functional": lambda: of_one(functional),
    "functional_list": lambda: of_one(functional_list),
    "own_one": lambda: of_one(lambda: Own("one")),
    "two": lambda: of_two(two),
    "own_list": lambda: of_two(lambda: Own("list")),
    "two_keys": lambda: of_two(two_keys, by_key=True),
    "own_keys": lambda: of_two(lambda: Own("keys"), by_key=True),
    "one_key": lambda: [
        told(one_key, {"p": Y}, loss=loss, metrics=metrics)
        for loss in (M, [M], {"p": M}, {"p": [M, A]}, [M, A])
        for metrics in (None, [A], {"p": A})
    ],
    "nested": of_nested,
}


def main() -> None:
    """Print the result of each program, by its name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print(json.dumps({name: program() for name, program in PROGRAMS.items()}))  # noqa: T201


if __name__ == "__main__":
    main()
